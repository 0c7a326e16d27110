/* Command lines: getopt_long splits them; the table says what they may hold and gives the help. */
#include "base/options.h"
#include "base/choice.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/suggest.h"
#include "base/system.h"
#include "base/utf8.h"
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    return !o->flag && !o->integer && !o->natural && !o->real && !o->choice && !o->kind && !o->text;
}

/* ---- Values ---- */

/* A long double holds every double and, unless it is itself a double, every long; the ends of intervals
 * are short numbers and fit in any case. */
static bool in_interval(const Option *o, long double value) {
    const char *allowed = o->allowed ? o->allowed : "";
    char open, close;
    long double low, high;
    int length = 0;
    if (sscanf(allowed, "%c%Lf,%Lf%c%n", &open, &low, &high, &close, &length) != 4 || allowed[length] ||
        !strchr("[(", open) || !strchr("])", close))
        error_bug("options_parse: --%s: \"%s\" is no interval", o->name, allowed);
    return (open == '[' ? value >= low : value > low) && (close == ']' ? value <= high : value < high);
}

/* Whether text has the characters of a decimal number alone: strtod and strtol also take blanks,
 * hexadecimal, inf and nan. */
static bool is_decimal(const char *text, const char *characters) {
    return *text && text[strspn(text, characters)] == 0;
}

static bool read_integer(const Option *o, const char *text) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (strpbrk(text, "eE")) { /* 1e3 */
        double real = strtod(text, &end);
        if (!(fabs(real) <= (double)(1L << 30) * (1L << 20)) || real != floor(real)) return false;
        value = (long)real;
    }
    if (!is_decimal(text, "+-.0123456789eE") || *end || errno || !in_interval(o, (long double)value))
        return false;
    *o->integer = value;
    return true;
}

static bool read_natural(const Option *o, const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!is_decimal(text, "0123456789") || *end || errno || value > UINT64_MAX) return false;
    *o->natural = value;
    return true;
}

static bool read_real(const Option *o, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (!is_decimal(text, "+-.0123456789eE") || *end || !isfinite(value)) return false;
    /* A number too small for a double must not silently become 0. */
    if (value == 0 && strcspn(text, "123456789") < strcspn(text, "eE")) return false;
    if (!in_interval(o, value)) return false;
    *o->real = value;
    return true;
}

/* The index-th word of "one|two|three" and its length; NULL after the last. */
static const char *word(const Option *o, int index, int *length) {
    const char *at = o->allowed;
    for (int i = 0;; i++) {
        *length = (int)strcspn(at, "|");
        if (i == index) return at;
        if (!at[*length]) return NULL;
        at += *length + 1;
    }
}

static bool read_choice(const Option *o, const char *text) {
    const char *at;
    int length;
    for (int i = 0; (at = word(o, i, &length)); i++) {
        if (strncmp(at, text, (size_t)length) != 0 || text[length]) continue;
        *o->choice = i;
        return true;
    }
    return false;
}

/* The destination may be a pointer to any struct that begins with a Choice: its bytes are copied. */
static bool read_kind(const Option *o, const char *text) {
    for (const Choice *const *kind = o->kinds; *kind; kind++) {
        if (strcmp((*kind)->name, text) != 0) continue;
        memcpy(o->kind, kind, sizeof *kind);
        return true;
    }
    return false;
}

/* The interval of a number, or all words of a choice. */
enum { ALLOWED_TEXT = 300 };
static const char *allowed(const Option *o, char out[ALLOWED_TEXT]) {
    if (!o->kind) return o->allowed ? o->allowed : "";
    size_t used = 0;
    for (const Choice *const *kind = o->kinds; *kind; kind++) {
        int n = snprintf(out + used, ALLOWED_TEXT - used, "%s%s", used ? "|" : "", (*kind)->name);
        used += (size_t)n;
        if (used >= ALLOWED_TEXT) error_bug("options_parse: --%s: the words are too long", o->name);
    }
    return out;
}

/* Describes the values that the option takes, for messages. */
enum { WANTED_TEXT = ALLOWED_TEXT + 20 };
static const char *wanted(const Option *o, char out[WANTED_TEXT]) {
    char values[ALLOWED_TEXT];
    const char *what = o->integer ? "an integer in" : o->real ? "a number in" : "one of";
    if (o->natural) return "an integer in [0,2^64)";
    if (o->text) return "a text";
    if (o->flag) return "true or false";
    snprintf(out, WANTED_TEXT, "%s %s", what, allowed(o, values));
    return out;
}

static bool read_value(const Option *o, const char *text) {
    if (o->integer) return read_integer(o, text);
    if (o->natural) return read_natural(o, text);
    if (o->real) return read_real(o, text);
    if (o->choice) return read_choice(o, text);
    if (o->kind) return read_kind(o, text);
    if (o->text) *o->text = text;
    if (o->flag) *o->flag = !text || strcmp(text, "true") == 0;
    return !o->flag || !text || *o->flag || strcmp(text, "false") == 0;
}

bool option_read(const Option *o, const char *text, const char *where, Status status, Error *e) {
    char want[WANTED_TEXT];
    return read_value(o, text) ||
           error_set(e, status, "%s: found \"%s\", need %s", where, ESCAPED(text), wanted(o, want));
}

const char *option_text(const Option *o, char out[OPTION_TEXT]) {
    int length = 0;
    const Choice *kind;
    if (o->text) return *o->text ? *o->text : "";
    if (o->kind) {
        memcpy(&kind, o->kind, sizeof kind);
        return kind ? kind->name : "";
    }
    const char *choice = o->choice ? word(o, *o->choice, &length) : NULL;
    if (choice) snprintf(out, OPTION_TEXT, "%.*s", length, choice);
    if (o->flag) snprintf(out, OPTION_TEXT, "%s", *o->flag ? "true" : "false");
    if (o->integer) snprintf(out, OPTION_TEXT, "%ld", *o->integer);
    if (o->natural) snprintf(out, OPTION_TEXT, "%" PRIu64, *o->natural);
    for (int digits = 6; o->real && digits <= 17; digits++) { /* the shortest that reads back */
        snprintf(out, OPTION_TEXT, "%.*g", digits, *o->real);
        if (strtod(out, NULL) == *o->real) break;
    }
    return out;
}

static void add_rows(Rows *rows, const Option *table) {
    for (const Option *o = table; o->name; o++) {
        if (rows->n == MAX_ROWS) error_bug("options_parse: more than %d rows", MAX_ROWS);
        if (o->integer || o->real) in_interval(o, 0); /* ends the program here if the table is wrong */
        if (o->choice && !o->allowed) error_bug("options_parse: --%s: no words to choose from", o->name);
        char value[OPTION_TEXT], words[ALLOWED_TEXT];
        allowed(o, words);
        const char *fallback = o->otherwise               ? o->otherwise
                               : is_heading(o) || o->flag ? ""
                                                          : option_text(o, value);
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
    bool is_choice = o->choice || o->kind, shows_words = is_choice && !o->argument;
    char values[ALLOWED_TEXT], label[ALLOWED_TEXT + 40], about[1024];
    const char *range = allowed(o, values), *argument = shows_words ? range : o->argument ? o->argument : "";
    if (shows_words) range = "";
    int width = snprintf(label, sizeof label, "  --%s%s%s", o->name, *argument ? " " : "", argument);
    const char *name_range = !*range ? "" : is_choice ? "one of " : "in ";
    const char *name_default = !*fallback ? "" : *range ? "; default " : "default ";
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
    printf("\nExit status\n"
           "   0  done\n"
           "   1  ran, and the verdict is no\n"
           "   2  a flag or an operand is wrong\n"
           "   3  training stopped on a number that is not finite\n"
           "   4  nothing is wrong, but something could not be proved\n"
           "  65  an input is malformed\n"
           "  66  an input cannot be opened\n"
           "  70  a bug in this program\n"
           "  71  out of memory\n"
           "  73  an output cannot be created\n"
           "  74  reading or writing failed\n"
           "  78  the checkpoint is of another model\n");
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
        return error_set(e, STATUS_USAGE, "--%s: found no value, need %s", row->name, wanted(row, want));
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
                         o->operands == 1 ? "" : "s", o->usage);
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
