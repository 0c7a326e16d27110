#include "check/grading/grade_files.h"
#include "base/directory.h"
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/coverage.h"
#include "check/grading/directories.h"
#include "check/grading/grade_parts.h"
#include <stdlib.h>
#include <string.h>

/* Reports on their way, and behind those of an operation what they do not test. */
typedef struct Stage {
    Show *show;
    Coverage coverage;
    bool covers, strict;
} Stage;

static void end_operation(Stage *s) {
    CaseReport r;
    if (s->covers && coverage_says(&s->coverage, s->strict, &r)) show_report(s->show, &r);
}

static void take_report(void *context, const CaseReport *r) {
    Stage *s = context;
    if (strcmp(s->coverage.op, r->op) != 0) end_operation(s);
    show_report(s->show, r);
    coverage_look(&s->coverage, r);
}

bool grade_unjudged(const CheckPlan *p, const ShowOptions *how, const char *why, Error *e) {
    long count = p->items;
    CaseReport *all = calloc((size_t)count + 1, sizeof *all);
    if (!all) return error_set(e, STATUS_NO_MEMORY, "memory: %ld reports", count);
    plan_unjudged(p, why, all);
    if (!count) {
        count = 1;
        all[0] = (CaseReport){.op = "gradcheck", .name = "run", .verdict = FAIL};
        REPORT_SET(all[0].trouble, why);
    }
    bool ok = show_write(how, all, count, 0, e);
    free(all);
    return ok;
}

/* Judges the file, whose reports `show` then holds. The plan is to be freed, the show to be ended, whatever comes. */
static bool judge(Grading *g, Show *show, Error *e) {
    static const char cut_short[] = "the run did not come to its end";
    Error unwritten = {0};
    show_start(show, &g->show);
    if (!g->show.apart && !grade_unjudged(&g->plan, &g->show, cut_short, e)) return false;
    bool ok = plan_add_file(&g->plan, &g->file, e);
    g->show.notes = g->file.warnings;
    fputs(g->file.warnings, stderr);
    if (!grade_unjudged(&g->plan, &g->show, ok ? cut_short : e->text, ok ? e : &unwritten) || !ok)
        return false;
    g->plan.at_once = pool_threads();
    g->plan.curves = g->show.curve;
    Stage stage = {.show = show, .covers = !g->plan.cases, .strict = g->strict};
    plan_run(&g->plan, take_report, &stage);
    end_operation(&stage);
    return true;
}

bool grade_file(Grading *g, Error *e) {
    char headers[PATH_ROOM], folder[TEMPORARY_PATH];
    Show show;
    if (!directory_temporary(folder, e)) return false;
    g->file.folder = folder, g->file.headers = student_headers(headers);
    bool ok = judge(g, &show, e) && show_finish(&show, e);
    if (!ok) show_free(&show);
    plan_free(&g->plan);
    directory_remove(folder);
    return ok;
}

/* ---- A folder ---- */

/* DIR/NAME.ending for the file NAME.c, whose name may begin with folders: these are made. *path is NULL where there is no
 * DIR. */
static bool report_path(char room[PATH_ROOM], const char **path, const char *file, const char *ending,
                        Error *e) {
    char name[PATH_ROOM], folder[PATH_ROOM];
    if (!*path) return true;
    snprintf(name, sizeof name, "%.*s.%s", (int)strlen(file) - 2, file, ending);
    if (!directory_file(room, *path, name, STATUS_CANNOT_CREATE, e)) return false;
    *path = room;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(room, '/') - room), room);
    return directory_make(folder, e);
}

static void print_row(const char *name, const Show *show, const Error *e) {
    const CheckTotals *t = &show->totals;
    double of, points = grade_points(show->report, show->count, &of);
    const char *why = e->status ? e->text : "";
    for (long i = 0; i < show->count && !*why; i++)
        if (show->report[i].verdict != PASS) why = show->report[i].trouble;
    printf("%-28s %6ld %7ld %7ld %8ld %8.4g %8.4g  %s\n", ESCAPED(name), t->cases, t->passed, t->failed,
           t->inconclusive, points, of, why);
}

/* The file of this name, with report files of its own. */
typedef struct FolderFile {
    char source[PATH_ROOM], junit[PATH_ROOM], gradescope[PATH_ROOM];
} FolderFile;

static bool enter_file(Grading *g, FolderFile *f, const char *path, const char *name, Error *e) {
    if (!directory_file(f->source, path, name, STATUS_NO_INPUT, e)) return false;
    g->file.source = f->source;
    g->show.file = name, g->show.apart = true;
    return report_path(f->junit, &g->show.junit, name, "xml", e) &&
           report_path(f->gradescope, &g->show.gradescope, name, "json", e);
}

/* Before the first is judged each file has reports, which say that it is not. */
static bool report_all_unjudged(const Grading *all, const char *path, const FileNames *files, Error *e) {
    CheckPlan plan = all->plan;
    Error unfit = {0};
    bool given = plan_add_given(&plan, &all->file, &unfit), ok = true;
    for (long i = 0; i < files->count && ok; i++) {
        Grading g = *all;
        FolderFile f;
        ok = enter_file(&g, &f, path, files->name[i], e) &&
             grade_unjudged(&plan, &g.show, given ? "not judged: the run ended before it" : unfit.text, e);
    }
    plan_free(&plan);
    return ok && (given || error_set(e, unfit.status, "%s", unfit.text));
}

/* One file of the folder; what is found about it counts in *worst. False: no other can be judged either. */
static bool grade_one(const Grading *all, const char *path, const char *name, Status *worst, Error *e) {
    Grading g = *all;
    FolderFile f;
    Error own = {0}, verdict = {0};
    Show show;
    if (!enter_file(&g, &f, path, name, e)) return false;
    bool judged = judge(&g, &show, &own);
    if (!g.show.json) print_row(name, &show, &own);
    if (judged)
        show_finish(&show, &verdict);
    else
        show_free(&show);
    plan_free(&g.plan);
    Status found = judged ? verdict.status : STATUS_NO;
    if (*worst != STATUS_NO && found != STATUS_DONE) *worst = found;
    bool usable =
        own.status != STATUS_BAD_DATA && own.status != STATUS_BUG && own.status != STATUS_CANNOT_CREATE;
    return usable || error_set(e, own.status, "%s", own.text);
}

bool grade_folder(Grading *g, const char *path, Error *e) {
    char headers[PATH_ROOM], folder[TEMPORARY_PATH] = "";
    FileNames files;
    Status worst = STATUS_DONE;
    bool ok = directory_files(path, ".c", &files, e);
    if (ok && !files.count)
        ok = error_set(e, STATUS_NO_INPUT, "%s: found no C files in it, need one", ESCAPED(path));
    ok = ok && directory_temporary(folder, e);
    g->file.folder = folder, g->file.headers = student_headers(headers);
    ok = ok && report_all_unjudged(g, path, &files, e);
    if (ok && !g->show.json)
        printf("%-28s %6s %7s %7s %8s %8s %8s\n", "file", "cases", "passed", "failed", "unproved", "points",
               "of");
    for (long i = 0; i < files.count && ok && !interrupt_signal(); i++)
        ok = grade_one(g, path, files.name[i], &worst, e);
    directory_files_free(&files);
    if (*folder) directory_remove(folder);
    return ok && (worst == STATUS_DONE || error_set(e, worst, "%s: not all is proved", path));
}
