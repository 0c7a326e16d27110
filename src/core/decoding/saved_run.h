/* A run that ./train saved: the model, its tokenizer and its notes. */
#pragma once

#include "base/runs.h"
#include "decoding/decode.h"
#include "nn/model_file.h"

typedef struct SavedRun {
    char directory[PATH_CAPACITY], path[PATH_CAPACITY]; /* path: of the model's file */
    Model *model;
    Notes notes;
    Tokenizer *tokenizer;
    int begin_id, end_id;   /* seq2seq, lines; NO_PAD: none */
    int opening_id;         /* lm: Task.opening_id; NO_PAD: unknown */
    const char *user, *bot; /* lm: labels of Task.speakers; NULL or "": none */
    bool unix_newlines;     /* of the text that it learned */
    const char *lines;      /* lm: Task.lines; NULL: the examples are no lines */
} SavedRun;

/* Opens a run's model.safetensors, or another model file in its directory; `training` gives the
 * model gradients. The caller calls saved_run_close, also after a failure. Errors of runs_find and
 * model_load; STATUS_BAD_DATA if vocabulary, begin_id or end_id do not fit the model. */
bool saved_run_open(SavedRun *r, const char *name, bool training, Error *e);

void saved_run_close(SavedRun *r);

/* The text of a token, or "<begin>", "<end>", "<pad>". */
const char *saved_run_label(const SavedRun *r, int32_t token, char out[TOKEN_LABEL]);

/* Which tokens the run's answers and texts may have. */
static inline NextTokens saved_run_next(const SavedRun *r) {
    return (NextTokens){r->tokenizer, r->begin_id, r->end_id, r->model->config.pad_id};
}
