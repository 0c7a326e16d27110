/* Checkpoints: DIRECTORY/checkpoint.safetensors holds all that --resume needs. Its tensors are the weights,
 * named as in a model file, and the optimizer's moments, moment1.NAME and, for adamw, moment2.NAME. Its
 * metadata holds the model's description, the training configuration, the vocabulary and the state of the
 * run. Random numbers and the position in the data are functions of seed and step. */
#pragma once

#include "base/directory.h"
#include "base/file.h"
#include "training/train_config.h"

typedef struct Checkpoint {
    char path[PATH_ROOM];
    Safetensors file;
    TrainState state;
    uint64_t identity; /* file_identity of the file when it was read */
} Checkpoint;

/* Writes the model into an open file, with notes for src/decoding/saved_run.h. */
bool checkpoint_write_model(const Trainer *t, File *f, Error *e);

/* Writes a checkpoint atomically: base/file.h. */
bool checkpoint_save(const char *path, const TrainConfig *r, const Trainer *t, Error *e);

/* Reads the checkpoint of a directory. STATUS_NO_INPUT: there is none; STATUS_BAD_DATA: it is damaged. To be
 * freed, also after failure, with checkpoint_free. */
bool checkpoint_open(Checkpoint *c, const char *directory, Error *e);
void checkpoint_free(Checkpoint *c);

/* Restores a started trainer: weights, moments and state. STATUS_OTHER_MODEL: text, vocabulary or precision
 * differ, and the error lists how; STATUS_BAD_DATA: a tensor is missing, not finite or has another shape. */
bool checkpoint_restore(const Checkpoint *c, Trainer *t, Error *e);

/* Replaces the trainer's weights by those of another model file of the run, and loses the moments. An error leaves the
 * weights. */
bool checkpoint_read_weights(const char *path, Trainer *t, Error *e);
