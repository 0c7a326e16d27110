#include "base/random.h"
#include "check/gradcheck/rounding.h"
#include "check/grading/model_pass.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 8, ROUNDINGS = 16 };

/* The precision in which `moved` is measured: float's, or float's last digits would be lost in double's
 * first. */
static const double measured = FLT_EPSILON;

Shape values_tensor(const ModelValues *v, int t, char name[VALUES_NAME], long *begin) {
    const ModelPass *p = v->pass;
    Shape logits = SHAPE(p->batch->rows, p->batch->T, p->model->config.vocab_size);
    *begin = t == VALUES_LOSS ? 0 : 1;
    snprintf(name, VALUES_NAME, t == VALUES_LOSS ? "loss" : "logits");
    if (t < VALUES_GRADIENTS) return t == VALUES_LOSS ? SCALAR : logits;
    *begin += shape_count(logits);
    const Parameter *w = p->model->parameters.entry;
    for (; t > VALUES_GRADIENTS; t--, w++) *begin += shape_count(w->shape);
    snprintf(name, VALUES_NAME, "grad.%s", w->name);
    return w->shape;
}

/* Copies the results of the pass to out, in the order of a gradient file. */
static void collect(const ModelValues *v, double *out) {
    const ModelPass *p = v->pass;
    const Parameters *w = &p->model->parameters;
    long V = p->model->config.vocab_size, at = 1;
    out[0] = (double)p->loss;
    for (long i = 0; i < p->target.sequences.total_rows * V; i++)
        out[at + p->target.column[i / V] * V + i % V] = (double)p->logits[i];
    at += p->batch->rows * p->batch->T * V;
    for (int k = 0; k < w->count; k++)
        for (long j = 0, n = shape_count(w->entry[k].shape); j < n; j++)
            out[at++] = (double)w->grad[w->entry[k].offset + j];
}

/* Positions of padding are not compared. */
static void leave_out_padding(ModelValues *v) {
    const PaddedBatch *b = v->pass->batch;
    long V = v->pass->model->config.vocab_size;
    for (long i = 0; i < b->rows * b->T * V; i++)
        if (b->pad_id != NO_PAD && b->target_out[i / V] == b->pad_id) v->moved[1 + i] = INFINITY;
}

static bool measure(ModelValues *v, ModelPass *p, double *changed, uint64_t seed, Error *e) {
    Parameters *w = &p->model->parameters;
    real *kept = malloc((size_t)w->size * sizeof *kept);
    bool ok = kept || error_set(e, STATUS_NO_MEMORY, "memory: %ld weights", w->size);
    if (ok) memcpy(kept, w->value, (size_t)w->size * sizeof *kept);
    for (uint64_t trial = 0; ok && trial < TRIALS; trial++) {
        uint64_t key = random_key(seed, trial);
        for (long i = 0; i < w->size; i++)
            w->value[i] = kept[i] * (real)(1 + (random_bits(key, (uint64_t)i) & 1 ? measured : -measured));
        ok = pass_run(p, "with weights changed in their last digits", e);
        if (ok) collect(v, changed);
        for (long i = 0; ok && i < v->count; i++) rounding_note(&v->moved[i], v->value[i], changed[i]);
    }
    if (kept) memcpy(w->value, kept, (size_t)w->size * sizeof *kept);
    free(kept);
    return ok;
}

bool values_take(ModelValues *v, ModelPass *p, uint64_t seed, Error *e) {
    char name[VALUES_NAME];
    *v = (ModelValues){.pass = p, .tensors = VALUES_GRADIENTS + p->model->parameters.count};
    Shape last = values_tensor(v, v->tensors - 1, name, &v->count);
    v->count += shape_count(last);
    v->value = calloc((size_t)v->count, sizeof *v->value);
    v->moved = calloc((size_t)v->count, sizeof *v->moved);
    double *changed = calloc((size_t)v->count, sizeof *changed);
    bool ok = (v->value && v->moved && changed) ||
              error_set(e, STATUS_NO_MEMORY, "memory: %ld gradients", v->count);
    if (ok) collect(v, v->value);
    ok = ok && measure(v, p, changed, seed, e) && pass_run(p, "again", e);
    if (ok) leave_out_padding(v);
    free(changed);
    return ok;
}

void values_free(ModelValues *v) {
    free(v->value);
    free(v->moved);
    *v = (ModelValues){0};
}

/* The array as doubles, to be freed, and its precision. NULL with the error if it does not fit. */
static double *numbers_of(const Safetensors *file, const char *name, Shape shape, double *epsilon, Error *e) {
    const Array *a = safetensors_need(file, name, e);
    if (!a || !array_expect_shape(a, shape, e)) return NULL;
    switch (a->dtype) {
    case DTYPE_F64: *epsilon = DBL_EPSILON; break;
    case DTYPE_F32: *epsilon = (double)FLT_EPSILON; break;
    default:
        error_set(e, STATUS_BAD_DATA, "%s: found %s, need F64 or F32", name, dtype_name(a->dtype));
        return NULL;
    }
    double *x = malloc(((size_t)a->count + 1) * sizeof *x);
    if (x)
        array_to_double(a, x);
    else
        error_set(e, STATUS_NO_MEMORY, "memory: %ld numbers", a->count);
    return x;
}

static double room_of(double moved, double largest, double epsilon) {
    return rounding_room(ROUNDINGS, epsilon, moved / measured + largest);
}

void values_compare(const ModelValues *v, int t, const Safetensors *file, const char *part,
                    InputReport *report) {
    char name[VALUES_NAME];
    long begin;
    double epsilon, largest = 0, worst = -1;
    Error e = {0};
    Shape shape = values_tensor(v, t, name, &begin);
    *report = (InputReport){.shape = shape, .coordinates = shape_count(shape), .output = -1};
    snprintf(report->name, sizeof report->name, "%s", part);
    double *found = numbers_of(file, name, shape, &epsilon, &e);
    if (!found) {
        report->verdict = FAIL;
        report->error = NAN;
        snprintf(report->reason, sizeof report->reason, "%.*s", REPORT_TEXT - 1, e.text);
        return;
    }
    const double *want = v->value + begin, *moved = v->moved + begin;
    for (long i = 0; i < report->coordinates; i++)
        if (isfinite(moved[i])) largest = fmax(largest, fabs(want[i]));
    for (long i = 0; i < report->coordinates; i++) {
        if (isinf(moved[i])) continue;
        double off = fabs(found[i] - want[i]), room = room_of(moved[i], largest, epsilon);
        double excess = isnan(off) ? INFINITY : off > 0 ? off / room : 0;
        report->wrong += excess > 1;
        if (excess <= worst) continue;
        worst = excess;
        report->element = i;
        report->analytic = found[i], report->numeric = want[i], report->estimate = room;
        report->error = off > 0 ? off / largest : off;
    }
    report->verdict = report->wrong ? FAIL : PASS;
    free(found);
}

const char *values_unknown(const ModelValues *v, const Safetensors *file) {
    char name[VALUES_NAME];
    long begin;
    for (int i = 0; i < file->tensors; i++) {
        bool known = false;
        for (int t = 0; t < v->tensors && !known; t++) {
            (void)values_tensor(v, t, name, &begin);
            known = strcmp(name, file->tensor[i].name) == 0;
        }
        if (!known) return file->tensor[i].name;
    }
    return NULL;
}
