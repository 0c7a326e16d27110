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

/* What is at hand in another run, of as many runs of the piece. */
static double record_again[SITE_RUNS * (1 + REPAIR_READS)];

/* A run in which 1 is added the `only`th time; -1: never. */
static bool run_again(TrialRun *r, const Site *s, long runs, long only) {
    RepairTrial t = s->trial;
    t.only = only, t.amount = 1, t.reads = s->readable;
    t.record = record_again, t.room = runs, t.fields = s->fields;
    memset(record_again, 0, (size_t)(runs * s->fields) * sizeof *record_again);
    return trial_run(r, &t);
}

/* A power of two times the cotangent is as much times what is in proportion to it, to the bit. */
static void find_grades(TrialRun *r, Site *s) {
    const TrialPlace *p = r->place;
    real *twice = arena_alloc(&r->arena, (size_t)p->outputs * sizeof *twice);
    for (long i = 0; i < p->outputs; i++) twice[i] = 2 * p->dy[i];
    r->dy = twice;
    run_again(r, s, s->runs, -1);
    r->dy = p->dy;
    for (long f = 0; f < s->fields; f++) {
        bool same = true, doubled = true, any = false;
        for (long i = f; i < s->runs * s->fields; i += s->fields) {
            double v = s->record[i];
            any |= v != 0, same &= record_again[i] == v, doubled &= record_again[i] == 2 * v;
        }
        s->grade[f] = !any ? -1 : same ? 0 : doubled ? 1 : -1;
    }
}

/* By how much the fields have changed in the last run, in which 1 was added in run `only`. */
static void take_feeds(Site *s, long runs, long only) {
    for (int f = 1; f < s->fields && runs <= FEED_RUNS; f++) {
        int k = 0;
        while (k < s->feeds && s->feed_field[k] != f) k++;
        for (long i = only + 1; i < runs && k < SITE_FEEDS; i++) {
            double change = record_again[i * s->fields + f] - s->record[i * s->fields + f];
            if (change != 0 && k == s->feeds) s->feed_field[s->feeds++] = f;
            if (k < s->feeds) s->feed[k][i][only] = change;
        }
    }
}

static void measure(const TrialWork *w, TrialRun *r, long i) {
    const TrialPlace *p = r->place;
    Site *s = (Site *)w->items + i;
    bool changes[CHECK_INPUTS] = {false};
    bool sibling = i > 0 && s[-1].trial.piece == s->trial.piece && s[-1].reads;
    if (sibling && !s->reads) s->readable = s[-1].readable, s->reads = (int)s->fields;
    if (!record(r, s)) return;
    const long runs = s->runs;
    find_grades(r, s);
    const double *weight = weights(r);
    s->runs = 0; /* until all is known */
    for (long run = 0; run < runs; run++) {
        if (!run_again(r, s, runs, 1 + run)) return;
        take_feeds(s, runs, run);
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
