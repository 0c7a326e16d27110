#include "base/clock.h"
#include "base/options.h"
#include "base/utf8.h"
#include "check/grading/commands.h"
#include "check/grading/gradcheck_show.h"
#include "check/grading/model_check.h"
#include <math.h>
#include <string.h>

static const char notes[] =
    "KIND is seq2seq or lm, a small generated model; the default is both. A model of\n"
    "--weights has the choices of its file. Differences are taken in double. The float\n"
    "build of this program runs the float pass.\n";

/* The columns of errors. */
enum { DIFFERENCES, FLOAT, PORT, COLUMNS };

/* Sums over all models. */
typedef struct Totals {
    long models, parameters, elements, alone; /* elements of all parameters; alone: checked alone */
    long passed, failed, inconclusive;        /* tensors */
    double worst[COLUMNS];
    char worst_at[COLUMNS][2 * REPORT_NAME];
} Totals;

static void print_heading(const Model *m, const PaddedBatch *b, double loss) {
    const ModelConfig *c = &m->config;
    bool lm = c->kind == KIND_LM;
    printf("%s: %d", lm ? "lm" : "seq2seq", c->encoder_layers);
    if (!lm) printf(" + %d", c->decoder_layers);
    printf(" layers, d_model %d, %d heads, %ld parameters; %ld sequences, %ld target tokens; loss %.10g\n\n",
           c->d_model, c->heads, m->parameters.elements, b->rows, batch_padded_targets(b), loss);
    printf("%-46s %8s %11s %9s %9s  %s\n", "tensor", "elements", "differences", "float", "port", "verdict");
}

static int column_of(const InputReport *in) {
    return strcmp(in->name, "float") == 0 ? FLOAT : strcmp(in->name, "port") == 0 ? PORT : DIFFERENCES;
}

/* Adds the row of a tensor: its gradient against differences and its values against others. Either report
 * may be empty. */
static void add_row(const CaseReport *differences, const CaseReport *values, Totals *t, bool shown) {
    double error[COLUMNS] = {0};
    bool any[COLUMNS] = {false};
    const CaseReport *both[] = {differences, values};
    Verdict verdict = differences->verdict > values->verdict ? differences->verdict : values->verdict;
    long kinks = 0, flat = 0, count = 0;
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < both[r]->inputs; i++) {
            const InputReport *in = &both[r]->in[i];
            int column = column_of(in);
            any[column] = true;
            count = shape_count(in->shape);
            kinks += in->kinks, flat += in->flat;
            if (in->error > error[column] || isnan(in->error)) error[column] = in->error;
            if (in->verdict == PASS && in->error > t->worst[column]) {
                t->worst[column] = in->error;
                snprintf(t->worst_at[column], sizeof t->worst_at[column], "%.64s/%.63s", values->op,
                         values->name);
            }
        }
    t->passed += verdict == PASS, t->failed += verdict == FAIL, t->inconclusive += verdict == INCONCLUSIVE;
    if (differences->inputs) {
        t->parameters++;
        t->elements += count;
        if (differences->inputs > 1) t->alone += differences->in[1].coordinates;
    }
    if (!shown) return;
    printf(count ? "%-46s %8ld" : "%-46s        -", values->name, count);
    for (int i = 0; i < COLUMNS; i++)
        gradcheck_number(stdout, i == DIFFERENCES ? 11 : 9, error[i], any[i] && isfinite(error[i]));
    printf("  %s", gradcheck_verdict_text(verdict));
    gradcheck_remarks(stdout, kinks, flat, 0);
}

static void print_summary(const Totals *t, double seconds) {
    static const char *const what[COLUMNS] = {"differences", "the float pass", "the port"};
    printf("\n%ld model%s, %ld parameters of %ld elements, all of them moved together and %ld alone, in "
           "%.1f s\n",
           t->models, t->models == 1 ? "" : "s", t->parameters, t->elements, t->alone, seconds);
    for (int i = 0; i < COLUMNS; i++)
        if (t->worst[i] > 0)
            printf("worst relative error of %s %.1e (%s)\n", what[i], t->worst[i], t->worst_at[i]);
    printf("%ld passed, %ld failed, %ld inconclusive\n", t->passed, t->failed, t->inconclusive);
}

static void report_model(ModelCheck *c, Show *show, Totals *totals) {
    bool shown = !show->how->json;
    totals->models++;
    if (shown) print_heading(c->pass.model, c->pass.batch, c->values.value[VALUES_LOSS]);
    for (int t = 0; t < model_check_tensors(c); t++) {
        CaseReport differences, values;
        if (!model_check_tensor(c, t, &differences, &values)) continue;
        if (!differences.inputs && !values.inputs) continue; /* nothing was compared */
        add_row(&differences, &values, totals, shown);
        if (differences.inputs) show_report(show, &differences);
        if (values.inputs || values.trouble[0]) show_report(show, &values);
    }
}

/* The kinds to check: first to last. */
static bool model_kinds(const ModelCheck *c, const char *word, int *first, int *last, Error *e) {
    *first = word && strcmp(word, "lm") == 0 ? KIND_LM : KIND_SEQ2SEQ;
    *last = word && strcmp(word, "seq2seq") == 0 ? KIND_SEQ2SEQ : KIND_LM;
    if (word && *first != *last)
        return error_set(e, STATUS_USAGE, "model: found '%s', need seq2seq or lm", ESCAPED(word));
    if (word && c->weights)
        return error_set(e, STATUS_USAGE, "model: found '%s' and --weights, which say the same", word);
    if (c->weights && memcmp(&c->choices, &USUAL_CHOICES, sizeof c->choices) != 0)
        return error_set(e, STATUS_USAGE,
                         "--weights: found choices for a generated model beside it, need one of the two");
    if (c->weights) *last = *first;
    if (*first != *last && (c->batch || c->out || c->against))
        return error_set(e, STATUS_USAGE, "%s: found two models, need seq2seq, lm or --weights",
                         c->batch ? "--batch"
                         : c->out ? "--out"
                                  : "--against");
    return true;
}

static void run(const ModelCheck *wanted, const ShowOptions *how, const Options *o, Error *e) {
    int kind, last;
    Show show;
    Totals totals = {0};
    if (sizeof(real) != sizeof(double) && (wanted->in_double || !wanted->unchecked)) {
        error_set(e, STATUS_USAGE,
                  "model: found the float build of this program, which can only write files: need %s",
                  wanted->in_double ? "the double one" : "--unchecked");
        return;
    }
    if (!model_kinds(wanted, o->operands ? o->operand[0] : NULL, &kind, &last, e)) return;
    show_start(&show, how);
    bool ok = true;
    for (; ok && kind <= last; kind++) {
        ModelCheck c = *wanted;
        c.kind = (ModelKind)kind, c.seed = o->seed;
        ok = model_check_open(&c, e);
        if (ok && !c.unchecked) report_model(&c, &show, &totals);
        if (ok && !c.unchecked && !how->json && kind < last) printf("\n");
        model_check_close(&c);
    }
    if (!ok || wanted->unchecked) return;
    show_explanations(&show);
    if (!how->json) print_summary(&totals, clock_seconds() - show.start);
    show_finish(&show, e);
}

void grading_command_model(int argc, char **argv, Error *e) {
    ShowOptions how = {.apart = true};
    ModelCheck c = {.samples = 4, .choices = USUAL_CHOICES};
    const Option table[] = {
        {"The model"},
        {"weights", "FILE", NULL, "weights, safetensors", "generated", .text = &c.weights},
        {"batch", "FILE", NULL, "a batch of token ids, safetensors", "random", .text = &c.batch},
        {"double", .help = "write the pass in double instead of float", .flag = &c.in_double},
        {"Choices of a generated model"},
        {"positions", NULL, "sinusoidal|learned|rotary", "positions", "sinusoidal; lm: learned",
         .choice = &c.choices.positions},
        {"norm-kind", NULL, "layer|rms", "layer norm, or RMS norm", "layer", .choice = &c.choices.norm_kind},
        {"qk-norm", NULL, "off|on", "RMS norm of every head's queries and keys", "off",
         .choice = &c.choices.qk_norm},
        {"activation", NULL, "relu|gelu|silu|swiglu", "activation of the feed-forward layers",
         "relu; lm: gelu", .choice = &c.choices.activation},
        {"init-output", NULL, "random|zero", "output matrices of all sublayers", "random",
         .choice = &c.choices.zero_outputs},
        {"Files"},
        {"out", "FILE", NULL, "write loss, logits and all gradients, safetensors", "none", .text = &c.out},
        {"save", "DIR", NULL, "write weights, batch and gradients, to start a port from", "none",
         .text = &c.save},
        {"Checks"},
        {"against", "FILE", NULL, "compare with a port's gradient file", "none", .text = &c.against},
        {"only", "PATTERN", NULL, "check the parameters that match a pattern, like 'decoder.*norm?.bias'",
         "all", .text = &c.only},
        {"samples", "N", "[0,1000]", "elements of each parameter checked alone", .integer = &c.samples},
        {"unchecked", .help = "write the files and check nothing", .flag = &c.unchecked},
        {"Output"},
        SHOW_OPTIONS(how),
        {0},
    };
    Options o = {"gradcheck model",
                 "[KIND]",
                 "Runs a model forward and backward on a batch and checks the gradient of every parameter.",
                 table,
                 notes,
                 .most = 1};
    if (options_parse(&o, argc, argv, e)) run(&c, &how, &o, e);
}
