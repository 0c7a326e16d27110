/* Properties of an operation in its context: memory layout, other operations, a second node of the same
 * kind. */
#include "base/random.h"
#include "check/gradcheck/check_host.h"
#include "check/gradcheck/property.h"
#include <stdio.h>
#include <string.h>

/* Runs the case so that its last node has the same index on the tape as at the point, whatever nodes precede
 * it. */
static PropertyResults results_in_place(Properties *p) {
    PropertyResults found = property_run(p, p->one, 0);
    p->run->first = p->nodes - p->run->nodes;
    if (p->run->first) found = property_run(p, p->one, 0);
    p->run->first = 0;
    return found;
}

bool property_any_layout(Properties *p, PropertyResults one) {
    static const char *const name[] = {
        [CONTIGUOUS] = "contiguous", [TRANSPOSED] = "transposed", [STEPPED] = "stepped"};
    CheckPoint *given = p->run->point, other;
    for (CheckLayout layout = CONTIGUOUS; layout <= STEPPED; layout++) {
        char what[80];
        snprintf(what, sizeof what, "with its inputs laid out %s in memory", name[layout]);
        CheckLayout all[CHECK_INPUTS];
        for (int i = 0; i < CHECK_INPUTS; i++) all[i] = layout;
        point_lay_out(&other, p->arena, given, all);
        p->run->point = &other;
        p->run->stage = "with its inputs laid out otherwise in memory";
        bool same_results = property_same(p, results_in_place(p), one, 0, false, what);
        p->run->point = given;
        if (same_results) continue;
        size_t used = strlen(p->text);
        snprintf(p->text + used, REPORT_TEXT - used,
                 "; a tensor's strides say where its elements are: tensor_copy_out reads them in order");
        return false;
    }
    return true;
}

bool property_inside_a_graph(Properties *p, PropertyResults one) {
    p->run->relayed = true;
    p->run->stage = "with inputs that other operations made";
    p->run->keep = false;
    PropertyResults found = results_in_place(p);
    p->run->relayed = false;
    p->run->keep = true;
    return property_same(p, found, one, 0, false, "with inputs that other operations made");
}

static bool same_range(const CheckInput *a, const CheckInput *b) {
    return shape_equal(a->shape, b->shape) && a->low == b->low && a->high == b->high &&
           a->away_from == b->away_from && a->margin == b->margin && !a->values && !b->values;
}

/* Compares one tensor passed as inputs i and k with two tensors of the same values. */
static bool may_be_passed_twice(Properties *p, int i, int k) {
    CheckPoint *given = p->run->point, twice = *given;
    char what[80];
    CheckLayout layout[CHECK_INPUTS] = {0};
    twice.in[k].value = given->in[i].value;
    point_lay_out(&twice, p->arena, &twice, layout);
    p->run->point = &twice;
    p->run->stage = "with one tensor passed twice";
    PropertyResults apart = property_run(p, p->one, 0);
    for (long j = 0; j < given->in[i].count; j++) apart.value[i][j] += apart.value[k][j];
    apart.value[k] = NULL;
    twice.in[k].same_as = i;
    twice.x[k] = twice.x[i];
    snprintf(what, sizeof what, "with one tensor passed as both %s and %s", given->in[i].name,
             given->in[k].name);
    bool sums = property_same(p, property_run(p, p->one, 0), apart, 0, false, what);
    p->run->point = given;
    return sums;
}

bool property_passed_twice(Properties *p, PropertyResults one) {
    const CheckPoint *point = p->run->point;
    (void)one;
    for (int i = 0; i < point->inputs; i++)
        for (int k = i + 1; k < point->inputs; k++)
            if (point_has_gradient(point, i) && point_has_gradient(point, k) &&
                same_range(&p->run->c->in[i], &p->run->c->in[k]) && !may_be_passed_twice(p, i, k))
                return false;
    return true;
}

/* Records two nodes before either's backward: each must save its values in separate memory. */
bool property_two_on_a_tape(Properties *p, PropertyResults one) {
    CheckPoint *given = p->run->point, other;
    CheckLayout layout[CHECK_INPUTS] = {0};
    const real *y = one.value[CHECK_INPUTS];
    p->run->stage = "with two of it on one tape";
    point_lay_out(&other, p->arena, given, layout);
    for (int i = 0; i < other.inputs; i++)
        if (other.in[i].same_as < 0) point_jitter(&other, i, (real)0.25, random_key(5, (uint64_t)i));
    p->run->point = &other, p->run->first = p->nodes;
    PropertyResults other_alone = property_run(p, p->other, 0);
    p->run->point = given, p->run->first = 0;
    point_ready(given, 0);
    point_ready(&other, 0);
    check_run_pair(p->run, &other, p->one, p->other);
    PropertyResults found = property_copy(p, y);
    p->run->point = &other;
    PropertyResults other_found = property_copy(p, other_alone.value[CHECK_INPUTS]);
    p->run->point = given;
    return property_same(p, found, one, 0, false,
                         "with a second one on the tape, recorded before backward runs") &&
           property_same(p, other_found, other_alone, 0, false,
                         "recorded on the tape after another one of its kind");
}

static bool is_used_once(const CheckPoint *point, int i) {
    for (int k = 0; k < point->inputs; k++)
        if (point->in[k].same_as == i) return false;
    return point_has_gradient(point, i);
}

/* Makes each input in turn a constant, whose grad is NULL. The gradients of the others must not change. */
bool property_beside_constants(Properties *p, PropertyResults one) {
    CheckPoint *given = p->run->point;
    int gradients = 0;
    for (int i = 0; i < given->inputs; i++) gradients += point_has_gradient(given, i);
    for (int i = 0; i < given->inputs && gradients > 1; i++) {
        CheckPoint other;
        char what[96];
        if (!is_used_once(given, i)) continue;
        point_copy(&other, given);
        other.in[i].constant = true;
        snprintf(what, sizeof what, "with %s a constant, which takes no gradient (grad is NULL)",
                 given->in[i].name);
        p->run->point = &other, p->run->stage = what;
        bool right = property_same(p, property_run(p, p->one, 0), one, 0, false, what);
        p->run->point = given, p->run->stage = NULL;
        if (!right) return false;
    }
    return true;
}

/* State kept from one run may be right for its point and wrong for the next. */
bool property_any_process(Properties *p, PropertyResults one) {
    enum { OTHER_POINT = 100 };
    CheckRun *run = p->run;
    CheckHost *host = run->host;
    CheckPoint *given = run->point, there, here;
    (void)one;
    if (!p->fresh) return true;
    point_draw(&there, p->arena, check_host_memory(p->fresh), run->op, run->c, p->seed, POINT_DRAWN,
               OTHER_POINT);
    point_draw(&here, p->arena, given->memory, run->op, run->c, p->seed, POINT_DRAWN, OTHER_POINT);
    run->point = &there, run->host = p->fresh;
    PropertyResults want = property_run(p, p->one, 0);
    run->point = &here, run->host = host;
    PropertyResults found = property_run(p, p->one, 0);
    bool same = property_same(p, found, want, 0, true,
                              "after other points, against a process that knows none (is something kept?)");
    run->point = given;
    return same;
}
