/* The command line that repeats a run. */
#include "base/program.h"
#include "training/train_config.h"
#include <stdio.h>
#include <string.h>

/* The first setting from `s` on that counts in r and has another value in `other`; NULL: none. */
static const Setting *first_difference(const TrainConfig *r, const TrainConfig *other,
                                       const Setting *s) {
    for (; s->name; s++) {
        char value[SETTING_VALUE], plain[SETTING_VALUE];
        if (train_config_counts(r, s) &&
            strcmp(setting_text(s, r, value), setting_text(s, other, plain)) != 0)
            return s;
    }
    return NULL;
}

char *train_config_command(const TrainConfig *r, Error *e) {
    enum { MAX_WORDS = 2 * TRAIN_SETTINGS + 5 };
    char train[PROGRAM_COMMAND], name[NOTE_KEY], value[SETTING_VALUE];
    char *argv[MAX_WORDS] = {(char *)program_command("train", train), (char *)r->task};
    int words = 2;
    Arena texts = {0};
    TrainConfig chosen = {.task = r->task}, run;
    /* One setting at a time: the defaults of later ones depend on it. A resumed run may have
     * settings that no new run takes: a warm-up longer than its steps. */
    for (const Setting *next = train_settings;; next++) {
        run = chosen;
        bool ok = train_config_complete(&run, &(Error){0});
        if (ok) next = first_difference(r, &run, next);
        if (!ok || !next) break;
        setting_copy(next, &chosen, r);
        chosen.given[next - train_settings] = true;
        snprintf(name, sizeof name, "--%s", next->name);
        argv[words++] = arena_text(&texts, name);
        if (next->type != SETTING_FLAG)
            argv[words++] = arena_text(&texts, setting_text(next, r, value));
    }
    if (!run.run || strcmp(r->run, run.run) != 0) {
        argv[words++] = "--run";
        argv[words++] = (char *)r->run;
    }
    argv[words++] = "--force";
    char *command = shell_command(words, argv, e);
    arena_free(&texts);
    return command;
}
