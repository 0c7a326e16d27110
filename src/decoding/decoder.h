/* Sequences that a model continues together, one token each a pass.
 *
 *     Decoder d;
 *     bool ok = decoder_open(&d, tape, model, 8, &(Given){.prompt = ids, .prompt_tokens = n}, 100, e) &&
 *               decoder_run(&d, &sampler, NO_PAD, NULL, NULL, e);
 *     …                                     sequence i is decoder_ids(&d, i), d.tokens[i] long
 *     decoder_close(&d);
 *
 * While a text fits into a language model's context, each token is computed alone, with the cache of earlier ones. After
 * that the window slides: all its tokens change position, which invalidates the cache, and the whole window is computed
 * again. A window that slides by one token pays this price for every token. A window that slides by half the context
 * pays it once in that many tokens, and a token sees between half and all of the context. With rotary positions the
 * cache holds, as attention depends on distances alone. */
#ifndef DECODING_DECODER_H
#define DECODING_DECODER_H

#include "decoding/sampler.h"
#include "nn/nn.h"

/* What all sequences begin with, and what they answer. With one source or none, all sequences are the same so far, and
 * the prompt is computed once. */
typedef struct Given {
    const int32_t *prompt; /* seq2seq: the token that begins an answer */
    long prompt_tokens;    /* at least 1; seq2seq: 1 */
    long sources;          /* seq2seq: 1, or one for each sequence */
    const long *start;     /* [sequences + 1] where source i begins in `source` */
    const int32_t *source;
    long slide; /* Sampler.slide */
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
    long first, slide;      /* the window's first token, and its step */
    bool known;             /* the cache holds the window without its newest token */
    bool same;              /* the sequences do not differ yet: only the first is computed */
    real *scores;           /* of the last pass, of its last rows */
    long scores_from;       /* the first of these rows */
    bool no_grad, training; /* of the tape before */
} Decoder;

/* Prepares sequences of at most `more` tokens after the prompt. The model reads at most its max_length of a seq2seq answer.
 * To be closed, also after failure: STATUS_NO_MEMORY. */
bool decoder_open(Decoder *d, Tape *t, Model *m, long sequences, const Given *given, long more, Error *e);
void decoder_close(Decoder *d);

/* Computes the scores of the next token of every sequence that has not ended. STATUS_BAD_DATA: one is not finite. */
bool decoder_next(Decoder *d, Error *e);

/* These scores, until the next pass, and the text before them. */
Choice decoder_choice(const Decoder *d, long sequence);

/* Appends a token; after one for every sequence, d->length grows. */
void decoder_append(Decoder *d, long sequence, int32_t id);

/* Sequence i becomes what sequence from[i] was; -1: it ends. Of sequences with the same source. */
void decoder_reorder(Decoder *d, const long *from);

/* Chooses tokens until every sequence has ended or is full. A sequence ends, without it, at end_id or padding. Calls
 * chosen, if not NULL, with every token chosen, the last one too; false ends the sequence. Sequences that share what is
 * given draw as they would alone with the seeds s->seed, s->seed + 1, …. */
bool decoder_run(Decoder *d, const Sampler *s, int32_t end_id,
                 bool (*chosen)(void *context, long sequence, int32_t id), void *context, Error *e);

/* The tokens of a sequence. */
static inline int32_t *decoder_ids(const Decoder *d, long sequence) {
    return d->ids + sequence * d->room;
}

#endif
