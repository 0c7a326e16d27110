/* RUN/frames.safetensors: what the page of a run shows beside its figures.
 *
 *     example.I.source, example.I.target          I32 [n], [m]   a sequence; a language model has no source
 *     sample.I.given, sample.I.wanted             I32            what the model gets; the right answer, if there is one
 *     frame.STEP.example.I.GROUP                  U8 [layers, heads, rows, columns]   attention at a step, in percent
 *     frame.STEP.answer.I                         I32            the answer to sample I
 *     searched.given, beam.J.tokens               I32            a sample, and its answers by beam search
 *     beam.J.probability                          F64            of each token after those before it
 *
 * GROUP is encoder, decoder or cross, of a language model text. Its metadata are below. */
#ifndef RUN_FRAMES_H
#define RUN_FRAMES_H

#include "formats/safetensors.h"
#include "run/page.h"

/* The metadata: `task`, `vocabulary`, `begin_id` and `end_id` as in a model's file, an option of the run
 * as `recipe.NAME`, and: */
#define NOTE_COMMAND    "command"    /* that repeats the run */
#define NOTE_STEPS      "steps"      /* of the whole run */
#define NOTE_CHARACTERS "characters" /* per held-out token; 0: not a text, or some are [UNK] */
#define NOTE_UNKNOWN    "unknown"    /* share of the held-out characters that [UNK] stands for */
#define NOTE_REMARK     "remark"     /* on the training, for the page's top */
#define NOTE_LOSS       "loss"       /* on the curves of the loss */
#define NOTE_TEXT       "text"       /* on a text, and what was chosen to fit it */
#define NOTE_YARDSTICK  "yardstick." /* and a name: a loss to compare with, in nats per token */
#define NOTE_SHARES     "shares." /* and a module's name: how often each of its parts was used, in percent */
#define NOTE_RECIPE     "recipe."

enum {
    FRAMES_TENSORS = PAGE_FRAMES * (PAGE_EXAMPLES * PAGE_GROUPS + PAGE_SAMPLES) + 2 * PAGE_EXAMPLES +
                     2 * PAGE_SAMPLES + 2 * PAGE_BEAMS + 1,
    FRAMES_NOTES = 128,
    FRAMES_NAME = 48
};

/* The content of such a file, over the caller's memory. Initially {0}. */
typedef struct Frames {
    Array tensor[FRAMES_TENSORS];
    char name[FRAMES_TENSORS][FRAMES_NAME];
    int tensors;
    Metadata note[FRAMES_NOTES];
    int notes;
} Frames;

/* Adds the parts of a page. */
void frames_add_example(Frames *f, int i, const PageExample *x);
void frames_add_weights(Frames *f, long step, int i, const PageExample *x,
                        uint8_t *const weights[PAGE_GROUPS]);
void frames_add_sample(Frames *f, int i, const PageSample *s);
void frames_add_answer(Frames *f, long step, int i, const PageAnswer *a);
void frames_add_beams(Frames *f, const PageSample *searched, const PageBeam *beams, int count);
void frames_note(Frames *f, const char *key, const char *value);

/* Adds the frames of another file before `step`: at most `most`, which lie evenly over the steps, with the first and the
 * last of them. */
void frames_add_earlier(Frames *f, const Safetensors *other, long step, int most);

/* Writes DIRECTORY/frames.safetensors. It fails as safetensors_write does. */
bool frames_write(const Frames *f, const char *directory, Error *e);

/* The content as a file that was read, sorted; valid as long as f. */
Safetensors frames_as_file(Frames *f);

/* A page's part of it, which frames_page makes. It is valid as long as the file. Freed with frames_page_free. */
typedef struct FramesPage {
    PageExample example[PAGE_EXAMPLES];
    PageFrame frame[PAGE_FRAMES];
    PageSample sample[PAGE_SAMPLES];
    PageBeam beam[PAGE_BEAMS];
    int32_t *ids;        /* of all tensors */
    double *probability; /* of all beams */
    long id_count, probability_count;
} FramesPage;

/* Sets examples, frames, samples and beams of p. All ids are below `tokens`. STATUS_BAD_DATA, STATUS_NO_MEMORY. */
bool frames_page(FramesPage *f, const Safetensors *file, long tokens, Page *p, Error *e);
void frames_page_free(FramesPage *f);

#endif
