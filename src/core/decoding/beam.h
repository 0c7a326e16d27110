/* Beam search. Each step extends all live hypotheses by every token and keeps the `width`
 * likeliest; of these, the ones that end leave the beam. A hypothesis y of n tokens, its end token
 * among them, scores, as in Wu et al. (arXiv:1609.08144, equation 14) and section 6.1 of the paper,
 * where A = 0.6,
 *
 *     log P(y) / ((5 + n) / 6)^A
 *
 * Log P only falls, so that a live hypothesis can reach at most log P(so far) / ((5 + N) / 6)^A, N
 * being the most tokens. The search ends when none can beat the worst of the n_best found. With
 * width 1 it is greedy decoding; a width that keeps all hypotheses is exhaustive search. */
#pragma once

#include "decoding/decode.h"

typedef struct BeamOptions {
    double length_penalty; /* A ≥ 0 */
    long n_best;           /* hypotheses to return, at most the width */
    /* Tells whether these tokens after the prompt end a hypothesis; NULL: they never do. */
    bool (*ends)(void *context, const int32_t *ids, long n);
    /* Tells whether a and b are one text, of which the likelier is kept; NULL: no two are. */
    bool (*same)(void *context, const int32_t *a, long a_tokens, const int32_t *b, long b_tokens);
    void *context;
} BeamOptions;

typedef struct Hypothesis {
    double score;
    int32_t *ids; /* [n] without prompt and end token; to be freed */
    long n;
} Hypothesis;

/* Searches from a newly opened decoder, whose sequences are the beam. Cuts off a hypothesis without
 * an end when the decoder's capacity is reached. Stores *found hypotheses in best, [n_best], the
 * best first, even if it fails. */
bool beam_search(Decoder *d, const BeamOptions *o, Hypothesis *best, long *found, Error *e);
