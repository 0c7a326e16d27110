/* Maps and labels on terminals. */
#include "explain/map.h"
#include "test.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a map prints to a file in this locale, with so many columns; valid until the next call. */
static const char *printed(const Map *m, const char *columns, const char *locale) {
    static char text[1 << 15];
    FILE *file = tmpfile();
    setenv("COLUMNS", columns, 1);
    setenv("LC_ALL", locale, 1);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    map_print(m);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static const char *const words[] = {"my", "own", "words"};
static const real weights[] = {1, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.75};

TEST(maps_are_printed) {
    static const char *const hostile[] = {"\u82b1", " ", "a\033[2J"};
    static const real empty[] = {(real)NAN, -1, 0, 2};
    static real many[300];
    const Map map = {"A map", NULL, 3, 3, "query", "key", words, words, weights, 0, 1};
    const char *text = printed(&map, "60", "C");
    CHECK(
        !strcmp(
            text,
            "A map\n      my    own   words \n   my @@@@@@            \n  own ++++++++++++      \n"
            "words       ::::::######\n      0  .:-=+*#%@ 1\n      query down, key across\n"),
        "%s", text);
    text = printed(&map, "60", "C.UTF-8");
    CHECK(strstr(text, "words       ░░░░░░▓▓▓▓▓▓\n"), "%s", text);
    text = printed(&(Map){"H", NULL, 3, 3, "q", "k", hostile, hostile, weights, 0, 1}, "60",
                   "C.UTF-8");
    CHECK(strstr(text, "\u82b1") && strstr(text, "\u2423") && !strchr(text, '\033'), "%s", text);
    /* Without given shades the range is that of the values; an empty cell is blank. */
    text = printed(&(Map){"E", NULL, 2, 2, "r", "c", .values = empty}, "60", "C");
    CHECK(strstr(text, "\n0     \n1 --@@\n  -1  .:-=+*#%@ 2\n"), "%s", text);
    text = printed(&(Map){"W", NULL, 1, 300, "r", "c", .values = many, .high = 1}, "60", "C");
    CHECK(strstr(text, " 1 x 57 of 1 x 300\n"), "%s", text);
    text = printed(&(Map){"T", NULL, 300, 1, "r", "c", .values = many, .high = 1}, "60", "C");
    CHECK(strstr(text, " 64 x 1 of 300 x 1\n"), "%s", text);
}

/* Labels are shortened, and characters that a picture cannot show are replaced. */
TEST(labels_are_cut_to_their_room) {
    char marks[2 * LABEL_MAX + 2] = "a", long_text[LABEL_MAX + 2];
    for (int i = 0; i < LABEL_MAX; i++) memcpy(marks + 1 + 2 * i, "\u0301", 3);
    memset(long_text, 'x', LABEL_MAX + 1);
    long_text[LABEL_MAX + 1] = 0;
    const struct {
        const char *text;
        int most, count, columns;
        uint32_t last;
        bool unicode;
    } cases[] = {{"abcd", 4, 4, 4, 'd', true},
                 {"abcde", 4, 4, 4, 0x2026, true},
                 {"abcde", 4, 4, 4, '~', false},
                 {"花花花", 4, 2, 3, 0x2026, true},       /* two columns each */
                 {"e\u0301te", 3, 4, 3, 'e', true},       /* an accent takes none */
                 {marks, 60, LABEL_MAX, 2, 0x2026, true}, /* more characters than a label holds */
                 {long_text, 60, LABEL_MAX, LABEL_MAX, 0x2026, true},
                 {"\t", 4, 1, 1, 0x21E5, true},
                 {"\n", 4, 1, 1, '/', false},
                 {"\u202Ea", 1, 1, 1, 0x2026, true},
                 {"\u202E", 1, 1, 1, 0xFFFD, true},
                 {"", 4, 0, 0, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Label l = label_of(cases[i].text, cases[i].most, cases[i].unicode);
        uint32_t last = l.count ? l.character[l.count - 1] : 0;
        CHECK(l.count == cases[i].count && l.columns == cases[i].columns && last == cases[i].last,
              "case %zu: %d characters, %d columns, last U+%04X", i, l.count, l.columns,
              (unsigned)last);
    }
}

/* Colour on a terminal that has it and whose user wants it; UTF-8 by the locale; the width by
 * COLUMNS. */
TEST(the_environment_decides_colour_UTF_8_and_width) {
    static const struct {
        const char *kind, *no, *columns;
        bool terminal, colour;
        int width;
    } cases[] = {
        {"xterm", NULL, NULL, true, true, 0},      {"xterm", "", "41", true, true, 40},
        {"xterm", "1", "0", true, false, 0},       {"dumb", NULL, "x", true, false, 0},
        {"", NULL, NULL, true, false, 0},          {NULL, NULL, NULL, true, false, 0},
        {"xterm", NULL, "101", false, false, 100}, {"xterm", NULL, NULL, false, false, 79}};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    FILE *shown = fopen(ptsname(terminal), "r+"), *file = tmpfile();
    CHECK(shown && file && terminal_columns(file) == 80);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!shown) break;
        unsetenv("TERM");
        unsetenv("NO_COLOR");
        unsetenv("COLUMNS");
        if (cases[i].kind) setenv("TERM", cases[i].kind, 1);
        if (cases[i].no) setenv("NO_COLOR", cases[i].no, 1);
        if (cases[i].columns) setenv("COLUMNS", cases[i].columns, 1);
        Terminal t = terminal_of(cases[i].terminal ? shown : file);
        CHECK(t.colour == cases[i].colour && (!cases[i].width || t.width == cases[i].width),
              "case %zu: %d", i, t.width);
    }
    setenv("LC_ALL", "C", 1);
    CHECK(!terminal_unicode());
    setenv("LC_ALL", "C.UTF-8", 1);
    CHECK(terminal_unicode());
}

RUN_TESTS
