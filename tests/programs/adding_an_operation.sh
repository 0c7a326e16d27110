#!/bin/sh
# README's "Adding an operation", followed on a copy of the tree: one file and one line add softplus, and ./gradcheck
# proves it; with an error in its backward ./gradcheck does not. What the make that runs the tests has built is copied
# along, times and all, so that only what the line in ops.def reaches is compiled, in double.
cd "$(dirname "$0")/../.." || exit 74
program='adding an operation'
. tests/check.sh
built=${BUILD:-build} build=$(basename "${BUILD:-build}") tree=$folder/tree

copy() {
    mkdir -p "$tree/$build/double" || return 1
    cp -Rp Makefile train.c src "$tree" && mkdir -p "$tree/tests" && cp -p tests/Makefile "$tree/tests" || return 1
    for part in flags generated double/src; do
        [ ! -e "$built/$part" ] || cp -Rp "$built/$part" "$tree/$build/$part" || return 1
    done
}

# The program at the top, as `make gradcheck` would leave it, without its twin in float.
remake_gradcheck() {
    remake BUILD="$build" "$build/double/gradcheck" && cp "$build/double/gradcheck" .
}

# softplus BACKWARD: the file, whose backward adds that to dx_i.
softplus() {
    cat <<END_OF_FILE
/* softplus: ln(1 + e^x) of every element: relu with a smooth bend (Dugas et al., NIPS 2000).
 *
 *     x: any shape      y: the same
 *
 *     y_i = ln(1 + e^x_i)
 *
 * Backward. ∂y/∂x = e^x / (1 + e^x) = σ(x), the logistic function:
 *
 *     dx_i += dy_i σ(x_i)
 *
 * Forward keeps nothing: x is still there.
 *
 * Numerical note: e^x overflows, and 1 + e^x loses a small e^x. Both are avoided by y = max(x, 0) + ln(1 + e) with
 * e = e^-|x|, and by σ = e / (1 + e) for x < 0. */
#include "kernels/vector_math.h"
#include "ops/ops.h"

static void forward(Node *n) {
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = (y[i] > 0 ? y[i] : 0) + log1p(vm_exp(-fabs(y[i])));
}

static real sigmoid(real x) {
    real e = vm_exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) dx[i] += $1;
}

BUILD_CASE(build, tape_softplus(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 4)}}},
    {"tails", build, {{"x", DIMS(12), -12, 12}}},
    {"far away", build, {{"x", DIMS(8), -1000, 1000}}, .flat = true},
    {"strided", build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"repeated", build, {{"x", DIMS(3, 4), .layout = REPEATED}}},
    {"one element", build, {{"x", DIMS(1)}}},
    {"scalar", build, {{"x", {0}}}},
    {"empty", build, {{"x", DIMS(2, 0)}}},
};

const Op op_softplus = {"softplus", forward, backward, CASES(cases)};

Tensor *tape_softplus(Tape *t, Tensor *x) {
    return tape_record(tape_node(t, &op_softplus, x->shape, INPUTS(x)));
}
END_OF_FILE
}

right='dy[i] * sigmoid(x[w.at[0] + i * w.step[0]])'

add_one_file_and_one_line() {
    softplus "$right" >"$tree/src/ops/softplus.c"
    echo 'OP(softplus, (Tape *t, Tensor *x), "y = ln(1 + e^x)", "")' >>"$tree/src/ops/ops.def"
    cd "$tree" && remake_gradcheck
}

# verdict STATUS LINE: ./gradcheck softplus ends with that status, and prints a line that begins so.
verdict() {
    cd "$tree" || return 1
    ./gradcheck softplus >"$folder/verdict"
    status=$?
    cat "$folder/verdict"
    [ $status -eq "$1" ] && grep -q "^$2" "$folder/verdict"
}

listed() {
    cd "$tree" && ./gradcheck --list | grep -A 1 '^softplus  *y = ln(1 + e^x)$' | grep -F '(Tape *t, Tensor *x)'
}

wrong_backward_is_found() {
    softplus "2 * $right" >"$tree/src/ops/softplus.c"
    cd "$tree" && remake_gradcheck && verdict 1 'FAIL softplus/matrix, dx: '
}

copy || exit 74
check "one file and one line are enough to build" add_one_file_and_one_line
check "./gradcheck softplus proves it" verdict 0 '8 passed, 0 failed, 0 inconclusive$'
check "./gradcheck --list shows it" listed
check "a factor 2 in its backward is found" wrong_backward_is_found
exit $failed
