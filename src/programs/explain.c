/* explain: shows what attention does to a sentence, step by step, and why it has the shape it has.
 *
 *     ./explain                 every matrix of a sentence's way through attention
 *     ./explain scaling         an experiment: why scores are divided by the root of d_k
 *     ./explain runs/copy --text ABC --html page.html       what a trained model looks at */
#include "explain/explain.h"
#include "base/options.h"
#include "base/utf8.h"
#include "explain/explain_run.h"
#include "explain/walk.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static WalkOptions walk = {.layer = 1, .head = 1, .decimals = 4};
static const char *svg, *html, *dot;
static bool json;
static int side;

/* Whether the flags were given that not everything heeds. */
static struct Given {
    bool text, vocabulary, words, model, side, layer, head, step, decimals, html, svg, dot;
} given;

static const Option table[] = {
    {"The walk, and runs"},
    {"text", "TEXT", NULL, "the sentence, UTF-8", "无可奈何花落去，似曾相识燕归来", .text = &walk.text,
     .given = &given.text},
    {"words", .help = "tokens are words; one that the vocabulary lacks is [UNK], id 0", .flag = &walk.words},
    {"vocabulary", "TEXT", NULL, "what the vocabulary is made of", "the sentence", .text = &walk.vocabulary,
     .given = &given.vocabulary},
    {"model", "RUN", NULL, "the model of the run in this directory", "random weights", .text = &walk.model,
     .given = &given.model},
    {"side", NULL, "encoder|decoder|cross", "whose attention", .choice = &side, .given = &given.side},
    {"layer", "N", "[1,1000]", "of which layer", "1; of a run all", .integer = &walk.layer,
     .given = &given.layer},
    {"head", "N", "[1,1048576]", "which head is shown alone", "1; of a run all", .integer = &walk.head,
     .given = &given.head},
    {"step", "NAME", NULL, "show this step alone", .text = &walk.step, .given = &given.step},
    {"decimals", "N", "[0,15]", "of every number", .integer = &walk.decimals, .given = &given.decimals},
    {"whole", .help = "all of large matrices, not their corners", .flag = &walk.whole},
    {"Output"},
    {"svg", "FILE", NULL, "where an experiment's pictures go; of a run, the directory", .text = &svg,
     .given = &given.svg},
    {"dot", "FILE", NULL, "tape: where its graph goes, in Graphviz's language", .text = &dot,
     .given = &given.dot},
    {"html", "FILE", NULL, "runs: where the page goes", .text = &html, .given = &given.html},
    {"json", .help = "print JSON, one object a line; no pictures", .flag = &json},
    {0},
};

static const struct Subject {
    const char *name, *summary;
    Experiment *run;
} experiments[] = {
    {"relevance", "who looks at whom: a fixed ratio, keys alone, queries and keys", explain_relevance},
    {"scaling", "why scores are divided by the root of d_k", explain_scaling},
    {"kernels", "attention as a mean of near points: fixed, learnt and trained kernels", explain_kernels},
    {"scores", "dot-product against additive attention: accuracy and time", explain_scores},
    {"positions", "the sinusoids, and copying with and without them", explain_positions},
    {"heads", "one head against four on a task that needs two relations", explain_heads},
    {"teacher", "what the decoder is fed in training, and what when it runs free", explain_teacher},
    {"tape", "what a forward pass writes down for backward, and its graph", explain_tape},
    {"convolution", "a convolution as attention with fixed relative weights", explain_convolution},
};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments, ALL_NAMES = 200, NOTES = 2000 };

/* "walk, relevance, …" */
static const char *all_names(char out[ALL_NAMES]) {
    size_t at = (size_t)snprintf(out, ALL_NAMES, "walk");
    for (size_t i = 0; i < EXPERIMENTS; i++)
        at += (size_t)snprintf(out + at, ALL_NAMES - at, ", %s", experiments[i].name);
    return out;
}

/* The end of the help: what there is to see. */
static const char *notes(char out[NOTES]) {
    size_t at = (size_t)snprintf(
        out, NOTES, "Without an EXPERIMENT the walk; its steps:\n  %s\n\nExperiments\n", walk_step_names());
    for (size_t i = 0; i < EXPERIMENTS; i++)
        at += (size_t)snprintf(out + at, NOTES - at, "  %-12s %s\n", experiments[i].name,
                               experiments[i].summary);
    return out;
}

/* What is explained. */
typedef enum What { WALK, EXPERIMENT, TAPE, RUN } What;

/* A flag without effect, or against another, is a mistake of whoever gave it. */
static bool check_flags(What what, Error *e) {
    const char *found = what == WALK ? "the walk" : what == RUN ? "a run" : "an experiment";
    bool walks = what == WALK, reads = what == WALK || what == RUN;
    const struct {
        bool given, fits;
        const char *flag, *found, *need;
    } rules[] = {
        {given.text, reads, "text", found, "the walk or a run"},
        {given.layer, reads, "layer", found, "the walk or a run"},
        {given.head, reads, "head", found, "the walk or a run"},
        {given.layer, !given.html || given.svg, "layer", "--html, which shows all", "the terminal or --svg"},
        {given.head, !given.html || given.svg, "head", "--html, which shows all", "the terminal or --svg"},
        {walk.words, walks, "words", found, "the walk"},
        {given.vocabulary, walks, "vocabulary", found, "the walk"},
        {given.model, walks, "model", found, "the walk"},
        {given.side, walks, "side", found, "the walk"},
        {given.step, walks, "step", found, "the walk"},
        {given.decimals, walks, "decimals", found, "the walk"},
        {walk.whole, walks, "whole", found, "the walk"},
        {given.svg, !walks, "svg", found, "an experiment or a run"},
        {given.dot, what == TAPE, "dot", found, "the experiment tape"},
        {given.html, what == RUN, "html", found, "a run"},
        {json, what != RUN, "json", found, "the walk or an experiment"},
        {walk.words, !given.model, "words", "--model, which has tokens of its own", "one of the two"},
        {given.vocabulary, !given.model, "vocabulary", "--model, which has its own", "one of the two"},
        {given.model, given.text, "model", "no --text", "one that its vocabulary holds"},
        {given.decimals, !json, "decimals", "--json, which gives all digits", "one of the two"},
        {walk.whole, !json, "whole", "--json, which gives all", "one of the two"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].given && !rules[i].fits)
            return error_set(e, STATUS_USAGE, "--%s: found %s, need %s", rules[i].flag, rules[i].found,
                             rules[i].need);
    if (what == RUN && !given.text)
        return error_set(e, STATUS_USAGE, "found no --text, need one that the run's vocabulary holds");
    return true;
}

static bool run_walk(uint64_t seed, Error *e) {
    walk.text = walk.text ? walk.text : walk_sentence;
    walk.side = (Side)side, walk.side_given = given.side;
    walk.json = json, walk.seed = seed;
    return check_flags(WALK, e) && explain_walk(&walk, e);
}

static bool run(const char *name, uint64_t seed, Error *e) {
    char names[ALL_NAMES];
    struct stat s;
    if (strcmp(name, "walk") == 0) return run_walk(seed, e);
    for (size_t i = 0; i < EXPERIMENTS; i++)
        if (strcmp(experiments[i].name, name) == 0)
            return check_flags(strcmp(name, "tape") == 0 ? TAPE : EXPERIMENT, e) &&
                   experiments[i].run(&(ExplainOptions){seed, json, svg, dot}, e);
    if (stat(name, &s) == 0 && S_ISDIR(s.st_mode))
        return check_flags(RUN, e) &&
               explain_run(&(RunOptions){name, walk.text, html, svg, given.layer ? walk.layer : 0,
                                         given.head ? walk.head : 0},
                           e);
    return error_set(e, STATUS_USAGE, "found \"%s\", need a run's directory or one of %s", ESCAPED(name),
                     all_names(names));
}

int main(int argc, char **argv) {
    Error e = {0};
    char end[NOTES];
    Options options = {
        "explain",
        "[EXPERIMENT | RUN]",
        "Walks through attention, every matrix with its numbers; or runs an experiment that shows why it "
        "has the shape it has.",
        table,
        notes(end),
        .most = 1};
    if (options_parse(&options, argc, argv, &e))
        run(options.operands ? options.operand[0] : "walk", options.seed, &e);
    return options_exit(options.program, &e);
}
