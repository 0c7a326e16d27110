/* --from: a run that begins with the weights and the tokenizer of another one. Its optimizer and schedule are new. */
#pragma once

#include "training/checkpoint.h"

/* Takes what the other run decides, if there is one: settings of the model, tokenizer, context. A resumed run takes them
 * from its checkpoint, `past`. Errors as train_config_begin_from, safetensors_read. */
bool from_configure(TrainConfig *r, const Checkpoint *past, Error *e);

/* Reads the other run's weights into the trainer's model. STATUS_OTHER_MODEL: the task has other tokens. */
bool from_read_weights(Trainer *t, const TrainConfig *r, Error *e);
