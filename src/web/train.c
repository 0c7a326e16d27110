/* Entry points of the module in single precision: training, and models as files. */
#include "base/arena.h"
#include "base/clock.h"
#include "decoding/decode.h"
#include "run/samples.h"
#include "training/checkpoint.h"
#include "web/web.h"
#include <math.h>
#include <string.h>

Session session;

static void close_session(Session *s) {
    if (s->task) s->run.tokenizer = NULL;
    trainer_stop(&s->trainer);
    saved_run_close(&s->run);
    task_free(s->task);
    train_config_free(&s->config);
}

/* Replaces the session, if the new one is complete. */
static bool take_over(Session *next, bool ok) {
    Session old = ok ? session : *next;
    if (ok) session = *next;
    close_session(&old);
    return ok;
}

/* ---- Start, load, save ---- */

static void describe(const char *task) {
    const Session *s = &session;
    const ModelConfig *c = &s->run.model->config;
    printf("{\"lm\": %s, \"layers\": [%d, %d]", c->kind == KIND_LM ? "true" : "false", c->encoder_layers,
           c->decoder_layers);
    web_print_number("parameters", s->run.model->parameters.elements);
    web_print_number("heads", c->heads), web_print_number("width", c->d_model);
    web_print_number("steps", (double)s->config.steps);
    web_print_number("uniform", log((double)s->run.tokenizer->size));
    web_print_number("maxSource", s->task ? s->task->max_S : c->max_length);
    web_print_tokens("tokens", NULL, c->vocab_size);
    if (task) web_print_text("task", task);
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

/* The file `settings` holds lines of a --config file. */
WEB_EXPORT(void, start, (int mask, int positions)) {
    Session next = {.mask = mask, .positions = positions};
    if (!take_over(&next, open_training(&next, &web_error))) return;
    describe(session.task->name);
    task_held_out_batch(session.task, 0, 1, session.trainer.batch);
    BatchRow row = batch_row(session.trainer.batch, 0);
    web_print_decoded("example", row.S ? row.source : row.target_in, row.S ? row.S : row.T);
    puts("}");
}

/* The model in upload/model.safetensors. */
WEB_EXPORT(void, load, (void)) {
    Session next = {.mask = true, .positions = true, .trainer.tape = tape_new()};
    if (!take_over(&next, saved_run_open(&next.run, "upload", false, &web_error))) return;
    describe(model_notes_find(&session.run.notes, "task"));
    puts("}");
}

static bool write_model(void *model, const Metadata *notes, int count, Error *e) {
    return model_save(model, "saved/model.safetensors", notes, count, e);
}

WEB_EXPORT(bool, save, (void)) {
    Session *s = &session;
    Error *e = &web_error;
    if (!s->run.model) return error_set(e, STATUS_NO_INPUT, "found no model, need start or load first");
    if (!s->task) return write_model(s->run.model, s->run.notes.entry, s->run.notes.count, e);
    return trainer_check(&s->trainer, e) &&
           checkpoint_with_notes(&s->trainer, NULL, 0, write_model, s->run.model, e);
}

/* ---- Training ---- */

static bool is_training(void) {
    web_hide(session.mask, session.positions);
    return session.task || error_set(&web_error, STATUS_NO_INPUT, "found no training, need start first");
}

/* At most n steps, none after one that ends later than `ms` milliseconds from now, or after which an evaluation is
 * due, and none beyond the last unless `more`. */
WEB_EXPORT(void, step, (int n, double ms, int more)) {
    if (!is_training()) return;
    Trainer *t = &session.trainer;
    StepResult r = {0};
    long tokens = t->state.tokens;
    double began = clock_seconds();
    bool due = false;
    printf("{\"losses\": [");
    for (int i = 0; i < n && !due && (more || t->state.step < t->steps); i++) {
        if (!trainer_step(t, &r, &web_error)) return;
        trainer_stepped(t, &r);
        printf(i ? ",%.9g" : "%.9g", r.loss);
        due = trainer_evaluation_due(t);
        if (clock_seconds() - began > ms * 1e-3) break;
    }
    printf("], \"step\": %ld, \"due\": %s, \"done\": %s", t->state.step, due ? "true" : "false",
           t->state.step >= t->steps ? "true" : "false");
    web_print_number("rate", r.learning_rate), web_print_number("tokens", (double)(t->state.tokens - tokens));
    web_print_number("seconds", clock_seconds() - began);
    puts("}");
}

/* Sources, answers and right answers of a few held-out rows. */
static void print_answers(Session *s) {
    enum { SHOWN = 5 };
    Trainer *t = &s->trainer;
    const Batch *b = t->batch;
    long most = s->task->max_T, length[SHOWN] = {0};
    long count = task_held_out_batch(s->task, 0, SHOWN < t->micro_batch ? SHOWN : t->micro_batch, t->batch);
    Arena arena = {0};
    int32_t *out = arena_alloc(&arena, (size_t)(SHOWN * most) * sizeof *out);
    bool ok = decode_answers(t->tape, s->run.model, &(Sampler){0}, count, b->source_start, b->source,
                             s->run.begin_id, s->run.end_id, most, out, length, &web_error);
    printf(", \"answers\": [");
    for (long i = 0; ok && i < count; i++) {
        BatchRow row = batch_row(b, i);
        printf(i ? ", [" : "["), web_print_decoded(NULL, row.source, row.S);
        putchar(','), web_print_decoded(NULL, out + i * most, length[i]);
        putchar(','), web_print_decoded(NULL, row.target_out, row.T - 1), putchar(']');
    }
    putchar(']');
    arena_free(&arena);
}

/* On so many held-out rows; 0: as many as ./train judges in the middle of a run. */
WEB_EXPORT(void, evaluate, (int rows)) {
    Trainer *t = &session.trainer;
    Error *e = &web_error;
    Evaluation v;
    double exact = NAN;
    if (!is_training()) return;
    long judged = rows > 0 ? rows : trainer_evaluation_rows(t);
    bool lm = task_is_language_model(t->task);
    if (!trainer_evaluate(t, judged, &v, e) || !trainer_evaluated(t, &v, e) ||
        !(lm || samples_answers(t, judged, false, &exact, NULL, e)))
        return;
    printf("{\"step\": %ld", t->state.step);
    web_print_number("loss", v.loss), web_print_number("accuracy", v.accuracy),
        web_print_number("exact", exact);
    if (!lm) print_answers(&session);
    puts("}");
}
