#include "check/grading/student_file.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/directories.h"
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPS = 64 };

/* ---- The operations of a file ---- */

/* Replaces comments and the contents of strings by blanks. */
static void blank_comments(char *text) {
    for (char *p = text; *p; p++) {
        char quote = *p;
        if (quote == '"' || quote == '\'') {
            for (p++; *p && *p != quote && *p != '\n'; p++) {
                if (*p == '\\' && p[1]) *p++ = ' ';
                *p = ' ';
            }
            if (!*p) return;
        } else if (p[0] == '/' && p[1] == '*') {
            char *end = strstr(p + 2, "*/");
            size_t length = end ? (size_t)(end + 2 - p) : strlen(p);
            memset(p, ' ', length);
            p += length - 1;
        } else if (p[0] == '/' && p[1] == '/') {
            size_t length = strcspn(p, "\n");
            memset(p, ' ', length);
            p += length - 1;
        }
    }
}

int student_names(const char *source, char (*names)[STUDENT_NAME], int max, Error *e) {
    static const char form[] = "(^|[^A-Za-z0-9_])Op[[:space:]]+op_([A-Za-z0-9_]+)[[:space:]]*=";
    char *text;
    size_t size;
    int count = 0;
    regex_t regex;
    regmatch_t found[3];
    if (!file_read(source, 1 << 24, &text, &size, e)) return 0;
    if (regcomp(&regex, form, REG_EXTENDED) != 0) error_no_memory("a regular expression");
    blank_comments(text);
    for (const char *at = text; count < max; at += found[0].rm_eo) {
        if (regexec(&regex, at, 3, found, 0) != 0) break;
        int length = (int)(found[2].rm_eo - found[2].rm_so);
        if (length < STUDENT_NAME)
            snprintf(names[count++], STUDENT_NAME, "%.*s", length, at + found[2].rm_so);
    }
    regfree(&regex);
    for (volatile char *p = text; size--;)
        *p++ = 0; /* it may be a solution, and children inherit this memory */
    free(text);
    if (!count) error_set(e, STATUS_NO, "defines no operation: found no `const Op op_NAME = {…}`");
    return count;
}

/* ---- What is given besides the file ---- */

/* Adds the cases of the operations that the source defines: those of the library in the folder, or
 * of the file itself. */
static void add_cases(Plan *p, const char *source, const ServedFile *library, Error *e) {
    char names[MAX_OPS][STUDENT_NAME];
    int count = student_names(source, names, MAX_OPS, e);
    for (int i = 0; i < count; i++) {
        ServedFile f = *library;
        f.name = names[i];
        listing_add(p, child_start(0, &p->limits, serve_file, &f), names[i]);
    }
}

/* Writes the template of an operation; its cases call the student's function. */
static bool write_template(const char *path, const StudentFile *f, Error *e) {
    FILE *out = fopen(path, "w");
    if (!out) return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be written", path);
    bool ok = template_print(f->like, "c", f->headers, out, e);
    return fclose(out) == 0 && ok;
}

/* The path by which a library is loaded in this process and its children, which keep the file open
 * as number i. The library has no name any more where the system can do without. */
static const char *keep_open(Plan *p, int i, const char *library) {
    char path[32];
    p->keep[i] = open(library, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", p->keep[i]);
    if (access(path, R_OK) != 0) return library;
    unlink(library);
    return plan_text(p, path, NULL);
}

/* Compiles a teacher's file in the folder; returns the library. NULL: as plan_add_given. */
static const char *compile_given(Plan *p, const StudentFile *f, const char *source,
                                 const char *library, StudentKind kind, Error *e) {
    StudentSource s = {source, plan_text(p, f->folder, library), file_name(source), kind};
    if (student_compile(&s, f->headers)) return s.library;
    if (s.error.status == STATUS_NO)
        error_set(e, STATUS_BAD_DATA, "%s: %s", source, s.error.text);
    else
        *e = s.error;
    return NULL;
}

enum { CASES, REFERENCE }; /* in p->keep */

bool student_add_given(Plan *p, const StudentFile *f, Error *e) {
    const OpEntry *entry = f->like ? ops_find(f->like) : NULL;
    const char *like = f->like, *cases = f->cases ? f->cases : f->like;
    char name[STUDENT_NAME + 8];
    Error unfit = {0};
    if (!cases) return true;
    if (entry) {
        snprintf(name, sizeof name, "core/ops/%s.c", f->like);
        like = plan_text(p, f->headers, name);
    }
    if (entry && !f->cases) {
        p->like = entry->op;
        cases = plan_text(p, f->folder, "cases.c");
        if (!write_template(cases, f, e)) return false;
    }
    p->given = true;
    p->cases = compile_given(p, f, cases, PLAN_CASES, TEACHERS_CASES, e);
    if (!p->cases) return false;
    add_cases(p, cases, &(ServedFile){.folder = f->folder, .cases = PLAN_CASES, .lazily = true},
              &unfit);
    if (unfit.status) return error_set(e, STATUS_BAD_DATA, "%s: %s", cases, unfit.text);
    p->cases = keep_open(p, CASES, p->cases);
    if (!like || p->like) return true;
    p->reference = compile_given(p, f, like, "reference.so", TEACHERS, e);
    if (!p->reference) return false;
    p->reference = keep_open(p, REFERENCE, p->reference);
    return true;
}

/* ---- The file ---- */

/* Compiles the file; *own gets the reason if it cannot be loaded, and `why` the whole of it. */
static void compile_own(Plan *p, StudentFile *f, Error *own, char why[REPORT_FULL]) {
    const char *hidden[] = {f->cases ? f->cases : f->like, f->cases ? f->like : NULL, NULL};
    StudentSource s = {f->source, plan_text(p, f->folder, PLAN_OWN), f->name, STUDENTS,
                       hidden,    f->solution ? f->headers : NULL};
    student_compile(&s, f->readable);
    *own = s.error;
    memcpy(why, s.message, sizeof s.message);
    memcpy(f->warnings, s.warnings, sizeof f->warnings);
}

bool student_add_file(Plan *p, StudentFile *f, Error *e) {
    char why[REPORT_FULL];
    Error own;
    p->folder = f->folder;
    if (p->cases && !file_copy(p->cases, NULL, f->folder, PLAN_CASES, e)) return false;
    compile_own(p, f, &own, why);
    if (!p->cases && own.status == STATUS_DONE)
        add_cases(p, f->source, &(ServedFile){.folder = f->folder, .cases = PLAN_OWN}, &own);
    if (own.status == STATUS_DONE) return true;
    if (!p->items) { /* one that stands for all is named after the file */
        PlanItem *item = plan_item(p, f->name, "compiling", -1);
        char *dot = strrchr(item->op, '.');
        if (dot) *dot = 0;
    }
    for (long i = 0; i < p->items; i++) {
        p->item[i].index = -1;
        REPORT_SET(p->item[i].trouble, *why ? why : own.text);
    }
    return own.status == STATUS_NO || error_set(e, own.status, "%s", own.text);
}
