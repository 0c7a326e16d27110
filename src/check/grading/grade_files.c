#include "check/grading/grade_files.h"
#include "base/directory.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/directories.h"
#include "check/sandbox.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cut_short[] = "the run did not finish";

/* ---- Aspects of an operation that its cases leave untested ---- */

/* The aspects that the cases of an operation have covered so far. */
typedef struct Coverage {
    char op[REPORT_NAME]; /* "": no case yet */
    bool runs, elements, smooth, slope, one, sizes;
    Shape first;
    bool any;
} Coverage;

/* Adds the aspects that a report of the operation covers. */
static void coverage_look(Coverage *c, const CaseReport *r) {
    REPORT_SET(c->op, r->op);
    c->runs |= r->inputs > 0;
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        if (shape_count(in->shape) == 0) continue;
        for (int axis = 0; axis < in->shape.rank; axis++) c->one |= in->shape.size[axis] == 1;
        c->one |= in->shape.rank == 0;
        c->elements |= in->coordinates > 0;
        c->smooth |= in->kinks + in->flat < in->alone;
        c->slope |= in->sloped > 0;
        if (i) continue; /* the shape of the first input stands for all */
        if (!c->any) c->first = in->shape;
        c->sizes |= !shape_equal(in->shape, c->first);
        c->any = true;
    }
}

/* If aspects are untested, fills a report `coverage` that lists them: passed, or inconclusive if `strict`.
 * Starts anew. */
static bool coverage_says(Coverage *c, bool strict, CaseReport *r) {
    const struct {
        bool tested;
        const char *not_so;
    } aspect[] = {{c->elements, " no element has a gradient;"},
                  {c->smooth || !c->elements, " all points lie on kinks, or where the output is saturated;"},
                  {c->slope || !c->elements, " the slope is 0 everywhere;"},
                  {c->sizes, " all inputs have one shape;"},
                  {c->one, " no axis has size 1;"}};
    bool any = false, nothing = !c->elements;
    *r = (CaseReport){.verdict = strict || nothing ? INCONCLUSIVE : PASS};
    REPORT_SET(r->op, c->op);
    REPORT_SET(r->name, "coverage");
    size_t at = (size_t)snprintf(r->trouble, REPORT_TEXT, "not tested:");
    for (size_t i = 0; c->runs && i < sizeof aspect / sizeof *aspect; i++) {
        if (aspect[i].tested) continue;
        at += (size_t)snprintf(r->trouble + at, REPORT_TEXT - at, "%s", aspect[i].not_so);
        any = true;
    }
    r->trouble[at - any] = 0;
    *c = (Coverage){0};
    return any;
}

/* Reports on their way; after those of an operation comes one of what they do not test. */
typedef struct Stage {
    void (*sink)(void *context, const CaseReport *r);
    void *context;
    Coverage coverage;
    bool covers, strict;
} Stage;

static void end_operation(Stage *s) {
    CaseReport r;
    if (s->covers && coverage_says(&s->coverage, s->strict, &r)) s->sink(s->context, &r);
}

static void take_report(void *context, const CaseReport *r) {
    Stage *s = context;
    if (strcmp(s->coverage.op, r->op) != 0) end_operation(s);
    s->sink(s->context, r);
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

/* Judges what the plan has, and hands the reports to `sink`. */
static void judge(const Grading *g, void (*sink)(void *context, const CaseReport *r), void *context) {
    Stage stage = {.sink = sink, .context = context, .covers = !g->plan.given, .strict = g->strict};
    plan_run(&g->plan, take_report, &stage);
    end_operation(&stage);
}

/* A folder for all of a run, and in it one of each file's own. */
static bool open_folder(Grading *g, char folder[TEMPORARY_PATH], Error *e) {
    static char headers[PATH_ROOM];
    g->plan.at_once = pool_threads();
    g->file.headers = student_headers(headers);
    g->file.folder = folder;
    return directory_temporary(folder, e);
}

enum { OWN_PATH = TEMPORARY_PATH + 24 };
static bool make_own(char own[OWN_PATH], const char *folder, long i, Error *e) {
    snprintf(own, OWN_PATH, "%s/%ld", folder, i);
    return directory_make(own, e);
}

static void close_folder(Grading *g, const char *folder) {
    for (int i = 0; i < CHILD_KEEPS; i++)
        if (g->plan.keep[i] > 0) close(g->plan.keep[i]);
    plan_free(&g->plan);
    if (*folder) directory_remove(folder);
}

/* ---- A file ---- */

static bool grade_in(Grading *g, const char *folder, Show *show, Error *e) {
    char own[OWN_PATH];
    Error unwritten = {0};
    bool ok = plan_add_given(&g->plan, &g->file, e) && make_own(own, folder, 0, e);
    g->file.folder = own;
    ok = ok && plan_add_file(&g->plan, &g->file, e);
    g->show.notes = g->file.warnings;
    fputs(g->file.warnings, stderr);
    if (grade_unjudged(&g->plan, &g->show, ok ? cut_short : e->text, ok ? e : &unwritten) && ok)
        judge(g, show_report, show);
    else
        ok = false;
    directory_remove(own);
    return ok;
}

bool grade_file(Grading *g, Error *e) {
    char folder[TEMPORARY_PATH] = "";
    Show show;
    show_start(&show, &g->show);
    bool ok = grade_unjudged(&g->plan, &g->show, cut_short, e) && open_folder(g, folder, e) &&
              grade_in(g, folder, &show, e) && show_finish(&show, e);
    if (!ok) show_free(&show);
    close_folder(g, folder);
    return ok;
}

/* ---- A folder: each file is judged by a process of its own ---- */

typedef struct FolderRun {
    const Grading *all;
    const char *path, *folder;
    FileNames files;
    Status worst; /* of what was found about the files */
    Error *error; /* what keeps every file from being judged */
} FolderRun;

/* The head of a judge's message, before the reports. */
typedef struct Verdicts {
    Error error;
    char warnings[STUDENT_WARNINGS];
} Verdicts;

static void send_report(void *context, const CaseReport *r) {
    (void)context;
    child_send(r, sizeof *r);
}

static void judge_one(void *context, long i) {
    const FolderRun *run = context;
    Grading g = *run->all;
    Verdicts v = {0};
    char own[OWN_PATH], source[PATH_ROOM];
    if (run->error->status) return;
    bool ok = directory_file(source, run->path, run->files.name[i], STATUS_NO_INPUT, &v.error) &&
              make_own(own, run->folder, i, &v.error);
    g.file.source = source, g.file.folder = own;
    ok = ok && plan_add_file(&g.plan, &g.file, &v.error);
    memcpy(v.warnings, g.file.warnings, sizeof v.warnings);
    child_send(&v, sizeof v);
    if (ok) judge(&g, send_report, NULL);
}

/* DIR/NAME.ending for the file NAME.c, whose name may begin with folders: these are made. *path is NULL
 * where there is no DIR. */
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

/* How the reports of one file are shown. */
typedef struct FileShow {
    ShowOptions how;
    char junit[PATH_ROOM], gradescope[PATH_ROOM];
} FileShow;

static bool show_of(FileShow *s, const FolderRun *run, long i, Error *e) {
    const char *name = run->files.name[i];
    s->how = run->all->show;
    s->how.file = name, s->how.apart = true;
    return report_path(s->junit, &s->how.junit, name, "xml", e) &&
           report_path(s->gradescope, &s->how.gradescope, name, "json", e);
}

static void print_row(const char *name, const Show *show, const char *why) {
    const CheckTotals *t = &show->totals;
    double of, points = grade_points(show->report, show->count, &of);
    for (long i = 0; i < show->count && !*why; i++)
        if (show->report[i].verdict != PASS) why = show->report[i].trouble;
    printf("%-28s %6ld %7ld %7ld %8ld %8.4g %8.4g  %s\n", ESCAPED(name), t->cases, t->passed, t->failed,
           t->inconclusive, points, of, why);
}

/* Reports on a file whose judge found `v`, and `count` reports; why: "" or why there are no more. */
static void report_one(FolderRun *run, long i, const Verdicts *v, const char *reports, long count,
                       const char *why) {
    FileShow s;
    Show show;
    CaseReport r;
    Error verdict = {0};
    if (!show_of(&s, run, i, run->error)) return;
    s.how.notes = v->warnings;
    fputs(v->warnings, stderr);
    show_start(&show, &s.how);
    for (long k = 0; k < count; k++) {
        memcpy(&r, reports + (size_t)k * sizeof r, sizeof r);
        show_report(&show, &r);
    }
    if (!s.how.json) print_row(run->files.name[i], &show, why);
    if (*why)
        show_free(&show), grade_unjudged(&run->all->plan, &s.how, why, run->error);
    else
        show_finish(&show, &verdict);
    Status found = *why ? STATUS_NO : verdict.status;
    if (run->worst != STATUS_NO && found != STATUS_DONE) run->worst = found;
}

static void take_one(void *context, long i, const ChildEnd *end) {
    FolderRun *run = context;
    Verdicts v = {0};
    char own[OWN_PATH], text[CHILD_TEXT], why[REPORT_TEXT] = "";
    snprintf(own, sizeof own, "%s/%ld", run->folder, i);
    directory_remove(own);
    if (run->error->status || end->fate == CHILD_INTERRUPTED) return;
    if (end->size >= sizeof v) memcpy(&v, end->result, sizeof v);
    if (end->fate != CHILD_DONE)
        snprintf(why, sizeof why, "not judged: the judge %s", child_text(text, end, &(ChildLimits){0}));
    else
        REPORT_SET(why, v.error.text);
    long count = *why ? 0 : (long)((end->size - sizeof v) / sizeof(CaseReport));
    report_one(run, i, &v, end->result + sizeof v, count, why);
    /* Without a compiler or a folder no other file can be judged either. */
    if (v.error.status == STATUS_BUG || v.error.status == STATUS_CANNOT_CREATE) *run->error = v.error;
}

/* Before the first file is judged each has reports, which say that it is not. */
static bool report_all_unjudged(FolderRun *run, const char *why, Error *e) {
    FileShow s;
    bool ok = true;
    for (long i = 0; i < run->files.count && ok; i++)
        ok = show_of(&s, run, i, e) && grade_unjudged(&run->all->plan, &s.how, why, e);
    return ok;
}

static bool judge_all(FolderRun *run, Error *e) {
    const ChildLimits unlimited = {.seconds = 1e6, .keep = {run->all->plan.keep[0], run->all->plan.keep[1]}};
    if (!report_all_unjudged(run, "not judged: the run ended before it", e)) return false;
    if (!run->all->show.json)
        printf("%-28s %6s %7s %7s %8s %8s %8s\n", "file", "cases", "passed", "failed", "unproved", "points",
               "of");
    child_run_all(run->files.count, 1, &unlimited, judge_one, take_one, run);
    if (e->status) return false;
    return run->worst == STATUS_DONE || error_set(e, run->worst, "%s: not all is proved", run->path);
}

bool grade_folder(Grading *g, const char *path, Error *e) {
    char folder[TEMPORARY_PATH] = "";
    FolderRun run = {.all = g, .path = path, .folder = folder, .error = e};
    Error unfit = {0}, unwritten = {0};
    bool ok = directory_files(path, ".c", &run.files, e);
    if (ok && !run.files.count)
        ok = error_set(e, STATUS_NO_INPUT, "%s: found no C files in it, need one", ESCAPED(path));
    ok = ok && open_folder(g, folder, e);
    if (ok && !plan_add_given(&g->plan, &g->file, &unfit)) {
        report_all_unjudged(&run, unfit.text, &unwritten);
        ok = error_set(e, unfit.status, "%s", unfit.text);
    }
    ok = ok && judge_all(&run, e);
    directory_files_free(&run.files);
    close_folder(g, folder);
    return ok;
}
