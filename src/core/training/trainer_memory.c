/* The memory of a training run, computed from its sizes before the first step. */
#include "training/trainer.h"
#include <stdint.h>

/* Bytes that forward may keep for backward: twice a usual last-level cache, below which smaller
 * micro-batches are not faster. A micro-batch reads all weights and adds to all gradients, which
 * pays from some number of tokens on. */
enum { MAX_KEPT_BYTES = 64 << 20, MIN_TOKENS = 512 };

long trainer_micro_batch(Model *m, long rows, long S, long T) {
    long tokens = rows * (S > T ? S : T), max_count = tokens / MIN_TOKENS;
    double first = nn_step_cost(m, 1, S, T).kept;
    double more = nn_step_cost(m, 2, S, T).kept - first; /* every further row */
    double wanted = (first + (double)(rows - 1) * more) / MAX_KEPT_BYTES;
    long count = wanted < (double)max_count ? (long)wanted + 1 : max_count;
    if (count > rows) count = rows;
    return count > 1 ? (rows + count - 1) / count : rows;
}

static bool rows_fit(const Trainer *t, Error *e) {
    const Task *task = t->task;
    long longest = task->max_T > task->max_S ? task->max_T : task->max_S;
    if (t->rows > INT32_MAX / t->accumulate / longest)
        return error_set(e, STATUS_NO_MEMORY,
                         "memory: %ld x %ld rows of %ld tokens are more than a step can number",
                         t->rows, t->accumulate, longest);
    return true;
}

static bool make_batches(Trainer *t, Error *e) {
    const Task *task = t->task;
    if (!rows_fit(t, e)) return false;
    t->micro_batch = trainer_micro_batch(t->model, t->rows, task->max_S, task->max_T);
    t->batch = task_batch(task, t->rows * t->accumulate, e);
    if (!t->batch) return false;
    return tokens_new(&t->source, t->micro_batch, t->micro_batch * task->max_S, e) &&
           tokens_new(&t->target, t->micro_batch, t->micro_batch * task->max_T, e);
}

/* The tape's bytes of the largest step and the largest evaluation, every row as long as it gets. */
static size_t tape_bytes(const Trainer *t, Model *m, long micro_batch) {
    return (size_t)nn_step_cost(m, micro_batch, t->task->max_S, t->task->max_T).bytes;
}

static bool make_tape(Trainer *t, Error *e) {
    t->tape = tape_new();
    return tape_reserve(t->tape, tape_bytes(t, t->model, t->micro_batch), e);
}

bool trainer_start(Trainer *t, Error *e) {
    WANT(t);
    WANT(t->model);
    WANT(t->task);
    WANT(t->optimizer.kind);
    WANT(t->schedule.kind);
    if (t->rows < 1 || t->accumulate < 1)
        error_bug("trainer_start: %ld rows, %ld batches a step, want at least 1", t->rows,
                  t->accumulate);
    if (make_batches(t, e) && optim_start(&t->optimizer, &t->model->parameters, e) &&
        make_tape(t, e))
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

size_t trainer_bytes(const Trainer *t, const ModelConfig *c, double dropout, Error *e) {
    const Task *task = t->task;
    if (!rows_fit(t, e)) return 0;
    Model *m = trainer_model(t, c, e);
    if (!m) return 0;
    m->dropout = dropout;
    long micro_batch = trainer_micro_batch(m, t->rows, task->max_S, task->max_T);
    size_t bytes = model_bytes(m) + optim_bytes(t->optimizer.kind, &m->parameters) +
                   tape_bytes(t, m, micro_batch);
    /* Token ids of all rows of a step, and those of a micro-batch with positions and columns. */
    bytes += (size_t)(t->rows * t->accumulate * (task->max_S + 2 * task->max_T)) * sizeof(int32_t);
    bytes += (size_t)(3 * micro_batch * (task->max_S + task->max_T)) * sizeof(int32_t);
    /* Answers, or one text, are decoded when training is over. */
    long answers = task_is_language_model(task) ? 1 : micro_batch;
    bytes += kv_cache_bytes(c, answers, task->max_T, answers * task->max_S);
    bytes += kv_cache_packed_bytes(&m->parameters);
    model_free(m);
    return bytes;
}

void trainer_stop(Trainer *t) {
    WANT(t);
    tape_free(t->tape);
    optim_stop(&t->optimizer);
    batch_free(t->batch);
    tokens_free(&t->source);
    tokens_free(&t->target);
    t->tape = NULL;
    t->batch = NULL;
    t->targets = NULL;
}
