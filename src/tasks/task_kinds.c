/* The tasks by name. */
#include "base/utf8.h"
#include "tasks/answers.h"
#include "tasks/sequence_task.h"
#include "tasks/text_task.h"
#include <stdio.h>
#include <string.h>

const TaskKind task_kinds[] = {
    {"copy", "copies a sequence", task_sequence_open, task_copy_answer},
    {"reverse", "reverses a sequence", task_sequence_open, task_reverse_answer},
    {"sort", "sorts the symbols of a sequence", task_sequence_open, task_sort_answer},
    {"lm", "predicts the next character of a text", task_text_open, NULL},
    {NULL},
};

const TaskKind *task_kind(const char *name) {
    const TaskKind *kind = task_kinds;
    while (kind->name && strcmp(kind->name, name) != 0) kind++;
    return kind->name ? kind : NULL;
}

Task *task_open(const char *name, const TaskOptions *o, Error *e) {
    const TaskKind *found = task_kind(name);
    if (found) return found->open(found, o, e);
    char names[200] = "";
    for (const TaskKind *kind = task_kinds; kind->name; kind++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", kind->name);
    error_set(e, STATUS_USAGE, "task: found '%s', need one of %s", ESCAPED(name), names);
    return NULL;
}
