/* Chooses the next token from the scores of all tokens. */
#ifndef DECODING_SAMPLER_H
#define DECODING_SAMPLER_H

#include "base/error.h"
#include "base/real.h"
#include <stdint.h>

/* How to choose, in this order. With {0} the likeliest token is chosen. */
typedef struct Sampler {
    /* Divides the scores above 0 of tokens that the text has, and multiplies those below (Keskar et al.,
     * arXiv:1909.05858); 0, 1: none. */
    double repetition_penalty;
    double temperature; /* divides the scores before the softmax; 0: greedy, without what follows */
    long top_k;         /* keeps the k likeliest tokens; 0: all */
    double top_p;  /* keeps the fewest likeliest tokens that have this share of the probability; 0, 1: all */
    double min_p;  /* keeps tokens with this share of the likeliest one's probability; 0: all */
    uint64_t seed; /* a draw depends on (seed, sequence, length of the text) only */
    /* Tokens by which the window slides when a text exceeds the model's context, at most the context; 0: 1.
     * With 1, each token sees the whole context and costs a pass over it. */
    long slide;
} Sampler;

/* The scores of `count` tokens that may follow the text ids[0 … n). */
typedef struct Choice {
    long count;
    const real *scores;
    const int32_t *ids;
    long n;
} Choice;

/* Writes the probability of every token, after penalty, temperature (0: 1) and filters, into p, which has room for
 * 2 · count numbers. Equals of the last token that a filter keeps are kept. Returns the likeliest token. */
long decode_probabilities(const Sampler *s, const Choice *c, double *p);

/* The token chosen for a sequence. p as above. */
long decode_choose(const Sampler *s, const Choice *c, uint64_t sequence, double *p);

/* False with STATUS_BAD_DATA if one of `count` scores is not finite. */
bool decode_check_scores(const real *scores, long count, Error *e);

#endif
