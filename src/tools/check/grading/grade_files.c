#include "check/grading/grade_files.h"
#include "base/append.h"
#include "base/directory.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/sandbox.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char cut_short[] = "the run did not finish";

/* A report with this verdict for each item of the plan, or one that stands for the run. To be
 * freed. */
CaseReport *grade_reports(const Plan *p, Verdict verdict, const char *why, long *count) {
    CaseReport *all = calloc((size_t)p->items + 1, sizeof *all);
    if (!all) error_no_memory("%ld reports", p->items);
    *count = p->items ? p->items : 1;
    all[0] = (CaseReport){.op = "gradcheck", .name = "run"};
    for (long i = 0; i < *count; i++) {
        if (p->items) plan_describe(p, &p->item[i], &all[i]);
        all[i].verdict = verdict;
        REPORT_SET(all[i].trouble, why);
        utf8_make_printable(all[i].trouble, "\n\t");
    }
    return all;
}

bool grade_unjudged(const Plan *p, const ShowOptions *how, Verdict verdict, const char *why,
                    Error *e) {
    long count;
    CaseReport *all = grade_reports(p, verdict, why, &count);
    bool ok = show_write(how, all, count, 0, e);
    free(all);
    return ok;
}

/* Whether the machine lacks something, and the file is not at fault. */
bool grade_is_lack(Status s) {
    return s == STATUS_UNAVAILABLE || s == STATUS_NO_MEMORY || s == STATUS_CANNOT_CREATE ||
           s == STATUS_IO || s == STATUS_BUG;
}

/* The verdict on a file that is not judged for this reason. */
Verdict grade_verdict_on(const Error *why) {
    return grade_is_lack(why->status) ? INCONCLUSIVE : FAIL;
}

const char *grade_own_path(char own[GRADE_PATH], const char *folder, long number) {
    snprintf(own, GRADE_PATH, "%s/%ld", folder, number);
    return own;
}

/* Notes what this machine does not confine. False: it must confine all. */
static bool note_gap(Grading *g, const char *folder, Error *e) {
    char probe[GRADE_PATH];
    if (!directory_make(grade_own_path(probe, folder, -1), e)) return false;
    g->show.gap = sandbox_gap(probe);
    directory_remove(probe);
    if (!g->show.gap) return true;
    snprintf(g->notes, sizeof g->notes, "not confined on this machine: %s\n", g->show.gap);
    g->show.notes = g->notes;
    return !g->confined ||
           error_set(e, STATUS_USAGE, "--confined: this machine does not confine %s", g->show.gap);
}

bool grade_is_python(const char *path) {
    return path && directory_ends_in(path, ".py");
}

/* A temporary directory of the run; each file has one of its own in it. The compilers of students'
 * files read a copy of the project's headers. */
bool grade_open(Grading *g, char folder[TEMPORARY_PATH], Error *e) {
    static const char *const sources[] = {".h", ".def", ".c", NULL}, *const alone[] = {".h", ".def",
                                                                                       NULL};
    static char headers[PATH_CAPACITY], readable[GRADE_PATH];
    g->file.headers = student_headers(headers);
    g->file.folder = folder;
    g->file.readable = readable;
    g->show.own_cases = !g->file.cases && !g->file.like;
    if (!directory_temporary(folder, e) || !note_gap(g, folder, e)) return false;
    snprintf(readable, sizeof readable, "%s/src", folder);
    if (grade_is_python(g->file.source) && access(headers, R_OK) != 0) return true; /* pip's */
    return directory_copy(headers, g->file.solution ? alone : sources, readable, e);
}

void grade_close(Grading *g, const char *folder) {
    for (int i = 0; i < CHILD_KEEPS; i++)
        if (g->plan.keep[i] > 0) close(g->plan.keep[i]);
    plan_free(&g->plan);
    if (*folder) directory_remove(folder);
}

static bool add_file(Plan *p, StudentFile *f, Error *e) {
    if (grade_is_python(f->source)) return python_add_file(p, f, e);
    if (grade_is_python(f->cases))
        return error_set(e, STATUS_NO, "the cases are in Python, and the file is in C");
    return student_add_file(p, f, e);
}

/* Adds what is given besides the file; a Python file takes an operation of this project as it is.
 */
bool grade_add_given(Grading *g, Error *e) {
    const StudentFile *f = &g->file;
    bool python = grade_is_python(f->source) && !f->cases && f->like && ops_find(f->like);
    return python || grade_is_python(f->cases) || student_add_given(&g->plan, f, e);
}

/* Copies the file to its own directory, under a name that says nothing of it, and adds its cases.
 * `shown` names it in messages. */
static bool take_file(Grading *g, const char *own, const char *path, const char *shown, Error *e) {
    static char name[PATH_CAPACITY], source[GRADE_PATH + 16];
    const char *submitted = grade_is_python(path) ? "submission.py" : "submission.c";
    snprintf(name, sizeof name, "%s", file_name(path));
    utf8_make_printable(name, "");
    snprintf(source, sizeof source, "%s/%s", own, submitted);
    g->file.name = name;
    g->file.source = source;
    g->file.folder = own;
    return directory_make(own, e) && chmod(own, 0700) == 0 &&
           file_copy(path, shown, own, submitted, e) && add_file(&g->plan, &g->file, e);
}

/* Judges the file in a directory of its own, and shows its reports. */
bool grade_in(Grading *g, const char *folder, long number, const char *path, const char *shown,
              Show *show, Error *e) {
    char own[GRADE_PATH];
    directory_remove(grade_own_path(own, folder, number)); /* of a judge that has died */
    bool ok = take_file(g, own, path, shown, e);
    text_append(g->notes, sizeof g->notes, "%s", g->file.warnings);
    g->show.notes = g->notes;
    ok = ok && grade_unjudged(&g->plan, &g->show, FAIL, cut_short, e);
    if (ok) plan_run(&g->plan, show_report, show);
    show_end_operation(show);
    directory_remove(own);
    return ok;
}

bool grade_file(Grading *g, const char *path, Error *e) {
    char folder[TEMPORARY_PATH] = "";
    Show show;
    Error unwritten = {0};
    g->file.source = path;
    show_begin(&show, &g->show);
    bool ok = grade_open(g, folder, e) && grade_add_given(g, e) &&
              grade_in(g, folder, 0, path, path, &show, e);
    if (!ok) grade_unjudged(&g->plan, &g->show, grade_verdict_on(e), e->text, &unwritten);
    if (ok)
        ok = show_finish(&show, e);
    else
        show_free(&show);
    fflush(stdout);
    fputs(g->file.warnings, stderr);
    grade_close(g, folder);
    return ok;
}
