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
    return records_run(&kept.records, &kept.arena, ids_in("source"), source, ids_in("target"),
                       target, next, e) &&
           records_backward(&kept.records, e);
}

/* ---- Records ---- */

static void print_longs(const char *name, const long *x, int count) {
    printf(", \"%s\": [", name);
    for (int i = 0; i < count; i++) printf(i ? ",%ld" : "%ld", x[i]);
    putchar(']');
}

/* Prints name, axes, shape and strides of a tensor, and where its numbers and its gradient are. */
static void print_tensor(const Tensor *x) {
    char name[RECORD_NAME];
    Axes axes = record_axes(&kept.records, x);
    json_text(stdout, "name", record_name(&kept.records, x, name));
    printf(", \"axes\": [");
    for (int i = 0; i < x->shape.rank; i++)
        printf("%s\"%s\"", i ? "," : "", axis_names[axes.of[i]]);
    putchar(']');
    print_longs("shape", x->shape.size, x->shape.rank);
    print_longs("stride", x->stride, x->shape.rank);
    printf(", \"data\": %zu", (size_t)x->data);
    printf(", \"grad\": %zu", x->grad_state >= GRAD_FRESH ? (size_t)x->grad : 0);
}

/* Operand `number` of those that no record makes, counted through all records. */
static const Tensor *leaf(int number) {
    for (long i = 0; i < kept.records.count; i++) {
        const Node *n = kept.records.of[i].node;
        for (int k = 0; k < n->inputs; k++)
            if (n->in[k] && !n->in[k]->maker && number-- == 0) return n->in[k];
    }
    return NULL;
}

/* The number of a tensor: a record's index, or -1, -2, … for a leaf. */
static int number_of(const Tensor *x) {
    if (x->maker) return (int)x->maker->index;
    int number = 0;
    while (leaf(number) != x) number++;
    return -1 - number;
}

static void print_leaves(void) {
    const Tensor *x = leaf(0);
    for (int i = 0; x; x = leaf(++i)) {
        long row = 0;
        const Parameter *p = record_parameter(&kept.records, x, &row);
        if (number_of(x) != -1 - i) continue;
        printf("{\"index\": %d, \"row\": %ld", -1 - i, row);
        json_text(stdout, "parameter", p ? p->name : "");
        print_tensor(x);
        puts("}");
    }
}

static void print_record(const Record *r) {
    const Node *n = r->node;
    char formula[RECORD_FORMULA];
    const TensorTrace *named = nn_trace_name_of(&kept.records.trace, n->out);
    printf("{\"index\": %ld", n->index);
    printf(", \"view\": %s", n->op->view ? "true" : "false");
    printf(", \"named\": %s", named ? "true" : "false");
    json_text(stdout, "operation", n->op->name);
    json_text(stdout, "module", r->module);
    json_text(stdout, "sentence", record_sentence(&kept.records, n));
    json_text(stdout, "formula", record_formula(n, false, formula));
    json_text(stdout, "derivative", record_formula(n, true, formula));
    printf(", \"reads\": [");
    for (int i = 0; i < n->inputs; i++)
        printf(n->in[i] ? "%s%d" : "%snull", i ? "," : "", n->in[i] ? number_of(n->in[i]) : 0);
    putchar(']');
    print_tensor(n->out);
    puts("}");
}

/* Prints leaves and records, one JSON object a line. */
WEB_EXPORT(void, walk, (int mask, int positions)) {
    records_close(&kept.records);
    saved_run_close(&kept.run);
    arena_free(&kept.arena);
    memset(&kept, 0, sizeof kept);
    if (!run_passes(mask, positions, &web_error)) {
        kept.records.count = 0;
        return;
    }
    print_leaves();
    for (long i = 0; i < kept.records.count; i++) print_record(&kept.records.of[i]);
}

/* ---- One record ---- */

/* Whether there is a record with this index, and an element; else an error. */
static bool has(int index, int element) {
    const Records *r = &kept.records;
    if (index >= 0 && index < r->count && element >= 0 &&
        element < shape_count(r->of[index].node->out->shape))
        return true;
    return error_set(&web_error, STATUS_USAGE,
                     "found element %d of record %d, need one of the walk", element, index);
}

/* Prints where the parts are that the record's backward adds to the gradients of its operands. */
WEB_EXPORT(void, parts, (int index)) {
    if (!has(index, 0)) return;
    Node *n = kept.records.of[index].node;
    printf("{\"parts\": [");
    for (int i = 0; i < n->inputs; i++) {
        bool reached = record_reached(n) && record_adds(n, i);
        const real *part = reached ? record_part(&kept.arena, n, i) : NULL;
        printf(i ? ",%zu" : "%zu", (size_t)part);
    }
    puts("]}");
}

/* Print one element of the record's output, or of what it adds to the gradient of an operand, as
 * walk_records.h describes it. */
WEB_EXPORT(void, cell, (int index, int element)) {
    if (has(index, element)) record_json_sum(&kept.records, index, -1, element);
}

WEB_EXPORT(void, addition, (int index, int operand, int element)) {
    if (!has(index, 0)) return;
    Node *n = kept.records.of[index].node;
    bool reached =
        operand >= 0 && operand < n->inputs && record_reached(n) && record_adds(n, operand);
    if (reached && element >= 0 && element < shape_count(n->in[operand]->shape))
        record_json_sum(&kept.records, index, operand, element);
    else
        has(-1, element);
}

/* Prints the loss while one element of a leaf or an output is pushed by -range, -0.95 range, …
 * range. The range is so small that the loss moves no more than a few times as far as its tangent,
 * but at least 0.01. */
WEB_EXPORT(void, push, (int number, int element)) {
    enum { HALF = 20 };
    const Tensor *x = number < 0 ? leaf(-1 - number) : NULL;
    if (number >= 0 && number < kept.records.count) x = kept.records.of[number].node->out;
    if (!x || element < 0 || element >= shape_count(x->shape)) {
        has(-1, element);
        return;
    }
    long offset = 0, rest = element;
    for (int axis = x->shape.rank - 1; axis >= 0; rest /= x->shape.size[axis--])
        offset += rest % x->shape.size[axis] * x->stride[axis];
    const Tensor *base = x; /* the numbers that views show are those of one tensor */
    while (base->maker && base->maker->op->view) base = base->maker->in[0];
    offset += x->data - base->data;
    real loss[2 * HALF + 1], value = base->data[offset], range = 1;
    real slope = base->grad_state >= GRAD_FRESH ? base->grad[offset] : 0;
    real now = *records_loss(&kept.records)->data, least = 0.01;
    while (range > least && fabs(slope) > 0) {
        real up = record_loss(&kept.records, base, offset, value + range) - now;
        real down = record_loss(&kept.records, base, offset, value - range) - now;
        if (fmax(fabs(up), fabs(down)) < 4 * fabs(slope) * range) break;
        range /= 10;
    }
    for (int i = -HALF; i <= HALF; i++)
        loss[HALF + i] = record_loss(&kept.records, base, offset, value + range * i / HALF);
    printf("{\"number\": %d", number);
    json_number(stdout, "value", value);
    json_number(stdout, "gradient", slope);
    json_number(stdout, "range", range);
    json_reals(stdout, "losses", loss, 2 * HALF + 1);
    puts("}");
}
