#include "grading/repair_candidates.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Pool *pool_of(const Candidates *s, int edit) {
    return &s->edits->pool[s->edits->edit[edit].part[0].piece];
}

static void add_trial(Candidates *s, int edit, int one, int below, double amount) {
    const long room = 120000;
    const Edit *e = &s->edits->edit[edit];
    if (!s->trial) s->trial = malloc((size_t)room * sizeof *s->trial);
    if (!s->trial) error_no_memory("trials");
    if (s->trials == room) s->trials--;
    int piece = e->kind == EDIT_TEXT ? 0 : 1 + e->part[0].piece;
    RepairTrial t = {.edit = 1 + edit, .piece = piece, .value = {one}, .below = {below}, .amount = amount};
    s->trial[s->trials++] = (TrialResult){.trial = t, .mended = s->wrong};
}

/* Whether a value may stand where the edit is. */
static bool fits(const Edit *e, const Value *v) {
    bool number = v->type.base == BASE_NUMBER && v->type.depth == 0;
    bool integer = v->type.base == BASE_INTEGER && v->type.depth == 0;
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

static void open_last(Candidates *s) {
    s->trial[s->trials - 1].open = true;
}

static bool is_left_out(const Candidates *s, int edit) {
    const Edit *e = &s->edits->edit[edit];
    return s->left_out[edit] || (e->kind != EDIT_TEXT && s->left_out[s->edits->edits + e->part[0].piece]);
}

void candidates_simple(Candidates *s) {
    s->trials = 0;
    for (int i = 0; i < s->edits->edits; i++) {
        const Edit *e = &s->edits->edit[i];
        if (is_left_out(s, i)) continue;
        switch (e->kind) {
        case EDIT_TEXT:
            add_trial(s, i, 0, 0, 1);
            if (strchr(e->part[0].text, '@')) open_last(s);
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
            break;
        case EDIT_FACTOR:
            add_trial(s, i, 0, 0, 1);
            open_last(s);
            add_values(s, i, true, 0, false);
            break;
        case EDIT_TERM: add_values(s, i, true, 1, true); break;
        case EDIT_ADDED: break;
        }
    }
}

/* A product of two values, or one by the other, and by a size: as a term, or added behind a statement. */
static void add_product(Candidates *s, int edit, int target, int a, int b, bool below, int size) {
    add_trial(s, edit, a, 0, 1);
    TrialResult *t = &s->trial[s->trials - 1];
    t->open = true;
    t->trial.target = target;
    t->trial.value[1] = b, t->trial.below[1] = below;
    t->trial.value[2] = size, t->trial.below[2] = size != 0;
}

static bool is_factor(const Value *v) {
    return v->type.base == BASE_NUMBER && v->type.depth == 0;
}

static void add_products(Candidates *s, int edit, int target, bool sizes) {
    const Pool *pool = pool_of(s, edit);
    int size = 0, count = pool->values;
    do {
        for (int a = 1; a <= count; a++) {
            if (!is_factor(pool->value[a - 1])) continue;
            if (target || size) add_product(s, edit, target, a, 0, false, size);
            for (int b = 1; b <= count; b++) {
                if (!is_factor(pool->value[b - 1])) continue;
                if (b >= a) add_product(s, edit, target, a, b, false, size);
                if (b != a && !target) add_product(s, edit, target, a, b, true, size);
            }
        }
        for (size++; size <= count && !pool->value[size - 1]->size;) size++;
    } while (sizes && size <= count);
}

void candidates_terms(Candidates *s) {
    s->trials = 0;
    for (int i = 0; i < s->edits->edits; i++) {
        const Edit *e = &s->edits->edit[i];
        bool takes = e->kind == EDIT_TERM || (e->kind == EDIT_VALUE && !e->literal);
        if (takes && !e->forward && !is_left_out(s, i)) add_products(s, i, 0, true);
    }
}

void candidates_statements(Candidates *s) {
    s->trials = 0;
    for (int i = 0; i < s->edits->edits; i++)
        for (int k = 1; s->edits->edit[i].kind == EDIT_ADDED && k <= pool_of(s, i)->targets; k++)
            if (!is_left_out(s, i)) add_products(s, i, k, false);
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

/* The less the likelier; what mends more goes first. */
static double price(const Candidates *s, const TrialResult *r) {
    const Edit *e = &s->edits->edit[r->trial.edit - 1];
    double cost = e->cost - 100 * count_bits(r->mended);
    for (int k = 0; k < 3; k++) {
        if (!r->trial.value[k]) continue;
        const Value *v = s->edits->pool[e->part[0].piece].value[r->trial.value[k] - 1];
        cost += 0.5 * k + 0.25 * r->trial.below[k] + 0.001 * (double)strlen(v->text);
        if (v->size && e->kind == EDIT_FACTOR) cost += 0.75; /* it may be a number by accident */
    }
    double amount = r->trial.amount;
    if (e->kind == EDIT_TEXT) cost += 0.001 * (double)strlen(e->part[0].text);
    if (e->kind == EDIT_INDEX) cost += r->trial.value[0] ? amount != 0 : e->literal ? 0 : -1;
    if (e->kind == EDIT_VALUE) cost += amount != 0;
    if (e->kind == EDIT_FACTOR && !r->trial.value[0] && amount != -2) cost += 0.5;
    if (e->kind >= EDIT_FACTOR && amount != 0 && !is_small_fraction(amount)) cost += 5;
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
