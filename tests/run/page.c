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
    static uint8_t weights[FRAMES][WEIGHTS], *place[FRAMES];
    static int32_t ids[SIDE];
    static PageFrame frames[FRAMES];
    SamplePage s;
    sample_page(&s, HARMLESS);
    PageExample x = {.title = "largest", .groups = 1};
    x.group[0] = (PageGroup){"Encoder", "encoder", LAYERS, HEADS, SIDE, SIDE, ids, ids, false};
    uint32_t random = 1;
    for (int f = 0; f < FRAMES; f++) {
        for (int i = 0; i < WEIGHTS; i++)
            weights[f][i] = (uint8_t)(((random = random * 1664525 + 1013904223) >> 8) % 101);
        place[f] = weights[f];
        frames[f] = (PageFrame){f, &place[f], &s.answer[0]};
    }
    s.page.examples = &x, s.page.example_count = 1;
    s.page.frames = frames, s.page.frame_count = FRAMES;
    char *text = written(&s.page);
    CHECK(strlen(text) < 2 << 20 && strlen(text) > (size_t)2 * FRAMES * WEIGHTS, "%zu bytes", strlen(text));
    free(text);
}

TEST(a_history_keeps_means_in_bounded_memory) {
    static History h;
    long count = 10000;
    double sum = 0;
    for (long i = 0; i < count; i++) history_add(&h, (double)i, (double)i * 2);
    CHECK(h.count <= HISTORY_ROOM && h.count > HISTORY_ROOM / 2 - 1, "%ld points", h.count);
    for (long i = 0; i < h.count; i++) {
        long values = i + 1 < h.count ? h.merged : h.last;
        CHECK_NEAR(h.y[i], 2 * h.x[i], 1e-6);
        sum += h.y[i] * (double)values;
    }
    CHECK_NEAR(sum, (double)count * (double)(count - 1), 1e-3);
}

/* However many evaluations there are, each is a point; merged steps are announced. Losses and yardsticks,
 * which are in nats per token, are shown per character. */
TEST(every_evaluation_is_a_point) {
    enum { EVALUATIONS = 3000 };
    static RunCurves c = {.characters = 2, .yardsticks = {1, {{"3-gram", 0.5}}}};
    static RunPictures pictures;
    for (int i = 1; i <= EVALUATIONS; i++) {
        Metrics m = {.step = 10 * i, .val_loss = 2. / i, .val_accuracy = 0.5, .val_exact = NAN};
        curves_note(&c, CURVE_LOSS, m.step, 2);
        if (i == 512) curves_draw(&c, m.step, &pictures);
        if (i == 512) CHECK(strcmp(pictures.picture[0].title, "Loss") == 0, "%s", pictures.picture[0].title);
        curves_note_evaluation(&c, &m);
    }
    curves_draw(&c, 10 * EVALUATIONS, &pictures);
    const Series *held_out = &pictures.loss[1], *counted = &pictures.loss[2];
    CHECK(!strcmp(counted->name, "3-gram") && counted->y[1] == 0.25, "%s", counted->name);
    CHECK(held_out->count == EVALUATIONS && held_out->marked, "%ld points", held_out->count);
    for (int i = 1; i <= EVALUATIONS; i++)
        CHECK(held_out->x[i - 1] == 10 * i && held_out->y[i - 1] == 1. / i, "point %d", i);
    CHECK(strcmp(pictures.picture[0].title, "Loss (training: means of 8 steps)") == 0, "%s",
          pictures.picture[0].title);
    CHECK(strstr(pictures.text[0], "held-out: from 1 to 0.0003333"), "%s", pictures.text[0]);
    curves_free(&c);
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
