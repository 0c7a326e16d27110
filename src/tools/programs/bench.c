/* bench: measures speed and compares it with the peak of the machine. */
#include "bench/bench.h"
#include "base/append.h"
#include "base/options.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

static BenchOptions bench = {.seconds = 3};

static const Setting table[] = {
    {"Measuring"},
    {"seconds", "S", "(0,3600]", "measuring time per figure", SETTING(REAL, BenchOptions, seconds)},
    {"attention", NULL, "fused|plain", "attention of training steps; plain: step by step",
     SETTING(CHOICE, BenchOptions, plain)},
    {"json", .help = "print one JSON object per figure", SETTING(FLAG, BenchOptions, json)},
    {0},
};

static const struct Subject {
    const char *name;
    BenchSubject *run;
    const char *help;
} subjects[] = {
    {"step", bench_step, "training steps"},
    {"gemm", bench_gemm, "matrix products; takes no CASE"},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* "step|gemm" */
static const char *all_subjects(void) {
    static char names[40];
    for (int i = 0; i < SUBJECTS; i++) strcat(strcat(names, i ? "|" : ""), subjects[i].name);
    return names;
}

/* The end of the help: the subjects and the sizes of the cases. */
static const char *notes(void) {
    static char text[1600] = "Subjects\n";
    for (int i = 0; i < SUBJECTS; i++)
        text_append(text, sizeof text, "  %-11s %s\n", subjects[i].name, subjects[i].help);
    text_append(text, sizeof text, "\nCases: layers, d_model, batch x tokens, vocabulary\n");
    for (int i = 0; i < CASES; i++) {
        const Case *c = &bench_cases[i];
        text_append(text, sizeof text, "  %-11s %s %d %4d %2ld x %3ld %4d  %s\n", c->name,
                    c->lm ? "lm     " : "seq2seq", c->layers, c->d_model, c->batch, c->T, c->vocab,
                    c->origin);
    }
    text_append(text, sizeof text,
                "Without CASE, a subject measures all cases or the usual ones.\n");
    return text;
}

static bool run(char **operand, int operands, Error *e) {
    const char *name = operands > 1 ? operand[1] : NULL;
    for (int i = 0; i < SUBJECTS; i++)
        if (strcmp(subjects[i].name, operand[0]) == 0) return subjects[i].run(name, &bench, e);
    return error_set(e, STATUS_USAGE, "found '%s', need one of %s", ESCAPED(operand[0]),
                     all_subjects());
}

int main(int argc, char **argv) {
    Error e = {0};
    Options options = {"bench", "SUBJECT [CASE]", "Measures speed.", table,
                       &bench,  notes(),          .min = 1,          .max = 2};
    if (options_parse(&options, argc, argv, &e)) run(options.operand, options.operands, &e);
    return options_exit(options.program, &e);
}
