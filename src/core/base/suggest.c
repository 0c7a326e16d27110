#include "base/suggest.h"
#include <string.h>

/* Levenshtein's distance from a to b, or to a beginning of b with one more, as far as it is at most
 * max. */
static int edits(const char *a, const char *b, int max) {
    for (; *a && *a == *b; a++) b++;
    if (!*a) return *b != 0;
    if (!*b) return (int)strlen(a);
    if (max == 0) return 1;
    int change = edits(a + 1, b + 1, max - 1);
    int removal = edits(a + 1, b, max - 1), insertion = edits(a, b + 1, max - 1);
    int min = change < removal ? change : removal;
    return 1 + (insertion < min ? insertion : min);
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
    int too_many = strlen(typed) < 16 ? (int)strlen(typed) / 4 + 2 : 6, min = 2 * too_many;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i][0], typed) == 0) meant = synonyms[i][1];
    for (int i = 0; i < count; i++) {
        /* A name with the same first letter wins among equally near ones. */
        int n = 2 * edits(typed, name[i], too_many) + (*typed != *name[i]);
        if (strcmp(name[i], meant) == 0) return name[i];
        if (n >= min) continue;
        min = n;
        nearest = name[i];
    }
    return nearest;
}
