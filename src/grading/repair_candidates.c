#include "grading/repair_candidates.h"
#include "base/system.h"
#include "grading/repair_fit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Most trials in one go, of which a site has no more than a few; most sites; and processes that look for products. */
enum { TRIALS = 40000, OF_SITE = 200, SITES = 1000, FITTERS = 2 };

static const Pool *pool_of(const Candidates *s, int edit) {
    return &s->edits->pool[s->edits->edit[edit].pool];
}

static void add_trial(Candidates *s, int edit, int one, int form, double amount) {
    const Edit *e = &s->edits->edit[edit];
    if (!s->trial) s->trial = malloc(TRIALS * sizeof *s->trial);
    if (!s->trial) error_no_memory("trials");
    if (s->trials == TRIALS) s->trials--;
    int piece = e->kind == EDIT_TEXT ? 0 : 1 + e->pool;
    RepairTrial t = {.edit = 1 + edit, .piece = piece, .value = {one}, .form = {form}, .amount = amount};
    s->trial[s->trials++] = (TrialResult){.trial = t, .mended = s->wrong};
}

/* Whether a value may stand where the edit is. */
static bool fits(const Edit *e, const Value *v) {
    bool number = type_is_number(v->type);
    bool integer = type_is_integer(v->type) && !v->condition;
    if (strcmp(v->text, e->part[0].text) == 0 && e->kind != EDIT_FACTOR && e->kind != EDIT_TERM) return false;
    switch (e->kind) {
    case EDIT_INDEX: return integer;
    case EDIT_VALUE: return number || (integer && e->literal);
    case EDIT_ARRAY:
        return v->type.base == e->type.base && v->type.depth == e->type.depth &&
               (e->type.constant || !v->type.constant);
    default: return number || integer;
    }
}

/* An amount of 1 is one to be found, where `open` says so. */
static void add_values(Candidates *s, int edit, bool divides, double amount, bool open) {
    long before = s->trials;
    const Edit *e = &s->edits->edit[edit];
    const Pool *pool = pool_of(s, edit);
    for (int v = 1; v <= pool->values; v++)
        for (int below = 0; fits(e, pool->value[v - 1]) && below <= divides; below++)
            add_trial(s, edit, v, below, amount);
    for (; before < s->trials; before++) s->trial[before].open = open;
}

static TrialResult *last(const Candidates *s) {
    return &s->trial[s->trials - 1];
}

/* A value, or its opposite, in a term's place. */
static void add_instead(Candidates *s, int edit) {
    long before = s->trials;
    add_values(s, edit, false, 1, true);
    for (; before < s->trials; before++) s->trial[before].trial.instead = 1;
}

static bool is_left_out(const Candidates *s, int edit) {
    const Edit *e = &s->edits->edit[edit];
    return s->left_out[edit] || (e->kind != EDIT_TEXT && s->left_out[s->edits->edits + e->pool]);
}

void candidates_simple(Candidates *s) {
    s->trials = 0;
    for (int i = 0; i < s->edits->edits; i++) {
        const Edit *e = &s->edits->edit[i];
        if (is_left_out(s, i)) continue;
        switch (e->kind) {
        case EDIT_TEXT:
            add_trial(s, i, 0, 0, 1);
            last(s)->open = strchr(e->part[0].text, '@') != NULL;
            break;
        case EDIT_ARRAY: add_values(s, i, false, 0, false); break;
        case EDIT_INDEX:
            for (int how = 1; how <= 3 && !e->literal; how++) add_values(s, i, false, how, false);
            /* fall through */
        case EDIT_VALUE:
            add_values(s, i, false, 0, false);
            if (e->kind == EDIT_VALUE && !e->literal) add_values(s, i, false, 1, true);
            add_trial(s, i, 0, 0, 1);
            add_trial(s, i, 0, 0, -1);
            if (e->kind == EDIT_VALUE) add_trial(s, i, 0, 0, 0), last(s)->trial.instead = 1;
            break;
        case EDIT_FACTOR:
            add_trial(s, i, 0, 0, 1);
            last(s)->open = true;
            add_trial(s, i, 0, 0, -2); /* which cannot be computed where a term feeds itself */
            add_trial(s, i, 0, 0, -0.5);
            add_values(s, i, true, 0, false);
            add_instead(s, i);
            break;
        case EDIT_TERM: add_values(s, i, true, 1, true); break;
        case EDIT_GUARD:
        case EDIT_ADDED: break;
        }
    }
}

/* ---- Conditions ---- */

static void add_guard(Candidates *s, int edit, int a, int b, int how, bool instead) {
    add_trial(s, edit, a, 0, how);
    RepairTrial *t = &s->trial[s->trials - 1].trial;
    t->value[1] = b, t->instead = instead;
}

static void add_comparisons(Candidates *s, int edit, int a, int b) {
    enum { LESS = 1, NO_MORE, SAME };
    add_guard(s, edit, a, b, LESS, false);
    add_guard(s, edit, a, b, NO_MORE, false);
    if (a < b) add_guard(s, edit, a, b, SAME, false), add_guard(s, edit, a, b, SAME, true);
}

static void add_guards(Candidates *s, int edit) {
    const Pool *pool = pool_of(s, edit);
    for (int a = 1; a <= pool->values; a++) {
        const Value *one = pool->value[a - 1];
        if (!type_is_integer(one->type)) continue;
        for (int instead = 0; instead < 2; instead++) add_guard(s, edit, a, 0, 0, instead);
        for (int b = 1; b <= pool->values && !one->condition; b++) {
            const Value *two = pool->value[b - 1];
            bool integer = type_is_integer(two->type) && !two->condition;
            if (integer && b != a && !(one->size && two->size)) add_comparisons(s, edit, a, b);
        }
    }
}

/* Before a condition, to be run whatever it is. */
static bool is_before(const Candidates *s, const Edit *e) {
    int piece = e->part[0].piece;
    return e->kind == EDIT_ADDED && s->edits->s->piece[piece].kind == PIECE_CONDITION &&
           !edits_end_loop(s->edits->s, piece);
}

/* Whether a product of many is looked for: as a term, or added beside a statement. */
static bool takes_many(const Candidates *s, const Edit *e) {
    return e->kind == EDIT_TERM ||
           (e->kind == EDIT_ADDED && (e->part[0].text[0] || e->head || is_before(s, e)));
}

/* Something times a number, or divided by it, beside a statement. */
static void add_factors(Candidates *s, int edit) {
    const Pool *pool = pool_of(s, edit);
    for (int k = 1; k <= pool->targets; k++)
        for (int v = 1; v <= pool->values; v++) {
            bool number = type_is_number(pool->value[v - 1]->type);
            for (int form = 0; number && form <= FORM_BELOW; form++) {
                add_trial(s, edit, v, form, 0);
                last(s)->trial.target = k, last(s)->trial.instead = 2;
            }
        }
}

void candidates_guards(Candidates *s) {
    s->trials = 0;
    for (int i = 0; i < s->edits->edits; i++) {
        if (is_left_out(s, i)) continue;
        if (s->edits->edit[i].kind == EDIT_GUARD) add_guards(s, i);
        for (int k = 1; s->edits->edit[i].kind == EDIT_ADDED && k <= pool_of(s, i)->targets; k++) {
            add_trial(s, i, 0, 0, 0);
            last(s)->trial.target = k, last(s)->trial.instead = 1;
        }
    }
    for (int i = 0; i < s->edits->edits; i++)
        if (s->edits->edit[i].kind == EDIT_ADDED && !is_left_out(s, i) && takes_many(s, &s->edits->edit[i]) &&
            !s->edits->edit[i].head)
            add_factors(s, i);
}

/* ---- Products ---- */

/* Where something may be added, or another term stand. */
static void add_site(Candidates *s, int edit, int target) {
    if (s->sites == SITES) return;
    Site *site = &s->site[s->sites++];
    site->trial = (RepairTrial){.edit = 1 + edit, .piece = 1 + s->edits->edit[edit].pool, .target = target};
    const Pool *pool = pool_of(s, edit);
    for (site->fields = 1; site->fields <= REPAIR_READS && site->fields <= pool->values; site->fields++)
        if (pool->value[site->fields - 1]->possible) break;
}

void candidates_find_sites(Candidates *s) {
    s->site = system_pages(SITES * sizeof *s->site, true);
    for (int added = 0; added < 2; added++)
        for (int i = 0; s->site && i < s->edits->edits; i++) {
            const Edit *e = &s->edits->edit[i];
            if (e->forward || e->parts > 1 || is_left_out(s, i) || (e->kind == EDIT_ADDED) != added) continue;
            if (e->kind == EDIT_TERM || e->kind == EDIT_FACTOR || (e->kind == EDIT_VALUE && !e->literal))
                add_site(s, i, 0);
            for (int k = 1; added && k <= pool_of(s, i)->targets; k++) add_site(s, i, k);
        }
}

void candidates_free(Candidates *s) {
    free(s->trial);
    if (s->site) munmap(s->site, SITES * sizeof *s->site);
}

static FactorKind kind_of(const Value *v) {
    return v->type.base == BASE_NUMBER ? FACTOR_NUMBER
           : v->condition              ? FACTOR_CONDITION
           : v->size                   ? FACTOR_SIZE
                                       : FACTOR_COUNT;
}

/* The pool's numbers, integers and conditions, those with short names first. Returns how many. */
static int find_factors(const Pool *pool, int factor[POOL]) {
    int count = 0;
    for (int v = 0; v < pool->values && v < REPAIR_READS && !pool->value[v]->possible; v++) {
        const Value *value = pool->value[v];
        if (!type_is_number(value->type) && !type_is_integer(value->type)) continue;
        int at = count++;
        for (; at > 0 && strlen(pool->value[factor[at - 1] - 1]->text) > strlen(value->text); at--)
            factor[at] = factor[at - 1];
        factor[at] = 1 + v;
    }
    return count;
}

/* Whether what is added at both, to the same, changes the gradient in the same way, in loops that are there. */
static bool are_equal(const Candidates *s, const Site *a, const Site *b) {
    const Value *one = pool_of(s, a->trial.edit - 1)->target[a->trial.target - 1],
                *two = pool_of(s, b->trial.edit - 1)->target[b->trial.target - 1];
    /* As the other: all that is added has one, or nothing. */
    bool own = s->edits->edit[a->trial.edit - 1].head;
    bool same = !own && a->runs == b->runs && strcmp(one->text, two->text) == 0;
    for (int q = 0; q < SITE_SUMS && same; q++)
        same = memcmp(a->response[q], b->response[q], (size_t)a->runs * sizeof *a->response[q]) == 0;
    for (long i = 0; i < a->runs && same; i++) same = a->record[i * a->fields] == b->record[i * b->fields];
    return same;
}

/* Of places where it does not matter in which of them something is added one is enough: where the most is at hand, and where
 * nothing else is asked first. */
static void drop_equal_sites(Candidates *s) {
    int hand[SITES], factor[POOL];
    for (long i = 0; i < s->sites; i++) {
        const Edit *e = &s->edits->edit[s->site[i].trial.edit - 1];
        int factors = find_factors(pool_of(s, s->site[i].trial.edit - 1), factor);
        hand[i] = 2 * factors + is_before(s, e) + 2 * POOL * takes_many(s, e);
        for (long k = 0; k < i && e->kind == EDIT_ADDED && s->site[i].runs; k++) {
            bool added = s->edits->edit[s->site[k].trial.edit - 1].kind == EDIT_ADDED;
            if (added && s->site[k].runs && are_equal(s, &s->site[i], &s->site[k]))
                s->site[hand[i] > hand[k] ? k : i].runs = 0;
        }
    }
}

bool candidates_measure(Candidates *s, const TrialPlace *p, int at_once) {
    long usable = 0;
    if (!s->site) return false;
    for (long i = 0; i < s->sites; i++)
        s->site[i].runs = 0, s->site[i].reads = 0, s->site[i].feeds = 0, s->site[i].readable = ~0ULL;
    sites_measure(p, s->site, s->sites, at_once);
    for (long i = 0; i < s->sites; i++) usable += s->site[i].runs > 0;
    drop_equal_sites(s);
    return 2 * usable > s->sites;
}

typedef struct Fitting {
    Candidates *s;
    int degree;
    double until;
    long room, found[FITTERS]; /* of each process */
} Fitting;

static long fit(const Fitting *f, const Site *site, FitKind kind, TrialResult *to, long room) {
    const Pool *pool = pool_of(f->s, site->trial.edit - 1);
    Products p = {.site = site, .kind = kind, .degree = f->degree, .until = f->until};
    const Value *target = site->trial.target ? pool->target[site->trial.target - 1] : NULL;
    p.grade = kind == FIT_TIMES ? 0 : target && target->gradient ? 1 : site->grade[0];
    p.factors = find_factors(pool, p.factor);
    for (int k = 0; k < p.factors; k++) p.is[k] = kind_of(pool->value[p.factor[k] - 1]);
    return fit_products(&p, to, room < OF_SITE ? room : OF_SITE);
}

static void fit_share(void *context, long i) {
    const Fitting *f = context;
    const Candidates *s = f->s;
    TrialResult *to = s->trial + s->trials;
    long found = 0;
    for (long k = i; k < s->sites; k += FITTERS) {
        const Site *site = &s->site[k];
        const Edit *e = &s->edits->edit[site->trial.edit - 1];
        bool factor = e->kind == EDIT_FACTOR, many = f->degree > 3;
        bool times = factor ? !many : e->kind == EDIT_ADDED && f->degree < 3;
        if (many && !takes_many(s, e)) continue;
        long at = found;
        found += fit(f, site, factor ? FIT_INSTEAD : FIT_ADDED, to + found, f->room - found);
        long before = found;
        if (times) found += fit(f, site, FIT_TIMES, to + found, f->room - found);
        for (; before < found && !factor; before++) to[before].trial.instead = 2;
        for (before = at, at = found, found = before; before < at; before++)
            if (candidates_is_of_loop(s->edits, &to[before].trial)) to[found++] = to[before];
    }
    child_send(to, (size_t)found * sizeof *to);
}

static void take_share(void *context, long i, const ChildEnd *end) {
    Fitting *f = context;
    if (end->fate != CHILD_DONE || end->size > (size_t)f->room * sizeof *f->s->trial) return;
    f->found[i] = (long)(end->size / sizeof *f->s->trial);
    memcpy(f->s->trial + f->s->trials + i * f->room, end->result, end->size);
}

void candidates_products(Candidates *s, const CheckPlan *p, int degree, double until) {
    Fitting f = {.s = s, .degree = degree, .until = until, .room = (TRIALS - s->trials) / FITTERS};
    child_run_all(FITTERS, p->at_once, &p->limits, fit_share, take_share, &f);
    TrialResult *from = s->trial + s->trials;
    for (int i = 0; i < FITTERS; i++, from += f.room) {
        memmove(s->trial + s->trials, from, (size_t)f.found[i] * sizeof *from);
        for (long end = s->trials + f.found[i]; s->trials < end; s->trials++)
            s->trial[s->trials].mended = s->wrong;
    }
}

/* ---- Prices ---- */

static int count_bits(unsigned bits) {
    int n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
}

static bool is_small_fraction(double amount) {
    for (int below = 1; below <= 4; below++)
        if (fabs(amount * below) < 8.5 && amount * below == round(amount * below)) return true;
    return false;
}

/* Products are written with a factor of 1, and as terms of a sum. */
static double product_price(const Edit *e, const RepairTrial *t) {
    double amount = e->kind == EDIT_FACTOR && !t->instead ? 1 + t->amount : t->amount;
    return (fabs(amount) != 1 ? 1.5 : 0) + (e->kind == EDIT_VALUE ? 1.5 : 0);
}

/* The less the likelier; what mends more goes first. */
static double price(const Candidates *s, const TrialResult *r) {
    const Edit *e = &s->edits->edit[r->trial.edit - 1];
    double cost = e->cost - 100 * count_bits(r->mended);
    for (int k = 0; k < REPAIR_VALUES; k++) {
        if (!r->trial.value[k]) continue;
        const Value *v = s->edits->pool[e->pool].value[r->trial.value[k] - 1];
        int form = r->trial.form[k];
        cost += 0.5 * k + 0.25 * (form == FORM_BELOW) + 0.75 * (form > FORM_BELOW) +
                0.001 * (double)strlen(v->text);
        if (v->condition && e->kind != EDIT_GUARD) cost += 1;
        if (v->size && e->kind == EDIT_FACTOR) cost += 0.75; /* it may be a number by accident */
    }
    int input = edits_gradient_of(s->edits, e->part[0].piece);
    bool made = input >= 0 && input < CHECK_INPUTS && r->mended == 1U << input; /* where it is made */
    const Value *target = r->trial.target ? s->edits->pool[e->pool].target[r->trial.target - 1] : NULL;
    if (target) made = target->gradient && count_bits(r->mended) == 1;
    if (made) cost -= 0.75;
    double amount = r->trial.amount;
    if (e->kind == EDIT_TEXT) cost += 0.001 * (double)strlen(e->part[0].text);
    if (e->kind == EDIT_INDEX) cost += r->trial.value[0] ? amount != 0 : e->literal ? 0 : -1.5;
    if (e->kind == EDIT_VALUE) cost += amount != 0;
    if (e->kind == EDIT_FACTOR && r->trial.instead && !r->trial.value[1])
        cost += 0.5; /* nothing of it stays */
    if (e->kind == EDIT_FACTOR && !r->trial.value[0]) cost += amount == -2 ? 0 : amount == -1 ? -0.5 : 0.5;
    if (e->kind >= EDIT_FACTOR && e->kind != EDIT_GUARD && amount != 0 && !is_small_fraction(amount))
        cost += 5;
    if (e->kind >= EDIT_VALUE && e->kind != EDIT_GUARD && r->trial.value[1])
        cost += product_price(e, &r->trial);
    return cost;
}

static int by_price(const void *a, const void *b) {
    const TrialResult *p = a, *q = b;
    return (p->price > q->price) - (p->price < q->price);
}

void candidates_sort(Candidates *s) {
    for (long i = 0; i < s->trials; i++) s->trial[i].price = price(s, &s->trial[i]);
    qsort(s->trial, (size_t)s->trials, sizeof *s->trial, by_price);
}
