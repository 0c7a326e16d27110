/* Checkpoints: DIRECTORY/checkpoint.safetensors holds all that --resume needs. Its tensors are the
 * weights, named as in a model file, and the optimizer's moments, moment1.NAME and, for adamw,
 * moment2.NAME. Its metadata holds the model's description, the training configuration, the
 * vocabulary and the state of the run. Random numbers and the position in the data are functions of
 * seed and step. */
#pragma once

#include "base/directory.h"
#include "base/file.h"
#include "training/train_config.h"

typedef struct Checkpoint {
    char path[PATH_CAPACITY];
    Safetensors file;
    TrainState state;
    uint64_t identity; /* file_identity of the file when it was read */
} Checkpoint;

/* Both write into an open file, which the caller commits: the model with notes for
 * src/core/decoding/saved_run.h, or a checkpoint. */
bool checkpoint_write_model(const Trainer *t, File *f, Error *e);
bool checkpoint_write(const TrainConfig *r, const Trainer *t, File *f, Error *e);

/* Reads the checkpoint of a directory. STATUS_NO_INPUT: there is none; STATUS_BAD_DATA: it is
 * damaged. The caller calls checkpoint_free, also after a failure. */
bool checkpoint_open(Checkpoint *c, const char *directory, Error *e);
void checkpoint_free(Checkpoint *c);

/* Restores a started trainer: weights, moments and state. STATUS_OTHER_MODEL: the data or
 * the precision differ; STATUS_BAD_DATA: a tensor is missing, not finite or has another shape. */
bool checkpoint_restore(const Checkpoint *c, Trainer *t, Error *e);

/* ---- --from: a run that begins with the weights and the tokenizer of another one. Optimizer and
 * schedule are new. ---- */

/* Sets what the other run decides, if there is one: settings of the model, tokenizer, context. A
 * resumed run reads them from its checkpoint, `past`. Errors of train_config_begin_from and
 * safetensors_read. */
bool from_configure(TrainConfig *r, const Checkpoint *past, Error *e);

/* Reads the other run's weights into the trainer's model. STATUS_OTHER_MODEL: the task has other
 * tokens. */
bool from_read_weights(Trainer *t, const TrainConfig *r, Error *e);
