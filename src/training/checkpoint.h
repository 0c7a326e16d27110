/* Checkpoints: all that a run needs to go on, in one file, DIRECTORY/checkpoint.safetensors. Its tensors are the
 * weights, under their names in a model's file, and the optimizer's moments, as moment1.NAME and moment2.NAME (adamw
 * alone). Its metadata describes the model and says the config, the vocabulary, and where the run stands. What is
 * drawn at random is a function of seed and step, so that these are the state of all random numbers, and the place in
 * the data. */
#ifndef TRAINING_CHECKPOINT_H
#define TRAINING_CHECKPOINT_H

#include "base/directory.h"
#include "training/train_config.h"

typedef struct Checkpoint {
    char path[PATH_ROOM];
    Safetensors file;
    TrainState state;
    uint64_t identity; /* of the file that was read */
} Checkpoint;

/* The notes of a model's file: its task, vocabulary, and the ids that begin and end a sequence, for a `count` in all
 * with the `more` ones. Calls write(context, notes, count). */
bool checkpoint_with_notes(const Trainer *t, const Metadata *more, int count,
                           bool (*write)(void *context, const Metadata *notes, int count, Error *e),
                           void *context, Error *e);

/* Writes one, atomically: base/file.h. */
bool checkpoint_save(const char *path, const TrainConfig *r, const Trainer *t, Error *e);

/* Reads that of a run. STATUS_NO_INPUT: there is none; STATUS_BAD_DATA: it is damaged. To be freed, also after failure,
 * with checkpoint_free. */
bool checkpoint_open(Checkpoint *c, const char *directory, Error *e);
void checkpoint_free(Checkpoint *c);

/* False: the run has another checkpoint by now. STATUS_CANNOT_CREATE. */
bool checkpoint_is_latest(const Checkpoint *c, Error *e);

/* A value of its metadata, or NULL: for train_config_resume. */
const char *checkpoint_note(void *checkpoint, const char *key);

/* Gives a trainer that was started weights, moments and state. STATUS_OTHER_MODEL, with every difference: the trainer's text, vocabulary
 * or precision is another; STATUS_BAD_DATA: a tensor is missing, of another shape or not finite. */
bool checkpoint_restore(const Checkpoint *c, Trainer *t, Error *e);

#endif
