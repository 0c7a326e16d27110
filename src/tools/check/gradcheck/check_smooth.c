/* Decides whether an added point can accuse a gradient.
 *
 * The checker adds points to those of a case: larger values, zeros, the ends of a range. There a
 * right file may overflow, leave its domain, or meet a tie. A gradient is wrong at such a point
 * only where forward is finite and has the same slope nearby, or on a kink. */
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

/* Coordinates whose slope nearby is looked at. The others share the fate of these. */
enum { LOOKS = 32 };

bool check_smooth_outputs(const CheckRun *run) {
    for (long i = 0; i < run->outputs; i++)
        if (!isfinite(run->y->data[i])) return false;
    return true;
}

/* Requests a run at a point nearby, with one element moved by `far` more. */
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

/* Whether a gradient need not be a number. Backward may overflow at large values where forward does
 * not, and 0/0 is no mistake where no output depends on the input, as on a row of one element less
 * its mean. */
static bool need_no_number(const CheckPoint *p, const Entries *e, double least) {
    double largest = 0;
    bool idle = true;
    for (int k = 0; k < p->inputs; k++)
        largest = fmax(largest, rounding_largest(p->in[k].value, p->in[k].count));
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        idle &= !(fabs(e->entry[i].numeric) > SWEEP_TRUST * e->entry[i].estimate);
    return idle || (least > 0 && largest > 50);
}

/* Whether an entry of coordinate j is off by more than the part `least`. *largest: its largest slope,
 * or an error that is smaller than 1: a gradient of 10¹² must not make all slopes nearby alike. */
static bool is_gross(const Entries *e, long j, bool may_be_none, double least, double *largest) {
    bool gross = false;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double size = fabs(entry->numeric), off = fabs(entry->analytic - entry->numeric);
        if (!isfinite(entry->analytic) && may_be_none) continue;
        if (isfinite(size)) *largest = fmax(*largest, size);
        if (isfinite(off)) *largest = fmax(*largest, fmin(off, 1));
        gross |= entry->state == ENTRY_WRONG && isfinite(size) && !(off <= least * fmax(1, size));
    }
    return gross;
}

/* Whether the slopes of coordinate j are the same nearby, up to a part of the largest. */
static bool is_smooth(CheckRun *run, const Entries *e, long j, double largest) {
    const double allowed = 0.01 * (largest > 0 ? largest : 1);
    for (int which = 0; which < NEARBY; which++) {
        ask_nearby(run, e->input, check_entries_element(e, j), step, which);
        ask_nearby(run, e->input, check_entries_element(e, j), -step, which);
    }
    check_run_all(run, NULL);
    for (long q = 0; q < e->cotangents; q++)
        for (int which = 0; which < NEARBY; which++) {
            double numeric = e->entry[q * e->coordinates + j].numeric;
            if (!(fabs(slope_at(run, e, q, which) - numeric) <= allowed)) return false;
        }
    return true;
}

/* Whether coordinate j lies on a kink of an output; *off: a number of it clearly lies outside of the
 * one-sided derivatives. */
static bool is_on_kink(const Entries *e, long j, bool *off) {
    const double part = 0.05; /* a leaky slope of 0.01 may be taken as 0 */
    bool kink = false;
    for (long q = 1; q < (e->whole ? e->cotangents : 0); q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double low = fmin(entry->below, entry->above), high = fmax(entry->below, entry->above);
        double room = part * fmax(fabs(low), fabs(high));
        if (entry->state != ENTRY_WRONG || !entry->on_kink || !isfinite(entry->analytic)) continue;
        kink = true;
        *off |= entry->analytic < low - room || entry->analytic > high + room;
    }
    return kink;
}

void check_smooth_excuse(CheckRun *differences, Entries *e, double least) {
    bool wrong = false, may_be_none = need_no_number(differences->point, e, least);
    int looks = 0;
    for (long j = 0; j < e->coordinates; j++) {
        double largest = 0;
        bool off = false, kink = is_on_kink(e, j, &off);
        if (e->state[j] != ENTRY_WRONG || off) continue;
        if (is_gross(e, j, may_be_none, least, &largest)) {
            if (looks++ < LOOKS ? is_smooth(differences, e, j, largest) : wrong) {
                wrong = true;
                continue;
            }
        }
        e->state[j] = ENTRY_UNCLEAR;
        e->doubt[j] = kink ? DOUBT_KINK : DOUBT_NOISE;
    }
}
