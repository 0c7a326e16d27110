/* The walk: the records of a tape, one after another, and in reverse. It knows no operation and no
 * model: a record gives its operation, operands and numbers; the header comment of the operation's
 * file gives its formulas; a trace (nn/trace.h) gives names of tensors and what their axes count.
 *
 * As JSON, a walk is one object a line:
 *
 *     {"walk": "forward", "records": 46, "loss": 2.1,     "backward"; null: there is no loss
 *      "model": {"kind": "seq2seq", "heads": "4", …},     as in a weight file
 *      "labels": {"source": ["我", …], "target": […], "vocabulary": […]}}
 *     {"parameter": "encoder.layers.0.self_attn.in_proj_weight", "shape": [96,32],
 *      "axes": ["", "feature"],                           as in a record
 *      "rows": [{"makes": "Q", "from": 0, "count": 32, "heads": 4}, …],    [] : nothing is known
 *      "values": […]}                                     backward: "gradient"
 *     {"record": 12,                                      its index; backward begins with the last
 *      "operation": "softmax", "view": false,             a view renames its operand's elements
 *      "module": "encoder.layers.0.self_attn",            "": before the first module
 *      "name": "A",                                       or "softmax 12"
 *      "sentence": "Row i: …",                            "": none is known
 *      "arguments": {"axis": 2},                          those that are no tensors
 *      "formula": "y_i = …",                              lines
 *      "backward": "dx_k += …", "keeps": "Forward keeps only y.",
 *      "operands": [{"operand": 0, "input": "x", "name": "masked S'", "record": 11,
 *                    "shape": […], "axes": […]},
 *                   {"operand": 1, "input": "W", "name": …, "parameter": "…weight", "row": 0, …},
 *                   {"operand": 2, "input": "P", "name": "a constant", "values": […], …}],
 *      "shape": [4,15,15], "axes": ["head", "source", "source"],
 *      "values": […]}
 *
 * An axis is "source", "target", "vocabulary", "head", "feature" or "" (unknown); the first three
 * have labels, as many as the axis has elements. A number that is not finite is null. Elements are
 * in row-major order. A parameter's "row" is the first row of it that the operand is.
 *
 * Backward, a record that the gradient reaches has, in place of "values",
 *
 *      "gradient": […],                                   that has arrived
 *      "adds": [{"operand": 0, "part": 1, "parts": 2,     of all that is added to its gradient
 *                "values": […]}, …]
 *
 * A cell of a record is asked for alone:
 *
 *     {"cell": 30, "record": 12, "value": 0.2, "rest": 0,
 *      "terms": [[operand, element, value, slope], …]}    value is the sum of the terms' products,
 *                                                         plus rest; []: it is no such sum
 *     {"cell": 30, "record": 12, "gradient": 0.1, "difference": 0.1, "error": 1e-13}
 *     {"cell": 7, "record": 12, "operand": 0, "added": 0.3,
 *      "terms": [[element, gradient there, slope], …],    added is the sum of the products
 *      "end": 11, "zero": "hidden"}                       why the gradient is 0: where its way ends
 */
#pragma once

#include "base/arena.h"
#include "check/gradcheck/numeric_derivative.h"
#include "nn/nn.h"

enum { RECORD_NAME = PARAMETER_NAME + 16, RECORD_FORMULA = 1200, RECORD_INPUT = 24 };

/* A record, beyond the tape's own. */
typedef struct Record {
    Node *node;
    char module[PARAMETER_NAME];
    Axes axes;
} Record;

/* The texts of the tokens along an axis. */
typedef struct Labels {
    long count;
    const char **of; /* [count] */
} Labels;

typedef struct Records {
    Model *model;
    Labels labels[AXIS_FEATURE + 1]; /* along each axis; without `of`: there are none */
    Tokens source, target;
    Tape *tape; /* with `keep`; its last record is the loss, or there is none */
    Trace trace;
    long count;
    Record *of; /* [count], in the order of recording */
    /* Prints members with the place of a tensor's numbers, in place of "values"; NULL: none. */
    void (*print_place)(const Tensor *x);
} Records;

/* Runs r->model forward over `count` ids each, and reads the tape; a language model has no source.
 * next: the token that each of the target's should predict, NO_PAD for none; if there is none at
 * all, there is no loss. Names and axes live in the arena. The caller calls records_close, also
 * after a failure. */
bool records_run(Records *r, Arena *arena, long source_count, const int32_t *source,
                 long target_count, const int32_t *target, const int32_t *next, Error *e);
void records_close(Records *r);

/* The last record's output, if it is one number: the loss. NULL: there is none. */
Tensor *records_loss(const Records *r);

/* Runs backward from the loss. STATUS_BAD_DATA: there is none. */
bool records_backward(Records *r, Error *e);

/* ---- A record ---- */

/* "A", "embedding.weight", "softmax 12", "a constant" */
const char *record_name(const Records *r, const Tensor *x, char out[RECORD_NAME]);

/* The parameter that x is, or part of; *row: its first row. NULL: x is another tensor. */
const Parameter *record_parameter(const Records *r, const Tensor *x, long *row);

/* The things that the axes of x count, and the names of all such things. */
Axes record_axes(const Records *r, const Tensor *x);
extern const char *const axis_names[];

/* The name of input i in the operation's formulas, "W"; "": it has none. */
const char *record_input(const Node *n, int i, char out[RECORD_INPUT]);

/* The lines of the operation's formulas that hold for this call. */
const char *record_formula(const Node *n, bool backward, char out[RECORD_FORMULA]);

/* "Forward keeps only y."; "": the header comment does not say it. */
const char *record_keeps(const Node *n);

/* A sentence about the result, by its name or else by its operation; "": there is none. */
const char *record_sentence(const Records *r, const Node *n);

/* The first row of parameter p that makes columns of x, through views and operations that keep the
 * shape, and the number of these rows. False: none does. */
bool record_rows(const Records *r, const Parameter *p, const Tensor *x, long *from, long *count);

/* ---- Backward, one operation at a time: walk_sums.c. n->out->grad has arrived. ---- */

/* Whether a gradient has arrived at the node. */
static inline bool record_reached(const Node *n) {
    return n->out->grad_state >= GRAD_FRESH;
}

/* Whether input i takes a gradient, and is not an earlier input passed again. */
bool record_adds(const Node *n, int i);

/* The part that the node's backward adds to the gradient of input i, contiguous in its shape. */
real *record_part(Arena *arena, Node *n, int i);

/* How many operations add to the gradient of x, and how many of them backward visits up to
 * record `at`. */
long record_parts(const Records *r, const Tensor *x, long at, long *visited);

/* One number of the walk as a sum of elements, each times a slope. */
typedef struct Term {
    int operand; /* -1: an element of the output's gradient */
    long element;
    double value, slope;
} Term;
typedef struct Sum {
    Term *term;
    long count;
    double value, rest; /* rest: value without the terms */
    const Node *end;    /* why a gradient is 0: the first operation on its way to the loss whose
                           output does not depend on it; NULL: the gradient is not 0 */
} Sum;

/* The sum of a cell of the output (operand -1): slopes are its derivatives by the operands'
 * elements; without terms it is no such sum. Or of what backward adds to the gradient of a cell of
 * an operand: dx is the sum of dy · ∂y/∂x over elements of y. */
Sum record_sum(Arena *arena, Node *n, int operand, long cell);

/* The cause of a gradient of 0 of a cell of x, whose way ends at node `end`: the name of its
 * operation; "positions": x holds them; "hidden": the mask has set the cell to -inf. */
const char *record_zero(const Records *r, const Node *end, const Tensor *x, long cell);

/* The loss while one number of x, a node's output or a leaf, at `offset` in its data has another
 * value: the operations after x run again. */
real record_loss(const Records *r, const Tensor *x, long offset, real value);

/* The derivative of the loss with respect to one element of the node's output, by differences. The
 * node is no view. */
Sweep record_difference(Node *n, long cell);

/* ---- JSON: walk_json.c ---- */

/* Print lines as described above: of the model, a record, a cell's sum, its derivative. */
void records_json_head(const Records *r, bool backward);
void records_json_parameters(const Records *r, bool backward);
void record_json(const Records *r, long index, bool backward);
void record_json_sum(const Records *r, long index, int operand, long cell);
void record_json_difference(const Records *r, long index, long cell);
