#include "training/checkpoint.h"
#include "nn/model_file.h"
#include "tasks/text_task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTS = 2, NAME = PARAMETER_NAME + 8, NUMBER = 32 };
static const char *const moment_prefix[MOMENTS] = {"moment1.", "moment2."};

static int moments_of(const Trainer *t) {
    return t->optimizer.kind == OPTIM_SGD ? 1 : 2;
}

static real *moment(const Trainer *t, int i) {
    return i ? t->optimizer.moment2 : t->optimizer.moment1;
}

/* ---- Metadata ---- */

/* A number of the TrainState by name. Doubles are written with all digits. */
typedef struct StateField {
    const char *name;
    long *integer;
    double *number;
} StateField;

enum { STATE_FIELDS = 7 };
static void state_fields(TrainState *s, StateField out[STATE_FIELDS]) {
    const StateField all[STATE_FIELDS] = {
        {"run.step", &s->step, NULL},           {"run.tokens", &s->tokens, NULL},
        {"run.loss_sum", NULL, &s->loss_sum},   {"run.losses", &s->losses, NULL},
        {"run.evaluated", &s->evaluated, NULL}, {"run.best_loss", NULL, &s->best_loss},
        {"run.best_step", &s->best_step, NULL}};
    memcpy(out, all, sizeof all);
}

static bool parse_field(const StateField *p, const char *text) {
    char *end = NULL;
    if (p->integer) *p->integer = strtol(text, &end, 10);
    if (p->number) *p->number = strtod(text, &end);
    return end > text && !*end && (!p->integer || *p->integer >= 0) && (!p->number || !isnan(*p->number));
}

/* A property that must not differ when a run continues, as text. */
typedef struct Identity {
    const char *key, *value;
} Identity;

enum { IDENTITIES = 3 };
static void identities(const Trainer *t, const char *vocabulary, char checksum[NUMBER],
                       Identity out[IDENTITIES]) {
    snprintf(checksum, NUMBER, "%08lX", (unsigned long)t->task->checksum);
    out[0] = (Identity){"vocabulary", vocabulary};
    out[1] = (Identity){"text_crc32", checksum};
    out[2] = (Identity){"precision", sizeof(real) == sizeof(float) ? "float" : "double"};
}

bool checkpoint_with_notes(const Trainer *t, const Metadata *more, int count,
                           bool (*write)(void *context, const Metadata *notes, int count, Error *e),
                           void *context, Error *e) {
    enum { OWN = 4 };
    char begin[NUMBER], end[NUMBER];
    snprintf(begin, sizeof begin, "%ld", (long)t->task->begin_id);
    snprintf(end, sizeof end, "%ld", (long)t->task->end_id);
    char *vocabulary = tokenizer_string(t->task->tokenizer, e);
    Metadata *notes = calloc((size_t)(OWN + count), sizeof *notes);
    bool ok = vocabulary && (notes || error_set(e, STATUS_NO_MEMORY, "memory: the notes of a model"));
    if (ok) {
        notes[0] = (Metadata){"task", t->task->name};
        notes[1] = (Metadata){"vocabulary", vocabulary};
        notes[2] = (Metadata){"begin_id", begin};
        notes[3] = (Metadata){"end_id", end};
        for (int i = 0; i < count; i++) notes[OWN + i] = more[i];
        ok = write(context, notes, OWN + count, e);
    }
    free(notes);
    free(vocabulary);
    return ok;
}

/* ---- Writing ---- */

typedef struct Writer {
    const Trainer *t;
    const char *path;
} Writer;

static bool write_file(void *context, const Metadata *notes, int count, Error *e) {
    const Writer *w = context;
    const Parameters *p = &w->t->model->parameters;
    int moments = moments_of(w->t), arrays = moments * p->count;
    Array *array = calloc((size_t)arrays, sizeof *array);
    char(*name)[NAME] = calloc((size_t)arrays, sizeof *name);
    bool ok = (array && name) || error_set(e, STATUS_NO_MEMORY, "%s: no memory for its header", w->path);
    for (int i = 0; ok && i < arrays; i++) {
        const Parameter *entry = &p->entry[i % p->count];
        int part = i / p->count;
        snprintf(name[i], sizeof name[i], "%s%s", moment_prefix[part], entry->name);
        array[i] = array_over(name[i], DTYPE_REAL, entry->shape, moment(w->t, part) + entry->offset);
    }
    File *f = ok ? file_create(w->path, e) : NULL;
    ok = f && model_write(w->t->model, f, notes, count, array, arrays, e);
    free(array);
    free(name);
    if (ok) return file_commit(f, e);
    file_abandon(f);
    return false;
}

bool checkpoint_save(const char *path, const TrainConfig *r, const Trainer *t, Error *e) {
    TrainState state = t->state;
    StateField field[STATE_FIELDS];
    char number[STATE_FIELDS][NUMBER], checksum[NUMBER];
    Identity identity[IDENTITIES];
    int count;
    Metadata *config = train_config_notes(r, false, &count, e);
    Metadata *notes = calloc((size_t)count + STATE_FIELDS + IDENTITIES, sizeof *notes);
    bool ok = config && (notes || error_set(e, STATUS_NO_MEMORY, "memory: the notes of a checkpoint"));
    if (ok) {
        memcpy(notes, config, (size_t)count * sizeof *notes);
        state_fields(&state, field);
        identities(t, NULL, checksum, identity);
        for (int i = 1; i < IDENTITIES; i++)
            notes[count + i - 1] = (Metadata){identity[i].key, identity[i].value};
        for (int i = 0; i < STATE_FIELDS; i++) {
            if (field[i].integer) snprintf(number[i], NUMBER, "%ld", *field[i].integer);
            if (field[i].number) snprintf(number[i], NUMBER, "%.17g", *field[i].number);
            notes[count + IDENTITIES - 1 + i] = (Metadata){field[i].name, number[i]};
        }
        Writer w = {t, path};
        ok = checkpoint_with_notes(t, notes, count + IDENTITIES - 1 + STATE_FIELDS, write_file, &w, e);
    }
    free(notes);
    train_config_notes_free(config, count);
    return ok;
}

/* ---- Reading ---- */

const char *checkpoint_note(void *checkpoint, const char *key) {
    return safetensors_metadata(&((const Checkpoint *)checkpoint)->file, key);
}

bool checkpoint_open(Checkpoint *c, const char *directory, Error *e) {
    *c = (Checkpoint){0};
    if (!directory_file(c->path, directory, "checkpoint.safetensors", STATUS_NO_INPUT, e)) return false;
    c->identity = file_identity(c->path);
    if (!safetensors_read(&c->file, c->path, e)) return false;
    StateField field[STATE_FIELDS];
    state_fields(&c->state, field);
    for (int i = 0; i < STATE_FIELDS; i++) {
        const char *text = safetensors_metadata(&c->file, field[i].name);
        if (!text || !parse_field(&field[i], text))
            return error_set(e, STATUS_BAD_DATA, "%s: metadata: %s: found %s, need a number", c->path,
                             field[i].name, text ? ESCAPED(text) : "none");
    }
    return true;
}

void checkpoint_free(Checkpoint *c) {
    safetensors_free(&c->file);
}

bool checkpoint_is_latest(const Checkpoint *c, Error *e) {
    return file_identity(c->path) == c->identity ||
           error_set(e, STATUS_CANNOT_CREATE, "%s: another process has replaced it since it was read",
                     c->path);
}

/* Reads the tensors with this prefix into a store of the same layout as the parameters, bit for bit. */
static bool read_part(const Safetensors *file, const Parameters *p, const char *prefix, real *part,
                      Error *e) {
    char name[NAME];
    for (int i = 0; i < p->count; i++) {
        const Parameter *entry = &p->entry[i];
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

static bool same_run(const Checkpoint *c, const Trainer *t, Error *e) {
    char checksum[NUMBER], list[ERROR_TEXT] = "";
    char *vocabulary = tokenizer_string(t->task->tokenizer, e);
    if (!vocabulary) return false;
    Identity identity[IDENTITIES];
    identities(t, vocabulary, checksum, identity);
    for (int i = 0; i < IDENTITIES; i++) {
        const char *text = safetensors_metadata(&c->file, identity[i].key);
        size_t used = strlen(list);
        if (!text || strcmp(text, identity[i].value) != 0)
            snprintf(list + used, sizeof list - used, "%s%s: found %.40s, need %.40s", used ? "; " : "",
                     identity[i].key, identity[i].value, text ? text : "none");
    }
    free(vocabulary);
    return !*list || error_set(e, STATUS_OTHER_MODEL, "%s: text or program differ: %s", c->path, list);
}

bool checkpoint_restore(const Checkpoint *c, Trainer *t, Error *e) {
    Parameters *p = &t->model->parameters;
    int moments = moments_of(t);
    if (!same_run(c, t, e) || !read_part(&c->file, p, "", p->value, e)) return false;
    for (int i = 0; i < moments; i++)
        if (!read_part(&c->file, p, moment_prefix[i], moment(t, i), e)) return false;
    if (c->file.tensors != (1 + moments) * p->count)
        return error_set(e, STATUS_BAD_DATA, "%s: found %d tensor%s, need %d", c->path, c->file.tensors,
                         PLURAL(c->file.tensors), (1 + moments) * p->count);
    t->state = c->state;
    t->optimizer.step = c->state.step;
    return true;
}

bool checkpoint_read_weights(const char *path, Trainer *t, Error *e) {
    const Parameters *p = &t->model->parameters;
    Safetensors file;
    bool ok = safetensors_read(&file, path, e) && read_part(&file, p, "", t->optimizer.moment1, e);
    if (ok) memcpy(p->value, t->optimizer.moment1, (size_t)p->size * sizeof *p->value);
    safetensors_free(&file);
    return ok;
}
