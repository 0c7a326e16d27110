/* Maps and labels on terminals. */
#include "explain/screen.h"
#include "test.h"
#include <fcntl.h>
#include <locale.h>
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
    setlocale(LC_CTYPE, "");
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
    const Map map = {"A map", 3, 3, "query", "key", words, words, weights, 0, 1};
    const char *text = printed(&map, "60", "C");
    CHECK(
        !strcmp(
            text,
            "A map\n      my    own   words \n   my @@@@@@            \n  own ++++++++++++      \n"
            "words       ::::::######\n      0  .:-=+*#%@ 1\n      query down, key across\n"),
        "%s", text);
    text = printed(&map, "60", "C.UTF-8");
    CHECK(strstr(text, "words       ░░░░░░▓▓▓▓▓▓\n"), "%s", text);
    text = printed(&(Map){"H", 3, 3, "q", "k", hostile, hostile, weights, 0, 1}, "60", "C.UTF-8");
    CHECK(strstr(text, "\u82b1") && strstr(text, "\u2423") && !strchr(text, '\033'), "%s", text);
    /* Without given shades the range is that of the values; an empty cell is blank. */
    text = printed(&(Map){"E", 2, 2, "r", "c", .values = empty}, "60", "C");
    CHECK(strstr(text, "\n0     \n1 --@@\n  -1  .:-=+*#%@ 2\n"), "%s", text);
    text = printed(&(Map){"W", 1, 300, "r", "c", .values = many, .high = 1}, "60", "C");
    CHECK(strstr(text, " 1 x 57 of 1 x 300\n"), "%s", text);
    text = printed(&(Map){"T", 300, 1, "r", "c", .values = many, .high = 1}, "60", "C");
    CHECK(strstr(text, " 64 x 1 of 300 x 1\n"), "%s", text);
}

/* Labels are shortened, and characters that a terminal cannot show are replaced. Columns are those
 * of libc, for a locale of UTF-8. */
TEST(labels_are_cut_to_their_room) {
    static char marks[2 * LABEL_TEXT] = "a", cut[LABEL_TEXT];
    for (int i = 0; i < LABEL_TEXT - 2; i += 2) memcpy(marks + 1 + i, "\u0301", 3);
    memcpy(cut, marks, LABEL_TEXT - 7);
    memcpy(cut + LABEL_TEXT - 7, "…", 4);
    const struct {
        const char *text, *locale;
        int max, columns;
        const char *want;
    } cases[] = {{"abcd", "C.UTF-8", 4, 4, "abcd"},
                 {"abcde", "C.UTF-8", 4, 4, "abc…"},
                 {"abcde", "C", 4, 4, "abc~"},
                 {"花花花", "C.UTF-8", 4, 3, "花…"},          /* two columns each */
                 {"e\u0301te", "C.UTF-8", 3, 3, "e\u0301te"}, /* an accent takes none */
                 {marks, "C.UTF-8", 60, 2, cut},              /* more than a label holds */
                 {"\t", "C.UTF-8", 4, 1, "\u21E5"},
                 {"\n", "C", 4, 1, "/"},
                 {"\u202Ea", "C.UTF-8", 1, 1, "…"},
                 {"\u202E", "C.UTF-8", 1, 1, "\uFFFD"},
                 {"\xFF", "C.UTF-8", 1, 1, "\uFFFD"},
                 {"", "C.UTF-8", 4, 0, ""}};
    CHECK(setlocale(LC_CTYPE, "C.UTF-8"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[LABEL_TEXT];
        setenv("LC_ALL", cases[i].locale, 1);
        int columns = label_of(label, cases[i].text, cases[i].max);
        CHECK(columns == cases[i].columns && strcmp(label, cases[i].want) == 0,
              "case %zu: %d columns, %s", i, columns, label);
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
