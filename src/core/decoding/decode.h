/* Decoding: a trained model reads its own output, one token at a time. */
#pragma once

#include "nn/nn.h"
#include "text/tokenizer.h"

/* ---- The choice of a token ---- */

/* How a token is chosen. The members apply in this order. {0} chooses the likeliest token. */
typedef struct Sampler {
    /* Divides positive scores of tokens that the text contains, and multiplies negative ones
     * (Keskar et al., arXiv:1909.05858); 0 and 1 change nothing. */
    double repetition_penalty;
    double temperature; /* divides the scores before the softmax; 0: greedy, without the rest */
    long top_k;         /* keeps the k likeliest tokens; 0: all */
    double top_p;  /* keeps the fewest likeliest tokens whose probabilities sum to p; 0, 1: all */
    double min_p;  /* keeps tokens at least p times as probable as the likeliest; 0: all */
    uint64_t seed; /* a draw depends only on seed, sequence and length of the text */
    const Tokenizer *tokenizer; /* only tokens that are text are chosen; NULL: any token */
} Sampler;

/* The scores of `count` tokens that may follow the text ids[0 … n). */
typedef struct Scores {
    long count;
    const real *scores;
    const int32_t *ids;
    long n;
} Scores;

/* Writes the probability of every token, after penalty, temperature (0 counts as 1) and filters,
 * into p, which has memory for 2 · count numbers. A filter keeps all tokens as likely as the last
 * one that it keeps. Returns the likeliest token. */
long decode_probabilities(const Sampler *s, const Scores *c, double *p);

/* Returns the token chosen for a sequence. p is scratch memory for 2 · count numbers. */
long decode_choose(const Sampler *s, const Scores *c, uint64_t sequence, double *p);

/* The tokens that may come next. A model scores every token of its vocabulary, also those that are
 * not text: begin, padding. Label smoothing even teaches that each of them is possible.
 * Decoding never chooses one of them. It never chooses a token whose bytes cannot continue the
 * text's UTF-8, nor an end inside a character. A text with an end is one line: its only token that
 * ends a line is the end. */
typedef struct NextTokens {
    const Tokenizer *tokenizer; /* NULL: every other id is a token of the text */
    int32_t begin_id, end_id,
        pad_id; /* NO_PAD: none. The end may come next, even if it is begin, too */
} NextTokens;

/* Sets the score to -INFINITY of each of the `count` tokens that may not follow the text ids[0 …
 * n). */
void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores);

/* ---- Answers and texts ---- */

/* Called with each token as soon as it is chosen. Returns false to end the sequence. */
typedef bool TokenListener(void *context, long sequence, int32_t id);

/* Answers `count` sources with a sequence-to-sequence model: source i is source[start[i]] …
 * source[start[i + 1] - 1] and draws as sequence i. With start == NULL, a language model of lines
 * writes `count` lines. Row i of out, [count, max_tokens], receives the tokens before end_id, and
 * length[i] their number. An answer without an end stops at max_tokens. */
bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start,
                    const int32_t *source, int32_t begin_id, int32_t end_id, long max_tokens,
                    int32_t *out, long *length, Error *e);

/* Writes max_new tokens of a language model after the prompt ids[0 … n), n >= 1, into ids[n …]. The
 * text ends early when `chosen`, if not NULL, returns false. */
bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long max_new,
                     TokenListener *chosen, void *context, Error *e);

/* Returns the index of the first token that a language model reads after `length` tokens. A text
 * that fits into the context is read from its beginning. In a longer text the window moves in steps
 * of half a context, rounded up. So a token depends on at least half a context. */
long decode_window_start(long length, long context);

/* ---- Sequences that a model continues together, one token each a pass ---- */

/* The beginning of all sequences, and the sources that they answer. With one source or none all
 * sequences begin alike, and the prompt is computed once. */
typedef struct Given {
    const int32_t *prompt; /* seq2seq: the token that begins an answer */
    long prompt_tokens;    /* at least 1; seq2seq: 1 */
    long sources;          /* seq2seq: 1, or one for each sequence */
    const long *start;     /* [sources + 1] index of the first token of each source in `source` */
    const int32_t *source;
    NextTokens next; /* tokens that may come next; its end token ends a sequence */
} Given;

typedef struct Decoder {
    Tape *tape;
    Model *model;
    Tokens source, target;
    KvCache cache;
    long sequences, capacity; /* capacity: maximum tokens of a sequence, with its prompt */
    long length;              /* tokens of a sequence that has not ended */
    long *tokens;             /* [sequences] tokens of each, with its prompt */
    bool *ended;              /* [sequences] true: takes no more tokens */
    int32_t *ids, *other;     /* [sequences, capacity]; other: scratch memory of decoder_reorder */
    int32_t *window;          /* [sequences, tokens of the window] input of a pass */
    double *probability;      /* [2, vocab_size] scratch memory of decode_choose */
    NextTokens next;          /* from Given */
    long first;               /* index of the window's first token */
    bool is_lm;
    bool is_cached; /* the cache holds the window without its newest token */
    bool identical; /* the sequences do not differ yet: only the first is computed */
    real *scores;   /* of the last pass, from row scores_from on */
    long scores_from;
    bool no_grad, training; /* state of the tape before decoder_open */
} Decoder;

/* Opens a decoder for sequences of at most max_new tokens after the prompt. A seq2seq answer has at
 * most max_length tokens. STATUS_NO_MEMORY. The caller closes the decoder, also after a failure. */
bool decoder_open(Decoder *d, Tape *t, Model *m, long sequences, const Given *given, long max_new,
                  Error *e);
void decoder_close(Decoder *d);

/* Computes the scores of the next token of every sequence that has not ended. Tokens that may not
 * come next get the score -INFINITY. STATUS_BAD_DATA: a score is not finite. */
bool decoder_next(Decoder *d, Error *e);

/* Returns these scores, valid until the next pass, and the text before them. */
Scores decoder_scores(const Decoder *d, long sequence);

/* Replaces sequence i by sequence from[i]; -1 ends it. All sequences have the same source. */
void decoder_reorder(Decoder *d, const long *from);

/* Counts the token that the caller has written at decoder_ids(…)[d->length] of every sequence that
 * has not ended. */
void decoder_advance(Decoder *d);

/* Chooses tokens until every sequence has ended or is full. The end token ends a sequence and is
 * not added to it. `chosen`, if not NULL, hears every token, also the end. Sequences that begin
 * alike draw as each would alone with the seeds s->seed, s->seed + 1, …. */
bool decoder_run(Decoder *d, const Sampler *s, TokenListener *chosen, void *context, Error *e);

/* Returns the tokens of a sequence, the prompt first. */
static inline int32_t *decoder_ids(const Decoder *d, long sequence) {
    return d->ids + sequence * d->capacity;
}
