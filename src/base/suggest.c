#include "base/suggest.h"
#include <string.h>

/* Levenshtein's distance from a to b, or to a beginning of b with one more. Row i of its table has, at j, that from the
 * first i characters of a to the first j of b. */
static int edits(const char *a, const char *b) {
    enum { LONGEST = 64 };
    int row[LONGEST + 1], length = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= LONGEST; j++) row[j] = j;
    for (; *a; a++) {
        int diagonal = row[0]++;
        for (int j = 1; j <= length; j++) {
            int fewest = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < fewest) fewest = row[j] + 1;
            if (row[j - 1] + 1 < fewest) fewest = row[j - 1] + 1;
            row[j] = fewest;
        }
    }
    int fewest = row[length];
    for (int j = 0; j < length; j++)
        if (row[j] + 1 < fewest) fewest = row[j] + 1;
    return fewest;
}

/* The name with the fewest characters to insert, delete or replace in what was typed, which may be an abbreviation; of
 * equals one with the same first letter. NULL: none is near. */
static const char *nearest_of(const char *typed, const char *const *name, int count) {
    const char *nearest = NULL;
    int fewest = 2 * ((int)strlen(typed) / 3 + 2); /* as many are too many */
    for (int i = 0; i < count; i++) {
        int n = 2 * edits(typed, name[i]) + (*typed != *name[i]);
        if (n < fewest) fewest = n, nearest = name[i];
    }
    return nearest;
}

/* Options of other programs, each followed by its name here. The processor is the only device. */
static const char *const known[][2] = {
    {"learning-rate", "lr"},
    {"max-lr", "lr"},
    {"n-layer", "layers"},
    {"num-layers", "layers"},
    {"n-head", "heads"},
    {"num-heads", "heads"},
    {"n-embd", "d-model"},
    {"hidden-size", "d-model"},
    {"dim-feedforward", "d-ff"},
    {"block-size", "context"},
    {"seq-len", "context"},
    {"batch-size", "batch"},
    {"grad-clip", "clip"},
    {"max-grad-norm", "clip"},
    {"gradient-accumulation-steps", "accumulate"},
    {"warmup-iters", "warmup"},
    {"max-iters", "steps"},
    {"epochs", "steps"},
    {"num-epochs", "steps"},
    {"out-dir", "run"},
    {"eval-interval", "eval-every"},
    {"dataset", "text"},
    {"init-from", "resume"},
    {"max-new-tokens", "length"},
    {"num-samples", "count"},
    {"start", "prompt"},
    {"num-beams", "beam"},
    {"num-workers", "threads"},
    {"device", "threads"},
    {"input-file", "text"},
    {"work-dir", "run"},
    {"bptt", "context"},
    {"emsize", "d-model"},
    {"nhid", "d-ff"},
    {"num-train-epochs", "steps"},
};
enum { KNOWN = sizeof known / sizeof *known };

const char *suggest_option(const char *typed, const char *const *name, int count) {
    for (int i = 0; i < KNOWN; i++)
        for (int k = 0; k < count; k++)
            if (strcmp(typed, known[i][0]) == 0 && strcmp(known[i][1], name[k]) == 0) return name[k];
    return nearest_of(typed, name, count);
}
