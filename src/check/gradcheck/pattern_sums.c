/* What the right gradients add up to, and those found do not, or do at other places. */
#include "check/gradcheck/other_point.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Σ v_j J_ij over the line of the axis that element `first` begins, and the sum of sizes; of a row of the Jacobian. */
static double sum_along(const AlongAxis *a, const double *row, const double *v, long first, double *size) {
    double sum = 0;
    *size = 0;
    for (long i = 0; i < a->n; i++) {
        long j = first + i * a->inner;
        double term = (v ? v[j] : 1) * row[j];
        sum += term, *size += fabs(term);
    }
    return sum;
}

/* Whether the right gradients, times v, add up to 0 along every line of the axis for every upstream gradient, and those found
 * do not. */
static bool should_cancel(const Suspect *s, const AlongAxis *a, const double *v) {
    enum { LEAST = 2 };
    long lines = 0, broken = 0;
    for (long q = 0; q < s->e->cotangents; q++) {
        double largest = 0, size, wrong;
        long first = q * s->e->coordinates;
        for (long j = 0; j < s->e->coordinates; j++) largest = fmax(largest, v ? fabs(v[j]) : 1);
        for (long j = 0; j < s->e->coordinates; j++) {
            if (pattern_index_along(a, j) != 0) continue;
            double sum = sum_along(a, s->numeric + first, v, j, &size);
            double room = s->tolerance * fmax(size, largest * s->scale[q]);
            if (fabs(sum) > room) return false;
            double found = sum_along(a, s->analytic + first, v, j, &wrong);
            lines += size > 100 * room;
            broken += fabs(found) > 10 * room;
        }
    }
    return lines >= LEAST && broken > 0;
}

/* A function of differences alone does not change where the same is added to all, as softmax, a mean subtracted; one of
 * ratios alone not where all are multiplied by the same, as what is normalised. */
bool pattern_should_cancel(Suspect *s) {
    const char *name;
    double *v = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *v);
    if (!pattern_values_beside(s, s->e->input, v, &name)) return false;
    for (int ratios = 0; ratios < 2; ratios++)
        for (int axis = s->shape.rank - 1; axis >= 0; axis--) {
            AlongAxis a = pattern_along(s->shape, axis);
            if (a.n < 2 || !should_cancel(s, &a, ratios ? v : NULL) || !point_keeps_output(s, ratios))
                continue;
            if (ratios)
                return pattern_say(
                    s,
                    "multiplying all along axis %d by one number does not change the output, so "
                    "Σ %s d%s is 0 along it; here it is not",
                    axis, s->in->name, s->in->name);
            return pattern_say(
                s,
                "adding one number to all along axis %d does not change the output, so d%s adds up "
                "to 0 along it; here it does not",
                axis, s->in->name);
        }
    return false;
}

/* As when what belongs to one part of an input is added to another. */
bool pattern_moved(Suspect *s) {
    enum { LEAST = 4 };
    const Entries *e = s->e;
    long rows = 0;
    double before = NAN;
    bool differ = false;
    if (!pattern_has_jacobian(s) || e->coordinates < 2) return false;
    for (long q = 0; q < e->cotangents; q++) {
        AlongAxis all = {0, e->coordinates, 1};
        double size, found_size;
        double need = sum_along(&all, s->numeric + q * e->coordinates, NULL, 0, &size);
        double found = sum_along(&all, s->analytic + q * e->coordinates, NULL, 0, &found_size);
        double room = s->tolerance * fmax(size, found_size);
        if (!(fabs(found - need) <= room)) return false;
        if (q == 0 || fabs(need) < 1000 * room) continue;
        rows++;
        differ |= fabs(need - before) > 10 * room;
        before = need;
    }
    return rows >= LEAST && differ &&
           pattern_say(s,
                       "each output's gradients add up to the right sum over all elements, but lie at other "
                       "elements: an index or an offset is wrong");
}

/* As when the upstream gradient is used twice: each by itself, of 1, is passed on rightly, several together are not. */
bool pattern_not_linear(Suspect *s) {
    const Entries *e = s->e;
    bool together = false;
    if (!pattern_has_jacobian(s)) return false;
    for (long at = 0; at < e->cotangents * e->coordinates; at++) {
        if (e->entry[at].state == ENTRY_KINK || pattern_near(s, at, s->analytic[at], s->numeric[at]))
            continue;
        if (at >= e->coordinates) return false;
        together = true;
    }
    return together &&
           pattern_say(s, "right for an upstream gradient of a single 1, wrong for others: is it used "
                          "twice, or to another power?");
}

/* ---- An operand read elsewhere ---- */

/* The place of ±value in input k; -1: it is not there. */
static long find(const PointInput *in, double value, double tolerance) {
    for (long i = 0; i < in->count; i++)
        if (value != 0 && fabs(fabs((double)in->value[i]) - fabs(value)) <= tolerance * fabs(value)) return i;
    return -1;
}

/* Whether every effect on an output has to be a number of input k, and is another, or none. */
static bool reads_elsewhere(Suspect *s, const PointInput *in, long *entry, long *need, long *found) {
    enum { LEAST = 4 };
    const Entries *e = s->e;
    long numbers = 0, last = -1;
    *entry = -1;
    for (long at = e->coordinates; at < (1 + e->outputs) * e->coordinates; at++) {
        double tolerance = fmin(s->tolerance, 1e-6);
        if (e->entry[at].state == ENTRY_KINK) continue;
        if (pattern_near(s, at, s->numeric[at], 0) && pattern_near(s, at, s->analytic[at], 0)) continue;
        long here = find(in, s->analytic[at], tolerance), right = find(in, s->numeric[at], tolerance);
        if ((s->numeric[at] != 0 && right < 0) || (s->analytic[at] != 0 && here < 0)) return false;
        numbers += right >= 0 && right != last;
        last = right;
        if (*entry < 0 && here >= 0 && right >= 0 && here != right) *entry = at, *need = right, *found = here;
    }
    return *entry >= 0 && numbers >= LEAST;
}

/* As when a product's backward reads an operand at another index. */
bool pattern_operand_elsewhere(Suspect *s) {
    const CheckPoint *p = s->run->point;
    char element[INDEX_TEXT], right[INDEX_TEXT], wrong[INDEX_TEXT];
    long entry, need = 0, found = 0;
    if (!pattern_has_jacobian(s)) return false;
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        if (k == s->e->input || in->count < 3 || !reads_elsewhere(s, in, &entry, &need, &found)) continue;
        if (pattern_operand_transposed(s) || pattern_operand_reversed(s)) return true; /* that says more */
        long j = entry % s->e->coordinates;
        return pattern_say(
            s, "%s is read at a wrong index: for %s%s stands %s%s where %s%s belongs, as one of them",
            in->name, s->in->name, s->shape.rank ? gradcheck_index_text(element, s->shape, j) : "", in->name,
            gradcheck_index_text(wrong, in->shape, found), in->name,
            gradcheck_index_text(right, in->shape, need));
    }
    return false;
}

/* ---- Another input's gradient ---- */

/* The factor of the other input's gradient in the error (`whole`: in what is found), if it is that at all; NAN. */
static double part_of(const Suspect *s, const Entries *other, bool whole) {
    enum { LEAST = 4 };
    double k = NAN, largest = 0;
    long used = 0;
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        double v = other->entry[at].numeric, error = s->analytic[at] - (whole ? 0 : s->numeric[at]);
        if (!isfinite(v) || !isfinite(error)) return NAN;
        if (fabs(v) > largest) largest = fabs(v), k = error / v;
    }
    for (long at = 0; at < s->e->cotangents * s->e->coordinates && !isnan(k); at++) {
        double v = k * other->entry[at].numeric;
        if (!pattern_near(s, at, s->analytic[at], v + (whole ? 0 : s->numeric[at]))) return NAN;
        used += fabs(v) > s->tolerance * s->scale[at / s->e->coordinates];
    }
    return used >= LEAST ? k : NAN;
}

/* As when an input has two ways to the output, one of them through a difference with another, and one is forgotten. */
bool pattern_part_of_another(Suspect *s) {
    for (int whole = 1; whole >= 0; whole--)
        for (int k = 0; k < s->run->point->inputs; k++) {
            const Entries *other = &s->all[k];
            if (other == s->e || !other->entry || other->coordinates != s->e->coordinates) continue;
            double part = part_of(s, other, whole);
            if (isnan(part) || fabs(part) <= s->tolerance) continue;
            const char *name = s->run->point->in[k].name;
            return pattern_say(
                s,
                whole ? "it is %.6g times the gradient of %s, and no more: is another way of %s to "
                        "the output forgotten?"
                      : "the error is %.6g times the gradient of %s: a term that both have is "
                        "missing in that of %s, or wrong",
                part, name, s->in->name);
        }
    return false;
}
