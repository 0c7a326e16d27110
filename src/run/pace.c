#include "run/pace.h"
#include "base/clock.h"
#include "decoding/decode.h"
#include "kernels/gemm.h"
#include "run/samples.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Seconds of a text, by those of a part of it. */
static bool measure_text(const Trainer *t, double *seconds, Error *e) {
    enum { TOKENS = 20 };
    const Task *task = t->task;
    int32_t ids[1 + TOKENS] = {0};
    double start = clock_seconds();
    bool ok = decode_continue(t->tape, t->model, &(Sampler){0}, ids, 1, TOKENS, NULL, NULL, e);
    *seconds = (double)samples_text_tokens(task) / TOKENS * (clock_seconds() - start);
    return ok;
}

/* Seconds of all answers, and of those to longer sources, by those of some. */
static bool measure_answers(Trainer *t, const TaskOptions *o, double *seconds, Error *e) {
    const Task *task = t->task;
    double start = clock_seconds(), answers = (double)task->held_out, ignored;
    bool ok = samples_answers(t, t->micro_batch, false, &ignored, NULL, e);
    double each = (clock_seconds() - start) / (double)t->micro_batch;
    /* An untrained model seldom ends an answer; a trained one ends it, on the whole, as early as the right answer does. */
    if (ok) each *= (double)batch_target_tokens(t->batch) / (double)(t->batch->rows * task->max_T);
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
    p->next = now + (p->end - now) / 8;
    p->slack = (p->end - now) / 100;
}

/* Its time is not that of a step. */
void pace_evaluated(Pace *p, double seconds) {
    p->last += seconds, p->evaluation = seconds;
}

/* The mean over about the last tenth of the steps, so that it follows a change of speed. A step that takes very long was
 * suspended, by Ctrl-Z or a laptop's lid: the end moves. */
static void measure_step(Pace *p, double now) {
    double seconds = now - p->last, weight = 10 / (10 + (double)p->made);
    bool suspended = p->made > 0 && seconds > 2 + 10 * p->step;
    if (suspended)
        p->end += seconds - p->step;
    else
        p->step += weight * (seconds - p->step);
    p->last = now, p->made++;
}

/* From the next step on, the schedule has so many steps, as long as there is room for its plans. */
static void change_steps(Pace *p, Trainer *t, long steps) {
    Schedule *s = &t->schedule;
    const char *before = s->plans ? s->plans : "";
    char plan[PLANS_TEXT];
    int n = snprintf(plan, sizeof plan, "%s%s%ld:%ld", before, *before ? "," : "", t->state.step, s->steps);
    if (n >= (int)sizeof plan) return;
    if (s->kind->falls) s->plans = strcpy(p->plans, plan);
    s->steps = steps;
}

void pace_follow(Pace *p, Trainer *t, double now) {
    enum { SETTLED = 5 }; /* steps */
    if (p->end == 0) return;
    measure_step(p, now);
    if (p->made < SETTLED || now < p->next) return;
    long steps = pace_steps(p, now, t->state.step, t->eval_every);
    p->next = now + (double)(steps - t->state.step) * p->step / 2;
    if ((double)labs(steps - t->schedule.steps) * p->step > p->slack) change_steps(p, t, steps);
}
