/* Entry points of the module in single precision: training, and models as files. */
#include "base/arena.h"
#include "base/clock.h"
#include "decoding/decode.h"
#include "nn/model_file.h"
#include "run/samples.h"
#include "tasks/text_task.h"
#include "training/checkpoint.h"
#include "web/session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Session session;

static void close_session(Session *s) {
    if (s->task) s->run.tokenizer = NULL;
    trainer_stop(&s->trainer);
    saved_run_close(&s->run);
    task_free(s->task);
    train_config_free(&s->config);
}

bool web_has_model(Error *e) {
    return session.run.model || error_set(e, STATUS_NO_INPUT, "found no model, need start or load first");
}

static bool is_training(Error *e) {
    return session.task || error_set(e, STATUS_NO_INPUT, "found no training, need start first");
}

/* ---- Start, load, save ---- */

static void describe(const Session *s) {
    const ModelConfig *c = &s->run.model->config;
    long parameters = 0;
    for (int i = 0; i < s->run.model->parameters.count; i++)
        parameters += shape_count(s->run.model->parameters.entry[i].shape);
    printf("{\"parameters\": %ld, \"lm\": %s, \"layers\": [%d, %d], \"heads\": %d, \"width\": %d", parameters,
           c->kind == KIND_LM ? "true" : "false", c->encoder_layers, c->decoder_layers, c->heads, c->d_model);
    web_print_number("uniform", log((double)s->run.tokenizer->size));
    web_print_number("steps", s->task ? (double)s->config.steps : 0);
    web_print_number("maxTarget", s->task ? s->task->max_T : c->max_length);
    web_print_number("maxSource", s->task ? s->task->max_S : c->max_length);
    web_print_tokens(s, "tokens", NULL, c->vocab_size);
    printf(", \"settings\": {\"vocab_size\": \"%d\"", c->vocab_size);
    const char *name;
    char value[CONFIG_TEXT];
    for (int i = 0; config_field(c, i, &name, value); i++)
        if (strcmp(name, "vocab_size") != 0) web_print_text(name, value);
    putchar('}');
}

static bool describe_task(Session *s, Error *e) {
    const Task *task = s->task;
    web_print_text("task", task->name), web_print_text("remark", task->remark);
    web_print_number("evalEvery", (double)s->trainer.eval_every), web_print_number("entropy", task->entropy);
    task_held_out_batch(task, 0, 1, s->trainer.batch);
    BatchRow row = batch_row(s->trainer.batch, 0);
    bool lm = task_is_language_model(task);
    return web_print_decoded(s, "example", lm ? row.target_in : row.source, lm ? row.T : row.S, e) &&
           puts("}") >= 0;
}

/* As train.c: configuration, task, model, trainer. */
static bool open_training(Session *s, Error *e) {
    char *arguments[] = {"train", "--config", "settings", NULL};
    TrainConfig *r = &s->config;
    if (!train_config_parse(r, 3, arguments, e) || !train_config_complete(r, e)) return false;
    s->task = task_open(r->task, &r->data, e);
    if (!s->task) return false;
    ModelConfig c = train_config_model(r, s->task);
    if (!config_check(&c, STATUS_USAGE, e)) return false;
    s->trainer = train_config_trainer(r, s->task);
    size_t bytes = trainer_bytes(&s->trainer, &c, r->dropout, e);
    if (!bytes || !pages_exist(bytes, "the training", e)) return false;
    Model *m = s->run.model = s->trainer.model = model_new(&c, true, r->data.seed, e);
    if (!m) return false;
    m->dropout = r->dropout, m->attention_dropout = r->attention_dropout;
    if (r->init_output) model_zero_outputs(m);
    s->run.tokenizer = s->task->tokenizer;
    s->run.begin_id = s->task->begin_id, s->run.end_id = s->task->end_id;
    return trainer_start(&s->trainer, e);
}

/* Replaces the session, if the new one is complete. */
static bool take_over(Session *next, bool ok) {
    Session old = ok ? session : *next;
    if (ok) session = *next;
    close_session(&old);
    return ok;
}

/* Settings in the file `settings`, as lines of a --config file. */
WEB_EXPORT(void, start, (int mask, int positions)) {
    Error e = {0};
    Session next = {.mask = mask, .positions = positions};
    if (take_over(&next, open_training(&next, &e))) describe(&session), describe_task(&session, &e);
    web_end(&e);
}

/* The weights in upload/model.safetensors. */
WEB_EXPORT(void, load, (void)) {
    Error e = {0};
    Session next = {.mask = true, .positions = true};
    bool ok = saved_run_open(&next.run, "upload", false, &e);
    if (ok) {
        next.trainer.tape = tape_new();
        const char *task = model_notes_find(&next.run.notes, "task");
        take_over(&next, true);
        describe(&session);
        if (task) web_print_text("task", task);
        puts("}");
    } else
        saved_run_close(&next.run);
    web_end(&e);
}

static bool write_model(void *context, const Metadata *notes, int count, Error *e) {
    return model_save(context, "saved/model.safetensors", notes, count, e);
}

bool web_save_model(Error *e) {
    Session *s = &session;
    if (!web_has_model(e)) return false;
    if (!s->task) return write_model(s->run.model, s->run.notes.entry, s->run.notes.count, e);
    return trainer_check(&s->trainer, e) &&
           checkpoint_with_notes(&s->trainer, NULL, 0, write_model, s->run.model, e);
}

/* Writes saved/model.safetensors. */
WEB_EXPORT(void, save, (void)) {
    Error e = {0};
    if (web_save_model(&e)) puts("{}");
    web_end(&e);
}

/* ---- Training ---- */

/* At most n steps, and none after the one that ends later than `ms` milliseconds from now. */
static bool step(long n, double ms, bool more, Error *e) {
    Trainer *t = &session.trainer;
    if (!is_training(e)) return false;
    StepResult r = {0};
    long tokens = t->state.tokens;
    double began = clock_seconds();
    web_hide(session.mask, session.positions);
    bool ok = true;
    printf("{\"losses\": [");
    for (long i = 0; ok && i < n && (more || t->state.step < t->steps); i++) {
        ok = trainer_step(t, &r, e);
        if (!ok) break;
        trainer_stepped(t, &r);
        printf(i ? ",%.9g" : "%.9g", r.loss);
        if (trainer_evaluation_due(t) || clock_seconds() - began > ms * 1e-3) break;
    }
    printf("], \"step\": %ld, \"due\": %s, \"done\": %s", t->state.step,
           trainer_evaluation_due(t) ? "true" : "false", t->state.step >= t->steps ? "true" : "false");
    web_print_number("rate", r.learning_rate), web_print_number("gradNorm", r.grad_norm);
    web_print_number("tokens", (double)(t->state.tokens - tokens)),
        web_print_number("seconds", clock_seconds() - began);
    puts("}");
    return ok;
}

WEB_EXPORT(void, step, (int n, double ms, int more)) {
    Error e = {0};
    step(n, ms, more, &e);
    web_end(&e);
}

/* Sources, answers and right answers of a few held-out rows. */
static bool print_answers(Session *s, Error *e) {
    enum { SHOWN = 5 };
    Trainer *t = &s->trainer;
    Sampler greedy = {0};
    long most = s->task->max_T, length[SHOWN] = {0};
    long count = task_held_out_batch(s->task, 0, SHOWN < t->micro_batch ? SHOWN : t->micro_batch, t->batch);
    const Batch *b = t->batch;
    int32_t *out = calloc((size_t)(SHOWN * most), sizeof *out);
    bool ok = (out || error_set(e, STATUS_NO_MEMORY, "memory: answers")) &&
              decode_answers(t->tape, s->run.model, &greedy, count, b->source_start, b->source,
                             s->run.begin_id, s->run.end_id, most, out, length, e);
    printf(", \"answers\": [");
    for (long i = 0; ok && i < count; i++) {
        BatchRow row = batch_row(b, i);
        const int32_t *id[] = {row.source, out + i * most, row.target_out};
        const long n[] = {row.S, length[i], row.T - 1};
        for (int k = 0; k < 3; k++) {
            fputs(k ? ", " : i ? ", [" : "[", stdout);
            ok = ok && web_print_decoded(s, NULL, id[k], n[k], e);
        }
        putchar(']');
    }
    putchar(']');
    free(out);
    return ok;
}

static bool evaluate(long rows, Error *e) {
    Trainer *t = &session.trainer;
    Evaluation v;
    double exact = NAN, loss = t->state.losses ? t->state.loss_sum / (double)t->state.losses : NAN;
    if (!is_training(e)) return false;
    if (rows <= 0) rows = trainer_evaluation_rows(t);
    web_hide(session.mask, session.positions);
    bool lm = task_is_language_model(t->task);
    if (!trainer_evaluate(t, rows, &v, e) || !trainer_evaluated(t, &v, e) ||
        !(lm || samples_answers(t, rows, false, &exact, NULL, e)))
        return false;
    printf("{\"step\": %ld", t->state.step);
    web_print_number("trainLoss", loss), web_print_number("loss", v.loss);
    web_print_number("accuracy", v.accuracy), web_print_number("exact", exact);
    if (!lm && !print_answers(&session, e)) return false;
    return puts("}") >= 0;
}

WEB_EXPORT(void, evaluate, (int rows)) {
    Error e = {0};
    evaluate(rows, &e);
    web_end(&e);
}
