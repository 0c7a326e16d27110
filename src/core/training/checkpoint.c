#include "training/checkpoint.h"
#include "nn/model_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTS = 2, NAME = PARAMETER_NAME + 8, NUMBER = 32 };
static const char *const moment_prefix[MOMENTS] = {"moment1.", "moment2."};

static real *moment(const Trainer *t, int i) {
    return i ? t->optimizer.moment2 : t->optimizer.moment1;
}

/* ---- Metadata ---- */

#define COUNT              "[0,1e18]"
#define STATE(type, field) SETTING(type, TrainState, field)
static const Setting run_state[] = {
    {"run.step", NULL, COUNT, NULL, STATE(INTEGER, step)},
    {"run.tokens", NULL, COUNT, NULL, STATE(INTEGER, tokens)},
    {"run.loss_sum", NULL, "(-inf,inf)", NULL, STATE(REAL, loss_sum)},
    {"run.losses", NULL, COUNT, NULL, STATE(INTEGER, losses)},
    {"run.evaluated", NULL, COUNT, NULL, STATE(INTEGER, evaluated)},
    {"run.best_loss", NULL, "(-inf,inf)", NULL, STATE(REAL, best_loss), .none = "inf"},
    {"run.best_step", NULL, COUNT, NULL, STATE(INTEGER, best_step)},
    {0},
};

static const char *precision(void) {
    return sizeof(real) == sizeof(float) ? "float" : "double";
}

static const char *checksum_of(const Task *task, char out[NUMBER]) {
    snprintf(out, NUMBER, "%08lX", (unsigned long)task->checksum);
    return out;
}

/* ---- Writing ---- */

/* Adds the model with what decoding needs to know of its task. */
static bool describe(const Trainer *t, Contents *c, Error *e) {
    const Task *task = t->task;
    char *vocabulary = tokenizer_string(task->tokenizer, e);
    if (!vocabulary) return false;
    model_describe(t->model, c);
    contents_note(c, "task", task->name);
    contents_note(c, "vocabulary", vocabulary);
    contents_number(c, "begin_id", task->begin_id);
    contents_number(c, "end_id", task->end_id);
    contents_number(c, "opening_id", task->opening_id);
    contents_note(c, "newline", task->unix_newlines ? "unix" : "keep");
    contents_note(c, "lines", task->lines ? task->lines : "");
    contents_note(c, "user", task->speakers.user);
    contents_note(c, "bot", task->speakers.bot);
    free(vocabulary);
    return true;
}

/* Adds the state of the run and the optimizer's moments. */
static void add_state(const Trainer *t, Contents *c) {
    const Parameters *p = &t->model->parameters;
    char checksum[NUMBER], number[SETTING_VALUE];
    contents_note(c, "text_crc32", checksum_of(t->task, checksum));
    contents_note(c, "precision", precision());
    for (const Setting *s = run_state; s->name; s++)
        contents_note(c, s->name, setting_text(s, &t->state, number));
    for (int part = 0; part < t->optimizer.kind->moments; part++)
        for (const Parameter *w = p->entry; w < p->entry + p->count; w++)
            if (!w->frozen)
                contents_tensor(c, moment_prefix[part], w->name, w->shape,
                                moment(t, part) + w->offset);
}

bool checkpoint_write_model(const Trainer *t, File *f, Error *e) {
    Contents c = {0};
    bool ok = describe(t, &c, e) && contents_write(&c, f, e);
    contents_free(&c);
    return ok;
}

bool checkpoint_write(const TrainConfig *r, const Trainer *t, File *f, Error *e) {
    Contents c = {0};
    bool ok = describe(t, &c, e);
    if (ok) {
        train_config_notes(r, &c);
        add_state(t, &c);
        ok = contents_write(&c, f, e);
    }
    contents_free(&c);
    return ok;
}

/* ---- Reading ---- */

bool checkpoint_open(Checkpoint *c, const char *directory, Error *e) {
    *c = (Checkpoint){0};
    if (!directory_file(c->path, directory, "checkpoint.safetensors", STATUS_NO_INPUT, e))
        return false;
    c->identity = file_identity(c->path);
    if (!safetensors_read(&c->file, c->path, e)) return false;
    for (const Setting *s = run_state; s->name; s++) {
        char where[PATH_CAPACITY + 40];
        const char *text = safetensors_metadata(&c->file, s->name);
        snprintf(where, sizeof where, "%s: metadata: %s", c->path, s->name);
        if (!setting_read(s, &c->state, text ? text : "", where, STATUS_BAD_DATA, e)) return false;
    }
    return true;
}

void checkpoint_free(Checkpoint *c) {
    safetensors_free(&c->file);
}

/* Reads the tensors with this prefix into a store of the same layout as the parameters, bit for
 * bit: those of all parameters, or of those that learn. */
static bool read_part(const Safetensors *file, const Parameters *p, const char *prefix, bool all,
                      real *part, Error *e) {
    char name[NAME];
    for (int i = 0; i < p->count; i++) {
        const Parameter *entry = &p->entry[i];
        if (entry->frozen && !all) continue;
        snprintf(name, sizeof name, "%s%s", prefix, entry->name);
        const Array *a = safetensors_need(file, name, e);
        if (!a || !array_expect_shape(a, entry->shape, e)) return false;
        if (a->dtype != DTYPE_REAL)
            return error_set(e, STATUS_BAD_DATA, "%s: found %s, need %s", ARRAY_PLACE(a),
                             dtype_name(a->dtype), dtype_name(DTYPE_REAL));
        if (!array_check_finite(a, e) || !array_to_real(a, part + entry->offset, e)) return false;
    }
    return true;
}

static bool has(const Checkpoint *c, const char *name, const char *value) {
    const char *had = safetensors_metadata(&c->file, name);
    return had && strcmp(had, value) == 0;
}

/* The data and the program must be those of the run that continues. */
static bool same_run(const Checkpoint *c, const Trainer *t, Error *e) {
    char checksum[NUMBER], *vocabulary = tokenizer_string(t->task->tokenizer, e);
    if (!vocabulary) return false;
    bool same_data =
        has(c, "vocabulary", vocabulary) && has(c, "text_crc32", checksum_of(t->task, checksum));
    free(vocabulary);
    if (!has(c, "precision", precision()))
        return error_set(e, STATUS_OTHER_MODEL,
                         "%s: made by a program of another precision, not %s", c->path,
                         precision());
    return same_data ||
           error_set(e, STATUS_OTHER_MODEL,
                     "%s: made with %s, need the same to continue; --from in place of --resume "
                     "begins a new run with these weights",
                     c->path, task_is_language_model(t->task) ? "another text" : "other data");
}

bool checkpoint_restore(const Checkpoint *c, Trainer *t, Error *e) {
    Parameters *p = &t->model->parameters;
    int tensors = p->count, moments = t->optimizer.kind->moments;
    if (!same_run(c, t, e) || !read_part(&c->file, p, "", true, p->value, e)) return false;
    for (int i = 0; i < moments; i++)
        if (!read_part(&c->file, p, moment_prefix[i], false, moment(t, i), e)) return false;
    for (int i = 0; i < p->count; i++) tensors += p->entry[i].frozen ? 0 : moments;
    if (c->file.tensors != tensors)
        return error_set(e, STATUS_BAD_DATA, "%s: found %d tensor%s, need %d", c->path,
                         c->file.tensors, PLURAL(c->file.tensors), tensors);
    t->state = c->state;
    t->optimizer.step = c->state.step;
    return true;
}

/* ---- Beginning from another run ---- */

static bool path_of(const TrainConfig *r, char path[PATH_CAPACITY], Error *e) {
    return directory_file(path, r->from, "model.safetensors", STATUS_NO_INPUT, e);
}

bool from_configure(TrainConfig *r, const Checkpoint *past, Error *e) {
    char path[PATH_CAPACITY];
    Safetensors file = {0};
    if (!r->from) return true;
    if (r->resume) return train_config_begin_from(r, &past->file, e);
    bool ok = train_config_find(r, &r->from, "model.safetensors", e) && path_of(r, path, e) &&
              safetensors_read(&file, path, e) && train_config_begin_from(r, &file, e);
    safetensors_free(&file);
    return ok;
}

bool from_read_weights(Trainer *t, const TrainConfig *r, Error *e) {
    char path[PATH_CAPACITY], *vocabulary = tokenizer_string(t->task->tokenizer, e);
    if (!vocabulary) return false;
    bool same = strcmp(vocabulary, r->data.vocabulary) == 0;
    free(vocabulary);
    if (!same)
        return error_set(e, STATUS_OTHER_MODEL,
                         "--from: %s: found another vocabulary, need that of this task", r->from);
    return path_of(r, path, e) && model_read_weights(t->model, path, e);
}
