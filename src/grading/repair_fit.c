#include "grading/repair_fit.h"
#include "base/clock.h"
#include <math.h>
#include <string.h>

/* Most divisors, most factors that are the same in all runs, values in all their forms, and factors of a product in which one of
 * them may be a count, or 1 - v or the like. */
enum { MOST_BELOW = 3, MOST_FIXED = 2, MOST_COLUMNS = REPAIR_FORMS * POOL, MOST_WITH_RARE = 3 };

/* A value in one of its forms, over all runs. */
typedef struct Column {
    int value, form; /* number in the pool, from 1 */
    int grade;       /* of the value (repair_sites.h) */
    bool fixed;      /* the same in all runs */
    bool rare;       /* one of them is enough */
    int feed; /* 1 + its number among the fields that change with what is added; 0: it is none of these */
    double of[SITE_RUNS];
} Column;

typedef struct Fit {
    const Products *p;
    const Site *s;
    long runs;            /* and as many more, with zeros, as make a multiple of 4 */
    int order[SITE_SUMS]; /* of the sums: the one that is known best goes first */
    double need[SITE_SUMS];
    TrialResult *to;
    long found, room;
    int columns;
    Column *column; /* sums go last */
    const Column *chosen[REPAIR_VALUES];
    double product[REPAIR_VALUES][SITE_RUNS]; /* of the first, of the first two, … */
} Fit;

/* Whether two are the same but for rounding. */
static bool are_same(const Column *a, const Column *b, long runs) {
    for (long i = 0; i < runs; i++)
        if (!(fabs(a->of[i] - b->of[i]) <= 1e-13 * fabs(a->of[i]))) return false;
    return true;
}

/* A number that is fixed may have the value of another by accident. */
static void add_column(Fit *f, int value, int form, bool rare) {
    const Site *s = f->s;
    Column *c = &f->column[f->columns];
    *c = (Column){.value = value, .form = form, .grade = s->grade[value], .fixed = true, .rare = rare};
    for (int k = 0; k < s->feeds; k++)
        if (s->feed_field[k] == value) c->feed = 1 + k;
    if (c->feed && (f->p->kind != FIT_ADDED || form != FORM_ITSELF)) return;
    double largest = 0;
    for (long i = 0; i < s->runs; i++) {
        double v = s->record[i * s->fields + value];
        c->of[i] = REPAIR_FORMED(form, v);
        if (!isfinite(c->of[i])) return;
        largest = fmax(largest, fabs(c->of[i]));
        c->fixed &= c->of[i] == c->of[0];
    }
    bool one = c->fixed && c->of[0] == 1; /* it changes nothing */
    if (!(largest > 0 && largest < 1e100) || one) return;
    for (int k = 0; k < f->columns && (form > FORM_BELOW || !c->fixed); k++)
        if (are_same(&f->column[k], c, s->runs)) return;
    f->columns++;
}

/* Whether a factor is meant in this form. Where something is known of it, what divides and what is a sum of its own is the same
 * whatever the cotangent is. */
static bool has_form(const Fit *f, int k, int form) {
    int grade = f->s->grade[f->p->factor[k]];
    FactorKind is = f->p->is[k];
    if (form == FORM_ITSELF) return true;
    if (grade == 1) return false;
    if (form == FORM_BELOW) return is != FACTOR_CONDITION;
    return is == FACTOR_NUMBER || (form == FORM_REST && is == FACTOR_CONDITION);
}

static void add_columns(Fit *f) {
    const Products *p = f->p;
    for (int rare = 0; rare <= (p->degree <= MOST_WITH_RARE); rare++)
        for (int form = 0; form < REPAIR_FORMS; form++)
            for (int k = 0; k < p->factors; k++) {
                bool readable = f->s->readable >> (p->factor[k] - 1) & 1;
                if ((form > FORM_BELOW || p->is[k] == FACTOR_COUNT) == rare && readable &&
                    has_form(f, k, form))
                    add_column(f, p->factor[k], form, rare);
            }
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
        r->trial.value[k] = f->chosen[k]->value, r->trial.form[k] = f->chosen[k]->form;
    }
}

/* Whether what is added in each run is what all sums need. */
static bool is_needed(const Fit *f, const double *added) {
    const Site *s = f->s;
    for (int k = 0; k < SITE_SUMS; k++) {
        int q = f->order[k];
        double missing = f->need[q] - dot(s->response[q], added, f->runs);
        if (!(fabs(missing) <= 10 * s->allowed[q])) return false;
    }
    return true;
}

/* The same of a product with a factor that changes with what is added before: each run's is known when those before it are.
 * others: the product of the other factors. */
static void consider_fed(Fit *f, const double *others, const Column *fed) {
    double added[SITE_RUNS] = {0};
    for (int amount = 1; amount >= -1; amount -= 2) {
        for (long i = 0; i < f->s->runs; i++) {
            double value = fed->of[i];
            for (long k = 0; k < i; k++) value += f->s->feed[fed->feed - 1][i][k] * added[k];
            added[i] = amount * others[i] * value;
        }
        if (f->found < f->room && is_needed(f, added)) keep(f, amount);
    }
}

/* Whether the product, with some amount, is what all sums need. first: the first sum's response to it. */
static void consider(Fit *f, const double *before, const double *column, double first) {
    double amount = trial_amount(f->need[f->order[0]] / first), product[SITE_RUNS];
    if (isnan(amount)) return;
    for (long i = 0; i < f->runs; i++) product[i] = amount * before[i] * column[i];
    if (f->found < f->room && is_needed(f, product)) keep(f, amount);
}

/* Whether a product of those that are chosen, `count` of them, and this one may be meant: something over itself is not, nor what
 * is not in proportion to the cotangent as what is missing is. */
static bool may_join(const Fit *f, int count, const Column *column) {
    int below = column->form == FORM_BELOW, fixed = column->fixed, rare = column->rare;
    int grade = column->grade == 1, unknown = column->grade == -1, fed = column->feed != 0;
    for (int n = 0; n < count; n++) {
        const Column *other = f->chosen[n];
        if (other->value == column->value && other->form + column->form == FORM_BELOW) return false;
        below += other->form == FORM_BELOW, fixed += other->fixed, rare += other->rare;
        grade += other->grade == 1, unknown += other->grade == -1;
        fed += other->feed != 0;
    }
    bool last = count + 1 == f->p->degree, fits = grade <= 1 && (f->p->grade != 0 || grade == 0);
    if (last && f->p->grade >= 0) fits &= unknown || grade == f->p->grade;
    return fits && below <= MOST_BELOW && fixed <= MOST_FIXED && rare <= 1 && fed <= 1;
}

/* Products of those that are chosen, `count` of them, and of columns from `from` on. fed: NULL, or one of them that changes with what
 * is added, which is not in the product `before`. */
static void extend(Fit *f, const double *before, int count, int from, const Column *fed) {
    double weighted[SITE_RUNS];
    bool last = count + 1 == f->p->degree;
    if (clock_seconds() > f->p->until) return;
    for (long i = 0; last && i < f->runs; i++) weighted[i] = f->s->response[f->order[0]][i] * before[i];
    for (int k = from; k < f->columns && f->found < f->room; k++) {
        const Column *c = &f->column[k];
        if (!may_join(f, count, c)) continue;
        f->chosen[count] = c;
        if (last && !fed && !c->feed) {
            consider(f, before, c->of, dot(weighted, c->of, f->runs));
            continue;
        }
        for (long i = 0; i < f->runs; i++) f->product[count][i] = before[i] * (c->feed ? 1 : c->of[i]);
        if (last)
            consider_fed(f, f->product[count], c->feed ? c : fed);
        else
            extend(f, f->product[count], count + 1, k, c->feed ? c : fed);
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
    Column column[MOST_COLUMNS];
    Fit f = {.p = p, .s = s, .to = to, .room = room, .column = column};
    double start[SITE_RUNS] = {0};
    if (!s->runs || !take_need(&f)) return 0;
    f.runs = (s->runs + 3) / 4 * 4;
    for (long i = 0; i < s->runs; i++) start[i] = p->kind == FIT_TIMES ? s->record[i * s->fields] : 1;
    add_columns(&f);
    extend(&f, start, 0, 0, NULL);
    return f.found;
}
