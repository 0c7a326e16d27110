/* Entry points of the module in single precision: train a model, save and load it, answer the
 * reader's text. Texts are files in memory. */
#include "base/arena.h"
#include "base/clock.h"
#include "decoding/decode.h"
#include "decoding/saved_run.h"
#include "run/samples.h"
#include "training/checkpoint.h"
#include "web/web.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A task with its trainer, or a model that was loaded. */
typedef struct Session {
    TrainConfig config;
    Task *task; /* NULL: loaded */
    Trainer trainer;
    SavedRun run; /* the model, its tokenizer and ids; the tokenizer of a task is the task's */
} Session;
static Session session;

/* ---- Members of a JSON object ---- */

static void print_ids(const char *name, const int32_t *id, long count) {
    printf(", \"%s\": [", name);
    for (long i = 0; i < count; i++) printf(i ? ",%d" : "%d", (int)id[i]);
    putchar(']');
}

/* Prints the labels of all tokens. */
static void print_labels(long count) {
    char label[TOKEN_LABEL];
    printf(", \"tokens\": [");
    for (long i = 0; i < count; i++) {
        if (i) putchar(',');
        json_print(stdout, saved_run_label(&session.run, (int32_t)i, label));
    }
    putchar(']');
}

/* Prints the text of tokens. */
static void print_decoded(const char *name, const int32_t *id, long count) {
    Arena arena = {0};
    char *text = arena_alloc(&arena, (size_t)count * TOKEN_BYTES + 1);
    tokenizer_decode(session.run.tokenizer, id, count, text);
    json_text(stdout, name, text);
    arena_free(&arena);
}

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
    printf("{\"lm\": %s, \"layers\": [%d, %d]", config_is_lm(c) ? "true" : "false",
           c->encoder_layers, c->decoder_layers);
    json_number(stdout, "parameters", s->run.model->parameters.elements);
    json_number(stdout, "heads", c->heads);
    json_number(stdout, "steps", (double)s->config.schedule.steps);
    json_number(stdout, "uniform", log((double)s->run.tokenizer->size));
    json_number(stdout, "maxSource", s->task && s->task->max_S ? s->task->max_S : c->max_length);
    print_labels(c->vocab_size);
    if (task) json_text(stdout, "task", task);
    puts("}");
}

/* As train.c: configuration, task, model, trainer. */
static bool open_training(Session *s, bool mask, bool positions, Error *e) {
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
    m->dropout = r->dropout;
    m->unmasked = !mask;
    m->unplaced = !positions;
    s->run.tokenizer = s->task->tokenizer;
    s->run.begin_id = s->task->begin_id;
    s->run.end_id = s->task->end_id;
    return trainer_start(&s->trainer, e);
}

/* The file `settings` holds lines of a --config file. Trains with or without a causal mask, and
 * positions. */
WEB_EXPORT(void, start, (int mask, int positions)) {
    Session next = {0};
    if (take_over(&next, open_training(&next, mask, positions, &web_error)))
        describe(session.task->name);
}

/* The model in upload/model.safetensors. */
WEB_EXPORT(void, load, (void)) {
    Session next = {.trainer.tape = tape_new()};
    if (take_over(&next, saved_run_open(&next.run, "upload", false, &web_error)))
        describe(model_notes_find(&session.run.notes, "task"));
}

WEB_EXPORT(bool, save, (void)) {
    static const char path[] = "saved/model.safetensors";
    Session *s = &session;
    Error *e = &web_error;
    if (!s->run.model)
        return error_set(e, STATUS_NO_INPUT, "found no model, need start or load first");
    if (!s->task) return model_save(s->run.model, path, s->run.notes.entry, s->run.notes.count, e);
    File *f = trainer_check(&s->trainer, e) ? file_create(path, e) : NULL;
    if (f && checkpoint_write_model(&s->trainer, f, e)) return file_commit(f, e);
    file_abandon(f);
    return false;
}

/* ---- Training ---- */

static bool is_training(void) {
    return session.task ||
           error_set(&web_error, STATUS_NO_INPUT, "found no training, need start first");
}

/* At most n steps, none after one that ends later than `ms` milliseconds from now, or after which
 * an evaluation is due, and none beyond the last unless `more`. */
WEB_EXPORT(void, step, (int n, double ms, int more)) {
    if (!is_training()) return;
    Trainer *t = &session.trainer;
    StepResult r = {0};
    double began = clock_seconds();
    bool due = false;
    long left = t->schedule.steps - t->state.step;
    if (!more && n > left) n = (int)left;
    printf("{\"losses\": [");
    for (int i = 0; i < n; i++) {
        if (!trainer_step(t, &r, &web_error)) return;
        printf(i ? ",%.9g" : "%.9g", r.loss);
        due = trainer_evaluation_due(t);
        if (due || clock_seconds() - began > ms * 1e-3) break;
    }
    printf("], \"step\": %ld, \"due\": %s}\n", t->state.step, due ? "true" : "false");
}

/* The learning rate from now on, before warm-up and decay. */
WEB_EXPORT(void, rate, (double rate)) {
    Schedule *s = &session.trainer.schedule;
    if (!is_training()) return;
    if (!(rate > 0)) {
        error_set(&web_error, STATUS_USAGE, "found the learning rate %g, need more than 0", rate);
        return;
    }
    s->min_rate *= rate / s->rate;
    s->rate = rate;
}

/* Evaluates `rows` held-out rows. `aside`: not as an evaluation of the run. */
WEB_EXPORT(void, evaluate, (int rows, int aside)) {
    Trainer *t = &session.trainer;
    Error *e = &web_error;
    Evaluation v;
    double exact = NAN;
    if (!is_training()) return;
    bool lm = task_is_language_model(t->task);
    long answers = rows;
    if (!trainer_evaluate(t, rows, &v, e)) return;
    if (!lm && !samples_answers(t, &answers, NULL, &exact, e)) return;
    if (!aside) trainer_evaluated(t);
    printf("{\"step\": %ld", t->state.step);
    json_number(stdout, "loss", v.loss);
    json_number(stdout, "accuracy", v.accuracy);
    json_number(stdout, "exact", exact);
    puts("}");
}

/* ---- Mask, positions and heads that are switched off ---- */

/* The switches replace these. values NULL: all are on. */
static struct {
    real *values;
    bool unmasked, unplaced;
} kept;

/* Switches off the heads of the file `off`, and mask and positions where they are false; at the
 * second call all on again. A line of the file is an attention's name and a head, from 0:
 * "encoder.layers.0.self_attn 2". */
WEB_EXPORT(void, flip, (int mask, int positions)) {
    Model *m = session.run.model;
    char name[PARAMETER_NAME];
    long head, length;
    if (!m) return;
    const Parameters *p = &m->parameters;
    size_t bytes = parameters_bytes(p, false);
    if (kept.values) {
        memcpy(p->value, kept.values, bytes);
        m->unmasked = kept.unmasked;
        m->unplaced = kept.unplaced;
        free(kept.values);
        kept.values = NULL;
        return;
    }
    kept.values = malloc(bytes);
    kept.unmasked = m->unmasked;
    kept.unplaced = m->unplaced;
    if (!kept.values) error_no_memory("%zu bytes of weights", bytes);
    memcpy(kept.values, p->value, bytes);
    m->unmasked |= !mask;
    m->unplaced |= !positions;
    for (const char *line = web_file_data("off");
         sscanf(line, "%40s %ld\n%ln", name, &head, &length) == 2; line += length) {
        const Parameter *out = parameters_find(p, strcat(name, ".out_proj.weight"));
        const ModelConfig *c = &m->config;
        if (!out || head < 0 || head >= c->heads) continue;
        long column = config_head_column(c, PART_Q, head), width = config_columns(c, PART_Q);
        for (long row = 0; row < c->d_model; row++)
            memset(p->value + out->offset + row * width + column, 0,
                   (size_t)config_d_k(c) * sizeof(real));
    }
}

/* ---- The reader's text, and the model's answer or continuation ---- */

typedef struct Reading {
    Arena arena;        /* of the arrays */
    long count, length; /* tokens of text and answer */
    int32_t *text;      /* [count] then, of a language model, the continuation */
    int32_t *answer;    /* [length]; seq2seq: begin_id stands before it */
} Reading;

/* Encodes the text, and decodes the answer unless there is one in the file `answer`. */
static bool read_text(Reading *r, long more, bool given) {
    const char *text = web_file_data("text"), *answer = web_file_data("answer");
    const SavedRun *run = &session.run;
    Model *m = run->model;
    Tape *t = session.trainer.tape;
    Error *e = &web_error;
    if (!m) return error_set(e, STATUS_NO_INPUT, "found no model, need start or load first");
    long max = m->config.max_length;
    size_t bytes = strlen(text), written = given ? strlen(answer) : 0;
    r->text = arena_alloc(&r->arena, (bytes + (size_t)more + 1) * sizeof *r->text);
    if (!tokenizer_encode(run->tokenizer, "text", text, bytes, r->text, &r->count, e)) return false;
    if (r->count == 0 || r->count > max)
        return error_set(e, STATUS_BAD_DATA, "text: found %ld tokens, need 1 to %ld", r->count,
                         max);
    r->length = more;
    r->answer = r->text + r->count;
    Sampler greedy = {.tokenizer = run->tokenizer};
    if (config_is_lm(&m->config))
        return decode_continue(t, m, &greedy, r->text, r->count, more, NULL, NULL, e);
    r->answer = arena_alloc(&r->arena, ((size_t)max + written) * sizeof *r->answer);
    *r->answer++ = run->begin_id;
    if (!written)
        return decode_answers(t, m, &greedy, 1, (long[]){0, r->count}, r->text, run->begin_id,
                              run->end_id, max - 1, r->answer, &r->length, e);
    if (!tokenizer_encode(run->tokenizer, "answer", answer, written, r->answer, &r->length, e))
        return false;
    return r->length < max ||
           error_set(e, STATUS_BAD_DATA, "answer: found %ld tokens, need at most %ld", r->length,
                     max - 1);
}

/* Prints the tokens that the model reads, with `more` of a language model's continuation, the
 * answer, and the right one if there is one. `given`: the answer is that in the file `answer`,
 * unless it is empty. */
WEB_EXPORT(void, answer, (int more, int given)) {
    Reading r = {0};
    if (read_text(&r, more, given)) {
        const SavedRun *run = &session.run;
        bool lm = config_is_lm(&run->model->config);
        printf("{\"lm\": %s, \"begin\": %d, \"end\": %d", lm ? "true" : "false", run->begin_id,
               run->end_id);
        print_ids("source", r.text, r.count + (lm ? r.length : 0));
        print_ids("ids", r.answer, lm ? 0 : r.length);
        print_decoded("answer", r.answer, r.length);
        const char *task =
            session.task ? session.task->name : model_notes_find(&run->notes, "task");
        const TaskKind *kind = task ? task_kind(task) : NULL;
        if (kind && kind->answer && r.count < run->model->config.max_length) {
            int32_t *wanted = arena_alloc(&r.arena, (size_t)r.count * sizeof *wanted);
            kind->answer(r.text, r.count, wanted);
            print_decoded("wanted", wanted, r.count);
        }
        puts("}");
    }
    arena_free(&r.arena);
}
