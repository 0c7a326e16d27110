/* explain: shows what attention computes for a sentence, and why it has this form.
 *
 *     ./explain                 every matrix of a sentence's way through attention
 *     ./explain scaling         an experiment: why scores are divided by the root of d_k
 *     ./explain runs/copy --text ABC       what a trained model attends to */
#include "explain/explain.h"
#include "base/append.h"
#include "base/options.h"
#include "base/utf8.h"
#include "explain/walk.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct Values {
    WalkOptions walk; /* a layer or head of 0 is not given */
    bool json;
    int side;
} values;
static bool side_given;

#define AT(type, field) SETTING(type, struct Values, field)
static const Setting table[] = {
    {"The walk, and runs"},
    {"text", "TEXT", NULL, "the sentence, UTF-8", AT(TEXT, walk.text),
     "无可奈何花落去，似曾相识燕归来"},
    {"words", .help = "tokens are words (default I was myself); id 0 is [UNK]: any unknown word",
     AT(FLAG, walk.words)},
    {"modern", .help = "byte pairs, rotary positions, RMS norm, query/key norm, SwiGLU",
     AT(FLAG, walk.modern)},
    {"vocabulary", "TEXT", NULL, "the text whose tokens are the vocabulary",
     AT(TEXT, walk.vocabulary), "the sentence"},
    {"model", "RUN", NULL, "walk through the model of this run", AT(TEXT, walk.model),
     "random weights"},
    {"side", NULL, "encoder|decoder|cross", "the attention to show", AT(CHOICE, side)},
    {"layer", "N", "[1,1000]", "its layer", AT(INTEGER, walk.layer), "1; of a run all"},
    {"head", "N", "[1,1048576]", "its head", AT(INTEGER, walk.head), "1; of a run all"},
    {"step", "NAME", NULL, "show this step only; with --backward an operation: softmax",
     AT(TEXT, walk.step)},
    {"backward",
     .help = "print how the gradient of the loss goes back, operation by operation, and an update",
     AT(FLAG, walk.backward)},
    {"cell", "ROW,COLUMN", NULL, "with --backward: print the sum of this cell of each matrix",
     AT(TEXT, walk.cell)},
    {"whole", .help = "print large matrices whole instead of their corners", AT(FLAG, walk.whole)},
    {"records", .help = "with --json: print the records of the tape", AT(FLAG, walk.records)},
    {"Output"},
    {"json", .help = "print one JSON object per line, without maps", AT(FLAG, json)},
    {0},
};

static const struct {
    const char *name, *summary;
    Experiment *run;
} experiments[] = {
#define ROW(name, summary) {#name, summary, explain_##name},
    EXPERIMENTS(ROW)
#undef ROW
};
enum { COUNT = sizeof experiments / sizeof *experiments, ALL_NAMES = 200, NOTES = 2000 };

/* "walk, relevance, …" */
static const char *all_names(char out[ALL_NAMES]) {
    snprintf(out, ALL_NAMES, "walk");
    for (size_t i = 0; i < COUNT; i++) text_append(out, ALL_NAMES, ", %s", experiments[i].name);
    return out;
}

/* The end of the help. */
static const char *notes(char out[NOTES]) {
    enum { LINE = 76 };
    size_t column = 0;
    snprintf(out, NOTES, "Steps of the walk, in order\n  ");
    for (const char *c = walk_step_names(); *c; c++) {
        bool breaks = *c == ' ' && column + strcspn(c + 1, " ") > LINE;
        text_append(out, NOTES, breaks ? "\n  " : "%c", *c);
        column = breaks ? 0 : column + 1;
    }
    text_append(out, NOTES, "\n\nExperiments\n");
    for (size_t i = 0; i < COUNT; i++)
        text_append(out, NOTES, "  %-12s %s\n", experiments[i].name, experiments[i].summary);
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
    } subjects[] = {
        {walk->text, "text", WALK | RUN},
        {walk->layer, "layer", WALK | RUN},
        {walk->head, "head", WALK | RUN},
        {walk->words, "words", WALK},
        {walk->modern, "modern", WALK},
        {walk->vocabulary, "vocabulary", WALK},
        {walk->model, "model", WALK},
        {side_given, "side", WALK},
        {walk->step, "step", WALK},
        {walk->whole, "whole", WALK},
        {walk->backward, "backward", WALK},
        {walk->cell, "cell", WALK},
        {values.json, "json", WALK | EXPERIMENT},
    };
    const struct {
        bool given;
        const char *flag, *found, *need;
    } pairs[] = {
        {walk->words && walk->model, "words", "--model, which has its own tokens",
         "one of the two"},
        {walk->modern && walk->model, "modern", "--model, which has its own choices",
         "one of the two"},
        {walk->vocabulary && walk->model, "vocabulary", "--model, which has its own",
         "one of the two"},
        {walk->model && !walk->text, "model", "no --text",
         "a text of the characters of its vocabulary"},
        {walk->cell && !walk->backward, "cell", "no --backward",
         "both: it prints a gradient's sum"},
        {walk->whole && values.json, "whole", "--json, which prints all elements",
         "one of the two"},
    };
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

static bool run_experiment(Experiment *run, uint64_t seed, Error *e) {
    Tape *t = tape_new();
    bool ok = run(&(ExplainOptions){seed, values.json, t}, e);
    tape_free(t);
    return ok;
}

static bool run(const char *name, uint64_t seed, Error *e) {
    char names[ALL_NAMES];
    struct stat s;
    WalkOptions *walk = &values.walk;
    if (strcmp(name, "walk") == 0) {
        if (!check_flags(WALK, e)) return false;
        if (!walk->text && walk->words) walk->text = walk_words_sentence;
        if (!walk->text) walk->text = walk->modern ? walk_modern_sentence : walk_sentence;
        if (!walk->layer) walk->layer = 1;
        if (!walk->head) walk->head = 1;
        walk->side = (Side)values.side;
        walk->side_given = side_given;
        walk->json = values.json;
        walk->seed = seed;
        return explain_walk(walk, e);
    }
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(experiments[i].name, name) == 0)
            return check_flags(EXPERIMENT, e) && run_experiment(experiments[i].run, seed, e);
    if (stat(name, &s) == 0 && S_ISDIR(s.st_mode))
        return check_flags(RUN, e) &&
               explain_run(&(RunOptions){name, walk->text, walk->layer, walk->head}, e);
    return error_set(e, STATUS_USAGE, "found \"%s\", need the directory of a run or one of %s",
                     ESCAPED(name), all_names(names));
}

int main(int argc, char **argv) {
    Error e = {0};
    char end[NOTES];
    Options options = {
        "explain",
        "[EXPERIMENT | RUN]",
        "Prints every matrix of a sentence's way through attention, runs an experiment about "
        "the form of attention, or draws what a trained model attends to.",
        table,
        &values,
        notes(end),
        .max = 1};
    if (options_parse(&options, argc, argv, &e)) {
        side_given = options_given(&options, "side");
        run(options.operands ? options.operand[0] : "walk", options.seed, &e);
    }
    return options_exit(options.program, &e);
}
