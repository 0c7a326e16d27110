#include "check/grading/expected.h"
#include "check/gradcheck/rounding.h"
#include <math.h>

enum { ROUNDINGS = 16 };

void expected_take(Expected *x, Arena *arena, Shape s, const real *value) {
    *x = (Expected){.shape = s, .count = shape_count(s), .largest = rounding_largest(value, shape_count(s))};
    x->need = arena_alloc(arena, (size_t)x->count * sizeof *x->need);
    x->moved = arena_alloc(arena, (size_t)x->count * sizeof *x->moved);
    for (long i = 0; i < x->count; i++) x->need[i] = (double)value[i];
}

void expected_move(Expected *x, const real *value) {
    for (long i = 0; i < x->count; i++) rounding_note(&x->moved[i], x->need[i], (double)value[i]);
}

double expected_allowed(const Expected *x, long i, Precision precision) {
    bool single = precision == SINGLE || sizeof(real) == sizeof(float); /* float knows no better values */
    double unit = single ? (double)FLT_EPSILON : DBL_EPSILON;
    double smallest = single ? (double)FLT_MIN : DBL_MIN; /* subnormal numbers have fewer digits */
    double terms = x->largest + x->moved[i] / (double)EXPECTED_CHANGE + smallest / unit;
    return rounding_room(ROUNDINGS, unit, terms);
}

bool expected_right(const Expected *x, long i, double found, Precision precision) {
    return rounding_same(found, x->need[i], expected_allowed(x, i, precision)) && !isnan(found);
}

bool expected_precision(const Array *a, Precision *precision, Error *e) {
    *precision = a->dtype == DTYPE_F32 ? SINGLE : DOUBLE;
    return a->dtype == DTYPE_F32 || a->dtype == DTYPE_F64 ||
           error_set(e, STATUS_BAD_DATA, "%s: found numbers of type %s, need F32 or F64", ARRAY_PLACE(a),
                     dtype_name(a->dtype));
}

void expected_judge(const Expected *x, const double *found, Precision precision, InputReport *r) {
    double gravest = -1;
    r->coordinates = x->count;
    for (long i = 0; i < x->count; i++) {
        double need = x->need[i], allowed = expected_allowed(x, i, precision);
        if (isinf(allowed)) continue;
        double off = fabs(found[i] - need), size = fmax(fabs(need), fabs(found[i]));
        bool right = expected_right(x, i, found[i], precision), known = isfinite(need);
        r->wrong += known && !right;
        r->unclear += !known;
        /* The worst entry: wrong before unclear before right, then the largest error relative to the
         * allowed one. */
        double gravity = isfinite(off) ? 1 - 1 / (1 + off / allowed) : found[i] == need ? 0 : 1;
        gravity += known && !right ? 4 : !known ? 2 : 0;
        if (!(gravity > gravest)) continue;
        gravest = gravity;
        r->element = i, r->output = -1;
        r->analytic = found[i], r->numeric = need, r->estimate = allowed;
        r->error = off == 0 ? 0 : off / (known && !right ? size : fmax(size, x->largest));
    }
    r->verdict = r->wrong ? FAIL : r->unclear ? INCONCLUSIVE : PASS;
    if (r->verdict == INCONCLUSIVE) REPORT_SET(r->reason, "the right value is not a finite number");
}
