/* The values at which a gradient is wrong, and whether a place holds at other points. */
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <string.h>

/* A condition or a place holds at some points: the case's own, and others drawn for the purpose. */
enum { LOOKS = 3, FIRST_DRAWN = 300 };

static bool is_drawn(const Comparison *m) {
    bool drawn = false;
    for (int k = 0; k < m->point->inputs; k++)
        drawn |= !m->g->run->c->in[k].values && m->point->in[k].same_as < 0;
    return drawn;
}

/* The elements at a point, and values beside them. */
typedef struct Look {
    Comparison m;
    Marks marks;
    ValuesList list;
} Look;

/* Looks at the case's own point (0), or judges the case at another one. */
static Look look(const Comparison *m, int number) {
    Look l = {.m = *m};
    if (number > 0) {
        CheckRun *run = m->g->run;
        CheckPoint *there = arena_alloc(m->arena, sizeof *there);
        Gradients *g = arena_alloc(m->arena, sizeof *g);
        *g = (Gradients){run, m->g->differences, m->arena, m->g->seed};
        point_draw(there, m->arena, run->op, run->c, g->seed, POINT_DRAWN, FIRST_DRAWN + number);
        run->point = g->differences->point = there;
        check_gradients(g, arena_alloc(m->arena, sizeof(CaseReport)));
        check_run_forward(run);
        l.m = compare_input(g, m->e->input);
        run->point = g->differences->point = m->point;
    }
    l.marks = compare_mark(&l.m, false, -1);
    l.list = compare_values(&l.m, false);
    return l;
}

/* A condition: values, or their sizes, are above a number (side 1) or below it (-1), which lies
 * between the nearest right and the nearest wrong value. */
typedef struct Condition {
    long values;
    int side;
    bool size;
    double right, wrong;
} Condition;

/* Whether the wrong elements at these points are those of the condition; of each kind there must be
 * at least `min`. */
static bool holds(const Look *at, int points, long min, Condition *c) {
    long count[3] = {0, 0, 0};
    c->wrong = INFINITY;
    c->right = -INFINITY;
    for (const Look *l = at; l < at + points; l++)
        for (long j = 0; j < l->marks.count; j++) {
            double v = compare_value(&l->m, &l->list.v[c->values], j);
            v = c->side * (c->size ? fabs(v) : v);
            CompareKind kind = l->marks.kind[j];
            if (kind == COMPARE_WRONG) c->wrong = fmin(c->wrong, v);
            if (kind == COMPARE_RIGHT) c->right = fmax(c->right, v);
            count[kind]++;
        }
    return c->wrong > c->right && count[COMPARE_WRONG] >= min && count[COMPARE_RIGHT] >= min;
}

static bool separates(const Look *at, int points, long min, Condition *c) {
    for (long way = 0; way < 4 * at->list.count; way++) {
        *c = (Condition){.values = way / 4, .side = way % 2 ? -1 : 1, .size = way / 2 % 2};
        if (holds(at, points, min, c)) return true;
    }
    return false;
}

/* Writes "wrong only where |x| is above about 1.5". At given values the number must be 0. */
static bool say_condition(Comparison *m, const Condition *c) {
    enum { NEAR = 2 };
    const char *name = compare_values(m, false).v[c->values].name, *bar = c->size ? "|" : "";
    double low = fmin(c->side * c->right, c->side * c->wrong);
    double high = fmax(c->side * c->right, c->side * c->wrong), number = (low + high) / 2;
    bool is_whole = false;
    for (int n = -NEAR; n <= NEAR; n++) {
        if (n < low || n > high) continue;
        number = n;
        is_whole = true;
    }
    return (is_drawn(m) || number == 0) &&
           compare_say(m, "%s where %s%.40s%s is %s %s%.3g",
                       compare_are_zero(m, m->yours) ? "no gradient arrives" : "wrong only", bar,
                       name, bar, c->side > 0 ? "above" : "below", is_whole ? "" : "about ",
                       number);
}

/* Other points cost many runs: none is drawn without a condition that it may refute. */
bool compare_condition(Comparison *m) {
    enum { MAX_ENTRIES = 1 << 12, EVIDENCE = 4, EVIDENCE_DRAWN = 6 };
    Look *at = arena_alloc(m->arena, LOOKS * sizeof *at);
    Condition c = {0};
    int looks = is_drawn(m) ? LOOKS : 1;
    if (m->in->stored < m->in->count || m->entries > MAX_ENTRIES) return false;
    for (int k = 0; k < looks; k++) {
        long min = is_drawn(m) ? EVIDENCE_DRAWN : EVIDENCE;
        if (k + 1 < looks) min = 1;
        at[k] = look(m, k);
        if (!separates(at, k + 1, min, &c)) return false;
    }
    return say_condition(m, &c);
}

/* The map, if it is the same at another point. */
bool compare_place(Comparison *m) {
    char text[REPORT_TEXT], other[REPORT_TEXT];
    if (!compare_map(m, text)) return false;
    if (is_drawn(m)) {
        Look there = look(m, 1);
        compare_map(&there.m, other);
        if (strcmp(text, other) != 0) return false;
    }
    return compare_say(m, "%s", text);
}
