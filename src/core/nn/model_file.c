#include "nn/model_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *model_notes_find(const Notes *n, const char *key) {
    WANT(n);
    WANT(key);
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->entry[i].key, key) == 0) return n->entry[i].value;
    return NULL;
}

void model_notes_free(Notes *n) {
    free(n->entry);
    *n = (Notes){0};
}

/* ---- Writing ---- */

void model_describe(const Model *m, Contents *c) {
    const Parameters *p = &m->parameters;
    ConfigField field;
    for (int i = 0; config_field(&m->config, i, &field); i++)
        contents_note(c, field.key, field.value);
    for (int i = 0; i < p->count; i++)
        contents_tensor(c, "", p->entry[i].name, p->entry[i].shape, p->value + p->entry[i].offset);
}

bool model_save(const Model *m, const char *path, const Metadata *note, int count, Error *e) {
    WANT(m);
    WANT(path);
    Contents c = {0};
    model_describe(m, &c);
    for (int i = 0; i < count; i++) contents_note(&c, note[i].key, note[i].value);
    bool ok =
        safetensors_write(path, c.metadata, (int)c.metadata_count, c.tensor, (int)c.tensors, e);
    contents_free(&c);
    return ok;
}

/* ---- Reading ---- */

static const char *field_text(void *file, const char *name) {
    return safetensors_metadata(file, name);
}

/* One allocation holds the list and its strings. */
static bool read_notes(const Safetensors *file, Notes *notes, Error *e) {
    size_t bytes = ((size_t)file->metadata_count + 1) * sizeof *notes->entry;
    for (int i = 0; i < file->metadata_count; i++)
        bytes += strlen(file->metadata[i].key) + strlen(file->metadata[i].value) + 2;
    *notes = (Notes){.entry = malloc(bytes)};
    if (!notes->entry)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its metadata", file->path);
    char *text = (char *)(notes->entry + file->metadata_count + 1);
    for (int i = 0; i < file->metadata_count; i++) {
        if (config_has_field(file->metadata[i].key)) continue;
        char *key = text, *value = stpcpy(key, file->metadata[i].key) + 1;
        text = stpcpy(value, file->metadata[i].value) + 1;
        notes->entry[notes->count++] = (Metadata){key, value};
    }
    return true;
}

/* The file has the model's tensors (`all`, or some) and no other, in their shapes.
 * Checked before the model is allocated: the sizes in a damaged header may exceed any memory. */
static bool check_tensors(const Safetensors *file, const Parameters *p, bool all, Error *e) {
    for (int i = 0; i < p->count; i++) {
        const Parameter *entry = &p->entry[i];
        const Array *a = safetensors_find(file, entry->name);
        if (!a && !all) continue;
        if (!a)
            return error_set(e, STATUS_BAD_DATA,
                             "%s: %s: found no such tensor, need one of shape %s", file->path,
                             entry->name, shape_text(entry->shape));
        if (!array_expect_shape(a, entry->shape, e)) return false;
    }
    if (all && file->tensors <= p->count) return true;
    for (int i = 0; i < file->tensors; i++)
        if (!parameters_find(p, file->tensor[i].name)) {
            return error_set(e, STATUS_BAD_DATA,
                             "%s: found a tensor that the model does not have, need its %d only",
                             ARRAY_PLACE(&file->tensor[i]), p->count);
        }
    return true;
}

static bool check_type(const Array *a, Error *e) {
    if (a->dtype >= DTYPE_F16) return true;
    return error_set(e, STATUS_BAD_DATA, "%s: found %s, need F64, F32, F16 or BF16", ARRAY_PLACE(a),
                     dtype_name(a->dtype));
}

const double model_largest_weight = 1e18;

static bool check_sizes(const Array *a, const real *value, Error *e) {
    for (long i = 0; i < a->count; i++)
        if (fabs((double)value[i]) > model_largest_weight)
            return error_set(e, STATUS_BAD_DATA,
                             "%s: element %ld: found %g, need a weight within %g", ARRAY_PLACE(a),
                             i, (double)value[i], model_largest_weight);
    return true;
}

static bool read_tensor(const Array *a, real *value, Error *e) {
    return check_type(a, e) && array_check_finite(a, e) && array_to_real(a, value, e) &&
           check_sizes(a, value, e);
}

static bool read_tensors(const Safetensors *file, Parameters *p, Error *e) {
    for (int i = 0; i < p->count; i++) {
        const Array *a = safetensors_find(file, p->entry[i].name);
        if (a && !read_tensor(a, p->value + p->entry[i].offset, e)) return false;
    }
    return true;
}

/* The model of a file that was read; frees the file. */
static Model *model_of(Safetensors *file, bool training, Notes *notes, Error *e) {
    ModelConfig config;
    Model *m = NULL;
    bool ok = config_parse(&config, file->path, field_text, file, e) &&
              (m = model_without_memory(&config, training, e)) &&
              check_tensors(file, &m->parameters, true, e) && model_allocate(m, e) &&
              read_tensors(file, &m->parameters, e) && (!notes || read_notes(file, notes, e));
    safetensors_free(file);
    if (ok) return m;
    model_free(m);
    return NULL;
}

bool model_read_weights(Model *m, const char *path, Error *e) {
    Safetensors file;
    bool ok = safetensors_read(&file, path, e) && check_tensors(&file, &m->parameters, false, e) &&
              read_tensors(&file, &m->parameters, e);
    safetensors_free(&file);
    return ok;
}

Model *model_load(const char *path, bool training, Notes *notes, Error *e) {
    WANT(path);
    Safetensors file;
    return safetensors_read(&file, path, e) ? model_of(&file, training, notes, e) : NULL;
}
