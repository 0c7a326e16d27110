/* Reads the operands of ./train and the name of a run to continue, and keeps the texts that they add to a configuration. */
#include "base/program.h"
#include "base/runs.h"
#include "base/utf8.h"
#include "training/train_config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *train_config_keep(TrainConfig *r, char *text, Error *e) {
    if (r->texts == TRAIN_TEXTS) error_bug("train_config_keep: found more than %d texts", TRAIN_TEXTS);
    if (!text) error_set(e, STATUS_NO_MEMORY, "memory: the settings of a run");
    return text ? (r->text[r->texts++] = text) : NULL;
}

void train_config_free(TrainConfig *r) {
    for (int i = 0; i < r->texts; i++) free(r->text[i]);
}

/* Joins paths to the list of texts, a path a line. */
static bool add_texts(TrainConfig *r, char *const *path, int count, Error *e) {
    const char *before = r->data.text ? r->data.text : "";
    size_t bytes = strlen(before) + 1;
    for (int i = 0; i < count; bytes += strlen(path[i++]) + 1)
        if (strchr(path[i], '\n'))
            return error_set(e, STATUS_USAGE, "\"%s\": found a line break, need a name without one",
                             ESCAPED(path[i]));
    char *all = malloc(bytes);
    if (!train_config_keep(r, all, e)) return false;
    char *end = all + sprintf(all, "%s", before);
    for (int i = 0; i < count; i++) end += sprintf(end, "%s%s", end > all ? "\n" : "", path[i]);
    r->data.text = all;
    return true;
}

bool train_config_operands(TrainConfig *r, char *const *operand, int count, Error *e) {
    char all_tasks[TASK_NAMES], train[PROGRAM_COMMAND];
    if (count == 0) return true;
    bool is_file = !task_kind(operand[0]) && (access(operand[0], F_OK) == 0 || strpbrk(operand[0], "./"));
    if (is_file && runs_find((char[PATH_ROOM]){0}, operand[0], CHECKPOINT_FILE, &(Error){0}))
        return error_set(e, STATUS_USAGE,
                         "%s: found a run, need a task or a text; %s --resume %s continues it",
                         ESCAPED(operand[0]), program_command("train", train), ESCAPED(operand[0]));
    r->task = operand[0];
    if (is_file) r->task = directory_ends_in(operand[0], ".tsv") ? "pairs" : "lm";
    char *const *file = operand + !is_file;
    int files = count - !is_file;
    if (files == 0 || !task_kind(r->task)) return true; /* task_open names the tasks */
    if (train_config_is_lm(r)) return add_texts(r, file, files, e);
    bool pairs = strcmp(r->task, "pairs") == 0 && !r->data.pairs;
    if (pairs) r->data.pairs = file[0];
    return (pairs && files == 1) || error_set(e, STATUS_USAGE, "\"%s\": found one operand too many, need %s",
                                              ESCAPED(file[pairs]), task_names(all_tasks, "|"));
}

bool train_config_find(TrainConfig *r, const char **run, const char *file, Error *e) {
    char directory[PATH_ROOM];
    if (!runs_find(directory, *run, file, e)) return false;
    return (*run = train_config_keep(r, strdup(directory), e));
}
