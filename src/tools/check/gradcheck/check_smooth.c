/* Decides whether an added point can accuse a gradient.
 *
 * The checker adds points to those of a case: larger values, zeros, the ends of a range. There a
 * right file may overflow, leave its domain, or meet a tie. A gradient is wrong at such a point
 * only where forward is finite, far from overflow, and has the same slope nearby. */
#include "base/random.h"
#include "check/gradcheck/entries.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include <math.h>

/* Number of points nearby, and their distance relative to a value or to 1. At some the element
 * that is moved lies above those that are equal to it at the point, at others below or among
 * them. */
enum { NEARBY = 16 };
static const double distance = sizeof(real) == sizeof(double) ? 1e-5 : 1e-2;
static const double step = sizeof(real) == sizeof(double) ? 1e-7 : 1e-3;

bool check_smooth_outputs(const CheckRun *run) {
    const double most = sizeof(real) == sizeof(double) ? 1e100 : 1e12;
    for (long i = 0; i < run->outputs; i++)
        if (!(fabs((double)run->y->data[i]) < most)) return false;
    return true;
}

static double size_of(double x) {
    return fmax(fabs(x), 1);
}

/* Requests a run at a point nearby, with one element moved by `far` more. */
static void ask_nearby(CheckRun *run, int input, long moved, double far, int which) {
    const CheckPoint *p = run->point;
    check_run_ask(run);
    for (int k = 0; k < p->inputs; k++) {
        uint64_t key = random_key(random_key(0x5300, (uint64_t)which), (uint64_t)k);
        long count = point_has_gradient(p, k) ? p->in[k].stored : 0;
        for (long i = 0; i < count; i++) {
            double x = (double)p->in[k].value[i];
            double part = 0.5 + (double)random_uniform(key, 2 * (uint64_t)i);
            bool up = random_bits(key, 2 * (uint64_t)i + 1) & 1,
                 is_moved = k == input && i == moved;
            double by = distance * size_of(x) * (up ? part : -part);
            if (is_moved) by = distance * size_of(x) * (4.0 * which / (NEARBY - 1) - 2) + far;
            check_run_change(run, k, i, x + by);
        }
    }
}

/* The sum of the outputs' differences, weighted by cotangent q. NaN if an output is no number. */
static double slope_at(const CheckRun *run, const Entries *e, long q, int which, double width) {
    const real *above = check_run_output(run, 2 * which),
               *below = check_run_output(run, 2 * which + 1);
    double slope = 0;
    for (long i = 0; i < e->outputs; i++)
        slope += (double)e->cotangent[q * e->outputs + i] * ((double)above[i] - (double)below[i]);
    return slope / width;
}

/* Whether no output depends on the input, as on a row of one element less its mean. 0/0 in
 * backward is no mistake there. */
static bool is_idle(const Entries *e) {
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        if (fabs(e->entry[i].numeric) > SWEEP_TRUST * e->entry[i].estimate) return false;
    return true;
}

/* Backward may overflow at large values where forward does not. */
static double largest_input(const CheckPoint *p) {
    double largest = 0;
    for (int k = 0; k < p->inputs; k++)
        largest = fmax(largest, rounding_largest(p->in[k].value, p->in[k].count));
    return largest;
}

/* How many elements are equal to one, itself included. */
static long equals_of(const PointInput *in, long x) {
    long count = 0;
    for (long i = 0; i < in->stored; i++) count += in->value[i] == in->value[x];
    return count;
}

/* Whether the slope of coordinate j is the same nearby, and an entry is off by more than the
 * part `least`. */
static bool is_wrong(CheckRun *run, const Entries *e, long j, double least) {
    const double part = 0.01; /* of the largest slope or error, up to which slopes are the same */
    long x = check_entries_element(e, j);
    double far = step, largest = 0;
    bool may_overflow = least > 0 && largest_input(run->point) > 50;
    bool wrong = false;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double size = fabs(entry->numeric), off = fabs(entry->analytic - entry->numeric);
        if (!isfinite(entry->analytic) && (may_overflow || is_idle(e))) continue;
        if (isfinite(size)) largest = fmax(largest, size);
        if (isfinite(off)) largest = fmax(largest, off);
        wrong |= entry->state == ENTRY_WRONG && isfinite(size) &&
                 !(off <= fmax(least * fmax(1, size), 64 * SWEEP_TRUST * entry->estimate));
    }
    if (!wrong) return false;
    for (int which = 0; which < NEARBY; which++) {
        ask_nearby(run, e->input, x, far, which);
        ask_nearby(run, e->input, x, -far, which);
    }
    check_run_all(run, NULL);
    for (long q = 0; q < e->cotangents; q++)
        for (int which = 0; which < NEARBY; which++) {
            const Entry *entry = &e->entry[q * e->coordinates + j];
            double change = fabs(slope_at(run, e, q, which, 2 * far) - entry->numeric);
            double off = fabs(entry->analytic - entry->numeric),
                   allowed = part * (largest > 0 ? largest : 1);
            if (entry->state == ENTRY_WRONG && isfinite(off)) allowed = fmin(allowed, off / 2);
            if (!(change <= allowed)) return false;
        }
    return true;
}

/* Whether a number of coordinate j lies clearly outside of the one-sided derivatives of an
 * output at a kink. Of more than two equal elements those between the largest and the smallest
 * have another derivative, as of the median. */
static bool is_off_kink(const CheckRun *run, const Entries *e, long j) {
    const double part = 0.05; /* a leaky slope of 0.01 may be taken as 0 */
    if (!e->whole || equals_of(&run->point->in[e->input], check_entries_element(e, j)) > 2)
        return false;
    for (long q = 1; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double low = fmin(entry->below, entry->above), high = fmax(entry->below, entry->above);
        double room = part * fmax(fabs(low), fabs(high)) + 64 * SWEEP_TRUST * entry->estimate;
        if (entry->state != ENTRY_WRONG || !entry->on_kink || !isfinite(entry->analytic)) continue;
        if (entry->analytic < low - room || entry->analytic > high + room) return true;
    }
    return false;
}

void check_smooth_excuse(CheckRun *differences, Entries *e, double least) {
    for (long j = 0; j < e->coordinates; j++)
        if (e->state[j] == ENTRY_WRONG && !is_off_kink(differences, e, j) &&
            !is_wrong(differences, e, j, least)) {
            e->state[j] = ENTRY_UNCLEAR;
            e->doubt[j] = DOUBT_KINK;
        }
}
