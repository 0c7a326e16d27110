#include "check/grading/plan.h"
#include "check/gradcheck/added_cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PlanItem *plan_item(Plan *p, const char *op, const char *name, int index) {
    p->item = array_grown(p->item, p->items, &p->capacity, sizeof *p->item);
    PlanItem *item = &p->item[p->items++];
    *item = (PlanItem){.index = index, .resized = -1};
    REPORT_SET(item->op, op);
    REPORT_SET(item->name, name);
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

char **plan_words(Plan *p, const char *text, const char *separators) {
    char **words = arena_alloc(&p->arena, (strlen(text) / 2 + 2) * sizeof *words);
    int count = 0;
    for (char *word = strtok(plan_text(p, text, NULL), separators); word;
         word = strtok(NULL, separators))
        words[count++] = word;
    words[count] = NULL;
    return words;
}

bool plan_has_functions(const Plan *p) {
    return p->program || p->attached;
}

bool plan_is_foreign(const Plan *p) {
    return p->program && !p->readable;
}

void plan_describe(const Plan *p, const PlanItem *item, CaseReport *r) {
    const CheckInput *in = item->c.in;
    REPORT_SET(r->op, item->op);
    REPORT_SET(r->name, item->name);
    r->points = item->c.points > 0 ? item->c.points : 1;
    r->planned = in[0].name != NULL;
    r->functions = plan_has_functions(p);
    r->wanted = 0;
    r->added = item->added;
    r->like = p->like || p->reference;
    for (int k = 0; k < CHECK_INPUTS && in[k].name; k++)
        if (!in[k].constant && !in[k].same_as)
            snprintf(r->want[r->wanted++], REPORT_NAME, "d%.*s", REPORT_NAME - 2, in[k].name);
}

/* ---- Cases that the checker adds ---- */

static PlanItem *add_changed(Plan *p, const PlanItem *base, const CheckCase *c, const char *how) {
    char name[REPORT_NAME], before[REPORT_NAME - 40];
    REPORT_SET(before, base->name);
    snprintf(name, sizeof name, "%s, %s", before, how);
    PlanItem *item = plan_item(p, base->op, name, base->index);
    item->c = *c;
    item->added = true;
    return item;
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
    for (int which = 0; which < added_cases; which++) {
        AddedCase a;
        if (!added_case(&base.c, which, &p->arena, &a)) continue;
        /* Bounds of a function of another language are its domain. */
        if (a.beyond && bounded && plan_has_functions(p)) continue;
        add_changed(p, &base, &a.c, a.how)->resized = a.resized;
    }
}
