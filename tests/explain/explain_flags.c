/* ./explain on the command line: the walk through sentences and runs, the maps of a run, refused
 * options, and widths. */
#include "child.h"
#include <sys/stat.h>

#define EXPLAIN(...) run_program("explain", ARGUMENTS(__VA_ARGS__), (Streams){0})

#define TINY                                                                                       \
    "--d-model", "8", "--heads", "2", "--layers", "2", "--batch", "4", "--steps", "1", "--quiet"
#define COPY "copy", TINY, "--symbols", "5", "--max-length", "5", "--held-out", "9"

static void make_two_runs(void) {
    write_text("text", "the cat sat on the mat, and the rat sat on the cat and the mat");
    MUST(TRAIN("copy", TINY, "--symbols", "5", "--max-length", "4", "--run", "copy"));
    MUST(TRAIN("lm", TINY, "--preset", "gpt", "--text", "text", "--context", "8", "--tail", "0",
               "--run", "lm"));
}

/* Runs of every kind of model: copy, lm, pre (norm first), additive, modern. */
static void make_runs(void) {
    make_two_runs();
    MUST(TRAIN(COPY, "--norm", "pre", "--run", "pre"));
    MUST(TRAIN(COPY, "--attention", "additive", "--run", "additive"));
    MUST(TRAIN(COPY, "--positions", "rotary", "--norm-kind", "rms", "--qk-norm", "true",
               "--activation", "swiglu", "--run", "modern"));
}

/* ---- The walk; tests/explain/numpy_walk.py computes its numbers again ---- */

/* Each command prints the texts of its first list, and none of the second; all is ASCII. */
TEST(the_walk_shows_contents_steps_and_sums) {
    static const struct {
        const char *arguments[10], *shows[6], *hides[3];
    } cases[] = {
        {{NULL},
         {"tokens: I=0 was=1 myself=2\n", "  20 A              [4,3,3]   Row i: how token i",
          "  ... 77 steps of encoder.layers.1 to decoder.layers.1\n",
          "\n20 A = softmax(x = S'), [4,3,3]", "z_ij = sum_k x_ik W_jk + b_j",
          "./explain --backward"},
         {"y = r + z", ".c", "decoder.layers.0.multihead_attn"}},
        {{"walk", "--text", "a", "--step", "A"},
         {"A = softmax(x = S'), [4,1,1]"},
         {"tokens", "L ="}},
        {{"--text", "b a b"}, {"tokens: b=0 a=1 b=0\n"}, {NULL}},
        {{"--step", "18", "--cell", "0,1"}, {"S[0,1] = ", "the sum of 8 terms", " times "}, {"51"}},
        {{"--step", "S", "--module", "decoder.layers.1"}, {"140 S", "168 S"}, {"18 S"}},
        {{"--step", "masked S'"}, {"masked_fill(x = S')", "-inf"}, {NULL}},
        {{"--step", "A", "--cell", "0,0"}, {"the formula is no sum"}, {NULL}},
        {{"--characters", "--text", "a b"}, {"tokens: a=0 _=1 b=2\n"}, {NULL}},
        {{"--characters"}, {"[15,32]", "\n  ...\n"}, {NULL}},
        {{"--characters", "--step", "A", "--full"}, {"\n  14 "}, {"..."}},
        {{"--model", "copy", "--text", "1234"},
         {"copy, d_model 8, 2 heads", "source: 1=", "tokens: <begin>="},
         {"random", "./explain"}},
        {{"--model", "lm", "--text", "the mat"}, {"tokens: t="}, {"source"}},
        {{"--model", "pre", "--text", "12", "--module", "decoder.layers.0.multihead_attn"},
         {"Q = numbers of linear"},
         {"masked"}},
        {{"--model", "additive", "--text", "12"}, {"tanh"}, {"scale(", "S'"}},
        {{"--model", "modern", "--text", "12"},
         {"rotary(x = linear", "rms_norm(x = R, gamma = norm1.weight)", "swiglu(x = linear"},
         {"layer_norm", "P = "}},
        {{"--model", "modern", "--text", "12", "--step", "rotary", "--module",
          "decoder.layers.0.mul"},
         {"x^_j = r x_j", "y = x^"},
         {"cos"}},
        {{"--backward"},
         {"backward from L = ", "\n20 dL/d A, [4,3,3], of A = softmax(x = S')",
          ", a sum of 2 parts, ", "The update: AdamW, step 1, of w = self_attn.in_proj_weight[",
          "  ... 77 steps of decoder.layers.1 to encoder.layers.1\n"},
         {"transpose 17", "adds to"}},
        {{"--backward", "--full"},
         {"\n  127 ", "adds to dL/d embedding.weight, [3,32], part 3 of 3\n"},
         {" ...\n"}},
        {{"--backward", "--text", "a b", "--step", "softmax", "--cell", "0,1"},
         {"20 dL/d A, [4,2,2], of A = softmax(x = S')", "Forward keeps only y.", "by differences",
          "dx_k += y_k (dy_k - sum_i dy_i y_i)", "dL/d S'[0,1]: ", ", the sum of 2 terms"},
         {"matmul", "The update"}},
        {{"--backward", "--text", "a b", "--module", "decoder", "--step", "scale", "--cell", "0,0"},
         {"0, because this token sees one token only", "(84 softmax)"},
         {"masked_fill)"}},
        {{"--backward", "--text", "a b", "--module", "decoder", "--step", "scale", "--cell", "0,1"},
         {"0, because the mask hides the score", "(83 masked_fill)"},
         {"softmax)"}},
        {{"--backward", "--step", "masked_fill", "--cell", "0,2"},
         {"the value is -inf, set by the mask"},
         {"nan"}},
        {{"--backward", "--step", "H", "--cell", "0,1"},
         {"0, because the activation sets every value", "dz_ij = dy_ij where y_ij > 0, else 0"},
         {"-0 ", "dr_ij"}},
        {{"--backward", "--model", "lm", "--text", "the mat"},
         {"L = cross_entropy(x = logits)", "a sum of 2 parts"},
         {"multihead_attn"}},
        {{"--modern", "--step", "merges"},
         {"merges: a table of 7\n", "\n  _ l o w e r\n    256 = l + o : _ lo w e r\n"},
         {"tokens:"}},
    };
    make_runs();
    setenv("LC_ALL", "C", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(run_program("explain", cases[i].arguments, (Streams){0}) == 0 && !*err, "%zu: %s", i,
              err);
        bool is_short = !*cases[i].arguments || strcmp(*cases[i].arguments, "--backward") == 0;
        if (is_short && !cases[i].arguments[1])
            CHECK(lines_of(out) <= 150, "%d lines", lines_of(out));
        for (int k = 0; k < 6 && cases[i].shows[k]; k++)
            CHECK(strstr(out, cases[i].shows[k]), "%zu: no '%s' in\n%s", i, cases[i].shows[k], out);
        for (int k = 0; k < 3 && cases[i].hides[k]; k++)
            CHECK(!strstr(out, cases[i].hides[k]), "%zu: '%s' in\n%s", i, cases[i].hides[k], out);
        for (const char *c = out; *c; c++) CHECK(!(*c & 0x80), "not ASCII: %s", out);
    }
}

/* A line begins with the token of its end, in the walk as in training: the loss is that of --score.
 */
TEST(a_line_is_walked_from_its_beginning) {
    static const char *const tokenizer[] = {"char", "bpe"};
    setenv("LC_ALL", "C.UTF-8", 1); /* shows the end of a line as ↵ */
    write_text("lines", "the cat\nthe rat\na mat\n");
    write_text("line", "the mat\n");
    for (int i = 0; i < 2; i++) {
        MUST(TRAIN("lm", "lines", "--lines", TINY, "--force", "--tokenizer", tokenizer[i], "--run",
                   "run"));
        MUST(GENERATE("run", "--score", "line"));
        const char *perplexity = strstr(out, "perplexity ");
        double score = perplexity ? log(strtod(perplexity + 11, NULL)) : 0;
        MUST(EXPLAIN("--model", "run", "--text", "the mat", "--backward"));
        const char *loss = strstr(out, "backward from L = ");
        CHECK(loss && fabs(strtod(loss + 18, NULL) - score) < 1e-3, "%s", out);
        CHECK(strstr(out, "tokens: ↵="), "%s", out);
    }
}

/* ---- A run ---- */

/* The maps of all layers and heads, of one layer or of one head; in the terminal, as files, and as
 * a page. */
TEST(a_run_shows_its_maps) {
    static const struct {
        const char *flag[5];
        int maps;
    } cases[] = {{{NULL}, 12},
                 {{"--module", "encoder.layers.1"}, 2},
                 {{"--head", "1"}, 6},
                 {{"--module", "decoder", "--head", "2"}, 4}};
    make_two_runs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *f = cases[i].flag;
        CHECK(EXPLAIN("copy", "--text", "123", f[0], f[1], f[2], f[3]) == 0 && !*err, "%s", err);
        CHECK(count_of(out, ", head ") == cases[i].maps &&
                  count_of(out, "query down, key across\n") == cases[i].maps,
              "%d maps, want %d:\n%s", count_of(out, ", head "), cases[i].maps, out);
    }
    CHECK(EXPLAIN("lm", "--text", "the") == 0 && count_of(out, ", head ") == 4 &&
              count_of(out, "encoder.layers.1.self_attn, head 1\n") == 1,
          "%s", out);
}

/* ---- Widths ---- */

/* Reads what explain prints to a terminal with this many columns. */
static void watch(int columns, const char *const *arguments) {
    int other, terminal = open_terminal(columns, &other);
    const char *name = ptsname(terminal);
    static char shown[MAX_OUTPUT];
    Child child = start_program("explain", arguments, (Streams){.output = name});
    close(other);
    read_terminal(terminal, shown);
    MUST(end_program(child));
    memcpy(out, shown, sizeof out);
}

static void check_width(int width) {
    for (const char *line = out; *line; line = next_line(line)) {
        int columns = 0; /* characters of UTF-8, without the bytes that continue one */
        for (const char *c = line; *c && !strchr("\r\n", *c); c++)
            columns += ((unsigned char)*c & 0xC0) != 0x80;
        CHECK(columns < width, "%d columns: found %.*s", width, columns, line);
    }
}

/* Prose, formulas, tables, matrices and pictures leave the last column free; COLUMNS wins over the
 * terminal. */
TEST(all_fits_a_narrow_terminal) {
    static const char *const shown[][5] = {{"convolution"},
                                           {"graph"},
                                           {"--modern"},
                                           {"--backward", "--cell", "1,1"},
                                           {"walk", "--text", "I was myself"}};
    setenv("NO_COLOR", "1", 1);
    unsetenv("COLUMNS");
    for (int width = 40; width <= 80; width += 20)
        for (int i = 0; i < 5; i++) {
            watch(width, shown[i]);
            check_width(width);
            CHECK(!strchr(out, '\033'), "colour: %s", out);
        }
    CHECK(strstr(out, "\r\n20 A = softmax(x = S'), [4,3,3]\r\n"), "%s", out);
    setenv("COLUMNS", "40", 1);
    watch(80, (const char *const[]){"graph", NULL});
    check_width(40);
    MUST(EXPLAIN("convolution"));
    check_width(40);
    CHECK(EXPLAIN("--help") == 0 && strstr(out, "\n  heads        one head"), "%s", out);
}

/* ---- Refusals ---- */

static char too_long[2001];

TEST(refusals_are_one_line) {
    static const struct {
        const char *arguments[8];
        int status;
        const char *want;
    } cases[] = {
        {{"--backward", "--cell", "1"}, 2, "--cell: found \"1\", need ROW,COLUMN, from 0"},
        {{"--cell", "1,-2"}, 2, "--cell: found \"1,-2\", need ROW,COLUMN, from 0"},
        {{"--step", "scores"}, 2, "--step: found \"scores\", need one of X, embedding, "},
        {{"--module", "layer"}, 2, "--module: found \"layer\", need one of embedding, encoder"},
        {{"--cell", "999,3"}, 2, "--cell: found 999,3, need an element of a matrix that is shown"},
        {{"--backward", "--text", "a"},
         65,
         "--text: found 1 token, need at least 2: there is none to predict"},
        {{"graph", "--backward"}, 2, "--backward: found an experiment, need the walk"},
        {{"scaling", "relevance"}, 2, "\"relevance\": found one operand too many"},
        {{"text"},
         2,
         "found \"text\", need the directory of a run or one of walk, relevance, scaling, "},
        {{"--nonsense"}, 2, "--nonsense: no such option, see --help all"},
        {{"graph", "--dot", "x"}, 2, "--dot: no such option, see --help all"},
        /* Flags that have no effect there. */
        {{"scaling", "--text", "a"}, 2, "--text: found an experiment, need the walk or a run"},
        {{"scaling", "--module", "x"}, 2, "--module: found an experiment, need the walk or a run"},
        {{"graph", "--characters"}, 2, "--characters: found an experiment, need the walk"},
        {{"copy", "--text", "1", "--model", "lm"}, 2, "--model: found a run, need the walk"},
        {{"copy", "--text", "1", "--step", "A"}, 2, "--step: found a run, need the walk"},
        {{"copy", "--text", "1", "--full"}, 2, "--full: found a run, need the walk"},
        {{"copy", "--text", "1", "--json"},
         2,
         "--json: found a run, need the walk or an experiment"},
        /* Flags that contradict each other. */
        {{"--model", "copy"},
         2,
         "--model: found no --text, need a text of the characters of its vocabulary"},
        {{"--model", "copy", "--text", "1", "--characters"},
         2,
         "--characters: found --model, which has its own tokens"},
        {{"--modern", "--characters"}, 2, "--modern: found --characters, and it has byte pairs"},
        {{"--json", "--full"}, 2, "--full: found --json, which prints all elements"},
        /* Texts. */
        {{"copy"}, 2, "found no --text, need a text of the characters of the run's vocabulary"},
        {{"copy", "--text", ""}, 65, "--text: found no character, need at least one"},
        {{"copy", "--text", "123451"}, 65, "--text: found 6 tokens, need at most 5"},
        {{"copy", "--text", "1a"},
         65,
         "--text: byte 1: found 'a' (U+0061), need one of the 5 characters of"},
        {{"--model", "lm", "--text", "the dog"}, 65, "--text: byte 6: found 'g'"},
        {{"--model", "copy", "--text", "1234512345"},
         65,
         "--text: found 10 tokens, need at most 5"},
        {{"--model", "copy", "--text", ""}, 65, "--text: found no character, need at least one"},
        {{"--characters", "--text", ""}, 65, "--text: found no character, need at least one"},
        {{"--text", "\xff"}, 2, "argument 2: byte 0: found 0xFF"},
        {{"--characters", "--text", too_long}, 65, "--text: found 2000 tokens, need at most 1000"},
        {{"--text", "  "}, 65, "--text: found no word, need at least one"},
        /* Parts of a model. */
        {{"copy", "--text", "1", "--module", "x"}, 2, "--module: found \"x\", need a part of the"},
        {{"copy", "--text", "1", "--head", "3"}, 2, "--head: found 3, need at most 2"},
        {{"--model", "copy", "--text", "1", "--head", "3"}, 2, "--head: found 3, need at most 2"},
        {{"--step", "merges"}, 2, "--step: found merges, need a model of byte pairs"},
        {{"--model", "copy", "--text", "1", "--modern"},
         2,
         "--modern: found --model, which has its own choices"},
        /* Files. */
        {{"--model", "none", "--text", "12"}, 66, "none: found no run, and none in runs"},
        {{"empty", "--text", "1"}, 66, "empty: found no model.safetensors, and none in runs"},
    };
    make_two_runs();
    memset(too_long, 'b', sizeof too_long - 1);
    CHECK(mkdir("empty", 0777) == 0);
    char *before = strdup(list_folder("."));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        int status = run_program("explain", cases[i].arguments, (Streams){0});
        snprintf(line, sizeof line, "explain: %s", cases[i].want);
        CHECK(status == cases[i].status && !strncmp(err, line, strlen(line)) && lines_of(err) == 1,
              "status %d: found %swant %s", status, err, line);
        CHECK(!*out, "%s", out);
    }
    CHECK(!strcmp(before, list_folder(".")), "before\n%safter\n%s", before, listing);
    free(before);
}

RUN_PROGRAM_TESTS
