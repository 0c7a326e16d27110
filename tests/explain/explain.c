/* The experiments of ./explain: their rows agree with theory, and each conclusion follows from the
 * rows, for several seeds. Each begins with a question and its formula. */
#include "base/pool.h"
#include "child.h"
#include "explain/experiment.h"

/* Users run the double build. The float build is less exact. */
static const double rounding = sizeof(real) == sizeof(double) ? 1e-6 : 1e-5;

/* ---- Rows: lines of JSON in `out` ---- */

/* The value of that key in a line; NULL: none. */
static const char *value(const char *line, const char *key) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted), *end = next_line(line);
    return at && at < end ? at + strlen(quoted) : NULL;
}

static double number(const char *line, const char *key) {
    const char *at = value(line, key);
    return at ? strtod(at, NULL) : NAN;
}

/* The first line from `line` on with `key`: `text`; NULL: none. */
static const char *row(const char *line, const char *key, const char *text) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\"", text);
    for (; *line; line = next_line(line)) {
        const char *at = value(line, key);
        if (at && strncmp(at, quoted, strlen(quoted)) == 0) return line;
    }
    return NULL;
}

/* Runs an experiment, with training steps divided by `shorter`; `out` gets what it prints. One
 * thread leaves the others to the tests beside this one. */
static void run(const Experiment *experiment, uint64_t seed, int shorter, bool json) {
    Lab lab = {experiment, seed, json, shorter};
    FILE *file = tmpfile();
    pool_set_threads(1);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    lab_run(&lab);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    slurp(file, out);
}

/* The conclusion, one sentence, has these numbers in this order, each rounded as it is printed. */
static void concludes(const double *want, int count) {
    const char *at = strstr(out, "\"found\": ");
    CHECK(at, "%s", out);
    if (!at) return;
    CHECK(!strstr(at, ". ") && strstr(at, ".\"}\n"), "not one sentence: %s", at);
    for (int i = 0; i < count; i++) {
        while (*at && !(*at >= '0' && *at <= '9')) at++;
        char *end, *point;
        double found = strtod(at, &end), unit = 1;
        for (point = memchr(at, '.', (size_t)(end - at)); point && ++point < end && *point != 'e';)
            unit /= 10;
        const char *power = memchr(at, 'e', (size_t)(end - at));
        if (power) unit *= pow(10, atof(power + 1));
        CHECK(fabs(found - want[i]) <= 0.51 * unit, "number %d is %.*s, want %.6g in %s", i,
              (int)(end - at), at, want[i], strstr(out, "\"found\": "));
        at = end;
    }
}
#define CONCLUDES(...)                                                                             \
    concludes((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

/* ---- The experiments ---- */

TEST(relevance_without_symmetry_passes_its_bound) {
    run(&explain_relevance, 1, 1, true);
    double bound = number(row(out, "rule", "symmetric, at most"), "to_another");
    double keys = number(row(out, "rule", "symmetric"), "to_another");
    double both = number(row(out, "rule", "asymmetric"), "to_another");
    CHECK_NEAR(bound, 75, 0);
    CHECK_NEAR(number(row(out, "rule", "fixed"), "to_another"), 50, 0);
    CHECK(keys > 60 && keys <= bound && both >= 99, "%g, %g", keys, both);
    CONCLUDES(both, keys, bound, 50);
}

TEST(scaling_the_variance_of_q_k_is_d_k) {
    run(&explain_scaling, 1, 1, true);
    double off = 0, d_k = 1;
    const char *at = out, *end = out;
    for (; value(at, "d_k"); at = next_line(at)) {
        end = at;
        double scaled = number(at, "median_scaled");
        CHECK(number(at, "d_k") == d_k);
        CHECK_NEAR(number(at, "variance") / d_k, 1, 0.02);
        CHECK_NEAR(number(at, "median_through"), scaled / sqrt(d_k), 1e-12);
        CHECK(number(at, "entropy_scaled") > 3.5 && scaled > 0.1 && scaled < 0.3);
        off = fmax(off, fabs(number(at, "variance") / d_k - 1));
        d_k *= 2;
    }
    CHECK(d_k == 8192 && number(end, "median") < 1e-6 && number(end, "entropy") < 0.2, "%g",
          number(end, "median"));
    CONCLUDES(100 * off, 4096, number(end, "median"), number(end, "median_scaled"), 1,
              number(end, "median_through"));
}

/* tests/explain/numpy_walk.py computes the errors again. */
TEST(kernels_attention_learns_as_good_a_mean_from_far_points) {
    run(&explain_kernels, 1, 1, true);
    const char *learnt = row(next_line(row(out, "width", "fixed")), "width", "learnt");
    const char *attention = row(out, "kernel", "attention");
    double gauss = number(learnt, "error"), near = number(learnt, "distance");
    double error = number(attention, "error"), far = number(attention, "distance");
    CHECK(error < 1.3 * gauss && far > 3 * near, "errors %g, %g; distances %g, %g", error, gauss,
          far, near);
    CONCLUDES(error, gauss, far, near);
}

TEST(convolution_attention_gives_the_same) {
    for (int seed = 1; seed <= 2; seed++) {
        run(&explain_convolution, (uint64_t)seed, 1, true);
        const char *before = out, *last = out;
        while (value(next_line(last), "inside")) {
            before = last;
            last = next_line(last);
        }
        CHECK(strncmp(value(last, "alpha"), "null", 4) == 0); /* infinitely sharp */
        double error = fmax(number(last, "inside"), number(last, "ends"));
        CHECK(error <= rounding && number(before, "inside") <= rounding, "%g", error);
        CHECK(number(before, "ends") > 1, "a finite score must be wrong at the ends");
        CONCLUDES(error, number(before, "inside"), number(before, "ends"));
    }
}

/* Counts the pairs within k hops from the edges in the text. */
TEST(graph_attention_under_a_mask_passes_messages) {
    setenv("COLUMNS", "1000", 1);
    run(&explain_graph, 2, 1, false);
    bool edge[8][8] = {{0}}, near[8][8] = {{0}};
    for (const char *at = strstr(out, "has the edges ") + 14; at[1] == '-'; at += 4)
        edge[at[0] - 'A'][at[2] - 'A'] = edge[at[2] - 'A'][at[0] - 'A'] = true;
    for (int i = 0; i < 8; i++) edge[i][i] = near[i][i] = true;
    run(&explain_graph, 2, 1, true);
    double worst[2] = {0};
    int layers = 0;
    for (const char *at = out; value(at, "layers"); at = next_line(at)) {
        bool before[8][8];
        int pairs = 0;
        memcpy(before, near, sizeof near);
        for (int n = 0; n < 512; n++)
            near[n / 64][n % 8] |= before[n / 64][n / 8 % 8] && edge[n / 8 % 8][n % 8];
        for (int n = 0; n < 64; n++) pairs += near[n / 8][n % 8];
        CHECK(number(at, "layers") == ++layers && number(at, "within") == pairs &&
                  number(at, "reached") == pairs && number(at, "attention") == pairs,
              "want %d pairs: %.200s", pairs, at);
        worst[0] = fmax(worst[0], number(at, "mean"));
        worst[1] = fmax(worst[1], number(at, "sum"));
    }
    CHECK(layers == 5 && worst[0] <= rounding && worst[1] <= 243 * rounding, "%g, %g", worst[0],
          worst[1]);
    CONCLUDES(worst[0], worst[1], 1, 5, 0);
}

#if defined(REAL_DOUBLE) && !defined(SANITIZED) /* of these fewer steps of training show the same */
TEST(positions_without_them_copying_is_order_blind) {
    run(&explain_positions, 1, 1, true);
    double blind = number(row(out, "positions", "order-blind reader"), "accuracy"),
           without = number(row(out, "positions", "without"), "accuracy"),
           with = number(row(out, "positions", "with"), "accuracy");
    CHECK(with > 99 && without < blind && without > 50, "%g, %g, %g", with, without, blind);
    CONCLUDES(without, blind, with);
}

TEST(heads_four_name_two_relations_one_does_not) {
    run(&explain_heads, 3, 1, true);
    double one = number(out, "both"), four = number(next_line(out), "both");
    CHECK(number(out, "heads") == 1 && number(next_line(out), "heads") == 4);
    CHECK(four > 99.9 && one < 30, "%g, %g", one, four);
    CONCLUDES(8, four, 32, one);
}

TEST(recurrence_the_network_forgets_and_attention_does_not) {
    run(&explain_recurrence, 2, 4, true);
    const char *last = out;
    double least = 100, before = 100;
    for (const char *at = out; value(at, "distance"); at = next_line(at)) {
        last = at;
        CHECK(number(at, "recurrent") <= before + 1, "%.200s", at);
        before = number(at, "recurrent");
        least = fmin(least, number(at, "attention"));
    }
    CHECK(number(out, "recurrent") > 99 && before > 12.5 && before < 60 && least > 99.9, "%g, %g",
          before, least);
    CONCLUDES(number(out, "distance"), number(out, "recurrent"), number(last, "distance"), before,
              12.5, least);
}

TEST(scores_both_learn) {
    run(&explain_scores, 1, 1, true);
    const char *dot = row(out, "attention", "dot"), *other = row(out, "attention", "additive");
    double right = number(dot, "accuracy"), more = number(other, "accuracy");
    CHECK(right > 90 && more > 99, "%g, %g", right, more);
    CHECK(number(other, "parameters") - number(dot, "parameters") == 3 * 64,
          "a w of width 64 an attention");
    CONCLUDES(right, more, number(other, "ms_per_step") / number(dot, "ms_per_step"));
}

/* What is read at a step is what is right, or was said, one step before; the end is not read. */
static void check_shift(const char *step, const char *before, const char *reads) {
    const char *a = value(step, before), *b = value(next_line(step), reads);
    CHECK(!strncmp(a, b, 3) || (!strncmp(b, "\"\"", 2) && (a[1] == '>' || a[1] == '"')), "%.400s",
          step);
}

TEST(teacher_the_decoder_reads_the_token_of_one_step_before) {
    static const char *const column[2][4] = {
        {"first_right", "first_taught", "first_free", "first_says"},
        {"second_right", "second_taught", "second_free", "second_says"}};
    run(&explain_teacher, 1, 1, true);
    for (int i = 0; i < 2; i++) {
        const char *const *c = column[i], *at = out;
        CHECK(value(at, c[1])[1] == '<' && value(at, c[2])[1] == '<');
        for (; value(next_line(at), "step"); at = next_line(at)) {
            check_shift(at, c[0], c[1]);
            check_shift(at, c[3], c[2]);
            char now = value(at, c[0])[1], next = value(next_line(at), c[0])[1];
            CHECK(strchr("\">", now) || strchr("\">", next) || now <= next, "sorted: %.300s", at);
        }
    }
    double taught, free;
    const char *found = strstr(out, "gets "), *other = strstr(out, "taught, and ");
    CHECK(found && other && sscanf(found, "gets %lf", &taught) == 1 &&
              sscanf(other, "taught, and %lf", &free) == 1 && free < taught - 15 && free > 50 &&
              taught < 92,
          "%s", out);
}
#endif

/* ---- Text ---- */

/* Text begins with a question and a formula, and ends with a conclusion of one sentence. */
TEST(text_begins_with_a_question_and_ends_with_a_conclusion) {
    static const Experiment *const experiments[] = {
        &explain_relevance, &explain_kernels, &explain_convolution, &explain_graph, &explain_heads};
    setenv("COLUMNS", "1000", 1);
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++) {
        run(experiments[i], 1, 50, false);
        const char *end = next_line(out), *found = strstr(out, "\nFound: ");
        CHECK(strchr(out, '?') && strchr(out, '?') < strstr(end, "\n\n"), "no question: %s", out);
        CHECK(strstr(out, "\n\n    "), "no formula: %s", out);
        CHECK(found && !strstr(found, ". ") && !strstr(found, "\n\n"), "%s", found ? found : out);
    }
}

RUN_PROGRAM_TESTS
