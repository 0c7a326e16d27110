/* Pictures on terminals of every width and as SVG; labels cannot add markup. */
#include "folder.h"
#include "pictures/picture.h"
#include <fcntl.h>

/* The picture on a terminal of this width, or as SVG if the width is 0; to be freed. */
static char *drawn(const Picture *p, int width, bool unicode, bool colour) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (width)
        picture_draw(p, &(Terminal){out, width, colour, unicode});
    else
        picture_svg(p, out);
    fclose(out);
    return text;
}

/* The longest line in characters, without escape sequences. */
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

static const char *const words[] = {"my", "own", "words"};
static const real weights[] = {1, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.75};
static const real cells[] = {(real)NAN, -1, 0, 1, 2, (real)NAN}, high[130] = {[0] = 1, [129] = 1};
static const double rise[] = {0, 1, 2}, jump[] = {0, 5, NAN, 1, INFINITY, 2};
static const double size[] = {1, 10, 100, 1000, -5}, cost[] = {1, 100, NAN, 10000, 10};
static const double at_step[] = {0, 1, 1, 2}, step[] = {0, 0, 1, 1};
static const char *const chinese[] = {"花", " ", "a\033[2J"}, *const mixed[] = {"ab", "\u82b1x",
                                                                                "a much longer one"};
static const Series rising = {"one", 3, NULL, rise}, stepping = {"s", 4, at_step, step},
                    measured = {"measured", 5, size, cost, .points = true},
                    jumps[] = {{"one", 6, NULL, jump}, {"another one", 2, NULL, jump}};

#define MAP(title, ...)                                                                                      \
    {                                                                                                        \
        PICTURE_MAP, title, NULL, .map = { __VA_ARGS__ }                                                     \
    }
#define CHART(title, ...)                                                                                    \
    {                                                                                                        \
        PICTURE_CHART, title, NULL, .chart = { __VA_ARGS__ }                                                 \
    }
#define LINE(line)    .series = &line, .count = 1
#define THE_MAP       MAP("A map", 3, 3, "query", "key", words, words, weights, 0, 1)
#define CELLS(labels) MAP("Map", 2, 3, NULL, "key", NULL, labels, cells, 0, 1)
#define POINTS        CHART("Points", "size", "cost", true, true, LINE(measured))
#define BOUNDED       CHART("Bounded", .y_low = 0, .y_high = 2, .series = jumps, .count = 2)
#define BLACK         "\033[48;5;16m  \033[0m"
#define WHITE         "\033[48;5;229m  \033[0m"

#define DRAWN(picture, width, unicode, colour, ...)                                                          \
    {                                                                                                        \
        picture, width, unicode, colour, {                                                                   \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

/* Each picture has these texts in it, in this order. */
static const struct {
    Picture picture;
    int width; /* 0: SVG */
    bool unicode, colour;
    const char *has[8];
} drawings[] = {
    DRAWN(THE_MAP, 60, false, false,
          "A map\n      my    own   words \n   my @@@@@@            \n  own ++++++++++++      \n"
          "words       ::::::######\n      0  .:-=+*#%@ 1\n      query down, key across\n"),
    DRAWN(THE_MAP, 60, true, false, "   my ██████            \n", "words       ░░░░░░▓▓▓▓▓▓\n"),
    /* Labels without Unicode; a blank is shown, and an escape character does not reach the terminal. */
    DRAWN(MAP("A · 花", 3, 3, NULL, NULL, chinese, chinese, weights, 0, 1), 60, false, false, "A ? ?\n",
          "_ "),
    DRAWN(MAP("A · 花", 3, 3, NULL, NULL, chinese, chinese, weights, 0, 1), 60, true, false, "花", "␣",
          "\uFFFD[2J"),
    /* An empty cell has no shade; a value beyond the shades has the first or the last. */
    DRAWN(CELLS(NULL), 40, false, true, "Map\n  0 1 2 \n0   " BLACK BLACK "\n1 " WHITE WHITE "  \n"),
    DRAWN(CELLS(NULL), 0, true, false, ">key</text>",
          "scale(26.000)\">\n<path stroke-opacity=\"1\" d=\"M0 1.5h1\"/>\n"
          "<path stroke-opacity=\"1\" d=\"M1 1.5h1\"/>\n</g>"),
    /* Labels that are wider than their cells run downwards. */
    DRAWN(CELLS(mixed), 30, true, false, "Map\n  a \u82b1a \n  b x   \n      m \n",
          "\n      … \n0       \n1 ████  \n"),
    DRAWN(CELLS(mixed), 5, true, false, "Map\n  a a\n  bx \n"),
    DRAWN(CELLS(mixed), 0, true, false, "rotate(-90 61.0 113.0)\">\u82b1x</text>"),
    DRAWN(MAP("Map", .values = cells), 30, false, false, "Map\n  \n  0  .:-=+*#%@ 1\n"),
    DRAWN(MAP("Map", .values = cells), 0, false, false, "width=\"0.0\" height=\"0.0\""),
    /* Rows and columns that do not fit share a cell, which shows their mean. */
    DRAWN(MAP("High", 130, 1, "query", "key", NULL, NULL, high, 0, 1), 60, false, false, "\n  0 --\n  3   \n",
          "\n126   \n129 @@\n", "cell: mean of 3 x 1\n"),
    DRAWN(MAP("Wide", 1, 130, NULL, NULL, NULL, NULL, high, 0, 1), 60, false, false, "cell: mean of 1 x 3\n"),
    DRAWN(CHART("Rise", LINE(rising)), 26, false, false, "\n        2 |              *\n",
          "\n        1 |       *\n", "\n        0 |*\n", "\n           0   0.5    1.5\n"),
    DRAWN(CHART("A step", LINE(stepping)), 60, false, false,
          "\n        1 |                        *************************\n",
          "\n        0 |*************************\n"),
    /* Points without a place on the axes are left out. */
    DRAWN(POINTS, 34, false, false, "\n          cost\n    10000 |                      *\n",
          "\n      100 |       *\n", "\n       10 |\n", "\n        1 |*\n",
          "\n           1      10      100 1000\n"),
    DRAWN(POINTS, 0, false, false, "<circle cx=\"64.0\" cy=\"212.0\"", "<circle cx=\"185.3\" cy=\"117.0\""),
    /* A line continues after values that are not finite, and is cut where it leaves the axis. */
    DRAWN(BOUNDED, 24, false, false, "\n        2 |            *\n", "\n      1.5 |         *\n",
          "\n        0 |+\n", "\n  * one  + another one\n"),
    DRAWN(BOUNDED, 12, false, false, "\n        2 | *\n", "\n  * one\n  + another~\n"),
    DRAWN(BOUNDED, 0, false, false, "d=\"M64.0 212.0M282.4 117.0L428.0 22.0\""),
};

TEST(pictures_are_drawn) {
    for (size_t i = 0; i < sizeof drawings / sizeof *drawings; i++) {
        char *text = drawn(&drawings[i].picture, drawings[i].width, drawings[i].unicode, drawings[i].colour);
        const char *at = text;
        for (int k = 0; k < 8 && drawings[i].has[k]; k++) {
            const char *found = strstr(at, drawings[i].has[k]);
            CHECK(found, "%zu: no\n%s\nin\n%s", i, drawings[i].has[k], text);
            if (found) at = found;
        }
        for (const char *c = text; *c && drawings[i].width; c++)
            CHECK((drawings[i].unicode || !(*c & 0x80)) && (drawings[i].colour || *c != '\033'),
                  "%zu: byte 0x%02X", i, *c & 0xFF);
        free(text);
    }
}

/* Terminals of any width, and more cells and points than fit. */
TEST(every_picture_fits_the_terminal) {
    enum { LONG = 300 };
    real values[2 * LONG];
    double line[LONG], saw[LONG];
    for (int i = 0; i < 2 * LONG; i++) values[i] = (real)(i % 7);
    for (int i = 0; i < LONG; i++) line[i] = sin(i * 0.1), saw[i] = i % 7;
    Picture all[] = {
        THE_MAP,
        MAP("Too wide", 2, LONG, "a", "b", NULL, NULL, values),
        MAP("Too high", LONG, 2, "a", NULL, NULL, NULL, values),
        CHART("A chart with a title that is longer than the narrowest of the widths", "step", "value",
              .series = (const Series[]){{"one", LONG, NULL, line}, {"other", LONG, NULL, saw}}, .count = 2),
    };
    static const int widths[] = {1, 10, 30, 74, 118, 162, 250, 1000};
    for (size_t p = 0; p < sizeof all / sizeof *all; p++)
        for (int w = 0; w < 8; w++)
            for (int colour = 0; colour < 2; colour++) {
                char *text = drawn(&all[p], widths[w], true, colour);
                CHECK(longest_line(text) <= widths[w] || widths[w] < 30,
                      "%s: found %d columns, need at most %d:\n%s", all[p].title, longest_line(text),
                      widths[w], text);
                CHECK(lines_of(text) > 3 && (colour || !strchr(text, '\033')), "%s", text);
                free(text);
            }
}

/* Labels are shortened, and characters that a picture cannot show are replaced. */
TEST(labels_are_cut_to_their_room) {
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
                 {marks, 60, LABEL_MOST, 2, 0x2026, true}, /* more characters than a label holds */
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

/* Pictures lie below each other, in a file that is complete or absent. */
TEST(pictures_in_a_file) {
    make_folder();
    Picture two[] = {THE_MAP, CHART("Second & last", LINE(rising))};
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

TEST(labels_are_no_markup) {
    static const double heights[] = {1, 0, 0};
    const char *const labels[] = {"</script><img onerror=x>", "\"'&\t\n", "\001\xff"};
    Picture all[] = {
        {PICTURE_MAP, "</title><script>alert(1)</script>", "</desc>",
         .map = {3, 3, "<b>", "<i>", labels, labels, weights}},
        CHART("<a>", "<b>", "<b>",
              .series = (const Series[]){{labels[0], 3, NULL, heights}, {labels[1], 3, NULL, heights}},
              .count = 2)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *text = drawn(&all[i], 0, false, false);
        static const char *const markup[] = {"<script", "<img", "<b>", "<a>", "</script"};
        for (int k = 0; k < 5; k++) CHECK(!strstr(text, markup[k]), "found %s in\n%s", markup[k], text);
        CHECK(strstr(text, "<title>") && strstr(text, "<desc>") && strstr(text, "role=\"img\""), "%s", text);
        for (const char *c = text; *c; c++)
            CHECK((unsigned char)*c >= ' ' || strchr("\n\t", *c), "byte 0x%02X", *c);
        free(text);
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    markup_text(out, "a\t<\n&\001\"'>\xFFü");
    fclose(out);
    CHECK(strcmp(text, "a\t&#60;\n&#38;\uFFFD&#34;&#39;&#62;\uFFFDü") == 0, "found %s", text);
    free(text);
}

TEST(ticks_are_round_numbers_within_the_axis) {
    static const struct {
        double low, high;
        bool log;
        int count;
        double first, last;
    } cases[] = {{-0.3, 4.1, false, 5, 0, 4}, {1, 4096, true, 4, 1, 1000}, {0.3, 6, true, 6, 1, 6}};
    double ticks[6];
    for (int i = 0; i < 3; i++) {
        Axis a = axis_over(cases[i].low, cases[i].high, cases[i].log);
        int count = axis_ticks(&a, 6, ticks);
        CHECK(count == cases[i].count && ticks[0] == cases[i].first && ticks[count - 1] == cases[i].last,
              "%d: %d ticks from %g", i, count, ticks[0]);
    }
    Axis a = axis_over(1, 4096, true);
    CHECK_NEAR(axis_place(&a, 64), 0.5, 1e-12);
    a = axis_over(INFINITY, -INFINITY, false);
    CHECK(a.low < a.high, "an axis of nothing from %g to %g", a.low, a.high);
    a = axis_over(5, 5, false);
    CHECK_NEAR(axis_place(&a, 5), 0.5, 1e-12);
}

/* Colour on a terminal that has it and whose user wants it; UTF-8 by the locale; the width by COLUMNS. */
TEST(the_environment_decides_colour_UTF_8_and_width) {
    static const struct {
        const char *kind, *no, *columns;
        bool terminal, colour;
        int width;
    } cases[] = {{"xterm", NULL, NULL, true, true, 0},      {"xterm", "", "41", true, true, 40},
                 {"xterm", "1", "0", true, false, 0},       {"dumb", NULL, "x", true, false, 0},
                 {"", NULL, NULL, true, false, 0},          {NULL, NULL, NULL, true, false, 0},
                 {"xterm", NULL, "101", false, false, 100}, {"xterm", NULL, NULL, false, false, 79}};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    FILE *shown = fopen(ptsname(terminal), "r+"), *file = tmpfile();
    CHECK(shown && file && terminal_columns(file) == 80);
    for (size_t i = 0; shown && i < sizeof cases / sizeof *cases; i++) {
        unsetenv("TERM"), unsetenv("NO_COLOR"), unsetenv("COLUMNS");
        if (cases[i].kind) setenv("TERM", cases[i].kind, 1);
        if (cases[i].no) setenv("NO_COLOR", cases[i].no, 1);
        if (cases[i].columns) setenv("COLUMNS", cases[i].columns, 1);
        Terminal t = terminal_of(cases[i].terminal ? shown : file);
        CHECK(t.colour == cases[i].colour && (!cases[i].width || t.width == cases[i].width), "case %zu: %d",
              i, t.width);
    }
    setenv("LC_ALL", "C", 1);
    CHECK(!terminal_unicode());
    setenv("LC_ALL", "C.UTF-8", 1);
    CHECK(terminal_unicode());
}

/* A point that has no place on the axes is left out of its line. */
TEST(lines_skip_points_without_a_place) {
    static const double at[] = {0, 1, 2}, x_lost[] = {0, NAN, 2}, y[] = {0, 1, 1}, y_lost[] = {0, NAN, 1};
    const Series series[] = {{"line", 3, at, y_lost},
                             {"line", 3, x_lost, y},
                             {"line", 2, (const double[]){0, 2}, (const double[]){0, 1}}};
    char *text[3];
    for (int i = 0; i < 3; i++) {
        Picture p = CHART("A line", .series = &series[i], .count = 1);
        text[i] = drawn(&p, 60, false, false);
    }
    CHECK(strcmp(text[0], text[2]) == 0 && strcmp(text[1], text[2]) == 0, "%s%s%s", text[0], text[1],
          text[2]);
    for (int i = 0; i < 3; i++) free(text[i]);
}

RUN_TESTS
