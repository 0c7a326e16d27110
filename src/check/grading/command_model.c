/* gradcheck model: a forward and backward pass of a whole model over a batch. The gradient of every parameter is
 * compared with differences of the loss, and with --against a port's values in a file with those of the pass. */
#include "base/directory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "check/grading/gradcheck_show.h"
#include "check/grading/grade_files.h"
#include "check/grading/model_pass.h"
#include "nn/model_file.h"
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct ModelCheck {
    const char *weights, *batch; /* files; NULL: generated */
    ModelConfig chosen;          /* of a generated model: its settings that are given */
    bool given[CONFIG_FIELDS];   /* by row of config_settings */
    const char *out;             /* gradient file to write; NULL: none */
    const char *save;            /* directory for weights, batch and gradients; NULL: none */
    const char *against;         /* a port's gradient file; NULL: none */
    const char *only;            /* fnmatch pattern for parameters; NULL: all */
    bool unchecked;              /* only write files */
    long samples;                /* elements of each parameter that are checked alone */
    uint64_t seed;

    /* After open_check. */
    ModelPass pass;
    Expected *expected; /* for each result of the pass */
    Safetensors port;
} ModelCheck;

static const char *kind_of(const ModelCheck *c) {
    return config_kind(&c->pass.model->config);
}

/* Writes DIRECTORY/KIND.weights.safetensors, and batch and gradients likewise. */
static bool save(const ModelCheck *c, Error *e) {
    enum { WEIGHTS, BATCH, GRADIENTS, FILES };
    static const char *const part[FILES] = {"weights", "batch", "grads"};
    char path[FILES][PATH_ROOM], name[64];
    if (!directory_make(c->save, e)) return false;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s.%s.safetensors", kind_of(c), part[i]);
        if (!directory_file(path[i], c->save, name, STATUS_CANNOT_CREATE, e)) return false;
    }
    return model_save(c->pass.model, path[WEIGHTS], NULL, 0, e) &&
           batch_write(path[BATCH], c->pass.batch, e) && pass_write(&c->pass, path[GRADIENTS], e);
}

static bool matches(const ModelCheck *c, const char *parameter) {
    return !c->only || fnmatch(c->only, parameter, 0) == 0;
}

static bool any_matches(const ModelCheck *c, Error *e) {
    const Parameters *all = &c->pass.model->parameters;
    for (int i = 0; i < all->count; i++)
        if (matches(c, all->entry[i].name)) return true;
    return error_set(e, STATUS_USAGE, "--only: found no parameter like '%s'", ESCAPED(c->only));
}

static ModelConfig generated_config(const ModelCheck *c, bool lm) {
    ModelConfig config = pass_config(lm);
    for (int i = 0; config_settings[i].name; i++)
        if (c->given[i]) setting_copy(&config_settings[i], &config, &c->chosen);
    config_derive(&config, lm);
    return config;
}

/* Reads or generates model and batch, runs the pass and writes the files. To be closed, also after failure. */
static bool open_check(ModelCheck *c, bool lm, Error *e) {
    ModelConfig config = generated_config(c, lm);
    return (c->weights ? pass_open(&c->pass, c->weights, c->batch, c->seed, e)
                       : pass_make(&c->pass, &config, c->seed, e)) &&
           any_matches(c, e) && (!c->against || safetensors_read(&c->port, c->against, e)) &&
           pass_run(&c->pass, c->weights ? c->weights : kind_of(c), e) &&
           (!c->out || pass_write(&c->pass, c->out, e)) && (!c->save || save(c, e)) &&
           (c->unchecked || (c->expected = pass_expect(&c->pass, c->seed, e)));
}

static void close_check(ModelCheck *c) {
    safetensors_free(&c->port);
    pass_close(&c->pass);
}

/* The first tensor of the port that this model does not have, or NULL. */
static const char *unknown_tensor(const ModelCheck *c) {
    for (int i = 0; i < c->port.tensors; i++) {
        int t = 0;
        while (t < c->pass.results && strcmp(c->pass.result[t].name, c->port.tensor[i].name) != 0) t++;
        if (t == c->pass.results) return c->port.tensor[i].name;
    }
    return NULL;
}

/* Adds the part `port`: result t in the port's file. */
static void compare_with_port(ModelCheck *c, int t, CaseReport *r) {
    const Expected *want = &c->expected[t];
    InputReport *in = &r->in[r->inputs++];
    Error e = {0};
    *in = (InputReport){.name = "port", .shape = want->shape, .coordinates = want->count, .output = -1};
    const Array *a = safetensors_need(&c->port, c->pass.result[t].name, &e);
    if (!a || !expected_judge(want, a, in, &e)) {
        in->verdict = FAIL;
        in->error = NAN;
        REPORT_SET(in->reason, e.text);
    }
    if (in->verdict > r->verdict) r->verdict = in->verdict;
    const char *unknown = t == RESULT_LOSS ? unknown_tensor(c) : NULL;
    if (!unknown) return;
    r->verdict = FAIL;
    snprintf(r->trouble, sizeof r->trouble, "the port has a tensor %s, which this model has not",
             ESCAPED(unknown));
}

/* Reports result t: ds and dw, a gradient against differences (model_differences), and port. False: --only
 * excludes it, or there is nothing to compare it with. */
static bool check_result(ModelCheck *c, int t, CaseReport *r) {
    const char *name = c->pass.result[t].name;
    int parameter = t - RESULT_GRADIENTS;
    if (parameter >= 0) name += strlen("grad.");
    if (parameter >= 0 && !matches(c, name)) return false;
    *r = (CaseReport){0};
    if (parameter >= 0)
        model_differences(&c->pass, parameter, c->expected[t].need, c->samples, c->seed, kind_of(c), r);
    r->by_reference = true;
    REPORT_SET(r->op, kind_of(c));
    REPORT_SET(r->name, name);
    if (c->against) compare_with_port(c, t, r);
    return r->inputs > 0;
}

static void report_model(ModelCheck *c, Show *show) {
    const ModelConfig *m = &c->pass.model->config;
    char layers[48];
    snprintf(layers, sizeof layers, config_is_lm(m) ? "%d" : "%d + %d", m->encoder_layers, m->decoder_layers);
    if (!show->how->json)
        printf("%s: %s layers, d_model %d, %d heads, %ld parameters; %ld sequences, %ld target tokens; loss "
               "%.10g\n",
               kind_of(c), layers, m->d_model, m->heads, c->pass.model->parameters.elements,
               c->pass.batch->rows, batch_padded_targets(c->pass.batch), c->expected[RESULT_LOSS].need[0]);
    for (int t = 0; t < c->pass.results; t++) {
        CaseReport r;
        if (check_result(c, t, &r)) show_report(show, &r);
    }
}

/* Whether the operands and options name the model, or two models where that makes sense. */
static bool check_names(const ModelCheck *c, const char *word, Error *e) {
    const char *alone = c->batch ? "--batch" : c->out ? "--out" : c->against ? "--against" : NULL;
    ModelConfig lm = pass_config(true), seq2seq = pass_config(false);
    if (word && strcmp(word, config_kind(&lm)) != 0 && strcmp(word, config_kind(&seq2seq)) != 0)
        return error_set(e, STATUS_USAGE, "model: found '%s', need %s or %s", ESCAPED(word),
                         config_kind(&seq2seq), config_kind(&lm));
    if (word && c->weights)
        return error_set(e, STATUS_USAGE, "model: found '%s' and --weights, which say the same", word);
    for (int i = 0; c->weights && i < CONFIG_FIELDS; i++)
        if (c->given[i])
            return error_set(e, STATUS_USAGE,
                             "--weights: found choices for a generated model beside it, need one of the two");
    return word || c->weights || !alone ||
           error_set(e, STATUS_USAGE, "%s: found two models, need %s, %s or --weights", alone,
                     config_kind(&seq2seq), config_kind(&lm));
}

static void run(const ModelCheck *wanted, const ShowOptions *how, const Options *o, Error *e) {
    Show show;
    const char *word = o->operands ? o->operand[0] : NULL;
    if (sizeof(real) != sizeof(double) && !wanted->unchecked) {
        error_set(e, STATUS_USAGE,
                  "model: found the float build of this program, which only writes files: need "
                  "--unchecked");
        return;
    }
    bool ok = check_names(wanted, word, e), shown = false;
    for (int lm = 0; ok && lm < 2; lm++) {
        ModelConfig config = pass_config(lm);
        if (word ? strcmp(word, config_kind(&config)) != 0 : lm && wanted->weights) continue;
        ModelCheck c = *wanted;
        c.seed = o->seed;
        ok = open_check(&c, lm, e);
        if (ok && !c.unchecked) {
            if (!shown) show_start(&show, how);
            shown = true;
            report_model(&c, &show);
        }
        close_check(&c);
    }
    if (ok && shown) show_finish(&show, e);
}

static const char notes[] =
    "KIND is seq2seq or lm, a small generated model; the default is both. A model of\n"
    "--weights has the choices of its file.\n";

/* The options of a generated model: the settings of a model. Returns their number. */
static int model_options(ModelCheck *c, char otherwise[CONFIG_FIELDS][OPTION_TEXT], Option *out) {
    ModelConfig seq2seq = pass_config(false), lm = pass_config(true);
    int n = 0;
    for (int i = 0; config_settings[i].name; i++) {
        const Setting *s = &config_settings[i];
        if (!s->help) continue;
        out[n] = setting_option(s, &c->chosen);
        out[n].otherwise = setting_default(s, &seq2seq, "lm", &lm, otherwise[i]);
        out[n++].given = &c->given[i];
    }
    return n;
}

void grading_command_model(int argc, char **argv, Error *e) {
    ShowOptions how = {0};
    ModelCheck c = {.samples = 4};
    char otherwise[CONFIG_FIELDS][OPTION_TEXT];
    const Option before[] = {
        {"The model"},
        {"weights", "FILE", NULL, "weights, safetensors", "generated", .text = &c.weights},
        {"batch", "FILE", NULL, "a batch of token ids, safetensors", "random", .text = &c.batch},
        {"Choices of a generated model"},
    };
    const Option after[] = {
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
    Option table[CONFIG_FIELDS + sizeof before / sizeof *before + sizeof after / sizeof *after];
    Option *end = memcpy(table, before, sizeof before);
    end += sizeof before / sizeof *before;
    end += model_options(&c, otherwise, end);
    memcpy(end, after, sizeof after);
    Options o = {"gradcheck model",
                 "[KIND]",
                 "Runs a model forward and backward on a batch and checks the gradient of every parameter.",
                 table,
                 notes,
                 .most = 1};
    if (options_parse(&o, argc, argv, e)) run(&c, &how, &o, e);
}
