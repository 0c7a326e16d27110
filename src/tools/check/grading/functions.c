#include "base/append.h"
#include "check/directories.h"
#include "check/gradcheck/tape_runner.h"
#include "check/grading/plan.h"
#include "check/grading/student_file.h"
#include "check/sandbox.h"
#include "formats/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool functions_use(Plan *p, const char *command, Error *e) {
    int from, to;
    if (sscanf(command, "%d,%d", &from, &to) == 2) {
        p->attached = child_attach(from, to, &p->limits);
        p->keep[0] = from;
        p->keep[1] = to;
        return true;
    }
    p->program = plan_words(p, command, " ");
    return *p->program || error_set(e, STATUS_USAGE, "--program: found none, need a command");
}

static void become(void *context, long i) {
    const Plan *p = context;
    (void)i;
    const SandboxNeeds needs = {.interpreter = p->readable, .writable = child_directory()};
    if (p->folder) sandbox_enter(p->folder, &needs);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* the cases run side by side */
    child_become(p->program);
}

/* An interpreter has a directory for what it writes. */
static Child *start_functions(const Plan *p, ChildLimits limits) {
    enum { MAX_WRITTEN = 1 << 25, PARTS = 32 };
    limits.folder = p->folder;
    limits.folder_bytes = p->folder ? directory_free_bytes(p->folder) / PARTS : 0;
    if (limits.folder_bytes > MAX_WRITTEN) limits.folder_bytes = MAX_WRITTEN;
    return p->attached ? p->attached : child_start(0, &limits, become, (void *)(uintptr_t)p);
}

Child *plan_start(const Plan *p, const char *op, bool reference, const ChildLimits *limits) {
    ChildLimits own = *limits;
    ServedFile f = {op, p->folder, p->cases ? PLAN_OWN : NULL, p->cases ? PLAN_CASES : PLAN_OWN,
                    false};
    if (plan_has_functions(p) && !reference) return start_functions(p, own);
    if (reference) {
        f = (ServedFile){op, NULL, p->reference, p->cases, true};
        memcpy(own.keep, p->keep, sizeof own.keep);
    }
    return child_start(0, &own, serve_file, &f);
}

void functions_add_cases(Plan *p, const char *name) {
    if (p->like)
        functions_add_like(p);
    else
        listing_add(p, plan_start(p, name, false, &p->limits), name);
}

/* ---- Cases of an operation of this project, at which functions are compared with it ---- */

/* The arguments of a case that is the operation alone, on its inputs in their order, as members of
 * JSON. NULL: it is not. */
static const char *arguments_of(Plan *p, const Op *op, const CheckCase *c) {
    TapeRunner t = tape_runner_new(op->name, c);
    Arena arena = {0};
    CheckPoint point;
    char *text = NULL;
    size_t size;
    int next = 0;
    point_draw(&point, &arena, op->name, c, p->seed, POINT_DRAWN, 0);
    tape_runner_lay_out(&t, &point);
    tape_runner_ready(&t, &point, 0);
    tape_runner_record(&t, &point, &(JobWays){0});
    const Node *n = t.tape->last;
    bool alone = n && !n->previous && n->op == op;
    for (int k = 0; k < (alone ? n->inputs : 0); k++)
        if (n->in[k]) alone &= next < point.inputs && n->in[k] == t.x[0][next++];
    if (alone && next == point.inputs) {
        FILE *out = text_open(&text, &size);
        if (op->arguments) op->arguments(n, out);
        text_close(out, &text);
    }
    const char *found = text ? plan_text(p, text, NULL) : NULL;
    free(text);
    tape_runner_free(&t);
    arena_free(&arena);
    return found;
}

/* One tensor passed twice has no meaning for functions. NumPy refuses the maximum of no elements,
 * and a row of -inf alone is this project's to define. */
static bool takes_input(const CheckInput *in) {
    long count = shape_count(in->shape);
    for (long i = 0; i < count; i++)
        if (in->values && !isfinite(in->values[i])) return false;
    return count > 0 && !in->same_as;
}

void functions_add_like(Plan *p) {
    for (int i = 0; i < p->like->n_cases; i++) {
        CheckCase c = p->like->cases[i];
        bool fits = true;
        for (int k = 0; k < CHECK_INPUTS && c.in[k].name; k++) {
            fits &= takes_input(&c.in[k]);
            c.in[k].layout = CONTIGUOUS;
        }
        const char *arguments = fits ? arguments_of(p, p->like, &c) : NULL;
        if (!arguments) continue;
        PlanItem *item = plan_item(p, p->like->name, c.name, i);
        item->c = c;
        item->arguments = arguments;
    }
}

char *functions_line(const PlanItem *item) {
    char *text;
    size_t size;
    FILE *out = text_open(&text, &size);
    fprintf(out, "case {\"number\": %d, \"arguments\": {%s}", item->arguments ? 0 : item->index,
            item->arguments ? item->arguments : "");
    for (int gradients = 0; gradients < 2; gradients++) {
        const char *comma = "";
        fprintf(out, ", \"%s\": [", gradients ? "gradients" : "inputs");
        for (const CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS && in->name; in++) {
            if (gradients && in->constant) continue;
            fputs(comma, out);
            json_print(out, in->name);
            comma = ", ";
        }
        fputc(']', out);
    }
    fprintf(out, "}\n");
    text_close(out, &text);
    return text;
}
