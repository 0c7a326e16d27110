/* The checker is tested by mutants: operations of this project with one planted mistake each. It must catch every one, and
 * name its kind where the kind has a pattern. The rules by which other projects check gradients judge the same mutants.
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
#include "check/grading/directories.h"
#include "check/grading/student_op.h"
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
enum { MUTANTS = sizeof mutants / sizeof *mutants };

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
    int cases;                 /* that show it to gradcheck or to a rule */
    int failing, named_cases;  /* of its cases: how many fail, and how many of these are named rightly */
    char said[REPORT_TEXT];    /* the diagnosis of the first that fails */
    int rule_cases[RULES];     /* in how many of them a rule finds it */
} Finding;

enum { CASES_MOST = 32 };

static Finding finding[MUTANTS];
static int accused[1 + RULES]; /* correct operations, by gradcheck and by the rules */
/* For each case of each operation: the rule finds nothing wrong with the correct operation. */
static bool (*sound)[CASES_MOST][RULES];

static void try_mutant(void *context, long i) {
    const Mutant *m = &mutants[i];
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
    snprintf(f.said, sizeof f.said, "%.*s", REPORT_TEXT - 1, e.status ? e.text : s.error.text);
    unlink(source), unlink(library);
    bool(*rule_holds)[RULES] = sound[ops_find(m->op) - ops_all];
    char said[CASES_MOST][REPORT_WORD];
    for (int k = 0; op && k < op->n_cases; k++) {
        CaseReport r;
        gradcheck_case(m->op, &op->cases[k], 1, &r);
        if (r.verdict == FAIL) {
            const char *diagnosis = diagnosis_of(&r);
            bool right = among(m->diagnosis, diagnosis);
            if (f.failing < CASES_MOST) snprintf(said[f.failing], REPORT_WORD, "%s", right ? "" : diagnosis);
            if (!f.failing++) snprintf(f.said, sizeof f.said, "%s", diagnosis);
            f.named_cases += right;
        }
        bool shows = r.verdict == FAIL;
        for (int rule = 0; rule < RULES; rule++) {
            bool found = rule_holds[k][rule] && !rule_passes(&rules[rule], m->op, &op->cases[k]);
            f.rule_cases[rule] += found;
            shows |= found;
        }
        f.cases += shows;
    }
    f.caught = f.failing > 0;
    f.named = f.named_cases > 0;
    for (int k = 0; k < f.failing && k < CASES_MOST; k++) {
        int same = 0;
        for (int j = 0; j < f.failing && j < CASES_MOST; j++) same += strcmp(said[j], said[k]) == 0;
        if (same > f.named_cases) f.named = false;
    }
    child_send(&f, sizeof f);
}

static void take_finding(void *context, long i, const ChildEnd *end) {
    (void)context;
    if (end->fate == CHILD_DONE && end->size == sizeof finding[i])
        memcpy(&finding[i], end->result, end->size);
    else
        printf("  mutant %ld ended %d %d: %s\n", i, end->fate, end->number, end->printed);
}

/* Correct operations that are accused. */
static void accuse_the_correct(void) {
    sound = calloc((size_t)ops_count, sizeof *sound);
    for (int i = 0; i < ops_count; i++) {
        bool by[1 + RULES] = {false};
        CHECK(ops_all[i].op->n_cases <= CASES_MOST, "%s has more", ops_all[i].op->name);
        for (int k = 0; k < ops_all[i].op->n_cases; k++) {
            const CheckCase *c = &ops_all[i].op->cases[k];
            CaseReport report;
            gradcheck_case(ops_all[i].op->name, c, 1, &report);
            by[0] |= report.verdict != PASS;
            for (int r = 0; r < RULES; r++) {
                sound[i][k][r] = rule_passes(&rules[r], ops_all[i].op->name, c);
                by[1 + r] |= !sound[i][k][r];
            }
        }
        for (int r = 0; r <= RULES; r++) accused[r] += by[r];
    }
}

/* For each kind of mistake, the number of mutants that a rule finds in no case. */
static void print_table(void) {
    int all[1 + RULES] = {0}, cases = 0, in_cases[1 + RULES] = {0};
    print_heading("missed, by kind of mistake", "mutants");
    for (int i = 0; i < MUTANTS; i++) {
        int count = 0, missed[1 + RULES] = {0};
        if (i && strcmp(mutants[i - 1].kind, mutants[i].kind) == 0) continue;
        for (int j = i; j < MUTANTS && strcmp(mutants[j].kind, mutants[i].kind) == 0; j++, count++) {
            missed[0] += !finding[j].caught;
            for (int r = 0; r < RULES; r++) missed[1 + r] += !finding[j].rule_cases[r];
        }
        print_row(mutants[i].kind, count, missed);
        for (int r = 0; r <= RULES; r++) all[r] += missed[r];
    }
    print_row("missed in all", MUTANTS, all);
    for (int i = 0; i < MUTANTS; i++) {
        cases += finding[i].cases;
        in_cases[0] += finding[i].cases - finding[i].failing;
        for (int r = 0; r < RULES; r++) in_cases[1 + r] += finding[i].cases - finding[i].rule_cases[r];
    }
    print_row("missed, each case by itself", cases, in_cases);
    print_row("correct operations accused", ops_count, accused);
}

/* With VERBOSE set, a line for each mutant: what was said, and which rules catch it. */
static void print_mutants(void) {
    for (int i = 0; getenv("VERBOSE") && i < MUTANTS; i++) {
        printf("  %-22s %-22s %-22s", mutants[i].op, mutants[i].kind, finding[i].said);
        for (int r = 0; r < RULES; r++) printf(" %5s", finding[i].rule_cases[r] ? rules[r].name : "-");
        printf("\n");
    }
}

TEST(every_mutant_is_caught_and_named) {
    if (sizeof(real) < sizeof(double)) return; /* proofs are for double */
    char path[TEMPORARY_PATH];
    Error e = {0};
    directory = directory_temporary(path, &e) ? path : NULL;
    CHECK(directory, "%s", e.text);
    if (!directory) return;
    pool_set_threads(1); /* two are tried at once */
    accuse_the_correct();
    child_run_all(MUTANTS, 2, &(ChildLimits){.seconds = 60}, try_mutant, take_finding, NULL);
    rmdir(directory);
    print_mutants();
    print_table();
    int caught = 0, named = 0, nameable = 0;
    for (int i = 0; i < MUTANTS; i++) {
        const Mutant *m = &mutants[i];
        CHECK(finding[i].built, "%s, %s: %s", m->op, m->kind, finding[i].said);
        CHECK(finding[i].caught, "%s, %s: passes", m->op, m->kind);
        caught += finding[i].caught;
        nameable += m->diagnosis != NULL;
        named += m->diagnosis && finding[i].named;
        if (m->diagnosis && !finding[i].named)
            printf("  %s, %s: named %s, want %s\n", m->op, m->kind, finding[i].said, m->diagnosis);
    }
    printf("  %d of %d mutants caught, %d of %d named whose kind has a pattern\n", caught, MUTANTS, named,
           nameable);
    CHECK(accused[0] == 0, "%d correct operations accused", accused[0]);
    CHECK(named * 100 >= nameable * 85, "%d of %d mutants are named rightly", named, nameable);
}

/* Forty mutants at least, of ten kinds, over every operation; each kind in one piece. */
TEST(every_operation_has_a_mutant) {
    int kinds = 0;
    for (int i = 0; i < MUTANTS; i++) {
        bool begins = i == 0 || strcmp(mutants[i - 1].kind, mutants[i].kind) != 0;
        kinds += begins;
        for (int j = 0; begins && j < i; j++)
            CHECK(strcmp(mutants[j].kind, mutants[i].kind) != 0, "%s begins twice", mutants[i].kind);
    }
    CHECK(MUTANTS >= 40 && kinds >= 10, "%d mutants of %d kinds", MUTANTS, kinds);
    for (int i = 0; i < ops_count; i++) {
        int has = 0;
        for (int j = 0; j < MUTANTS; j++) has += strcmp(mutants[j].op, ops_all[i].op->name) == 0;
        CHECK(has, "%s has no mutant in tests/check/mutants.def", ops_all[i].op->name);
    }
}

RUN_TESTS
