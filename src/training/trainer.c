#include "training/trainer.h"
#include "autograd/op.h"
#include "base/clock.h"
#include "nn/model_file.h"
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---- */

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

/* The mean loss, and, as the tensor returned, its product with `share`. */
static Tensor *record_loss(Trainer *t, const Tokens *source, const Tokens *target, double share,
                           Tensor **mean) {
    Forward f = {t->tape, t->model, source, target};
    *mean = nn_loss(&f, nn_hidden(&f), t->targets);
    return tape_scale(t->tape, *mean, (real)share);
}

static const Prediction *predict(Trainer *t, const Tokens *source, const Tokens *target) {
    Forward f = {t->tape, t->model, source, target};
    return nn_predict(&f, nn_hidden(&f), t->targets);
}

/* Plans the largest training step and the largest evaluation, every row as long as it gets; returns the bytes
 * of the tape that they take. */
static size_t plan(Trainer *t) {
    Tokens source = tokens_without_ids(t->micro_batch, t->task->max_S),
           target = tokens_without_ids(t->micro_batch, t->task->max_T);
    tape_plan(t->tape);
    tape_forget_peak(t->tape);
    t->tape->training = true;
    tape_backward(t->tape, record_loss(t, &source, &target, 1, &(Tensor *){NULL}));
    tape_plan(t->tape);
    t->tape->training = false;
    t->tape->no_grad = true;
    predict(t, &source, &target);
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

size_t trainer_bytes(const Trainer *of, const ModelConfig *c, double dropout, Error *e) {
    const Task *task = of->task;
    if (!rows_fit(of, e)) return 0;
    Model *m = model_without_memory(c, true, e);
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

/* ---- A step ---- */

/* Makes rows [first, first + count) of the batch source, target and targets. */
static void take_rows(Trainer *t, long first, long count) {
    const Batch *b = t->batch;
    tokens_pack(&t->source, count, b->source_start + first, b->source);
    tokens_pack(&t->target, count, b->target_start + first, b->target_in);
    t->targets = b->target_out + b->target_start[first];
}

void trainer_draw(Trainer *t, StepResult *step) {
    task_training_batch(t->task, (uint64_t)t->optimizer.step + 1, 0, t->rows * t->accumulate, t->batch);
    *step = (StepResult){.tokens = batch_target_tokens(t->batch),
                         .micro_batches = (t->batch->rows + t->micro_batch - 1) / t->micro_batch};
}

bool trainer_goes_on(const Trainer *t, long micro_batch) {
    bool on = true;
    for (const Listener *l = t->listener; l < t->listener + t->listeners; l++)
        if (l->goes_on) on &= l->goes_on(l->context, micro_batch);
    return on;
}

static bool check_loss(const Trainer *t, double loss, Error *e) {
    if (isfinite(loss)) return true;
    const Node *first = tape_first_non_finite(t->tape);
    return error_set(e, STATUS_NON_FINITE,
                     "step %ld: found a loss that is %s, first in %s (operation %ld), need a finite one",
                     t->optimizer.step + 1, isnan(loss) ? "not a number" : "infinite",
                     first ? first->op->name : "its sum", first ? first->index : t->tape->nodes);
}

Tensor *trainer_forward(Trainer *t, long micro_batch, StepResult *step, Error *e) {
    long first = micro_batch * t->micro_batch, left = t->batch->rows - first;
    take_rows(t, first, left < t->micro_batch ? left : t->micro_batch);
    double share = (double)t->target.sequences.total_rows / (double)step->tokens;
    t->tape->step = (uint64_t)(t->optimizer.step * step->micro_batches + micro_batch);
    t->tape->seed = t->seed;
    t->tape->training = true;
    Tensor *mean, *loss = record_loss(t, &t->source, &t->target, share, &mean);
    bool ok = !tape_failed(t->tape, e);
    if (ok) {
        step->loss += share * (double)mean->data[0];
        ok = check_loss(t, step->loss, e);
    }
    if (!ok) tape_reset(t->tape);
    return ok ? loss : NULL;
}

bool trainer_end_micro_batch(Trainer *t, Error *e) {
    bool ok = !tape_failed(t->tape, e);
    tape_reset(t->tape);
    return ok;
}

bool trainer_check_finite(long step, const char *what, double x, Error *e) {
    return isfinite(x) || error_set(e, STATUS_NON_FINITE, "step %ld: found %s that is %s, need a finite one",
                                    step, what, isnan(x) ? "not a number" : "infinite");
}

void trainer_stepped(Trainer *t, const StepResult *step) {
    t->state.step++, t->state.losses++;
    t->state.tokens += step->tokens, t->state.loss_sum += step->loss;
    for (int i = 0; i < t->listeners; i++)
        if (t->listener[i].stepped) t->listener[i].stepped(t->listener[i].context, step);
}

bool trainer_step(Trainer *t, StepResult *step, Error *e) {
    Parameters *p = &t->model->parameters;
    trainer_draw(t, step);
    parameters_clear_grad(p);
    for (long i = 0; i < step->micro_batches; i++) {
        Tensor *loss = trainer_forward(t, i, step, e);
        if (loss) tape_backward(t->tape, loss);
        if (!loss || !trainer_end_micro_batch(t, e)) return false;
    }
    parameters_zero_unreached(p);
    step->learning_rate = schedule_rate(&t->schedule, t->optimizer.step + 1);
    step->grad_norm = optim_step(&t->optimizer, p, step->learning_rate, 1);
    return trainer_check_finite(t->optimizer.step + 1, "a gradient norm", step->grad_norm, e);
}

bool trainer_check(const Trainer *t, Error *e) {
    const Parameters *p = &t->model->parameters;
    for (int i = 0; i < p->count; i++) {
        const Parameter *w = &p->entry[i];
        for (long j = 0, count = shape_count(w->shape); j < count; j++)
            if (!(fabs((double)p->value[w->offset + j]) <= model_largest_weight))
                return error_set(
                    e, STATUS_NON_FINITE, "step %ld: found a weight of %s that is %g, need them within %g",
                    t->optimizer.step, w->name, (double)p->value[w->offset + j], model_largest_weight);
    }
    return true;
}

/* ---- Evaluation ---- */

/* Adds the tokens of the trainer's batch to a sum whose loss and accuracy are not divided by the tokens
 * yet. */
static bool add_batch(Trainer *t, Evaluation *sum, Error *e) {
    take_rows(t, 0, t->batch->rows);
    t->tape->training = false;
    t->tape->no_grad = true;
    const Prediction *p = predict(t, &t->source, &t->target);
    bool ok = !tape_failed(t->tape, e);
    long tokens = batch_target_tokens(t->batch);
    double loss = 0;
    for (long i = 0; ok && i < tokens; i++) {
        loss += p[i].loss;
        sum->accuracy += p[i].likeliest == t->targets[i];
    }
    /* A batch's mean has the precision of the training loss. */
    if (tokens) sum->loss += (double)(real)(loss / (double)tokens) * (double)tokens;
    sum->tokens += tokens;
    tape_reset(t->tape);
    t->tape->no_grad = false;
    return ok;
}

bool trainer_evaluate(Trainer *t, long rows, Evaluation *result, Error *e) {
    bool ok = true;
    *result = (Evaluation){0};
    if (rows == 0 || rows > t->task->held_out) rows = t->task->held_out;
    for (long first = 0, count; ok && first < rows; first += count) {
        long wanted = rows - first < t->micro_batch ? rows - first : t->micro_batch;
        count = task_held_out_batch(t->task, first, wanted, t->batch);
        ok = add_batch(t, result, e);
    }
    if (result->tokens) result->loss /= (double)result->tokens, result->accuracy /= (double)result->tokens;
    return ok;
}

bool trainer_evaluation_due(const Trainer *t) {
    const TrainState *s = &t->state;
    return s->step > s->evaluated && s->step % t->eval_every == 0 && s->step < t->steps;
}

bool trainer_evaluated(Trainer *t, const Evaluation *v, Error *e) {
    bool ok = trainer_check_finite(t->state.step, "a held-out loss", v->loss, e);
    for (int i = 0; ok && i < t->listeners; i++)
        if (t->listener[i].evaluated) ok = t->listener[i].evaluated(t->listener[i].context, v, e);
    t->state.evaluated = t->state.step, t->state.loss_sum = 0, t->state.losses = 0;
    return ok;
}

/* ---- Time ---- */

long trainer_steps_in(Trainer *t, double seconds, Error *e) {
    enum { EVALUATIONS = 9, LEAST = 10 };
    Schedule schedule = t->schedule;
    StepResult step;
    Evaluation v;
    double start = clock_seconds(), first = 0, now = start;
    long steps = 0;
    bool ok = true;
    t->schedule = (Schedule){.kind = SCHEDULE_CONSTANT, .rate = 0};
    for (; ok && (steps < 3 || now - start < seconds / 40); steps++) {
        ok = trainer_step(t, &step, e);
        now = clock_seconds();
        if (steps == 0) first = now; /* its pages were new */
    }
    double per_step = steps > 1 ? (now - first) / (double)(steps - 1) : now - start;
    ok = ok && trainer_evaluate(t, trainer_evaluation_rows(t), &v, e);
    double per_evaluation = clock_seconds() - now;
    t->schedule = schedule;
    optim_forget(&t->optimizer);
    double left = seconds - (clock_seconds() - start) - EVALUATIONS * per_evaluation;
    steps = left / per_step < 1e9 ? (long)(left / per_step) : 1000000000;
    return !ok ? 0 : steps > LEAST ? steps : LEAST;
}
