/* RUN/frames.safetensors: what the page of a run shows beside its figures: some held-out rows, and at some steps the answers
 * to them and the attention on them.
 *
 *     model        I32 [4]           layers of the encoder and of the decoder, heads, and most tokens of a text on a map
 *     steps        I32 [F]           of the frames, ascending
 *     tokens       I32 [L, width]    lists of tokens, numbered as below, filled up with -1; answers of F frames
 *     weights      U8 [F, W]         attention in percent: the maps of all examples, groups, layers and heads, row by
 *                                    row; a causal map has of its row i the columns 0 … i
 *
 * The metadata are its notes: the keys below, `task`, `vocabulary`, `begin_id` and `end_id` as in a model's file, and an option
 * of the run as `recipe.NAME`. */
#pragma once

#include "formats/safetensors.h"
#include "nn/nn.h"

#define NOTE_COMMAND    "command"    /* that repeats the run */
#define NOTE_STEPS      "steps"      /* of the whole run */
#define NOTE_CHARACTERS "characters" /* per held-out token; 0: not a text, or some are [UNK] */
#define NOTE_UNKNOWN    "unknown"    /* share of the held-out characters that [UNK] stands for */
#define NOTE_REMARK     "remark"     /* on the training, for the page's top */
#define NOTE_LOSS       "loss"       /* on the curves of the loss */
#define NOTE_TEXT       "text"       /* on a text, and what was chosen to fit it */
#define NOTE_YARDSTICK  "yardstick." /* and a name: a loss to compare with, in nats per token */

enum { FRAMES = 24, EXAMPLES = 3, SAMPLES = 6, GROUPS = 3 }; /* at most */

/* The numbers of the lists of tokens. Lists that are not there are empty. */
enum {
    LIST_SOURCE, /* of each example, which is an attention to show: the source, if there is one, */
    LIST_TARGET = LIST_SOURCE + EXAMPLES, /* and the decoder's input */
    LIST_GIVEN = LIST_TARGET + EXAMPLES,  /* of each sample: what the model gets, */
    LIST_WANTED = LIST_GIVEN + SAMPLES,   /* and the right answer, if there is one */
    LIST_ANSWER = LIST_WANTED + SAMPLES,  /* of each frame: the answers to all samples */
    LISTS = LIST_ANSWER + FRAMES * SAMPLES
};

typedef struct List {
    const int32_t *id;
    long count;
} List;

typedef struct Frames {
    int32_t model[4], step[FRAMES]; /* step below 0: unknown */
    int count, most;                /* frames; at most so many */
    long width, weights;            /* of a list; of a frame */
    int32_t *tokens;                /* [LISTS, width] */
    uint8_t *weight;                /* [most, weights]; NULL before frames_reserve */
} Frames;

/* Frames of a model without lists. STATUS_NO_MEMORY. To be freed, also after failure, with frames_free. */
bool frames_new(Frames *f, const ModelConfig *c, long longest, long width, Error *e);
void frames_free(Frames *f);

/* Allocates the weights of `most` frames, once all examples have their lists. STATUS_NO_MEMORY. */
bool frames_reserve(Frames *f, int most, Error *e);

/* Sets a list; the tokens are at most width. The lists from `first` on that are not empty, at most `most`. */
void frames_set(Frames *f, int list, const int32_t *id, long count);
List frames_list(const Frames *f, int list);
int frames_lists(const Frames *f, int first, int most);

/* The answer to a sample in a frame. */
static inline int frames_answer(int frame, int sample) {
    return LIST_ANSWER + frame * SAMPLES + sample;
}

/* Begins the frame of a step and returns its number. Drops those from this step on and, if there are `most` others, the one
 * whose neighbours are the nearest. */
int frames_begin(Frames *f, long step);

/* Attention of one kind, of every layer and head, between the same tokens. */
typedef struct Group {
    const char *name, *file_name; /* "Decoder self-attention"; in file names, "decoder" */
    const char *pattern;          /* of a layer's name in a weight file */
    int layers, heads;
    List rows, columns; /* queries and keys */
    bool causal;        /* row i has weights up to column i only */
} Group;

/* The groups of an example, whose number is returned; weights of a row of a group, and of the whole example. */
int frames_groups(const Frames *f, int example, Group group[GROUPS]);
long frames_row_weights(const Group *g, long row);
double frames_example_weights(const Frames *f, int example);

/* Runs the model on a source, which a language model does not have, and a target: [tokens of the target, vocab_size]. The
 * caller resets the tape. NULL: the error. */
Tensor *frames_logits(Tape *t, Model *m, List source, List target, Trace *trace, Error *e);

/* Writes the weights of a forward pass over an example. Returns the place after them. */
uint8_t *frames_take(const Frames *f, int example, const Trace *trace, uint8_t *weight);

/* Writes DIRECTORY/frames.safetensors. It fails as safetensors_write does. */
bool frames_write(const Frames *f, const Metadata *note, int notes, const char *directory, Error *e);

/* Reads a file's frames; all ids are below `tokens`. STATUS_BAD_DATA, STATUS_NO_MEMORY. To be freed, also after failure. */
bool frames_read(Frames *f, const Safetensors *file, long tokens, Error *e);
