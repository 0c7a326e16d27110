#include "base/directory.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/grading/student_file.h"
#include "check/sandbox.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 5 };

/* Finds the interpreter, and what it reads: one path a line, the first its own. */
static void ask_python(void *context, long i) {
    const char *python = getenv("PYTHON");
    static char code[] = "import os, sys, sysconfig, numpy\n"
                         "p = [sys.executable, os.path.realpath(sys.executable), "
                         "sysconfig.get_config_var('LIBDIR') or '']\n"
                         "p += sys.path + [sys.prefix] * (sys.prefix != sys.base_prefix)\n"
                         "print('\\n'.join(x for x in p if os.path.exists(x)))";
    char *argument[] = {strdup(python && *python ? python : "python3"), strdup("-c"), code, NULL};
    (void)context;
    (void)i;
    child_become(argument);
}

static void take_python(void *context, long i, const ChildEnd *end) {
    Plan *p = context;
    const char *python = getenv("PYTHON"), *wrong;
    char said[CHILD_TEXT];
    (void)i;
    if (end->size) {
        p->readable = (const char *const *)plan_words(p, end->result, "\n");
        return;
    }
    python = python && *python ? python : "python3";
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
