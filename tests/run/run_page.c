/* The page of a training run: its content and size, and that texts are escaped. */
#include "base/error.h"
#include "child.h"

#define TINY "--layers", "1", "--heads", "2", "--d-model", "16", "--batch", "8"
#define COPY "copy", TINY, "--symbols", "5", "--max-length", "4", "--held-out", "30"

enum { MOST_BYTES = 2 << 20 };

/* The page of a run, to be freed. */
static char *page_of(const char *path) {
    size_t size = 0;
    char *text = read_bytes(path, &size);
    CHECK(text && size > 10000 && size < MOST_BYTES, "%s has %zu bytes", path, size);
    return text ? text : strdup("");
}

TEST(a_runs_page_is_reported_and_complete) {
    MUST(TRAIN(COPY, "--steps", "30", "--seed", "7"));
    CHECK(strstr(err, "report: runs/copy/report.html\n"), "%s", err);
    CHECK(!strcmp(strstr(err, "report: "), "report: runs/copy/report.html\n"), "%s", err);
    char *text = page_of("runs/copy/report.html");
    CHECK(strstr(text, "Ended after step 30 of 30."), "no status");
    CHECK(count_of(text, "class=\"example\"") == 3 && count_of(text, "class=\"answers\"") == 5,
          "examples or answers");
    CHECK(count_of(text, "<figure class=\"head\"") == 3 * 3 * 2, "%d heads",
          count_of(text, "<figure class=\"head\""));
    CHECK(count_of(text, "<div class=\"curves\">") == 1 && strstr(text, "uniform guess"), "curves");
    CHECK(strstr(text, "<dt>d-model</dt><dd>16</dd>") && strstr(text, "<dt>lr</dt><dd>0.002</dd>"), "facts");
    free(text);
}

/* Every evaluation is a point of the held-out curve, also those without pictures and those before --resume;
 * the page has the number of those with pictures. It lists no options without effect. */
TEST(a_page_has_every_evaluation) {
    MUST(TRAIN(COPY, "--steps", "200", "--eval-every", "5"));
    for (int resumed = 0; resumed < 2; resumed++) {
        char *text = page_of("runs/copy/report.html"), *end = strstr(text, "</figure>");
        CHECK(strstr(text, resumed ? " of 42 evaluations" : " of 40 evaluations"), "%.2000s",
              strstr(text, "<h1>"));
        CHECK(!strstr(text, "<dt>text</dt>") && !strstr(text, "<dt>tail</dt>") &&
              !strstr(text, "<dt>momentum</dt>") && strstr(text, "<dt>symbols</dt>"));
        if (end) *end = 0;
        /* A point for each, one more where all held-out data was evaluated, and one in the legend. */
        CHECK(count_of(text, "<circle") == (resumed ? 42 + 2 + 1 : 40 + 1 + 1), "%d points",
              count_of(text, "<circle"));
        free(text);
        MUST(TRAIN("--resume", "runs/copy", "--steps", "210", "--quiet"));
    }
}

/* The command on the page of "a b" makes the same weights. The run is `first` afterwards. */
static void check_command(const char *first, const char *wanted) {
    char words[PATH_MAX + 700], weights[64];
    char *text = page_of("a b/report.html"), *start = strstr(text, "<pre>./train "),
         *end = start ? strstr(start, "</pre>") : NULL;
    if (end) *end = 0;
    CHECK(end && strstr(start, wanted), "no command, or without %s", wanted);
    if (!end) return;
    CHECK(rename("a b", first) == 0);
    /* The only character references in this command are quotes. */
    char command[600];
    size_t used = 0;
    for (const char *c = start + strlen("<pre>./train"); *c && used < sizeof command - 1;) {
        bool quote = strncmp(c, "&#39;", 5) == 0;
        command[used++] = quote ? '\'' : *c;
        c += quote ? 5 : 1;
    }
    command[used] = 0;
    snprintf(words, sizeof words, "%s/train%s --quiet", program_folder, command);
    CHECK(system(words) == 0, "%s", words);
    snprintf(weights, sizeof weights, "%s/model.safetensors", first);
    CHECK(same_files(weights, "a b/model.safetensors"), "%s makes other weights", words);
    free(text);
}

/* … also where defaults depend on other settings, where the number of steps was found from minutes, with an option that takes
 * no value, with several texts, and where another run gave weights and tokens. */
TEST(the_command_on_a_page_repeats_the_run) {
    write_text("text", "the cat sat on the mat, and the dog sat on the cat, and the mat was flat\n");
    write_text("lines", "ann\nbob\ncarl\ndora\nemil\nfay\ngus\nhal\nida\njim\nkim\nlea\n");
#define FIRST "lm", TINY, "--run", "a b", "--force", "--text", "text"
    MUST(TRAIN(FIRST, "--preset", "gpt", "--positions", "rotary", "--tokenizer", "bpe", "--minutes", "0.003",
               "--lr", "0.01", "--seed", "3"));
    check_command("timed", " --steps ");
    MUST(TRAIN(FIRST, "lines", "--steps", "9"));
    check_command("two texts", "text\nlines");
    MUST(TRAIN("lm", TINY, "lines", "--lines", "--steps", "9", "--run", "a b", "--force"));
    check_command("base", " --lines ");
    MUST(TRAIN("lm", "--from", "base", "--text", "lines", "--steps", "9", "--run", "a b",
               "--force"));
    check_command("tuned", " --from base ");
}

TEST(a_text_that_is_markup_is_text) {
    FILE *f = fopen("text", "w");
    for (int i = 0; f && i < 60; i++) fputs("</script><img src=x onerror=alert(1)><b>&amp;\"'\n", f);
    if (f) fclose(f);
    MUST(TRAIN("lm", TINY, "--text", "text", "--context", "32", "--steps", "20"));
    char *text = page_of("runs/lm/report.html");
    CHECK(count_of(text, "<script") == 2 && count_of(text, "</script") == 2, "%d scripts begin, %d end",
          count_of(text, "<script"), count_of(text, "</script"));
    CHECK(!strstr(text, "<img") && !strstr(text, "<b>") && strstr(text, "&#60;/script&#62;&#60;img"),
          "markup");
    CHECK(strstr(text, "5-gram"), "yardsticks");
    free(text);
}

/* --resume of a finished run, without more steps, changes no file. With more steps its page keeps all it showed: the
 * points of every curve, and the frames. ./explain makes the same page of the run's files. */
TEST(a_resumed_run_keeps_its_page) {
    MUST(TRAIN(COPY, "--steps", "30", "--eval-every", "7"));
    char *before = strdup(list_folder("runs/copy"));
    CHECK(TRAIN("--resume", "runs/copy") == 0 && strstr(err, "is finished after 30 steps") &&
              lines_of(err) == 1,
          "%s", err);
    CHECK(!strcmp(before, list_folder("runs/copy")), "before\n%s\nafter\n%s", before, listing);
    free(before);
    char *text = page_of("runs/copy/report.html");
    int frames = count_of(text, "{\"step\":");
    CHECK(frames > 1 && strstr(text, "{\"step\":7,") && strstr(text, "{\"step\":30,"), "%d frames", frames);
    free(text);
    MUST(TRAIN("--resume", "runs/copy", "--steps", "40", "--quiet"));
    text = page_of("runs/copy/report.html");
    CHECK(count_of(text, "{\"step\":") > frames && strstr(text, "{\"step\":7,") &&
              strstr(text, "{\"step\":30,"),
          "%d frames", count_of(text, "{\"step\":"));
    CHECK(count_of(text, "<svg") == 5 && strstr(text, "training: from "), "%d charts",
          count_of(text, "<svg"));
    char *end = strstr(text, "</figure>");
    if (end) *end = 0; /* 7, 14, 21, 28, 30, 35, 40; of all held-out data 30 and 40, and one in the legend */
    CHECK(count_of(text, "<circle") == 7 + 2 + 1, "%d points", count_of(text, "<circle"));
    free(text);
    CHECK(run_program("explain", ARGUMENTS("runs/copy", "--html", "page.html"), (Streams){0}) == 0 && !*out,
          "%s", err);
    CHECK(same_files("page.html", "runs/copy/report.html"));
    MUST(run_program("explain", ARGUMENTS("runs/copy", "--html", "page.html", "--text", "12"), (Streams){0}));
    text = page_of("page.html");
    CHECK(strstr(text, "<title>Attention of runs/copy") && count_of(text, "<svg") == 5 &&
          strstr(text, "<dt>d-model</dt><dd>16</dd>"));
    free(text);
}

/* --compare: the curves of runs in one chart, and in one table their results and the options that differ, no others. */
TEST(runs_compared) {
    MUST(TRAIN(COPY, "--steps", "12", "--run", "runs/a", "--quiet"));
    MUST(TRAIN(COPY, "--steps", "12", "--run", "runs/<b>", "--lr", "0.01", "--preset", "gpt", "--quiet"));
    CHECK(TRAIN("--compare", "runs/a", "runs/<b>", "--run", "both") == 0 &&
              !strcmp(err, "compared in both/compare.html\n"),
          "%s", err);
    size_t size;
    char *text = read_bytes("both/compare.html", &size);
    CHECK(text && strstr(text, "<tr><th scope=\"row\">lr<td>0.002<td>0.01\n") &&
              strstr(text, "<tr><th scope=\"row\">preset<td>paper<td>gpt\n") && !strstr(text, ">d-model<") &&
              strstr(text, "<th scope=\"col\">a<th scope=\"col\">&#60;b&#62;\n") && !strstr(text, "<b>"),
          "%s", text ? strstr(text, "class=\"table\"") : "no page");
    CHECK(text && count_of(text, "<svg") == 2 &&
          count_of(text, "\n<tr><th scope=\"row\">held-out loss<td>") == 1);
    free(text);
    MUST(TRAIN("--compare", "a", "runs/<b>/report.html", "--run", "names"));
    static const struct {
        const char *argument[4];
        int status;
        const char *said;
    } cases[] = {
        {{"runs/a"}, 2, "train: --compare: found 1 operand, need the directories of 2 to 8 runs\n"},
        {{"runs/a", "none"}, 66, "train: none: found no run, need one: runs/<b>, runs/a\n"},
        {{"runs/a", "runs/a", "--steps", "3"}, 2, "train: --steps: found --compare, need one of the two\n"},
    };
    for (int i = 0; i < 3; i++) {
        const char *const *a = cases[i].argument;
        int status = TRAIN("--compare", a[0], a[1], a[2], a[3]);
        CHECK(status == cases[i].status && !strcmp(err, cases[i].said), "status %d: %s", status, err);
    }
}

/* A page that cannot be written is reported at the end; the model is saved. */
TEST(a_page_that_cannot_be_written_costs_no_model) {
    mkdir("run", 0777);
    mkdir("run/report.html", 0777);
    CHECK(TRAIN(COPY, "--steps", "10", "--run", "run", "--quiet") == STATUS_CANNOT_CREATE, "%s", err);
    CHECK(!strncmp(err, "train: run/report.html: ", 24) && lines_of(err) == 1, "%s", err);
    CHECK(access("run/model.safetensors", F_OK) == 0, "no model");
}

RUN_PROGRAM_TESTS
