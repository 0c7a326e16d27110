#include "base/suggest.h"
#include <string.h>

/* Levenshtein's distance from a to b, or to a beginning of b with one more. Row i of its table has,
 * at j, that from the first i characters of a to the first j of b. */
static int edits(const char *a, const char *b) {
    enum { MAX = 64 };
    int row[MAX + 1], length = (int)strnlen(b, MAX);
    for (int j = 0; j <= MAX; j++) row[j] = j;
    for (; *a; a++) {
        int diagonal = row[0]++;
        for (int j = 1; j <= length; j++) {
            int min = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < min) min = row[j] + 1;
            if (row[j - 1] + 1 < min) min = row[j - 1] + 1;
            row[j] = min;
        }
    }
    int min = row[length];
    for (int j = 0; j < length; j++)
        if (row[j] + 1 < min) min = row[j] + 1;
    return min;
}

/* Options as nanoGPT and PyTorch name them, each with its name here. */
static const char *const synonyms[][2] = {
    {"learning-rate", "lr"},      {"n-layer", "layers"},    {"num-layers", "layers"},
    {"n-head", "heads"},          {"n-embd", "d-model"},    {"block-size", "context"},
    {"max-iters", "steps"},       {"epochs", "steps"},      {"eval-interval", "eval-every"},
    {"out-dir", "run"},           {"init-from", "resume"},  {"grad-clip", "clip"},
    {"max-new-tokens", "length"}, {"num-samples", "count"}, {"start", "prompt"},
    {"device", "threads"},
};

const char *suggest_option(const char *typed, const char *const *name, int count) {
    const char *nearest = NULL, *meant = typed;
    int min = 2 * ((int)strlen(typed) / 4 + 2); /* as many edits are too many */
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i][0], typed) == 0) meant = synonyms[i][1];
    for (int i = 0; i < count; i++) {
        /* Of equally near names one with the same first letter is taken. */
        int n = 2 * edits(typed, name[i]) + (*typed != *name[i]);
        if (strcmp(name[i], meant) == 0) return name[i];
        if (n >= min) continue;
        min = n;
        nearest = name[i];
    }
    return nearest;
}
