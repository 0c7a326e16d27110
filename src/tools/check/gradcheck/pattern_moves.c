/* Right numbers in wrong places: transposes, wrong indices. */
#include "check/gradcheck/patterns.h"
#include <math.h>

/* Whether element j has the gradient of from[j]. */
static bool fits_moved(Suspect *s, const long *from) {
    bool moves = false;
    for (long j = 0; j < s->n; j++) moves |= from[j] != j;
    for (long at = 0; at < s->entries; at++) {
        long j = at % s->n;
        s->expected[at] = from[j] < 0 ? s->analytic[at] : s->numeric[at - j + from[j]];
    }
    return moves && pattern_fits(s);
}

/* Tries all orders of the axes. An order is a number with two bits for each axis. */
static bool is_transposed(Suspect *s, long *from) {
    int rank = s->shape.rank;
    if (rank < 2 || rank > 4) return false;
    for (int order = 0; order < 1 << 2 * rank; order++) {
        unsigned seen = 0;
        for (int i = 0; i < rank; i++) seen |= 1u << (order >> 2 * i & 3);
        if (seen != (1u << rank) - 1) continue;
        for (long j = 0; j < s->n; j++) {
            long place = 0;
            for (int i = 0; i < rank; i++) {
                int axis = order >> 2 * i & 3;
                place = place * s->shape.size[axis] + pattern_index(s->shape, axis, j);
            }
            from[place] = j;
        }
        if (fits_moved(s, from))
            return pattern_say(
                s, "it is the right gradient with its axes in another order (transposed)");
    }
    return false;
}

/* Each element has the gradient of its neighbour (the edge may have any) or of the other end, or all have that of one end. */
bool pattern_moved(Suspect *s) {
    enum { MIN = 3 };
    long *from = arena_alloc(s->arena, (size_t)s->n * sizeof *from);
    if (is_transposed(s, from)) return true;
    for (int axis = 0; axis < s->shape.rank; axis++) {
        long n = s->shape.size[axis];
        for (int way = 0; way < 5 && n >= MIN; way++) {
            for (long j = 0; j < s->n; j++) {
                long i = pattern_index(s->shape, axis, j),
                     to[] = {i - 1, i + 1, n - 1 - i, 0, n - 1};
                from[j] =
                    to[way] < 0 || to[way] >= n ? -1 : pattern_at_index(s->shape, axis, j, to[way]);
            }
            static const char *const text[] = {
                "each element has the gradient of the one before it",
                "each element has the gradient of the one after it",
                "the gradients are in reverse order",
                "all elements have the gradient of the first. Is the index used?",
                "all elements have the gradient of the last. Is the index used?"};
            if (fits_moved(s, from)) return pattern_say(s, "along axis %d %s", axis, text[way]);
        }
    }
    return false;
}

bool pattern_of_another_input(Suspect *s) {
    for (int k = 0; k < s->point->inputs; k++) {
        const Entries *other = &s->g->element[k];
        if (other == s->e || !other->entry || other->coordinates != s->n) continue;
        for (long i = 0; i < s->entries; i++) s->expected[i] = other->entry[i].numeric;
        if (pattern_fits(s))
            return pattern_say(s, "it is the gradient of %s", s->point->in[k].name);
    }
    return false;
}

/* ---- Wrong indices ---- */

/* Returns the place of ±value in an input; -1: it is not there. */
static long find(const PointInput *in, double value, double tolerance) {
    for (long i = 0; i < in->count; i++)
        if (value != 0 && fabs(fabs((double)in->value[i]) - fabs(value)) <= tolerance * fabs(value))
            return i;
    return -1;
}

/* Whether the effects on outputs have to be numbers of the input or 0 and are such numbers, but not all in their places.
 * Gives the first such entry, the place of the number that it needs, and of the one found. */
static bool reads_elsewhere(Suspect *s, const PointInput *in, long *entry, long *need,
                            long *found) {
    enum { MIN = 4 };
    const Entries *e = s->e;
    long numbers = 0, last = -1;
    double tolerance = fmin(s->tolerance, 1e-6);
    *entry = -1;
    for (long at = e->coordinates; at < (1 + e->outputs) * e->coordinates; at++) {
        if (e->entry[at].state == ENTRY_KINK) continue;
        if (pattern_near(s, at, s->numeric[at], 0) && pattern_near(s, at, s->analytic[at], 0))
            continue;
        long here = find(in, s->analytic[at], tolerance),
             right = find(in, s->numeric[at], tolerance);
        if ((s->numeric[at] != 0 && right < 0) || (s->analytic[at] != 0 && here < 0)) return false;
        numbers += right >= 0 && right != last;
        last = right;
        if (*entry < 0 && here >= 0 && right >= 0 && here != right)
            *entry = at, *need = right, *found = here;
    }
    return *entry >= 0 && numbers >= MIN;
}

/* An example is a product whose backward reads an operand at another index. */
bool pattern_operand_elsewhere(Suspect *s) {
    const CheckPoint *p = s->point;
    char element[REPORT_NAME], right[REPORT_NAME], wrong[REPORT_NAME];
    long entry, need = 0, found = 0;
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        if (k == s->e->input || in->count < 3 || !reads_elsewhere(s, in, &entry, &need, &found))
            continue;
        return pattern_say(
            s, "%.40s is read at a wrong index: the gradient of %.60s uses %.60s instead of %.60s",
            in->name, gradcheck_element_text(element, s->in->name, s->shape, entry % s->n),
            gradcheck_element_text(wrong, in->name, in->shape, found),
            gradcheck_element_text(right, in->name, in->shape, need));
    }
    return false;
}
