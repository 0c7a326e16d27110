#include "training/from.h"
#include "base/directory.h"
#include "nn/model_file.h"
#include <stdlib.h>
#include <string.h>

static bool path_of(const TrainConfig *r, char path[PATH_ROOM], Error *e) {
    return directory_file(path, r->from, "model.safetensors", STATUS_NO_INPUT, e);
}

bool from_configure(TrainConfig *r, const Checkpoint *past, Error *e) {
    char path[PATH_ROOM];
    Safetensors file = {0};
    if (!r->from) return true;
    if (r->resume) return train_config_begin_from(r, &past->file, e);
    bool ok = path_of(r, path, e) && safetensors_read(&file, path, e) && train_config_begin_from(r, &file, e);
    safetensors_free(&file);
    return ok;
}

bool from_read_weights(Trainer *t, const TrainConfig *r, Error *e) {
    char path[PATH_ROOM], *vocabulary = tokenizer_string(t->task->tokenizer, e);
    if (!vocabulary) return false;
    bool same = strcmp(vocabulary, r->data.vocabulary) == 0;
    free(vocabulary);
    if (!same)
        return error_set(e, STATUS_OTHER_MODEL,
                         "--from: %s: found another vocabulary, need that of this task", r->from);
    return path_of(r, path, e) && model_read_weights(t->model, path, e);
}
