/* bench: how fast this is, beside what the machine can do. */
#include "bench/bench.h"
#include "base/options.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

static BenchOptions bench = {.seconds = 3};

static const Option table[] = {
    {"Measuring"},
    {"seconds", "S", "(0,3600]", "time to spend on each figure", .real = &bench.seconds},
    {"json", .help = "print one JSON object a figure", .flag = &bench.json},
    {0},
};

/* What can be measured; the second operand, where one is given, narrows it down. */
static const struct Subject {
    const char *name;
    bool (*run)(const char *which, const BenchOptions *o, Error *e);
    bool needs_which;
} subjects[] = {
    {"step", bench_step, false},       {"profile", bench_profile, true},
    {"ops", bench_ops, true},          {"dispatch", bench_dispatch, false},
    {"scaling", bench_scaling, false}, {"decode", bench_decode, false},
    {"gemm", bench_gemm, false},       {"checkpoint", bench_checkpoint, false},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* "step|profile|…" */
static const char *all_subjects(void) {
    static char names[160];
    for (size_t i = 0, at = 0; i < SUBJECTS && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? "|" : "", subjects[i].name);
    return names;
}

static bool run(char **operand, int operands, Error *e) {
    const char *which = operands > 1 ? operand[1] : NULL;
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (strcmp(subjects[i].name, operand[0]) != 0) continue;
        if (subjects[i].needs_which && !which)
            return error_set(e, STATUS_USAGE, "%s: found no case, need one", operand[0]);
        return subjects[i].run(which, &bench, e);
    }
    return error_set(e, STATUS_USAGE, "found '%s', need one of %s", ESCAPED(operand[0]), all_subjects());
}

int main(int argc, char **argv) {
    Error e = {0};
    char usage[200];
    snprintf(usage, sizeof usage, "%s [CASE]", all_subjects());
    Options options = {
        "bench",    usage,    "Measures speed.", table, "Cases: seed, copy, paper, chars, baby, words.\n",
        .least = 1, .most = 2};
    if (options_parse(&options, argc, argv, &e)) run(options.operand, options.operands, &e);
    return options_exit(options.program, &e);
}
