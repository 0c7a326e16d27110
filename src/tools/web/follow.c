/* Entry points of the module in double precision that follow a model: the walk of ./explain, forward and backward. */
#include "explain/walk_backward.h"
#include "web/web.h"
#include <math.h>

/* The walk backward that was printed last; its tape is kept for the entry points below. */
static struct {
    WalkOptions options;
    WalkThrough walk;
    Backward steps; /* of none, if the walk that was printed last is one forward */
} kept;

/* Prints the walk through the text in the file `text` and the model in the directory `saved`, one JSON object a line. The
 * walk backward begins at the loss of the answer in the file `answer`; if that is empty, of the model's own. */
WEB_EXPORT(void, walk, (int side, int layer, int head, int backward)) {
    const char *answer = web_file_data("answer");
    walk_close(&kept.walk);
    kept.walk = (WalkThrough){0}, kept.steps = (Backward){0};
    kept.options = (WalkOptions){
        .model = "saved", .text = web_file_data("text"), .layer = layer, .head = head};
    kept.options.side = (Side)side, kept.options.side_given = true;
    kept.options.backward = backward, kept.options.json = kept.options.operands = true;
    kept.options.answer = *answer ? answer : NULL;
    if (!backward)
        explain_walk(&kept.options, &web_error);
    else if (walk_read(&kept.walk, &kept.options, &web_error) &&
             walk_choose(&kept.walk, &web_error) &&
             walk_backward_start(&kept.steps, &kept.walk, &web_error))
        walk_backward_steps(&kept.steps);
}

/* Prints the terms of one element, in row-major order, of what operation `index` adds to the gradient of its input: of
 * each its element of the operation's output, the gradient there, and the slope. Then the loss while the element itself
 * is pushed by -range, -0.95 range, … range. The range is so small that the loss moves no more than a few times as far as
 * its tangent, but at least 0.01. */
WEB_EXPORT(void, push, (int index, int input, int element)) {
    enum { HALF = 20 };
    Node *n = index >= 0 && index < kept.steps.count ? kept.steps.node[index] : NULL;
    const Tensor *x =
        n && input >= 0 && input < n->inputs && backward_reaches(n, input) ? n->in[input] : NULL;
    if (!x || element < 0 || element >= shape_count(x->shape)) {
        error_set(&web_error, STATUS_USAGE, "found %d, %d, %d, need one of the walk", index, input,
                  element);
        return;
    }
    long terms, offset = 0, rest = element;
    Arena arena = {0};
    putchar('{');
    walk_backward_json_terms(backward_terms(&arena, n, input, element, &terms), terms);
    arena_free(&arena);
    const Node *end = backward_end(n, input, element);
    if (end) printf(", \"end\": %ld", end->index);
    if (end) web_print_text("zero", walk_backward_cause(&kept.steps, end, x, element));
    for (int axis = x->shape.rank - 1; axis >= 0; rest /= x->shape.size[axis--])
        offset += rest % x->shape.size[axis] * x->stride[axis];
    const Tensor *base = x; /* the numbers that views show are those of one tensor */
    while (base->maker && base->maker->op->view) base = base->maker->in[0];
    offset += x->data - base->data;
    real loss[2 * HALF + 1], value = base->data[offset], slope = base->grad[offset], range = 1;
    real now = *kept.walk.tape->last->out->data, least = 0.01;
    while (range > least && fabs(slope) > 0) {
        real up = backward_loss(kept.walk.tape, base, offset, value + range) - now;
        real down = backward_loss(kept.walk.tape, base, offset, value - range) - now;
        if (fmax(fabs(up), fabs(down)) < 4 * fabs(slope) * range) break;
        range /= 10;
    }
    for (int i = -HALF; i <= HALF; i++)
        loss[HALF + i] = backward_loss(kept.walk.tape, base, offset, value + range * i / HALF);
    web_print_number("value", value), web_print_number("gradient", slope),
        web_print_number("range", range);
    web_print_numbers("losses", loss, 2 * HALF + 1);
    puts("}");
}
