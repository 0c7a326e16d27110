/* Command lines: getopt_long splits them; the table says what they may hold and gives the help. */
#include "base/options.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/suggest.h"
#include "base/system.h"
#include "base/utf8.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROWS = 128, HELP_WIDTH = 80, LABEL_WIDTH = 26 };

/* The program's rows, followed by those that all programs share. */
typedef struct Rows {
    int n;
    const Option *row[MAX_ROWS];
    bool seen[MAX_ROWS];
    char fallback[MAX_ROWS][OPTION_TEXT]; /* the defaults, saved before parsing */
} Rows;

static bool is_heading(const Option *o) {
    return !o->flag && !o->truth && !o->integer && !o->whole && !o->natural && !o->real && !o->choice &&
           !o->kind && !o->text;
}

static void add_rows(Rows *rows, const Option *table) {
    for (const Option *o = table; o->name; o++) {
        if (rows->n == MAX_ROWS) error_bug("options_parse: more than %d rows", MAX_ROWS);
        option_check(o);
        char value[OPTION_TEXT];
        const char *fallback = o->otherwise;
        if (!fallback) fallback = is_heading(o) || o->flag ? "" : option_text(o, value);
        snprintf(rows->fallback[rows->n], OPTION_TEXT, "%s", fallback);
        rows->row[rows->n++] = o;
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

static void print_option(const Option *o, const char *fallback) {
    /* A choice without an argument name shows its words. */
    bool is_choice = o->choice || o->kind || o->truth, shows_words = is_choice && !o->argument;
    char values[ALLOWED_TEXT], label[ALLOWED_TEXT + 40], about[1024];
    const char *range = option_allowed(o, values), *argument = o->argument ? o->argument : "";
    if (shows_words) argument = range, range = "";
    int width = snprintf(label, sizeof label, "  --%s%s%s", o->name, *argument ? " " : "", argument);
    const char *name_range = is_choice ? "one of " : "in ",
               *name_default = *range ? "; default " : "default ";
    if (!*range) name_range = "";
    if (!*fallback) name_default = "";
    bool any = *range || *fallback;
    snprintf(about, sizeof about, "%s%s%s%s%s%s%s", o->help, any ? " (" : "", name_range, range, name_default,
             fallback, any ? ")" : "");
    printf("%-*s", LABEL_WIDTH, label);
    if (width + 2 > LABEL_WIDTH) printf("\n%*s", LABEL_WIDTH, "");
    print_wrapped(about, LABEL_WIDTH);
}

static void print_help(const Options *o, const Rows *rows) {
    printf("Usage: %s%s [OPTION]...%s%s\n", program_prefix(), o->program, *o->usage ? " " : "", o->usage);
    print_wrapped(o->purpose, 0);
    if (!is_heading(rows->row[0])) printf("\nOptions\n");
    for (int i = 0; i < rows->n; i++) {
        if (is_heading(rows->row[i]))
            printf("\n%s\n", rows->row[i]->name);
        else
            print_option(rows->row[i], rows->fallback[i]);
    }
    printf("\nExit status\n");
#define PRINT_STATUS(name, number, meaning) printf("  %2d  %s\n", number, meaning);
    STATUSES(PRINT_STATUS)
    if (o->notes) putchar('\n'), program_print(o->notes, strlen(o->notes));
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

static bool no_such_option(const Rows *rows, const char *element, Error *e) {
    const char *name[MAX_ROWS];
    char typed[64];
    int names = 0;
    for (int i = 0; i < rows->n; i++)
        if (!is_heading(rows->row[i])) name[names++] = rows->row[i]->name;
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(element, "="), element);
    if (optopt) snprintf(typed, sizeof typed, "-%c", optopt);
    const char *nearest = optopt || !typed[2] ? NULL : suggest_option(typed + 2, name, names);
    return error_set(e, STATUS_USAGE, "%s: no such option%s%s, see --help", ESCAPED(typed),
                     nearest ? "; the nearest is --" : "", nearest ? nearest : "");
}

/* Handles one option, which getopt_long found in `element` and reported as `code`. */
static bool take_option(Rows *rows, int code, const char *element, Error *e) {
    bool fault = code == ':' || code == '?';
    char want[WANTED_TEXT], where[64];
    int i = code == 'h' ? rows->n - 1 : (fault ? optopt : code) - ROW;
    if (i < 0) return no_such_option(rows, element, e);
    const Option *row = rows->row[i];
    if (code == ':')
        return error_set(e, STATUS_USAGE, "--%s: found no value, need %s", row->name,
                         option_wanted(row, want));
    if (code == '?') return error_set(e, STATUS_USAGE, "--%s: found a value, need none", row->name);
    if (rows->seen[i]) return error_set(e, STATUS_USAGE, "--%s: found twice, need it once", row->name);
    rows->seen[i] = true;
    if (row->given) *row->given = true;
    snprintf(where, sizeof where, "--%s", row->name);
    return option_read(row, optarg, where, STATUS_USAGE, e);
}

static bool parse(Options *o, Rows *rows, const bool *help, int argc, char **argv, Error *e) {
    struct option options[MAX_ROWS + 1] = {0};
    for (int i = 0, n = 0; i < rows->n; i++) {
        const Option *row = rows->row[i];
        if (!is_heading(row))
            options[n++] =
                (struct option){row->name, row->flag ? no_argument : required_argument, NULL, ROW + i};
    }
    opterr = 0;
    system_start_options();
    for (int code; (code = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        bool unknown = code == '?' && !optopt && strncmp(argv[optind - 1], "--", 2) == 0;
        if (unknown && replace_underscores(argv[optind - 1])) {
            optind--; /* getopt_long reads it again */
            continue;
        }
        if (!take_option(rows, code, argv[optind - 1], e)) return false;
        if (*help) return true;
    }
    o->operand = argv + optind; /* getopt_long moves operands to the end */
    o->operands = argc - optind;
    if (o->operands > o->most)
        return error_set(e, STATUS_USAGE, "\"%s\": found one operand too many, need %s",
                         ESCAPED(o->operand[o->most]), o->most ? o->usage : "none");
    if (o->operands < o->least)
        return error_set(e, STATUS_USAGE, "found %d operand%s, need %s, see --help", o->operands,
                         PLURAL(o->operands), o->usage);
    return true;
}

bool options_parse(Options *o, int argc, char **argv, Error *e) {
    static Rows rows; /* not on the stack, which program_start checks */
    long threads = 0;
    bool help = false;
    const Option common[] = {
        {"Common"},
        {"threads", "N", "[1,256]", "number of threads", "one per processor", .integer = &threads},
        {"seed", "N", .help = "seed of all random numbers", .natural = &o->seed, .given = &o->seed_given},
        {"help", .help = "print this help and exit", .flag = &help},
        {0},
    };
    if (!program_start(argc > 0 ? argv[0] : o->program, e)) return false;
    o->seed = 1;
    for (int i = 1; i < argc; i++) {
        char where[32];
        Error bad = {0};
        snprintf(where, sizeof where, "argument %d", i);
        if (!utf8_check(where, argv[i], strlen(argv[i]), &bad))
            return error_set(e, STATUS_USAGE, "%s", bad.text);
    }

    memset(&rows, 0, sizeof rows);
    add_rows(&rows, o->table);
    add_rows(&rows, common);
    bool ok = parse(o, &rows, &help, argc, argv, e);
    if (ok && help) print_help(o, &rows);
    if (ok && threads) pool_set_threads((int)threads);
    return ok && !help;
}

static int stdout_cause; /* errno of the first flush that failed */

bool stdout_flush(void) {
    if (fflush(stdout) == 0) return true;
    if (!stdout_cause) stdout_cause = errno;
    return false;
}

int options_exit(const char *program, Error *e) {
    bool lost = !stdout_flush() || ferror(stdout);
    /* If writing a full buffer fails during a print, musl drops buffer and errno. Writing one more newline
     * fails again and gives errno. */
    if (lost && !stdout_cause && write(STDOUT_FILENO, "\n", 1) < 0) stdout_cause = errno;
    /* Some file systems report a failed write only on close. A stdout that was never open is no error. */
    if (!lost && close(STDOUT_FILENO) != 0 && errno != EBADF && errno != EINTR)
        lost = true, stdout_cause = errno;
    if (lost)
        error_set(e, STATUS_IO, "standard output: %s",
                  stdout_cause ? strerror(stdout_cause) : "a write failed");
    if (e->status != STATUS_DONE && *e->text)
        fprintf(stderr, "%s%s: %s\n", program_prefix(), program, e->text);
    return (int)e->status;
}
