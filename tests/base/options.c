/* Command lines: a small program of every kind of option is run in a child process, as a user would run it.
 */
#include "base/options.h"
#include "base/choice.h"
#include "base/pool.h"
#include "child.h"
#include "expect_bug.h"

/* ---- A program ---- */

/* Kinds of a choice, each a struct that begins with a Choice. */
struct Shape {
    Choice choice;
    int corners;
};
static const struct Shape triangle = {{"triangle"}, 3}, square = {{"square"}, 4};
static const Choice *const shapes[] = {&triangle.choice, &square.choice, NULL};

static struct {
    double lr, dropout;
    long steps, warmup;
    uint64_t salt;
    int norm;
    const struct Shape *shape;
    bool json, steps_given;
    const char *prompt;
} o;

static const Option table[] = {
    {"Training"},
    {"lr", "X", "(0,inf)", "peak learning rate", .real = &o.lr},
    {"dropout", "P", "[0,1)", "probability of dropping", .real = &o.dropout},
    {"steps", "N", "[0,inf)", "updates to make, which is a help text long enough that it has to be wrapped",
     .integer = &o.steps, .given = &o.steps_given},
    {"warmup", "N", "[-5,4096]", "steps", .integer = &o.warmup},
    {"Other"},
    {"salt", "N", .help = "any", .natural = &o.salt},
    {"norm", NULL, "post|pre", "where the norms stand", .choice = &o.norm},
    {"shape", NULL, NULL, "of the room", .kind = (const Choice **)&o.shape, .kinds = shapes},
    {"prompt", "TEXT", .help = "how to begin, \xE2\x80\xA6", .text = &o.prompt},
    {"json", .help = "print JSON", .flag = &o.json},
    {0},
};

static int program(int argc, char **argv) {
    o.lr = 0.001, o.steps = 1000, o.salt = 7, o.norm = 1, o.shape = &square;
    Error e = {0};
    Options options = {"prog", "TASK [FILE]", "Does things.", table, "Example\n  prog copy\n", 1, 2};
    if (options_parse(&options, argc, argv, &e)) {
        printf("lr=%.17g dropout=%.17g steps=%ld%s warmup=%ld salt=%llu norm=%d corners=%d prompt=%s json=%d "
               "seed=%llu threads=%d operands=",
               o.lr, o.dropout, o.steps, o.steps_given ? "!" : "", o.warmup, (unsigned long long)o.salt,
               o.norm, o.shape->corners, o.prompt ? o.prompt : "-", o.json, (unsigned long long)options.seed,
               pool_threads());
        for (int i = 0; i < options.operands; i++) printf("%s,", options.operand[i]);
        printf("\n");
    }
    return options_exit(options.program, &e);
}

/* ---- Running it ---- */

static int (*runs)(int argc, char **argv) = program;

/* Runs the program with the given arguments, at most 31. Returns its status. */
static int run(const char *const *arguments) {
    FILE *to_out = tmpfile(), *to_err = tmpfile();
    char *argv[33] = {"prog"};
    int argc = 1;
    for (; *arguments; arguments++) argv[argc++] = (char *)*arguments;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(to_out), STDOUT_FILENO);
        dup2(fileno(to_err), STDERR_FILENO);
        exit(runs(argc, argv));
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    slurp(to_out, out);
    slurp(to_err, err);
    return WEXITSTATUS(status);
}

#define RUN(...) run(ARGUMENTS(__VA_ARGS__))
#define CHECK_REFUSED(want, ...)                                                                             \
    CHECK(RUN(__VA_ARGS__) == STATUS_USAGE && !strcmp(err, want "\n") && !*out, "%s%s", out, err)

/* ---- Tests ---- */

TEST(defaults_hold_until_given) {
    CHECK(RUN("copy", "--threads=3") == 0, "%s", err);
    CHECK(strcmp(out, "lr=0.001 dropout=0 steps=1000 warmup=0 salt=7 norm=1 corners=4 prompt=- json=0 seed=1 "
                      "threads=3 operands=copy,\n") == 0,
          "%s", out);
    CHECK(*err == 0, "%s", err);
}

/* Both spellings, options and operands mixed, -- and - as operands, a value that looks like an option. */
TEST(everything_is_read) {
    CHECK(RUN("--lr=0.5", "copy", "--dropout", "0.1", "--steps=20", "--warmup", "-5", "a b", "--norm", "post",
              "--shape", "triangle", "--prompt=--lr=3", "--json", "--seed", "18446744073709551615",
              "--salt=0", "--threads", "2") == 0,
          "%s", err);
    CHECK(strcmp(out, "lr=0.5 dropout=0.10000000000000001 steps=20! warmup=-5 salt=0 norm=0 corners=3 "
                      "prompt=--lr=3 json=1 seed=18446744073709551615 threads=2 operands=copy,a b,\n") == 0,
          "%s", out);
    CHECK(*err == 0, "%s", err);

    CHECK(RUN("--threads=1", "--", "--json", "--help") == 0, "%s", err);
    CHECK(strstr(out, "json=0") && strstr(out, "operands=--json,--help,"), "%s", out);
    CHECK(RUN("-", "--prompt", "", "--lr=1e-3", "--threads=1") == 0, "%s", err);
    CHECK(strstr(out, "lr=0.001 ") && strstr(out, "prompt= ") && strstr(out, "operands=-,"), "%s", out);
    CHECK(RUN("x", "--lr=.5", "--steps=+007", "--threads=1") == 0 && strstr(out, "lr=0.5") &&
              strstr(out, "steps=7!"),
          "%s%s", out, err);
    CHECK(RUN("x", "--steps=2.5e3", "--warmup", "-2e0") == 0 && strstr(out, "steps=2500! warmup=-2 "), "%s%s",
          out, err);
}

/* In names of options, not in values. */
TEST(underscores_are_hyphens) {
    char joined[] = "--warm_up=3", apart[] = "--warm_up", text[] = "--a_b";
    static const Option hyphens[] = {{"warm-up", "N", "[0,9]", "steps", .integer = &o.warmup},
                                     {"prompt", "TEXT", .help = "text", .text = &o.prompt},
                                     {0}};
    char *const argv[][6] = {{"prog", joined, "--prompt", text}, {"prog", "--prompt", text, "x", apart, "3"}};
    for (int i = 0; i < 2; i++) {
        Error e = {0};
        Options options = {"prog", "[FILE]", "Does things.", hyphens, .most = 1};
        char *copy[7] = {0};
        memcpy(copy, argv[i], sizeof argv[i]);
        o.warmup = 0, optind = 1;
        CHECK(options_parse(&options, i ? 6 : 4, copy, &e) && o.warmup == 3 && !strcmp(o.prompt, "--a_b") &&
                  options.operands == i,
              "%s", e.text);
    }
}

/* Each refusal: status 2, the one line, nothing on stdout. */
TEST(refuses) {
    static const struct {
        const char *flag, *need, *values[16];
    } wrong[] = {
        {"lr",
         "a number in (0,inf)",
         {"nan", "inf", "-inf", "-1", "0", "1e999", "0x1", "1 ", " 1", "", "1,5", "1e", ".", "--1"}},
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
        {"--prompt", NULL, "--prompt: found no value, need a text"},
        {"--lrr", NULL, "--lrr: no such option; the nearest is --lr, see --help"},
        {"--sede=1", NULL, "--sede: no such option; the nearest is --seed, see --help"},
        {"--s=1", NULL, "--s: no such option; the nearest is --steps, see --help"}, /* of four */
        {"--learning-rate", "1", "--learning-rate: no such option; the nearest is --lr, see --help"},
        {"--n-layer=1", NULL,
         "--n-layer: no such option, see --help"}, /* known, but there are no layers here */
        {"--drop-out", "1", "--drop-out: no such option; the nearest is --dropout, see --help"},
        {"-lr", "1", "-l: no such option, see --help"},
        {"--Training", NULL, "--Training: no such option, see --help"}, /* a heading is none */
        {"--colour", NULL, "--colour: no such option, see --help"},
        {"-x", NULL, "-x: no such option, see --help"},
        {"--=3", NULL, "--: no such option, see --help"},
        {"--prompt=a\xFFz", NULL, "argument 2: byte 10: found 0xFF, need UTF-8"},
        {"\xC0\x80", NULL, "argument 2: byte 0: found 0xC0, need UTF-8"},
    };
    char argument[64], line[600];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (const char *const *value = wrong[i].values; *value; value++) {
            snprintf(argument, sizeof argument, "--%s=%s", wrong[i].flag, *value);
            snprintf(line, sizeof line, "prog: --%s: found \"%s\", need %s\n", wrong[i].flag, *value,
                     wrong[i].need);
            CHECK(RUN("copy", argument) == STATUS_USAGE && !*out, "%s: %s", argument, out);
            CHECK(strcmp(err, line) == 0, "found %swant  %s", err, line);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "prog: %s\n", cases[i].want);
        CHECK(RUN("copy", cases[i].argument, cases[i].next) == STATUS_USAGE, "%s", cases[i].argument);
        CHECK(strcmp(err, line) == 0, "found %swant  %s", err, line);
        CHECK(*out == 0, "%s", out);
    }
    CHECK_REFUSED("prog: --lr: found twice, need it once", "copy", "--lr=1", "--lr=1");
    CHECK_REFUSED("prog: --json: found twice, need it once", "copy", "--json", "--json");
    CHECK_REFUSED("prog: found 0 operands, need TASK [FILE], see --help", "--json");
    CHECK_REFUSED("prog: \"c\\x1B\": found one operand too many, need TASK [FILE]", "a", "b", "c\x1B");
    CHECK(RUN("a", "b", "--bad", "c") == 2 && strstr(err, "--bad"), "%s", err);
}

/* The help is complete, goes to stdout, fits 80 columns, and shows the defaults even after other options. */
TEST(helps) {
    static const char want[] =
        "Usage: prog [OPTION]... TASK [FILE]\n"
        "Does things.\n"
        "\n"
        "Training\n"
        "  --lr X                  peak learning rate (in (0,inf); default 0.001)\n"
        "  --dropout P             probability of dropping (in [0,1); default 0)\n"
        "  --steps N               updates to make, which is a help text long enough that\n"
        "                          it has to be wrapped (in [0,inf); default 1000)\n"
        "  --warmup N              steps (in [-5,4096]; default 0)\n"
        "\n"
        "Other\n"
        "  --salt N                any (default 7)\n"
        "  --norm post|pre         where the norms stand (default pre)\n"
        "  --shape triangle|square \n                          of the room (default square)\n"
        "  --prompt TEXT           how to begin, \xE2\x80\xA6\n"
        "  --json                  print JSON\n"
        "\n"
        "Common\n"
        "  --threads N             number of threads (in [1,256]; default one per\n"
        "                          processor)\n"
        "  --seed N                seed of all random numbers (default 1)\n"
        "  --help                  print this help and exit\n"
        "\n"
        "Exit status\n"
        "   0  done\n";
    CHECK(RUN("--help") == 0 && *err == 0, "%s", err);
    CHECK(strncmp(out, want, sizeof want - 1) == 0, "found\n%s", out);
    CHECK(strstr(out, "\n  74  reading or writing failed\n") && strstr(out, "\n\nExample\n  prog copy\n"),
          "%s", out);
    char first[sizeof out];
    strcpy(first, out);
    CHECK(RUN("--lr=9", "--seed=9", "--norm=post", "-h") == 0 && strcmp(out, first) == 0, "found\n%s", out);
    CHECK(RUN("--lr=x", "--help") == STATUS_USAGE && *out == 0);
}

/* A program of two operands, without headings and notes: a choice whose value has a name of its own, and a default that only
 * 17 digits say. */
static int two_operands(int argc, char **argv) {
    Error e = {0};
    double third = 0.1 + 0.2;
    int order = 0;
    const Option rows[] = {{"third", "X", "[0,1]", "a part", .real = &third},
                           {"order", "WAY", "up|down", "of the rows", .choice = &order},
                           {0}};
    Options options = {"two", "FROM TO", "Does less.", rows, .least = 2, .most = 2};
    if (options_parse(&options, argc, argv, &e)) printf("%s\n", options.operand[1]);
    return options_exit(options.program, &e);
}

TEST(counts_operands) {
    runs = two_operands;
    CHECK(RUN("a") == 2 && strcmp(err, "two: found 1 operand, need FROM TO, see --help\n") == 0, "%s", err);
    CHECK(RUN("--threads=1") == 2 && strcmp(err, "two: found 0 operands, need FROM TO, see --help\n") == 0,
          "%s", err);
    CHECK(RUN("a", "b") == 0 && strcmp(out, "b\n") == 0, "%s", err);
    static const char help[] =
        "Usage: two [OPTION]... FROM TO\nDoes less.\n\nOptions\n"
        "  --third X               a part (in [0,1]; default 0.30000000000000004)\n"
        "  --order WAY             of the rows (one of up|down; default up)\n\nCommon\n";
    CHECK(RUN("--help") == 0 && strncmp(out, help, sizeof help - 1) == 0, "found\n%s", out);
}

/* Values from a file are read as on a command line; a flag is true or false. Written as text, they read back. */
TEST(values_from_elsewhere) {
    bool flag = false;
    long n = 0;
    uint64_t salt = 0;
    int norm = 0;
    const char *name = NULL;
    const Option rows[] = {
        {"flag", .flag = &flag},         {"n", "N", "[-5,5]", .integer = &n},
        {"salt", "N", .natural = &salt}, {"norm", NULL, "post|pre", .choice = &norm},
        {"name", "TEXT", .text = &name},
    };
    static const struct {
        int row;
        const char *text, *wrong, *need;
    } values[] = {
        {0, "true", "yes", "true or false"},
        {0, "false", "True", "true or false"},
        {1, "-5", "6", "an integer in [-5,5]"},
        {2, "18446744073709551615", "-1", "an integer in [0,2^64)"},
        {3, "pre", "pos", "one of post|pre"},
        {4, "", NULL, NULL},
        {4, "a b", NULL, NULL},
    };
    CHECK(!strcmp(option_text(&rows[4], (char[OPTION_TEXT]){0}), ""), "a text that is not there");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const Option *row = &rows[values[i].row];
        char text[OPTION_TEXT], want[128];
        Error e = {0};
        CHECK(option_read(row, values[i].text, "file", STATUS_BAD_DATA, &e), "%s", e.text);
        CHECK(strcmp(option_text(row, text), values[i].text) == 0, "%s: found %s", values[i].text,
              option_text(row, text));
        if (!values[i].wrong) continue;
        snprintf(want, sizeof want, "file: found \"%s\", need %s", values[i].wrong, values[i].need);
        CHECK(!option_read(row, values[i].wrong, "file", STATUS_BAD_DATA, &e) &&
                  e.status == STATUS_BAD_DATA && strcmp(e.text, want) == 0,
              "%s", e.text);
    }
    CHECK(!flag && n == -5 && salt == UINT64_MAX && norm == 1 && strcmp(name, "a b") == 0);
}

/* A table that cannot work is a bug, found on any run and not only when the option is used. */
TEST(wrong_tables_are_bugs) {
    char *argv[] = {"prog", NULL};
    long n = 0;
    int choice = 0;
    Error e = {0};
    Option row[] = {{"n", "N", NULL, "n", .integer = &n}, {0}};
    Options options = {"prog", "", "", row};
#define WRONG(interval)                                                                                      \
    row[0].allowed = interval;                                                                               \
    EXPECT_BUG("options_parse: --n: \"" interval "\" is no interval", options_parse(&options, 1, argv, &e))
    WRONG("");
    WRONG("[0,1");
    WRONG("[0;1]");
    WRONG("[,1]");
    WRONG("[0,1]x");
#undef WRONG
    row[0] = (Option){"kind", .help = "which", .choice = &choice};
    EXPECT_BUG("options_parse: --kind: no words to choose from", options_parse(&options, 1, argv, &e));

    char word[400] = "";
    Choice wordy = {word}, *kind = &wordy;
    const Choice *const kinds[] = {&wordy, NULL};
    memset(word, 'w', sizeof word - 1);
    row[0] = (Option){"kind", .kind = (const Choice **)&kind, .kinds = kinds};
    EXPECT_BUG("options_parse: --kind: the words are too long", options_parse(&options, 1, argv, &e));
}

RUN_TESTS
