#include "decoding/saved_run.h"

void saved_run_close(SavedRun *r) {
    tokenizer_free(r->tokenizer);
    model_notes_free(&r->notes);
    model_free(r->model);
    *r = (SavedRun){0};
}

/* Reads an id from the notes. It follows the ids of the characters and is not padding. */
static bool read_id(const SavedRun *r, const char *key, int *id, Error *e) {
    const char *text = model_notes_find(&r->notes, key);
    const ModelConfig *c = &r->model->config;
    if (text && config_integer(text, id) && *id >= r->tokenizer->size && *id < c->vocab_size &&
        *id != c->pad_id)
        return true;
    return error_set(e, STATUS_BAD_DATA, "%s: metadata: %s: found %s, need a token in [%ld,%d), not padding",
                     r->path, key, text ? ESCAPED(text) : "none", r->tokenizer->size, c->vocab_size);
}

static bool read_ids(SavedRun *r, Error *e) {
    return read_id(r, "begin_id", &r->begin_id, e) && read_id(r, "end_id", &r->end_id, e) &&
           (r->begin_id != r->end_id ||
            error_set(e, STATUS_BAD_DATA, "%s: metadata: end_id: found %d, need another than begin_id",
                      r->path, r->end_id));
}

/* The tokens of a model are characters, padding if it has any, and begin and end in a seq2seq model. */
static bool check_vocabulary(const SavedRun *r, Error *e) {
    const ModelConfig *c = &r->model->config;
    long need = c->vocab_size - (c->kind == KIND_LM ? 0 : 2) - (c->pad_id != NO_PAD);
    return r->tokenizer->size == need ||
           error_set(e, STATUS_BAD_DATA, "%s: metadata: vocabulary: found %ld characters, need %ld", r->path,
                     r->tokenizer->size, need);
}

bool saved_run_open(SavedRun *r, const char *directory, bool damaged, Error *e) {
    *r = (SavedRun){0};
    if (!directory_file(r->path, directory, "model.safetensors", STATUS_NO_INPUT, e)) return false;
    r->model = (damaged ? model_load_damaged : model_load)(r->path, false, &r->notes, e);
    if (!r->model) return false;
    const char *vocabulary = model_notes_find(&r->notes, "vocabulary");
    if (!vocabulary)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it", r->path);
    r->tokenizer = tokenizer_parse(r->path, vocabulary, e);
    if (!r->tokenizer) return false;
    return check_vocabulary(r, e) && (r->model->config.kind == KIND_LM || read_ids(r, e));
}
