/* Decides whether an added point can accuse a gradient.
 *
 * The checker adds points to those of a case: larger values, zeros, the ends of a range. There a right file
 * may overflow, leave its domain, or meet a tie. A gradient is wrong at such a point only where forward is
 * finite, far from overflow, and has the same slope nearby. */
#include "base/random.h"
#include "check/gradcheck/entries.h"
#include "check/gradcheck/numeric_derivative.h"
#include <math.h>

/* Number of points nearby, and their distance relative to a value or to 1. */
enum { NEARBY = 4 };
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
        uint64_t key = random_key(random_key(0x5300, (uint64_t)(which / 2)), (uint64_t)k);
        for (long i = 0; point_has_gradient(p, k) && i < p->in[k].stored; i++) {
            double x = (double)p->in[k].value[i];
            double part = 0.5 + (double)random_uniform(key, 2 * (uint64_t)i);
            bool up = (random_bits(key, 2 * (uint64_t)i + 1) ^ (uint64_t)which) &
                      1; /* the next on the other side */
            double by = distance * size_of(x) * (up ? part : -part);
            check_run_change(run, k, i, x + by + (k == input && i == moved ? far : 0));
        }
    }
}

/* The sum of the outputs' differences, weighted by cotangent q. NaN if an output is no number. */
static double slope_at(const CheckRun *run, const Entries *e, long q, int which, double width) {
    const real *above = check_run_output(run, 2 * which), *below = check_run_output(run, 2 * which + 1);
    double slope = 0;
    for (long i = 0; i < e->outputs; i++)
        slope += (double)e->cotangent[q * e->outputs + i] * ((double)above[i] - (double)below[i]);
    return slope / width;
}

/* Whether no output depends on the input, as on a row of one element less its mean. 0/0 in backward is no mistake there. */
static bool is_idle(const Entries *e) {
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        if (fabs(e->entry[i].numeric) > SWEEP_TRUST * e->entry[i].estimate) return false;
    return true;
}

/* Whether the slope of coordinate j is the same nearby, and an entry is off by more than the part `least`. */
static bool is_wrong(CheckRun *run, const Entries *e, long j, double least) {
    const double part = 0.01; /* of the largest slope or error, up to which slopes are the same */
    long x = check_entries_element(e, j);
    double far = step * size_of((double)run->point->in[e->input].value[x]), largest = 0;
    bool wrong = false;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double size = fabs(entry->numeric), off = fabs(entry->analytic - entry->numeric);
        if (isnan(entry->analytic) && is_idle(e)) continue;
        if (isfinite(size)) largest = fmax(largest, size);
        if (isfinite(off)) largest = fmax(largest, off);
        wrong |= entry->state == ENTRY_WRONG && isfinite(size) &&
                 !(off <= fmax(least * fmax(1, size), 64 * SWEEP_TRUST * entry->estimate));
    }
    if (!wrong) return false;
    for (int which = 0; which < NEARBY; which++)
        ask_nearby(run, e->input, x, far, which), ask_nearby(run, e->input, x, -far, which);
    check_run_all(run, NULL);
    for (long q = 0; q < e->cotangents; q++)
        for (int which = 0; which < NEARBY; which++) {
            double off = slope_at(run, e, q, which, 2 * far) - e->entry[q * e->coordinates + j].numeric;
            if (!(fabs(off) <= part * (largest > 0 ? largest : 1))) return false;
        }
    return true;
}

void check_smooth_excuse(CheckRun *differences, Entries *e, double least) {
    for (long j = 0; j < e->coordinates; j++)
        if (e->state[j] == ENTRY_WRONG && !is_wrong(differences, e, j, least))
            e->state[j] = ENTRY_UNCLEAR, e->doubt[j] = DOUBT_KINK;
}
