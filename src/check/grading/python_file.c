#include "base/directory.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/check_system.h"
#include "check/grading/directories.h"
#include "check/grading/functions.h"
#include "formats/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 4 };

static char *kept(CheckPlan *p, const char *text) {
    return strcpy(arena_alloc(&p->arena, strlen(text) + 1), text);
}

/* Finds the interpreter, and what it reads: one path a line, the first its own. */
static void ask_python(void *context, long i) {
    const char *python = getenv("PYTHON");
    static char code[] =
        "import os, sys, sysconfig, numpy\n"
        "p = [sys.executable, os.path.realpath(sys.executable), sysconfig.get_config_var('LIBDIR') or '']\n"
        "p += sys.path + [sys.prefix] * (sys.prefix != sys.base_prefix)\n"
        "print('\\n'.join(x for x in p if os.path.exists(x)))";
    char *argument[] = {strdup(python && *python ? python : "python3"), strdup("-c"), code, NULL};
    (void)context, (void)i;
    child_become(argument);
}

static void take_python(void *context, long i, const ChildEnd *end) {
    char *library = context;
    (void)i;
    bool ok = end->size && end->size < PYTHON_LIBRARY;
    snprintf(library, PYTHON_LIBRARY, "%s", ok ? end->result : "");
}

/* Copies a file to the plan's folder. */
static bool copy_to(const char *folder, const char *from, const char *name, Error *e) {
    char path[PATH_ROOM], block[1 << 14];
    if (!directory_file(path, folder, name, STATUS_CANNOT_CREATE, e)) return false;
    FILE *in = fopen(from, "rb"), *out = in ? fopen(path, "wb") : NULL;
    bool ok = in && out;
    for (size_t n; ok && (n = fread(block, 1, sizeof block, in)) > 0;) ok = fwrite(block, 1, n, out) == n;
    if (in) fclose(in);
    if (out) ok &= fclose(out) == 0;
    return ok || error_set(e, in ? STATUS_CANNOT_CREATE : STATUS_NO_INPUT, "%s: %s",
                           ESCAPED(in ? path : from), strerror(errno));
}

/* The folder of gradcheck.py: the project's, or that of `make install`. */
static bool copy_host(const CheckPlan *p, const StudentFile *f, Error *e) {
    static const char *const name[] = {"gradcheck.py", "gradcheck_file.py"};
    for (int i = 0; i < 2; i++) {
        char path[PATH_ROOM], program[PATH_ROOM];
        snprintf(path, sizeof path, "%.*s/check/%s", PATH_ROOM - 64, f->headers, name[i]);
        if (access(path, R_OK) != 0 && system_program(program, sizeof program)) {
            char *slash = strrchr(program, '/');
            if (slash) *slash = 0;
            snprintf(path, sizeof path, "%.*s/../share/tapeformer/%s", PATH_ROOM - 64, program, name[i]);
        }
        if (!copy_to(p->folder, path, name[i], e)) return false;
    }
    return true;
}

/* Sets the plan's program: the interpreter with these words. */
static bool use_python(CheckPlan *p, const StudentFile *f, const char *word, const char *further, Error *e) {
    ChildLimits limits = {.seconds = 20};
    char *library = arena_alloc(&p->arena, PYTHON_LIBRARY);
    child_run_all(1, 1, &limits, ask_python, take_python, library);
    size_t length = strcspn(library, "\n");
    if (!length) return error_set(e, STATUS_BUG, "python3: cannot be run, or has no NumPy");
    if (!copy_host(p, f, e)) return false;
    char *own = arena_alloc(&p->arena, length + 1);
    memcpy(own, library, length);
    p->library = library;
    p->program = arena_alloc(&p->arena, (WORDS + 1) * sizeof *p->program);
    const char *const words[] = {own, "gradcheck_file.py", word, further};
    for (int i = 0; i < 4 && words[i]; i++) p->program[i] = kept(p, words[i]);
    return true;
}

static const char its_cases[] = "cases_of_all.py";

bool functions_add_file(CheckPlan *p, const StudentFile *f, Error *e) {
    const char *slash = strrchr(f->source, '/'), *file = slash ? slash + 1 : f->source;
    const OpEntry *entry = f->like && !f->cases ? ops_find(f->like) : NULL;
    char name[STUDENT_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strlen(file) - 3, file);
    p->folder = f->folder;
    if (!copy_to(f->folder, f->source, file, e)) return false;
    if (f->cases && directory_ends_in(f->cases, ".py")) {
        p->teachers = true;
        if (!copy_to(f->folder, f->cases, its_cases, e) || !use_python(p, f, "--cases", its_cases, e) ||
            !functions_add_cases(p, name, e))
            return false;
        p->program[2] = kept(p, file), p->program[3] = kept(p, its_cases);
        return true;
    }
    if (entry) {
        p->items = 0, p->like = entry->op;
        functions_add_like(p);
        return use_python(p, f, file, entry->op->name, e);
    }
    for (CheckItem *item = p->item; item < p->item + p->items; item++) {
        item->arguments = "";
        for (int k = 0; k < CHECK_INPUTS; k++) item->c.in[k].layout = CONTIGUOUS;
    }
    if (p->items) return use_python(p, f, file, p->item[0].op, e);
    return use_python(p, f, file, NULL, e) && functions_add_cases(p, name, e);
}

/* The keys of JSON members, as Python's parameters. */
static void print_parameters(FILE *out, const char *members) {
    Error e = {0};
    JsonString key;
    size_t length = strlen(members) + 3;
    char *whole = malloc(length);
    if (!whole) error_no_memory("arguments");
    snprintf(whole, length, "{%s}", members);
    Json j = json_over("arguments", whole, length - 1, &e);
    for (json_enter(&j, '{'); json_member(&j, &key); json_skip(&j)) fprintf(out, ", %s", key.text);
    free(whole);
}

bool functions_template(const char *name, const char *headers, FILE *out, Error *e) {
    const OpEntry *entry = ops_find(name);
    CheckPlan p = {.like = entry ? entry->op : NULL, .seed = 1};
    char path[PATH_ROOM], *text;
    size_t size;
    if (!entry)
        return error_set(e, STATUS_USAGE, "--template: found '%s', need an operation that --list shows",
                         ESCAPED(name));
    snprintf(path, sizeof path, "%.*s/ops/%s.c", PATH_ROOM - 80, headers, name);
    functions_add_like(&p);
    if (!p.items || !file_read(path, 1 << 20, &text, &size, e))
        return e->status || error_set(e, STATUS_USAGE, "--template: %s is no exercise for functions", name);
    const char *end = strstr(text, "*/"), *derivation = strstr(text, " * Backward");
    fprintf(out, "\"\"\"");
    for (const char *line = text + 3; line < (derivation && derivation < end ? derivation : end);) {
        int length = (int)strcspn(line, "\n");
        int skip = strncmp(line, " * ", 3) == 0 ? 3 : strncmp(line, " *", 2) == 0 ? 2 : 0;
        fprintf(out, "%.*s\n", length - skip, line + skip);
        line += length + 1;
    }
    const CheckItem *item = p.item;
    fprintf(out,
            "Write forward, which returns y and what backward needs, and backward, which returns the "
            "gradients.\n\n"
            "    ./gradcheck FILE.py\n    ./gradcheck FILE.py --like %s\n\"\"\"\nimport numpy as np\n\ncases "
            "= [dict(",
            name);
    for (const CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS && in->name; in++) {
        fprintf(out, "%s=(", in->name);
        for (int axis = 0; axis < in->shape.rank; axis++) fprintf(out, "%ld, ", in->shape.size[axis]);
        fprintf(out, "), ");
    }
    fprintf(out, "**{%s})]\n\n\ndef forward(", item->arguments);
    for (const CheckInput *in = item->c.in; in < item->c.in + CHECK_INPUTS && in->name; in++)
        fprintf(out, in == item->c.in ? "%s" : ", %s", in->name);
    print_parameters(out, item->arguments);
    fprintf(out, "):\n    raise NotImplementedError(\"forward is to be written\")\n    return y, cache\n\n\n"
                 "def backward(dy, cache):\n    raise NotImplementedError(\"backward is to be written\")\n");
    free(text);
    plan_free(&p);
    return true;
}
