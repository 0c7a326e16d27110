/* The page of a run as a file: it is complete and small, and escapes texts. */
#include "folder.h"
#include "page_helpers.h"
#include "run/run_curves.h"
#include "run/shell.h"
#include "test.h"

static char *written(const Page *p) {
    Error e = {0};
    char *text = NULL;
    size_t size;
    make_folder();
    const char *path = in_folder("report.html");
    CHECK(page_write(p, path, &e), "%s", e.text);
    CHECK(file_read(path, 0, &text, &size, &e), "%s", e.text);
    return text;
}

TEST(texts_stay_texts) {
    SamplePage s;
    sample_page(&s, HOSTILE);
    char *text = written(&s.page);
    CHECK(count_of(text, "<script") == 2 && count_of(text, "</script") == 2, "%d scripts begin, %d end",
          count_of(text, "<script"), count_of(text, "</script"));
    CHECK(!strstr(text, "<img") && !strstr(text, "<b>") && !strstr(text, "onerror=\""), "markup of a text");
    CHECK(count_of(text, "&#60;/script&#62;") > 10, "the text is not there");
    free(text);
}

TEST(a_page_loads_nothing) {
    SamplePage s;
    sample_page(&s, HARMLESS);
    char *text = written(&s.page);
    CHECK(!strstr(text, "http:") && !strstr(text, "https:") && !strstr(text, "src=") &&
              !strstr(text, "url(") && !strstr(text, "@import"),
          "something that is loaded");
    CHECK(strstr(text, "default-src 'none'"), "the browser is not told to load nothing");
    free(text);
}

TEST(every_head_every_picture_with_words_wrong_tokens_marked) {
    SamplePage s;
    sample_page(&s, HARMLESS);
    char *text = written(&s.page);
    int maps = 0;
    for (int i = 0; i < s.page.example_count; i++)
        for (int g = 0; g < s.page.examples[i].groups; g++)
            maps += s.page.examples[i].group[g].layers * s.page.examples[i].group[g].heads;
    CHECK(count_of(text, "<figure class=\"head\"") == maps, "%d heads, need %d",
          count_of(text, "<figure class=\"head\""), maps);
    CHECK(count_of(text, "<caption>") == maps && count_of(text, "<desc>") == s.page.curve_count, "texts");
    CHECK(count_of(text, "<td style=--w:1>1.0") == 2 * 2 * 6 * SAMPLE_TOKENS, "%d large weights, need %d",
          count_of(text, "<td style=--w:1>1.0"), 2 * 2 * 6 * SAMPLE_TOKENS);
    CHECK(strstr(text, "<caption>Encoder, layer 2, head 1</caption>") && strstr(text, "./train copy"),
          "something is missing");
    CHECK(count_of(text, "<mark>") == 3, "%d wrong tokens are marked, need 3", count_of(text, "<mark>"));
    free(text);
}

/* A page of one frame has no slider and no script. */
TEST(one_step_needs_no_script) {
    SamplePage s;
    sample_page(&s, HARMLESS);
    s.page.frame_count = 1;
    char *text = written(&s.page);
    CHECK(strstr(text, "<th scope=\"row\">step 100<td>"), "no answer");
    CHECK(!strstr(text, "<script") && !strstr(text, "type=\"range\""), "a slider of one step");
    CHECK(strstr(text, "class=\"head\""), "no maps");
    free(text);
    s.frame[0].step = -1;
    text = written(&s.page);
    CHECK(strstr(text, "<th scope=\"row\">answer<td>"), "no answer of an unknown step");
    free(text);
}

/* An empty page is valid and has no headings. */
TEST(an_empty_page) {
    char *text = written(&(Page){.title = "Nothing", .status = "yet"});
    CHECK(count_of(text, "<h2>") == 0, "%s", text);
    CHECK(!strstr(text, "<script") && !strstr(text, "<svg") && !strstr(text, "<pre>") &&
              strstr(text, "</html>\n"),
          "%s", text);
    free(text);
    Error e = {0};
    CHECK(!page_write(&(Page){.title = "Nothing", .status = "yet"}, in_folder("none/report.html"), &e) &&
              e.status == STATUS_CANNOT_CREATE,
          "%s", e.text);
}

/* A page with the most weights that watch.c allows, all random. */
TEST(the_largest_page_is_below_2_MB) {
    enum { SIDE = 28, HEADS = 8, LAYERS = 6, FRAMES = 7, WEIGHTS = LAYERS * HEADS * SIDE * SIDE };
    static uint8_t weights[FRAMES][WEIGHTS];
    static int32_t ids[SIDE];
    static PageFrame frames[FRAMES];
    SamplePage s;
    sample_page(&s, HARMLESS);
    PageExample x = {.target = ids, .m = SIDE, .whole = SIDE, .groups = 1};
    x.group[0] = (PageGroup){"Encoder", "encoder", LAYERS, HEADS, SIDE, SIDE, ids, ids, false};
    uint32_t random = 1;
    for (int f = 0; f < FRAMES; f++) {
        for (int i = 0; i < WEIGHTS; i++)
            weights[f][i] = (uint8_t)(((random = random * 1664525 + 1013904223) >> 8) % 101);
        frames[f] = (PageFrame){.step = f, .weights = {{weights[f]}}, .answer = {s.frame[0].answer[0]}};
    }
    s.page.examples = &x, s.page.example_count = 1;
    s.page.frames = frames, s.page.frame_count = FRAMES;
    char *text = written(&s.page);
    CHECK(strlen(text) < 2 << 20 && strlen(text) > (size_t)2 * FRAMES * WEIGHTS, "%zu bytes", strlen(text));
    free(text);
}

/* Every row of the tables is a point. Losses are shown per character. The evaluation of all held-out rows is a series of its
 * own, and so is each yardstick among the notes. A chart without a value is left out. */
TEST(charts_of_tables) {
    enum { EVALUATIONS = 3000 };
    static const char metrics[] = "task,step,val_loss,val_accuracy,val_exact,final_loss\n";
    Metadata notes[] = {{"characters", "2"}, {"yardstick.entropy", "0.5"}};
    Safetensors file = {.metadata = notes, .metadata_count = 2};
    static RunPictures pictures;
    RunTables t;
    Error e = {0};
    make_folder();
    File *f = file_create(in_folder("metrics.csv"), &e);
    file_print(f, "%s", metrics);
    for (int i = 1; i <= EVALUATIONS; i++)
        file_print(f, "lm,%d,%.17g,,,%s\n", 10 * i, 2. / i, i < EVALUATIONS ? "" : "7");
    CHECK(file_commit(f, &e), "%s", e.text);
    f = file_create(in_folder("steps.csv"), &e);
    file_print(f, "step,loss,learning_rate,grad_norm,tokens_per_second\n1,6,,,9\n2,4,nan,,8\n");
    CHECK(file_commit(f, &e) && run_tables_read(&t, folder, &file, &e), "%s", e.text);
    curves_draw(&t, &file, &pictures);
    CHECK(pictures.count == 2 && !strcmp(pictures.picture[1].title, "Training tokens per second"),
          "%d charts", pictures.count);
    const LineChart *loss = &pictures.picture[0].chart;
    const Series *training = &loss->series[0], *held_out = &loss->series[1], *all = &loss->series[2],
                 *entropy = &loss->series[3];
    CHECK(loss->count == 4 && training->count == 2 && training->y[0] == 3 && training->x[1] == 2);
    CHECK(held_out->count == EVALUATIONS && held_out->marked, "%ld points", held_out->count);
    for (int i = 1; i <= EVALUATIONS; i++)
        CHECK(held_out->x[i - 1] == 10 * i && fabs(held_out->y[i - 1] * i - 1) < 1e-12, "point %d", i);
    CHECK(all->points && all->y[EVALUATIONS - 1] == 3.5 && isnan(all->y[0]));
    CHECK(!strcmp(entropy->name, "entropy") && entropy->y[1] == 0.25 && entropy->x[1] == 10 * EVALUATIONS);
    CHECK(strstr(pictures.text[0], "held-out: from 1 to 0.0003333; all held-out data: from 3.5 to 3.5"), "%s",
          pictures.text[0]);
    run_tables_free(&t);
}

/* ---- Texts of tokens ---- */

/* The page of one map of these tokens, of which the last is generated. */
static char *page_of_tokens(const char *const *token, long count) {
    static uint8_t weights[64];
    static int32_t ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
    PageExample x = {.target = ids, .m = count - 1, .whole = count, .groups = 1};
    x.group[0] = (PageGroup){"Encoder", "encoder", 1, 1, count - 1, count - 1, ids, ids, false};
    PageFrame frame = {.step = 1, .weights = {{weights}}, .answer = {{count, ids}}};
    PageSample sample = {.given = ids, .given_count = count};
    return written(&(Page){.title = "t",
                           .status = "s",
                           .token = token,
                           .text = true,
                           .examples = &x,
                           .example_count = 1,
                           .frames = &frame,
                           .frame_count = 1,
                           .samples = &sample,
                           .sample_count = 1});
}

/* Bytes of neighbouring tokens are joined before they are shown; a character that several rows or columns share is one
 * label over them. Bytes that are no character stay escaped, a control character is U+FFFD. */
TEST(a_character_of_several_tokens) {
    static const char *const token[] = {"a\xE6", "\xB1", "\x89", "\xE5\xAD\x97", "\xE6", "b", "\x1B", "\x80"};
    char *text = page_of_tokens(token, 8);
    CHECK(strstr(text, "<th scope=\"row\">step 1<td>a汉字\\xE6b\uFFFD\\x80\n"), "%s",
          strstr(text, "step 1<td>"));
    CHECK(strstr(text, "<tr><th><th colspan=3><span>a汉</span><th><span>字</span><th><span>\\xE6</span>"),
          "%s", strstr(text, "<caption>"));
    CHECK(strstr(text, "\n<tr><th rowspan=3><span>a汉</span><td>") && count_of(text, "<tr><td>") == 2 &&
              count_of(text, "<tr><th><span>字</span><td>") == 1,
          "%s", strstr(text, "<caption>"));
    CHECK(strstr(text, "The first 7 of 8 tokens."));
    free(text);
}

/* A wrong piece is marked whole. */
TEST(a_wrong_character_of_several_tokens) {
    static const char *const token[] = {"\xE6", "\xB1", "\x89", "\xE5\xAD\x97", "\x97"};
    int32_t wanted[] = {0, 1, 2, 3}, answered[] = {0, 1, 4, 3};
    PageSample sample = {wanted, 4, wanted, 4};
    PageFrame frame = {.step = 1, .answer = {{4, answered}}};
    char *text = written(&(Page){.title = "t",
                                 .status = "s",
                                 .token = token,
                                 .frames = &frame,
                                 .frame_count = 1,
                                 .samples = &sample,
                                 .sample_count = 1});
    CHECK(strstr(text, "<td><mark>\xE6\xB1\x97</mark>字 <span class=\"faint\">1 wrong</span>"), "%s",
          strstr(text, "step 1<td>"));
    free(text);
}

TEST(the_command_of_a_page_can_be_run) {
    Error e = {0};
    char *words[] = {"./train", "lm", "--text", "it's $HOME.txt", ""}, echoed[128] = "";
    char *command = shell_command(5, words, &e), script[256];
    CHECK(command && strcmp(command, "./train lm --text 'it'\\''s $HOME.txt' ''") == 0, "found %s", command);
    snprintf(script, sizeof script, "printf '[%%s]' %s", command);
    FILE *f = popen(script, "r");
    CHECK(f && fgets(echoed, sizeof echoed, f) &&
              strcmp(echoed, "[./train][lm][--text][it's $HOME.txt][]") == 0,
          "found %s", echoed);
    if (f) pclose(f);
    free(command);
}

RUN_TESTS
