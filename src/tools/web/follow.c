/* Entry points of the module in double precision that follow one sequence through a saved model:
 * the records of its tape, forward and backward. Numbers are not printed: a record says where its
 * arrays are in the module's memory, and the worker copies them. */
#include "decoding/saved_run.h"
#include "explain/walk_records.h"
#include "web/web.h"
#include <math.h>
#include <string.h>

/* The pass that was run last; the entry points below read its tape. */
static struct {
    SavedRun run;
    Arena arena; /* of the records, and of what is asked of one */
    Records records;
} kept;

static long ids_in(const char *file) {
    return (long)(web_file_size(file) / sizeof(int32_t));
}

/* Runs the model in the directory `saved` forward and back over the tokens of the files `source`
 * and `target`; the file `next` has the token that each of the target should predict, NO_PAD for
 * none. */
static bool run_passes(bool mask, bool positions, Error *e) {
    if (!saved_run_open(&kept.run, "saved", true, e)) return false;
    Model *m = kept.records.model = kept.run.model;
    m->unmasked = !mask;
    m->unplaced = !positions;
    const void *source = web_file_data("source"), *target = web_file_data("target"),
               *next = web_file_data("next");
    Records *r = &kept.records;
    if (!records_run(r, &kept.arena, ids_in("source"), source, ids_in("target"), target, next, e))
        return false;
    return !records_loss(r) || records_backward(r, e);
}

/* Prints strides of a tensor, and where its numbers and its gradient are. */
static void print_place(const Tensor *x) {
    size_t grad = x->grad_state >= GRAD_FRESH ? (size_t)x->grad : 0;
    printf(", \"data\": %zu, \"grad\": %zu, \"stride\": [", (size_t)x->data, grad);
    for (int i = 0; i < x->shape.rank; i++) printf(i ? ",%ld" : "%ld", x->stride[i]);
    putchar(']');
}

/* Prints the records, one JSON object a line, with places of numbers. */
WEB_EXPORT(void, walk, (int mask, int positions)) {
    records_close(&kept.records);
    saved_run_close(&kept.run);
    arena_free(&kept.arena);
    memset(&kept, 0, sizeof kept);
    kept.records.print_place = print_place;
    if (!run_passes(mask, positions, &web_error)) {
        kept.records.count = 0;
        return;
    }
    for (long i = 0; i < kept.records.count; i++) record_json(&kept.records, i, false);
}

/* ---- One record ---- */

/* The record with this index, or NULL. */
static Node *node_at(int index) {
    return index >= 0 && index < kept.records.count ? kept.records.of[index].node : NULL;
}

/* An operand of a record, or its output (operand -1), if it has such an element; else NULL and an
 * error. */
static const Tensor *tensor_at(int index, int operand, int element) {
    const Node *n = node_at(index);
    const Tensor *x = n && operand < 0 ? n->out : NULL;
    if (n && operand >= 0 && operand < n->inputs) x = n->in[operand];
    if (x && element >= 0 && element < shape_count(x->shape)) return x;
    error_set(&web_error, STATUS_USAGE, "found element %d, need one of the walk", element);
    return NULL;
}

/* Prints where the parts are that the record's backward adds to the gradients of its operands. */
WEB_EXPORT(void, parts, (int index)) {
    Node *n = node_at(index);
    if (!tensor_at(index, -1, 0)) return;
    printf("{\"parts\": [");
    for (int i = 0; i < n->inputs; i++) {
        bool adds = record_reached(n) && record_adds(n, i);
        const real *part = adds ? record_part(&kept.arena, n, i) : NULL;
        printf(i ? ",%zu" : "%zu", (size_t)part);
    }
    puts("]}");
}

/* Prints one element of the record's output (operand -1), or of what it adds to the gradient of an
 * operand, as walk_records.h describes it. */
WEB_EXPORT(void, sum, (int index, int operand, int element)) {
    const Node *n = node_at(index);
    bool adds = n && operand >= 0 && operand < n->inputs;
    adds = adds && record_reached(n) && record_adds(n, operand);
    if (tensor_at(adds || operand < 0 ? index : -1, operand, element))
        record_json_sum(&kept.records, index, operand, element);
}

/* Prints the loss while one element of an operand or an output is pushed by -range, -0.95 range, …
 * range. The range is so small that the loss moves no more than a few times as far as its tangent,
 * but at least 0.01. */
WEB_EXPORT(void, push, (int index, int operand, int element)) {
    enum { HALF = 20 };
    const Tensor *x = tensor_at(index, operand, element);
    if (!x) return;
    long offset = 0, rest = element;
    for (int axis = x->shape.rank - 1; axis >= 0; axis--) {
        offset += rest % x->shape.size[axis] * x->stride[axis];
        rest /= x->shape.size[axis];
    }
    const Tensor *base = x; /* the numbers that views show are those of one tensor */
    while (base->maker && base->maker->op->view) base = base->maker->in[0];
    offset += x->data - base->data;
    real loss[2 * HALF + 1], value = base->data[offset], range = 1;
    real slope = base->grad_state >= GRAD_FRESH ? base->grad[offset] : 0;
    const Tensor *last = records_loss(&kept.records); /* NULL: nothing is predicted */
    real now = last ? *last->data : 0, least = 0.01;
    while (range > least && fabs(slope) > 0) {
        real up = record_loss(&kept.records, base, offset, value + range) - now;
        real down = record_loss(&kept.records, base, offset, value - range) - now;
        if (fmax(fabs(up), fabs(down)) < 4 * fabs(slope) * range) break;
        range /= 10;
    }
    for (int i = -HALF; i <= HALF; i++) {
        real pushed = value + range * i / HALF;
        loss[HALF + i] = last ? record_loss(&kept.records, base, offset, pushed) : 0;
    }
    printf("{\"index\": %d", index);
    json_number(stdout, "value", value);
    json_number(stdout, "gradient", slope);
    json_number(stdout, "range", range);
    json_reals(stdout, "losses", loss, 2 * HALF + 1);
    puts("}");
}
