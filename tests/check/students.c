/* The checker on files as students write them. tests/check/students/ holds right operations; wrong.def plants mistakes in
 * them. No right operation may be accused, no wrong one pass, and most mistakes must be named. students_py has more of
 * both, in Python.
 *
 * Gradients are proved in double. */
#include "base/file.h"
#include "base/pool.h"
#include "check/child.h"
#include "check/directories.h"
#include "check/gradcheck/gradcheck.h"
#include "check/grading/compile.h"
#include "planted.h"
#include "with_header.h"
#include <limits.h>

typedef struct Wrong {
    const char *op, *kind, *from, *to, *diagnosis;
} Wrong;

static const Wrong wrong[] = {
#define WRONG(...) {__VA_ARGS__},
#include "students/wrong.def"
#undef WRONG
};
enum { WRONGS = sizeof wrong / sizeof *wrong, MAX_RIGHT = 256, BATCHES = 40 };

static const char *const sources[] = {"elementwise", "arrays", "layers"};
enum { SOURCES = sizeof sources / sizeof *sources };

static char (*right)[STUDENT_NAME]; /* of all sources */
static int rights;
static char *part[MAX_RIGHT]; /* the text of each */

/* ---- Texts ---- */

/* The operations of the sources, each with what follows its line `---- NAME ----` up to the next. */
static void read_parts(void) {
    static const char mark[] = "/* ---- ";
    right = calloc(MAX_RIGHT, sizeof *right);
    for (int i = 0; i < SOURCES; i++) {
        char path[64], *text;
        size_t size;
        Error e = {0};
        snprintf(path, sizeof path, "tests/check/students/%s.c", sources[i]);
        CHECK(file_read(path, 0, &text, &size, &e), "%s", e.text);
        for (char *at = e.status ? NULL : strstr(text, mark); at && rights < MAX_RIGHT; rights++) {
            at += strlen(mark);
            char *next = strstr(at, mark), *line = strchr(at, '\n');
            snprintf(right[rights], STUDENT_NAME, "%.*s", (int)strcspn(at, " "), at);
            part[rights] = next ? strndup(line, (size_t)(next - line)) : strdup(line);
            at = next;
        }
        if (e.status == STATUS_DONE) free(text);
    }
}

static int find_right(const char *name) {
    for (int i = 0; i < rights; i++)
        if (strcmp(right[i], name) == 0) return i;
    return -1;
}

static bool is_letter(char c) {
    return isalnum((unsigned char)c);
}

/* Writes the text up to its end with every NAME called NAMEi, and `from` replaced where it is not NULL. */
static int write_renamed(FILE *out, const char *text, int i, const char *from) {
    const Wrong *w = &wrong[i];
    size_t length = strlen(w->op);
    int replaced = 0;
    for (const char *at = text; *at;) {
        const char *end = from ? match(at, from) : NULL;
        if (end) {
            write_renamed(out, w->to, i, NULL);
            at = end, replaced++;
        } else if (strncmp(at, w->op, length) == 0 && !is_letter(at[length]) &&
                   (at == text || !is_letter(at[-1]))) {
            fprintf(out, "%s%d", w->op, i);
            at += length;
        } else {
            fputc(*at++, out);
        }
    }
    return replaced;
}

static int write_wrong(FILE *out, int i) {
    int k = find_right(wrong[i].op);
    return k < 0 ? 0 : write_renamed(out, part[k], i, wrong[i].from);
}

TEST(every_mistake_fits_its_operation) {
    read_parts();
    FILE *nowhere = fopen("/dev/null", "w");
    for (int i = 0; i < WRONGS; i++) {
        const Wrong *w = &wrong[i];
        CHECK(write_wrong(nowhere, i) > 0, "%s has no `%s`", w->op, w->from);
        CHECK(are_names(w->diagnosis), "%s, %s: nothing is called `%s`", w->op, w->kind,
              w->diagnosis);
    }
    fclose(nowhere);
    CHECK(rights >= 30 && WRONGS >= 85, "%d right, %d wrong", rights, WRONGS);
}

/* ---- Trials, in children ---- */

static const char *directory; /* of the libraries */

typedef struct Finding {
    bool judged, failed, proved; /* failed: a case; proved: all passed */
    char said[REPORT_WORD];      /* what most of its failing cases are diagnosed as */
} Finding;
static Finding of_right[MAX_RIGHT], of_wrong[WRONGS];

/* The diagnosis of most failing cases. */
static void sum_up(const CaseReport *r, int cases, Finding *f) {
    for (int k = 0, most = 0; k < cases; k++) {
        int same = 0;
        for (int j = 0; j < cases; j++)
            same += r[j].verdict == FAIL && strcmp(diagnosis_of(&r[j]), diagnosis_of(&r[k])) == 0;
        if (r[k].verdict != FAIL || same <= most) continue;
        most = same;
        REPORT_SET(f->said, diagnosis_of(&r[k]));
    }
}

static void judge(const Op *op, const char *name, Finding *f) {
    CaseReport *report = calloc((size_t)op->n_cases, sizeof *report);
    f->judged = f->proved = true;
    for (int k = 0; k < op->n_cases; k++) {
        CaseReport *r = &report[k];
        gradcheck_case(name, &op->cases[k], 1, r);
        f->failed |= r->verdict == FAIL;
        f->proved &= r->verdict == PASS;
    }
    gradcheck_agree(report, op->n_cases);
    sum_up(report, op->n_cases, f);
    free(report);
}

/* In a process of its own: some crash, which a sanitizer turns into an exit. */
static void send_finding(const char *library, const char *name, int i) {
    Finding f = {.judged = true, .failed = true, .said = "crash"};
    Error e = {0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        const Op *op = student_load(library, name, false, &e);
        f = (Finding){0};
        if (op) judge(op, name, &f);
        child_send(&i, sizeof i);
        child_send(&f, sizeof f);
        _exit(0);
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    child_send(&i, sizeof i);
    child_send(&f, sizeof f);
}

/* The wrong ones of a batch: those of one operation are in different ones. */
static void try_wrong(void *context, long batch) {
    char source[PATH_MAX], library[PATH_MAX], name[STUDENT_NAME + 16];
    (void)context;
    snprintf(source, sizeof source, "%s/wrong%ld.c", directory, batch);
    snprintf(library, sizeof library, "%s/wrong%ld.so", directory, batch);
    FILE *out = fopen(source, "w");
    if (!out) return;
    write_with_header(out, ".", "#include \"student.h\"\n");
    for (int i = (int)batch; i < WRONGS; i += BATCHES) write_wrong(out, i);
    fclose(out);
    StudentSource s = {.source = source, .library = library};
    if (!student_compile(&s, "src")) printf("%s\n", s.error.text);
    for (int i = (int)batch; i < WRONGS && !s.error.status; i += BATCHES) {
        snprintf(name, sizeof name, "%s%d", wrong[i].op, i);
        send_finding(library, name, i);
    }
    unlink(source), unlink(library);
}

static void try_right(void *context, long which) {
    char source[PATH_MAX], library[PATH_MAX],
        (*name)[STUDENT_NAME] = calloc(MAX_RIGHT, sizeof *name);
    Error e = {0};
    (void)context;
    snprintf(library, sizeof library, "%s/right%ld.so", directory, which);
    snprintf(source, sizeof source, "%s/right%ld.c", directory, which);
    hand_in(source, ".", sources[which]);
    StudentSource s = {.source = source, .library = library};
    int count = student_compile(&s, "src") ? student_names(source, name, MAX_RIGHT, &e) : 0;
    unlink(source);
    if (!count) printf("%s%s\n", s.error.text, e.text);
    for (int i = 0; i < count; i++) send_finding(library, name[i], find_right(name[i]));
    unlink(library);
}

static void take_findings(void *context, long i, const ChildEnd *end) {
    Finding *of = context;
    const size_t record = sizeof(int) + sizeof(Finding);
    if (end->fate != CHILD_DONE || end->printed[0])
        printf("  part %ld ended %d: %s\n", i, end->fate, end->printed);
    for (size_t at = 0; at + record <= end->size; at += record) {
        int which;
        memcpy(&which, end->result + at, sizeof which);
        memcpy(&of[which], end->result + at + sizeof which, sizeof(Finding));
    }
}

/* ---- Results ---- */

/* The diagnosis does not name a kind of mistake, or names a property that many mistakes break. */
static bool says_little(const char *said) {
    return among("unknown|any layout|inside a graph|passed twice|linear", said);
}

TEST(students_are_judged_rightly) {
    if (sizeof(real) < sizeof(double)) return; /* proofs are for double */
    char path[TEMPORARY_PATH];
    Error e = {0};
    int named = 0, misled = 0;
    read_parts();
    directory = directory_temporary(path, &e) ? path : NULL;
    CHECK(directory, "%s", e.text);
    pool_set_threads(1); /* two are tried at once */
    compile_quickly();
    const ChildLimits limits = {.seconds = 300};
    child_run_all(SOURCES, 2, &limits, try_right, take_findings, of_right);
    child_run_all(BATCHES, 2, &limits, try_wrong, take_findings, of_wrong);
    rmdir(path);
    for (int i = 0; i < rights; i++)
        CHECK(of_right[i].judged && of_right[i].proved, "%s is right: %s", right[i],
              of_right[i].failed ? of_right[i].said : "not proved");
    for (int i = 0; i < WRONGS; i++) {
        const Finding *f = &of_wrong[i];
        bool is_named = among(wrong[i].diagnosis, f->said);
        CHECK(f->judged && f->failed, "%s, %s: passes", wrong[i].op, wrong[i].kind);
        named += is_named;
        misled += !is_named && !says_little(f->said);
        if (f->failed && (!is_named || getenv("VERBOSE")))
            printf("  %s, %s: named %s, want %s\n", wrong[i].op, wrong[i].kind, f->said,
                   wrong[i].diagnosis);
    }
    printf("  of %d wrong ones %d are named rightly, %d wrongly\n", WRONGS, named, misled);
    const int named_of_100 = 83, misled_of_100 = 6;
    CHECK(named * 100 >= WRONGS * named_of_100, "%d of %d are named rightly", named, WRONGS);
    CHECK(misled * 100 <= WRONGS * misled_of_100, "%d of %d are named wrongly", misled, WRONGS);
}

RUN_TESTS
