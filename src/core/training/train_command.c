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
    int words = 2;
    char train[PROGRAM_COMMAND], option[TRAIN_SETTINGS][NOTE_KEY];
    char value[TRAIN_SETTINGS][SETTING_VALUE], *order[MAX_WORDS];
    char *argv[MAX_WORDS] = {(char *)program_command("train", train), (char *)r->task};
    bool elsewhere = true;
    /* One setting at a time: the defaults of later ones depend on it. A resumed run may have
     * settings that no new run takes: a warm-up longer than its steps. */
    const Setting *next = train_settings;
    for (;;) {
        Error refused = {0};
        TrainConfig plain;
        memcpy(order, argv, sizeof order); /* parsing reorders it */
        bool ok = train_config_parse(&plain, words, order, &refused) &&
                  train_config_complete(&plain, &refused);
        next = ok ? first_difference(r, &plain, next) : NULL;
        elsewhere = !ok || strcmp(r->run, plain.run) != 0;
        train_config_free(&plain);
        if (!next) break;
        long row = next - train_settings;
        snprintf(option[row], NOTE_KEY, "--%s", next->name);
        argv[words++] = option[row];
        if (next->type != SETTING_FLAG) argv[words++] = (char *)setting_text(next, r, value[row]);
        next++;
    }
    if (elsewhere) {
        argv[words++] = "--run";
        argv[words++] = (char *)r->run;
    }
    argv[words++] = "--force";
    return shell_command(words, argv, e);
}
