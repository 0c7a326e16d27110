#include "text/ngram.h"
#include "text/dictionary.h"
#include <math.h>
#include <stdlib.h>

/* A text of characters at random fills the table before it ends: 100 MB. */
enum { MAX_GRAMS = 1 << 21 };

/* Strings of 0 to NGRAM_ORDER characters, each a part of the training text. */
typedef struct Grams {
    Dictionary number; /* its count of a string hc is N(hc) */
    struct Context {
        uint32_t followed, kinds; /* N(h) and K(h) */
    } * context;                  /* [MAX_GRAMS] by number */
} Grams;

static long find(const Grams *g, const uint32_t *text, int length) {
    return dictionary_find(&g->number, (const char *)text, (size_t)length * sizeof *text);
}

static long add(Grams *g, const uint32_t *text, int length, Error *e) {
    return dictionary_add(&g->number, (const char *)text, (size_t)length * sizeof *text, e);
}

/* Counts the character text[i] after each of its contexts. */
static bool count_character(Grams *g, const uint32_t *text, long i, Error *e) {
    for (int n = 1; n <= NGRAM_ORDER && n <= i + 1; n++) {
        long gram = add(g, text + i + 1 - n, n, e);
        if (gram < 0) return false;
        struct Context *h = &g->context[find(g, text + i + 1 - n, n - 1)];
        h->followed++;
        h->kinds += g->number.entry[gram].count == 1;
    }
    return true;
}

static bool count_grams(Grams *g, const uint32_t *text, long length, Error *e) {
    g->context = calloc(MAX_GRAMS, sizeof *g->context);
    if (!g->context) return error_set(e, STATUS_NO_MEMORY, "memory: %d n-grams", MAX_GRAMS);
    if (add(g, text, 0, e) < 0) return false;
    for (long i = 0; i < length; i++) {
        if (g->number.count > MAX_GRAMS - NGRAM_ORDER) break;
        if (!count_character(g, text, i, e)) return false;
    }
    return true;
}

/* Adds -log P_n of the character text[i] to loss[n]; p = P_0. */
static void judge_character(const Grams *g, const uint32_t *text, long i, double p, double *loss) {
    loss[0] -= log(p);
    for (int n = 1; n <= NGRAM_ORDER; n++) {
        long h = n <= i + 1 ? find(g, text + i + 1 - n, n - 1) : -1;
        if (h >= 0 && g->context[h].followed) {
            long gram = find(g, text + i + 1 - n, n);
            double count = gram < 0 ? 0 : (double)g->number.entry[gram].count;
            double kinds = g->context[h].kinds;
            p = (count + kinds * p) / (g->context[h].followed + kinds);
        }
        loss[n] -= log(p);
    }
}

/* Adds the characters of a text to those that were seen. */
static bool see(Grams *seen, const uint32_t *text, long length, Error *e) {
    long i = 0;
    while (i < length && add(seen, text + i, 1, e) >= 0) i++;
    return i == length;
}

bool ngram_losses(const uint32_t *training, long trained, const uint32_t *judged, long count,
                  double loss[NGRAM_ORDER + 1], size_t *bytes, Error *e) {
    Grams grams = {0}, seen = {0};
    bool ok = see(&seen, training, trained, e) && see(&seen, judged, count, e) &&
              count_grams(&grams, training, trained, e);
    for (int n = 0; n <= NGRAM_ORDER; n++) loss[n] = 0;
    for (long i = 0; i < (ok ? count : 0); i++)
        judge_character(&grams, judged, i, 1 / (double)seen.number.count, loss);
    for (int n = 0; n <= NGRAM_ORDER; n++) loss[n] /= (double)count;
    /* While a dictionary grows, the smaller one exists, too. */
    *bytes = (dictionary_bytes(&seen.number) + dictionary_bytes(&grams.number)) / 2 * 3 +
             (size_t)grams.number.count * sizeof *grams.context;
    dictionary_free(&grams.number);
    dictionary_free(&seen.number);
    free(grams.context);
    return ok;
}
