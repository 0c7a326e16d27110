#include "base/clock.h"
#include "base/options.h"
#include "base/utf8.h"
#include "grading/commands.h"
#include "grading/gradcheck_show.h"
#include "grading/model_check.h"
#include "grading/model_table.h"
#include <string.h>

static const char notes[] = "KIND is seq2seq or lm: one of the models that are made here; both without "
                            "it. All differences are taken in\n"
                            "double; the float pass is run by the float build of this program.\n"
                            "Exit status: 0 everything is proved; 1 something is wrong; 4 nothing is "
                            "wrong, but something could not be\n"
                            "proved; 2 usage; 65 a file is malformed or of another model; 66 no such "
                            "file, or no float build of this\n"
                            "program; 73 a file cannot be written.\n";

static void report_model(ModelCheck *c, Show *show, ModelTotals *totals) {
    FILE *out = show->how->json ? NULL : stdout;
    totals->models++;
    if (out) model_table_heading(out, c->pass.model, c->pass.batch, c->values.value[VALUES_LOSS]);
    for (int t = 0; t < model_check_tensors(c); t++) {
        CaseReport differences, values;
        if (!model_check_tensor(c, t, &differences, &values)) continue;
        model_table_row(out, &differences, &values, totals);
        if (differences.inputs) show_report(show, &differences);
        if (values.inputs || values.trouble[0]) show_report(show, &values);
    }
}

/* The kinds to be checked, from first to last. */
static bool model_kinds(const ModelCheck *c, const char *word, int *first, int *last, Error *e) {
    char shown[ESCAPED_TEXT];
    *first = word && strcmp(word, "lm") == 0 ? KIND_LM : KIND_SEQ2SEQ;
    *last = word && strcmp(word, "seq2seq") == 0 ? KIND_SEQ2SEQ : KIND_LM;
    if (word && *first != *last)
        return error_set(e, STATUS_USAGE, "model: found '%s', need seq2seq or lm", utf8_escape(shown, word));
    if (word && c->weights)
        return error_set(e, STATUS_USAGE, "model: found '%s' and --weights, which say the same", word);
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
    ModelTotals totals = {0};
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
    if (!how->json) model_table_summary(stdout, &totals, clock_seconds() - show.start);
    show_finish(&show, e);
}

void grading_command_model(int argc, char **argv, Error *e) {
    ShowOptions how = {.apart = true};
    ModelCheck c = {.samples = 4};
    const Option table[] = {
        {"The model"},
        {"weights", "FILE", NULL, "its weights, safetensors", "small models made here", .text = &c.weights},
        {"batch", "FILE", NULL, "a batch of token ids, safetensors", "a random one", .text = &c.batch},
        {"double", .help = "the pass that is written is in double, not in float", .flag = &c.in_double},
        {"What is written"},
        {"out", "FILE", NULL, "loss, logits and all gradients of the pass, safetensors", "none",
         .text = &c.out},
        {"save", "DIR", NULL, "weights, batch and gradients, to start a port from", "none", .text = &c.save},
        {"What is checked"},
        {"against", "FILE", NULL, "a port's gradient file, tensor by tensor", "none", .text = &c.against},
        {"only", "PATTERN", NULL, "parameters whose name fits, like 'decoder.*norm?.bias'", "all",
         .text = &c.only},
        {"samples", "N", "[0,1000]", "elements of each parameter moved alone", .integer = &c.samples},
        {"unchecked", .help = "write the files, check nothing", .flag = &c.unchecked},
        {"What is shown"},
        SHOW_OPTIONS(how),
        {0},
    };
    Options o = {
        "gradcheck model",
        "[KIND]",
        "Runs a model forward and backward over a batch, and proves the gradient of every parameter.",
        table,
        notes,
        .most = 1,
        .seed = 1};
    if (options_parse(&o, argc, argv, e)) run(&c, &how, &o, e);
}
