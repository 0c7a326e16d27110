#include "decoding/saved_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void saved_run_close(SavedRun *r) {
    tokenizer_free(r->tokenizer);
    model_notes_free(&r->notes);
    model_free(r->model);
    *r = (SavedRun){0};
}

/* Reads the number of a token. */
static bool read_number(const char *text, int *id) {
    const Setting number = {"id", .allowed = CONFIG_RANGE(0, CONFIG_MAX_TOKENS),
                            .type = SETTING_INTEGER, .size = sizeof *id};
    return setting_read(&number, id, text, "", STATUS_BAD_DATA, &(Error){0});
}

/* Reads an id from the notes. It follows the ids of the characters, or is one of a language model;
 * it is not padding. */
static bool read_id(const SavedRun *r, const char *key, int *id, Error *e) {
    const char *text = model_notes_find(&r->notes, key);
    const ModelConfig *c = &r->model->config;
    long first = config_is_lm(c) ? 0 : r->tokenizer->size;
    if (text && read_number(text, id) && *id >= first && *id < c->vocab_size && *id != c->pad_id)
        return true;
    return error_set(e, STATUS_BAD_DATA,
                     "%s: metadata: %s: found %s, need a token in [%ld,%d), not padding", r->path,
                     key, text ? ESCAPED(text) : "none", first, c->vocab_size);
}

/* A line begins and ends with the same token, an answer with two. */
static bool read_ends(SavedRun *r, bool lm, Error *e) {
    if (!read_id(r, "begin_id", &r->begin_id, e) || !read_id(r, "end_id", &r->end_id, e))
        return false;
    return (r->begin_id == r->end_id) == lm ||
           error_set(e, STATUS_BAD_DATA, "%s: metadata: end_id: found %d, need %s begin_id",
                     r->path, r->end_id, lm ? "that of" : "another than");
}

/* Finds the model's file: the one of this name, wherever it lies, or that of a run. A checkpoint
 * has moments, too, and stands for the run. */
static bool find_model(SavedRun *r, const char *name, Error *e) {
    const char *slash = strrchr(name, '/');
    bool has_moments = strstr(name, CHECKPOINT_FILE);
    if (!directory_ends_in(name, ".safetensors") || access(name, F_OK) != 0 || has_moments)
        return runs_find(r->directory, name, MODEL_FILE, e) &&
               directory_file(r->path, r->directory, MODEL_FILE, STATUS_NO_INPUT, e);
    if (strlen(name) >= PATH_CAPACITY)
        return error_set(e, STATUS_NO_INPUT, "%s: the path is too long", ESCAPED(name));
    strcpy(r->path, name);
    snprintf(r->directory, PATH_CAPACITY, "%.*s", slash ? (int)(slash - name) : 1,
             slash ? name : ".");
    return true;
}

bool saved_run_open(SavedRun *r, const char *name, bool training, Error *e) {
    *r = (SavedRun){.begin_id = NO_PAD, .end_id = NO_PAD, .opening_id = NO_PAD};
    if (!find_model(r, name, e)) return false;
    r->model = model_load(r->path, training, &r->notes, e);
    if (!r->model) return false;
    const char *vocabulary = model_notes_find(&r->notes, "vocabulary");
    if (!vocabulary)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it", r->path);
    r->tokenizer = tokenizer_parse(r->path, vocabulary, e);
    if (!r->tokenizer) return false;
    const ModelConfig *c = &r->model->config;
    /* Tokens that are no text: padding, begin and end; of an imported language model any. */
    bool lm = config_is_lm(c);
    long need = c->vocab_size - (lm ? 0 : 2) - (c->pad_id != NO_PAD);
    if (r->tokenizer->size > need || (!lm && r->tokenizer->size < need))
        return error_set(e, STATUS_BAD_DATA,
                         "%s: metadata: vocabulary: found a size of %ld, need %ld", r->path,
                         r->tokenizer->size, need);
    const char *newline = model_notes_find(&r->notes, "newline");
    r->unix_newlines = newline && strcmp(newline, "unix") == 0;
    const char *opening = model_notes_find(&r->notes, "opening_id");
    if (lm && opening && read_number(opening, &r->opening_id) && r->opening_id >= c->vocab_size)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: metadata: opening_id: found %d, need a token below %d", r->path,
                         r->opening_id, c->vocab_size);
    r->user = model_notes_find(&r->notes, "user");
    r->bot = model_notes_find(&r->notes, "bot");
    const char *lines = model_notes_find(&r->notes, "lines");
    if (lm && lines && *lines) r->lines = lines;
    return (lm && !r->lines) || read_ends(r, lm, e);
}

const char *saved_run_label(const SavedRun *r, int32_t token, char out[TOKEN_LABEL]) {
    if (token < r->tokenizer->size) return tokenizer_label(r->tokenizer, token, out);
    if (token == r->begin_id) return "<begin>";
    return token == r->end_id ? "<end>" : "<pad>";
}
