#include "text/ngram.h"
#include <math.h>
#include <stdlib.h>

/* A string of 0 to NGRAM_ORDER characters, by a hash of 64 bits: among 10 million strings two have
 * the same with a probability below 10⁻⁵. */
typedef struct Gram {
    uint64_t hash;                   /* 0: a free slot */
    uint32_t count, followed, kinds; /* N(hc) of it as hc; N(h) and K(h) of it as h */
} Gram;

typedef struct Grams {
    Gram *slot; /* [slots], a power of two, at most half full */
    uint64_t slots, used;
} Grams;

/* The last characters of a text: hash[n] is that of the last n, n ≤ length. */
typedef struct Suffixes {
    uint64_t hash[NGRAM_ORDER + 1];
    int length;
} Suffixes;

static const Suffixes empty = {{1}, 0};

static Suffixes with(const Suffixes *before, uint32_t character) {
    Suffixes now = empty;
    now.length = before->length < NGRAM_ORDER ? before->length + 1 : NGRAM_ORDER;
    for (int n = 1; n <= now.length; n++) { /* splitmix64's mixing */
        uint64_t x = before->hash[n - 1] * 0x9E3779B97F4A7C15u + character + 1;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        now.hash[n] = (x ^ x >> 31) | 1;
    }
    return now;
}

/* The gram's slot, or the free one where it belongs. */
static Gram *find(const Grams *g, uint64_t hash) {
    uint64_t i = (hash >> 1) & (g->slots - 1);
    while (g->slot[i].hash && g->slot[i].hash != hash) i = (i + 1) & (g->slots - 1);
    return &g->slot[i];
}

static bool grow(Grams *g, Error *e) {
    if (2 * (g->used + NGRAM_ORDER) < g->slots) return true;
    Grams larger = {.slots = g->slots ? 2 * g->slots : 1 << 12, .used = g->used};
    larger.slot = calloc((size_t)larger.slots, sizeof *larger.slot);
    if (!larger.slot)
        return error_set(e, STATUS_NO_MEMORY, "memory: %llu n-grams", (unsigned long long)g->used);
    for (uint64_t i = 0; i < g->slots; i++)
        if (g->slot[i].hash) *find(&larger, g->slot[i].hash) = g->slot[i];
    free(g->slot);
    *g = larger;
    return true;
}

/* A text of characters at random fills the table before it ends: 100 MB. */
static bool is_full(const Grams *g) {
    enum { MAX_SLOTS = 1 << 22 };
    return g->slots == MAX_SLOTS && 2 * (g->used + NGRAM_ORDER) >= g->slots;
}

/* Counts the character that ends `now`, after each of its contexts. */
static bool count_character(Grams *g, const Suffixes *before, const Suffixes *now, Error *e) {
    if (!grow(g, e)) return false;
    for (int n = 1; n <= now->length; n++) {
        Gram *gram = find(g, now->hash[n]), *context = find(g, before->hash[n - 1]);
        if (!gram->hash) {
            gram->hash = now->hash[n];
            g->used++;
            context->kinds++;
        }
        gram->count++;
        context->followed++;
    }
    return true;
}

/* Adds -log P_n of that character to loss[n]; before: p = P_0. */
static void judge_character(const Grams *g, const Suffixes *before, const Suffixes *now, double p,
                            double *loss) {
    loss[0] -= log(p);
    for (int n = 1; n <= NGRAM_ORDER; n++) {
        const Gram *context = n <= now->length ? find(g, before->hash[n - 1]) : NULL;
        if (context && context->followed)
            p = (find(g, now->hash[n])->count + context->kinds * p) /
                ((double)context->followed + context->kinds);
        loss[n] -= log(p);
    }
}

/* Counts the strings of one character. */
static bool count_different(Grams *seen, const uint32_t *text, long length, Error *e) {
    for (long i = 0; i < length; i++) {
        Suffixes one = with(&empty, text[i]);
        if (!count_character(seen, &empty, &one, e)) return false;
    }
    return true;
}

static bool count_grams(Grams *g, const uint32_t *text, long length, Error *e) {
    Suffixes before = empty;
    if (!grow(g, e)) return false;
    find(g, empty.hash[0])->hash = empty.hash[0];
    for (long i = 0; i < length; i++) {
        if (is_full(g)) return true;
        Suffixes now = with(&before, text[i]);
        if (!count_character(g, &before, &now, e)) return false;
        before = now;
    }
    return true;
}

bool ngram_losses(const uint32_t *training, long trained, const uint32_t *judged, long count,
                  double loss[NGRAM_ORDER + 1], size_t *bytes, Error *e) {
    Grams grams = {0}, seen = {0};
    Suffixes before = empty, now;
    bool ok = count_different(&seen, training, trained, e) &&
              count_different(&seen, judged, count, e) && count_grams(&grams, training, trained, e);
    for (int n = 0; n <= NGRAM_ORDER; n++) loss[n] = 0;
    for (long i = 0; i < (ok ? count : 0); i++) {
        now = with(&before, judged[i]);
        judge_character(&grams, &before, &now, 1 / (double)seen.used, loss);
        before = now;
    }
    for (int n = 0; n <= NGRAM_ORDER; n++) loss[n] /= (double)count;
    /* While a table grows, the one of half the size exists, too. */
    *bytes = (size_t)(seen.slots + grams.slots + grams.slots / 2) * sizeof(Gram);
    free(grams.slot);
    free(seen.slot);
    return ok;
}
