/* Command lines: getopt_long splits them; the table says what they may hold and gives the help. */
#include "base/options.h"
#include "base/append.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/utf8.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELP_WIDTH = 80, LABEL_WIDTH = 26 };

/* The values of the options that all programs share. */
typedef struct Common {
    long threads;
    uint64_t seed;
    bool help, version;
} Common;

static const Setting common_table[] = {
    {"Common"},
    {"threads", "N", "[1,256]", "number of threads", SETTING(INTEGER, Common, threads),
     "one per processor"},
    {"seed", "N", NULL, "seed of all random numbers", SETTING(NATURAL, Common, seed)},
    {"help", .help = "print help and exit; --help all: all options", SETTING(FLAG, Common, help)},
    {"version", .help = "print the version and exit", SETTING(FLAG, Common, version)},
    {0},
};

/* A row of the program's table or of common_table, with its values. */
typedef struct Row {
    const Setting *setting;
    void *values;
    bool *given;
} Row;

typedef struct Rows {
    int count;
    Row row[OPTIONS_MAX];
} Rows;

static bool is_heading(const Setting *s) {
    return s->type == SETTING_HEADING;
}

static void add_rows(Rows *rows, const Setting *table, void *values, bool *given) {
    char words[SETTING_WORDS];
    for (const Setting *s = table; s->name; s++) {
        setting_allowed(s, words); /* finds a table that cannot work */
        if (!is_heading(s) && !s->help) continue;
        if (rows->count == OPTIONS_MAX) error_bug("options_parse: more than %d rows", OPTIONS_MAX);
        rows->row[rows->count++] = (Row){s, values, &given[s - table]};
    }
}

/* ---- Help ---- */

/* Prints text, wrapped at blanks, from column `left` on, where the cursor already is. */
static void print_wrapped(const char *text, int left) {
    for (int column = left; *text;) {
        size_t word = strcspn(text, " ");
        int width = (int)utf8_count(text, word);
        if (column > left && column + 1 + width > HELP_WIDTH) {
            printf("\n%*s", left, "");
            column = left;
        } else if (column > left) {
            putchar(' ');
            column++;
        }
        program_print(text, word);
        column += width;
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

static void print_option(const Row *row) {
    /* A choice without an argument name shows its words. */
    const Setting *s = row->setting;
    bool is_choice =
        s->type == SETTING_CHOICE || s->type == SETTING_KIND || s->type == SETTING_TRUTH;
    char words[SETTING_WORDS], value[SETTING_VALUE], label[SETTING_WORDS + 40], about[1024];
    const char *range = setting_allowed(s, words);
    const char *argument = s->argument ? s->argument : "";
    const char *fallback = s->fallback;
    if (!fallback) fallback = s->type == SETTING_FLAG ? "" : setting_text(s, row->values, value);
    if (is_choice && !s->argument) {
        argument = range;
        range = "";
    }
    int width =
        snprintf(label, sizeof label, "  --%s%s%s", s->name, *argument ? " " : "", argument);
    snprintf(about, sizeof about, "%s", s->help);
    if (*range) text_append(about, sizeof about, " (%s%s", is_choice ? "one of " : "in ", range);
    if (*fallback) text_append(about, sizeof about, "%sdefault %s", *range ? "; " : " (", fallback);
    if (*range || *fallback) text_append(about, sizeof about, ")");
    printf("%-*s", LABEL_WIDTH, label);
    if (width + 2 > LABEL_WIDTH) printf("\n%*s", LABEL_WIDTH, "");
    print_wrapped(about, LABEL_WIDTH);
}

static bool has_basic_rows(const Rows *rows) {
    for (int i = 0; i < rows->count; i++)
        if (rows->row[i].setting->basic) return true;
    return false;
}

/* The options that a beginner uses, if the table marks any, or all of them. */
static void print_options(const Rows *rows, bool all) {
    bool basic = !all && has_basic_rows(rows);
    if (basic || !is_heading(rows->row[0].setting)) printf("\nOptions\n");
    for (int i = 0; i < rows->count; i++) {
        const Setting *s = rows->row[i].setting;
        if (basic && !s->basic) continue;
        if (is_heading(s))
            printf("\n%s\n", s->name);
        else
            print_option(&rows->row[i]);
    }
}

static void print_notes(const char *notes) {
    if (!notes) return;
    putchar('\n');
    program_print(notes, strlen(notes));
}

static void print_help(const Options *o, const Rows *rows, bool all) {
    printf("Usage: %s%s [OPTION]...%s%s\n", program_prefix(), o->program, *o->usage ? " " : "",
           o->usage);
    print_wrapped(o->purpose, 0);
    print_options(rows, all);
    print_notes(o->notes);
    if (!all) {
        printf("\n--help all prints all options and the exit statuses.\n");
        return;
    }
    print_notes(o->more);
    printf("\nExit status\n");
#define PRINT_STATUS(name, number, meaning) printf("  %2d  %s\n", number, meaning);
    STATUSES(PRINT_STATUS)
}

/* ---- Parsing ---- */

enum { ROW = 256 }; /* getopt_long's code for row 0; lower ones are characters */

/* Whether the name of a long option had a `_`, which is now a `-`. */
static bool replace_underscores(char *element) {
    bool any = false;
    for (char *c = element; *c && *c != '='; c++) {
        any |= *c == '_';
        if (*c == '_') *c = '-';
    }
    return any;
}

static bool no_such_option(const char *element, Error *e) {
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(element, "="), element);
    if (optopt) snprintf(typed, sizeof typed, "-%c", optopt);
    return error_set(e, STATUS_USAGE, "%s: no such option, see --help all", ESCAPED(typed));
}

/* Handles one option, which getopt_long found in `element` and reported as `code`. */
static bool take_option(const Rows *rows, int code, const char *element, Error *e) {
    bool fault = code == ':' || code == '?';
    char want[SETTING_WANTED], where[64];
    int i = (fault ? optopt : code) - ROW;
    if (i < 0) return no_such_option(element, e);
    const Row *row = &rows->row[i];
    const Setting *s = row->setting;
    if (code == ':')
        return error_set(e, STATUS_USAGE, "--%s: found no value, need %s", s->name,
                         setting_wanted(s, want));
    if (code == '?') return error_set(e, STATUS_USAGE, "--%s: found a value, need none", s->name);
    *row->given = true;
    snprintf(where, sizeof where, "--%s", s->name);
    return setting_read(s, row->values, optarg, where, STATUS_USAGE, e);
}

/* Whether --help stands before any `--`, and with it in *all whether "all" follows. */
static bool asks_for_help(int argc, char **argv, bool *all) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        *all = strcmp(argv[i], "--help=all") == 0;
        if (*all) return true;
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        *all = i + 1 < argc && strcmp(argv[i + 1], "all") == 0;
        return true;
    }
    return false;
}

/* Fills getopt_long's table. */
static void name_options(const Rows *rows, struct option *out) {
    for (int i = 0; i < rows->count; i++) {
        const Setting *s = rows->row[i].setting;
        int argument = s->type == SETTING_FLAG ? no_argument : required_argument;
        if (!is_heading(s)) *out++ = (struct option){s->name, argument, NULL, ROW + i};
    }
}

static bool read_options(const Rows *rows, int argc, char **argv, Error *e) {
    struct option options[OPTIONS_MAX + 1] = {0};
    name_options(rows, options);
    optind = 0; /* glibc and musl begin another command line */
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, ":", options, NULL);
        if (code == -1) return true;
        char *element = argv[optind - 1];
        bool unknown = code == '?' && !optopt && strncmp(element, "--", 2) == 0;
        if (unknown && replace_underscores(element))
            optind--; /* getopt_long reads it again */
        else if (!take_option(rows, code, element, e))
            return false;
    }
}

static bool take_operands(Options *o, int argc, char **argv, Error *e) {
    o->operand = argv + optind; /* getopt_long moves operands to the end */
    o->operands = argc - optind;
    if (o->operands > o->max)
        return error_set(e, STATUS_USAGE, "\"%s\": found one operand too many, need %s",
                         ESCAPED(o->operand[o->max]), o->max ? o->usage : "none");
    if (o->operands < o->min)
        return error_set(e, STATUS_USAGE, "found %d operand%s, need %s, see --help", o->operands,
                         PLURAL(o->operands), o->usage);
    return true;
}

static bool check_arguments(int argc, char **argv, Error *e) {
    for (int i = 1; i < argc; i++) {
        char where[32];
        Error bad = {0};
        snprintf(where, sizeof where, "argument %d", i);
        if (!utf8_check(where, argv[i], strlen(argv[i]), &bad))
            return error_set(e, STATUS_USAGE, "%s", bad.text);
    }
    return true;
}

bool options_parse(Options *o, int argc, char **argv, Error *e) {
    static Rows rows; /* not on the stack, which program_start checks */
    Common common = {.seed = 1};
    bool common_given[sizeof common_table / sizeof *common_table] = {0}, all;
    if (!program_start(argc > 0 ? argv[0] : o->program, e) || !check_arguments(argc, argv, e))
        return false;
    rows.count = 0;
    add_rows(&rows, o->table, o->values, o->given);
    add_rows(&rows, common_table, &common, common_given);
    bool help = asks_for_help(argc, argv, &all);
    if (!help && !read_options(&rows, argc, argv, e)) return false;
    if (help || common.help) {
        print_help(o, &rows, all);
        return false;
    }
    if (common.version) {
        printf("%s%s %s\n", program_prefix(), o->program, TAPEFORMER_VERSION);
        return false;
    }
    o->seed = common.seed;
    o->seed_given = common_given[setting_find(common_table, "seed") - common_table];
    if (common.threads) pool_set_threads((int)common.threads);
    return take_operands(o, argc, argv, e);
}

bool options_given(const Options *o, const char *name) {
    return o->given[setting_find(o->table, name) - o->table];
}

bool options_check_effects(const Options *o, Error *e) {
    for (const Setting *s = o->table; s->name; s++)
        if (o->given[s - o->table] && !setting_check_effect(o->table, o->values, s, e))
            return false;
    return true;
}

static int stdout_cause; /* errno of the first flush that failed */

bool stdout_flush(void) {
    if (fflush(stdout) == 0) return true;
    if (!stdout_cause) stdout_cause = errno;
    return false;
}

int options_exit(const char *program, Error *e) {
    bool lost = !stdout_flush() || ferror(stdout);
    /* If writing a full buffer fails during a print, musl drops buffer and errno. Writing one more
     * newline fails again and gives errno. */
    if (lost && !stdout_cause && write(STDOUT_FILENO, "\n", 1) < 0) stdout_cause = errno;
    /* Some file systems report a failed write only on close. A stdout that was never open is no
     * error. */
    if (!lost && close(STDOUT_FILENO) != 0 && errno != EBADF && errno != EINTR) {
        lost = true;
        stdout_cause = errno;
    }
    if (lost)
        error_set(e, STATUS_IO, "standard output: %s",
                  stdout_cause ? strerror(stdout_cause) : "a write failed");
    if (e->status != STATUS_DONE && *e->text)
        fprintf(stderr, "%s%s: %s\n", program_prefix(), program, e->text);
    return (int)e->status;
}
