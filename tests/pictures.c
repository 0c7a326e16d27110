/* Pictures: what stands where on a terminal, in which width, and that labels from anywhere are only labels. */
#include "pictures/axis.h"
#include "pictures/label.h"
#include "pictures/picture.h"
#include "pictures/sparkline.h"
#include "test.h"

/* What is drawn to a terminal of this width; to be freed. */
static char *drawn(const Picture *p, int width, bool unicode, bool colour) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    picture_draw(p, &(Terminal){out, width, colour, unicode});
    fclose(out);
    return text;
}

static char *as_svg(const Picture *p) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    picture_svg(p, out);
    fclose(out);
    return text;
}

static const char *const words[] = {"my", "own", "words"};
static const double weights[] = {1, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.75};
static const Picture map = {PICTURE_MAP, "A map", NULL,
                            .map = {3, 3, "query", "key", words, words, weights, 0, 1}};

static void map_on_terminal(void) {
    char *ascii = drawn(&map, 60, false, false), *blocks = drawn(&map, 60, true, false);
    const char *want = "A map\n"
                       "      my    own   words \n"
                       "   my @@@@@@            \n"
                       "  own ++++++++++++      \n"
                       "words       ::::::######\n"
                       "      0  .:-=+*#%@ 1\n"
                       "      query down, key across\n";
    CHECK(strcmp(ascii, want) == 0, "found\n%s", ascii);
    CHECK(strstr(blocks, "   my ██████            \n"), "found\n%s", blocks);
    CHECK(strstr(blocks, "words       ░░░░░░▓▓▓▓▓▓\n"), "found\n%s", blocks);
    free(ascii);
    free(blocks);
}

static const GraphStep steps[] = {{"x", 0, NULL},
                                  {"q", 1, (const int[]){0}},
                                  {"scores", 1, (const int[]){1}},
                                  {"sum", 2, (const int[]){2, 0}},
                                  {"end", 2, (const int[]){3, 1}}};
enum { STEPS = sizeof steps / sizeof *steps };

/* The longest line in characters, escape sequences apart. */
static int longest_line(const char *text) {
    int longest = 0, line = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '\033')
            c = strchr(c, 'm');
        else if (*c == '\n')
            line = 0;
        else if (((unsigned char)*c & 0xC0) != 0x80)
            line++;
        if (line > longest) longest = line;
    }
    return longest;
}

static void fits_the_width(void) {
    enum { LONG = 200 };
    int before[GRAPH_MOST]; /* the last step reads all others, which lie side by side until then */
    GraphStep many[GRAPH_MOST];
    for (int i = 0; i < GRAPH_MOST; i++) {
        before[i] = i;
        many[i] = (GraphStep){words[i % 3], i == GRAPH_MOST - 1 ? i : 0, before};
    }
    double values[2 * LONG], line[LONG];
    for (int i = 0; i < 2 * LONG; i++) values[i] = i % 7;
    for (int i = 0; i < LONG; i++) line[i] = sin(i * 0.1);
    Picture all[] = {
        map,
        {PICTURE_MAP, "Too wide", NULL, .map = {2, LONG, "a", "b", NULL, NULL, values}},
        {PICTURE_CHART, "A chart with a title that is longer than the narrowest of the widths", NULL,
         .chart = {"step", "value",
                   .series = (Series[]){{"one", LONG, NULL, line}, {"other", LONG, NULL, values}},
                   .count = 2}},
        {PICTURE_BARS, "Bars", NULL, .bars = {"%", words, weights, 3}},
        {PICTURE_ARCS, "Arcs", NULL, .arcs = {words, weights, 3}},
        {PICTURE_GRAPH, "A graph", NULL, .graph = {steps, STEPS}},
        {PICTURE_GRAPH, "A graph wider than the terminal", NULL, .graph = {many, GRAPH_MOST}},
    };
    for (size_t p = 0; p < sizeof all / sizeof *all; p++)
        for (int width = 30; width <= 250; width += 44)
            for (int colour = 0; colour < 2; colour++) {
                char *text = drawn(&all[p], width, true, colour);
                CHECK(longest_line(text) <= width, "%s: found %d columns, need at most %d:\n%s", all[p].title,
                      longest_line(text), width, text);
                CHECK(colour || !strchr(text, '\033'), "%s: colour that was not asked for", all[p].title);
                free(text);
            }
    char *text = drawn(&all[1], 60, false, false);
    CHECK(strstr(text, "mean of 1 x 4"), "found\n%s", text);
    free(text);
}

/* What has been read for the last time makes room; what is read later passes by. */
static void graph_on_terminal(void) {
    Picture p = {PICTURE_GRAPH, "A graph", NULL, .graph = {steps, STEPS}};
    const char *want = "A graph\n"
                       "o     x\n"
                       "|-o   q\n"
                       "| |-o scores\n"
                       "o-+-' sum\n"
                       "o-'   end\n";
    char *text = drawn(&p, 60, false, false);
    CHECK(strcmp(text, want) == 0, "found\n%s", text);
    free(text);
    text = drawn(&p, 60, true, false);
    CHECK(strstr(text, "●─┼─┘ sum\n"), "found\n%s", text);
    free(text);
}

static void only_ascii_without_unicode(void) {
    const char *const labels[] = {"花", " ", "a\033[2J"};
    Picture p = {PICTURE_MAP, "Blumen · 花", NULL, .map = {3, 3, NULL, NULL, labels, labels, weights, 0, 1}};
    char *text = drawn(&p, 60, false, false);
    for (const char *c = text; *c; c++)
        CHECK((*c >= ' ' && *c < 0x7F) || *c == '\n', "byte 0x%02X", *c & 0xFF);
    CHECK(strstr(text, "_ "), "a blank has no shape:\n%s", text);
    free(text);
    text = drawn(&p, 60, true, false);
    CHECK(!strchr(text, '\033'), "a label drives the terminal");
    CHECK(strstr(text, "花") && strstr(text, "␣"), "found\n%s", text);
    free(text);
}

/* How a label is cut, and what its characters are shown as. */
static void labels_are_cut(void) {
    char marks[2 * LABEL_MOST + 2] = "a", long_text[LABEL_MOST + 2];
    for (int i = 0; i < LABEL_MOST; i++) memcpy(marks + 1 + 2 * i, "\u0301", 3);
    memset(long_text, 'x', LABEL_MOST + 1), long_text[LABEL_MOST + 1] = 0;
    const struct {
        const char *text;
        int most, count, columns;
        uint32_t last;
        bool unicode;
    } cases[] = {{"abcd", 4, 4, 4, 'd', true},
                 {"abcde", 4, 4, 4, 0x2026, true},
                 {"abcde", 4, 4, 4, '~', false},
                 {"花花花", 4, 2, 3, 0x2026, true},        /* two columns each */
                 {"e\u0301te", 3, 4, 3, 'e', true},        /* an accent takes none */
                 {marks, 60, LABEL_MOST, 2, 0x2026, true}, /* more characters than a label has */
                 {long_text, 60, LABEL_MOST, LABEL_MOST, 0x2026, true},
                 {"\t", 4, 1, 1, 0x21E5, true},
                 {"\n", 4, 1, 1, '/', false},
                 {"\u202Ea", 1, 1, 1, 0x2026, true},
                 {"\u202E", 1, 1, 1, 0xFFFD, true},
                 {"", 4, 0, 0, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Label l = label_of(cases[i].text, cases[i].most, cases[i].unicode);
        uint32_t last = l.count ? l.character[l.count - 1] : 0;
        CHECK(l.count == cases[i].count && l.columns == cases[i].columns && last == cases[i].last,
              "case %zu: %d characters, %d columns, last U+%04X", i, l.count, l.columns, (unsigned)last);
    }
}

static void chart_on_terminal(void) {
    double y[] = {0, 1, 2};
    Picture p = {PICTURE_CHART, "Rise", NULL, .chart = {.series = &(Series){"one", 3, NULL, y}, .count = 1}};
    char *text = drawn(&p, 26, false, false);
    CHECK(strstr(text, "\n        2 |              *\n") && strstr(text, "\n        1 |       *\n") &&
              strstr(text, "\n        0 |*\n") && strstr(text, "\n           0   0.5    1.5\n"),
          "found\n%s", text);
    free(text);
}

static void labels_are_no_markup(void) {
    const char *const labels[] = {"</script><img onerror=x>", "\"'&", "\001\xff"};
    Picture p = {PICTURE_MAP, "</title><script>alert(1)</script>", "</desc>",
                 .map = {3, 3, "<b>", "<i>", labels, labels, weights}};
    Picture all[] = {
        p,
        {PICTURE_ARCS, "<a>", NULL, .arcs = {labels, weights, 3}},
        {PICTURE_BARS, "<a>", NULL, .bars = {"<b>", labels, weights, 3}},
        {PICTURE_GRAPH, "<a>", NULL, .graph = {&(GraphStep){labels[0], 0, NULL}, 1}},
        {PICTURE_CHART, "<a>", NULL,
         .chart = {"<b>", "<b>",
                   .series = (Series[]){{labels[0], 3, NULL, weights}, {labels[1], 3, NULL, weights}},
                   .count = 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *text = as_svg(&all[i]);
        CHECK(!strstr(text, "<script") && !strstr(text, "<img") && !strstr(text, "<b>") &&
                  !strstr(text, "<a>") && !strstr(text, "</script"),
              "found\n%s", text);
        CHECK(strstr(text, "<title>") && strstr(text, "<desc>") && strstr(text, "role=\"img\""),
              "no text for it");
        for (const char *c = text; *c; c++) CHECK((unsigned char)*c >= ' ' || *c == '\n', "byte 0x%02X", *c);
        free(text);
    }
}

static void ticks_are_round(void) {
    double ticks[6];
    Axis a = axis_over(-0.3, 4.1, false);
    int count = axis_ticks(&a, 6, ticks);
    CHECK(count == 5 && ticks[0] == 0 && ticks[4] == 4, "%d ticks from %g", count, ticks[0]);
    a = axis_over(1, 4096, true);
    count = axis_ticks(&a, 6, ticks);
    CHECK(count == 4 && ticks[0] == 1 && ticks[3] == 1000, "%d ticks", count);
    CHECK_NEAR(axis_place(&a, 64), 0.5, 1e-12);
    a = axis_over(0.3, 6, true);
    count = axis_ticks(&a, 6, ticks);
    CHECK(count == 4 && ticks[0] == 0.5 && ticks[3] == 5, "%d ticks from %g", count, ticks[0]);
    a = axis_over(INFINITY, -INFINITY, false);
    CHECK(a.low < a.high, "an axis of nothing from %g to %g", a.low, a.high);
    a = axis_over(5, 5, false);
    CHECK_NEAR(axis_place(&a, 5), 0.5, 1e-12);
}

static void sparkline_goes_down(void) {
    char out[SPARKLINE_TEXT];
    const double falling[] = {4, 3, NAN, 1, 1, 0};
    CHECK(strcmp(sparkline(out, falling, 6, 6, false), "#* --_") == 0, "found '%s'", out);
    CHECK(strcmp(sparkline(out, falling, 6, 3, true), "█▂▁") == 0, "found '%s'", out);
    CHECK(strcmp(sparkline(out, falling, 0, 3, true), "") == 0, "found '%s'", out);
}

static void unicode_by_locale(void) {
    setenv("LC_ALL", "C", 1);
    CHECK(!terminal_unicode());
    setenv("LC_ALL", "C.UTF-8", 1);
    CHECK(terminal_unicode());
    setenv("NO_COLOR", "1", 1);
    CHECK(!terminal_of(stdout).colour);
}

TEST_MAIN({"a map on a terminal", map_on_terminal}, {"every picture fits the terminal", fits_the_width},
          {"without UTF-8 all is ASCII, and labels drive nothing", only_ascii_without_unicode},
          {"labels are cut to their room", labels_are_cut}, {"a line on a terminal", chart_on_terminal},
          {"a graph on a terminal", graph_on_terminal}, {"labels are no markup", labels_are_no_markup},
          {"ticks are round numbers within the axis", ticks_are_round}, {"a sparkline", sparkline_goes_down},
          {"UTF-8 as the locale says, no colour where it is not wanted", unicode_by_locale})
