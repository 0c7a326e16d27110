/* What is tried of the changes of a wrong backward: the file that has them all in it, line by line (repair/edited_source.h), the
 * trials, each once, and which of those that pass is the likeliest (grading/repair_candidates.h). */
#include "grading/repair_candidates.h"
#include "repair_text.h"

/* Each change of a text stands in a line of its own, all others of a piece in one before and one behind the values of its pool,
 * which have a line each; and nothing that is left out stands in any. */
static void check_written(const bool *left_out) {
    char *written = NULL;
    size_t size = 0;
    int *edit_of_line = NULL;
    FILE *out = open_memstream(&written, &size);
    long lines = edited_source_write(&edits, left_out, out, &edit_of_line), found = 0, ends = 0, none = 0;
    fclose(out);
    long pools = source.pieces + edits.copies;
    int *times = calloc((size_t)edited_source_numbers(&edits), sizeof *times);
    for (const char *at = written; (at = strchr(at, '\n')); at++) ends++;
    CHECK(ends >= lines, "%ld ends of %ld lines", ends, lines);
    for (long i = 0; i < lines; i++)
        if (edit_of_line[i] >= 0) times[edit_of_line[i]]++;
    for (long i = 0; i < edits.edits; i++) {
        int want = edits.edit[i].kind == EDIT_TEXT && !left_out[i] ? edits.edit[i].parts : 0;
        CHECK(times[i] == want, "change %ld stands in %d lines", i, times[i]);
        found += want;
    }
    for (long i = edits.edits; i < edits.edits + pools; i++) {
        bool copy = i >= edits.edits + source.pieces;
        int want = left_out[i] ? 0 : 2;
        CHECK(times[i] == want || (!copy && !times[i]), "piece %ld", i - edits.edits);
        const Pool *pool = &edits.pool[i - edits.edits];
        const long first = edits.edits + source.pieces + MOST_COPIES + (i - edits.edits) * POOL;
        for (int k = 0; k < pool->values; k++) {
            CHECK(times[first + k] == (times[i] > 0), "%s", pool->value[k]->text);
            none += times[i] && left_out[first + k];
        }
        found += copy;
    }
    for (const char *at = written; (at = strstr(at, "repair_v = 0. / 0;")); at++) none--;
    CHECK(none == 0, "%ld values that are left out have none", none);
    CHECK(left_out[0] || found > 0 || !edits.edits);
    free(times), free(edit_of_line), free(written);
}

static int by_bits(const void *a, const void *b) {
    return memcmp(a, b, sizeof(RepairTrial));
}

/* Each trial once, with values that are there. */
static void check_trials(const Candidates *c, EditKind first, EditKind last, const char *what) {
    RepairTrial *trial = calloc((size_t)c->trials + 1, sizeof *trial);
    for (long i = 0; i < c->trials; i++) {
        trial[i] = c->trial[i].trial;
        const Edit *e = &edits.edit[trial[i].edit - 1];
        const Pool *pool = &edits.pool[e->pool];
        CHECK(e->kind >= first && e->kind <= last && !c->left_out[trial[i].edit - 1], "%s: %d", what,
              e->kind);
        CHECK(trial[i].piece == (e->kind == EDIT_TEXT ? 0 : 1 + e->pool), "%s", what);
        for (int k = 0; k < REPAIR_VALUES; k++)
            CHECK(trial[i].value[k] <= pool->values, "%s: value %d of %d", what, trial[i].value[k],
                  pool->values);
        CHECK(trial[i].target <= pool->targets && (trial[i].target > 0) == (e->kind == EDIT_ADDED), "%s",
              what);
    }
    qsort(trial, (size_t)c->trials, sizeof *trial, by_bits);
    for (long i = 1; i < c->trials; i++)
        CHECK(memcmp(&trial[i - 1], &trial[i], sizeof *trial) != 0, "%s: trial of '%s' twice", what,
              original(&edits.edit[trial[i].edit - 1]));
    free(trial);
}

/* The kinds of trials, one after the other; with changes left out, and all of them. */
static void check_candidates(bool *left_out) {
    static const struct {
        void (*take)(Candidates *c);
        EditKind first, last;
        const char *name;
    } kinds[] = {{candidates_simple, EDIT_TEXT, EDIT_TERM, "simple"},
                 {candidates_guards, EDIT_GUARD, EDIT_ADDED, "guards"}};
    Candidates c = {.edits = &edits, .left_out = left_out, .wrong = 1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kinds[i].take(&c);
        CHECK(left_out[edits.edits - 1] ? c.trials == 0 : c.trials > 0, "%s: %ld", kinds[i].name, c.trials);
        check_trials(&c, kinds[i].first, kinds[i].last, kinds[i].name);
    }
    candidates_free(&c);
}

/* Of a file with every kind of change in it. */
static void each_change_is_tried_once(void) {
    read_lines("if (a && i) dx[i] += (a + b) * x[j] / 2 - sin(a), sum -= h[i + 1];\n"
               "for (long k = 0; k < N; k++) { double c = a > b ? a : b; dx[k] += c; }");
    bool *left_out = calloc((size_t)edited_source_numbers(&edits), sizeof *left_out);
    check_written(left_out);
    check_candidates(left_out);
    for (long i = 0; i < edited_source_numbers(&edits); i += 2) left_out[i] = true;
    check_written(left_out);
    for (long i = 0; i < edits.edits + source.pieces; i++) left_out[i] = true;
    check_written(left_out);
    check_candidates(left_out);
    free(left_out);
    forget();
}

/* The same of what takes a loop of its own. */
static void loops_are_tried_once(void) {
    read_lines(
        "for (long k = 0; k < N; k++) h[k] = own(a, k); sum += a; own(b, i); double c = a * j; dx[j] += c;");
    Edits first = edits;
    edits_find_loops(&edits, &first);
    bool *left_out = calloc((size_t)edited_source_numbers(&edits), sizeof *left_out);
    CHECK(edits.copies > 3, "%ld", edits.copies);
    check_written(left_out);
    Candidates c = {.edits = &edits, .left_out = left_out, .wrong = 1};
    candidates_guards(&c);
    CHECK(c.trials > 0);
    check_trials(&c, EDIT_ADDED, EDIT_ADDED, "loops");
    candidates_free(&c);
    for (long i = 0; i < edits.edits + source.pieces + edits.copies; i++) left_out[i] = true;
    check_written(left_out);
    free(left_out), free(edits.edit);
    edits = first;
    forget();
}

/* In a loop that is copied only what has its variable. */
static void loops_add_what_is_theirs(void) {
    read_lines(
        "double a_j = b; for (long j = 0; j < N; j++) { double c = a * x[j]; dx[j] += c; sum += a_j; }");
    Edits first = edits;
    edits_find_loops(&edits, &first);
    long of_loop = 0, others = 0;
    for (int i = 0; i < edits.edits; i++) {
        const Edit *e = &edits.edit[i];
        const Pool *pool = &edits.pool[e->pool];
        for (int v = 0; e->head && v < pool->values; v++) {
            const char *value = pool->value[v]->text, *name = strstr(e->head, "long ") + strlen("long ");
            bool own =
                strstr(value, (char[]){'[', name[0], ']', 0}) || strcmp(value, (char[]){name[0], 0}) == 0;
            bool other = strcmp(value, "a") == 0 || strcmp(value, "b") == 0 || strcmp(value, "N") == 0 ||
                         strcmp(value, "a_j") == 0;
            RepairTrial t = {.edit = 1 + i, .value = {1 + v}};
            of_loop += own, others += other;
            CHECK(!own || candidates_is_of_loop(&edits, &t), "%s: %s", e->head, value);
            CHECK(!other || !candidates_is_of_loop(&edits, &t), "%s: %s", e->head, value);
        }
        RepairTrial t = {.edit = 1 + i};
        CHECK(candidates_is_of_loop(&edits, &t) == !e->head, "%s", e->head);
    }
    CHECK(of_loop > 0 && others > 0, "%ld, %ld", of_loop, others);
    free(edits.edit);
    edits = first;
    forget();
}

/* Of two trials that pass the first is the likelier one. */
static void the_likelier_goes_first(void) {
    typedef struct Passed {
        EditKind kind;
        const char *original, *becomes, *value;
        double amount;
        int form;
        unsigned mended;
    } Passed;
    static const Passed pair[][2] = {
        {{EDIT_FACTOR, "a * 2", NULL, NULL, 0.37, 0, 3}, {EDIT_TEXT, "+=", "=", NULL, 1, 0, 1}},
        {{EDIT_FACTOR, "a * 2", NULL, NULL, 1, 0, 1}, {EDIT_FACTOR, "a * 2", NULL, NULL, 0.37, 0, 1}},
        {{EDIT_FACTOR, "a * 2", NULL, NULL, -2, 0, 1}, {EDIT_FACTOR, "a * 2", NULL, NULL, 1, 0, 1}},
        {{EDIT_FACTOR, "a * 2", NULL, "b", 0, 0, 1}, {EDIT_FACTOR, "a * 2", NULL, "b", 0, 1, 1}},
        {{EDIT_FACTOR, "a * 2", NULL, "b", 0, 0, 1}, {EDIT_FACTOR, "a * 2", NULL, "N", 0, 0, 1}},
        {{EDIT_INDEX, "i", NULL, NULL, 1, 0, 1}, {EDIT_INDEX, "i", NULL, "j", 0, 0, 1}},
        {{EDIT_INDEX, "i", NULL, "j", 0, 0, 1}, {EDIT_INDEX, "i", NULL, "j", 2, 0, 1}},
        {{EDIT_VALUE, "a", NULL, "b", 0, 0, 1}, {EDIT_VALUE, "a", NULL, "b", 2, 0, 1}},
        {{EDIT_VALUE, "a", NULL, "b", 0, 0, 1}, {EDIT_VALUE, "2", NULL, "b", 0, 0, 1}},
        {{EDIT_TERM, "a * 2", NULL, "b", 2, 0, 1}, {EDIT_TERM, "a * 2", NULL, "b", 90, 0, 1}},
    };
    read_lines("dx[i] += a * 2; dx[i] += x[j] * b;");
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        TrialResult trial[2] = {0};
        for (int k = 0; k < 2; k++) {
            const Passed *p = &pair[i][k];
            int at = find_edit(p->kind, p->original, p->becomes);
            const Pool *pool = &edits.pool[edits.edit[at].part[0].piece];
            trial[1 - k].trial = (RepairTrial){.edit = 1 + at, .amount = p->amount, .form = {p->form}};
            trial[1 - k].trial.value[0] = number_of(pool->value, pool->values, p->value);
            trial[1 - k].mended = p->mended;
        }
        RepairTrial likelier = trial[1].trial;
        Candidates c = {.edits = &edits, .trial = trial, .trials = 2};
        candidates_sort(&c);
        CHECK(memcmp(&trial[0].trial, &likelier, sizeof likelier) == 0, "pair %zu", i);
    }
    forget();
}

/* Of two changes that mend the gradient of one input the one where that is added to goes first. */
static void where_a_gradient_is_made_goes_first(void) {
    read_lines("h[i] += a * 2; dx[i] += b * 2;");
    int beside = find_edit(EDIT_FACTOR, "a * 2", NULL), there = find_edit(EDIT_FACTOR, "b * 2", NULL);
    for (unsigned mended = 1; mended < 4; mended++) {
        TrialResult trial[2] = {{.trial = {.edit = 1 + beside, .amount = 1}, .mended = mended, .price = 1},
                                {.trial = {.edit = 1 + there, .amount = 1}, .mended = mended}};
        Candidates c = {.edits = &edits, .trial = trial, .trials = 2};
        candidates_sort(&c);
        CHECK((trial[0].trial.edit == 1 + there && trial[0].price < trial[1].price) == (mended == 1), "%u",
              mended);
    }
    forget();
}

/* And a term added there before one of which nothing stays elsewhere. */
static void a_term_is_added_rather_than_replaced(void) {
    read_lines("h[i] += a * 2; dx[i] += b * 2;");
    int instead = find_edit(EDIT_FACTOR, "a * 2", NULL), added = find_edit(EDIT_TERM, "b * 2", NULL);
    TrialResult trial[2] = {
        {.trial = {.edit = 1 + instead, .value = {1}, .amount = 1, .instead = 1}, .mended = 1},
        {.trial = {.edit = 1 + added, .value = {1}, .amount = 1}, .mended = 1}};
    Candidates c = {.edits = &edits, .trial = trial, .trials = 2};
    candidates_sort(&c);
    CHECK(trial[0].trial.edit == 1 + added, "%g, %g", trial[0].price, trial[1].price);
    forget();
}

TEST_MAIN({"each change is tried once", each_change_is_tried_once},
          {"loops add what is theirs", loops_add_what_is_theirs},
          {"loops are tried once", loops_are_tried_once},
          {"the likelier goes first", the_likelier_goes_first},
          {"where a gradient is made goes first", where_a_gradient_is_made_goes_first},
          {"a term is added rather than replaced", a_term_is_added_rather_than_replaced})
