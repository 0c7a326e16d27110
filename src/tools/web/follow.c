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
    const Tensor **leaf; /* [leaves] operands that no record makes, each once */
    int leaves;
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

/* The number of a tensor: a record's index, or -1, -2, … for a leaf, which is new if need be. */
static int number_of(const Tensor *x) {
    if (x->maker) return (int)x->maker->index;
    int i = 0;
    while (i < kept.leaves && kept.leaf[i] != x) i++;
    kept.leaf[i] = x;
    if (i == kept.leaves) kept.leaves++;
    return -1 - i;
}

/* The tensor with this number, or NULL. */
static const Tensor *tensor_at(int number) {
    if (number < 0) return -1 - number < kept.leaves ? kept.leaf[-1 - number] : NULL;
    return number < kept.records.count ? kept.records.of[number].node->out : NULL;
}

static void print_leaf(int i) {
    long row = 0;
    const Parameter *p = record_parameter(&kept.records, kept.leaf[i], &row);
    printf("{\"index\": %d, \"row\": %ld", -1 - i, row);
    json_text(stdout, "parameter", p ? p->name : "");
    print_tensor(kept.leaf[i]);
    puts("}");
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

/* Prints records and leaves, one JSON object a line. */
WEB_EXPORT(void, walk, (int mask, int positions)) {
    records_close(&kept.records);
    saved_run_close(&kept.run);
    arena_free(&kept.arena);
    memset(&kept, 0, sizeof kept);
    if (!run_passes(mask, positions, &web_error)) {
        kept.records.count = 0;
        return;
    }
    size_t capacity = (size_t)kept.records.count * MAX_INPUTS;
    kept.leaf = arena_alloc(&kept.arena, capacity * sizeof *kept.leaf);
    for (long i = 0; i < kept.records.count; i++) print_record(&kept.records.of[i]);
    for (int i = 0; i < kept.leaves; i++) print_leaf(i);
}

/* ---- One record ---- */

/* Whether there is such an element; else an error. */
static bool has(const Tensor *x, int element) {
    if (x && element >= 0 && element < shape_count(x->shape)) return true;
    return error_set(&web_error, STATUS_USAGE, "found element %d, need one of the walk", element);
}

/* The record with this index, or NULL. */
static Node *node_at(int index) {
    return index >= 0 && tensor_at(index) ? kept.records.of[index].node : NULL;
}

static bool adds(const Node *n, int operand) {
    return operand < n->inputs && record_reached(n) && record_adds(n, operand);
}

/* Prints where the parts are that the record's backward adds to the gradients of its operands. */
WEB_EXPORT(void, parts, (int index)) {
    Node *n = node_at(index);
    if (!has(n ? n->out : NULL, 0)) return;
    printf("{\"parts\": [");
    for (int i = 0; i < n->inputs; i++) {
        const real *part = adds(n, i) ? record_part(&kept.arena, n, i) : NULL;
        printf(i ? ",%zu" : "%zu", (size_t)part);
    }
    puts("]}");
}

/* Prints one element of the record's output (operand -1), or of what it adds to the gradient of an
 * operand, as walk_records.h describes it. */
WEB_EXPORT(void, sum, (int index, int operand, int element)) {
    const Node *n = node_at(index);
    const Tensor *x = n && operand < 0 ? n->out : NULL;
    if (n && operand >= 0 && adds(n, operand)) x = n->in[operand];
    if (has(x, element)) record_json_sum(&kept.records, index, operand, element);
}

/* Prints the loss while one element of a leaf or an output is pushed by -range, -0.95 range, …
 * range. The range is so small that the loss moves no more than a few times as far as its tangent,
 * but at least 0.01. */
WEB_EXPORT(void, push, (int number, int element)) {
    enum { HALF = 20 };
    const Tensor *x = tensor_at(number);
    if (!has(x, element)) return;
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
