#include "run/pace.h"
#include "base/clock.h"
#include "kernels/gemm.h"
#include "run/samples.h"
#include <math.h>
#include <stdlib.h>

Pace pace_of(double began, double minutes) {
    if (minutes == 0) return (Pace){0};
    return (Pace){.end = began + 60 * minutes, .budget = 6 * minutes};
}

double pace_tokens(const TrainConfig *c) {
    const double SECONDS = 0.03;
    const double SHARE = 0.4; /* of a step's time, in products; the rest of it is other work */
    long rows = c->batch * c->data.context, d = c->model.d_model;
    double layers = (double)(c->model.encoder_layers + c->model.decoder_layers);
    real *a = calloc((size_t)(rows * 5 * d + 4 * d * d), sizeof *a);
    if (!a) return 0;
    real *b = a + rows * d;
    Gemm g = {GEMM_NN, rows, 4 * d, d, a, b, b + 4 * d * d, .lda = d, .ldb = 4 * d, .ldc = 4 * d};
    gemm(&g); /* its pages are new */
    double start = clock_seconds(), now = start, products = 0;
    for (; now < start + SECONDS; products++) {
        gemm(&g);
        now = clock_seconds();
    }
    free(a);
    /* Forward, and twice as much backward; a layer's matrices have 12 d² weights, three times those
     * of the product. */
    double tokens_per_second = products * (double)rows / (now - start) / (9 * layers);
    return SHARE * tokens_per_second * 60 * c->minutes;
}

bool pace_measure(Pace *p, Trainer *t, double seconds, Error *e) {
    enum { MIN_STEPS = 3 };
    Schedule schedule = t->schedule;
    TrainState state = t->state;
    StepResult step;
    double start = clock_seconds(), first = 0, now = start;
    long steps = 0;
    bool ok = true;
    t->schedule.rate = t->schedule.min_rate = 0;
    while (ok && (steps < MIN_STEPS || now - start < seconds)) {
        ok = trainer_step(t, &step, e);
        now = clock_seconds();
        if (steps == 0) first = now; /* its pages were new */
        steps++;
    }
    t->schedule = schedule;
    t->state = state;
    optim_forget(&t->optimizer);
    p->step = (now - first) / (double)(steps - 1);
    return ok;
}

bool pace_measure_rest(Pace *p, Trainer *t, Error *e) {
    const Task *task = t->task;
    Evaluation v;
    double start = clock_seconds(), ignored;
    long answers = t->micro_batch;
    double rows = fmin((double)trainer_evaluation_rows(t), (double)task->held_out);
    if (!trainer_evaluate(t, (long)rows, &v, e)) return false;
    double evaluated = clock_seconds();
    p->evaluation = evaluated - start;
    p->row = p->evaluation / rows;
    if (!task->max_S) return true;
    if (!samples_answers(t, &answers, NULL, &ignored, e)) return false;
    /* An untrained model seldom ends an answer; a trained one ends it about where the right answer
     * ends. */
    double share = (double)batch_target_tokens(t->batch) / (double)(t->batch->rows * task->max_T);
    p->answer = share * (clock_seconds() - evaluated) / (double)t->batch->rows;
    return true;
}

long pace_steps(const Pace *p, const Task *task, double now, long made, long eval_every) {
    enum { MIN_STEPS = 10, MAX_STEPS = 1000000000, EVALUATIONS = 10 };
    double left = p->end - now - fmin(p->budget, (p->row + p->answer) * (double)task->held_out);
    double each = p->step;
    if (eval_every)
        each += p->evaluation / (double)eval_every;
    else
        left -= EVALUATIONS * p->evaluation;
    double steps = (double)made + fmax(MIN_STEPS, left / each);
    return (long)fmin(steps, MAX_STEPS);
}

bool pace_is_late(const Pace *p, double now) {
    return p->end > 0 && now > p->end;
}

long pace_rows(const Pace *p, const Task *task, double seconds) {
    const double MAX_TOKENS = 1e6;
    double fitting = p->end > 0 ? p->budget / seconds : MAX_TOKENS / (double)task->max_T;
    return (long)fmin((double)task->held_out, fmax(1, fitting));
}
