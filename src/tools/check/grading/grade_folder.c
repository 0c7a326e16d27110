/* A directory of files: each is judged by a process of its own, which writes its report. */
#include "base/append.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/grading/grade_files.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const SOURCES[] = {".c", ".py", NULL};

/* The process of a file sends this before its reports. */
typedef struct FileNews {
    Error why; /* it is not judged, if that has a status */
    double seconds;
    char notes[COMPILE_WARNINGS + 256];
} FileNews;

/* The words about a file. */
typedef struct FileEnd {
    bool ended, again;          /* it is judged again, alone: the machine lacked something */
    Error found;                /* the verdict */
    char *row, *lines, *warned; /* for stdout, reports and stderr */
} FileEnd;

typedef struct FolderRun {
    Grading *all;
    const char *path, *folder;
    FileNames files, left;
    FileEnd *end; /* [files] */
    long *job;    /* [files] the files that are judged now */
    long next;    /* the next file to be printed */
    double start; /* in seconds; 0 after the first file: the rest is announced */
    bool last;    /* no file is judged again after this time */
    Status worst; /* of the verdicts on files */
    Error *error; /* why no file can be judged */
} FolderRun;

/* DIR/NAME.json for the file NAME. NAME may begin with directories, which are created. The name of
 * a report is not longer than a file system takes, and then ends with the file's number. */
static bool report_path(const char *directory, const char *file, long number,
                        char path[PATH_CAPACITY], Error *e) {
    enum { MAX_NAME = 240, KEPT = 220 };
    char name[PATH_CAPACITY], folder[PATH_CAPACITY];
    const char *last = file_name(file);
    int before = (int)(last - file), length = (int)strlen(last);
    if (length > MAX_NAME)
        snprintf(name, sizeof name, "%.*s%.*s-%ld.json", before, file, KEPT, last, number);
    else
        snprintf(name, sizeof name, "%.*s%s.json", before, file, last);
    if (!directory_file(path, directory, name, STATUS_CANNOT_CREATE, e)) return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(file_name(path) - path), path);
    return directory_make(folder, e);
}

static void forget(FileEnd *f) {
    free(f->row);
    free(f->lines);
    free(f->warned);
    *f = (FileEnd){0};
}

/* Keeps what is said of file i, in a row and in lines, and writes its report. */
static bool say(FolderRun *run, long i, const CaseReport *r, long count, const FileNews *news,
                Error *e) {
    FileEnd *f = &run->end[i];
    ShowOptions how = {.notes = news->notes};
    CheckTotals t = {0};
    char path[PATH_CAPACITY];
    const char *name = run->files.name[i], *why = news->why.text, *folder;
    double of, points = grade_points(r, count, &of);
    size_t size;
    forget(f);
    FILE *out = text_open(&f->lines, &size);
    for (long k = 0; k < count; k++) {
        show_add_to_totals(&t, &r[k]);
        show_json(out, name, &r[k]);
        if (!*why && r[k].verdict != PASS) why = r[k].trouble;
    }
    text_close(out, &f->lines);
    out = text_open(&f->row, &size);
    fprintf(out, "%-28s %6ld %7ld %7ld %8ld %8.4g %8.4g  %.*s\n", ESCAPED(name), t.cases, t.passed,
            t.failed, t.inconclusive, points, of, (int)strcspn(why, "\n"), why);
    text_close(out, &f->row);
    f->found = news->why;
    if (!f->found.status) show_conclude(&t, &f->found);
    folder = run->all->show.gradescope;
    if (!folder) return true;
    how.gradescope = path;
    return report_path(folder, name, i, path, e) && show_write(&how, r, count, news->seconds, e);
}

/* Says that a file is not judged at the cases of the run. */
static bool say_unjudged(FolderRun *run, long i, const Error *why, Error *e) {
    FileNews news = {.why = *why};
    long count;
    memcpy(news.notes, run->all->notes, sizeof news.notes);
    CaseReport *r = grade_reports(&run->all->plan, grade_verdict_on(why), news.why.text, &count);
    bool ok = say(run, i, r, count, &news, e);
    free(r);
    return ok;
}

static bool say_all_unjudged(FolderRun *run, const Error *why, Error *e) {
    for (long i = 0; i < run->files.count; i++)
        if (!say_unjudged(run, i, why, e)) return false;
    return true;
}

/* In the process of a file: judges it and sends the reports. The compiler's warnings go to stderr,
 * below the rows. */
static void judge_one(void *context, long job) {
    FolderRun *run = context;
    Grading g = *run->all;
    Show show;
    FileNews news = {0};
    char source[PATH_CAPACITY];
    long i = run->job[job];
    if (run->error->status) return;
    if (run->files.count > 1) pool_set_threads(1); /* the files are judged side by side */
    g.show = (ShowOptions){.apart = true, .own_cases = g.show.own_cases};
    show_begin(&show, &g.show);
    bool ok = directory_file(source, run->path, run->files.name[i], STATUS_NO_INPUT, &news.why) &&
              grade_in(&g, run->folder, i, source, run->files.name[i], &show, &news.why);
    if (!ok)
        show.report =
            grade_reports(&g.plan, grade_verdict_on(&news.why), news.why.text, &show.count);
    fputs(g.file.warnings, stderr);
    memcpy(news.notes, g.notes, sizeof news.notes);
    news.seconds = clock_seconds() - show.start;
    child_send(&news, sizeof news);
    child_send(show.report, (size_t)show.count * sizeof *show.report);
}

/* Prints what is known of the next files, in their order. */
static void print_ended(FolderRun *run) {
    for (; run->next < run->files.count && run->end[run->next].ended; run->next++) {
        const FileEnd *f = &run->end[run->next];
        fputs(run->all->show.json ? f->lines : f->row, stdout);
    }
    fflush(stdout);
}

static void take_worst(FolderRun *run, Status found) {
    if (!found || run->worst == STATUS_NO) return;
    bool open = found == STATUS_INCONCLUSIVE || grade_is_lack(found);
    run->worst = open ? STATUS_INCONCLUSIVE : STATUS_NO;
}

/* After the first file: says how many there are, and about how long all take if that is long. */
static void announce(FolderRun *run) {
    const double least = 5;
    double seconds = clock_seconds() - run->start, side_by_side = pool_threads() + 1;
    double all = seconds * ceil((double)run->files.count / side_by_side);
    if (run->start > 0 && all > fmax(least, seconds))
        fprintf(stderr, "gradcheck: %ld files, about %.0f s in all\n", run->files.count, all);
    run->start = 0;
}

static void take_one(void *context, long job, const ChildEnd *end) {
    FolderRun *run = context;
    long i = run->job[job];
    FileEnd *f = &run->end[i];
    FileNews news = {0};
    Error unwritten = {0};
    char text[CHILD_TEXT];
    if (end->fate == CHILD_INTERRUPTED) return;
    if (end->fate == CHILD_DONE && end->size >= sizeof news) {
        size_t size = end->size - sizeof news;
        CaseReport *r = malloc(size + 1);
        if (!r) error_no_memory("reports");
        memcpy(&news, end->result, sizeof news);
        memcpy(r, end->result + sizeof news, size);
        if (!say(run, i, r, (long)(size / sizeof *r), &news, &unwritten)) f->found = unwritten;
        f->warned = strdup(end->printed);
        free(r);
    } else {
        error_set(&news.why, STATUS_NO_MEMORY, "not judged: the judge %s",
                  child_text(text, end, &(ChildLimits){0}));
        if (!say_unjudged(run, i, &news.why, &unwritten)) f->found = unwritten;
    }
    bool lacked = f->found.status != STATUS_UNAVAILABLE &&
                  (grade_is_lack(f->found.status) || child_lacks(f->lines));
    f->again = lacked && !run->last;
    f->ended = !f->again;
    announce(run);
    if (f->again) return;
    print_ended(run);
    take_worst(run, f->found.status);
}

static void print_lines(FILE *out, const void *context) {
    const FolderRun *run = context;
    for (long i = 0; i < run->files.count; i++) fputs(run->end[i].lines, out);
}

/* Judges the files side by side, and those for which the machine lacked something once more, one
 * after the other. */
static void judge_twice(FolderRun *run) {
    ChildLimits unlimited = {.seconds = 1e6};
    memcpy(unlimited.keep, run->all->plan.keep, sizeof unlimited.keep);
    long count = 0;
    run->start = clock_seconds();
    for (long i = 0; i < run->files.count; i++) run->job[i] = i;
    /* One more than there are processors: some files sleep until their time is over. */
    child_run_all(run->files.count, pool_threads() + 1, &unlimited, judge_one, take_one, run);
    for (long i = 0; i < run->files.count; i++)
        if (run->end[i].again) run->job[count++] = i;
    run->last = true;
    child_run_all(count, 1, &unlimited, judge_one, take_one, run);
}

/* The result of the run: a program that no file can do without, or the worst verdict. */
static bool conclude(const FolderRun *run, Error *e) {
    if (e->status) return false;
    for (long i = 0; i < run->files.count; i++)
        if (run->end[i].found.status == STATUS_UNAVAILABLE)
            return error_set(e, STATUS_UNAVAILABLE, "%s", run->end[i].found.text);
    return run->worst == STATUS_DONE ||
           error_set(e, run->worst, "%s: not all is proved", ESCAPED(run->path));
}

static bool judge_all(FolderRun *run, Error *e) {
    const ShowOptions *how = &run->all->show;
    Error unwritten = {0};
    const Error before = {STATUS_NO, "not judged: the run ended before it"};
    if (!say_all_unjudged(run, &before, e)) return false;
    if (how->reports && !file_print(how->reports, print_lines, run, e)) return false;
    if (!how->json)
        printf("%-28s %6s %7s %7s %8s %8s %8s\n", "file", "cases", "passed", "failed", "unproved",
               "points", "of");
    judge_twice(run);
    for (long i = 0; i < run->files.count; i++) /* not between the rows */
        if (run->end[i].warned) fputs(run->end[i].warned, stderr);
    if (how->reports && !file_print(how->reports, print_lines, run, &unwritten)) *e = unwritten;
    return conclude(run, e);
}

static void free_run(FolderRun *run) {
    long count = run->end ? run->files.count : 0;
    for (long i = 0; i < count; i++) forget(&run->end[i]);
    free(run->end);
    free(run->job);
    directory_files_free(&run->files);
    directory_files_free(&run->left);
}

/* Names the files that are not judged. */
static void print_left(FILE *out, const FileNames *left) {
    enum { NAMED = 20 };
    for (long i = 0; i < left->count && i < NAMED; i++)
        fprintf(out, "%s%s", i ? ", " : "left out, because they do not end in .c or .py: ",
                ESCAPED(left->name[i]));
    if (left->count > NAMED) fprintf(out, " and %ld more", left->count - NAMED);
    if (left->count) fprintf(out, "\n");
}

static bool has_python(const FileNames *files) {
    for (long i = 0; i < files->count; i++)
        if (grade_is_python(files->name[i])) return true;
    return false;
}

/* Finds the files. False: there are none. */
static bool list_files(FolderRun *run, Error *e) {
    if (!directory_files(run->path, SOURCES, &run->files, &run->left, e)) return false;
    size_t count = (size_t)run->files.count;
    run->end = calloc(count + 1, sizeof *run->end);
    run->job = calloc(count + 1, sizeof *run->job);
    if (!run->end || !run->job) error_no_memory("%zu reports", count);
    return count || error_set(e, STATUS_NO_INPUT, "%s: found no C or Python files in it, need one",
                              ESCAPED(run->path));
}

bool grade_folder(Grading *g, const char *path, Error *e) {
    char folder[TEMPORARY_PATH] = "";
    FolderRun run = {.all = g, .path = path, .folder = folder, .error = e};
    Error unfit = {0}, unwritten = {0};
    bool ok = list_files(&run, e) && grade_open(g, folder, e);
    if (ok && has_python(&run.files)) python_find(&g->plan);
    if (ok && !grade_add_given(g, &unfit)) {
        say_all_unjudged(&run, &unfit, &unwritten);
        ok = error_set(e, unfit.status, "%s", unfit.text);
    }
    ok = ok && judge_all(&run, e);
    print_left(g->show.json ? stderr : stdout, &run.left);
    if (ok || e->status == STATUS_NO || e->status == STATUS_INCONCLUSIVE)
        show_gap(&g->show, stdout);
    free_run(&run);
    grade_close(g, folder);
    return ok;
}
