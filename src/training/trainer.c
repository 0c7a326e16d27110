#include "training/trainer.h"
#include "autograd/op.h"
#include "nn/model_file.h"
#include "training/parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void trainer_take(Trainer *t, long first, long count) {
    const Batch *b = t->batch;
    tokens_pack(&t->source, count, b->source_start + first, b->source);
    tokens_pack(&t->target, count, b->target_start + first, b->target_in);
    t->targets = b->target_out + b->target_start[first];
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
    t->part = trainer_part_rows(t->tape, t->model, t->rows, task->max_S, task->max_T);
    t->batch = task_batch(task, t->rows * t->accumulate, e);
    return t->batch && tokens_new(&t->source, t->part, t->part * task->max_S, e) &&
           tokens_new(&t->target, t->part, t->part * task->max_T, e);
}

static Tensor *loss_of(Trainer *t, const Tokens *source, const Tokens *target) {
    Forward f = {t->tape, t->model, source, target};
    return nn_loss(&f, nn_hidden(&f), t->targets);
}

static const Prediction *predict(Trainer *t, const Tokens *source, const Tokens *target) {
    Forward f = {t->tape, t->model, source, target};
    return nn_predict(&f, nn_hidden(&f), t->targets);
}

/* Bytes of the tape in the largest training step and the largest evaluation there can be, every row as long
 * as it gets: found by planning both. */
static size_t plan(Trainer *t) {
    Tokens source = tokens_outline(t->part, t->task->max_S), target = tokens_outline(t->part, t->task->max_T);
    tape_plan(t->tape);
    tape_forget_peak(t->tape);
    t->tape->training = true;
    tape_backward(t->tape, loss_of(t, &source, &target));
    tape_plan(t->tape);
    t->tape->training = false;
    t->tape->no_grad = true;
    predict(t, &source, &target);
    t->tape->no_grad = false;
    tape_reset(t->tape);
    return tape_peak(t->tape);
}

bool trainer_start(Trainer *t, Error *e) {
    if (take_memory(t, e) && tape_reserve(t->tape, plan(t), e)) return true;
    trainer_stop(t);
    return false;
}

size_t trainer_bytes(const Trainer *of, const ModelConfig *c, double dropout, Error *e) {
    const Task *task = of->task;
    if (!rows_fit(of, e)) return 0;
    Model *m = model_outline(c, true, e);
    if (!m) return 0;
    m->dropout = dropout;
    Trainer t = {.model = m, .task = task, .tape = tape_new()};
    t.part = trainer_part_rows(t.tape, m, of->rows, task->max_S, task->max_T);
    /* Token ids: those of all rows of a step, and of a part with positions and places. */
    size_t rows = (size_t)(of->rows * of->accumulate) * (size_t)(task->max_S + 2 * task->max_T);
    size_t part = (size_t)t.part * (size_t)(3 * task->max_S + 3 * task->max_T);
    size_t bytes = model_bytes(m) + plan(&t) + (rows + part) * sizeof(int32_t);
    /* Of as many answers, or of one text: decoded when training is over. */
    long answers = task_is_language_model(task) ? 1 : t.part;
    bytes += kv_cache_bytes(c, answers, task->max_T, answers * task->max_S);
    /* Pages that nobody writes take no memory: sgd has no second moments. */
    if (of->optimizer.kind == OPTIM_SGD) bytes -= parameters_bytes(&m->parameters, false);
    trainer_stop(&t);
    model_free(m);
    return bytes;
}

void trainer_stop(Trainer *t) {
    tape_free(t->tape);
    batch_free(t->batch);
    tokens_free(&t->source);
    tokens_free(&t->target);
    t->tape = NULL, t->batch = NULL, t->targets = NULL;
}

static bool check_loss(const Trainer *t, double loss, Error *e) {
    if (isfinite(loss)) return true;
    const Node *first = tape_first_non_finite(t->tape);
    return error_set(e, STATUS_NON_FINITE,
                     "step %ld: found a loss that is %s, first in %s (operation %ld), need a finite one",
                     t->optimizer.step + 1, isnan(loss) ? "not a number" : "infinite",
                     first ? first->op->name : "its sum", first ? first->index : t->tape->nodes);
}

static long parts_of(const Trainer *t) {
    return (t->batch->rows + t->part - 1) / t->part;
}

/* Adds the gradient of one part of the step's rows, weighted by its share of the step's tokens, so that the sum is the
 * gradient of the mean over all of them. */
static bool accumulate(Trainer *t, long part, long all_tokens, double *loss, Error *e) {
    long first = part * t->part, left = t->batch->rows - first;
    trainer_take(t, first, left < t->part ? left : t->part);
    double share = (double)t->target.sequences.total_rows / (double)all_tokens;
    t->tape->step = (uint64_t)(t->optimizer.step * parts_of(t) + part);
    t->tape->seed = t->seed;
    t->tape->training = true;
    Tensor *mean = loss_of(t, &t->source, &t->target);
    bool ok = !tape_failed(t->tape, e);
    if (ok) {
        *loss += share * (double)mean->data[0];
        ok = check_loss(t, *loss, e);
    }
    if (ok) {
        tape_backward_from(t->tape, mean, &(real){(real)share});
        ok = !tape_failed(t->tape, e);
    }
    tape_reset(t->tape);
    return ok;
}

void trainer_draw(Trainer *t, StepResult *result) {
    uint64_t step = (uint64_t)t->optimizer.step + 1;
    task_training_batch(t->task, step, 0, t->rows * t->accumulate, t->batch);
    *result = (StepResult){.tokens = batch_target_tokens(t->batch)};
}

bool trainer_gradient(Trainer *t, StepResult *result, Error *e) {
    parameters_clear_grad(&t->model->parameters);
    for (long part = 0, parts = parts_of(t); part < parts && !result->given_up; part++) {
        if (!accumulate(t, part, result->tokens, &result->loss, e)) return false;
        if (t->between && part + 1 < parts) result->given_up = !t->between(t->context, part + 1, parts);
    }
    parameters_settle_grad(&t->model->parameters);
    return true;
}

bool trainer_update(Trainer *t, StepResult *result, Error *e) {
    long step = t->optimizer.step + 1;
    result->learning_rate = schedule_rate(&t->schedule, step);
    result->grad_norm = optim_step(&t->optimizer, &t->model->parameters, result->learning_rate, 1);
    if (!isfinite(result->grad_norm))
        return error_set(e, STATUS_NON_FINITE,
                         "step %ld: found a gradient whose norm is %s, need a finite one", step,
                         isnan(result->grad_norm) ? "not a number" : "infinite");
    return true;
}

bool trainer_step(Trainer *t, StepResult *result, Error *e) {
    trainer_draw(t, result);
    return trainer_gradient(t, result, e) && (result->given_up || trainer_update(t, result, e));
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

bool trainer_evaluate(Trainer *t, long rows, Evaluation *result, Error *e) {
    long correct = 0, count;
    double sum = 0;
    *result = (Evaluation){0};
    if (rows == 0 || rows > t->task->held_out) rows = t->task->held_out;
    t->tape->training = false;
    t->tape->no_grad = true;
    bool ok = true;
    for (long first = 0; ok && first < rows; first += count) {
        long wanted = rows - first < t->part ? rows - first : t->part;
        count = task_held_out_batch(t->task, first, wanted, t->batch);
        trainer_take(t, 0, count);
        const Prediction *row = predict(t, &t->source, &t->target);
        ok = !tape_failed(t->tape, e);
        long tokens = batch_target_tokens(t->batch);
        double loss = 0;
        for (long i = 0; ok && i < tokens; i++) {
            loss += row[i].loss;
            correct += row[i].likeliest == t->targets[i];
        }
        /* A batch's mean has the precision of the training loss. */
        sum += (double)(real)(loss / (double)tokens) * (double)tokens;
        result->tokens += tokens;
        tape_reset(t->tape);
    }
    t->tape->no_grad = false;
    result->loss = result->tokens ? sum / (double)result->tokens : 0;
    result->accuracy = result->tokens ? (double)correct / (double)result->tokens : 0;
    return ok;
}
