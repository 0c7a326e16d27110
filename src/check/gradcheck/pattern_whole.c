/* Mistakes that change the whole gradient at once. */
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

bool pattern_not_a_number(Suspect *s) {
    long bad = 0;
    for (long j = 0; j < s->e->coordinates; j++) {
        bool finite = true;
        for (long q = 0; q < s->e->cotangents; q++)
            finite &= isfinite(s->analytic[q * s->e->coordinates + j]);
        bad += !finite;
    }
    const char *why =
        s->run->guard ? ": 0/0, infinity - infinity, or read from beside an array, where the checker puts NaN"
                      : "";
    if (bad == s->e->coordinates) return pattern_say(s, "not a finite number at any element%s", why);
    return bad && pattern_say(s, "not a finite number at %ld of %ld elements%s", bad, s->e->coordinates, why);
}

/* A kink here and there is one; many, where the case promises none, are the steps of an output that is rounded on the
 * way. Then it is forward that is to blame. */
bool pattern_in_steps(Suspect *s) {
    long kinks = 0;
    for (long j = 0; j < s->e->coordinates; j++) kinks += s->e->state[j] == ENTRY_KINK;
    if (s->run->c->kinks || kinks < 2 || 4 * kinks < s->e->coordinates) return false;
    return pattern_say(
        s, "forward moves in steps, many elements lie on a kink: is a number on the way kept in float, or "
           "rounded?");
}

bool pattern_missing(Suspect *s) {
    for (long i = 0; i < s->e->cotangents * s->e->coordinates; i++)
        if (s->analytic[i] != 0) return false;
    return pattern_say(s, "no gradient arrives at all: it is 0 everywhere");
}

/* Whether it is 0 at some indices of an axis, and right at the others. */
static bool is_zero_at(const Suspect *s, const AlongAxis *a, bool *zero) {
    long n = s->e->coordinates;
    for (long i = 0; i < a->n; i++) zero[i] = false;
    for (long j = 0; j < n; j++) zero[pattern_index_along(a, j)] |= s->e->state[j] == ENTRY_WRONG;
    for (long i = 0; i < s->e->cotangents * n; i++)
        if (zero[pattern_index_along(a, i % n)] ? s->analytic[i] != 0 : s->e->state[i % n] == ENTRY_WRONG)
            return false;
    return true;
}

/* As when a loop ends early, or steps over a remainder. */
bool pattern_missing_in_part(Suspect *s) {
    for (int axis = s->shape.rank - 1; axis >= 0; axis--) {
        AlongAxis a = pattern_along(s->shape, axis);
        bool *zero = arena_alloc(s->arena, (size_t)a.n + 1);
        long count = 0, first = -1;
        if (!is_zero_at(s, &a, zero)) continue;
        for (long i = 0; i < a.n; i++)
            if (zero[i] && count++ == 0) first = i;
        bool at_an_end = count > 0 && count < a.n && (first == 0 || first + count == a.n);
        for (long i = first; at_an_end && i < first + count; i++) at_an_end = zero[i];
        if (!at_an_end && (count != 1 || a.n == s->e->coordinates)) continue;
        if (count == 1)
            return pattern_say(s, "no gradient arrives at index %ld%s of axis %d: it is 0 there", first,
                               first == a.n - 1 ? ", the last," : "", axis);
        return pattern_say(
            s, "no gradient arrives at %ld of %ld indices of axis %d, the first of them %ld: it is 0 there",
            count, a.n, axis, first);
    }
    return false;
}

/* "√8", "1/3", …: k where it or its square is a whole number or one over it; n is that number. */
static bool whole(double k, double tolerance, const char **form, long *n) {
    static const struct {
        const char *form;
        double power;
    } known[] = {{"", 1}, {"1/", -1}, {"√", 2}, {"1/√", -2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double v = pow(fabs(k), known[i].power);
        if (v < 1.5 || v > 1e6 || fabs(v - round(v)) > 10 * tolerance * v) continue;
        *form = known[i].form;
        *n = lround(v);
        return true;
    }
    return false;
}

/* Where a size n may come from: "the size of axis 1 of x", when so many such places are passed over. A 2 may come from anywhere: of
 * a square, say. */
static bool find_size(const Suspect *s, long n, int *pass, char *text, size_t size) {
    const CheckPoint *p = s->run->point;
    if (n <= 2) return false;
    for (int whole_shape = 0; whole_shape < 2; whole_shape++)
        for (int i = -1; i <= p->inputs; i++) {
            const PointInput *in = i < 0 ? s->in : i < p->inputs ? &p->in[i] : NULL;
            Shape shape = in ? in->shape : s->y_shape;
            const char *name = in ? in->name : "the output";
            for (int axis = shape.rank - 1; axis >= 0 && !whole_shape; axis--)
                if (shape.size[axis] == n && (*pass)-- == 0)
                    return snprintf(text, size, "the size of axis %d of %s", axis, name) > 0;
            if (whole_shape && shape.rank > 1 && shape_count(shape) == n && (*pass)-- == 0)
                return snprintf(text, size, "the number of elements of %s", name) > 0;
        }
    return false;
}

/* Fits factor k, taken from the largest entry, at every coordinate, or at those alone that are wrong. */
static double fitting_factor(Suspect *s, bool wrong_alone) {
    long n = s->e->coordinates, largest = -1;
    double *factor = arena_alloc(s->arena, (size_t)n * sizeof *factor);
    for (long i = 0; i < s->e->cotangents * n; i++) {
        if (wrong_alone && s->e->state[i % n] != ENTRY_WRONG) continue;
        if (largest < 0 || fabs(s->numeric[i]) > fabs(s->numeric[largest])) largest = i;
    }
    double k = largest < 0 ? NAN : s->analytic[largest] / s->numeric[largest];
    for (long j = 0; j < n; j++) factor[j] = wrong_alone && s->e->state[j] != ENTRY_WRONG ? 1 : k;
    return isfinite(k) && k != 0 && pattern_fits_factors(s, factor) ? k : NAN;
}

/* Any number is a multiple of another; of the effects of one element on several outputs that says something. */
static bool is_any_number(const Suspect *s) {
    enum { LEAST = 3 };
    long effects = 0;
    for (long q = 0; q < s->e->cotangents; q++) effects += s->numeric[q] != 0;
    return s->e->coordinates == 1 && effects < LEAST;
}

/* One reading of the factor a turn: sizes that it may be made of, a function, and at last the mere number. */
static bool say_factor(Suspect *s, const char *which, double k) {
    if (fabs(k + 1) < s->tolerance) return pattern_say(s, "%s: the sign is flipped", which);
    const char *form;
    char name[64] = "", source[160] = "", where[96];
    long n;
    bool named = whole(k, s->tolerance, &form, &n);
    if (!named && is_any_number(s)) return false;
    if (named && *form) snprintf(name, sizeof name, " = %s%s%ld", k < 0 ? "-" : "", form, n);
    int pass = s->turn;
    s->more = true;
    if (named && find_size(s, n, &pass, where, sizeof where))
        snprintf(source, sizeof source, "; %ld is %s", n, where);
    else if (named && n > 2 && !strstr(form, "√") && n <= 1000 &&
             find_size(s, n * n, &pass, where, sizeof where))
        snprintf(source, sizeof source, "; %ld is √%ld, and %ld is %s", n, n * n, n * n, where);
    else
        s->more = !named && pass == 0 && pattern_name_factor(s, k, name, sizeof name);
    int digits = 6 + (int)fmax(0, -log10(fabs(k - 1)));
    pattern_say(s, "%s: too %s by the constant factor %.*g%s%s", which, fabs(k) > 1 ? "large" : "small",
                digits > 17 ? 17 : digits, k, name, source);
    /* In another case it may be another number, if it is not a size or a function of one. */
    char what[REPORT_TEXT];
    snprintf(what, sizeof what, "%s%s%s", which, s->more && !named ? name : "", source);
    s->said.form = pattern_form(what);
    s->said.of_sizes = *source;
    return true;
}

bool pattern_constant_factor(Suspect *s) {
    double k = fitting_factor(s, false);
    return isfinite(k) && say_factor(s, "every element", k);
}

/* As when one of several parts of an input (the heads of a projection) is wrong. */
bool pattern_constant_factor_of_some(Suspect *s) {
    double k = fitting_factor(s, true);
    long wrong = 0;
    for (long j = 0; j < s->e->coordinates; j++) wrong += s->e->state[j] == ENTRY_WRONG;
    if (!isfinite(k) || wrong < 2) return false;
    return say_factor(s, "the elements that are wrong", k);
}

/* Whether a gradient for cotangent q is what it has to be. */
static bool is_needed(const Suspect *s, long q, const real *gradient) {
    long own = s->e->coordinates;
    for (long j = 0; j < own; j++) {
        long at = q * own + j;
        double sum = 0;
        for (long i = j; i < s->in->count; i += own) sum += (double)gradient[i];
        if (s->e->entry[at].state != ENTRY_KINK && !pattern_near(s, at, sum, s->numeric[at])) return false;
    }
    return true;
}

/* The gradient of the same values laid out contiguously, where they are not. */
bool pattern_strides(Suspect *s) {
    CheckRun *run = s->run;
    CheckPoint *given = run->point, contiguous;
    bool strided = false;
    for (int i = 0; i < given->inputs; i++) strided |= !tensor_contiguous(&given->in[i].tensor);
    if (!strided) return false;
    point_lay_out(&contiguous, s->arena, given, (CheckLayout[CHECK_INPUTS]){0});
    run->point = &contiguous;
    bool right = true;
    CheckBatch b;
    check_batch_open_backward(&b, run, s->arena, s->e->outputs, s->e->cotangents);
    for (long q = 0, runs; q < s->e->cotangents && right; q += runs) {
        runs = check_batch_backward(&b, s->e->cotangent + q * s->e->outputs, s->e->cotangents - q, 0);
        for (long i = 0; i < runs && right; i++)
            right = is_needed(s, q + i, check_batch_gradient(&b, i, s->e->input));
    }
    run->point = given;
    return right &&
           pattern_say(s, "right where the inputs are contiguous in memory, wrong for their strides here");
}

/* All orders of the axes; the next one in `order`, which begins ascending. */
static bool next_order(int *order, int rank) {
    int i = rank - 2, j = rank - 1;
    while (i >= 0 && order[i] > order[i + 1]) i--;
    if (i < 0) return false;
    while (order[j] < order[i]) j--;
    int kept = order[i];
    order[i] = order[j], order[j] = kept;
    for (int a = i + 1, b = rank - 1; a < b; a++, b--) kept = order[a], order[a] = order[b], order[b] = kept;
    return true;
}

bool pattern_transposed(Suspect *s) {
    int rank = s->shape.rank, order[MAX_RANK];
    if (rank < 2 || rank > 4) return false;
    long *from = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *from);
    for (int i = 0; i < rank; i++) order[i] = i;
    while (next_order(order, rank)) {
        bool moves = false;
        for (long j = 0; j < s->e->coordinates; j++) {
            /* The place of element j if the axes are written in this order. */
            long place = 0;
            for (int i = 0; i < rank; i++) {
                AlongAxis a = pattern_along(s->shape, order[i]);
                place = place * a.n + pattern_index_along(&a, j);
            }
            from[place] = j;
            moves |= place != j;
        }
        if (!moves || !pattern_fits_moved(s, from)) continue;
        bool square = rank == 2 && s->shape.size[0] == s->shape.size[1];
        return pattern_say(
            s, square ? "it equals the transpose of the right gradient"
                      : "it is the right gradient with its axes written in another order (transposed)");
    }
    return false;
}

/* As when a cumulative sum, a rotation or a product with a matrix goes the same way in backward as in forward. */
bool pattern_jacobian(Suspect *s) {
    const Entries *e = s->e;
    long n = e->coordinates;
    if (!pattern_has_jacobian(s) || e->outputs != n || n < 2) return false;
    for (long j = 0; j < n; j++) {
        s->expected[j] = 0;
        for (long i = 0; i < n; i++) {
            double slope = s->numeric[(1 + j) * n + i]; /* ∂y_j/∂x_i */
            s->expected[(1 + i) * n + j] = slope;
            s->expected[j] += (double)e->cotangent[i] * slope;
        }
    }
    return pattern_fits(s) && pattern_say(s, "the Jacobian stands where its transpose belongs: backward goes "
                                             "the same way as forward (A for "
                                             "Aᵀ, a cumulative sum or a rotation in the wrong direction)");
}

bool pattern_of_another_input(Suspect *s) {
    for (int k = 0; k < s->run->point->inputs; k++) {
        const Entries *other = &s->all[k];
        if (other == s->e || !other->entry || other->coordinates != s->e->coordinates) continue;
        for (long i = 0; i < s->e->cotangents * s->e->coordinates; i++)
            s->expected[i] = other->entry[i].numeric;
        if (pattern_fits(s)) return pattern_say(s, "it is the gradient of %s", s->run->point->in[k].name);
    }
    return false;
}

/* Mistakes in a formula show in the first digits. What is off in later ones alone is another constant, or rounding: then of all
 * entries a share is off, each by a small part of the largest and of itself. */
static bool is_nearly_right(const Suspect *s, double part, double of_itself, double share) {
    const double small = 1e-3;
    long seen = 0, off = 0;
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        double size = s->scale[at / s->e->coordinates], need = fabs(s->numeric[at]);
        double error = fabs(s->analytic[at] - s->numeric[at]);
        if (!(error <= part * size) || (need > small * size && error > of_itself * need)) return false;
        if (!(need > small * size)) continue;
        seen++, off += !pattern_near(s, at, s->analytic[at], s->numeric[at]);
    }
    return (double)off >= share * (double)seen;
}

bool pattern_nearly_right(Suspect *s) {
    return is_nearly_right(s, 0.01, 0.01, 0.75) &&
           pattern_say(s,
                       "right to 1 %% of the largest, but not to all digits: another epsilon than "
                       "forward's, an approximation, single precision, or a small term or factor left out?");
}

bool pattern_right_to_digits(Suspect *s) {
    return is_nearly_right(s, 1e-4, INFINITY, 0.25) &&
           pattern_say(s, "right to four digits, and not to all: another epsilon than forward's, a constant "
                          "with too few digits, an approximation, or single precision?");
}
