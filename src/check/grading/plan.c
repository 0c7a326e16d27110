#include "check/grading/plan.h"
#include "base/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PlanItem *plan_item(Plan *p, const char *op, const char *name, int index) {
    p->item = array_grown(p->item, p->items, &p->capacity, sizeof *p->item);
    PlanItem *item = &p->item[p->items++];
    *item = (PlanItem){.index = index, .resized = -1};
    snprintf(item->op, sizeof item->op, "%s", op);
    snprintf(item->name, sizeof item->name, "%s", name);
    return item;
}

void plan_free(Plan *p) {
    arena_free(&p->arena);
    free(p->item);
    p->item = NULL;
    p->items = p->capacity = 0;
}

int plan_add(Plan *p, const Op *op, const char *part) {
    int added = 0;
    for (int i = 0; i < op->n_cases; i++) {
        if (part && !strstr(op->cases[i].name, part)) continue;
        plan_item(p, op->name, op->cases[i].name, i)->c = op->cases[i];
        added++;
    }
    return added;
}

char *plan_text(Plan *p, const char *a, const char *b) {
    size_t size = strlen(a) + (b ? strlen(b) : 0) + 2;
    char *text = arena_alloc(&p->arena, size);
    snprintf(text, size, b ? "%s/%s" : "%s", a, b);
    return text;
}

bool plan_has_functions(const Plan *p) {
    return p->program || p->attached;
}

bool plan_is_foreign(const Plan *p) {
    return p->program && !p->readable;
}

void plan_name_silence(char text[REPORT_FULL], const char *message, double seconds) {
    snprintf(text, REPORT_FULL,
             "the program, not the function: it did not answer `%s` in %g s. Does it wait for more than the "
             "message, such as a byte after its line?",
             message, seconds);
}

void plan_describe(const Plan *p, const PlanItem *item, CaseReport *r) {
    const CheckInput *in = item->c.in;
    REPORT_SET(r->op, item->op);
    REPORT_SET(r->name, item->name);
    r->points = item->c.points > 0 ? item->c.points : 1;
    r->planned = in[0].name != NULL;
    r->functions = plan_has_functions(p);
    r->wanted = 0, r->added = item->added, r->like = p->like || p->reference;
    for (int k = 0; k < CHECK_INPUTS && in[k].name; k++)
        if (!in[k].constant && !in[k].same_as)
            snprintf(r->want[r->wanted++], REPORT_NAME, "d%.*s", REPORT_NAME - 2, in[k].name);
}

/* ---- Cases that the checker adds ---- */

static PlanItem *add_changed(Plan *p, const PlanItem *base, const CheckCase *c, const char *how) {
    char name[REPORT_NAME];
    snprintf(name, sizeof name, "%.90s, %.30s", base->name, how);
    PlanItem *item = plan_item(p, base->op, name, base->index);
    item->c = *c;
    item->added = true;
    return item;
}

static void add_larger(Plan *p, const PlanItem *base, double factor, const char *how) {
    CheckCase c = base->c;
    bool any = false;
    for (CheckInput *in = c.in; in < c.in + CHECK_INPUTS && in->name; in++) {
        if (in->values) continue;
        in->low *= factor, in->high *= factor;
        in->distinct = true; /* some values lie near the ends */
        any = true;
    }
    c.flat = true; /* functions saturate at large values */
    if (any) add_changed(p, base, &c, how);
}

/* Draws a scalar function's one value again: it lies on one side of each of the function's conditions. */
static void add_draws(Plan *p, const PlanItem *base) {
    enum { DRAWS = 8 };
    char how[REPORT_NAME];
    long elements = 0;
    for (const CheckInput *in = base->c.in; in < base->c.in + CHECK_INPUTS && in->name; in++)
        if (shape_count(in->shape) > elements) elements = shape_count(in->shape);
    for (int i = 0; i < DRAWS && elements == 1; i++) {
        snprintf(how, sizeof how, "draw %d", i + 2);
        add_changed(p, base, &base->c, how);
    }
}

/* Negates an input whose range has one sign. If several have, one may have to be larger than another. */
static void add_other_sign(Plan *p, const PlanItem *base) {
    CheckCase c = base->c;
    int signed_inputs = 0;
    for (CheckInput *in = c.in; in < c.in + CHECK_INPUTS && in->name; in++) {
        double low = in->low;
        if (in->values || low * in->high < 0) continue;
        in->low = -in->high, in->high = -low, in->away_from = -in->away_from;
        signed_inputs++;
    }
    if (signed_inputs == 1) add_changed(p, base, &c, "other sign");
}

/* Sets some elements of each input to 0 where its range allows it, never in two inputs at once. */
static void add_zeros(Plan *p, const PlanItem *base) {
    const uint64_t stream = 0x2E05;
    CheckCase c = base->c;
    int inputs = 0, zeroed = 0;
    while (inputs < CHECK_INPUTS && c.in[inputs].name) inputs++;
    for (int k = 0; k < inputs; k++) {
        CheckInput *in = &c.in[k];
        long count = shape_count(in->shape);
        if (in->values || in->low * in->high >= 0 || in->margin > 0 || in->distinct || in->same_as) continue;
        double *v = arena_alloc(&p->arena, (size_t)count * sizeof *v);
        for (long i = 0; i < count; i++) {
            double u = (double)random_uniform(random_key(stream, (uint64_t)k), (uint64_t)i);
            bool zero = random_below(random_key(stream, CHECK_INPUTS), (uint64_t)i, inputs + 2) == k;
            v[i] = zero ? 0 : in->low + (in->high - in->low) * u;
        }
        in->values = v, in->layout = CONTIGUOUS;
        zeroed++;
    }
    c.kinks = true;
    if (zeroed) add_changed(p, base, &c, "zeros among the values");
}

/* Adds cases with size 0, 1 and a large size in place of each size. */
static void add_sizes(Plan *p, const PlanItem *base) {
    enum { MOST_SIZE = 12, LARGE_SIZE = 11 };
    static const long other[] = {1, 0, LARGE_SIZE};
    char how[REPORT_NAME];
    for (long size = 2; size <= MOST_SIZE; size++)
        for (size_t to = 0; to < sizeof other / sizeof *other; to++) {
            CheckCase c = base->c;
            snprintf(how, sizeof how, "size %ld for %ld", other[to], size);
            if (size != other[to] && point_resize(&c, size, other[to]))
                add_changed(p, base, &c, how)->resized = other[to];
        }
}

void plan_add_made(Plan *p, long first) {
    long plain = -1, drawn = -1;
    for (long i = p->items - 1; i >= first; i--) {
        const CheckCase *c = &p->item[i].c;
        bool fits = !c->kinks && !c->flat, values = false;
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
            values |= c->in[k].values != NULL;
            fits &= shape_count(c->in[k].shape) > 0;
        }
        if (fits) drawn = i;
        if (fits && !values) plain = i;
    }
    if (drawn < 0) return;
    PlanItem base = p->item[plain >= 0 ? plain : drawn]; /* the plan's items move as it grows */
    bool bounded = false;
    for (CheckInput *in = base.c.in; in < base.c.in + CHECK_INPUTS && in->name; in++) {
        if (in->low != 0 || in->high != 0) {
            bounded = true;
            continue;
        }
        in->low = -2; /* the default */
        in->high = 2;
    }
    if (plain >= 0) {
        add_sizes(p, &base);
        add_draws(p, &base);
    }
    /* Bounds of a function of another language are its domain. */
    if (!bounded || !plan_has_functions(p)) {
        add_larger(p, &base, 2, "larger values");
        add_larger(p, &base, 8, "much larger values");
        add_other_sign(p, &base);
    }
    add_zeros(p, &base);
}
