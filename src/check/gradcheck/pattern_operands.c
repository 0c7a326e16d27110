/* Mistakes in what a gradient is multiplied with: an operand in another order, or what another was computed from. */
#include "check/gradcheck/other_point.h"
#include <math.h>
#include <string.h>

bool pattern_fits_at(Suspect *s, CheckPoint *other, int input) {
    CheckRun *run = s->run;
    CheckPoint *given = run->point;
    Entries part = *s->e;
    size_t entries = (size_t)(part.cotangents * part.coordinates);
    part.input = input;
    part.entry = arena_alloc(s->arena, entries * sizeof *part.entry);
    part.state = arena_alloc(s->arena, (size_t)part.coordinates * sizeof *part.state);
    part.doubt = arena_alloc(s->arena, (size_t)part.coordinates * sizeof *part.doubt);
    for (size_t at = 0; at < entries; at++) part.entry[at].analytic = s->analytic[at];
    run->point = other;
    bool may = point_may_have(s, input, NULL);
    if (may) check_entries(run, &part);
    run->point = given;
    if (!may) return false;
    for (size_t at = 0; at < entries; at++) s->expected[at] = part.entry[at].numeric;
    return pattern_fits(s);
}

/* The place in the order of the shape that element i goes to. */
typedef long Arrange(Shape s, int axis, long i);

static long reversed(Shape s, int axis, long i) {
    AlongAxis a = pattern_along(s, axis);
    return i + (a.n - 1 - 2 * pattern_index_along(&a, i)) * a.inner;
}

/* `axis` and the one before it swapped, which are of one size. */
static long swapped(Shape s, int axis, long i) {
    AlongAxis a = pattern_along(s, axis - 1), b = pattern_along(s, axis);
    long at = pattern_index_along(&a, i), across = pattern_index_along(&b, i);
    return i + (across - at) * a.inner + (at - across) * b.inner;
}

/* Whether it is the gradient that belongs to input k in another order. */
static bool fits_arranged(Suspect *s, int k, int axis, Arrange *arrange) {
    enum { MOST = 1 << 12 }; /* each entry takes runs of its own */
    CheckPoint other, changed = *s->run->point;
    PointInput *in = &changed.in[k];
    if (s->e->coordinates * s->e->cotangents > MOST) return false;
    for (int i = 0; i < changed.inputs; i++)
        if (changed.in[i].repeats > 1 || changed.in[i].same_as >= 0) return false;
    real *value = arena_alloc(s->arena, (size_t)in->count * sizeof *value);
    for (long i = 0; i < in->count; i++) value[arrange(in->shape, axis, i)] = in->value[i];
    in->value = value;
    point_lay_out(&other, s->arena, &changed, (CheckLayout[CHECK_INPUTS]){0});
    return pattern_fits_at(s, &other, s->e->input);
}

/* As when a product's backward takes a matrix for its transpose. */
bool pattern_operand_transposed(Suspect *s) {
    const CheckPoint *p = s->run->point;
    for (int k = 0; k < p->inputs; k++) {
        const Shape *shape = &p->in[k].shape;
        int last = shape->rank - 1;
        if (last < 1 || shape->size[last] != shape->size[last - 1] || shape->size[last] < 2) continue;
        if (k != s->e->input && fits_arranged(s, k, last, swapped))
            return pattern_say(s,
                               "it is right for the transpose of %s: %s stands where its transpose belongs",
                               p->in[k].name, p->in[k].name);
    }
    return false;
}

/* As when a convolution's backward forgets to turn the kernel round. */
bool pattern_operand_reversed(Suspect *s) {
    const CheckPoint *p = s->run->point;
    for (int k = 0; k < p->inputs; k++)
        for (int axis = 0; axis < p->in[k].shape.rank; axis++)
            if (k != s->e->input && p->in[k].shape.size[axis] > 1 && fits_arranged(s, k, axis, reversed))
                return pattern_say(s, "it is right for %s in reverse order along axis %d: a flipped kernel?",
                                   p->in[k].name, axis);
    return false;
}

/* As when an index runs the other way, or is not used. */
bool pattern_misplaced(Suspect *s) {
    long n = s->e->coordinates, *from = arena_alloc(s->arena, (size_t)n * sizeof *from);
    for (int axis = 0; axis < s->shape.rank; axis++) {
        AlongAxis a = pattern_along(s->shape, axis);
        if (a.n < 3) continue;
        for (long j = 0; j < n; j++) from[j] = reversed(s->shape, axis, j);
        if (pattern_fits_moved(s, from))
            return pattern_say(s, "in reverse order along axis %d: each element has the other end's gradient",
                               axis);
        for (long index = 0; index < a.n; index += a.n - 1) {
            for (long j = 0; j < n; j++) from[j] = j + (index - pattern_index_along(&a, j)) * a.inner;
            if (pattern_fits_moved(s, from))
                return pattern_say(s, "all along axis %d have the gradient of the %s: is the index used?",
                                   axis, index ? "last" : "first");
        }
    }
    return false;
}

/* x for x̂: each output passes on its upstream gradient times an input, where it is times what was made of that. */
bool pattern_input_for_saved(Suspect *s) {
    const Entries *e = s->e;
    const CheckPoint *p = s->run->point;
    if (!pattern_has_jacobian(s)) return false;
    for (int k = 0; k < p->inputs; k++) {
        bool same = k != e->input && shape_equal(p->in[k].shape, s->y_shape);
        for (long i = 0; same && i < e->outputs; i++)
            for (long j = 0; same && j < e->coordinates; j++) {
                long at = (1 + i) * e->coordinates + j;
                double want = s->numeric[at] == 0 ? 0 : (double)p->in[k].value[i];
                same = pattern_near(s, at, s->analytic[at], want);
            }
        if (same)
            return pattern_say(
                s,
                "the upstream gradient is multiplied by %s itself, where something made of it belongs "
                "(x for x̂?)",
                p->in[k].name);
    }
    return false;
}

/* A factor that belongs to the output, not to the element: of an operand that is summed over. */
bool pattern_factor_at_outputs(Suspect *s) {
    const Entries *e = s->e;
    const char *name;
    double *v = arena_alloc(s->arena, (size_t)e->outputs * sizeof *v);
    if (!pattern_has_jacobian(s)) return false;
    for (int which = 0; which <= s->run->point->inputs; which++) {
        if (!pattern_values_over(s, s->y_shape, which, v, &name)) continue;
        for (int missing = 0; missing < 2; missing++) {
            memset(s->expected, 0, (size_t)e->coordinates * sizeof *s->expected);
            for (long i = 0; i < e->outputs; i++)
                for (long j = 0; j < e->coordinates; j++) {
                    long at = (1 + i) * e->coordinates + j;
                    s->expected[at] = missing ? s->numeric[at] / v[i] : s->numeric[at] * v[i];
                    s->expected[j] += (double)e->cotangent[i] * s->expected[at];
                }
            if (pattern_fits(s))
                return pattern_say(s,
                                   missing ? "a factor %s is missing, before the sum over the outputs"
                                           : "there is a factor %s too many, in the sum over the outputs",
                                   name);
        }
    }
    return false;
}

/* True if the error, by v, is the sum of a number for each index of either axis, in each plane of the two. */
static bool error_is_of_two_axes(const Suspect *s, const AlongAxis *a, const AlongAxis *b, const double *v) {
    for (long q = 0; q < s->e->cotangents; q++) {
        const double *found = s->analytic + q * s->e->coordinates, *want = s->numeric + q * s->e->coordinates;
        for (long j = 0; j < s->e->coordinates; j++) {
            long corner[4] = {j, j - pattern_index_along(a, j) * a->inner,
                              j - pattern_index_along(b, j) * b->inner};
            corner[3] = corner[1] + corner[2] - j;
            double part[4];
            for (int c = 0; c < 4; c++) part[c] = (found[corner[c]] - want[corner[c]]) / v[corner[c]];
            if (!pattern_near(s, q * s->e->coordinates + j, v[j] * part[0],
                              v[j] * (part[1] + part[2] - part[3])))
                return false;
        }
    }
    return true;
}

/* As when softmax's backward sums over another axis than forward: what is missing belongs to one axis, what is there in
 * its place to the other. */
bool pattern_wrong_axis(Suspect *s) {
    double *v = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *v);
    const char *name = "1";
    for (int one = 0; one < s->shape.rank; one++)
        for (int other = one + 1; other < s->shape.rank; other++)
            for (int which = s->run->point->inputs; which >= -1; which--) {
                AlongAxis a = pattern_along(s->shape, one), b = pattern_along(s->shape, other);
                if (a.n < 3 || b.n < 3) continue;
                for (long j = 0; j < s->e->coordinates; j++) v[j] = 1;
                if (which >= 0 && !pattern_values_beside(s, which, v, &name)) continue;
                if (error_is_of_two_axes(s, &a, &b, v))
                    return pattern_say(
                        s,
                        "a sum runs over the wrong axis: the error is a sum over axis %d and one over "
                        "axis %d, times %s",
                        one, other, which < 0 ? "1" : name);
            }
    return false;
}

/* Off by a few units of a float's last place, up here and down there. */
bool pattern_single_precision(Suspect *s) {
    bool up = false, down = false;
    if (sizeof(real) == sizeof(float)) return false;
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        double off = s->analytic[at] - s->numeric[at], size = fabs(s->numeric[at]);
        if (!(fabs(off) <= 2 * (double)FLT_EPSILON * s->scale[at / s->e->coordinates])) return false;
        up |= off > size * (double)FLT_EPSILON / 64, down |= off < -size * (double)FLT_EPSILON / 64;
    }
    return up && down &&
           pattern_say(s,
                       "right to the digits of a float: is something computed or kept in single precision?");
}
