#include "grading/repair_trials.h"
#include "base/system.h"
#include "grading/repair_children.h"
#include <math.h>
#include <string.h>
#include <sys/mman.h>

/* Nobody writes sevenths: they are one constant of the file's over another, most often. */
double trial_amount(double amount) {
    static const int below[] = {1, 2, 3, 4, 5, 6, 8, 10, 12};
    for (size_t i = 0; i < sizeof below / sizeof *below && isfinite(amount); i++) {
        double nearest = round(amount * below[i]) / below[i];
        if (nearest != 0 && fabs(amount - nearest) <= 1e-6 * fabs(nearest)) return nearest;
    }
    return NAN;
}

/* How much of what an amount of 1 changes would make numbers [from, to) right; NaN: none does. */
static double amount_for(const TrialRun *r, long from, long to) {
    const TrialPlace *p = r->place;
    double both = 0, square = 0;
    for (long i = from; i < to; i++) {
        double change = r->found[i] - p->found[i];
        if (isnan(p->need[i])) continue;
        both += change * (p->need[i] - p->found[i]), square += change * change;
    }
    double amount = both / square;
    for (long i = from; i < to && isfinite(amount); i++)
        if (!isnan(p->need[i]) &&
            !(fabs(p->found[i] + amount * (r->found[i] - p->found[i]) - p->need[i]) <= 10 * p->allowed[i]))
            amount = NAN;
    return amount;
}

/* The same for the first of the wrong gradients that any amount makes right. */
static double find_amount(const TrialRun *r) {
    const TrialPlace *p = r->place;
    double amount = NAN;
    for (long k = 0, from = 0; k < CHECK_INPUTS && isnan(amount); from = p->end[k++])
        if (p->wrong >> k & 1) amount = amount_for(r, from, p->end[k]);
    return trial_amount(amount);
}

/* What the trial still mends; 0 where it makes something wrong. */
static unsigned judge(const TrialPlace *p, const double *found, unsigned mended) {
    for (long k = 0, from = 0; k < CHECK_INPUTS; from = p->end[k++]) {
        bool right = trial_place_agrees(p, found, from, p->end[k]), wrong = p->wrong >> k & 1;
        if (!right && !wrong) return 0;
        if (!right) mended &= ~(1U << k);
    }
    return mended;
}

/* An amount that is to be found is most often 1 or -1, also inside of what is not linear in it, where none can be computed. */
static void try_one(const TrialWork *w, TrialRun *r, long i) {
    TrialResult *t = (TrialResult *)w->items + i;
    bool same = trial_run(r, &t->trial);
    unsigned mended = same ? judge(r->place, r->found, t->mended) : 0;
    if (same && t->open && !mended) {
        double amount = find_amount(r);
        t->trial.amount = isnan(amount) ? -1 : amount;
        mended = trial_run(r, &t->trial) ? judge(r->place, r->found, t->mended) : 0;
    }
    t->open = false;
    t->mended = mended;
}

static RepairTrial *trial_of(const TrialWork *w, long i) {
    return &((TrialResult *)w->items)[i].trial;
}

static void drop(const TrialWork *w, long i) {
    ((TrialResult *)w->items)[i].mended = 0;
}

long trials_run(const TrialPlace *p, TrialResult *trial, long count, int at_once) {
    size_t bytes = (size_t)count * sizeof *trial;
    TrialResult *shared = system_pages(bytes, true);
    long kept = 0;
    if (!shared) return 0;
    memcpy(shared, trial, bytes);
    TrialWork w = {
        .place = p, .count = count, .items = shared, .trial = trial_of, .run = try_one, .drop = drop};
    trial_work(&w, at_once);
    for (long i = 0; i < count; i++)
        if (shared[i].mended) trial[kept++] = shared[i];
    munmap(shared, bytes);
    return kept;
}
