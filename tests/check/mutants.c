/* The checker is tested by mutants: operations of this project with one planted mistake each. It must
 * catch every one, and name its kind where the kind has a pattern.
 *
 * mutants.awk writes the operations' sources with the mistakes of mutants.def into one file, which is
 * included here. A piece that is not in the source stops the build: mutants.def follows the sources. */
#include "check/gradcheck/gradcheck.h"
#include "ops/ops.h"
#include "test.h"

#include "tests/check/mutants.inc"

/* Whether one of "a|b|c" is the word, which is not empty. */
static bool among(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; at && length && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == '|') && (at[length] == 0 || at[length] == '|')) return true;
    return false;
}

/* The word that says most of a failed case: its first broken property, or the pattern of a wrong
 * gradient. Some patterns break properties too, and some broken properties look like patterns: the
 * more specific one counts. */
static const char *diagnosis_of(const CaseReport *r) {
    Pattern pattern = PATTERN_UNKNOWN;
    for (int vague = 1; vague >= 0; vague--) /* of several the first that is not */
        for (int i = r->inputs - 1; i >= 0; i--) {
            Pattern found = r->in[i].pattern;
            bool is_vague = found == PATTERN_ONLY_SOMEWHERE || found == PATTERN_WRONG_SLOPE;
            if (r->in[i].verdict == FAIL && found > PATTERN_UNKNOWN && is_vague == vague)
                pattern = found;
        }
    Property property = report_broken(r);
    bool tells_little = property == PROPERTY_ANY_LAYOUT || property == PROPERTY_INSIDE_A_GRAPH ||
                        property == PROPERTY_PASSED_TWICE;
    bool tells_all = pattern == PATTERN_FORWARD_NOT_FINITE || pattern == PATTERN_NOT_A_NUMBER ||
                     pattern == PATTERN_NO_GRADIENT || pattern == PATTERN_UPSTREAM_IGNORED;
    if (property == PROPERTIES || tells_all || (tells_little && pattern != PATTERN_UNKNOWN))
        return report_pattern[pattern];
    return report_property[property].name;
}

/* Whether each of "a|b|c" is the name of a pattern, of a property, or what ends a process. */
static bool are_names(const char *words) {
    for (const char *at = words; at && *at; at += strcspn(at, "|"), at += *at == '|') {
        char word[REPORT_WORD];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
        bool known = strcmp(word, "crash") == 0;
        for (int i = 0; i < PATTERNS; i++) known |= strcmp(report_pattern[i], word) == 0;
        for (int i = 0; i < PROPERTIES; i++) known |= strcmp(report_property[i].name, word) == 0;
        if (!known) return false;
    }
    return true;
}

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

/* The verdict of the checker on a mutant. */
typedef struct Finding {
    bool caught, named;     /* named: no other diagnosis is given to more of its cases */
    char said[REPORT_TEXT]; /* the diagnosis of the first case that fails */
} Finding;

static void judge(const Op *op, const Mutant *m, Finding *f) {
    enum { CASES_MAX = 32 };
    const char *said[CASES_MAX];
    int failing = 0, named = 0, most = 0;
    for (int k = 0; k < op->n_cases && failing < CASES_MAX; k++) {
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

TEST(every_diagnosis_has_a_name) {
    for (int i = 0; i < MUTANTS; i++)
        CHECK(are_names(mutants[i].diagnosis), "%s, %s: nothing is called `%s`", mutants[i].op,
              mutants[i].kind, mutants[i].diagnosis);
}

/* With VERBOSE set, all are printed. That no right operation is accused is proved by gradcheck.c. */
TEST(every_mutant_is_caught_and_named) {
    int caught = 0, named = 0, nameable = 0;
    for (int i = 0; i < MUTANTS; i++) {
        const Mutant *m = &mutants[i];
        Finding f = {0};
        judge(mutant_op(i + 1), m, &f);
        CHECK(f.caught, "%s, %s: passes", m->op, m->kind);
        caught += f.caught;
        nameable += m->diagnosis != NULL;
        named += m->diagnosis && f.named;
        if ((m->diagnosis && !f.named) || getenv("VERBOSE"))
            printf("  %s, %s: named %s, want %s\n", m->op, m->kind, f.said,
                   m->diagnosis ? m->diagnosis : "nothing");
    }
    printf("  %d of %d mutants caught, %d of %d named whose kind has a pattern\n", caught, MUTANTS,
           named, nameable);
    CHECK(named * 100 >= nameable * 85, "%d of %d mutants are named rightly", named, nameable);
}

TEST(every_operation_has_a_mutant) {
    for (int i = 0; i < ops_count; i++) {
        int has = 0;
        for (int j = 0; j < MUTANTS; j++) has += strcmp(mutants[j].op, ops_all[i].op->name) == 0;
        CHECK(has, "%s has no mutant in tests/check/mutants.def", ops_all[i].op->name);
    }
}

RUN_TESTS
