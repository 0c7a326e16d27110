#include "grading/repair_fit.h"
#include "base/clock.h"
#include <math.h>
#include <string.h>

/* Most divisors, most factors that are the same in all runs, and values with their reciprocals. */
enum { MOST_BELOW = 3, MOST_FIXED = 2, MOST_COLUMNS = 2 * POOL };

/* Values and their reciprocals, each over all runs. */
typedef struct Columns {
    int count;
    int value[MOST_COLUMNS];                       /* number in the pool, from 1 */
    bool below[MOST_COLUMNS], fixed[MOST_COLUMNS]; /* fixed: the same in all runs */
    double of[MOST_COLUMNS][SITE_RUNS];
} Columns;

typedef struct Fit {
    const Products *p;
    const Site *s;
    long runs;            /* and as many more, with zeros, as make a multiple of 4 */
    int order[SITE_SUMS]; /* of the sums: the one that is known best goes first */
    double need[SITE_SUMS];
    TrialResult *to;
    long found, room;
    Columns columns;
    int chosen[REPAIR_VALUES];
    double product[REPAIR_VALUES][SITE_RUNS]; /* of the first, of the first two, … */
} Fit;

static void add_column(Columns *c, const Site *s, int value, bool below) {
    double *to = c->of[c->count], largest = 0;
    for (long i = 0; i < s->runs; i++) {
        double v = s->record[i * s->fields + value];
        to[i] = below ? 1 / v : v;
        if (!isfinite(to[i])) return;
        largest = fmax(largest, fabs(to[i]));
    }
    if (!(largest > 0 && largest < 1e100)) return;
    bool fixed = true;
    for (long i = 1; i < s->runs; i++) fixed &= to[i] == to[0];
    for (int k = 0; k < c->count && !fixed; k++) /* another name of the same */
        if (memcmp(c->of[k], to, (size_t)s->runs * sizeof *to) == 0) return;
    c->value[c->count] = value, c->below[c->count] = below, c->fixed[c->count] = fixed;
    c->count++;
}

/* n: a multiple of 4; in four sums, as many as add at a time. */
static double dot(const double *a, const double *b, long n) {
    double sum[4] = {0};
    for (long i = 0; i < n; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void keep(Fit *f, double amount) {
    TrialResult *r = &f->to[f->found++];
    *r = (TrialResult){.trial = f->s->trial};
    r->trial.amount = f->p->kind == FIT_TIMES ? amount - 1 : amount;
    r->trial.instead = f->p->kind == FIT_INSTEAD;
    for (int k = 0; k < f->p->degree; k++) {
        int column = f->chosen[k];
        r->trial.value[k] = f->columns.value[column], r->trial.below[k] = f->columns.below[column];
    }
}

/* Whether the product, with some amount, is what all sums need. first: the first sum's response to it. */
static void consider(Fit *f, const double *before, const double *column, double first) {
    const Site *s = f->s;
    double amount = trial_amount(f->need[f->order[0]] / first), product[SITE_RUNS];
    if (isnan(amount)) return;
    for (long i = 0; i < f->runs; i++) product[i] = before[i] * column[i];
    for (int k = 1; k < SITE_SUMS; k++) {
        int q = f->order[k];
        double missing = f->need[q] - amount * dot(s->response[q], product, f->runs);
        if (!(fabs(missing) <= 10 * s->allowed[q])) return;
    }
    if (f->found < f->room) keep(f, amount);
}

static bool may_join(const Fit *f, int count, int column) {
    const Columns *c = &f->columns;
    int below = c->below[column], fixed = c->fixed[column];
    for (int n = 0; n < count; n++) {
        int other = f->chosen[n];
        if (c->value[other] == c->value[column] && c->below[other] != c->below[column]) return false;
        below += c->below[other], fixed += c->fixed[other];
    }
    return below <= MOST_BELOW && fixed <= MOST_FIXED;
}

/* Products of those that are chosen, `count` of them, and of columns from `from` on. */
static void extend(Fit *f, const double *before, int count, int from) {
    const Columns *c = &f->columns;
    double weighted[SITE_RUNS];
    bool last = count + 1 == f->p->degree;
    if (clock_seconds() > f->p->until) return;
    for (long i = 0; last && i < f->runs; i++) weighted[i] = f->s->response[f->order[0]][i] * before[i];
    for (int k = from; k < c->count && f->found < f->room; k++) {
        if (!may_join(f, count, k)) continue;
        f->chosen[count] = k;
        if (last) {
            consider(f, before, c->of[k], dot(weighted, c->of[k], f->runs));
            continue;
        }
        for (long i = 0; i < f->runs; i++) f->product[count][i] = before[i] * c->of[k][i];
        extend(f, f->product[count], count + 1, k);
    }
}

/* What the sums need where a term stands that goes, and which of them is known best. False: they need nothing. */
static bool take_need(Fit *f) {
    const Site *s = f->s;
    double best = 0;
    for (int q = 0; q < SITE_SUMS; q++) {
        f->need[q] = s->need[q], f->order[q] = q;
        for (long i = 0; i < s->runs && f->p->kind != FIT_ADDED; i++)
            f->need[q] += s->response[q][i] * s->record[i * s->fields];
        double known = fabs(f->need[q]) / s->allowed[q];
        if (known > best) best = known, f->order[q] = f->order[0], f->order[0] = q;
    }
    return best > 20;
}

long fit_products(const Products *p, TrialResult *to, long room) {
    const Site *s = p->site;
    Fit f = {.p = p, .s = s, .to = to, .room = room};
    double start[SITE_RUNS] = {0};
    if (!s->runs || !take_need(&f)) return 0;
    f.runs = (s->runs + 3) / 4 * 4;
    for (long i = 0; i < s->runs; i++) start[i] = p->kind == FIT_TIMES ? s->record[i * s->fields] : 1;
    for (int below = 0; below < 2; below++)
        for (int k = 0; k < p->factors; k++)
            if (s->readable >> (p->factor[k] - 1) & 1) add_column(&f.columns, s, p->factor[k], below);
    extend(&f, start, 0, 0);
    return f.found;
}
