/* Decides whether a point can accuse a gradient.
 *
 * A slope that the function has as near as you like is right: in a sort of
 * three equal numbers the middle one moves its output only after another has
 * moved. The checker adds points to those of a case: larger values, zeros, the
 * ends of a range. There a right file may also overflow, leave its domain, or
 * end an iteration early. */
#include "base/random.h"
#include "check/gradcheck/entries.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include <math.h>

/* Points nearby, and their distance relative to a value or to 1. At some the element that is moved
 * lies above those that are equal to it at the point, at others below or among them. */
enum { NEARBY = 16 };
static const double distance = sizeof(real) == sizeof(double) ? 1e-5 : 1e-2;
static const double step = sizeof(real) == sizeof(double) ? 1e-7 : 1e-3;

bool check_smooth_outputs(const CheckRun *run) {
    for (long i = 0; i < run->outputs; i++)
        if (!isfinite(run->y->data[i])) return false;
    return true;
}

/* Requests a run at a point nearby, with one element moved by `far` more. near:
 * the part of the distance. */
static void ask_nearby(CheckRun *run, int input, long moved, double far, int which) {
    const CheckPoint *p = run->point;
    check_run_ask(run);
    for (int k = 0; k < p->inputs; k++) {
        uint64_t key = random_key(random_key(0x5300, (uint64_t)which), (uint64_t)k);
        long count = point_has_gradient(p, k) ? p->in[k].stored : 0;
        for (long i = 0; i < count; i++) {
            double x = (double)p->in[k].value[i], unit = distance * fmax(fabs(x), 1);
            double part = 0.5 + (double)random_uniform(key, 2 * (uint64_t)i);
            double by = random_bits(key, 2 * (uint64_t)i + 1) & 1 ? unit * part : -unit * part;
            if (k == input && i == moved) by = unit * (4.0 * which / (NEARBY - 1) - 2) + far;
            check_run_change(run, k, i, x + by);
        }
    }
}

/* The slope at a point nearby for cotangent q. NaN if an output is no number. */
static double slope_at(const CheckRun *run, const Entries *e, long q, int which) {
    const real *above = check_run_output(run, 2 * which);
    const real *below = check_run_output(run, 2 * which + 1);
    double slope = 0;
    for (long i = 0; i < e->outputs; i++)
        slope += (double)e->cotangent[q * e->outputs + i] * ((double)above[i] - (double)below[i]);
    return slope / (2 * step);
}

/* Points nearby tell one of these of a wrong entry, or of all of a coordinate. */
typedef enum Nearby {
    BETWEEN, /* it lies between slopes of points nearby */
    OPEN,    /* forward leaves its domain, or its slopes differ */
    SAME,    /* the slope is the same */
    WRONG,   /* the entry lies outside of the slopes of a kink; or the slopes of all are the same */
    NEARBY_STATES
} Nearby;

/* Takes the lowest and the highest slope nearby as the one-sided derivatives of an entry. A leaky
 * slope of 0.01 may be taken as 0. */
static Nearby look(const CheckRun *run, const Entries *e, long q, Entry *entry, double allowed) {
    const double part = 0.05;
    double low = INFINITY, high = -INFINITY;
    for (int which = 0; which < NEARBY; which++) {
        double slope = slope_at(run, e, q, which);
        if (isnan(slope)) return OPEN;
        low = fmin(low, slope);
        high = fmax(high, slope);
    }
    double room = part * fmax(fabs(low), fabs(high));
    bool kink = e->whole && q > 0 && entry->on_kink && isfinite(entry->analytic);
    entry->below = low;
    entry->above = high;
    if (low >= entry->numeric - allowed && high <= entry->numeric + allowed) return SAME;
    if (entry->analytic >= low - room && entry->analytic <= high + room) return BETWEEN;
    return kink ? WRONG : OPEN;
}

/* The size of the slopes of coordinate j is the largest, or an error that is smaller than 1: a
 * gradient of 10¹² must not make all slopes nearby alike. */
static Nearby look_nearby(CheckRun *run, const Entries *e, long j) {
    bool any[NEARBY_STATES] = {false};
    double largest = 0;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double off = fabs(entry->analytic - entry->numeric);
        if (isfinite(entry->numeric)) largest = fmax(largest, fabs(entry->numeric));
        if (isfinite(off)) largest = fmax(largest, fmin(off, 1));
    }
    for (int which = 0; which < NEARBY; which++) {
        ask_nearby(run, e->input, check_entries_element(e, j), step, which);
        ask_nearby(run, e->input, check_entries_element(e, j), -step, which);
    }
    check_run_all(run, NULL);
    for (long q = 0; q < e->cotangents; q++) {
        Entry *entry = &e->entry[q * e->coordinates + j];
        if (entry->state != ENTRY_WRONG) continue;
        any[look(run, e, q, entry, 0.01 * (largest > 0 ? largest : 1))] = true;
    }
    if (any[WRONG] || !(any[BETWEEN] || any[OPEN])) return WRONG;
    return any[OPEN] || any[SAME] ? OPEN : BETWEEN;
}

/* Whether two more elements are equal to that of coordinate j. */
static bool is_tied(const PointInput *in, long element) {
    enum { TWO_MORE = 3 };
    int equal = 0;
    for (long i = 0; i < in->stored; i++) equal += in->value[i] == in->value[element];
    return equal >= TWO_MORE;
}

/* Whether values are so large that backward may overflow where forward does
 * not, or an iteration ends early. */
static bool is_far(const CheckPoint *p) {
    double largest = 0;
    for (int k = 0; k < p->inputs; k++)
        largest = fmax(largest, rounding_largest(p->in[k].value, p->in[k].count));
    return largest > 50;
}

/* Whether no output depends on the input, as on a row of one element less its
 * mean: 0/0 is no mistake there. */
static bool is_idle(const Entries *e) {
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        if (fabs(e->entry[i].numeric) > SWEEP_TRUST * e->entry[i].estimate) return false;
    return true;
}

/* Changes the state of all wrong entries of a coordinate, and its own. */
static void excuse(Entries *e, long j, EntryState to, Doubt doubt) {
    e->state[j] = to;
    e->doubt[j] = doubt;
    for (long q = 0; q < e->cotangents; q++) {
        Entry *entry = &e->entry[q * e->coordinates + j];
        if (entry->state != ENTRY_WRONG) continue;
        entry->state = to;
        if (to != ENTRY_KINK) continue;
        entry->numeric = entry->analytic;
        entry->error = 0;
    }
}

/* Whether no wrong entry of a coordinate counts at an added point. */
static bool is_excused(const Entries *e, long j, bool idle, bool far) {
    const double least = far ? 1e-5 : 0;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double size = fabs(entry->numeric), off = fabs(entry->analytic - entry->numeric);
        if (entry->state != ENTRY_WRONG || !isfinite(size)) continue;
        if (isfinite(off) ? off > least * fmax(1, size) : !idle && !far) return false;
    }
    return true;
}

void check_smooth_excuse(CheckRun *differences, Entries *e, bool doubted, bool added) {
    const CheckPoint *p = differences->point;
    bool far = added && is_far(p), idle = doubted && is_idle(e);
    for (long j = 0; j < e->coordinates; j++) {
        if (e->state[j] != ENTRY_WRONG) continue;
        bool excused = doubted && is_excused(e, j, idle, far);
        if (!doubted && (e->steps || !is_tied(&p->in[e->input], check_entries_element(e, j))))
            return;
        Nearby nearby = excused ? OPEN : look_nearby(differences, e, j);
        if (nearby == WRONG || (nearby == OPEN && !doubted)) return; /* one that is wrong decides */
        if (doubted)
            excuse(e, j, ENTRY_UNCLEAR, DOUBT_NOISE);
        else
            excuse(e, j, ENTRY_KINK, DOUBT_NONE);
    }
}
