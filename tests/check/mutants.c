/* The checker is tested by mutants: operations of this project with one planted mistake each. It must catch every one, and
 * name its kind where the kind has a pattern.
 *
 * A mutant is the operation's source file with a piece of its text replaced, compiled and loaded as a student's file.
 * A piece that is not in the source fails: mutants.def has to follow the source.
 *
 * Gradients are proved in double. A float build only checks that the table fits the sources. */
#include "base/file.h"
#include "base/pool.h"
#include "check/child.h"
#include "check/gradcheck/gradcheck.h"
#include "check/grading/compile.h"
#include "check/directories.h"
#include "ops/ops.h"
#include "planted.h"

typedef struct Mutant {
    const char *op, *kind;
    const char *from, *to, *diagnosis;
} Mutant;

static const Mutant mutants[] = {
#define MUTANT(...) {__VA_ARGS__},
#include "mutants.def"
#undef MUTANT
};
enum {
    MUTANTS = sizeof mutants / sizeof *mutants,
    EVERY = SANITIZER ? 3 : 1
}; /* every third is tried, or all */

/* --- Sources and libraries. --- */

static const char *directory; /* of the mutants' files */

static char *read_source(const char *op) {
    char path[256], *text;
    size_t size;
    Error e = {0};
    snprintf(path, sizeof path, "src/ops/%s.c", op);
    if (file_read(path, 0, &text, &size, &e)) return text;
    printf("  %s\n", e.text);
    exit(1);
}

/* Writes the mutant's source to path. Returns the number of replacements. */
static int write_source(const Mutant *m, const char *path) {
    char *text = read_source(m->op);
    FILE *out = fopen(path, "w");
    int replaced = 0;
    for (const char *at = text, *end; out && *at;) {
        if ((end = match(at, m->from))) {
            fputs(m->to, out);
            at = end, replaced++;
        } else {
            fputc(*at++, out);
        }
    }
    if (out) fclose(out);
    free(text);
    return replaced;
}

TEST(every_mutant_fits_its_source) {
    for (int i = 0; i < MUTANTS; i++) {
        const Mutant *m = &mutants[i];
        CHECK(write_source(m, "/dev/null") > 0, "src/ops/%s.c has no `%s`", m->op, m->from);
        CHECK(are_names(m->diagnosis), "%s, %s: nothing is called `%s`", m->op, m->kind, m->diagnosis);
    }
}

/* --- One mutant's trial, in a child. --- */

typedef struct Finding {
    bool built, caught, named; /* named: no other diagnosis is given to more of its cases */
    char said[REPORT_TEXT];    /* the diagnosis of the first case that fails */
} Finding;

static Finding finding[MUTANTS];

static void judge(const Op *op, const Mutant *m, Finding *f) {
    enum { CASES_MOST = 32 };
    const char *said[CASES_MOST];
    int failing = 0, named = 0, most = 0;
    for (int k = 0; k < op->n_cases && failing < CASES_MOST; k++) {
        CaseReport r;
        gradcheck_case(m->op, &op->cases[k], 1, &r);
        if (r.verdict == FAIL) said[failing++] = diagnosis_of(&r);
    }
    for (int k = 0; k < failing; k++) {
        int same = 0;
        for (int j = 0; j < failing; j++) same += strcmp(said[j], said[k]) == 0;
        if (among(m->diagnosis, said[k]))
            named++;
        else if (same > most)
            most = same;
    }
    f->caught = failing > 0, f->named = named > 0 && named >= most;
    if (failing) REPORT_SET(f->said, said[0]);
}

static void try_mutant(void *context, long i) {
    const Mutant *m = &mutants[i * EVERY];
    Finding f = {0};
    char source[256], library[256];
    Error e = {0};
    (void)context;
    snprintf(source, sizeof source, "%s/mutant%ld.c", directory, i);
    snprintf(library, sizeof library, "%s/mutant%ld.so", directory, i);
    StudentSource s = {.source = source, .library = library};
    const Op *op = write_source(m, source) && student_compile(&s, "src")
                       ? student_load(library, m->op, false, &e)
                       : NULL;
    f.built = op != NULL;
    REPORT_SET(f.said, e.status ? e.text : s.error.text);
    unlink(source), unlink(library);
    if (op) judge(op, m, &f);
    child_send(&f, sizeof f);
}

static void take_finding(void *context, long i, const ChildEnd *end) {
    (void)context;
    if (end->fate == CHILD_DONE && end->size == sizeof *finding)
        memcpy(&finding[i * EVERY], end->result, end->size);
    else
        printf("  mutant %ld ended %d %d: %s\n", i * EVERY, end->fate, end->number, end->printed);
}

/* With VERBOSE set, all are printed. That no right operation is accused is proved by gradcheck.c. */
TEST(every_mutant_is_caught_and_named) {
    if (sizeof(real) < sizeof(double)) return; /* proofs are for double */
    char path[TEMPORARY_PATH];
    Error e = {0};
    directory = directory_temporary(path, &e) ? path : NULL;
    CHECK(directory, "%s", e.text);
    if (!directory) return;
    pool_set_threads(1); /* two are tried at once */
    compile_quickly();
    child_run_all((MUTANTS + EVERY - 1) / EVERY, 2, &(ChildLimits){.seconds = 60}, try_mutant, take_finding,
                  NULL);
    rmdir(directory);
    int tried = 0, caught = 0, named = 0, nameable = 0;
    for (int i = 0; i < MUTANTS; i += EVERY) {
        const Mutant *m = &mutants[i];
        const Finding *f = &finding[i];
        CHECK(f->built, "%s, %s: %s", m->op, m->kind, f->said);
        CHECK(f->caught, "%s, %s: passes", m->op, m->kind);
        tried++, caught += f->caught;
        nameable += m->diagnosis != NULL;
        named += m->diagnosis && f->named;
        if ((m->diagnosis && !f->named) || getenv("VERBOSE"))
            printf("  %s, %s: named %s, want %s\n", m->op, m->kind, f->said,
                   m->diagnosis ? m->diagnosis : "nothing");
    }
    printf("  %d of %d mutants caught, %d of %d named whose kind has a pattern\n", caught, tried, named,
           nameable);
    CHECK(SANITIZER || named * 100 >= nameable * 85, "%d of %d mutants are named rightly", named, nameable);
}

TEST(every_operation_has_a_mutant) {
    for (int i = 0; i < ops_count; i++) {
        int has = 0;
        for (int j = 0; j < MUTANTS; j++) has += strcmp(mutants[j].op, ops_all[i].op->name) == 0;
        CHECK(has, "%s has no mutant in tests/check/mutants.def", ops_all[i].op->name);
    }
}

RUN_TESTS
