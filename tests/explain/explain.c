/* The experiments of ./explain: their rows agree with theory, and each conclusion follows from the
 * rows, for several seeds. Each begins with a question and its formula. */
#include "explain_helpers.h"

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

/* The range of `column` over the rows with `key`: `text`. */
typedef struct Range {
    double low, high;
    int count;
} Range;

static Range range(const char *key, const char *text, const char *column) {
    Range r = {INFINITY, -INFINITY, 0};
    for (const char *at = out; (at = row(at, key, text)); at = next_line(at)) {
        double x = number(at, column);
        if (!isnan(x)) r.low = fmin(r.low, x), r.high = fmax(r.high, x), r.count++;
    }
    return r;
}

/* Runs an experiment; one thread leaves the others to the tests beside this one. */
static void experiment(const char *name, int seed) {
    char text[16];
    snprintf(text, sizeof text, "%d", seed);
    int status = EXPLAIN(name, "--json", "--threads", "1", "--seed", text);
    CHECK(status == 0 && !*err, "status %d: %s", status, err);
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
    for (int seed = 1; seed <= 3; seed++) {
        experiment("relevance", seed);
        Range keys = range("rule", "symmetric", "to_another"),
              both = range("rule", "asymmetric", "to_another");
        double bound = number(row(out, "rule", "symmetric, at most"), "to_another");
        CHECK_NEAR(bound, 75, 0);
        CHECK_NEAR(number(row(out, "rule", "fixed"), "to_another"), 50, 0);
        CHECK(keys.count == 5 && keys.low > 60 && keys.high <= bound, "%g to %g", keys.low,
              keys.high);
        CHECK(both.count == 5 && both.low >= 99, "%g", both.low);
        CONCLUDES(5, both.low, keys.high, bound, 50);
    }
}

TEST(scaling_the_variance_of_q_k_is_d_k) {
    for (int seed = 1; seed <= 3; seed++) {
        experiment("scaling", seed);
        double off = 0, d_k = 1;
        const char *at = out, *end = out;
        for (; value(at, "d_k"); end = at, at = next_line(at), d_k *= 2) {
            double scaled = number(at, "median_scaled");
            CHECK(number(at, "d_k") == d_k);
            CHECK_NEAR(number(at, "variance") / d_k, 1, 0.02);
            CHECK_NEAR(number(at, "median_through"), scaled / sqrt(d_k), 1e-12);
            CHECK(number(at, "entropy_scaled") > 3.5 && scaled > 0.1 && scaled < 0.3);
            off = fmax(off, fabs(number(at, "variance") / d_k - 1));
        }
        CHECK(d_k == 8192 && number(end, "median") < 1e-6 && number(end, "entropy") < 0.2, "%g",
              number(end, "median"));
        CONCLUDES(100 * off, 4096, number(end, "median"), number(end, "median_scaled"), 1,
                  number(end, "median_through"));
    }
}

/* A learnt width is about the best; attention learns as good a mean from far points. The errors themselves
 * are computed again by tests/explain/numpy_kernels.py. */
TEST(kernels_a_learnt_width_is_about_the_best) {
    for (int seed = 1; seed <= 3; seed += 2) {
        static const char *const kernels[] = {"gauss", "triangle"};
        double above[2], gauss = 0, near = 0;
        experiment("kernels", seed);
        for (int i = 0; i < 2; i++) {
            double fixed = INFINITY;
            for (const char *at = row(out, "kernel", kernels[i]); at;
                 at = row(next_line(at), "kernel", kernels[i])) {
                double error = number(at, "error"), best = number(at, "best");
                if (strncmp(value(at, "width"), "\"learnt\"", 8) != 0) {
                    fixed = fmin(fixed, error);
                    continue;
                }
                above[i] = 100 * (error / best - 1);
                CHECK(above[i] <= 5 && error < fixed, "%s: %g, fixed %g", kernels[i], error, fixed);
                if (i == 0) gauss = error, near = number(at, "distance");
            }
        }
        const char *attention = row(out, "kernel", "attention");
        double error = number(attention, "error"), far = number(attention, "distance");
        CHECK(error < 1.3 * gauss && far > 3 * near, "errors %g, %g; distances %g, %g", error,
              gauss, far, near);
        CONCLUDES(above[0], above[1], error, gauss, far, near);
    }
}

TEST(convolution_attention_gives_the_same) {
    for (int seed = 1; seed <= 3; seed++) {
        experiment("convolution", seed);
        const char *before = out, *last = out;
        while (value(next_line(last), "inside")) before = last, last = next_line(last);
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
    CHECK(EXPLAIN("graph") == 0, "%s", err);
    bool edge[8][8] = {{0}}, near[8][8] = {{0}};
    for (const char *at = strstr(out, "has the edges ") + 14; at[1] == '-'; at += 4)
        edge[at[0] - 'A'][at[2] - 'A'] = edge[at[2] - 'A'][at[0] - 'A'] = true;
    for (int i = 0; i < 8; i++) edge[i][i] = near[i][i] = true;
    experiment("graph", 2);
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
        worst[0] = fmax(worst[0], number(at, "mean")), worst[1] = fmax(worst[1], number(at, "sum"));
    }
    CHECK(layers == 5 && worst[0] <= rounding && worst[1] <= 243 * rounding, "%g, %g", worst[0],
          worst[1]);
    CONCLUDES(worst[0], worst[1], 1, 5, 0);
}

#if defined(REAL_DOUBLE) &&                                                                        \
    !defined(SANITIZED) /* experiments that train for seconds run as users run them */
TEST(positions_without_them_copying_is_order_blind) {
    experiment("positions", 1);
    double blind = number(row(out, "positions", "order-blind reader"), "accuracy"),
           without = number(row(out, "positions", "without"), "accuracy"),
           with = number(row(out, "positions", "with"), "accuracy");
    CHECK(with >= 99 && without < blind + 1.5 && without > blind - 8, "%g, %g, %g", with, without,
          blind);
    CONCLUDES(without, blind, with);
}

TEST(heads_four_name_two_relations_one_does_not) {
    experiment("heads", 3); /* of its five seeds the last lets one head come far */
    double low[5] = {0}, high[5] = {0};
    for (int heads = 1; heads <= 4; heads++) low[heads] = INFINITY;
    int rows = 0;
    for (const char *at = out; value(at, "heads"); at = next_line(at), rows++) {
        int heads = (int)number(at, "heads");
        CHECK(heads >= 1 && heads <= 4);
        low[heads] = fmin(low[heads], number(at, "both")),
        high[heads] = fmax(high[heads], number(at, "both"));
    }
    CHECK(rows == 15 && low[4] > 99 && low[2] > 99 && high[1] < low[4],
          "%d rows; one head %g to %g", rows, low[1], high[1]);
    CONCLUDES(5, 8, low[4], 32, low[1], high[1]);
}

TEST(recurrence_the_network_forgets_and_attention_does_not) {
    experiment("recurrence", 2);
    const char *last = out;
    double least = 100, before = 100;
    for (const char *at = out; value(at, "distance"); last = at, at = next_line(at)) {
        CHECK(number(at, "recurrent") <= before + 1, "%.200s", at);
        before = number(at, "recurrent"), least = fmin(least, number(at, "attention"));
    }
    CHECK(number(out, "recurrent") > 99 && before > 12.5 && before < 60 && least > 99.9, "%g, %g",
          before, least);
    CONCLUDES(number(out, "distance"), number(out, "recurrent"), number(last, "distance"), before,
              12.5, least);
}

TEST(scores_both_learn_over_five_seeds) {
    experiment("scores", 1);
    Range dot = range("attention", "dot", "accuracy"),
          additive = range("attention", "additive", "accuracy");
    CHECK(dot.count == 5 && additive.count == 5 && dot.low > 85 && additive.low > 85, "%g, %g",
          dot.low, additive.low);
    int ahead = 0;
    double ms[2] = {0};
    const char *at = out;
    for (; value(at, "accuracy"); at = next_line(next_line(at))) {
        const char *other = next_line(at);
        CHECK(number(at, "seed") == number(other, "seed"), "%.200s", at);
        CHECK(number(other, "parameters") - number(at, "parameters") == 3 * 64,
              "a w of width 64 an attention");
        ahead += number(at, "accuracy") > number(other, "accuracy");
        ms[0] += number(at, "ms_per_step"), ms[1] += number(other, "ms_per_step");
    }
    CONCLUDES(5, dot.low, dot.high, additive.low, additive.high, ahead, 5, ms[1] / ms[0]);
}

/* The tokens read at a step are those wanted, or said, one step before. */
static void read_is_shifted(const char *step, const char *before, const char *reads) {
    const char *a = value(step, before) + 1, *b = value(next_line(step), reads) + 1;
    for (int i = 0; i < 5; i++) CHECK(b[i] == a[i] || (b[i] == '.' && a[i] == '>'), "%.300s", step);
}

/* The answer of a sequence is its source, sorted. */
static void answer_is_sorted(int sequence) {
    char source[16] = "", answer[16] = "";
    int n = 0;
    for (const char *at = out; value(at, "step") && n < 15; at = next_line(at), n++)
        source[n] = value(at, "source")[1 + sequence],
        answer[n] = value(at, "wanted")[1 + sequence];
    for (int i = 0; i < n; i++) {
        int in_source = 0, in_answer = 0;
        for (int k = 0; k < n; k++)
            in_source += source[k] == answer[i], in_answer += answer[k] == answer[i];
        if (!strchr("><.", answer[i]))
            CHECK(in_source == in_answer, "%s, sorted %s", source, answer);
    }
}

TEST(teacher_the_decoder_reads_the_token_of_one_step_before) {
    for (int seed = 1; seed <= 2; seed++) {
        experiment("teacher", seed);
        CHECK(strncmp(value(out, "taught_reads"), "\"<<<<<", 6) == 0 &&
              strncmp(value(out, "free_reads"), "\"<<<<<", 6) == 0);
        for (int i = 0; i < 5; i++) answer_is_sorted(i);
        const char *at = out;
        for (; value(next_line(at), "step"); at = next_line(at))
            read_is_shifted(at, "wanted", "taught_reads"),
                read_is_shifted(at, "free_says", "free_reads");
        double least = INFINITY, widest = 0, taught = 0, free = 0;
        int rows = 0;
        for (at = next_line(at); value(at, "trained"); at = next_line(at), rows++) {
            taught = number(at, "taught_token"), free = number(at, "free_token");
            least = fmin(least, taught - free), widest = fmax(widest, taught - free);
        }
        CHECK(rows == 8 && least > 0 && widest > 5 && !strstr(out, "answer"), "%d rows, %g to %g",
              rows, least, widest);
        CONCLUDES(least, widest, free, taught, 480);
    }
}
#endif

/* ---- Text ---- */

/* Every experiment begins with a question and its formula, ends with its conclusion, and prints this text between
 * them. */
TEST(text_begins_with_a_question_and_ends_with_a_conclusion) {
    static const struct {
        const char *name, *says[6];
    } cases[] = {
        {"relevance",
         {"v_i <- 0.75 v_i + 0.25", "r_ij = e^(beta k_i.k_j)", "r_ij = e^(q_i.k_j / sqrt(d_k))",
          "a_ij = r_ij / sum_j r_ij", "Riley -> dog", "symmetric, at most"}},
        {"scaling", {"S' = S / sqrt(d_k)", "dS = dS' / sqrt(d_k)"}},
        {"kernels",
         {"e^(-(x - x_j)^2 / h)", "1 where |x - x_j| <= h", "max(0, 1 - |x - x_j| / h)",
          "query = x, keys = x_j, values = y_j", "Large weights lie far from the diagonal"}},
        {"convolution", {"sum_d W_d x_(i+d)", "At the ends"}},
        {"graph",
         {"h_i <- 1/|N_i| sum_(j in N_i) h_j", "-inf where j is not in N_i", "After 5 layers"}},
    };
    setenv("COLUMNS", "1000", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(EXPLAIN(cases[i].name) == 0 && !*err, "%s", err);
        const char *end = next_line(out), *found = strstr(out, "\nFound: ");
        CHECK(strchr(out, '?') && strchr(out, '?') < strstr(end, "\n\n"), "no question: %s", out);
        CHECK(strstr(out, "\n\n    "), "no formula: %s", out);
        CHECK(found && !strstr(found, ". ") && !strstr(found, "\n\n"), "%s", found ? found : out);
        for (int k = 0; k < 6 && cases[i].says[k]; k++)
            CHECK(strstr(out, cases[i].says[k]), "%s: no '%s' in\n%s", cases[i].name,
                  cases[i].says[k], out);
    }
}

RUN_PROGRAM_TESTS
