/* ./explain on the command line: the walk through sentences and runs, the maps of a run, refused options,
 * and widths. */
#include "explain_helpers.h"
#include <sys/stat.h>

#define TINY                                                                                       \
    "--d-model", "8", "--heads", "2", "--layers", "2", "--batch", "4", "--steps", "1", "--quiet"
#define COPY "copy", TINY, "--symbols", "5", "--max-length", "5", "--held-out", "9"

/* Runs of every kind of model: copy, lm, pre (norm first), additive, modern, pairs (byte pairs, rotary positions). */
static void make_runs(void) {
    MAKE_RUNS(TINY);
    MUST(TRAIN(COPY, "--norm", "pre", "--run", "pre"));
    MUST(TRAIN(COPY, "--attention", "additive", "--run", "additive"));
    MUST(TRAIN(COPY, "--positions", "rotary", "--norm-kind", "rms", "--qk-norm", "true",
               "--activation", "swiglu", "--run", "modern"));
    MUST(TRAIN("lm", TINY, "--preset", "gpt", "--text", "text", "--tail", "0", "--context", "8",
               "--tokenizer", "bpe", "--positions", "rotary", "--activation", "silu", "--run",
               "pairs"));
}

/* ---- The walk; tests/explain/numpy_walk.py computes its numbers again ---- */

/* Each command prints the texts of its first list, and none of the second. */
TEST(the_walk_shows_tokens_steps_and_models) {
    static const struct {
        const char *arguments[10], *shows[6], *hides[3];
    } cases[] = {
        {{"--text", "a"}, {"softmax: A, [1,1]"}, {NULL}},
        {{"walk", "--step", "scores"}, {"scores: S, [15,15]"}, {"softmax: ", "tokens: "}},
        {{"--text", "abca", "--step", "tokens"},
         {"from 0, in order of", "  a  0\n  b  1\n  c  2\n  a  0\n"},
         {"[UNK]"}},
        {{"--words", "--vocabulary", "[UNK] I was", "--text", "was I me", "--step", "tokens"},
         {"from 1, in order of", "Id 0 is [UNK]", "was    2\n", "I      1\n", "[UNK]  0\n"},
         {NULL}},
        {{"--words", "--step", "tokens"}, {"I       1\n  was     2\n  myself  3\n"}, {NULL}},
        {{"--text", "a", "--step", "softmax"},
         {"  0  .:-=+*#%@ 1\n"},
         {NULL}}, /* shades from 0 to the largest */
        {{"--text", "ab", "--side", "decoder", "--step", "mask"},
         {"A token may attend only to itself and to earlier tokens", "-inf"},
         {NULL}},
        /* The source, and what the decoder reads: its own answer. */
        {{"--model", "copy", "--text", "1234", "--side", "cross", "--step", "tokens"},
         {"weights of the\nrun copy", "tokens: source, [4]", "The text, which the encoder reads.",
          "own answer", "<begin>"},
         {"random", "order of appearance"}},
        {{"--model", "copy", "--text", "1234", "--step", "tokens"},
         {"tokens: x, [4]", "The text. The run's vocabulary gives the ids."},
         {"source", "order of appearance", "answer"}},
        {{"--model", "lm", "--text", "the mat", "--step", "tokens"},
         {"tokens: x, [7]", "The text."},
         {"source", "order of appearance", "answer"}},
        {{"--model", "copy", "--text", "1234", "--side", "decoder", "--head", "2"},
         {"heads: A of all heads, [2,", "scaling: S'"},
         {"random"}},
        {{"--model", "pre", "--text", "12", "--side", "cross"},
         {"x: the input of the norm"},
         {NULL}},
        {{"--model", "additive", "--text", "12"}, {"tanh"}, {"scaling:", "/ sqrt(d_k)"}},
        {{"--model", "modern", "--text", "12"},
         {"qk-norm: K normalised", "rotary: phi", "S = Q K^T, both turned", "H = silu(G) V",
          "RMSNorm of it"},
         {"positions:", "LayerNorm", "merges:"}},
        {{"--model", "modern", "--text", "12", "--side", "cross"},
         {"S = Q K^T, both normalised"},
         {"rotary:"}},
        {{"--model", "pairs", "--text", "the mat"},
         {"= t + he : the", "rotary: Q turned", "H = silu(N W_1 + b_1)"},
         {"qk-norm:", "positions:"}},
        {{"--backward", "--text", "ab", "--step", "softmax", "--cell", "0,1"},
         {"20 softmax: A = softmax(x = S')", "Forward keeps only y.", "by differences",
          "dx_k += y_k (dy_k - sum_i dy_i y_i)", "[0,1] of it: ", " = sum of 2 terms"},
         {"matmul:", "The update"}},
        {{"--backward", "--text", "ab", "--side", "decoder", "--step", "scale", "--cell", "0,0"},
         {"0, because this token sees one token only", "(84 softmax)"},
         {"masked_fill)"}},
        {{"--backward", "--text", "ab", "--side", "decoder", "--step", "scale", "--cell", "0,1"},
         {"0, because the mask hides the score", "(83 masked_fill)"},
         {"softmax)"}},
        {{"--backward", "--words", "--text", "a b c d", "--step", "contiguous"},
         {"\n  15 ", "not shown: 160 operations, from 183 to 24",
          "not shown: 8 operations, from 22 to 15"},
         {"\n  16 "}},
        {{"--backward", "--words"},
         {"[UNK]", "S = matmul(a = Q, b = K^T)",
          "dL/d K^T, [4,8,3]:\n          I     was  myself\n  0"},
         {"transpose 17"}},
        {{"--backward", "--model", "pre", "--text", "12"}, {"<begin>", "<end>", "<pad>"}, {"?"}},
        {{"--backward", "--model", "lm", "--text", "the mat"},
         {"cross_entropy: L = cross_entropy(x = logits)", "the sum of 2 parts",
          "The update: AdamW, step 1, of w"},
         {"multihead_attn"}},
        {{"--backward", "--model", "modern", "--text", "12", "--side", "cross", "--layer", "2"},
         {"decoder.layers.1.multihead_attn", "rms_norm",
          "swiglu: hidden = swiglu(x = gates and values)"},
         {"layer_norm"}},
        {{"--backward", "--words", "--side", "decoder", "--step", "softmax", "--cell", "0,0"},
         {"softmax: A = softmax(x = masked S')",
          "[0,0] of it: 0, because this token sees one token only"},
         {"-0 ", "sum of 0"}},
        {{"--backward", "--words", "--side", "decoder", "--step", "linear", "--cell", "0,1"},
         {"\n  \"act\": \"relu\"\n", "0, because the ReLU sets every", "W = linear1.weight, b"},
         {"does not depend on it", "sum of 1 terms"}},
        {{"--modern", "--step", "merges"},
         {"merges: a table of 7\n", "\n  _ l o w e r\n    256 = l + o : _ lo w e r\n"},
         {"tokens:"}},
    };
    make_runs();
    setenv("LC_ALL", "C", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(run_program("explain", cases[i].arguments, (Streams){0}) == 0 && !*err, "%zu: %s", i,
              err);
        for (int k = 0; k < 6 && cases[i].shows[k]; k++)
            CHECK(strstr(out, cases[i].shows[k]), "%zu: no '%s' in\n%s", i, cases[i].shows[k], out);
        for (int k = 0; k < 3 && cases[i].hides[k]; k++)
            CHECK(!strstr(out, cases[i].hides[k]), "%zu: '%s' in\n%s", i, cases[i].hides[k], out);
        for (const char *c = out; *c; c++) CHECK(!(*c & 0x80), "not ASCII: %s", out);
    }
    CHECK(EXPLAIN("--text", "éb", "--step", "tokens") == 0 && strstr(out, "\n  0  0\n  1  1\n"),
          "%s", out);
}

/* A line begins with the token of its end, in the walk as in training: the loss is that of --score. */
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
        const char *loss = strstr(out, "Backward from L = ");
        CHECK(loss && fabs(strtod(loss + 18, NULL) - score) < 1e-3, "%s", out);
        CHECK(!strstr(out, "but the last"), "%s", out);
        MUST(EXPLAIN("--model", "run", "--text", "the mat", "--step", "tokens"));
        CHECK(strstr(out, "tokens: x, ") && strstr(out, "  ↵"), "%s", out);
    }
}

/* Under the causal mask row 0 of A is 1 0 0 …: the decoder's first token attends to itself alone. The last row
 * does. */
TEST(before_and_after_is_of_the_last_row) {
    MUST(EXPLAIN("--text", "abcd", "--side", "decoder", "--step", "before-after", "--json"));
    char *shown = strdup(out);
    MUST(EXPLAIN("--text", "abcd", "--side", "decoder", "--step", "concatenation", "--json"));
    const char *values = strstr(shown, "\"values\": ["), *last = strrchr(out, ' ');
    CHECK(strstr(shown, "last row of X and of Z") && values, "%s", shown);
    CHECK(strlen(shown) > strlen(last) && !strcmp(shown + strlen(shown) - strlen(last), last),
          "%s%s", shown, out);
    free(shown);
}

/* ---- A run ---- */

/* The maps of all layers and heads, of one layer or of one head; in the terminal, as files, and as a page. */
TEST(a_run_shows_its_maps) {
    static const struct {
        const char *flag[5];
        int maps;
    } cases[] = {{{NULL}, 12},
                 {{"--layer", "2"}, 6},
                 {{"--head", "1"}, 6},
                 {{"--layer", "1", "--head", "2"}, 3}};
    MAKE_RUNS(TINY);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *f = cases[i].flag;
        CHECK(EXPLAIN("copy", "--text", "123", f[0], f[1], f[2], f[3]) == 0 && !*err, "%s", err);
        CHECK(count_of(out, "Layer ") == cases[i].maps &&
                  count_of(out, "query down, key across\n") == cases[i].maps,
              "%d maps, want %d:\n%s", count_of(out, "Layer "), cases[i].maps, out);
    }
    CHECK(EXPLAIN("lm", "--text", "the") == 0 && count_of(out, "Layer ") == 4 &&
              count_of(out, "Layer 2, head 1: Self-attention\n") == 1,
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
    for (const char *line = out; *line; line += strcspn(line, "\n"), line += *line == '\n') {
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
                                           {"--backward", "--words", "--cell", "1,1"},
                                           {"walk", "--words", "--text", "I was myself"}};
    setenv("NO_COLOR", "1", 1);
    unsetenv("COLUMNS");
    for (int width = 40; width <= 80; width += 20)
        for (int i = 0; i < 5; i++) {
            watch(width, shown[i]);
            check_width(width);
            CHECK(!strchr(out, '\033'), "colour: %s", out);
        }
    CHECK(strstr(out, "before-after: last row of X and of Z, [2,32]\r\n"), "%s", out);
    setenv("COLUMNS", "40", 1);
    watch(80, (const char *const[]){"scaling", NULL});
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
        {{"--cell", "1,2"},
         2,
         "--cell: found no --backward, need both: it prints a gradient's sum"},
        {{"--backward", "--cell", "1"}, 2, "--cell: found \"1\", need ROW,COLUMN, from 0"},
        {{"--backward", "--cell", "1,-2"}, 2, "--cell: found \"1,-2\", need ROW,COLUMN, from 0"},
        {{"--backward", "--step", "scores"},
         2,
         "--step: found \"scores\", need one of cross_entropy, linear, layer_norm, residual, "},
        {{"--backward", "--cell", "999,3"},
         2,
         "--cell: found 999,3, need an element of a matrix that is shown"},
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
        {{"scaling", "--layer", "1"}, 2, "--layer: found an experiment, need the walk or a run"},
        {{"graph", "--words"}, 2, "--words: found an experiment, need the walk"},
        {{"copy", "--text", "1", "--model", "lm"}, 2, "--model: found a run, need the walk"},
        {{"copy", "--text", "1", "--side", "cross"}, 2, "--side: found a run, need the walk"},
        {{"copy", "--text", "1", "--step", "mask"}, 2, "--step: found a run, need the walk"},
        {{"copy", "--text", "1", "--whole"}, 2, "--whole: found a run, need the walk"},
        {{"copy", "--text", "1", "--json"},
         2,
         "--json: found a run, need the walk or an experiment"},
        /* Flags that contradict each other. */
        {{"--model", "copy"},
         2,
         "--model: found no --text, need a text of the characters of its vocabulary"},
        {{"--model", "copy", "--text", "1", "--words"},
         2,
         "--words: found --model, which has its own tokens"},
        {{"--model", "copy", "--text", "1", "--vocabulary", "1"},
         2,
         "--vocabulary: found --model, which has"},
        {{"--json", "--whole"}, 2, "--whole: found --json, which prints all elements"},
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
        {{"--text", ""}, 65, "--text: found no character, need at least one"},
        {{"--text", "\xff"}, 2, "argument 2: byte 0: found 0xFF"},
        {{"--text", too_long}, 65, "--text: found 2000 tokens, need at most 1000"},
        {{"--text", "ab", "--vocabulary", "a"}, 65, "--text: byte 1: found 'b'"},
        {{"--words", "--text", "  "}, 65, "--text: found no word, need at least one"},
        {{"--words", "--vocabulary", " ", "--text", "a"},
         65,
         "--vocabulary: found no word, need at least one"},
        {{"--vocabulary", "", "--text", "a"},
         65,
         "--vocabulary: found no character, need at least one"},
        /* Parts of a model. */
        {{"--step", "nothing"}, 2, "--step: found \"nothing\", need one of merges, tokens, "},
        {{"copy", "--text", "1", "--layer", "3"}, 2, "--layer: found 3, need at most 2"},
        {{"copy", "--text", "1", "--head", "3"}, 2, "--head: found 3, need at most 2"},
        {{"--model", "copy", "--text", "1", "--layer", "3"}, 2, "--layer: found 3, need at most 2"},
        {{"--model", "copy", "--text", "1", "--head", "3"}, 2, "--head: found 3, need at most 2"},
        {{"--model", "lm", "--text", "t", "--side", "encoder"},
         2,
         "--side: found another, need decoder: a "},
        {{"--model", "additive", "--text", "12", "--step", "scaling"},
         2,
         "--step: found scaling, need another"},
        {{"--step", "merges"}, 2, "--step: found merges, need another"},
        {{"--model", "copy", "--text", "1", "--modern"},
         2,
         "--modern: found --model, which has its own choices"},
        /* Files. */
        {{"--model", "none", "--text", "12"}, 66, "none: found no run, and none in runs"},
        {{"empty", "--text", "1"}, 66, "empty: found no model.safetensors, and none in runs"},
    };
    make_runs();
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
