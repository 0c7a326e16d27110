#include "training/trainer.h"
#include "autograd/op.h"
#include "base/interrupt.h"
#include "nn/model_file.h"
#include <math.h>

/* ---- A step: sections 5.1 to 5.4 ---- */

/* Fills t->source, t->target and t->targets with rows [first, first + count) of the batch. The
 * target is what the decoder reads, the targets are the tokens that it is to predict. */
static void take_rows(Trainer *t, long first, long count) {
    const Batch *b = t->batch;
    tokens_pack(&t->source, count, b->source_start + first, b->source);
    tokens_pack(&t->target, count, b->target_start + first, b->target_in);
    t->targets = b->target_out + b->target_start[first];
}

static bool check_finite(long step, const char *what, double x, Error *e) {
    return isfinite(x) ||
           error_set(e, STATUS_NON_FINITE, "step %ld: found %s that is %s, need a finite one", step,
                     what, isnan(x) ? "not a number" : "infinite");
}

/* The message names the operation whose output is the first that is not finite. */
static bool check_loss(const Trainer *t, double loss, Error *e) {
    if (isfinite(loss)) return true;
    const Node *first = tape_first_non_finite(t->tape);
    return error_set(
        e, STATUS_NON_FINITE,
        "step %ld: found a loss that is %s, first in %s (operation %ld), need a finite one",
        t->state.step + 1, isnan(loss) ? "not a number" : "infinite",
        first ? first->op->name : "its sum", first ? first->index : t->tape->nodes);
}

/* Sections 3 and 5.4. Adds the gradient of a micro-batch to the parameters' gradients, and its loss
 * to step->loss. Both are multiplied by the micro-batch's share of the step's tokens, so that the
 * sums over all micro-batches are the step's mean loss and its gradient. */
static bool add_gradient(Trainer *t, long micro_batch, StepResult *step, Error *e) {
    long first = micro_batch * t->micro_batch, left = t->batch->rows - first;
    take_rows(t, first, left < t->micro_batch ? left : t->micro_batch);
    double share = (double)t->target.sequences.total_rows / (double)step->tokens;
    t->tape->step = (uint64_t)(t->state.step * step->micro_batches + micro_batch);
    t->tape->seed = t->seed;
    t->tape->training = true;
    Forward f = {t->tape, t->model, &t->source, &t->target};
    Tensor *loss = nn_loss(&f, nn_hidden(&f), t->targets);
    bool ok = !tape_failed(t->tape, e);
    if (ok) step->loss += share * (double)loss->data[0];
    ok = ok && check_loss(t, step->loss, e);
    if (ok) tape_backward_from(t->tape, loss, &(real){(real)share});
    ok = ok && !tape_failed(t->tape, e);
    tape_reset(t->tape);
    return ok;
}

static void want_started(const Trainer *t, const char *function) {
    if (!t->tape || !t->batch)
        error_bug("%s: the trainer has no memory, want trainer_start first", function);
}

/* A step: (1) draws a batch; (2) for each micro-batch, runs the model forward and backward, which
 * adds to the gradients; (3) clips the gradients' norm; (4) updates the weights with the schedule's
 * rate. */
bool trainer_step(Trainer *t, StepResult *step, Error *e) {
    WANT(t);
    WANT(step);
    want_started(t, "trainer_step");
    Parameters *p = &t->model->parameters;
    long number = t->state.step + 1;
    double scale = 1;
    task_training_batch(t->task, (uint64_t)number, 0, t->rows * t->accumulate, t->batch); /* 5.1 */
    *step = (StepResult){.tokens = batch_target_tokens(t->batch),
                         .micro_batches = (t->batch->rows + t->micro_batch - 1) / t->micro_batch};
    parameters_clear_grad(p);
    for (long i = 0; i < step->micro_batches; i++)
        if (interrupt_signal() || !add_gradient(t, i, step, e)) return false;
    parameters_zero_unreached(p);
    step->grad_norm = optim_clip(&t->optimizer, p, &scale);
    if (!check_finite(number, "a gradient norm", step->grad_norm, e)) return false;
    step->learning_rate = schedule_rate(&t->schedule, number);
    optim_update(&t->optimizer, p, step->learning_rate, scale); /* 5.3 */
    t->state.step++;
    t->state.tokens += step->tokens;
    t->state.loss_sum += step->loss;
    t->state.losses++;
    return true;
}

bool trainer_check(const Trainer *t, Error *e) {
    const Parameters *p = &t->model->parameters;
    for (int i = 0; i < p->count; i++) {
        const Parameter *w = &p->entry[i];
        long count = shape_count(w->shape);
        for (long j = 0; j < count; j++)
            if (!(fabs((double)p->value[w->offset + j]) <= model_largest_weight))
                return error_set(e, STATUS_NON_FINITE,
                                 "step %ld: found a weight of %s that is %g, need them within %g",
                                 t->state.step, w->name, (double)p->value[w->offset + j],
                                 model_largest_weight);
    }
    return true;
}

/* ---- Evaluation ---- */

/* Adds the rows of the trainer's batch to a sum: loss and accuracy are not divided by the tokens
 * yet, `error` is the sum of the tokens' squared losses. */
static bool add_batch(Trainer *t, Evaluation *sum, Error *e) {
    take_rows(t, 0, t->batch->rows);
    t->tape->training = false;
    t->tape->no_grad = true;
    Forward f = {t->tape, t->model, &t->source, &t->target};
    const Prediction *p = nn_predict(&f, nn_hidden(&f), t->targets);
    bool ok = !tape_failed(t->tape, e);
    long tokens = ok ? batch_target_tokens(t->batch) : 0;
    for (long i = 0; i < tokens; i++) {
        sum->loss += p[i].loss;
        sum->error += p[i].loss * p[i].loss;
        sum->accuracy += p[i].likeliest == t->targets[i];
    }
    sum->tokens += tokens;
    tape_reset(t->tape);
    t->tape->no_grad = false;
    return ok;
}

bool trainer_evaluate_watched(Trainer *t, long rows, const EvaluationWatch *watch, Evaluation *v,
                              Error *e) {
    WANT(t);
    WANT(v);
    want_started(t, "trainer_evaluate");
    if (rows < 0) error_bug("trainer_evaluate: %ld rows, want at least 0", rows);
    *v = (Evaluation){0};
    if (rows == 0 || rows > t->task->held_out) rows = t->task->held_out;
    while (v->rows < rows) {
        long left = rows - v->rows;
        long wanted = left < t->micro_batch ? left : t->micro_batch;
        long count = task_spread_batch(t->task, rows, v->rows, wanted, t->batch);
        if (!add_batch(t, v, e)) return false;
        v->rows += count;
        if (watch && !watch->goes_on(watch->context, v->rows)) break;
    }
    if (v->tokens) {
        double n = (double)v->tokens;
        v->loss /= n;
        v->accuracy /= n;
        v->error = n > 1 ? sqrt(fmax(0, v->error / n - v->loss * v->loss) / (n - 1)) : INFINITY;
    }
    return check_finite(t->state.step, "a held-out loss", v->loss, e);
}

bool trainer_evaluate(Trainer *t, long rows, Evaluation *v, Error *e) {
    return trainer_evaluate_watched(t, rows, NULL, v, e);
}

long trainer_evaluation_rows(const Trainer *t) {
    enum { TOKENS = 3072, MIN_ROWS = 48 };
    long rows = TOKENS / t->task->max_T;
    return rows > MIN_ROWS ? rows : MIN_ROWS;
}

bool trainer_evaluation_due(const Trainer *t) {
    const TrainState *s = &t->state;
    return s->step > s->evaluated && s->step % t->eval_every == 0 && s->step < t->schedule.steps;
}

void trainer_evaluated(Trainer *t) {
    t->state.evaluated = t->state.step;
    t->state.loss_sum = 0;
    t->state.losses = 0;
}
