/* A run that ./train saved: its model, and what else its file says. */
#ifndef DECODING_SAVED_RUN_H
#define DECODING_SAVED_RUN_H

#include "base/directory.h"
#include "nn/model_file.h"
#include "text/tokenizer.h"

typedef struct SavedRun {
    char path[PATH_ROOM]; /* of the model's file */
    Model *model;
    Notes notes;
    Tokenizer *tokenizer;
    int begin_id, end_id; /* sequence to sequence alone */
} SavedRun;

/* Opens DIRECTORY/model.safetensors; `damaged` does without its checksum. Owned by the caller, for saved_run_close, also
 * where it fails: as model_load does, or with STATUS_BAD_DATA where vocabulary, begin_id or end_id are none of the
 * model's. */
bool saved_run_open(SavedRun *r, const char *directory, bool damaged, Error *e);
void saved_run_close(SavedRun *r);

#endif
