/* The command line of a program, declared as a table.
 *
 *     static struct { double lr; long steps; bool json; int norm; } o = {.lr = 1e-3, .steps = 1000};
 *     static const Option table[] = {
 *         {"Training"},
 *         {"lr", "X", "(0,inf)", "peak learning rate", .real = &o.lr},
 *         {"steps", "N", "[0,inf)", "updates to make", .integer = &o.steps},
 *         {"norm", NULL, "post|pre", "where the layer norms stand", .choice = &o.norm},
 *         {"json", .help = "print one JSON object per line", .flag = &o.json},
 *         {0},
 *     };
 *
 *     int main(int argc, char **argv) {
 *         Error e = {0};
 *         Options options = {"train", "TASK", "Trains a Transformer.", table, .least = 1, .most = 1};
 *         if (options_parse(&options, argc, argv, &e)) run(options.operand[0], &e);
 *         return options_exit(options.program, &e);
 *     }
 *
 * The table determines the parser, the checks and --help. Every program also has --threads, --seed and
 * --help. Values are checked as they are read, before the program does anything. */
#pragma once

#include "base/choice.h"
#include "base/error.h"
#include <stdint.h>

/* One option; without a destination for its value, a heading of the help. A table ends with {0}. */
typedef struct Option {
    const char *name;     /* "lr": given in full or as a unique prefix, at most once; _ is - */
    const char *argument; /* the value's name in the help: "N" */
    const char *allowed;  /* "[1,64]"; "(0,inf)", without its ends; "post|pre" */
    const char *help;
    const char *otherwise; /* the default's description in the help, if not its value: "one per processor" */

    /* The destination of the value: one of these. Its value before the command line is read is the
     * default. */
    bool *flag;          /* takes no value; set to true */
    bool *truth;         /* "false" or "true" */
    long *integer;       /* decimal, also 1e3, in the interval `allowed` */
    int *whole;          /* the same, or the word `none`, which means -1 */
    uint64_t *natural;   /* decimal, 0 to 2⁶⁴-1 */
    double *real;        /* decimal, finite, in the interval `allowed` */
    int *choice;         /* one of the words of `allowed`: its index */
    const Choice **kind; /* one of `kinds`, whose names are the words, or `none`, which means NULL */
    const char **text;   /* any UTF-8; points into argv */
    bool *given;         /* also set to true if the option is given */

    const Choice *const *kinds; /* ends with NULL */
    const char *none;           /* NULL: no word */
} Option;

typedef struct Options {
    const char *program; /* its name: "train" */
    const char *usage;   /* its operands: "TASK [FILE]"; "": none */
    const char *purpose; /* what the program does */
    const Option *table;
    const char *notes; /* the end of the help, verbatim: examples. NULL: none */
    int least, most;   /* number of operands that the program takes */

    uint64_t seed; /* 1 if not given */
    bool seed_given;

    char **operand; /* the operands, in order; strings of argv */
    int operands;   /* their number */
} Options;

/* Reads the command line and sets the number of threads. Options and operands may mix; `--` ends the
 * options. False: call options_exit; either e is STATUS_USAGE, or the help was printed. Reorders argv. */
bool options_parse(Options *o, int argc, char **argv, Error *e);

/* Reads a value from another source, for example a file, as the command line would. False with `status` if
 * the option does not take it: "WHERE: found "x", need an integer in [1,64]". A flag takes true and false. */
bool option_read(const Option *o, const char *text, const char *where, Status status, Error *e);

/* The current value as text that reads back as the same value: in `out`, or the option's own text. */
enum { OPTION_TEXT = 64 };
const char *option_text(const Option *o, char out[OPTION_TEXT]);

/* ---- For base/options.c, in base/option_values.c ---- */

/* The interval of a number, or all words of a choice. */
enum { ALLOWED_TEXT = 300 };
const char *option_allowed(const Option *o, char out[ALLOWED_TEXT]);

/* "one of post|pre". */
enum { WANTED_TEXT = ALLOWED_TEXT + 20 };
const char *option_wanted(const Option *o, char out[WANTED_TEXT]);

/* Ends the program if no value can be allowed: an interval that is none, no words, or too many. */
void option_check(const Option *o);

/* ---- The end ---- */

/* Flushes stdout. False if that failed; options_exit reports the first cause. */
bool stdout_flush(void);

/* The end of every main: checks that everything printed was written (STATUS_IO), prints an error in e on stderr as
 * `program: text` (installed: `tapeformer-program: text`) unless the text is empty, and returns its status. */
int options_exit(const char *program, Error *e);
