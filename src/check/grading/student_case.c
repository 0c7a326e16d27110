#include "check/child.h"
#include "check/grading/student_op.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 128, MOST_ELEMENTS = 1 << 22 };

/* A case as it is sent. The values of its inputs follow. */
typedef struct Record {
    CheckCase c; /* its pointers only tell whether there is something */
    char name[NAME], input[CHECK_INPUTS][NAME];
} Record;

void student_send_cases(const CheckCase *cases, int count) {
    for (const CheckCase *c = cases; c < cases + count; c++) {
        Record r = {.c = *c};
        snprintf(r.name, NAME, "%s", c->name);
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
            snprintf(r.input[k], NAME, "%s", c->in[k].name);
        child_send(&r, sizeof r);
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
            if (c->in[k].values)
                child_send(c->in[k].values, (size_t)shape_count(c->in[k].shape) * sizeof(double));
    }
}

/* Whether a received bool is valid: reading another value is undefined. */
static bool is_bool(const bool *told) {
    unsigned char byte;
    memcpy(&byte, told, 1);
    return byte <= 1;
}

/* Checks input k, and takes its values at *at. */
static bool take_input(CheckInput *in, int k, const char **at, const char *end, Arena *arena) {
    long count;
    bool fits = in->shape.rank >= 0 && in->shape.rank <= MAX_RANK &&
                shape_fits(in->shape.rank, in->shape.size, sizeof(real), &count) && count <= MOST_ELEMENTS &&
                (int)in->layout >= CONTIGUOUS && in->layout <= REPEATED && in->same_as >= 0 &&
                in->same_as <= k && isfinite(in->low) && isfinite(in->high) && isfinite(in->away_from) &&
                isfinite(in->margin) && is_bool(&in->distinct) && is_bool(&in->constant);
    if (!fits || !in->values) return fits;
    size_t bytes = (size_t)count * sizeof(double);
    if (bytes > (size_t)(end - *at)) return false;
    in->values = memcpy(arena_alloc(arena, bytes), *at, bytes);
    *at += bytes;
    return true;
}

bool student_take_case(const char **at, const char *end, CheckCase *c, Arena *arena) {
    Record *r = arena_alloc(arena, sizeof *r);
    if ((size_t)(end - *at) < sizeof *r) return false;
    memcpy(r, *at, sizeof *r);
    *at += sizeof *r;
    if (!is_bool(&r->c.kinks) || !is_bool(&r->c.flat)) return false;
    if (!isfinite(r->c.points)) r->c.points = 0;
    r->c.name = r->name, r->name[NAME - 1] = 0;
    r->c.build = NULL;
    for (int k = 0; k < CHECK_INPUTS && r->c.in[k].name; k++) {
        r->c.in[k].name = r->input[k], r->input[k][NAME - 1] = 0;
        if (!take_input(&r->c.in[k], k, at, end, arena)) return false;
    }
    *c = r->c;
    return true;
}
