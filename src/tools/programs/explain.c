/* explain: shows what attention computes for a sentence, and why it has this form.
 *
 *     ./explain                 every step of a sentence's way through a Transformer
 *     ./explain scaling         an experiment: why scores are divided by the root of d_k
 *     ./explain runs/copy --text ABC       what a trained model attends to */
#include "base/append.h"
#include "base/options.h"
#include "base/utf8.h"
#include "explain/experiment.h"
#include "explain/walk.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct Values { WalkOptions walk; /* a head of 0 is not given */ } values;

#define AT(type, field) SETTING(type, struct Values, walk.field)
static const Setting table[] = {
    {"The walk, and runs"},
    {"text", "TEXT", NULL, "the sentence, UTF-8", AT(TEXT, text), "I was myself"},
    {"characters", .help = "tokens are characters, not words (default a verse of fifteen)",
     AT(FLAG, characters)},
    {"modern", .help = "byte pairs, rotary positions, RMS norm, query/key norm, SwiGLU",
     AT(FLAG, modern)},
    {"model", "RUN", NULL, "walk through the model of this run", AT(TEXT, run), "random weights"},
    {"backward", .help = "walk back from the loss: gradients, and the update of a weight",
     AT(FLAG, backward)},
    {"module", "NAME", NULL, "show this part of the model: decoder.layers.0", AT(TEXT, module),
     "the first layer; of a run all"},
    {"head", "N", "[1,1048576]", "show this head", AT(INTEGER, head), "1; of a run all"},
    {"step", "NAME", NULL, "show this step: its name, its operation or its number; or merges",
     AT(TEXT, step)},
    {"cell", "ROW,COLUMN", NULL, "print how this cell of each matrix is computed", AT(TEXT, cell)},
    {"full", .help = "print every row and column, and all that backward adds", AT(FLAG, full)},
    {"Output"},
    {"json", .help = "print one JSON object per line, without maps", AT(FLAG, json)},
    {0},
};

static const Experiment *const experiments[] = {
    &explain_relevance,  &explain_scaling, &explain_kernels, &explain_scores,
    &explain_positions,  &explain_heads,   &explain_teacher, &explain_convolution,
    &explain_recurrence, &explain_graph};
enum { COUNT = sizeof experiments / sizeof *experiments, ALL_NAMES = 200, NOTES = 1200 };

/* "walk, relevance, …" */
static const char *all_names(char out[ALL_NAMES]) {
    snprintf(out, ALL_NAMES, "walk");
    for (size_t i = 0; i < COUNT; i++) text_append(out, ALL_NAMES, ", %s", experiments[i]->name);
    return out;
}

/* The end of the help. */
static const char *notes(char out[NOTES]) {
    snprintf(out, NOTES, "Experiments\n");
    for (size_t i = 0; i < COUNT; i++)
        text_append(out, NOTES, "  %-12s %s\n", experiments[i]->name, experiments[i]->summary);
    return out;
}

/* Subjects; they form sets. */
enum { WALK = 1, EXPERIMENT = 2, RUN = 4 };
static const char *const subject_name[] = {
    [WALK] = "the walk",
    [EXPERIMENT] = "an experiment",
    [RUN] = "a run",
    [WALK | RUN] = "the walk or a run",
    [WALK | EXPERIMENT] = "the walk or an experiment",
    [EXPERIMENT | RUN] = "an experiment or a run",
};

/* Refuses a flag that has no effect on the subject, or that contradicts another flag. */
static bool check_flags(int subject, Error *e) {
    const WalkOptions *walk = &values.walk;
    const struct {
        bool given;
        const char *flag;
        int need;
    } subjects[] = {{walk->text, "text", WALK | RUN},
                    {walk->module, "module", WALK | RUN},
                    {walk->head, "head", WALK | RUN},
                    {walk->characters, "characters", WALK},
                    {walk->modern, "modern", WALK},
                    {walk->run, "model", WALK},
                    {walk->step, "step", WALK},
                    {walk->full, "full", WALK},
                    {walk->backward, "backward", WALK},
                    {walk->cell, "cell", WALK},
                    {walk->json, "json", WALK | EXPERIMENT}};
    const struct {
        bool given;
        const char *flag, *found, *need;
    } pairs[] = {
        {walk->characters && walk->run, "characters", "--model, which has its own tokens",
         "one of the two"},
        {walk->modern && walk->run, "modern", "--model, which has its own choices",
         "one of the two"},
        {walk->modern && walk->characters, "modern", "--characters, and it has byte pairs",
         "one of the two"},
        {walk->run && !walk->text, "model", "no --text",
         "a text of the characters of its vocabulary"},
        {walk->full && walk->json, "full", "--json, which prints all elements", "one of the two"}};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (subjects[i].given && !(subjects[i].need & subject))
            return error_set(e, STATUS_USAGE, "--%s: found %s, need %s", subjects[i].flag,
                             subject_name[subject], subject_name[subjects[i].need]);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].given)
            return error_set(e, STATUS_USAGE, "--%s: found %s, need %s", pairs[i].flag,
                             pairs[i].found, pairs[i].need);
    return subject != RUN || walk->text ||
           error_set(e, STATUS_USAGE,
                     "found no --text, need a text of the characters of the run's vocabulary");
}

static bool run(const char *name, uint64_t seed, Error *e) {
    char names[ALL_NAMES];
    struct stat s;
    WalkOptions *walk = &values.walk;
    if (strcmp(name, "walk") == 0) {
        if (!check_flags(WALK, e)) return false;
        if (!walk->head) walk->head = 1;
        walk->seed = seed;
        return explain_walk(walk, e);
    }
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(experiments[i]->name, name) == 0) {
            Lab lab = {experiments[i], seed, walk->json};
            if (!check_flags(EXPERIMENT, e)) return false;
            lab_run(&lab);
            return true;
        }
    if (stat(name, &s) == 0 && S_ISDIR(s.st_mode)) {
        if (!check_flags(RUN, e)) return false;
        walk->run = name;
        walk->maps = true;
        return explain_walk(walk, e);
    }
    return error_set(e, STATUS_USAGE, "found \"%s\", need the directory of a run or one of %s",
                     ESCAPED(name), all_names(names));
}

int main(int argc, char **argv) {
    Error e = {0};
    if (!setlocale(LC_CTYPE, "")) setlocale(LC_CTYPE, "C.UTF-8"); /* for wcwidth */
    char end[NOTES];
    Options options = {
        "explain",
        "[EXPERIMENT | RUN]",
        "Prints every step of a sentence's way through a Transformer, forward or back from the "
        "loss, runs an experiment about the form of attention, or draws what a trained model "
        "attends to.",
        table,
        &values,
        notes(end),
        .max = 1};
    if (options_parse(&options, argc, argv, &e))
        run(options.operands ? options.operand[0] : "walk", options.seed, &e);
    return options_exit(options.program, &e);
}
