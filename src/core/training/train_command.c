/* The command line that repeats a run. */
#include "base/program.h"
#include "training/train_config.h"
#include <stdio.h>
#include <string.h>

/* The index of the first chosen setting that has another value in `other`; their count if none
 * has. */
static int first_difference(const ConfigNotes *chosen, const TrainConfig *other) {
    ConfigNotes all;
    int i = 0;
    train_config_notes(other, NOTES_OF_ALL, &all);
    for (int k = 0; i < chosen->count; i++) {
        while (strcmp(all.note[k].key, chosen->note[i].key) != 0) k++;
        if (strcmp(all.note[k].value, chosen->note[i].value) != 0) break;
    }
    return i;
}

char *train_config_command(const TrainConfig *r, Error *e) {
    enum { PREFIX = sizeof RECIPE - 1, OPTION = 64, MAX_WORDS = 2 * TRAIN_SETTINGS + 5 };
    int words = 2, next = 0;
    char train[PROGRAM_COMMAND], option[TRAIN_SETTINGS][OPTION], *order[MAX_WORDS];
    char *argv[MAX_WORDS] = {(char *)program_command("train", train), (char *)r->task};
    bool elsewhere = true;
    ConfigNotes chosen;
    train_config_notes(r, NOTES_OF_EFFECT, &chosen);
    /* One setting at a time: the defaults of later ones depend on it. A resumed run may have
     * settings that no new run takes: a warm-up longer than its steps. */
    while (next < chosen.count) {
        Error refused = {0};
        TrainConfig plain;
        memcpy(order, argv, sizeof order); /* parsing reorders it */
        bool ok = train_config_parse(&plain, words, order, &refused) &&
                  train_config_complete(&plain, &refused);
        next = ok ? first_difference(&chosen, &plain) : chosen.count;
        elsewhere = !ok || strcmp(r->run, plain.run) != 0;
        train_config_free(&plain);
        if (next == chosen.count) break;
        snprintf(option[next], OPTION, "--%s", chosen.note[next].key + PREFIX);
        argv[words++] = option[next];
        if (!chosen.flag[next]) argv[words++] = (char *)chosen.note[next].value;
    }
    if (elsewhere) {
        argv[words++] = "--run";
        argv[words++] = (char *)r->run;
    }
    argv[words++] = "--force";
    return shell_command(words, argv, e);
}
