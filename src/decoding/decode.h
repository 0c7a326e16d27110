/* Decoding: a trained model reads its own output, one token at a time. */
#pragma once

#include "decoding/next_tokens.h"
#include "nn/nn.h"

/* ---- The choice of a token ---- */

/* A sampler applies these in this order. {0} chooses the likeliest token. */
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
    const Tokenizer *tokenizer; /* whose tokens are text: decoding chooses no other; NULL: chooses any */
} Sampler;

/* The scores of `count` tokens that may follow the text ids[0 … n). */
typedef struct Scores {
    long count;
    const real *scores;
    const int32_t *ids;
    long n;
} Scores;

/* Writes the probability of every token, after penalty, temperature (0: 1) and filters, into p, which has
 * room for 2 · count numbers. Filters keep equals of the last token that they keep. Returns the likeliest. */
long decode_probabilities(const Sampler *s, const Scores *c, double *p);

/* The token chosen for a sequence. p as above. */
long decode_choose(const Sampler *s, const Scores *c, uint64_t sequence, double *p);

/* ---- Answers and texts ---- */

/* Sequence to sequence: answers `count` sources, which stand one after another: source i is source[start[i]]
 * … source[start[i + 1] - 1]. A language model of lines writes `count` lines; start is NULL. Row i of out, [count, most],
 * gets the tokens before end_id, and length[i] their number. An answer that does not end is cut off at `most` tokens.
 * Source i draws as sequence i. */
bool decode_answers(Tape *t, Model *m, const Sampler *s, long count, const long *start, const int32_t *source,
                    int32_t begin_id, int32_t end_id, long most, int32_t *out, long *length, Error *e);

/* Language model: writes `more` tokens after the prompt ids[0 … n), n >= 1, into ids[n …]. The model sees the
 * last max_length tokens, or with s->slide fewer. Calls `emit`, if not NULL, with each token as soon as it is
 * known, of sequence 0; decoding ends if it returns false. */
bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, long sequence, int32_t id), void *context, Error *e);

/* ---- Sequences that a model continues together, one token each a pass ---- */

/* The beginning of all sequences, and the sources that they answer. With one source or none, all sequences
 * are the same so far, and the prompt is computed once. */
typedef struct Given {
    const int32_t *prompt; /* seq2seq: the token that begins an answer */
    long prompt_tokens;    /* at least 1; seq2seq: 1 */
    long sources;          /* seq2seq: 1, or one for each sequence */
    const long *start;     /* [sequences + 1] where source i begins in `source` */
    const int32_t *source;
    long slide;      /* Sampler.slide */
    NextTokens next; /* its end ends a sequence */
} Given;

typedef struct Decoder {
    Tape *tape;
    Model *model;
    Tokens source, target;
    KvCache cache;
    long sequences, room;   /* … and most tokens of each */
    long length;            /* tokens of a sequence that has not ended */
    long *tokens;           /* [sequences] tokens of each, the prompt among them */
    bool *ended;            /* [sequences] takes no more tokens */
    int32_t *ids, *other;   /* [sequences, room] */
    int32_t *window;        /* [sequences, tokens of the window] what a pass reads */
    double *probability;    /* [2, vocab_size] memory for decode_choose */
    NextTokens next;        /* of the given */
    long first, slide;      /* the window's first token, and its step */
    bool lm, slides;        /* is a language model; its window slides */
    bool known;             /* the cache holds the window without its newest token */
    bool same;              /* the sequences do not differ yet: only the first is computed */
    real *scores;           /* of the last pass, of its last rows */
    long scores_from;       /* the first of these rows */
    bool no_grad, training; /* of the tape before */
} Decoder;

/* Prepares sequences of at most `more` tokens after the prompt. A seq2seq answer has at most max_length
 * tokens. To be closed, also after failure: STATUS_NO_MEMORY. */
bool decoder_open(Decoder *d, Tape *t, Model *m, long sequences, const Given *given, long more, Error *e);
void decoder_close(Decoder *d);

/* Computes the scores of the next token of every unended sequence, and hides tokens that may not come next.
 * STATUS_BAD_DATA: one is not finite. */
bool decoder_next(Decoder *d, Error *e);

/* These scores, until the next pass, and the text before them. */
Scores decoder_scores(const Decoder *d, long sequence);

/* Sequence i becomes what sequence from[i] was; -1: it ends. All have the same source. */
void decoder_reorder(Decoder *d, const long *from);

/* Chooses tokens until every sequence has ended or is full. A sequence ends at its end, which it does not
 * get. Calls chosen, if not NULL, with every token chosen, the last one too; false ends the sequence.
 * Sequences that share what is given draw as they would alone with the seeds s->seed, s->seed + 1, …. */
bool decoder_run(Decoder *d, const Sampler *s, bool (*chosen)(void *context, long sequence, int32_t id),
                 void *context, Error *e);

/* The tokens of a sequence. */
static inline int32_t *decoder_ids(const Decoder *d, long sequence) {
    return d->ids + sequence * d->room;
}
