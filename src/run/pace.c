#include "run/pace.h"
#include "base/clock.h"
#include "decoding/decode.h"
#include "kernels/gemm.h"
#include "run/samples.h"
#include <math.h>
#include <stdlib.h>

enum { LEAST_STEPS = 10, MOST_STEPS = 1000000000 };

double pace_tokens(const TrainConfig *c) {
    const double SECONDS = 0.03,
                 SHARE = 0.4; /* of a step's time, in products; the rest of it is other work */
    long rows = c->batch * c->data.context, d = c->model.d_model;
    double layers = (double)(c->model.encoder_layers + c->model.decoder_layers), start = 0, now, products = 0;
    real *a = calloc((size_t)(rows * 5 * d + 4 * d * d), sizeof *a);
    if (!a) return 0;
    Gemm g = {
        GEMM_NN, .m = rows, .n = 4 * d, .k = d, .a = a, .b = a + rows * d, .c = a + rows * d + 4 * d * d};
    g.lda = d, g.ldb = g.ldc = 4 * d;
    do {
        gemm(&g);
        now = clock_seconds();
        if (start > 0)
            products++;
        else
            start = now; /* pages were new */
    } while (now < start + SECONDS);
    free(a);
    /* Forward, and twice as much backward; a layer's matrices have 12 d² weights, three times those of the product. */
    double a_second = products * (double)rows / (now - start) / (9 * layers);
    return SHARE * a_second * 60 * c->minutes;
}

/* Seconds of a text, by those of a part of it. Tokens beyond the context cost more where the window slides. */
static bool measure_text(const Trainer *t, double *seconds, Error *e) {
    enum { TOKENS = 20 };
    const Task *task = t->task;
    long given = t->model->config.positions->relative ? 1 : task->max_T;
    int32_t *ids = calloc((size_t)given + TOKENS, sizeof *ids);
    if (!ids) return error_set(e, STATUS_NO_MEMORY, "memory: %ld tokens", given);
    double start = clock_seconds();
    bool ok = decode_continue(t->tape, t->model, &(Sampler){0}, ids, given, TOKENS, NULL, NULL, e);
    *seconds = (double)samples_text_tokens(task) / TOKENS * (clock_seconds() - start);
    free(ids);
    return ok;
}

/* Seconds of all answers, and of those to longer sources, by those of some. */
static bool measure_answers(Trainer *t, const TaskOptions *o, double *seconds, Error *e) {
    const Task *task = t->task;
    double start = clock_seconds(), answers = (double)task->held_out, ignored;
    bool ok = samples_answers(t, t->micro_batch, false, &ignored, NULL, e);
    double each = (clock_seconds() - start) / (double)t->micro_batch;
    Task *longer = o ? samples_longer_task(t, o) : NULL;
    if (longer) answers += (double)longer->held_out * (double)longer->max_T / (double)task->max_T;
    task_free(longer);
    *seconds = answers * each;
    return ok;
}

bool pace_measure(Pace *p, Trainer *t, double seconds, Error *e) {
    Schedule schedule = t->schedule;
    TrainState state = t->state;
    StepResult step;
    double start = clock_seconds(), first = 0, now = start;
    long steps = 0;
    bool ok = true;
    t->schedule.rate = t->schedule.min_rate = 0;
    for (; ok && (steps < 3 || now - start < seconds); steps++) {
        ok = trainer_step(t, &step, e);
        now = clock_seconds();
        if (steps == 0) first = now; /* its pages were new */
    }
    t->schedule = schedule, t->state = state;
    optim_forget(&t->optimizer);
    p->step = (now - first) / (double)(steps - 1);
    return ok;
}

bool pace_measure_rest(Pace *p, Trainer *t, const TaskOptions *o, Error *e) {
    Evaluation v;
    double start = clock_seconds(), samples = 0;
    long rows = trainer_evaluation_rows(t);
    bool ok = trainer_evaluate(t, rows, &v, e);
    p->evaluation = clock_seconds() - start;
    if (t->task->max_S)
        ok = ok && measure_answers(t, o, &samples, e);
    else if (o)
        ok = ok && measure_text(t, &samples, e);
    p->after = p->evaluation * (double)t->task->held_out / (double)rows + samples;
    return ok;
}

long pace_steps(const Pace *p, double now, long made, long eval_every) {
    enum { EVALUATIONS = 10 };
    double slower = p->step_at_first > 0 ? p->step / p->step_at_first : 1;
    double left = p->end - now - slower * p->after, each = p->step;
    if (eval_every)
        each += p->evaluation / (double)eval_every;
    else
        left -= EVALUATIONS * p->evaluation;
    double steps = (double)made + fmax(0, left / each);
    return (long)fmax(LEAST_STEPS, fmin(steps, MOST_STEPS));
}

void pace_start(Pace *p, double now) {
    p->last = now, p->made = 0, p->step_at_first = p->step;
}

/* Its time is not that of a step. */
void pace_evaluated(Pace *p, double seconds) {
    p->last += seconds, p->evaluation = seconds;
}

/* The mean over about the last tenth of the steps, so that it follows a change of speed. */
static void measure_step(Pace *p, double now) {
    double seconds = now - p->last, weight = 10 / (10 + (double)p->made);
    p->step += weight * (seconds - p->step);
    p->last = now, p->made++;
}

/* The rate of the step if there were so many. */
static double rate_with(const Trainer *t, long steps) {
    Schedule schedule = t->schedule;
    schedule.steps = steps;
    return schedule_rate(&schedule, t->state.step);
}

/* If the rate of this step would have been another, none before was: in every schedule it begins to depend on the number of
 * steps at one step. Then the least number that leaves it is the last one. */
void pace_follow(Pace *p, Trainer *t, double now) {
    enum { SETTLED = 5 }; /* steps */
    long step = t->state.step, steps;
    if (p->end == 0 || p->fixed) return;
    measure_step(p, now);
    if (p->made < SETTLED) return;
    steps = pace_steps(p, now, step, t->eval_every);
    if (steps < t->schedule.warmup) steps = t->schedule.warmup;
    double rate = rate_with(t, t->steps);
    p->fixed = rate_with(t, steps) != rate;
    for (long most = t->steps; p->fixed && steps < most;) {
        long middle = steps + (most - steps) / 2;
        if (rate_with(t, middle) == rate)
            most = middle;
        else
            steps = middle + 1;
    }
    if (!p->fixed || steps < t->steps) t->schedule.steps = t->steps = steps;
}
