#include "check/grading/ulp_case.h"
#include <stdio.h>
#include <string.h>

/* The drawn values become floats, the same in both builds. */
static void round_point(CheckPoint *p) {
    for (int k = 0; k < p->inputs; k++) {
        PointInput *in = &p->in[k];
        for (long i = 0; in->same_as < 0 && i < in->count; i++)
            *point_element(in, i) = in->value[i] = (real)(float)in->value[i];
    }
}

static void add_result(UlpResults *r, Arena *arena, const char *prefix, const char *name, Shape shape,
                       int input) {
    struct UlpResult *part = &r->part[r->parts++];
    *part = (struct UlpResult){.shape = shape, .count = shape_count(shape), .input = input};
    snprintf(part->name, sizeof part->name, "%s%s", prefix, name);
    part->value = arena_alloc(arena, (size_t)(part->count + 1) * sizeof *part->value);
}

UlpResults ulp_results(const UlpCase *s) {
    UlpResults r = {0};
    add_result(&r, s->arena, "", "y", s->run.y->shape, -1);
    for (int k = 0; s->backward && k < s->point.inputs; k++)
        if (point_has_gradient(&s->point, k))
            add_result(&r, s->arena, "d", s->point.in[k].name, s->point.in[k].shape, k);
    return r;
}

void ulp_case_open(UlpCase *s, Arena *arena, const char *op, const CheckCase *c, uint64_t seed) {
    *s = (UlpCase){.run = {.op = op, .c = c, .tape = tape_new()}, .arena = arena};
    s->run.point = &s->point;
    point_draw(&s->point, arena, NULL, op, c, seed, POINT_DRAWN, 0);
    round_point(&s->point);
    point_ready(&s->point, 0);
    const Tensor *y = check_run_forward(&s->run);
    s->outputs = shape_count(y->shape);
    s->backward = tensor_wants_grad(y);
    s->dy = arena_alloc(arena, (size_t)(s->outputs + 1) * sizeof *s->dy);
    check_run_cotangent(s->dy, s->outputs, seed, 0);
}

void ulp_take_gradients(const UlpCase *s, UlpResults *r) {
    for (int i = 1; i < r->parts; i++) {
        struct UlpResult *part = &r->part[i];
        memcpy(part->value, s->point.in[part->input].tensor.grad, (size_t)part->count * sizeof(real));
    }
}

void ulp_compute(UlpCase *s, UlpResults *r) {
    point_ready(&s->point, 0);
    tensor_copy_out(check_run_forward(&s->run), r->part[0].value);
    if (s->backward) check_run_backward(&s->run, s->dy);
    ulp_take_gradients(s, r);
}
