#include "check/grading/grade_files.h"
#include "base/append.h"
#include "base/directory.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/directories.h"
#include "check/sandbox.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const SOURCES[] = {".c", ".py", NULL};

static const char cut_short[] = "the run did not finish";

bool grade_unjudged(const Plan *p, const ShowOptions *how, const char *why, Error *e) {
    CaseReport *all = calloc((size_t)p->items + 1, sizeof *all);
    if (!all) return error_set(e, STATUS_NO_MEMORY, "memory: %ld reports", p->items);
    all[0] = (CaseReport){.op = "gradcheck", .name = "run", .verdict = FAIL};
    REPORT_SET(all[0].trouble, why);
    for (long i = 0; i < p->items; i++) {
        all[i] = (CaseReport){.verdict = FAIL};
        plan_describe(p, &p->item[i], &all[i]);
        REPORT_SET(all[i].trouble, why);
    }
    bool ok = show_write(how, all, p->items ? p->items : 1, 0, e);
    free(all);
    return ok;
}

enum { OWN_PATH = TEMPORARY_PATH + 24 };

static const char *own_path(char own[OWN_PATH], const char *folder, long number) {
    snprintf(own, OWN_PATH, "%s/%ld", folder, number);
    return own;
}

/* Notes what this machine does not confine. False: it must confine all. */
static bool note_gap(Grading *g, const char *folder, Error *e) {
    char probe[OWN_PATH];
    if (!directory_make(own_path(probe, folder, -1), e)) return false;
    g->show.gap = sandbox_gap(probe);
    directory_remove(probe);
    if (!g->show.gap) return true;
    snprintf(g->notes, sizeof g->notes, "not confined on this machine: %s\n", g->show.gap);
    g->show.notes = g->notes;
    return !g->confined ||
           error_set(e, STATUS_USAGE, "--confined: this machine does not confine %s", g->show.gap);
}

/* A temporary directory of the run; each file has one of its own in it. */
static bool open_folder(Grading *g, char folder[TEMPORARY_PATH], Error *e) {
    static char headers[PATH_ROOM];
    g->file.headers = student_headers(headers);
    g->file.folder = folder;
    g->show.coverage = !g->file.cases && !g->file.like;
    return directory_temporary(folder, e) && note_gap(g, folder, e);
}

static void close_folder(Grading *g, const char *folder) {
    for (int i = 0; i < CHILD_KEEPS; i++)
        if (g->plan.keep[i] > 0) close(g->plan.keep[i]);
    plan_free(&g->plan);
    if (*folder) directory_remove(folder);
}

static bool is_python(const char *path) {
    return path && directory_ends_in(path, ".py");
}

static bool add_file(Plan *p, StudentFile *f, Error *e) {
    if (is_python(f->source)) return python_add_file(p, f, e);
    if (is_python(f->cases)) return error_set(e, STATUS_NO, "the cases are in Python, and the file is in C");
    return student_add_file(p, f, e);
}

/* Adds what is given besides the file; a Python file takes an operation of this project as it is. */
static bool add_given(Grading *g, Error *e) {
    const StudentFile *f = &g->file;
    bool python = is_python(f->source) && !f->cases && f->like && ops_find(f->like);
    return python || is_python(f->cases) || student_add_given(&g->plan, f, e);
}

/* Judges the file in a directory of its own, and shows its reports. */
static bool grade_in(Grading *g, const char *folder, long number, Show *show, Error *e) {
    char own[OWN_PATH];
    g->file.folder = own_path(own, folder, number);
    bool ok = directory_make(own, e) && add_file(&g->plan, &g->file, e);
    text_append(g->notes, sizeof g->notes, "%s", g->file.warnings);
    g->show.notes = g->notes;
    fputs(g->file.warnings, stderr);
    ok = ok && grade_unjudged(&g->plan, &g->show, cut_short, e);
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
    show_start(&show, &g->show);
    bool ok = open_folder(g, folder, e) && add_given(g, e) && grade_in(g, folder, 0, &show, e);
    if (!ok) grade_unjudged(&g->plan, &g->show, e->text, &unwritten);
    ok = ok ? show_finish(&show, e) : (show_free(&show), false);
    close_folder(g, folder);
    return ok;
}

/* ---- A directory: each file is judged by a process of its own, which writes its reports ---- */

/* How a file's process has ended. */
typedef struct FileEnd {
    bool ended;
    Error found;       /* the verdict */
    char *text, *said; /* for stdout and stderr; NULL: it has died */
} FileEnd;

typedef struct FolderRun {
    Grading *all;
    const char *path, *folder;
    FileNames files, left;
    FileEnd *end; /* [files] */
    long next;    /* the next file to be printed */
    Status worst; /* of the verdicts on files */
    Error *error; /* why no file can be judged */
} FolderRun;

/* DIR/NAME.ending for the file NAME.c or NAME.py. NAME may begin with directories, which are created. *path is NULL
 * if there is no DIR. */
static bool report_path(char room[PATH_ROOM], const char **path, const char *file, const char *ending,
                        Error *e) {
    char name[PATH_ROOM], folder[PATH_ROOM];
    if (!*path) return true;
    snprintf(name, sizeof name, "%.*s.%s", (int)(strrchr(file, '.') - file), file, ending);
    if (!directory_file(room, *path, name, STATUS_CANNOT_CREATE, e)) return false;
    *path = room;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(room, '/') - room), room);
    return directory_make(folder, e);
}

/* How the reports of one file are shown. */
typedef struct FileShow {
    ShowOptions how;
    char gradescope[PATH_ROOM];
} FileShow;

static bool show_of(FileShow *s, const FolderRun *run, long i, Error *e) {
    const char *name = run->files.name[i];
    s->how = run->all->show;
    s->how.file = name, s->how.apart = true;
    return report_path(s->gradescope, &s->how.gradescope, name, "json", e);
}

/* Writes reports that say why a file is not judged. */
static bool report_unjudged(const FolderRun *run, long i, const char *why, Error *e) {
    FileShow s;
    return show_of(&s, run, i, e) && grade_unjudged(&run->all->plan, &s.how, why, e);
}

static bool report_all_unjudged(const FolderRun *run, const char *why, Error *e) {
    bool ok = true;
    for (long i = 0; i < run->files.count && ok; i++) ok = report_unjudged(run, i, why, e);
    return ok;
}

static void print_row(FILE *out, const char *name, const Show *show, const char *why) {
    const CheckTotals *t = &show->totals;
    double of, points = grade_points(show->report, show->count, &of);
    for (long i = 0; i < show->count && !*why; i++)
        if (show->report[i].verdict != PASS) why = show->report[i].trouble;
    fprintf(out, "%-28s %6ld %7ld %7ld %8ld %8.4g %8.4g  %.*s\n", ESCAPED(name), t->cases, t->passed,
            t->failed, t->inconclusive, points, of, (int)strcspn(why, "\n"), why);
}

/* In the process of a file: judges it and sends an Error, which has the verdict, and a row or lines of
 * JSON. The compiler's warnings go to stderr, below the rows. */
static void judge_one(void *context, long i) {
    const FolderRun *run = context;
    Grading g = *run->all;
    FileShow s;
    Show show;
    Error e = {0};
    char source[PATH_ROOM], *text = NULL;
    size_t size = 0;
    if (run->error->status) return;
    if (run->files.count > 1) pool_set_threads(1); /* the files are judged side by side */
    FILE *out = open_memstream(&text, &size);
    if (!out) error_no_memory("a report");
    bool ok =
        show_of(&s, run, i, &e) && directory_file(source, run->path, run->files.name[i], STATUS_NO_INPUT, &e);
    g.file.source = source, g.show = s.how, g.show.out = out;
    show_start(&show, &g.show);
    ok = ok && grade_in(&g, run->folder, i, &show, &e);
    if (!g.show.json) print_row(out, run->files.name[i], &show, e.text);
    if (ok)
        show_finish(&show, &e);
    else
        report_unjudged(run, i, e.text, &(Error){0});
    if (fclose(out) != 0 || !text) error_no_memory("a report");
    child_send(&e, sizeof e);
    child_send(text, size);
}

/* Prints what is known of the next files, in their order. */
static void print_ended(FolderRun *run) {
    for (; run->next < run->files.count && run->end[run->next].ended; run->next++) {
        FileEnd *f = &run->end[run->next];
        if (f->text)
            fputs(f->text, stdout);
        else if (!run->all->show.json)
            print_row(stdout, run->files.name[run->next], &(Show){0}, f->found.text);
        free(f->text);
    }
    fflush(stdout);
}

static void take_one(void *context, long i, const ChildEnd *end) {
    FolderRun *run = context;
    FileEnd *f = &run->end[i];
    char own[OWN_PATH], text[CHILD_TEXT];
    directory_remove(own_path(own, run->folder, i)); /* a process that died has left it */
    if (run->error->status || end->fate == CHILD_INTERRUPTED) return;
    f->ended = true;
    if (end->fate == CHILD_DONE && end->size >= sizeof f->found) {
        memcpy(&f->found, end->result, sizeof f->found);
        f->text = strdup(end->result + sizeof f->found);
        f->said = strdup(end->printed);
    } else {
        error_set(&f->found, STATUS_NO, "not judged: the judge %s", child_text(text, end, &(ChildLimits){0}));
        report_unjudged(run, i, f->found.text, run->error);
    }
    print_ended(run);
    Status status = f->found.status;
    if (status && run->worst != STATUS_NO)
        run->worst = status == STATUS_INCONCLUSIVE ? STATUS_INCONCLUSIVE : STATUS_NO;
    /* Without a compiler or a directory no other file can be judged either. */
    if (status == STATUS_BUG || status == STATUS_CANNOT_CREATE) *run->error = f->found;
}

static bool judge_all(FolderRun *run, Error *e) {
    const ChildLimits unlimited = {.seconds = 1e6, .keep = {run->all->plan.keep[0], run->all->plan.keep[1]}};
    if (!report_all_unjudged(run, "not judged: the run ended before it", e)) return false;
    if (!run->all->show.json)
        printf("%-28s %6s %7s %7s %8s %8s %8s\n", "file", "cases", "passed", "failed", "unproved", "points",
               "of");
    run->end = calloc((size_t)run->files.count, sizeof *run->end);
    if (!run->end) error_no_memory("reports");
    /* One more than there are processors: some files sleep until their time is over. */
    child_run_all(run->files.count, pool_threads() + 1, &unlimited, judge_one, take_one, run);
    for (long i = 0; i < run->files.count; free(run->end[i++].said)) /* not between the rows */
        if (run->end[i].said) fputs(run->end[i].said, stderr);
    free(run->end);
    if (e->status) return false;
    return run->worst == STATUS_DONE || error_set(e, run->worst, "%s: not all is proved", run->path);
}

/* Names the files that are not judged. */
static void print_left(FILE *out, const FileNames *left) {
    enum { NAMED = 20 };
    for (long i = 0; i < left->count && i < NAMED; i++)
        fprintf(out, "%s%s",
                i ? ", " : "left out, because they do not end in .c or .py: ", ESCAPED(left->name[i]));
    if (left->count > NAMED) fprintf(out, " and %ld more", left->count - NAMED);
    if (left->count) fprintf(out, "\n");
}

static bool has_python(const FileNames *files) {
    bool any = false;
    for (long i = 0; i < files->count; i++) any |= is_python(files->name[i]);
    return any;
}

bool grade_folder(Grading *g, const char *path, Error *e) {
    char folder[TEMPORARY_PATH] = "";
    FolderRun run = {.all = g, .path = path, .folder = folder, .error = e};
    Error unfit = {0}, unwritten = {0};
    bool ok = directory_files(path, SOURCES, &run.files, &run.left, e);
    if (ok && !run.files.count)
        ok = error_set(e, STATUS_NO_INPUT, "%s: found no C or Python files in it, need one", ESCAPED(path));
    ok = ok && open_folder(g, folder, e);
    if (ok && has_python(&run.files)) python_find(&g->plan);
    if (ok && !add_given(g, &unfit)) {
        report_all_unjudged(&run, unfit.text, &unwritten);
        ok = error_set(e, unfit.status, "%s", unfit.text);
    }
    ok = ok && judge_all(&run, e);
    print_left(g->show.json ? stderr : stdout, &run.left);
    if (ok || e->status == STATUS_NO || e->status == STATUS_INCONCLUSIVE) show_gap(&g->show, stdout);
    directory_files_free(&run.files);
    directory_files_free(&run.left);
    close_folder(g, folder);
    return ok;
}
