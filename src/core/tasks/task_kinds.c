/* The tasks by name. */
#include "base/append.h"
#include "base/utf8.h"
#include "tasks/corpus.h"
#include "tasks/sequence_task.h"
#include <string.h>

#define TASK(name, reads, ...) static const TaskKind name##_kind = {{#name, reads}, __VA_ARGS__};
#include "tasks/tasks.def"
#undef TASK
#define TASK(name, ...) &name##_kind.choice,
const Choice *const all_tasks[] = {
#include "tasks/tasks.def"
    NULL};

const TaskKind *task_kind(const char *name) {
    WANT(name);
    for (const Choice *const *kind = all_tasks; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0) return (const TaskKind *)*kind;
    return NULL;
}

const char *task_names(char out[TASK_NAMES], const char *separator) {
    *out = 0;
    for (const Choice *const *kind = all_tasks; *kind; kind++)
        text_append(out, TASK_NAMES, "%s%s", *out ? separator : "", (*kind)->name);
    return out;
}

static bool in_range(const char *task, const TaskOptions *o, Error *e) {
    const struct {
        const char *what;
        long found, low, high;
    } all[] = {{"symbols", o->symbols, 2, MAX_SYMBOLS},
               {"longest sequence", o->max_length, 1, MAX_SEQUENCE},
               {"held-out rows", o->held_out, 1, MAX_HELD_OUT},
               {"digits", o->digits, 1, MAX_DIGITS},
               {"context", o->context, 1, MAX_CONTEXT}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].found < all[i].low || all[i].found > all[i].high)
            return error_set(e, STATUS_USAGE, "%s: %s: found %ld, need %ld to %ld", task,
                             all[i].what, all[i].found, all[i].low, all[i].high);
    return (o->validation >= 0 && o->validation < 1) ||
           error_set(e, STATUS_USAGE,
                     "%s: held-out share: found %g, need one from 0 to less than 1", task,
                     o->validation);
}

Task *task_open(const char *name, const TaskOptions *o, Error *e) {
    WANT(name);
    WANT(o);
    WANT(e);
    const TaskKind *found = task_kind(name);
    Task *task = NULL;
    if (found && in_range(name, o, e) && found->open(&task, found, o, e)) return task;
    task_free(task);
    if (found) return NULL;
    char names[TASK_NAMES];
    error_set(e, STATUS_USAGE, "task: found '%s', need one of %s", ESCAPED(name),
              task_names(names, ", "));
    return NULL;
}
