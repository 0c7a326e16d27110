#include "base/suggest.h"
#include <stdbool.h>
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
    int fewest = 2 * ((int)strlen(typed) / 4 + 2); /* as many are too many */
    for (int i = 0; i < count; i++) {
        int n = 2 * edits(typed, name[i]) + (*typed != *name[i]);
        if (n < fewest) fewest = n, nearest = name[i];
    }
    return nearest;
}

/* The options here, each followed by its names in other programs. The processor is the only device. */
static const char *const known[][2] = {
    {"lr", "learning-rate max-lr"},
    {"layers", "n-layer num-layers"},
    {"heads", "n-head num-heads"},
    {"d-model", "n-embd hidden-size emsize"},
    {"d-ff", "dim-feedforward nhid"},
    {"context", "block-size seq-len bptt"},
    {"batch", "batch-size"},
    {"clip", "grad-clip max-grad-norm"},
    {"accumulate", "gradient-accumulation-steps"},
    {"warmup", "warmup-iters"},
    {"steps", "max-iters epochs num-epochs num-train-epochs"},
    {"run", "out-dir work-dir"},
    {"eval-every", "eval-interval"},
    {"text", "dataset input-file"},
    {"resume", "init-from"},
    {"length", "max-new-tokens"},
    {"count", "num-samples"},
    {"prompt", "start"},
    {"beam", "num-beams"},
    {"threads", "num-workers device"},
};
enum { KNOWN = sizeof known / sizeof *known };

/* Whether the text has the word, between blanks. */
static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        n = strcspn(text, " ");
        if (n == length && memcmp(text, word, n) == 0) return true;
    }
    return false;
}

const char *suggest_option(const char *typed, const char *const *name, int count) {
    for (int i = 0; i < KNOWN; i++)
        for (int k = 0; k < count; k++)
            if (has_word(known[i][1], typed) && strcmp(known[i][0], name[k]) == 0) return name[k];
    return nearest_of(typed, name, count);
}
