#include "base/append.h"
#include "base/directory.h"
#include "check/directories.h"
#include "check/gradcheck/tape_runner.h"
#include "check/grading/student_file.h"
#include "check/sandbox.h"
#include "formats/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- Python ---- */

/* The interpreter that PYTHON names, or python3. */
static const char *python_name(void) {
    const char *python = getenv("PYTHON");
    return python && *python ? python : "python3";
}

/* Finds the interpreter, and what it reads: one path a line, the first its own. */
static void ask_python(void *context, long i) {
    static char code[] = "import importlib.util, os, sys, sysconfig\n"
                         "if not importlib.util.find_spec('numpy'): import numpy\n"
                         "p = [sys.executable, os.path.realpath(sys.executable), "
                         "sysconfig.get_config_var('LIBDIR') or '']\n"
                         "p += sys.path + [sys.prefix] * (sys.prefix != sys.base_prefix)\n"
                         "print('\\n'.join(x for x in p if os.path.exists(x)))";
    char *argument[] = {strdup(python_name()), strdup("-c"), code, NULL};
    (void)context;
    (void)i;
    child_become(argument);
}

static void take_python(void *context, long i, const ChildEnd *end) {
    Plan *p = context;
    const char *python = python_name(), *wrong;
    char said[CHILD_TEXT];
    (void)i;
    if (end->size) {
        p->readable = (const char *const *)plan_words(p, end->result, "\n");
        return;
    }
    child_last_line(said, sizeof said, end->printed);
    wrong = strstr(said, "No module named");
    if (wrong)
        error_set(&p->no_python, STATUS_UNAVAILABLE,
                  "%s: %s: install NumPy, or PYTHON=PATH names a Python with it", python, wrong);
    else
        error_set(&p->no_python, STATUS_UNAVAILABLE, "%s: %s", python,
                  strstr(said, "cannot be run") ? "cannot be run" : "is no Python");
}

void python_find(Plan *p) {
    child_run_all(1, 1, &(ChildLimits){.seconds = 20}, ask_python, take_python, p);
}

/* Copies the files that serve Python, the project's or those of `make install`, to the plan's
 * folder. */
static bool copy_host(const Plan *p, const StudentFile *f, Error *e) {
    static const char *const name[] = {"gradcheck.py", "gradcheck_file.py", "gradcheck_forms.py"};
    if (p->program) return true;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[PATH_CAPACITY], program[PATH_CAPACITY];
        snprintf(path, sizeof path, "%.*s/tools/check/%s", PATH_CAPACITY - 64, f->headers, name[i]);
        if (access(path, R_OK) != 0 && system_program(program, sizeof program)) {
            char *slash = strrchr(program, '/');
            if (slash) *slash = 0;
            snprintf(path, sizeof path, "%.*s/../share/tapeformer/%s", PATH_CAPACITY - 64, program,
                     name[i]);
            if (access(path, R_OK) != 0) /* beside the program, as pip installs it */
                snprintf(path, sizeof path, "%.*s/%s", PATH_CAPACITY - 64, program, name[i]);
        }
        if (!file_copy(path, NULL, p->folder, name[i], e)) return false;
    }
    return true;
}

/* Sets the plan's program: the interpreter with these words. */
static bool use_python(Plan *p, const StudentFile *f, const char *file, const char *name,
                       const char *given, Error *e) {
    if (!p->readable) python_find(p);
    if (!p->readable) return error_set(e, STATUS_UNAVAILABLE, "%s", p->no_python.text);
    enum { WORDS = 5 };
    const char *const words[WORDS] = {p->readable[0], "gradcheck_file.py", file, name, given};
    if (!copy_host(p, f, e)) return false;
    p->program = arena_alloc(&p->arena, (WORDS + 1) * sizeof *p->program);
    for (int i = 0; i < WORDS && words[i]; i++) p->program[i] = plan_text(p, words[i], NULL);
    return true;
}

static const char its_cases[] = "cases_of_all.py";

/* Adds a teacher's cases in Python, which are listed without the student's file. */
static bool add_python_cases(Plan *p, const StudentFile *f, const char *name, Error *e) {
    p->given = true;
    if (!file_copy(f->cases, NULL, f->folder, its_cases, e) ||
        !use_python(p, f, "--cases", its_cases, NULL, e))
        return false;
    functions_add_cases(p, name);
    return use_python(p, f, file_name(f->source), name, its_cases, e);
}

bool python_add_file(Plan *p, const StudentFile *f, Error *e) {
    const OpEntry *entry = f->like && !f->cases ? ops_find(f->like) : NULL;
    char name[REPORT_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strlen(f->name) - 3, f->name);
    p->folder = f->folder;
    if (f->cases && directory_ends_in(f->cases, ".py")) return add_python_cases(p, f, name, e);
    if (entry) {
        p->items = 0;
        p->like = entry->op;
        functions_add_like(p);
    }
    for (PlanItem *item = p->item; item < p->item + p->items; item++) {
        if (!entry) item->arguments = "";
        for (int k = 0; k < CHECK_INPUTS; k++) item->c.in[k].layout = CONTIGUOUS;
    }
    bool own = p->items == 0;
    if (!use_python(p, f, file_name(f->source), name, own ? NULL : p->item[0].op, e)) return false;
    if (own) functions_add_cases(p, name);
    return true;
}
