#include "base/random.h"
#include "decoding/decode.h"
#include "kernels/arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The minimum weight that the filters keep. The maximum is 1. `sorted` has memory for count
 * numbers. */
static double min_kept_weight(const Sampler *s, long count, const double *weight, double *sorted) {
    bool cuts_k = s->top_k > 0 && s->top_k<count, cuts_p = s->top_p> 0 && s->top_p < 1;
    double min = 0, total = 0, sum = 0, top_p = cuts_p ? s->top_p : 0;
    if (cuts_k || cuts_p) {
        memcpy(sorted, weight, (size_t)count * sizeof *sorted);
        qsort(sorted, (size_t)count, sizeof *sorted, descending);
        if (cuts_k) min = sorted[s->top_k - 1];
        for (long i = 0; i < count && sorted[i] >= min; i++) total += sorted[i];
        for (long i = 0; sum < top_p * total; i++) {
            min = sorted[i];
            sum += min;
        }
    }
    return fmax(min, s->min_p);
}

static bool is_share(double x) {
    return x >= 0 && x <= 1;
}

static void check_sampler(const Sampler *s) {
    WANT(s);
    if (!(s->temperature >= 0))
        error_bug("sampler: temperature is %g, want at least 0", s->temperature);
    if (!(s->repetition_penalty >= 0))
        error_bug("sampler: repetition_penalty is %g, want at least 0", s->repetition_penalty);
    if (s->top_k < 0) error_bug("sampler: top_k is %ld, want at least 0", s->top_k);
    if (!is_share(s->top_p)) error_bug("sampler: top_p is %g, want it in [0,1]", s->top_p);
    if (!is_share(s->min_p)) error_bug("sampler: min_p is %g, want it in [0,1]", s->min_p);
}

static void check_choice(const Sampler *s, const Scores *c, const double *p) {
    check_sampler(s);
    WANT(c);
    WANT(c->scores);
    WANT(p);
    if (c->count < 1) error_bug("sampler: %ld tokens, want at least 1", c->count);
    if (c->n) WANT(c->ids);
}

long decode_probabilities(const Sampler *s, const Scores *c, double *p) {
    check_choice(s, c, p);
    double penalty = s->repetition_penalty > 0 ? s->repetition_penalty : 1;
    double temperature = s->temperature > 0 ? s->temperature : 1, sum = 0;
    long best = 0;
    for (long i = 0; i < c->count; i++) p[i] = (double)c->scores[i];
    for (long i = 0; i < c->n; i++) {
        if (penalty == 1) break;
        double score = (double)c->scores[c->ids[i]];
        p[c->ids[i]] = score > 0 ? score / penalty : score * penalty;
    }
    for (long i = 1; i < c->count; i++)
        if (p[i] > p[best]) best = i;
    double largest = p[best];
    for (long i = 0; i < c->count; i++) p[i] = exp((p[i] - largest) / temperature);
    double min = min_kept_weight(s, c->count, p, p + c->count);
    for (long i = 0; i < c->count; i++) sum += p[i] = p[i] >= min ? p[i] : 0;
    for (long i = 0; i < c->count; i++) p[i] /= sum;
    return best;
}

long decode_choose(const Sampler *s, const Scores *c, uint64_t sequence, double *p) {
    check_choice(s, c, p);
    bool greedy = s->temperature <= 0,
         penalised = s->repetition_penalty > 0 && s->repetition_penalty != 1;
    if (greedy && !penalised) return kernel_argmax(c->count, c->scores);
    long best = decode_probabilities(s, c, p);
    if (greedy) return best;
    uint64_t key = random_key(random_key(s->seed, STREAM_SAMPLES), sequence);
    double left = (double)random_uniform(key, (uint64_t)c->n);
    for (long i = 0; i < c->count; i++) {
        left -= p[i];
        if (left < 0) return i;
    }
    return best;
}

/* ---- The tokens that may come next ---- */

static bool ends_line(const Tokenizer *k, int32_t id) {
    uint32_t i = k->start[id];
    while (i < k->start[id + 1] && k->text[i] != '\n' && k->text[i] != '\r') i++;
    return i < k->start[id + 1];
}

/* The text leaves `bytes` of a character, at `begun`, unfinished. */
static bool may_follow(const NextTokens *t, const char *begun, size_t bytes, int32_t id) {
    if (id == t->end_id) return bytes == 0;
    if (id == t->begin_id || id == t->pad_id) return false;
    if (!t->tokenizer) return true;
    return tokenizer_may_follow(t->tokenizer, begun, bytes, id) &&
           (t->end_id == NO_PAD || !ends_line(t->tokenizer, id));
}

void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores) {
    char begun[UTF8_MAX];
    size_t bytes = t->tokenizer ? tokenizer_unfinished(t->tokenizer, ids, n, begun) : 0;
    for (int32_t id = 0; id < count; id++)
        if (!may_follow(t, begun, bytes, id)) scores[id] = -INFINITY;
}
