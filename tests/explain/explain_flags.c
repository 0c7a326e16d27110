/* ./explain: flags that would do nothing or contradict each other, and runs that cannot be shown, are refused in a line; of
 * a run what was asked for is shown, and nothing else. */
#include "explain_helpers.h"
#include <sys/stat.h>

#define TINY "--d-model", "8", "--heads", "2", "--layers", "2", "--batch", "4", "--steps", "1", "--quiet"

static void refuses(void) {
    static const struct {
        const char *arguments[8];
        int status;
        const char *want;
    } cases[] = {
        {{"scaling", "--text", "a"}, 2, "--text: found an experiment, need the walk or a run"},
        {{"scaling", "--layer", "1"}, 2, "--layer: found an experiment, need the walk or a run"},
        {{"scaling", "--head", "1"}, 2, "--head: found an experiment, need the walk or a run"},
        {{"tape", "--words"}, 2, "--words: found an experiment, need the walk"},
        {{"copy", "--text", "1", "--words"}, 2, "--words: found a run, need the walk"},
        {{"copy", "--text", "1", "--vocabulary", "1"}, 2, "--vocabulary: found a run, need the walk"},
        {{"copy", "--text", "1", "--model", "lm"}, 2, "--model: found a run, need the walk"},
        {{"copy", "--text", "1", "--side", "cross"}, 2, "--side: found a run, need the walk"},
        {{"copy", "--text", "1", "--step", "mask"}, 2, "--step: found a run, need the walk"},
        {{"copy", "--text", "1", "--decimals", "2"}, 2, "--decimals: found a run, need the walk"},
        {{"copy", "--text", "1", "--whole"}, 2, "--whole: found a run, need the walk"},
        {{"copy", "--text", "1", "--dot", "x"}, 2, "--dot: found a run, need the experiment tape"},
        {{"copy", "--text", "1", "--json"}, 2, "--json: found a run, need the walk or an experiment"},
        {{"walk", "--svg", "x"}, 2, "--svg: found the walk, need an experiment or a run"},
        {{"walk", "--html", "x"}, 2, "--html: found the walk, need a run"},
        {{"tape", "--html", "x"}, 2, "--html: found an experiment, need a run"},
        {{"--model", "copy"}, 2, "--model: found no --text, need one that its vocabulary holds"},
        {{"--model", "copy", "--text", "1", "--words"},
         2,
         "--words: found --model, which has tokens of its own, need one of the two"},
        {{"--model", "copy", "--text", "1", "--vocabulary", "1"},
         2,
         "--vocabulary: found --model, which has its own, need one of the two"},
        {{"--json", "--decimals", "2"},
         2,
         "--decimals: found --json, which gives all digits, need one of the two"},
        {{"--json", "--whole"}, 2, "--whole: found --json, which gives all, need one of the two"},
        {{"copy"}, 2, "found no --text, need one that the run's vocabulary holds"},
        {{"text"},
         2,
         "found \"text\", need a run's directory or one of walk, relevance, scaling, kernels, scores, "
         "positions, "
         "heads, teacher, tape, convolution"},
        {{"copy", "--text", ""}, 2, "--text: found no character, need at least one"},
        {{"copy", "--text", "123451"}, 65, "--text: found 6 characters, need at most 5"},
        {{"copy", "--text", "1a"},
         65,
         "--text: byte 1: found 'a' (U+0061), need one of the 5 characters of the vocabulary"},
        {{"copy", "--text", "1", "--layer", "3"}, 2, "--layer: found 3, need at most 2"},
        {{"copy", "--text", "1", "--head", "3"}, 2, "--head: found 3, need at most 2"},
        {{"copy", "--text", "1", "--layer", "3", "--head", "3"}, 2, "--layer: found 3, need at most 2"},
        {{"copy", "--text", "1", "--html", "none/page.html"},
         73,
         "none/page.html: No such file or directory"},
        {{"copy", "--text", "1", "--html", "x", "--head", "2"},
         2,
         "--head: found --html, which shows all, need the terminal or --svg"},
        {{"copy", "--text", "1", "--html", "x", "--layer", "2"},
         2,
         "--layer: found --html, which shows all, need the terminal or --svg"},
        {{"copy", "--text", "1", "--svg", "text"},
         73,
         "text: cannot be made a directory: a file of that name is there"},
        {{"empty", "--text", "1"}, 66, "empty/model.safetensors: No such file or directory"},
        {{"--model", "copy", "--text", "1", "--layer", "3"}, 2, "--layer: found 3, need at most 2"},
        {{"--model", "copy", "--text", "1", "--head", "3"}, 2, "--head: found 3, need at most 2"},
        {{"--model", "lm", "--text", "t", "--side", "encoder"},
         2,
         "--side: found another, need decoder: a language model has no more"},
        {{"--model", "copy", "--text", ""}, 65, "--text: found no character, need at least one"},
        {{"--words", "--vocabulary", " ", "--text", "a"},
         65,
         "--vocabulary: found no word, need at least one"},
        {{"--text", ""}, 65, "--text: found no character, need at least one"},
        {{"--nonsense"}, 2, "--nonsense: no such option, see --help"},
        {{"--vocabulary", "", "--text", "a"}, 65, "--vocabulary: found no character, need at least one"},
    };
    MAKE_RUNS(TINY);
    CHECK(mkdir("empty", 0777) == 0);
    char *before = strdup(list_folder("."));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        int status = run_program("explain", cases[i].arguments, (Streams){0});
        snprintf(line, sizeof line, "explain: %s\n", cases[i].want);
        CHECK(status == cases[i].status && !strcmp(err, line), "status %d: found %swant %s", status, err,
              line);
        CHECK(!*out, "%s", out);
    }
    CHECK(!strcmp(before, list_folder(".")), "before\n%safter\n%s", before, listing);
    free(before);
}

/* How often a text stands in what was printed. */
static int printed(const char *what) {
    int count = 0;
    for (const char *at = out; (at = strstr(at, what)); at++) count++;
    return count;
}

/* The maps of all layers and heads, of the layer or the head that was asked for, on the terminal and as files. */
static void shows_what_is_asked_for(void) {
    static const struct {
        const char *flag[5];
        int maps;
    } cases[] = {
        {{NULL}, 12}, {{"--layer", "2"}, 6}, {{"--head", "1"}, 6}, {{"--layer", "1", "--head", "2"}, 3}};
    MAKE_RUNS(TINY);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *f = cases[i].flag;
        CHECK(EXPLAIN("copy", "--text", "123", f[0], f[1], f[2], f[3]) == 0 && !*err, "%s", err);
        CHECK(printed("Layer ") == cases[i].maps &&
                  printed("looks down, is looked at across\n") == cases[i].maps,
              "%d maps, want %d:\n%s", printed("Layer "), cases[i].maps, out);
        if (f[0]) {
            CHECK(EXPLAIN("copy", "--text", "123", "--svg", "pictures", f[0], f[1], f[2], f[3]) == 0, "%s",
                  err);
            list_folder("pictures");
            CHECK(lines_of(listing) == cases[i].maps + 1, "%d files:\n%s", lines_of(listing) - 1, listing);
            CHECK(system("rm -r pictures") == 0);
        }
    }
    CHECK(EXPLAIN("copy", "--text", "123", "--svg", "pictures", "--html", "page.html") == 0 && !*out, "%s",
          err);
    list_folder("pictures");
    CHECK(lines_of(listing) == 13 && strstr(listing, "pictures/cross-layer-2-head-1.svg "), "%s", listing);
    size_t size;
    char *page = read_bytes("page.html", &size);
    CHECK(page && strstr(page, "<title>Attention of copy</title>") &&
              strstr(page, "<th scope=\"row\">answer<td>"),
          "%s", page);
    /* Its task says what the answer is, so that wrong tokens are marked. */
    CHECK(page && strstr(page, "<th scope=\"row\">wanted<td>123\n") && strstr(page, "<mark>"), "%s", page);
    free(page);
    CHECK(EXPLAIN("lm", "--text", "the", "--html", "page.html") == 0 && !*out, "%s", err);
    page = read_bytes("page.html", &size);
    CHECK(page && strstr(page, "<title>Attention of lm</title>") && !strstr(page, "<h2>What it answers</h2>"),
          "%s", page);
    free(page);
    CHECK(EXPLAIN("lm", "--text", "the") == 0 && printed("Layer ") == 4 &&
              printed("Layer 2, head 1: Each token, ") == 1,
          "%s", out);
}

/* The walk follows each kind of model: norms before the blocks as well as behind, and scores that are not scaled. */
static void walks_every_kind_of_model(void) {
    enter_folder();
    CHECK(TRAIN("copy", TINY, "--symbols", "5", "--max-length", "5", "--held-out", "9", "--norm", "pre",
                "--run", "pre") == 0,
          "%s", err);
    CHECK(TRAIN("copy", TINY, "--symbols", "5", "--max-length", "5", "--held-out", "9", "--attention",
                "additive", "--run", "additive") == 0,
          "%s", err);
    static const char *const sides[] = {"encoder", "decoder", "cross"};
    for (int i = 0; i < 3; i++)
        CHECK(EXPLAIN("--model", "pre", "--text", "12", "--side", sides[i]) == 0 && strstr(out, "norm"),
              "%s: %s", sides[i], err);
    CHECK(EXPLAIN("--model", "additive", "--text", "12") == 0 && !strstr(out, "scaling:"), "%s%s", err, out);
    CHECK(EXPLAIN("--model", "additive", "--text", "12", "--step", "scaling") == 2 &&
              strstr(err, "found scaling, need a step of additive attention"),
          "%s", err);
}

/* Where letters beyond ASCII cannot be shown, none is, and tokens have numbers. */
static void labels_are_what_can_be_shown(void) {
    setenv("LC_ALL", "C", 1);
    CHECK(EXPLAIN("--text", "ab", "--step", "tokens") == 0 && strstr(out, "\n  a  0\n  b  1\n"), "%s", out);
    CHECK(EXPLAIN("--text", "éb", "--step", "tokens") == 0 && strstr(out, "\n  0  0\n  1  1\n"), "%s", out);
    for (const char *c = out; *c; c++) CHECK(!(*c & 0x80), "%s", out);
    setenv("COLUMNS", "20", 1);
    CHECK(EXPLAIN("--text", "ab", "--step", "embedding", "--decimals", "15") == 0 && strstr(out, " ... "),
          "%s", out);
}

PROGRAM_TEST_MAIN({"walks every kind of model", walks_every_kind_of_model},
                  {"labels are what can be shown", labels_are_what_can_be_shown}, {"refuses", refuses},
                  {"shows what is asked for", shows_what_is_asked_for})
