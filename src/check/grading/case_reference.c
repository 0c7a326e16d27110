#include "base/random.h"
#include "check/gradcheck/rounding.h"
#include "check/grading/case_files.h"
#include <math.h>
#include <string.h>

enum { ROUNDINGS = 16, TRIALS = 8 };

/* u. A float build knows no values better than single precision. */
static double unit(Precision p) {
    return fmax(p == SINGLE ? (double)FLT_EPSILON : DBL_EPSILON, (double)REAL_EPSILON);
}

static ReferencePart *new_part(Reference *r, int input, const char *before, const char *name, Shape s) {
    ReferencePart *p = &r->part[r->parts++];
    *p = (ReferencePart){.input = input, .shape = s, .count = shape_count(s)};
    snprintf(p->name, sizeof p->name, "%s%s", before, name);
    return p;
}

void reference_list(Reference *r, CaseFiles *files) {
    *r = (Reference){.files = files};
    new_part(r, -1, "", "y", files->run.y->shape);
    for (int k = 0; k < files->point.inputs; k++)
        if (point_has_gradient(&files->point, k))
            new_part(r, k, "d", files->point.in[k].name, files->point.in[k].shape);
}

static void *zeros(Reference *r, long count, size_t size) {
    return arena_alloc(&r->files->arena, (size_t)count * size);
}

/* ---- The gradients: for dy, and for each output alone ---- */

static void compute_gradients(Reference *r) {
    CaseFiles *f = r->files;
    real *cotangent = zeros(r, f->outputs, sizeof *cotangent);
    for (long q = 0; q <= f->outputs; q++) {
        if (q) memset(cotangent, 0, (size_t)f->outputs * sizeof *cotangent), cotangent[q - 1] = 1;
        point_ready(&f->point, 0);
        check_run_forward(&f->run);
        check_run_backward(&f->run, q ? cotangent : f->dy);
        for (int i = 1; i < r->parts; i++) {
            ReferencePart *p = &r->part[i];
            Entry *row = p->entries.entry + q * p->count;
            const real *grad = f->point.in[p->input].tensor.grad;
            for (long j = 0; j < p->count; j++) row[j].analytic = row[j].numeric = (double)grad[j];
        }
    }
}

/* ---- How far rounded numbers move it ---- */

/* One trial. It is ignored if it crosses a kink. */
static void move(Reference *r, Precision precision, uint64_t branches, uint64_t key) {
    CaseFiles *f = r->files;
    real relative = (real)unit(precision);
    for (int k = 0; k < f->point.inputs; k++)
        if (case_has_file(f, k)) point_jitter(&f->point, k, relative, random_key(key, (uint64_t)k));
    point_ready(&f->point, 0);
    const Tensor *y = check_run_forward(&f->run);
    if (f->run.branches == branches) {
        real *now = zeros(r, f->outputs, sizeof *now);
        tensor_copy_out(y, now);
        for (long i = 0; i < f->outputs; i++)
            rounding_note(&r->part[0].moved[precision][i], r->part[0].need[i], (double)now[i]);
        check_run_disturb(&f->run, relative, random_key(key, CHECK_INPUTS));
        check_run_backward(&f->run, f->dy);
        for (int k = 1; k < r->parts; k++) {
            ReferencePart *p = &r->part[k];
            const real *grad = f->point.in[p->input].tensor.grad;
            for (long j = 0; j < p->count; j++)
                rounding_note(&p->moved[precision][j], p->need[j], (double)grad[j]);
        }
    }
    for (int k = 0; k < f->point.inputs; k++)
        if (case_has_file(f, k)) point_restore(&f->point, k);
}

/* ---- All of it ---- */

void reference_compute(Reference *r) {
    CaseFiles *f = r->files;
    for (int k = 0; k < r->parts; k++) {
        ReferencePart *p = &r->part[k];
        p->need = zeros(r, p->count, sizeof *p->need);
        p->flat = zeros(r, p->count, sizeof *p->flat);
        for (int i = 0; i < PRECISIONS; i++) p->moved[i] = zeros(r, p->count, sizeof(double));
        p->entries = (Entries){.input = p->input,
                               .cotangents = 1,
                               .outputs = f->outputs,
                               .coordinates = p->count,
                               .cotangent = f->dy,
                               .entry = zeros(r, (1 + f->outputs) * p->count, sizeof(Entry)),
                               .state = zeros(r, p->count, sizeof(EntryState)),
                               .doubt = zeros(r, p->count, sizeof(Doubt))};
    }
    compute_gradients(r);
    real *y = zeros(r, f->outputs, sizeof *y);
    point_ready(&f->point, 0);
    tensor_copy_out(check_run_forward(&f->run), y);
    uint64_t branches = f->run.branches;
    for (long i = 0; i < f->outputs; i++) r->part[0].need[i] = (double)y[i];
    for (int k = 1; k < r->parts; k++) {
        ReferencePart *p = &r->part[k];
        for (long j = 0; j < p->count; j++) p->need[j] = p->entries.entry[j].analytic;
    }
    for (int k = 0; k < r->parts; k++)
        for (long i = 0; i < r->part[k].count; i++)
            if (isfinite(r->part[k].need[i]))
                r->part[k].largest = fmax(r->part[k].largest, fabs(r->part[k].need[i]));
    for (int i = 0; i < PRECISIONS; i++)
        for (int trial = 0; trial < TRIALS; trial++)
            move(r, (Precision)i, branches, random_key(1, (uint64_t)trial));
    for (int k = 1; k < r->parts; k++) {
        ReferencePart *p = &r->part[k];
        check_entries(&f->run, &p->entries);
        for (long j = 0; j < p->count; j++) {
            const Entry *e = &p->entries.entry[j];
            if (e->state == ENTRY_FLAT) p->flat[j] = fabs(e->analytic - e->numeric);
        }
    }
}

double reference_allowed(const ReferencePart *p, long i, Precision precision) {
    /* Subnormal numbers have fewer digits. */
    double smallest = precision == SINGLE || sizeof(real) == sizeof(float) ? (double)FLT_MIN : DBL_MIN;
    double u = unit(precision), terms = p->largest + (p->moved[precision][i] + smallest) / u;
    return rounding_room(ROUNDINGS, u, terms) + p->flat[i];
}

double reference_need(const ReferencePart *p, long i, double found) {
    if (p->input < 0 || p->entries.state[i] != ENTRY_KINK) return p->need[i];
    const Entry *e = &p->entries.entry[i];
    return fmin(fmax(found, fmin(e->below, e->above)), fmax(e->below, e->above));
}
