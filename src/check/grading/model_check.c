#include "check/grading/model_check.h"
#include "base/directory.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/batch_file.h"
#include "check/grading/directories.h"
#include "check/grading/twin.h"
#include "nn/model_file.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_name[] = {[KIND_SEQ2SEQ] = "seq2seq", [KIND_LM] = "lm"};
static const char *const temporary[] = {"weights", "batch", "gradients"};
enum { WEIGHTS, BATCH, GRADIENTS, FILES };

const char *model_check_kind(const ModelCheck *c) {
    return kind_name[c->pass.model->config.kind];
}

/* Writes DIRECTORY/KIND.weights.safetensors, and batch and gradients likewise. */
static bool save(const ModelCheck *c, Error *e) {
    char path[FILES][PATH_ROOM], name[64];
    static const char *const part[FILES] = {"weights", "batch", "grads"};
    if (!directory_make(c->save, e)) return false;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s.%s.safetensors", model_check_kind(c), part[i]);
        if (!directory_file(path[i], c->save, name, STATUS_CANNOT_CREATE, e)) return false;
    }
    return model_save(c->pass.model, path[WEIGHTS], NULL, 0, e) &&
           batch_write(path[BATCH], c->pass.batch, e) && pass_write(&c->pass, path[GRADIENTS], e);
}

/* Writes the results of this build's own pass. */
static bool write_own(const ModelCheck *c, Error *e) {
    return (!c->out || pass_write(&c->pass, c->out, e)) && (!c->save || save(c, e));
}

/* Passes generated weights and batch to the twin as files. */
static bool run_twin_in(ModelCheck *c, const char *folder, Error *e) {
    char path[FILES][TEMPORARY_PATH + 16], threads[16];
    for (int i = 0; i < FILES; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, temporary[i]);
    if (!c->weights && !model_save(c->pass.model, path[WEIGHTS], NULL, 0, e)) return false;
    if (!c->batch && !batch_write(path[BATCH], c->pass.batch, e)) return false;
    const char *out = c->out ? c->out : path[GRADIENTS];
    snprintf(threads, sizeof threads, "%d", pool_threads());
    const char *arguments[16] = {"model",     "--unchecked",
                                 "--threads", threads,
                                 "--weights", c->weights ? c->weights : path[WEIGHTS],
                                 "--batch",   c->batch ? c->batch : path[BATCH],
                                 "--out",     out};
    if (c->save) arguments[10] = "--save", arguments[11] = c->save;
    return twin_run(arguments, e) && (c->unchecked || safetensors_read(&c->from_twin, out, e));
}

static bool run_twin(ModelCheck *c, Error *e) {
    char folder[TEMPORARY_PATH];
    if (!directory_temporary(folder, e)) return false;
    bool ok = run_twin_in(c, folder, e);
    directory_remove(folder);
    return ok;
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

bool model_check_open(ModelCheck *c, Error *e) {
    const bool twin = sizeof(real) == sizeof(double) && !c->in_double;
    bool ok = c->weights ? pass_open(&c->pass, c->weights, c->batch, c->seed, e)
                         : pass_make(&c->pass, c->kind, &c->choices, c->seed, e);
    ok = ok && any_matches(c, e) && (!c->against || safetensors_read(&c->from_port, c->against, e));
    if (ok && twin) ok = pass_round_weights(&c->pass, e) && run_twin(c, e);
    if (!ok || (c->unchecked && twin)) return ok;
    ok = pass_run(&c->pass, c->weights ? c->weights : model_check_kind(c), e) && (twin || write_own(c, e));
    return ok && (c->unchecked || values_take(&c->values, &c->pass, c->seed, e));
}

void model_check_close(ModelCheck *c) {
    values_free(&c->values);
    safetensors_free(&c->from_twin);
    safetensors_free(&c->from_port);
    pass_close(&c->pass);
}

int model_check_tensors(const ModelCheck *c) {
    return c->values.tensors;
}

static void add_part(CaseReport *r, const ModelCheck *c, int t, const Safetensors *file, const char *part) {
    InputReport *in = &r->in[r->inputs++];
    values_compare(&c->values, t, file, part, in);
    if (in->verdict > r->verdict) r->verdict = in->verdict;
}

static void find_unknown(const ModelCheck *c, CaseReport *r) {
    const char *unknown = values_unknown(&c->values, &c->from_port);
    if (!unknown) return;
    r->verdict = FAIL;
    snprintf(r->trouble, sizeof r->trouble, "the port has a tensor %s, which this model has not",
             ESCAPED(unknown));
}

bool model_check_tensor(ModelCheck *c, int t, CaseReport *differences, CaseReport *values) {
    char name[VALUES_NAME];
    long begin;
    (void)values_tensor(&c->values, t, name, &begin);
    const char *shown = t < VALUES_GRADIENTS ? name : name + strlen("grad.");
    *differences = *values = (CaseReport){.by_reference = true};
    if (t >= VALUES_GRADIENTS && !matches(c, shown)) return false;
    snprintf(values->op, sizeof values->op, "%s", model_check_kind(c));
    snprintf(values->name, sizeof values->name, "%.*s", REPORT_NAME - 1, shown);
    if (c->from_twin.tensors) add_part(values, c, t, &c->from_twin, "float");
    if (c->against) add_part(values, c, t, &c->from_port, "port");
    if (c->against && t == VALUES_LOSS) find_unknown(c, values);
    if (t >= VALUES_GRADIENTS)
        model_differences(&c->pass, t - VALUES_GRADIENTS, c->values.value + begin, c->samples, c->seed,
                          model_check_kind(c), differences);
    return true;
}
