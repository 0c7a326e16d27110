#include "check/gradcheck/child.h"
#include "check/grading/student_op.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 128, MOST_ELEMENTS = 1 << 22 };

typedef struct Input {
    char name[NAME];
    CheckInput how; /* its pointers are invalid in other processes */
    bool values;
} Input;

typedef struct Record {
    char name[NAME];
    CheckCase c; /* likewise */
    int inputs;
    Input in[CHECK_INPUTS];
} Record;

void student_send_cases(const CheckCase *cases, int count) {
    for (int i = 0; i < count; i++) {
        Record r = {.c = cases[i]};
        snprintf(r.name, sizeof r.name, "%.*s", (int)strnlen(cases[i].name, NAME - 1), cases[i].name);
        for (int k = 0; k < CHECK_INPUTS && cases[i].in[k].name; k++, r.inputs++) {
            const CheckInput *in = &cases[i].in[k];
            r.in[k] = (Input){.how = *in, .values = in->values != NULL};
            snprintf(r.in[k].name, NAME, "%s", in->name);
        }
        child_send(&r, sizeof r);
        for (int k = 0; k < r.inputs; k++)
            if (r.in[k].values)
                child_send(cases[i].in[k].values, (size_t)shape_count(cases[i].in[k].shape) * sizeof(double));
    }
}

static const char *keep(Arena *arena, const char name[NAME]) {
    char *kept = arena_alloc(arena, NAME);
    memcpy(kept, name, NAME - 1);
    return kept;
}

/* Whether a received bool is valid: reading another value is undefined. */
static bool is_bool(const bool *told) {
    unsigned char byte;
    memcpy(&byte, told, 1);
    return byte <= 1;
}

/* Reads a valid input; its values follow at *at. */
static bool take_input(const char **at, const char *end, const Input *in, CheckInput *to, int index,
                       Arena *arena) {
    long count;
    *to = in->how;
    to->name = keep(arena, in->name);
    to->values = NULL;
    bool fits = to->shape.rank >= 0 && to->shape.rank <= MAX_RANK &&
                shape_fits(to->shape.rank, to->shape.size, sizeof(real), &count) && count <= MOST_ELEMENTS &&
                (int)to->layout >= CONTIGUOUS && to->layout <= REPEATED && to->same_as >= 0 &&
                to->same_as <= index && isfinite(to->low) && isfinite(to->high) && isfinite(to->away_from) &&
                isfinite(to->margin) && is_bool(&to->distinct) && is_bool(&to->constant) &&
                is_bool(&in->values);
    if (!fits || !in->values) return fits;
    size_t bytes = (size_t)count * sizeof(double);
    if (bytes > (size_t)(end - *at)) return false;
    to->values = memcpy(arena_alloc(arena, bytes), *at, bytes);
    *at += bytes;
    return true;
}

bool student_take_case(const char **at, const char *end, CheckCase *c, Arena *arena) {
    Record *r = arena_alloc(arena, sizeof *r);
    if ((size_t)(end - *at) < sizeof *r) return false;
    memcpy(r, *at, sizeof *r);
    *at += sizeof *r;
    if (r->inputs < 0 || r->inputs > CHECK_INPUTS || !is_bool(&r->c.kinks) || !is_bool(&r->c.flat))
        return false;
    *c = (CheckCase){.name = keep(arena, r->name), .kinks = r->c.kinks, .flat = r->c.flat};
    if (isfinite(r->c.points)) c->points = r->c.points;
    for (int k = 0; k < r->inputs; k++)
        if (!take_input(at, end, &r->in[k], &c->in[k], k, arena)) return false;
    return true;
}
