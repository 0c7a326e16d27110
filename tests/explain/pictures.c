/* Pictures: what stands where on a terminal, in which width, and that labels from anywhere are only labels. */
#include "explain/pictures/axis.h"
#include "explain/pictures/label.h"
#include "explain/pictures/picture.h"
#include "explain/pictures/sparkline.h"
#include "folder.h"
#include <fcntl.h>

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

static int lines(const char *text) {
    int count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
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
    const GraphStep right[] = {{"a", 0, NULL},
                               {"b", 0, NULL},
                               {"end of a", 1, (const int[]){0}},
                               {"first of b", 1, (const int[]){1}},
                               {"end", 2, (const int[]){1, 3}}};
    p.graph = (Graph){right, STEPS};
    text = drawn(&p, 60, false, false);
    CHECK(strcmp(text, "A graph\no   a\n| o b\no | end of a\no-| first of b\no-' end\n") == 0, "found\n%s",
          text);
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

/* What is drawn, and as SVG, has this in it, or has not. */
static void check_text(const char *text, const char *want, bool there) {
    CHECK(!strstr(text, want) == !there, "%s%s in\n%s", there ? "no " : "", want, text);
}

/* Points that no axis has a place for are left out, and no others. */
static void points_without_a_place(void) {
    const double x[] = {1, 10, 100, 1000, -5}, y[] = {1, 100, NAN, 10000, 10},
                 jump[] = {0, 5, NAN, 1, INFINITY, 2};
    Picture points = {PICTURE_CHART, "Points", NULL,
                      .chart = {"size", "cost", true, true,
                                .series = &(Series){"measured", 5, x, y, .points = true}, .count = 1}};
    char *text = drawn(&points, 34, false, false), *svg = as_svg(&points);
    check_text(text, "\n          cost\n    10000 |                      *\n", true);
    check_text(text, "\n      100 |       *\n", true);
    check_text(text, "\n       10 |\n", true);
    check_text(text, "\n        1 |*\n", true);
    check_text(text, "\n           1      10      100 1000\n", true);
    check_text(svg, "<circle cx=\"56.0\" cy=\"212.0\"", true);
    check_text(svg, "<circle cx=\"180.0\" cy=\"117.0\"", true);
    check_text(svg, "<circle cx=\"304.0\"", false);
    free(text), free(svg);

    /* A line goes on behind what is not finite, and where it leaves the axis it is cut. */
    Picture bounded = {PICTURE_CHART, "Bounded", NULL,
                       .chart = {.y_low = 0,
                                 .y_high = 2,
                                 .series = (Series[]){{"one", 6, NULL, jump}, {"another one", 2, NULL, jump}},
                                 .count = 2}};
    text = drawn(&bounded, 24, false, false), svg = as_svg(&bounded);
    check_text(text, "\n        2 |      *     *\n", true);
    check_text(text, "\n      1.5 |       * *\n", true);
    check_text(text, "\n        0 |+\n", true);
    check_text(text, "\n  * one  + another one\n", true);
    check_text(svg, "d=\"M56.0 212.0M279.2 117.0M428.0 22.0\"", true);
    free(text), free(svg);
    text = drawn(&bounded, 12, false, false); /* two columns for the line, and less than a label wants */
    check_text(text, "\n        2 | *\n", true);
    check_text(text, "\n  * one\n  + another~\n", true);
    free(text);
}

static void bars_without_a_length(void) {
    const double values[] = {3, -1, NAN, INFINITY, 1.5};
    const char *const labels[] = {"three", "minus one", "none", "endless", "half of it"};
    Picture p = {PICTURE_BARS, "Bars", NULL, .bars = {NULL, labels, values, 5}};
    char *text = drawn(&p, 40, false, false), *svg = as_svg(&p);
    CHECK(strcmp(text, "Bars\n"
                       "     three ################### 3\n"
                       " minus one  -1\n"
                       "      none  nan\n"
                       "   endless  inf\n"
                       "half of it ########## 1.5\n") == 0,
          "found\n%s", text);
    check_text(svg, "y=\"26.0\" width=\"0.0\"", true);
    check_text(svg, "y=\"48.0\" width=\"0.0\"", true);
    check_text(svg, "y=\"70.0\" width=\"0.0\"", true);
    free(text), free(svg);
    p.bars.value_name = "seconds";
    text = drawn(&p, 10, true, false), svg = as_svg(&p);
    check_text(text, "\nth\u2026 \u2588 3\n", true);
    check_text(text, "\nha\u2026 \u2588 1.5\n", true);
    check_text(text, "\n    secon\u2026\n", true);
    check_text(svg, ">seconds</text>", true);
    free(text), free(svg);
}

/* A cell that is empty has no shade, and one beyond the shades has the first or the last. */
static void cells_beyond_the_shades(void) {
    const double cells[] = {NAN, -1, 0, 1, 2, NAN};
    const char *const labels[] = {"ab", "\u82b1x", "a much longer one"};
    Picture p = {PICTURE_MAP, "Map", NULL, .map = {2, 3, NULL, "key", NULL, NULL, cells, 0, 1}};
    char *text = drawn(&p, 40, false, true), *svg = as_svg(&p);
#define BLACK "\033[48;5;16m  \033[0m"
#define WHITE "\033[48;5;229m  \033[0m"
    check_text(text, "Map\n  0 1 2 \n0   " BLACK BLACK "\n1 " WHITE WHITE "  \n", true);
    check_text(text, " down, ", false);
    check_text(svg, "scale(26.000)\">\n<path stroke-opacity=\"1\" d=\"M0 1.5h2\"/>\n</g>", true);
    check_text(svg, ">key</text>", true);
    free(text), free(svg);
    p.map.column_labels = labels; /* which run downwards, what is too wide for its cell left out */
    text = drawn(&p, 30, true, false), svg = as_svg(&p);
    check_text(text, "Map\n  a \u82b1a \n  b x   \n      m \n", true);
    check_text(text, "\n      \u2026 \n0       \n1 \u2588\u2588\u2588\u2588  \n", true);
    check_text(svg, "rotate(-90 61.0 113.0)\">\u82b1x</text>", true);
    free(text), free(svg);
    text = drawn(&p, 5, true, false);
    check_text(text, "Map\n  a a\n  bx \n", true);
    free(text);
    p.map = (HeatMap){.values = cells}; /* no cell at all */
    text = drawn(&p, 30, false, false), svg = as_svg(&p);
    CHECK(strcmp(text, "Map\n  \n  0  .:-=+*#%@ 1\n") == 0, "found\n%s", text);
    check_text(svg, "width=\"0.0\" height=\"0.0\"", true);
    free(text), free(svg);
}

/* Down the lane of what is read, and in a bend to the left or the right where the step has another. */
static void graph_as_svg(void) {
    char *svg = as_svg(&(Picture){PICTURE_GRAPH, "A graph", NULL, .graph = {steps, STEPS}});
    static const char *const edges[] = {"M10 10V26Q10 34 18 34H28",
                                        "M28 34V50Q28 58 36 58H46",
                                        "M46 58V74Q46 82 38 82H10",
                                        "M10 10V82",
                                        "M10 82V106",
                                        "M28 34V98Q28 106 20 106H10"};
    int paths = 0;
    for (const char *at = svg; (at = strstr(at, "<path ")); at++) paths++;
    CHECK(paths == 6, "found %d edges", paths);
    for (int i = 0; i < 6; i++) check_text(svg, edges[i], true);
    check_text(svg, "<text x=\"64\" y=\"62\">scores</text>", true);
    free(svg);
}

/* Below each other, in a file that is whole or not there. */
static void pictures_in_a_file(void) {
    make_folder();
    Picture two[] = {map, {PICTURE_BARS, "Second & last", NULL, .bars = {"%", words, weights, 3}}};
    Error e = {0};
    CHECK(pictures_save(two, 2, in_folder("two.svg"), &e), "%s", e.text);
    char text[1 << 14] = "";
    FILE *f = fopen(in_folder("two.svg"), "r");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
    if (f) fclose(f);
    const char *first = strstr(text, ">A map</text>"), *second = strstr(text, ">Second &#38; last</text>");
    CHECK(strncmp(text, "<svg xmlns=", 11) == 0 && first && second && first < second, "found\n%s", text);
    CHECK(strcmp(text + strlen(text) - 14, "</svg>\n</svg>\n") == 0, "it ends in %s",
          text + strlen(text) - 14);
    CHECK(!pictures_save(two, 2, in_folder("none/two.svg"), &e) && e.status == STATUS_CANNOT_CREATE, "%s",
          e.text);
}

/* What a reader of XML takes for itself is written as a reference, what it refuses as the sign for the unknown. */
static void text_is_markup(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    markup_text(out, "a\t<\n&\001\"'>\xFFü");
    fclose(out);
    CHECK(strcmp(text, "a\t&#60;\n&#38;\uFFFD&#34;&#39;&#62;\uFFFDü") == 0, "found %s", text);
    free(text);
}

/* Rows of a map that is too high share a line; the last may have one for itself, and its mean. */
static void rows_are_grouped(void) {
    enum { ROWS = 130, LINES = 44 };
    double values[ROWS] = {[0] = 1, [ROWS - 1] = 1};
    Picture p = {PICTURE_MAP, "High", NULL, .map = {ROWS, 1, "query", "key", NULL, NULL, values, 0, 1}};
    char *text = drawn(&p, 60, false, false);
    CHECK(strstr(text, "\n  0 --\n  3   \n") && strstr(text, "\n126   \n129 @@\n") &&
              strstr(text, "mean of 3 x 1\n") && lines(text) == LINES + 5,
          "found\n%s", text);
    free(text);
}

static void labels_are_no_markup(void) {
    const char *const labels[] = {"</script><img onerror=x>", "\"'&\t\n", "\001\xff"};
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
        for (const char *c = text; *c; c++)
            CHECK((unsigned char)*c >= ' ' || strchr("\n\t", *c), "byte 0x%02X", *c);
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
}

/* Colour for a terminal that has it and whose user wants it. */
static void colour_where_it_is_wanted(void) {
    static const struct {
        const char *kind, *no;
        bool terminal, colour;
    } cases[] = {{"xterm", NULL, true, true},  {"xterm", "", true, true}, {"xterm", "1", true, false},
                 {"dumb", NULL, true, false},  {"", NULL, true, false},   {NULL, NULL, true, false},
                 {"xterm", NULL, false, false}};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    FILE *shown = fopen(ptsname(terminal), "r+"), *file = tmpfile();
    CHECK(shown && file && terminal_columns(file) == 80);
    for (size_t i = 0; shown && i < sizeof cases / sizeof *cases; i++) {
        unsetenv("TERM"), unsetenv("NO_COLOR");
        if (cases[i].kind) setenv("TERM", cases[i].kind, 1);
        if (cases[i].no) setenv("NO_COLOR", cases[i].no, 1);
        CHECK(terminal_of(cases[i].terminal ? shown : file).colour == cases[i].colour, "case %zu", i);
    }
}

/* A point without a place in a line is left out, as if it were not there. */
static void lines_skip_what_has_no_place(void) {
    static const double at[] = {0, 1, 2}, x_lost[] = {0, NAN, 2}, y[] = {0, 7, 1}, y_lost[] = {0, NAN, 1};
    Series series[] = {{"line", 3, at, y_lost},
                       {"line", 3, x_lost, y},
                       {"line", 2, (const double[]){0, 2}, (const double[]){0, 1}}};
    char *text[3];
    for (int i = 0; i < 3; i++) {
        Picture p = {PICTURE_CHART, "A line", NULL, .chart = {.series = &series[i], .count = 1}};
        series[1].y = (const double[]){0, 1, 1};
        text[i] = drawn(&p, 60, false, false);
    }
    CHECK(strcmp(text[0], text[2]) == 0 && strcmp(text[1], text[2]) == 0, "found\n%s%s%s", text[0], text[1],
          text[2]);
    for (int i = 0; i < 3; i++) free(text[i]);
}

/* Terminals of nearly no width and of any, and more numbers than there are columns for. */
/* A step stands where it is: its column has both ends, and all others one point each. */
static void steps_are_upright(void) {
    static const double x[] = {0, 1, 1, 2}, y[] = {0, 0, 1, 1};
    Picture p = {PICTURE_CHART, "A step", NULL,
                 .chart = {"x", "y", .series = (Series[]){{"s", 4, x, y}}, .count = 1}};
    char *text = drawn(&p, 60, false, false);
    CHECK(strstr(text, "\n        1 |                        *************************\n") &&
              strstr(text, "\n        0 |*************************\n"),
          "found\n%s", text);
    free(text);
}

static void extremes_are_drawn(void) {
    enum { MANY = 300 };
    double values[2 * MANY];
    char line[SPARKLINE_TEXT];
    for (int i = 0; i < 2 * MANY; i++) values[i] = i % 5;
    Picture p[] = {map,
                   {PICTURE_MAP, "Tall", NULL, .map = {MANY, 2, "a", NULL, NULL, NULL, values, 0, 4}},
                   {PICTURE_CHART, "A chart", NULL,
                    .chart = {"step", "value", .series = &(Series){"one", MANY, NULL, values}, .count = 1}}};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        for (int width = 1; width <= 1000; width *= 10) {
            char *text = drawn(&p[i], width, true, false);
            CHECK(lines(text) > 3 && longest_line(text) < 300, "%s, %d wide:\n%s", p[i].title, width, text);
            free(text);
        }
    char *text = drawn(&p[1], 60, false, false);
    CHECK(strstr(text, "a cell is the mean of 5 x 1\n") && !strstr(text, "down"), "found\n%s", text);
    free(text);
    CHECK(strlen(sparkline(line, values, MANY, 1000, false)) == SPARKLINE_MOST, "found %s", line);
}

TEST_MAIN({"a map on a terminal", map_on_terminal}, {"every picture fits the terminal", fits_the_width},
          {"without UTF-8 all is ASCII, and labels drive nothing", only_ascii_without_unicode},
          {"labels are cut to their room", labels_are_cut}, {"a line on a terminal", chart_on_terminal},
          {"points without a place are left out", points_without_a_place},
          {"lines skip what has no place", lines_skip_what_has_no_place},
          {"extremes are drawn", extremes_are_drawn}, {"steps are upright", steps_are_upright},
          {"bars without a length", bars_without_a_length},
          {"cells beyond the shades", cells_beyond_the_shades}, {"a graph on a terminal", graph_on_terminal},
          {"a graph as SVG", graph_as_svg}, {"pictures in a file", pictures_in_a_file},
          {"labels are no markup", labels_are_no_markup}, {"text is markup", text_is_markup},
          {"rows are grouped", rows_are_grouped},
          {"ticks are round numbers within the axis", ticks_are_round}, {"a sparkline", sparkline_goes_down},
          {"UTF-8 as the locale says", unicode_by_locale},
          {"colour where it is wanted", colour_where_it_is_wanted})
