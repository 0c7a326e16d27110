/* The command line of a program: options from a table of settings (base/setting.h), and operands.
 *
 *     int main(int argc, char **argv) {
 *         Error e = {0};
 *         Options options = {"train", "TASK", "Trains.", table, &values, .min = 1, .max = 1};
 *         if (options_parse(&options, argc, argv, &e)) run(options.operand[0], &e);
 *         return options_exit(options.program, &e);
 *     }
 *
 * The table determines parser, checks and help. Every program also has --threads, --seed, --help
 * and --version. Values are checked as they are read, before the program does anything. --help
 * counts anywhere before a `--`. A name may be a unique prefix, and have _ for -. The last
 * of two equal options counts. */
#pragma once

#include "base/setting.h"
#include <stdbool.h>

enum { OPTIONS_MAX = 128 };

typedef struct Options {
    const char *program; /* its name: "train" */
    const char *usage;   /* its operands: "TASK [FILE]"; "": none */
    const char *purpose; /* what the program does */
    const Setting *table;
    void *values;      /* the table's members; their values before parsing are the defaults */
    const char *notes; /* the end of the help, verbatim: examples. NULL: none */
    const char *more;  /* the same of --help all */
    int min, max;      /* number of operands that the program takes */

    bool given[OPTIONS_MAX]; /* by row of the table */
    uint64_t seed;           /* 1 if not given */
    bool seed_given;

    char **operand; /* the operands, in order; strings of argv */
    int operands;   /* their number */
} Options;

/* Reads the command line and sets the number of threads. Options and operands may mix; `--` ends
 * the options. False: call options_exit; either e is STATUS_USAGE, or help or version was printed.
 * Reorders argv and replaces underscores in its options. */
bool options_parse(Options *o, int argc, char **argv, Error *e);

/* Whether the option of the table is given. */
bool options_given(const Options *o, const char *name);

/* STATUS_USAGE: an option is given that has no effect, by the `of` of its row. */
bool options_check_effects(const Options *o, Error *e);

/* ---- The end ---- */

/* Flushes stdout. False if that failed; options_exit reports the first cause. */
bool stdout_flush(void);

/* The end of every main: checks that everything printed was written (STATUS_IO), prints an error in
 * e on stderr as `program: text` (installed: `tapeformer-program: text`) unless the text is empty,
 * and returns its status. */
int options_exit(const char *program, Error *e);
