#include "decoding/beam.h"
#include "kernels/arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A live hypothesis and a further token. */
typedef struct Candidate {
    double sum; /* log P */
    real
        score; /* of the token: tells equal sums of one hypothesis apart, as greedy decoding does */
    long parent;
    int32_t id;
} Candidate;

typedef struct Beam {
    Decoder *d;
    const BeamOptions *o;
    long width, prompt;   /* prompt: its tokens */
    Candidate *candidate; /* [count], best first */
    long count;
    double *sum; /* [width] log P of the live hypotheses */
    long *from;  /* [width] */
    Hypothesis *best;
    long found;
} Beam;

static double penalty(const Beam *b, long n) {
    return pow((5 + (double)n) / 6, b->o->length_penalty);
}

/* The hypothesis found that is the same text; b->found: there is none. */
static long find_same(const Beam *b, const int32_t *ids, long tokens) {
    long at = b->o->same ? 0 : b->found;
    while (at < b->found && !b->o->same(b->o->context, b->best[at].ids, b->best[at].n, ids, tokens))
        at++;
    return at;
}

static void forget(Beam *b, long at) {
    free(b->best[at].ids);
    memmove(b->best + at, b->best + at + 1, (size_t)(--b->found - at) * sizeof *b->best);
}

/* Keeps a hypothesis if it is one of the best; n counts its end token. */
static bool finish(Beam *b, double sum, const int32_t *ids, long tokens, long n, Error *e) {
    double score = sum / penalty(b, n);
    long at = b->found, same = find_same(b, ids, tokens);
    while (at > 0 && score > b->best[at - 1].score) at--;
    if (at == b->o->n_best || same < at) return true;
    int32_t *copy = malloc((size_t)tokens * sizeof *copy + 1);
    if (!copy) return error_set(e, STATUS_NO_MEMORY, "memory: a hypothesis of %ld tokens", tokens);
    if (same < b->found)
        forget(b, same);
    else if (b->found == b->o->n_best)
        forget(b, b->found - 1);
    memmove(b->best + at + 1, b->best + at, (size_t)(b->found++ - at) * sizeof *b->best);
    b->best[at] = (Hypothesis){score, memcpy(copy, ids, (size_t)tokens * sizeof *ids), tokens};
    return true;
}

static bool beats(const Candidate *a, const Candidate *b) {
    return a->sum > b->sum || (a->sum == b->sum && a->score > b->score);
}

static void consider(Beam *b, Candidate c) {
    long at = b->count;
    if (at == b->width && !beats(&c, &b->candidate[at - 1])) return;
    if (at == b->width) at = --b->count;
    for (; at > 0 && beats(&c, &b->candidate[at - 1]); at--)
        b->candidate[at] = b->candidate[at - 1];
    b->candidate[at] = c;
    b->count++;
}

/* Finds the best extensions of all live hypotheses. */
static void extend(Beam *b) {
    b->count = 0;
    for (long i = 0; i < b->width; i++) {
        if (b->d->ended[i]) continue;
        Scores c = decoder_scores(b->d, i);
        double largest = (double)c.scores[kernel_argmax(c.count, c.scores)], sum = 0;
        for (long id = 0; id < c.count; id++) sum += exp((double)c.scores[id] - largest);
        double log_sum = largest + log(sum);
        for (long id = 0; id < c.count; id++)
            if (isfinite(c.scores[id]))
                consider(b, (Candidate){b->sum[i] + ((double)c.scores[id] - log_sum), c.scores[id],
                                        i, (int32_t)id});
    }
}

/* Moves candidates that end, by a token or at the capacity, to the best hypotheses; the others are
 * the live ones. Returns the number of live ones; -1: STATUS_NO_MEMORY. */
static long select_live(Beam *b, Error *e) {
    Decoder *d = b->d;
    long live = 0, n = d->length - b->prompt;
    for (long k = 0; k < b->count; k++) {
        Candidate c = b->candidate[k];
        int32_t *ids = decoder_ids(d, c.parent) + b->prompt;
        bool end = c.id == d->next.end_id;
        ids[n] = c.id;
        bool leaves = end || d->length + 1 == d->capacity ||
                      (b->o->ends && b->o->ends(b->o->context, ids, n + 1));
        if (leaves && !finish(b, c.sum, ids, end ? n : n + 1, n + 1, e)) return -1;
        if (leaves) continue;
        b->candidate[live] = c;
        b->from[live++] = c.parent;
    }
    for (long i = live; i < b->width; i++) b->from[i] = -1;
    decoder_reorder(d, b->from);
    for (long i = 0; i < live; i++) {
        decoder_ids(d, i)[d->length] = b->candidate[i].id;
        b->sum[i] = b->candidate[i].sum;
    }
    decoder_advance(d);
    return live;
}

static bool search(Beam *b, Error *e) {
    double longest = penalty(b, b->d->capacity - b->prompt);
    long live = b->d->length < b->d->capacity;
    for (long i = 1; i < b->width; i++) b->d->ended[i] = true;
    while (live > 0) { /* the first is the likeliest */
        if (b->found == b->o->n_best && b->sum[0] / longest <= b->best[b->found - 1].score) break;
        if (!decoder_next(b->d, e)) return false;
        extend(b);
        live = select_live(b, e);
    }
    return live >= 0;
}

bool beam_search(Decoder *d, const BeamOptions *o, Hypothesis *best, long *found, Error *e) {
    long n = d->sequences;
    Beam b = {.d = d, .o = o, .width = n, .prompt = d->length, .best = best};
    b.candidate = calloc((size_t)n, sizeof *b.candidate);
    b.sum = calloc((size_t)n, sizeof *b.sum);
    b.from = calloc((size_t)n, sizeof *b.from);
    bool ok = (b.candidate && b.sum && b.from) ||
              error_set(e, STATUS_NO_MEMORY, "memory: the hypotheses");
    ok = ok && search(&b, e);
    free(b.candidate);
    free(b.sum);
    free(b.from);
    *found = b.found;
    return ok;
}
