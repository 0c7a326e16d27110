/* gradcheck model: a forward and backward pass of a whole model over a batch. The gradient of every
 * parameter is compared with differences of the loss. The results are written to files, with which
 * a port is compared. */
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
    ShowOptions show;
    const char *out;  /* gradient file to write; NULL: none */
    const char *save; /* directory for weights, batch and gradients; NULL: none */
    const char *only; /* fnmatch pattern for parameters; NULL: all */
    bool unchecked;   /* only write files */
    long samples;     /* elements of each parameter that are checked alone */
    uint64_t seed;

    /* After open_check. */
    ModelPass pass;
    double *gradient; /* of all parameters, as in Parameters.grad; model_differences overwrites that
                         one */
} ModelCheck;

static const char *kind_of(const ModelCheck *c) {
    return config_kind(&c->pass.model->config);
}

/* Writes DIRECTORY/KIND.weights.safetensors, and batch and gradients likewise. */
static bool save(const ModelCheck *c, Error *e) {
    enum { WEIGHTS, BATCH, GRADIENTS, FILES };
    static const char *const part[FILES] = {"weights", "batch", "grads"};
    char path[FILES][PATH_CAPACITY], name[64];
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

/* Reads or generates model and batch, runs the pass and writes the files. To be closed, also after
 * failure. */
static bool open_check(ModelCheck *c, bool lm, Error *e) {
    ModelConfig config = generated_config(c, lm);
    return (c->weights ? pass_open(&c->pass, c->weights, c->batch, c->seed, e)
                       : pass_make(&c->pass, &config, c->seed, e)) &&
           any_matches(c, e) && pass_run(&c->pass, c->weights ? c->weights : kind_of(c), e) &&
           (!c->out || pass_write(&c->pass, c->out, e)) && (!c->save || save(c, e));
}

/* Keeps the gradients of the pass. */
static void keep_gradient(ModelCheck *c) {
    const Parameters *all = &c->pass.model->parameters;
    c->gradient = arena_alloc(&c->pass.arena, (size_t)all->size * sizeof *c->gradient);
    for (long i = 0; i < all->size; i++) c->gradient[i] = (double)all->grad[i];
}

/* Reports parameter i: ds and dw, its gradient against differences of the loss. */
static void check_parameter(ModelCheck *c, int i, CaseReport *r) {
    const Parameter *w = &c->pass.model->parameters.entry[i];
    *r = (CaseReport){0};
    model_differences(&c->pass, i, c->gradient + w->offset, c->samples, c->seed, kind_of(c), r);
    r->by_reference = true;
    REPORT_SET(r->op, kind_of(c));
    REPORT_SET(r->name, w->name);
}

static void report_model(ModelCheck *c, Show *show) {
    const ModelConfig *m = &c->pass.model->config;
    char layers[48];
    snprintf(layers, sizeof layers, config_is_lm(m) ? "%d" : "%d + %d", m->encoder_layers,
             m->decoder_layers);
    if (!show->how->json)
        printf("%s: %s layers, d_model %d, %d heads, %ld parameters; %ld sequences, %ld target "
               "tokens; loss "
               "%.10g\n",
               kind_of(c), layers, m->d_model, m->heads, c->pass.model->parameters.elements,
               c->pass.batch->rows, batch_padded_targets(c->pass.batch), (double)c->pass.loss);
    keep_gradient(c);
    for (int i = 0; i < c->pass.model->parameters.count; i++) {
        CaseReport r;
        if (!matches(c, c->pass.model->parameters.entry[i].name)) continue;
        check_parameter(c, i, &r);
        show_report(show, &r);
    }
}

/* Whether the operands and options name the model, or two models where that makes sense. */
static bool check_names(const ModelCheck *c, const char *word, Error *e) {
    const char *alone = c->batch ? "--batch" : "--out";
    ModelConfig lm = pass_config(true), seq2seq = pass_config(false);
    if (word && strcmp(word, config_kind(&lm)) != 0 && strcmp(word, config_kind(&seq2seq)) != 0)
        return error_set(e, STATUS_USAGE, "model: found '%s', need %s or %s", ESCAPED(word),
                         config_kind(&seq2seq), config_kind(&lm));
    if (word && c->weights)
        return error_set(e, STATUS_USAGE, "model: found '%s' and --weights, which say the same",
                         word);
    for (int i = 0; i < CONFIG_FIELDS; i++)
        if (c->weights && c->given[i])
            return error_set(
                e, STATUS_USAGE,
                "--weights: found choices for a generated model beside it, need one of the two");
    return word || c->weights || (!c->batch && !c->out) ||
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
    for (int lm = 0; lm < 2; lm++) {
        ModelConfig config = pass_config(lm);
        if (!ok) break;
        if (word ? strcmp(word, config_kind(&config)) != 0 : lm && wanted->weights) continue;
        ModelCheck c = *wanted;
        c.seed = o->seed;
        ok = open_check(&c, lm, e);
        if (ok && !c.unchecked) {
            if (!shown) show_begin(&show, how);
            shown = true;
            report_model(&c, &show);
        }
        pass_close(&c.pass);
    }
    if (ok && shown) show_finish(&show, e);
}

static const char notes[] =
    "KIND is seq2seq or lm, a small generated model; the default is both. A model of\n"
    "--weights has the choices of its file.\n";

#define AT(type, field) SETTING(type, ModelCheck, field)
static const Setting before[] = {
    {"The model"},
    {"weights", "FILE", NULL, "weights, safetensors", AT(TEXT, weights), "generated"},
    {"batch", "FILE", NULL, "a batch of token ids, safetensors", AT(TEXT, batch), "random"},
    {"Choices of a generated model"},
};
static const Setting after[] = {
    {"Files"},
    {"out", "FILE", NULL, "write loss, logits and all gradients, safetensors", AT(TEXT, out),
     "none"},
    {"save", "DIR", NULL, "write weights, batch and gradients, to start a port from",
     AT(TEXT, save), "none"},
    {"Checks"},
    {"only", "PATTERN", NULL,
     "check the parameters that match a pattern, like 'decoder.*norm?.bias'", AT(TEXT, only),
     "all"},
    {"samples", "N", "[0,1000]", "elements of each parameter checked alone", AT(INTEGER, samples)},
    {"unchecked", .help = "write the files and check nothing", AT(FLAG, unchecked)},
    {"Output"},
    SHOW_OPTIONS(ModelCheck, show),
    {0},
};
enum {
    BEFORE = sizeof before / sizeof *before,
    AFTER = sizeof after / sizeof *after,
    ROWS = BEFORE + CONFIG_FIELDS + AFTER
};

/* The settings of a generated model as options: rows of ModelCheck. Returns their number. */
static int model_options(char fallback[CONFIG_FIELDS][SETTING_VALUE], Setting *out) {
    ModelConfig seq2seq = pass_config(false), lm = pass_config(true);
    int n = 0;
    for (int i = 0; config_settings[i].name; i++) {
        Setting *s = &out[n];
        if (!config_settings[i].help) continue;
        *s = config_settings[i];
        s->fallback = setting_default(s, &seq2seq, "lm", &lm, fallback[i]);
        s->offset += offsetof(ModelCheck, chosen);
        s->basic = false;
        n++;
    }
    return n;
}

void grading_command_model(int argc, char **argv, Error *e) {
    ModelCheck c = {.samples = 4};
    char fallback[CONFIG_FIELDS][SETTING_VALUE];
    Setting table[ROWS];
    memcpy(table, before, sizeof before);
    int count = BEFORE + model_options(fallback, table + BEFORE);
    memcpy(table + count, after, sizeof after);
    Options o = {
        "gradcheck model",
        "[KIND]",
        "Runs a model forward and backward on a batch and checks the gradient of every parameter.",
        table,
        &c,
        notes,
        .max = 1};
    if (!options_parse(&o, argc, argv, e)) return;
    for (int i = 0; config_settings[i].name; i++)
        c.given[i] = config_settings[i].help && options_given(&o, config_settings[i].name);
    run(&c, &c.show, &o, e);
}
