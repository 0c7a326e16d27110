/* explain: shows what attention does, and why it has the shape it has, by running it.
 *
 *     ./explain scaling         why scores are divided by the root of d_k */
#include "explain/explain.h"
#include "base/options.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

static ExplainOptions o;

static const Option table[] = {
    {"Output"},
    {"svg", "FILE", NULL, "where the pictures go, as SVG", .text = &o.svg},
    {"json", .help = "print JSON, one object a line; no pictures", .flag = &o.json},
    {0},
};

static const struct Subject {
    const char *name, *summary;
    Experiment *run;
} experiments[] = {
    {"relevance", "who looks at whom: a fixed ratio, keys alone, queries and keys", explain_relevance},
    {"scaling", "why scores are divided by the root of d_k", explain_scaling},
    {"kernels", "attention as a mean of near points: fixed, learnt and trained kernels", explain_kernels},
    {"positions", "the sinusoids, and copying with and without them", explain_positions},
    {"heads", "one head against four on a task that needs two relations", explain_heads},
    {"convolution", "a convolution as attention with fixed relative weights", explain_convolution},
};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments, ALL_NAMES = 200, NOTES = 2000 };

/* "relevance, scaling, …" */
static const char *all_names(char out[ALL_NAMES]) {
    size_t at = 0;
    for (size_t i = 0; i < EXPERIMENTS; i++)
        at += (size_t)snprintf(out + at, ALL_NAMES - at, "%s%s", i ? ", " : "", experiments[i].name);
    return out;
}

/* The end of the help: what there is to see. */
static const char *notes(char out[NOTES]) {
    size_t at = (size_t)snprintf(out, NOTES, "Experiments\n");
    for (size_t i = 0; i < EXPERIMENTS; i++)
        at += (size_t)snprintf(out + at, NOTES - at, "  %-22s  %s\n", experiments[i].name,
                               experiments[i].summary);
    return out;
}

static bool run(const char *name, Error *e) {
    char shown[ESCAPED_TEXT], names[ALL_NAMES];
    for (size_t i = 0; i < EXPERIMENTS; i++)
        if (strcmp(experiments[i].name, name) == 0) return experiments[i].run(&o, e);
    return error_set(e, STATUS_USAGE, "found \"%s\", need one of %s", utf8_escape(shown, name),
                     all_names(names));
}

int main(int argc, char **argv) {
    Error e = {0};
    char end[NOTES];
    Options options = {
        "explain", "EXPERIMENT", "Shows why attention has the shape it has, by experiments that are run.",
        table,     notes(end),   .least = 1,
        .most = 1, .seed = 1};
    if (options_parse(&options, argc, argv, &e)) {
        o.seed = options.seed;
        run(options.operand[0], &e);
    }
    return options_exit(options.program, &e);
}
