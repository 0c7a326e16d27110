/* The page of a run as a file: it is complete and small, and escapes texts. */
#include "base/program.h"
#include "folder.h"
#include "page_helpers.h"
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
    free(text), frames_free(&s.frames);
}

TEST(a_page_loads_nothing) {
    SamplePage s;
    sample_page(&s, HARMLESS);
    char *text = written(&s.page);
    CHECK(!strstr(text, "http:") && !strstr(text, "https:") && !strstr(text, "src=") &&
              !strstr(text, "url(") && !strstr(text, "@import"),
          "something that is loaded");
    CHECK(strstr(text, "default-src 'none'"), "the browser is not told to load nothing");
    free(text), frames_free(&s.frames);
}

TEST(every_head_every_picture_with_words_wrong_tokens_marked) {
    SamplePage s;
    sample_page(&s, HARMLESS);
    char *text = written(&s.page);
    CHECK(count_of(text, "<figure class=\"head\"") == SAMPLE_MAPS, "%d heads, need %d",
          count_of(text, "<figure class=\"head\""), SAMPLE_MAPS);
    CHECK(count_of(text, "<caption>") == SAMPLE_MAPS && count_of(text, "<desc>") == 1, "texts");
    CHECK(count_of(text, "<td style=--w:1>1.0") == SAMPLE_MAPS * SAMPLE_TOKENS, "%d large weights, need %d",
          count_of(text, "<td style=--w:1>1.0"), SAMPLE_MAPS * SAMPLE_TOKENS);
    CHECK(strstr(text, "<caption>Encoder self-attention, layer 2, head 1</caption>") &&
              strstr(text, "./train copy"),
          "something is missing");
    CHECK(count_of(text, "<mark>") == 3, "%d wrong tokens are marked, need 3", count_of(text, "<mark>"));
    free(text), frames_free(&s.frames);
}

/* A page of one frame has no slider and no script. */
TEST(one_step_needs_no_script) {
    SamplePage s;
    sample_page(&s, HARMLESS);
    s.frames.count = 1;
    char *text = written(&s.page);
    CHECK(strstr(text, "<th scope=\"row\">step 100<td>"), "no answer");
    CHECK(!strstr(text, "<script") && !strstr(text, "type=\"range\""), "a slider of one step");
    CHECK(strstr(text, "class=\"head\""), "no maps");
    free(text);
    *s.frames.step = -1;
    text = written(&s.page);
    CHECK(strstr(text, "<th scope=\"row\">answer<td>"), "no answer of an unknown step");
    free(text), frames_free(&s.frames);
}

/* A page of nothing is valid, and has no heading but that of the options. */
TEST(an_empty_page) {
    Frames none;
    Error e = {0};
    CHECK(frames_new(&none, &(ModelConfig){0}, 1, 1, &e), "%s", e.text);
    Page empty = {"run", &(Safetensors){0}, &(RunTables){.characters = 0}, &none, NULL};
    char *text = written(&empty);
    CHECK(count_of(text, "<h2>") == 1, "%s", text);
    CHECK(!strstr(text, "<script") && !strstr(text, "<svg") && !strstr(text, "<pre>") &&
              strstr(text, "</html>\n"),
          "%s", text);
    free(text);
    CHECK(!page_write(&empty, in_folder("none/report.html"), &e) && e.status == STATUS_CANNOT_CREATE, "%s",
          e.text);
    frames_free(&none);
}

/* A page with the most weights that watch.c allows, all random. */
TEST(the_largest_page_is_below_2_MB) {
    enum { SIDE = 28, MOST = 7 };
    static const int32_t ids[SIDE];
    SamplePage s;
    Error e = {0};
    sample_page(&s, HARMLESS);
    Frames largest, *f = &largest;
    CHECK(frames_new(f, &(ModelConfig){.encoder_layers = 6, .heads = 14}, SIDE, SIDE, &e));
    frames_set(f, LIST_TARGET, ids, SIDE);
    CHECK(frames_reserve(f, MOST, &e) && f->weights > 34000, "%ld weights, %s", f->weights, e.text);
    uint32_t random = 1;
    for (int k = 0; k < MOST; k++) frames_begin(f, k);
    for (long i = 0; i < MOST * f->weights; i++)
        f->weight[i] = (uint8_t)(((random = random * 1664525 + 1013904223) >> 8) % 101);
    s.page.frames = f;
    char *text = written(&s.page);
    CHECK(strlen(text) < 2 << 20 && strlen(text) > (size_t)(2 * MOST * f->weights), "%zu bytes",
          strlen(text));
    free(text), frames_free(&s.frames), frames_free(f);
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
    FILE *f = fopen(in_folder("metrics.csv"), "w");
    fputs(metrics, f);
    for (int i = 1; i <= EVALUATIONS; i++)
        fprintf(f, "lm,%d,%.17g,,,%s\n", 10 * i, 2. / i, i < EVALUATIONS ? "" : "7");
    fclose(f);
    f = fopen(in_folder("steps.csv"), "w");
    fputs("step,loss,learning_rate,grad_norm,tokens_per_second\n1,6,,,9\n2,4,nan,,8\n", f);
    fclose(f);
    CHECK(run_tables_read(&t, folder, &file, &e), "%s", e.text);
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

/* A page of one frame without tables, whose answer is `count` ids. */
static char *page_of_answer(Frames *f, const int32_t *ids, long count, const char *const *token) {
    Error e = {0};
    CHECK(frames_reserve(f, 1, &e), "%s", e.text);
    memset(f->weight, 0, (size_t)f->weights);
    frames_begin(f, 1);
    frames_set(f, frames_answer(0, 0), ids, count);
    char *text = written(&(Page){"run", &(Safetensors){0}, &(RunTables){.characters = 0}, f, token});
    frames_free(f);
    return text;
}

/* Bytes of neighbouring tokens are joined before they are shown; a character that several rows or columns share is one
 * label over them. Bytes that are no character stay escaped, a control character is U+FFFD. */
TEST(a_character_of_several_tokens) {
    static const char *const token[] = {"a\xE6", "\xB1", "\x89", "\xE5\xAD\x97", "\xE6", "b", "\x1B", "\x80"};
    static const int32_t ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
    Frames f;
    Error e = {0};
    CHECK(frames_new(&f, &(ModelConfig){.encoder_layers = 1, .heads = 1}, 7, 8, &e), "%s", e.text);
    frames_set(&f, LIST_TARGET, ids, 8), frames_set(&f, LIST_GIVEN, ids, 8);
    char *text = page_of_answer(&f, ids, 8, token);
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
    static const int32_t wanted[] = {0, 1, 2, 3}, answered[] = {0, 1, 4, 3};
    Frames f;
    Error e = {0};
    CHECK(frames_new(&f, &(ModelConfig){0}, 4, 4, &e), "%s", e.text);
    frames_set(&f, LIST_GIVEN, wanted, 4), frames_set(&f, LIST_WANTED, wanted, 4);
    char *text = page_of_answer(&f, answered, 4, token);
    CHECK(strstr(text, "<td><mark>\xE6\xB1\x97</mark>字 <bdi class=\"faint\">1 wrong</bdi>"), "%s",
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
