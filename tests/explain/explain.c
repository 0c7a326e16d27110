/* ./explain: what its experiments claim holds, by their own numbers and by bounds known beforehand; and what it refuses. */
#include "explain_helpers.h"
#include "formats/json.h"
#include <sys/ioctl.h>

/* The double build is the one that users have; in the float build the same holds less sharply. */
static const bool exact = sizeof(real) == sizeof(double);

/* ---- Rows of an experiment: lines of JSON in `out` ---- */

static const char *next_line(const char *text) {
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* The value of that key in a line as it stands there; NULL where there is none. */
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

/* Goes to the first line, from `line` on, that says `key`: `text`; NULL behind the last. */
static const char *row(const char *line, const char *key, const char *text) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\"", text);
    for (; *line; line = next_line(line)) {
        const char *at = value(line, key);
        if (at && strncmp(at, quoted, strlen(quoted)) == 0) return line;
    }
    return NULL;
}

/* Runs the experiment for its rows; beside other tests a second thread gains nothing. */
static void experiment(const char *name) {
    int status = EXPLAIN(name, "--json", "--threads", "1");
    CHECK(status == 0, "status %d: %s", status, err);
    CHECK(lines_of(out) > 1 && strstr(out, "\"found\": "));
}

/* ---- Experiments ---- */

static void symmetry_bounds_relevance(void) {
    experiment("relevance");
    double bound = number(row(out, "way", "at most"), "to_another");
    int runs = 0;
    CHECK_NEAR(bound, 75, 0);
    CHECK_NEAR(number(row(out, "way", "fixed"), "to_another"), 50, 0);
    for (const char *at = row(out, "way", "symmetric"); at;
         at = row(next_line(at), "way", "symmetric"), runs++)
        CHECK(number(at, "to_another") <= bound && number(at, "to_another") > 60, "%g",
              number(at, "to_another"));
    for (const char *at = row(out, "way", "asymmetric"); at;
         at = row(next_line(at), "way", "asymmetric"), runs++)
        CHECK(number(at, "all") >= 99, "%g", number(at, "all"));
    CHECK(runs == 10, "found %d runs", runs);
}

static void variance_is_d_k(void) {
    double gradient = 0, scaled = 0;
    int rows = 0;
    experiment("scaling");
    for (const char *at = out; value(at, "d_k"); at = next_line(at), rows++) {
        CHECK(number(at, "d_k") == 1 << rows);
        CHECK_NEAR(number(at, "variance") / number(at, "d_k"), 1, 0.02);
        CHECK(number(at, "entropy_scaled") > 3.5, "%g", number(at, "entropy_scaled"));
        gradient = number(at, "gradient"), scaled = number(at, "gradient_scaled");
    }
    CHECK(rows == 13, "found %d sizes", rows);
    CHECK(scaled > 5 * gradient, "at the largest d_k: %g with the division, %g without", scaled, gradient);
}

/* The width that is learnt is about as good as any, and better than those that are shown beside it. */
static void widths_are_learnt(void) {
    static const char *const kernels[] = {"gauss", "triangle"};
    experiment("kernels");
    for (int i = 0; i < 2; i++) {
        double learnt = NAN, fixed = INFINITY;
        for (const char *at = row(out, "kernel", kernels[i]); at;
             at = row(next_line(at), "kernel", kernels[i])) {
            double error = number(at, "error");
            bool is_learnt = strncmp(value(at, "width"), "\"learnt\"", 8) == 0;
            *(is_learnt ? &learnt : &fixed) = is_learnt ? error : fmin(fixed, error);
            CHECK(!is_learnt || error <= 1.05 * number(at, "best"), "%s: %g", kernels[i], error);
        }
        CHECK(learnt < fixed, "%s: learnt %g, fixed %g", kernels[i], learnt, fixed);
    }
}

static void convolution_is_attention(void) {
    const char *last = out;
    experiment("convolution");
    while (value(next_line(last), "inside")) last = next_line(last);
    CHECK(strncmp(value(last, "alpha"), "null", 4) == 0); /* infinitely sharp */
    CHECK(number(last, "inside") <= (exact ? 1e-6 : 1e-5), "%g", number(last, "inside"));
    CHECK(number(last, "ends") <= (exact ? 1e-6 : 1e-5), "%g", number(last, "ends"));
}

/* What stands on the tape of the model that is described there: who recorded it, and multiply-adds as the layers have
 * them, by their sizes alone. */
static void tape_is_shown(void) {
    /* All but the embeddings read one, five sums with a residual and the cross-attention a second. */
    enum { D = 32, D_FF = 64, VOCABULARY = 16, EDGES = 22 - 2 + 5 + 1 };
    const double n = 5 + 4, m = 6 + 5, seen = 5 * 5 + 4 * 4, causal = 6 * 7 / 2 + 5 * 6 / 2,
                 crossed = 6 * 5 + 5 * 4;
    const double encoder = 4 * n * D * D + 2 * seen * D + 2 * n * D * D_FF,
                 decoder = 6 * m * D * D + 2 * n * D * D + 2 * (causal + crossed) * D + 2 * m * D * D_FF;
    static const char *const recorder[] = {"nn_embedding",
                                           "nn_self_attention",
                                           "nn_self_attention",
                                           "nn_self_attention",
                                           "nn_norm",
                                           "nn_feed_forward",
                                           "nn_feed_forward",
                                           "nn_norm",
                                           "nn_embedding",
                                           "nn_masked_self_attention",
                                           "nn_masked_self_attention",
                                           "nn_masked_self_attention",
                                           "nn_norm",
                                           "nn_cross_attention",
                                           "nn_cross_attention",
                                           "nn_cross_attention",
                                           "nn_cross_attention",
                                           "nn_norm",
                                           "nn_feed_forward",
                                           "nn_feed_forward",
                                           "nn_norm",
                                           "nn_loss"};
    double sum = 0, bytes = 0;
    int rows = 0;
    experiment("tape");
    for (const char *at = out; value(at, "index") && rows < 22; at = next_line(at), rows++) {
        CHECK(number(at, "index") == rows);
        CHECK(strcspn(value(at, "recorder") + 1, "\"") == strlen(recorder[rows]) &&
                  strncmp(value(at, "recorder") + 1, recorder[rows], strlen(recorder[rows])) == 0,
              "want %s: %.120s", recorder[rows], at);
        sum += number(at, "multiply_adds"), bytes += number(at, "bytes");
    }
    CHECK(rows == 22, "found %d operations", rows);
    CHECK_NEAR(sum, encoder + decoder + m * D * VOCABULARY, 0.5);
    CHECK(number(row(out, "operation", "embedding"), "bytes") == n * D * sizeof(real));
    CHECK(EXPLAIN("tape") == 0, "%s", err);
    double held = strtod(strstr(out, "the tape\ncounts ") + 16, NULL); /* in whole cache lines */
    CHECK(held >= bytes && held < bytes + 64 * 2 * rows, "held %g, shown %g", held, bytes);
    enter_folder();
    CHECK(EXPLAIN("tape", "--dot", "tape.dot") == 0, "%s", err);
    size_t size;
    char *dot = read_bytes("tape.dot", &size);
    CHECK(dot && strncmp(dot, "digraph", 7) == 0 && lines_of(dot) == 3 + 22 + EDGES, "found %d lines:\n%s",
          dot ? lines_of(dot) : 0, dot ? dot : "");
    free(dot);
}

#if defined(REAL_DOUBLE) && !defined(SANITIZED) /* what trains for seconds is tested as users have it */
static void order_needs_positions(void) {
    experiment("positions");
    double blind = number(row(out, "positions", "order-blind reader"), "accuracy");
    double without = number(row(out, "positions", "without"), "accuracy");
    CHECK(number(row(out, "positions", "with"), "accuracy") >= 99);
    CHECK(without < blind + 1.5 && without > blind - 8, "without %g %%, order-blind %g %%", without, blind);
}

static void four_heads_see_two_relations(void) {
    int heads[5] = {0};
    experiment("heads");
    for (const char *at = out; value(at, "heads"); at = next_line(at)) {
        int h = (int)number(at, "heads");
        heads[h < 5 ? h : 0]++;
        CHECK(h == 1 ? number(at, "both") < 50 : number(at, "both") > 99, "%d: %g", h, number(at, "both"));
    }
    CHECK(heads[1] == 3 && heads[2] == 3 && heads[4] == 3);
}
/* Both kinds of scores learn; additive ones take longer. */
static void scores_are_compared(void) {
    experiment("scores");
    const char *dot = row(out, "attention", "dot"), *additive = row(out, "attention", "additive");
    CHECK(number(dot, "accuracy") > 90, "%g", number(dot, "accuracy"));
    CHECK(number(additive, "accuracy") > 90, "%g", number(additive, "accuracy"));
    CHECK(number(additive, "parameters") - number(dot, "parameters") == 3 * 64,
          "a w of width 64 an attention");
    const char *at = next_line(additive);
    int lengths = 0;
    for (; value(at, "length"); at = next_line(at), lengths++)
        CHECK(number(at, "times") > 1, "%g tokens: %g", number(at, "length"), number(at, "times"));
    CHECK(lengths == 3);
}

/* What is read at a step is what was wanted, or said, at the one before. */
static void read_is_shifted(const char *step, const char *next, const char *before, const char *reads) {
    const char *a = value(step, before) + 1, *b = value(next, reads) + 1;
    for (int i = 0; i < 5; i++) CHECK(b[i] == a[i] || (b[i] == '.' && a[i] == '>'), "%.200s", step);
}

static void teacher_shifts_right(void) {
    double widest = 0;
    int rows = 0;
    experiment("teacher");
    CHECK(strncmp(value(out, "taught_reads"), "\"<<<<<", 6) == 0 &&
          strncmp(value(out, "free_reads"), "\"<<<<<", 6) == 0);
    const char *at = out;
    for (; value(next_line(at), "step"); at = next_line(at)) {
        read_is_shifted(at, next_line(at), "wanted", "taught_reads");
        read_is_shifted(at, next_line(at), "free_says", "free_reads");
    }
    for (at = next_line(at); value(at, "trained"); at = next_line(at), rows++) {
        double taught = number(at, "taught_token"), free = number(at, "free_token");
        CHECK(free <= taught, "taught %g, free %g", taught, free);
        CHECK_NEAR(number(at, "taught_answer"), number(at, "free_answer"), 0);
        widest = fmax(widest, taught - free);
    }
    CHECK(rows == 8 && widest > 5, "%d rows, differences up to %g", rows, widest);
}

#define SLOW_TESTS                                                                                           \
    {"positions: without them copying is as order-blind readers do it", order_needs_positions},              \
        {"heads: four name two relations, one does not", four_heads_see_two_relations},                      \
        {"scores: both learn, additive ones take longer", scores_are_compared},                              \
        {"teacher: the decoder reads what was wanted, or said, a step before", teacher_shifts_right},
#else
#define SLOW_TESTS
#endif

/* ---- The walk; its numbers are judged by tests/explain/numpy_walk.py ---- */

#define TINY "--d-model", "16", "--heads", "2", "--layers", "1", "--batch", "4", "--steps", "3", "--quiet"

/* A run's own weights: what the walk calls its output is what its weights make of what it calls its input. */
static void walks_through_a_run(void) {
    MAKE_RUNS(TINY);
    static const char *const sides[] = {"encoder", "decoder", "cross"};
    for (int i = 0; i < 3; i++) {
        CHECK(EXPLAIN("--model", "copy", "--text", "1234", "--side", sides[i], "--head", "2") == 0, "%s",
              err);
        CHECK(strstr(out, "random") == NULL && strstr(out, "heads: A of all heads, [2,"));
    }
    CHECK(strstr(out, "<begin>"), "the decoder of a run begins");
    CHECK(EXPLAIN("--model", "lm", "--text", "the mat", "--step", "mask", "--json") == 0, "%s", err);
    CHECK(lines_of(out) == 1 && strstr(out, "\"shape\": [7, 7]") && strstr(out, "null"), "%s", out);
    CHECK(EXPLAIN("--model", "lm", "--text", "the mat", "--step", "scaling") == 0 && strstr(out, "sqrt(d_k)"),
          "%s", err);
    CHECK(EXPLAIN("--model", "lm", "--text", "the mat", "--side", "cross") == 2, "%s", err);
    CHECK(TRAIN("copy", TINY, "--attention", "additive", "--symbols", "5", "--run", "additive") == 0, "%s",
          err);
    CHECK(EXPLAIN("--model", "additive", "--text", "12") == 0 && strstr(out, "tanh") &&
              !strstr(out, "sqrt(d_k)"),
          "%s", out);
    CHECK(EXPLAIN("--model", "additive", "--text", "12", "--step", "scaling") == 2 &&
              strstr(err, "not divided"),
          "%s", err);
    CHECK(EXPLAIN("--model", "lm", "--text", "the dog") == 65, "%s", err);
    CHECK(EXPLAIN("--model", "copy", "--text", "1234512345") == 65 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--model", "copy", "--text", "12", "--layer", "2") == 2, "%s", err);
    CHECK(EXPLAIN("--model", "none", "--text", "12") == 66, "%s", err);
    CHECK(EXPLAIN("copy", "--text", "1234", "--html", "page.html") == 0 &&
          strstr(list_folder("."), "page.html"));
    CHECK(EXPLAIN("copy") == 2 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("copy", "--text", "1", "--step", "scores") == 2 && lines_of(err) == 1, "%s", err);
}

/* Whatever the sentence, and one step alone. */
static void walks_through_any_sentence(void) {
    char longest[201] = "", too_long[2001] = "";
    memset(longest, 'a', 200), memset(too_long, 'b', 2000);
    CHECK(EXPLAIN("--text", "a") == 0 && strstr(out, "softmax: A, [1,1]"), "%s", err);
    CHECK(EXPLAIN("--text", longest) == 0 && strstr(out, "softmax: A, [200,200]"), "%s", err);
    CHECK(EXPLAIN("walk", "--step", "scores") == 0 && strstr(out, "scores: S, [15,15]"), "%s", err);
    CHECK(!strstr(out, "softmax: ") && !strstr(out, "tokens: "), "more than one step: %s", out);
    CHECK(EXPLAIN("--words", "--vocabulary", "[UNK] I was", "--text", "was I me", "--step", "tokens") == 0);
    CHECK(strstr(out, "was    2\n") && strstr(out, "I      1\n") && strstr(out, "[UNK]  0\n"), "%s", out);
    CHECK(EXPLAIN("--text", "") == 65 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--words", "--text", "  ") == 65 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--text", "\xff") == 2 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--text", too_long) == 65 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--text", "ab", "--vocabulary", "a") == 65 && lines_of(err) == 1, "%s", err);
}

/* ---- What is printed and refused ---- */

static void says_what_was_found(void) {
    enter_folder();
    CHECK(EXPLAIN("convolution", "--svg", "picture.svg") == 0, "%s", err);
    size_t bytes;
    char *svg = read_bytes("picture.svg", &bytes);
    CHECK(svg && strncmp(svg, "<svg", 4) == 0 && strstr(svg, "</svg>"), "no picture was saved");
    free(svg);
    const char *last = out, *found = NULL;
    for (; *last; last = next_line(last))
        if (strncmp(last, "Found: ", 7) == 0) found = last;
    CHECK(found && strstr(found, "within"), "%s", out);
    CHECK(!*err, "%s", err);
}

/* What a terminal of this many columns is sent. */
static void watch(int columns, const char *const *arguments) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const char *name = ptsname(terminal);
    int other = open(name, O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    CHECK(other >= 0 && ioctl(other, TIOCSWINSZ, &size) == 0);
    FILE *to_err = tmpfile();
    pid_t child = start_program("explain", arguments, (Streams){.output = name}, to_err, to_err);
    size_t used = 0;
    close(other);
    for (ssize_t n; (n = read(terminal, out + used, MOST_OUTPUT - 1 - used)) > 0;) used += (size_t)n;
    out[used] = 0;
    int status = wait_program(child);
    slurp(to_err, err);
    CHECK(status == 0, "%s", err);
    close(terminal);
}

/* Prose, tables, matrices and pictures leave the last column free; a row that is too long has several lines. */
static void fits_narrow_terminals(void) {
    static const char *const shown[][5] = {
        {"tape"}, {"convolution"}, {"walk", "--words", "--text", "I was myself"}};
    setenv("NO_COLOR", "1", 1);
    for (int width = 40; width <= 80; width += 20)
        for (int i = 0; i < 3; i++) {
            watch(width, shown[i]);
            for (const char *line = out; *line; line = next_line(line)) {
                int columns = 0; /* of UTF-8, without what continues a character */
                for (const char *c = line; *c && *c != '\r'; c++)
                    columns += ((unsigned char)*c & 0xC0) != 0x80;
                CHECK(columns < width, "%d columns: found %.*s", width, columns, line);
            }
            CHECK(!strchr(out, '\033'), "colour that is not wanted: %s", out);
        }
    CHECK(strstr(out, "before-after: row 0 of X and of Z, [2,32]\r\n"), "%s", out);
}

static void refuses(void) {
    enter_folder();
    CHECK(EXPLAIN("nothing") == 2 && strstr(err, "one of walk") && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("scaling", "relevance") == 2 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("scaling", "--head", "2") == 2 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("scaling", "--dot", "graph.dot") == 2 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("tape", "--dot", "none/graph.dot") == 73 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--svg", "picture.svg") == 2 && lines_of(err) == 1, "%s", err);
    CHECK(EXPLAIN("--step", "nothing") == 2 && strstr(err, "need one of tokens") && lines_of(err) == 1, "%s",
          err);
    CHECK(EXPLAIN("convolution", "--svg", "none/picture.svg") == 73 && lines_of(err) == 1, "%s", err);
    CHECK(lines_of(list_folder(".")) == 1, "left behind: %s", listing);
}

PROGRAM_TEST_MAIN(SLOW_TESTS{"relevance: the bound of symmetry is kept, and broken without it",
                             symmetry_bounds_relevance},
                  {"scaling: the variance of q.k is d_k", variance_is_d_k},
                  {"kernels: a learnt width is about the best", widths_are_learnt},
                  {"tape: operations, by whom, and what they cost", tape_is_shown},
                  {"convolution: attention gives the same", convolution_is_attention},
                  {"the walk through a run's attention", walks_through_a_run},
                  {"the walk through any sentence", walks_through_any_sentence},
                  {"an experiment saves its pictures and ends with what it found", says_what_was_found},
                  {"all fits a narrow terminal", fits_narrow_terminals},
                  {"what cannot be shown is refused in a line", refuses})
