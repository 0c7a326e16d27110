/* The command line of a program, declared as a table.
 *
 *     static struct { double lr; long steps; bool json; int norm; } o = {.lr = 1e-3, .steps = 1000};
 *     static const Option table[] = {
 *         {"Training"},
 *         {"lr", "X", "(0,inf)", "peak learning rate", .real = &o.lr},
 *         {"steps", "N", "[0,inf)", "updates to make", .integer = &o.steps},
 *         {"norm", NULL, "post|pre", "where the layer norms stand", .choice = &o.norm},
 *         {"json", .help = "print one JSON object a line", .flag = &o.json},
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
 * From the table come the parser, the checks and --help; --threads, --seed and --help itself are every
 * program's. A value is checked when it is read, so nothing has happened yet when a flag is refused. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/error.h"
#include <stdint.h>

/* One option, or, where it has no place for a value, a heading of the help. A table ends with {0}. */
typedef struct Option {
    const char *name; /* "lr": given as --lr X or --lr=X, written out in full, at most once */

    const char *argument; /* what the help calls the value: "N" */
    const char *allowed;  /* "[1,64]", "(0,inf)": a round bracket where the end is not in; "post|pre" */
    const char *help;
    /* What the help calls the default where the value does not say: "one a processor". */
    const char *otherwise;

    /* Where the value goes: one of these. What it holds before the command line is read is the default. */
    bool *flag;        /* takes no value; set to true */
    long *integer;     /* decimal, in the interval `allowed` */
    uint64_t *natural; /* decimal, 0 to 2⁶⁴-1 */
    double *real;      /* decimal, finite, in the interval `allowed` */
    int *choice;       /* an index into the words of `allowed` */
    const char **text; /* any UTF-8; points into argv */
    bool *given;       /* besides: set to true if the option is given */
} Option;

typedef struct Options {
    const char *program; /* its name: "train" */
    const char *usage;   /* its operands: "TASK [FILE]"; "" where it takes none */
    const char *purpose; /* what the program does */
    const Option *table;
    const char *notes; /* the end of the help, as it is: examples. NULL: none */
    int least, most;   /* operands that the program takes */

    uint64_t seed; /* 1 where it is not given */
    bool seed_given;

    char **operand; /* what was given, in order; argv's own strings */
    int operands;   /* how many of them */
} Options;

/* Reads the command line, in which options and operands may mix and `--` ends the options, and sets the
 * number of threads. False: stop, by way of options_exit. Then either e is STATUS_USAGE, or the help was
 * asked for and printed. The elements of argv are put in another order. */
bool options_parse(Options *o, int argc, char **argv, Error *e);

/* For values from elsewhere, a file say. Reads one as the command line has it; false, with `status`, if it
 * is none that the option takes: "WHERE: found "x", need an integer in [1,64]". A flag takes true and
 * false. */
bool option_read(const Option *o, const char *text, const char *where, Status status, Error *e);

/* The value as it is now, as text that reads back as the same value. Points to `out` or into the option's
 * own text. */
enum { OPTION_TEXT = 64 };
const char *option_text(const Option *o, char out[OPTION_TEXT]);

/* Writes out what is buffered for stdout. False if that failed; why it first did, stdout_finish will tell. */
bool stdout_flush(void);

/* Writes out what is buffered for stdout and checks that all that was ever printed got there: STATUS_IO. To
 * be called after the last print; nothing may be printed later. */
bool stdout_finish(Error *e);

/* The end of every main: finishes stdout, prints `program: text`, or `tapeformer-program: text` if it is
 * installed, on stderr if e is an error, and returns its status. */
int options_exit(const char *program, Error *e);

#endif
