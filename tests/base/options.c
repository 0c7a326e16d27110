/* Settings: values of every kind as text and back, and tables that cannot work. options.console has
 * command lines. */
#include "base/options.h"
#include "base/choice.h"
#include "expect_bug.h"

/* Kinds of a choice, each a struct that begins with a Choice. */
struct Shape {
    Choice choice;
    int corners;
};
static const struct Shape triangle = {{"triangle"}, 3}, square = {{"square", "angle"}, 4};
static const Choice *const shapes[] = {&triangle.choice, &square.choice, NULL};

typedef struct Values {
    double lr;
    long steps;
    int warmup, norm, angle;
    uint64_t salt;
    const struct Shape *shape;
    bool json;
    const char *prompt;
} Values;

#define AT(type, field) SETTING(type, Values, field)
static const Setting table[] = {
    {"Training"},
    {"lr", "X", "(0,inf)", "peak learning rate", AT(REAL, lr)},
    {"steps", "N", "[0,inf)", "updates to make", AT(INTEGER, steps)},
    {"warmup", "N", "[-5,4096]", "steps", AT(INTEGER, warmup)},
    {"salt", "N", .help = "any", AT(NATURAL, salt)},
    {"norm", NULL, "post|pre", "where the norms stand", AT(CHOICE, norm)},
    {"shape", NULL, NULL, "of the room", AT(KIND, shape), .kinds = shapes},
    {"angle", "N", "[0,90]", "of a square", AT(INTEGER, angle), .none = "any"},
    {"prompt", "TEXT", .help = "how to begin", AT(TEXT, prompt)},
    {"json", .help = "print JSON", AT(FLAG, json)},
    {0},
};

/* Values from a file are read as on a command line; a flag is true or false. Written as text, they
 * read back. */
TEST(values_from_elsewhere) {
    Values v = {0};
    static const struct {
        const char *name, *text, *wrong, *need;
    } values[] = {
        {"json", "true", "yes", "true or false"},
        {"json", "false", "True", "true or false"},
        {"warmup", "-5", "4097", "an integer in [-5,4096]"},
        {"steps", "4000000000", "-1", "an integer in [0,inf)"},
        {"angle", "any", "none", "an integer in [0,90] or any"},
        {"lr", "0.30000000000000004", "nan", "a number in (0,inf)"},
        {"salt", "18446744073709551615", "-1", "an integer in [0,2^64)"},
        {"norm", "pre", "pos", "one of post|pre"},
        {"shape", "triangle", "circle", "one of triangle|square"},
        {"prompt", "", NULL, NULL},
        {"prompt", "a b", NULL, NULL},
    };
    CHECK(!strcmp(setting_text(setting_find(table, "prompt"), &v, (char[SETTING_VALUE]){0}), ""),
          "a text that is not there");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const Setting *row = setting_find(table, values[i].name);
        char text[SETTING_VALUE], want[128];
        Error e = {0};
        CHECK(setting_read(row, &v, values[i].text, "file", STATUS_BAD_DATA, &e), "%s", e.text);
        CHECK(strcmp(setting_text(row, &v, text), values[i].text) == 0, "%s: found %s",
              values[i].text, setting_text(row, &v, text));
        if (!values[i].wrong) continue;
        snprintf(want, sizeof want, "file: found \"%s\", need %s", values[i].wrong, values[i].need);
        CHECK(!setting_read(row, &v, values[i].wrong, "file", STATUS_BAD_DATA, &e) &&
                  e.status == STATUS_BAD_DATA && !strcmp(e.text, want),
              "%s", e.text);
    }
    CHECK(!v.json && v.warmup == -5 && v.angle == -1 && v.salt == UINT64_MAX && v.norm == 1 &&
          strcmp(v.prompt, "a b") == 0);
}

/* A table that cannot work is a bug, found on any run and not only when the option is used. */
TEST(wrong_tables_are_bugs) {
    char *argv[] = {"prog", NULL};
    Values v;
    Error e = {0};
    Setting row[] = {{"n", "N", NULL, "n", AT(INTEGER, steps)}, {0}};
    Options options = {"prog", "", "", row, &v};
#define WRONG(interval)                                                                            \
    row[0].allowed = interval;                                                                     \
    EXPECT_BUG("--n: \"" interval "\" is no interval", options_parse(&options, 1, argv, &e))
    WRONG("");
    WRONG("[0,1");
    WRONG("[0;1]");
    WRONG("[,1]");
    WRONG("[0,1]x");
#undef WRONG
    row[0] = (Setting){"kind", .help = "which", AT(CHOICE, norm)};
    EXPECT_BUG("--kind: no words to choose from", options_parse(&options, 1, argv, &e));
    row[0] = (Setting){"n", "N", "[0,1]", "n", AT(INTEGER, steps), .of = "none"};
    EXPECT_BUG("--n: the table has no \"none\"", setting_check_effect(row, &v, row, &e));

    char word[400] = "";
    Choice wordy = {word};
    const Choice *const kinds[] = {&wordy, NULL};
    memset(word, 'w', sizeof word - 1);
    row[0] = (Setting){"kind", .help = "which", AT(KIND, shape), .kinds = kinds};
    EXPECT_BUG("--kind: the words are too long", options_parse(&options, 1, argv, &e));
}

RUN_TESTS
