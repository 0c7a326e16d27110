#include "nn/parameters.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/utf8.h"
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_REALS = 64 / sizeof(real) };

bool parameters_add_split(Parameters *p, const char *name, Shape shape, Init init, Tensor *upper,
                          long rows, Tensor *lower, Error *e) {
    if (p->count == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 64;
        Parameter *grown = realloc(p->entry, (size_t)capacity * sizeof *grown);
        if (!grown) return error_set(e, STATUS_NO_MEMORY, "memory: the list of parameters");
        p->entry = grown;
        p->capacity = capacity;
    }
    long count;
    if (!shape_fits(shape.rank, shape.size, sizeof(real), &count) ||
        count > LONG_MAX / 128 - p->elements)
        return error_set(e, STATUS_NO_MEMORY, "memory: %s is %s, more than any machine holds", name,
                         shape_text(shape));
    Parameter *entry = &p->entry[p->count++];
    *entry = (Parameter){.shape = shape, .init = init, .part = {upper, lower}};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    p->elements += count;
    Shape upper_shape = shape, lower_shape = shape;
    if (lower) {
        upper_shape.size[0] = rows;
        lower_shape.size[0] = shape.size[0] - rows;
        *lower = tensor_over(NULL, lower_shape);
        lower->grad_state = p->training ? GRAD_SUM : GRAD_UNWANTED;
    }
    *upper = tensor_over(NULL, upper_shape);
    upper->grad_state = p->training ? GRAD_SUM : GRAD_UNWANTED;
    return true;
}

bool parameters_add(Parameters *p, const char *name, Shape shape, Init init, Tensor *leaf,
                    Error *e) {
    return parameters_add_split(p, name, shape, init, leaf, 0, NULL, e);
}

static long whole_lines(long count) {
    return (count + LINE_REALS - 1) / LINE_REALS * LINE_REALS;
}

/* Places the matrices that learn, then the vectors, then what is frozen. Returns the reals of
 * all. */
static long lay_out(Parameters *p) {
    long end[3], size = 0;
    for (int group = 0; group < 3; group++) {
        for (int i = 0; i < p->count; i++) {
            Parameter *entry = &p->entry[i];
            int of = entry->frozen ? 2 : entry->shape.rank < 2;
            if (of != group) continue;
            entry->offset = size;
            size += whole_lines(shape_count(entry->shape));
        }
        end[group] = size;
    }
    p->decayed = end[0];
    p->size = end[1];
    return size;
}

static size_t bytes_of(const Parameters *p, bool frozen) {
    size_t size = 0;
    for (int i = 0; i < p->count; i++)
        if (p->entry[i].frozen == frozen)
            size += (size_t)whole_lines(shape_count(p->entry[i].shape));
    return size * sizeof(real);
}

size_t parameters_gradient_bytes(const Parameters *p) {
    return bytes_of(p, false);
}

size_t parameters_bytes(const Parameters *p, bool training) {
    return bytes_of(p, true) + (training ? 2 : 1) * bytes_of(p, false);
}

bool parameters_train_only(Parameters *p, const char *pattern, Error *e) {
    int learning = 0;
    for (int i = 0; i < p->count; i++) {
        Parameter *entry = &p->entry[i];
        entry->frozen = fnmatch(pattern, entry->name, 0) != 0;
        learning += !entry->frozen;
        if (!entry->frozen) continue;
        for (int part = 0; part < PARAMETER_PARTS && entry->part[part]; part++)
            entry->part[part]->grad_state = GRAD_UNWANTED;
    }
    return learning ||
           error_set(e, STATUS_USAGE, "--train: found no parameter like '%s', need one that learns",
                     ESCAPED(pattern));
}

bool parameters_allocate(Parameters *p, bool training, Error *e) {
    long size = lay_out(p);
    p->training = training;
    p->value = pages_alloc(parameters_bytes(p, training), "the parameters", e);
    if (!p->value) return false;
    if (training) p->grad = p->value + size;
    for (int i = 0; i < p->count; i++) {
        long offset = p->entry[i].offset;
        bool learns = training && !p->entry[i].frozen;
        for (int part = 0; part < PARAMETER_PARTS && p->entry[i].part[part]; part++) {
            Tensor *x = p->entry[i].part[part];
            x->data = p->value + offset;
            x->grad = learns ? p->grad + offset : NULL;
            x->grad_state = learns ? GRAD_SUM : GRAD_UNWANTED;
            offset += shape_count(x->shape);
        }
    }
    return true;
}

void parameters_free(Parameters *p) {
    if (p->value) pages_free(p->value, parameters_bytes(p, p->training));
    if (p->packed) pages_free(p->packed, p->packed_bytes);
    free(p->entry);
    *p = (Parameters){0};
}

/* The value of element j of a tensor whose random numbers have this key. */
static double initial_value(Init init, uint64_t key, uint64_t j) {
    switch (init.how) {
    case INIT_NORMAL: return init.scale * random_normal(key, j);
    case INIT_UNIFORM: return init.scale * (2 * (double)random_uniform(key, j) - 1);
    default: return init.scale;
    }
}

void parameters_init(Parameters *p, uint64_t seed) {
    for (int i = 0; i < p->count; i++) {
        const Parameter *entry = &p->entry[i];
        real *x = p->value + entry->offset;
        uint64_t key = random_key(seed, STREAM_WEIGHTS + (uint64_t)i);
        long count = shape_count(entry->shape);
        for (long j = 0; j < count; j++) x[j] = (real)initial_value(entry->init, key, (uint64_t)j);
    }
}

void parameters_want_grad(const Parameters *p, const char *caller) {
    WANT(p);
    if (!p->grad) error_bug("%s: the model has no gradients, want one made for training", caller);
}

void parameters_clear_grad(Parameters *p) {
    WANT(p);
    parameters_want_grad(p, __func__);
    for (int i = 0; i < p->count; i++)
        for (int part = 0; part < PARAMETER_PARTS && p->entry[i].part[part]; part++)
            if (!p->entry[i].frozen) p->entry[i].part[part]->grad_state = GRAD_FRESH;
}

void parameters_zero_unreached(Parameters *p) {
    WANT(p);
    parameters_want_grad(p, __func__);
    for (int i = 0; i < p->count; i++)
        for (int part = 0; part < PARAMETER_PARTS && p->entry[i].part[part]; part++) {
            Tensor *x = p->entry[i].part[part];
            if (x->grad_state != GRAD_FRESH) continue;
            memset(x->grad, 0, (size_t)shape_count(x->shape) * sizeof(real));
            x->grad_state = GRAD_SUM;
        }
}

Parameter *parameters_find(const Parameters *p, const char *name) {
    WANT(p);
    WANT(name);
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->entry[i].name, name) == 0) return &p->entry[i];
    return NULL;
}
