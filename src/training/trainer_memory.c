/* The memory of a training run, planned on the tape before the first step. */
#include "training/trainer.h"
#include <stdint.h>

/* Bytes that forward may keep for backward: twice a usual last-level cache, below which smaller micro-batches
 * are not faster. Each micro-batch reads all weights and adds to all gradients, which fewer tokens do not pay
 * for. */
enum { MOST_BYTES = 64 << 20, LEAST_TOKENS = 512 };

/* Bytes that forward of `rows` rows keeps for backward. */
static double kept_bytes(Tape *t, Model *m, long rows, long S, long T) {
    Tokens source = tokens_without_ids(rows, S), target = tokens_without_ids(rows, T);
    bool training = t->training;
    tape_plan(t);
    t->training = true;
    Forward f = {t, m, &source, &target};
    nn_loss(&f, nn_hidden(&f), NULL);
    double bytes = (double)tape_in_use(t);
    tape_reset(t);
    t->training = training;
    return bytes;
}

long trainer_micro_batch(Tape *t, Model *m, long rows, long S, long T) {
    long tokens = rows * (S > T ? S : T), most = tokens / LEAST_TOKENS;
    double wanted = kept_bytes(t, m, rows, S, T) / MOST_BYTES;
    long count = wanted < (double)most ? (long)wanted + 1 : most;
    if (count > rows) count = rows;
    return count > 1 ? (rows + count - 1) / count : rows;
}

static bool rows_fit(const Trainer *t, Error *e) {
    const Task *task = t->task;
    long longest = task->max_T > task->max_S ? task->max_T : task->max_S;
    if (t->rows > INT32_MAX / t->accumulate / longest)
        return error_set(e, STATUS_NO_MEMORY,
                         "memory: %ld x %ld rows of %ld tokens are more than a step can number", t->rows,
                         t->accumulate, longest);
    return true;
}

static bool take_memory(Trainer *t, Error *e) {
    const Task *task = t->task;
    if (!rows_fit(t, e)) return false;
    t->tape = tape_new();
    t->micro_batch = trainer_micro_batch(t->tape, t->model, t->rows, task->max_S, task->max_T);
    t->batch = task_batch(task, t->rows * t->accumulate, e);
    return t->batch && tokens_new(&t->source, t->micro_batch, t->micro_batch * task->max_S, e) &&
           tokens_new(&t->target, t->micro_batch, t->micro_batch * task->max_T, e);
}

/* Plans the largest training step and the largest evaluation, every row as long as it gets; returns the bytes
 * of the tape that they take. */
static size_t plan(Trainer *t) {
    Tokens source = tokens_without_ids(t->micro_batch, t->task->max_S),
           target = tokens_without_ids(t->micro_batch, t->task->max_T);
    tape_plan(t->tape);
    tape_forget_peak(t->tape);
    t->tape->training = true;
    tape_backward(t->tape, trainer_record_loss(t, &source, &target, 1, &(Tensor *){NULL}));
    tape_plan(t->tape);
    t->tape->training = false;
    t->tape->no_grad = true;
    trainer_predict(t, &source, &target);
    t->tape->no_grad = false;
    tape_reset(t->tape);
    return tape_peak(t->tape);
}

bool trainer_start(Trainer *t, Error *e) {
    if (take_memory(t, e) && optim_start(&t->optimizer, &t->model->parameters, e) &&
        tape_reserve(t->tape, plan(t), e))
        return true;
    trainer_stop(t);
    return false;
}

Model *trainer_model(const Trainer *t, const ModelConfig *c, Error *e) {
    Model *m = model_without_memory(c, true, e);
    if (!m || !t->learning || parameters_train_only(&m->parameters, t->learning, e)) return m;
    model_free(m);
    return NULL;
}

size_t trainer_bytes(const Trainer *of, const ModelConfig *c, double dropout, Error *e) {
    const Task *task = of->task;
    if (!rows_fit(of, e)) return 0;
    Model *m = trainer_model(of, c, e);
    if (!m) return 0;
    m->dropout = dropout;
    Trainer t = {.model = m, .task = task, .tape = tape_new()};
    t.micro_batch = trainer_micro_batch(t.tape, m, of->rows, task->max_S, task->max_T);
    /* Token ids of all rows of a step, and those of a micro-batch with positions and places. */
    size_t rows = (size_t)(of->rows * of->accumulate) * (size_t)(task->max_S + 2 * task->max_T);
    size_t micro_batch = (size_t)t.micro_batch * (size_t)(3 * task->max_S + 3 * task->max_T);
    size_t bytes = model_bytes(m) + optim_bytes(of->optimizer.kind, &m->parameters) + plan(&t) +
                   (rows + micro_batch) * sizeof(int32_t);
    /* Answers, or one text, are decoded when training is over. */
    long answers = task_is_language_model(task) ? 1 : t.micro_batch;
    bytes += kv_cache_bytes(c, answers, task->max_T, answers * task->max_S) +
             kv_cache_packed_bytes(&m->parameters);
    trainer_stop(&t);
    model_free(m);
    return bytes;
}

void trainer_stop(Trainer *t) {
    tape_free(t->tape);
    optim_stop(&t->optimizer);
    batch_free(t->batch);
    tokens_free(&t->source);
    tokens_free(&t->target);
    t->tape = NULL, t->batch = NULL, t->targets = NULL;
}
