/* Command lines: a small program of every kind of option is run in a child process, as a user would
 * run it.
 */
#include "base/options.h"
#include "base/choice.h"
#include "base/pool.h"
#include "base/program.h"
#include "child.h"
#include "expect_bug.h"

/* ---- A program ---- */

/* Kinds of a choice, each a struct that begins with a Choice. */
struct Shape {
    Choice choice;
    int corners;
};
static const struct Shape triangle = {{"triangle"}, 3}, square = {{"square", "angle"}, 4};
static const Choice *const shapes[] = {&triangle.choice, &square.choice, NULL};

typedef struct Values {
    double lr, dropout;
    long steps;
    int warmup, norm, angle, quick;
    uint64_t salt;
    const struct Shape *shape;
    bool json;
    const char *prompt;
} Values;

#define AT(type, field) SETTING(type, Values, field)
static const Setting table[] = {
    {"Training"},
    {"lr", "X", "(0,inf)", "peak learning rate", AT(REAL, lr), .basic = true},
    {"dropout", "P", "[0,1)", "probability of dropping", AT(REAL, dropout)},
    {"steps", "N", "[0,inf)",
     "updates to make, which is a help text long enough that it has to be wrapped",
     AT(INTEGER, steps)},
    {"warmup", "N", "[-5,4096]", "steps", AT(INTEGER, warmup)},
    {"Other"},
    {"salt", "N", .help = "any", AT(NATURAL, salt)},
    {"norm", NULL, "post|pre", "where the norms stand", AT(CHOICE, norm)},
    {"shape", NULL, NULL, "of the room", AT(KIND, shape), .kinds = shapes},
    {"angle", "N", "[0,90]", "of a square", AT(INTEGER, angle), .none = "any", .of = "shape"},
    {"prompt", "TEXT", .help = "how to begin, \xE2\x80\xA6", AT(TEXT, prompt), .of = "!json"},
    {"quick", "N", "[0,9]", "with --prompt", AT(INTEGER, quick), .of = "prompt"},
    {"json", .help = "print JSON", AT(FLAG, json), .basic = true},
    {"hidden", "N", "[0,9]", NULL, AT(INTEGER, quick)},
    {0},
};

static int program(int argc, char **argv) {
    Values v = {.lr = 0.001, .steps = 1000, .salt = 7, .norm = 1, .shape = &square};
    Error e = {0};
    Options o = {
        "prog", "TASK [FILE]", "Does things.", table, &v, "Example\n  prog copy\n", "More\n", 1, 2};
    if (options_parse(&o, argc, argv, &e) && options_check_effects(&o, &e)) {
        printf("lr=%.17g dropout=%.17g steps=%ld%s warmup=%d salt=%llu norm=%d corners=%d angle=%d "
               "prompt=%s "
               "json=%d seed=%llu threads=%d operands=",
               v.lr, v.dropout, v.steps, options_given(&o, "steps") ? "!" : "", v.warmup,
               (unsigned long long)v.salt, v.norm, v.shape->corners, v.angle,
               v.prompt ? v.prompt : "-", v.json, (unsigned long long)o.seed, pool_threads());
        for (int i = 0; i < o.operands; i++) printf("%s,", o.operand[i]);
        printf("\n");
    }
    return options_exit(o.program, &e);
}

/* ---- Running it ---- */

/* Runs the program with the given arguments, at most 31. Returns its status. */
static int run(const char *const *arguments) {
    FILE *to_out = tmpfile(), *to_err = tmpfile();
    char *argv[33] = {"prog"};
    int argc = 1;
    for (; *arguments; arguments++) argv[argc++] = strdup(*arguments);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(to_out), STDOUT_FILENO);
        dup2(fileno(to_err), STDERR_FILENO);
        exit(program(argc, argv));
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    while (argc > 1) free(argv[--argc]);
    slurp(to_out, out);
    slurp(to_err, err);
    return WEXITSTATUS(status);
}

#define RUN(...) run(ARGUMENTS(__VA_ARGS__))
#define CHECK_REFUSED(want, ...)                                                                   \
    CHECK(RUN(__VA_ARGS__) == STATUS_USAGE && !strcmp(err, want "\n") && !*out, "%s%s", out, err)

/* ---- Tests ---- */

TEST(defaults_hold_until_given) {
    CHECK(RUN("copy", "--threads=3") == 0, "%s", err);
    CHECK(strcmp(out, "lr=0.001 dropout=0 steps=1000 warmup=0 salt=7 norm=1 corners=4 angle=0 "
                      "prompt=- json=0 seed=1 "
                      "threads=3 operands=copy,\n") == 0,
          "%s", out);
    CHECK(*err == 0, "%s", err);
}

/* Both spellings, options and operands mixed, -- and - as operands, a value that looks like an
 * option. */
TEST(everything_is_read) {
    CHECK(RUN("--lr=0.5", "copy", "--dropout", "0.1", "--steps=20", "--warmup", "-5", "a b",
              "--norm", "post", "--shape", "triangle", "--prompt=--lr=3", "--seed",
              "18446744073709551615", "--salt=0", "--threads", "2") == 0,
          "%s", err);
    CHECK(strcmp(out,
                 "lr=0.5 dropout=0.10000000000000001 steps=20! warmup=-5 salt=0 norm=0 corners=3 "
                 "angle=0 prompt=--lr=3 json=0 seed=18446744073709551615 threads=2 operands=copy,a "
                 "b,\n") == 0,
          "%s", out);
    CHECK(*err == 0, "%s", err);

    CHECK(RUN("--threads=1", "--", "--json", "--help") == 0, "%s", err);
    CHECK(strstr(out, "json=0") && strstr(out, "operands=--json,--help,"), "%s", out);
    CHECK(RUN("-", "--prompt", "", "--lr=1e-3", "--threads=1") == 0, "%s", err);
    CHECK(strstr(out, "lr=0.001 ") && strstr(out, "prompt= ") && strstr(out, "operands=-,"), "%s",
          out);
    CHECK(RUN("x", "--lr=.5", "--steps=+007", "--threads=1") == 0 && strstr(out, "lr=0.5") &&
              strstr(out, "steps=7!"),
          "%s%s", out, err);
    CHECK(RUN("x", "--steps=2.5e3", "--warmup", "-2e0") == 0 &&
              strstr(out, "steps=2500! warmup=-2 "),
          "%s%s", out, err);
}

/* In names of options, not in values. The last of two equal options counts. */
TEST(underscores_and_repetitions) {
    CHECK(RUN("x", "--w_armup=2", "--warm_up", "3") == 2 &&
              strstr(err, "--w-armup: no such option, see"),
          "%s", err);
    CHECK(RUN("x", "--prompt", "--a_b", "--sh_", "1") == 2 && strstr(err, "--sh-: no such option"),
          "%s", err);
    CHECK(RUN("x", "--prompt", "--a_b", "--lr=3", "--lr", "4", "--json") == 2, "%s", out);
    CHECK(RUN("x", "--prompt", "--a_b", "--lr=3", "--lr", "4", "--norm=post", "--norm", "pre") ==
                  0 &&
              strstr(out, "lr=4 ") && strstr(out, "norm=1 ") && strstr(out, "prompt=--a_b "),
          "%s%s", out, err);
}

/* Each refusal: status 2, the one line, nothing on stdout. */
TEST(refuses) {
    static const struct {
        const char *flag, *need, *values[16];
    } wrong[] = {
        {"lr",
         "a number in (0,inf)",
         {"nan", "inf", "-inf", "-1", "0", "1e999", "0x1", "1 ", " 1", "", "1,5", "1e", ".",
          "--1"}},
        {"dropout", "a number in [0,1)", {"1e-999", "1", "-1e-9"}},
        {"steps",
         "an integer in [0,inf)",
         {"-1", "1.5", "15e-1", "1e30", "1e", "1.0", "0x10", "", " 1", "18446744073709551616",
          "9223372036854775808"}},
        {"warmup", "an integer in [-5,4096]", {"4097", "-6"}},
        {"seed", "an integer in [0,2^64)", {"-1", "18446744073709551616", ""}},
        {"threads", "an integer in [1,256]", {"0"}},
        {"norm", "one of post|pre", {"middle", "po", "poster", "", "post|pre"}},
        {"shape", "one of triangle|square", {"circle", "squ", "squares", "", "triangle|square"}},
    };
    static const struct {
        const char *argument, *next, *want;
    } cases[] = {
        {"--lr", "-1", "--lr: found \"-1\", need a number in (0,inf)"},
        {"--lr", "", "--lr: found \"\", need a number in (0,inf)"},
        {"--steps", "-1", "--steps: found \"-1\", need an integer in [0,inf)"},
        {"--lr=1\n\x1B[2J", NULL, "--lr: found \"1\\x0A\\x1B[2J\", need a number in (0,inf)"},
        {"--json=1", NULL, "--json: found a value, need none"},
        {"--json=", NULL, "--json: found a value, need none"},
        {"--lr", NULL, "--lr: found no value, need a number in (0,inf)"},
        {"--prompt", NULL, "--prompt: found no value, need TEXT"},
        {"--lrr", NULL, "--lrr: no such option, see --help all"},
        {"--s=1", NULL, "--s: no such option, see --help all"}, /* of four */
        {"-lr", "1", "-l: no such option, see --help all"},
        {"--Training", NULL, "--Training: no such option, see --help all"}, /* a heading is none */
        {"--colour", NULL, "--colour: no such option, see --help all"},
        {"-x", NULL, "-x: no such option, see --help all"},
        {"--=3", NULL, "--: no such option, see --help all"},
        {"--prompt=a\xFFz", NULL, "argument 2: byte 10: found 0xFF, need UTF-8"},
        {"\xC0\x80", NULL, "argument 2: byte 0: found 0xC0, need UTF-8"},
    };
    char argument[64], line[600];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (const char *const *value = wrong[i].values; *value; value++) {
            snprintf(argument, sizeof argument, "--%s=%s", wrong[i].flag, *value);
            snprintf(line, sizeof line, "prog: --%s: found \"%s\", need %s\n", wrong[i].flag,
                     *value, wrong[i].need);
            CHECK(RUN("copy", argument) == STATUS_USAGE && !*out, "%s: %s", argument, out);
            CHECK(strcmp(err, line) == 0, "found %swant  %s", err, line);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "prog: %s\n", cases[i].want);
        CHECK(RUN("copy", cases[i].argument, cases[i].next) == STATUS_USAGE, "%s",
              cases[i].argument);
        CHECK(strcmp(err, line) == 0, "found %swant  %s", err, line);
        CHECK(*out == 0, "%s", out);
    }
    CHECK_REFUSED("prog: found 0 operands, need TASK [FILE], see --help", "--json");
    CHECK_REFUSED("prog: \"c\\x1B\": found one operand too many, need TASK [FILE]", "a", "b",
                  "c\x1B");
    CHECK(RUN("a", "b", "--bad", "c") == 2 && strstr(err, "--bad"), "%s", err);
}

/* The help goes to stdout, fits 80 columns, and shows the defaults even after other options; --help
 * all is complete. */
TEST(helps) {
    static const char
        head[] = "Usage: prog [OPTION]... TASK [FILE]\nDoes things.\n\n",
        lr[] = "  --lr X                  peak learning rate (in (0,inf); default 0.001)\n",
        json[] = "  --json                  print JSON\n";
    static const char rest[] =
        "  --dropout P             probability of dropping (in [0,1); default 0)\n"
        "  --steps N               updates to make, which is a help text long enough that\n"
        "                          it has to be wrapped (in [0,inf); default 1000)\n"
        "  --warmup N              steps (in [-5,4096]; default 0)\n"
        "\n"
        "Other\n"
        "  --salt N                any (default 7)\n"
        "  --norm post|pre         where the norms stand (default pre)\n"
        "  --shape triangle|square \n                          of the room (default square)\n"
        "  --angle N               of a square (in [0,90]; default 0)\n"
        "  --prompt TEXT           how to begin, \xE2\x80\xA6\n"
        "  --quick N               with --prompt (in [0,9]; default 0)\n";
    static const char common[] =
        "\n"
        "Common\n"
        "  --threads N             number of threads (in [1,256]; default one per\n"
        "                          processor)\n"
        "  --seed N                seed of all random numbers (default 1)\n"
        "  --help                  print help and exit; --help all: all options\n"
        "  --version               print the version and exit\n"
        "\nExample\n  prog copy\n\nMore\n\nExit status\n   0  done\n";
    char want[sizeof out];
    snprintf(want, sizeof want,
             "%sOptions\n%s%s\nExample\n  prog copy\n\n--help all prints all options and the exit "
             "statuses.\n",
             head, lr, json);
    CHECK(RUN("--help") == 0 && *err == 0, "%s", err);
    CHECK(strcmp(out, want) == 0, "found\n%s", out);
    CHECK(RUN("--lr=9", "--seed=9", "--norm=post", "-h") == 0 && strcmp(out, want) == 0,
          "found\n%s", out);
    CHECK(RUN("--lr=x", "--help") == 0 && strcmp(out, want) == 0, "found\n%s", out);
    snprintf(want, sizeof want, "%sTraining\n%s%s%s%s", head, lr, rest, json, common);
    for (int i = 0; i < 2; i++) {
        CHECK((i ? RUN("--help", "all") : RUN("--help=all")) == 0 &&
                  strncmp(out, want, strlen(want)) == 0,
              "found\n%s", out);
        CHECK(strstr(out, "\n  74  reading or writing failed\n"), "%s", out);
    }
    CHECK(RUN("--version") == 0 && !strcmp(out, "prog " TAPEFORMER_VERSION "\n"), "%s", out);
}

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
