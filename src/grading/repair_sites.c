#include "grading/repair_sites.h"
#include "grading/repair_children.h"
#include <math.h>
#include <string.h>

static bool take_down(TrialRun *r, Site *s, uint64_t reads) {
    RepairTrial t = s->trial;
    t.only = -1, t.reads = reads;
    t.record = s->record, t.room = SITE_RUNS, t.fields = s->fields;
    bool same = trial_run(r, &t);
    s->runs = same && r->set->ran <= SITE_RUNS ? r->set->ran : 0;
    return s->runs > 0;
}

/* Takes down what is at hand, and how often the piece runs. Where reading all ends the process, each is read alone. */
static bool record(TrialRun *r, Site *s) {
    for (; s->reads && s->reads < s->fields; s->reads++)
        if (s->readable >> (s->reads - 1) & 1) take_down(r, s, 1ULL << (s->reads - 1));
    return take_down(r, s, s->readable);
}

static bool read_again(const TrialWork *w, long i) {
    Site *s = (Site *)w->items + i;
    if (s->reads >= s->fields) return false;
    if (s->reads) s->readable &= ~(1ULL << (s->reads - 1));
    s->reads++;
    return true;
}

/* Weights of the sums: each gradient in units of what it may differ by. */
static double *weights(TrialRun *r) {
    const TrialPlace *p = r->place;
    size_t count = (size_t)p->gradients;
    double *weight = arena_alloc(&r->arena, SITE_SUMS * count * sizeof *weight);
    real *random = arena_alloc(&r->arena, count * sizeof *random);
    for (int q = 0; q < SITE_SUMS; q++) {
        check_run_cotangent(random, p->gradients, p->seed, 1 + (uint64_t)q);
        for (long i = 0; i < p->gradients; i++)
            weight[q * p->gradients + i] = isnan(p->need[i]) ? 0 : (double)random[i] / p->allowed[i];
    }
    return weight;
}

/* Whether the pool's values that were taken down change with what is added in the first run. */
static bool feeds_back(TrialRun *r, const Site *s) {
    RepairTrial t = s->trial;
    size_t bytes = (size_t)(s->runs * s->fields) * sizeof *t.record;
    t.only = 1, t.amount = 1, t.reads = s->readable;
    t.record = arena_alloc(&r->arena, bytes), t.room = s->runs, t.fields = s->fields;
    memset(t.record, 0, bytes);
    trial_run(r, &t);
    return memcmp(t.record, s->record, bytes) != 0;
}

static void measure(const TrialWork *w, TrialRun *r, long i) {
    const TrialPlace *p = r->place;
    Site *s = (Site *)w->items + i;
    bool changes[CHECK_INPUTS] = {false};
    bool sibling = i > 0 && s[-1].trial.piece == s->trial.piece && s[-1].reads;
    if (sibling && !s->reads) s->readable = s[-1].readable, s->reads = (int)s->fields;
    if (!record(r, s)) return;
    const long runs = s->runs;
    s->feeds_back = feeds_back(r, s);
    const double *weight = weights(r);
    s->runs = 0; /* until all is known */
    for (long run = 0; run < runs; run++) {
        RepairTrial t = s->trial;
        t.only = 1 + run, t.amount = 1;
        if (!trial_run(r, &t)) return;
        for (int q = 0; q < SITE_SUMS; q++) s->response[q][run] = 0;
        for (long k = 0, g = 0; k < CHECK_INPUTS; k++)
            for (; g < p->end[k]; g++) {
                double change = r->found[g] - p->found[g];
                changes[k] |= !(fabs(change) <= p->allowed[g] * 1e-6);
                for (int q = 0; q < SITE_SUMS; q++)
                    s->response[q][run] += isnan(p->need[g]) ? 0 : weight[q * p->gradients + g] * change;
            }
    }
    for (int q = 0; q < SITE_SUMS; q++) s->need[q] = s->allowed[q] = 0;
    for (long k = 0, g = 0; k < CHECK_INPUTS; k++)
        for (; g < p->end[k]; g++)
            for (int q = 0; q < SITE_SUMS && changes[k]; q++) {
                if (isnan(p->need[g])) continue;
                s->need[q] += weight[q * p->gradients + g] * (p->need[g] - p->found[g]);
                s->allowed[q] += fabs(weight[q * p->gradients + g]) * p->allowed[g];
            }
    s->runs = runs;
}

static RepairTrial *trial_of(const TrialWork *w, long i) {
    return &((Site *)w->items)[i].trial;
}

static void drop(const TrialWork *w, long i) {
    ((Site *)w->items)[i].runs = 0;
}

void sites_measure(const TrialPlace *p, Site *site, long count, int at_once) {
    TrialWork w = {.place = p,
                   .count = count,
                   .items = site,
                   .trial = trial_of,
                   .run = measure,
                   .again = read_again,
                   .drop = drop};
    trial_work(&w, at_once);
}
