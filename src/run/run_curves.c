#include "run/run_curves.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>

static void halve(History *h) {
    for (long i = 0; i < h->count / 2; i++) {
        h->x[i] = (h->x[2 * i] + h->x[2 * i + 1]) / 2;
        h->y[i] = (h->y[2 * i] + h->y[2 * i + 1]) / 2;
    }
    h->count /= 2;
    h->merged *= 2;
    h->last = h->merged;
}

void history_add(History *h, double x, double y) {
    if (!h->merged) h->merged = h->last = 1;
    if (h->count == HISTORY_ROOM && h->last == h->merged) halve(h);
    if (h->count == 0 || h->last == h->merged) h->x[h->count] = h->y[h->count] = 0, h->count++, h->last = 0;
    long i = h->count - 1;
    h->last++;
    h->x[i] += (x - h->x[i]) / (double)h->last;
    h->y[i] += (y - h->y[i]) / (double)h->last;
}

double curves_loss(const RunCurves *c, double loss) {
    return c->characters > 0 ? loss / c->characters : loss;
}

void curves_note(RunCurves *c, StepCurve kind, long step, double value) {
    if (kind == CURVE_LOSS) value = curves_loss(c, value);
    if (isfinite(value)) history_add(&c->history[kind], (double)step, value);
}

void curves_note_evaluation(RunCurves *c, const Metrics *m) {
    const double value[EVALUATION_CURVES] = {(double)m->step, curves_loss(c, m->val_loss), m->val_accuracy,
                                             m->val_exact};
    for (int i = 0; i < EVALUATION_CURVES; i++) {
        c->evaluation[i] = array_grown(c->evaluation[i], c->evaluations, &c->room[i], sizeof **c->evaluation);
        c->evaluation[i][c->evaluations] = value[i];
    }
    c->evaluations++;
}

void curves_free(RunCurves *c) {
    for (int i = 0; i < EVALUATION_CURVES; i++) free(c->evaluation[i]);
}

static Series of_steps(const RunCurves *c, StepCurve kind, const char *name) {
    const History *h = &c->history[kind];
    return (Series){.name = name, .count = h->count, .x = h->x, .y = h->y};
}

/* A line where every evaluation has a value, else points. */
static Series of_evaluations(const RunCurves *c, EvaluationCurve kind, const char *name) {
    bool all = kind == CURVE_VAL_LOSS || kind == CURVE_VAL_ACCURACY;
    return (Series){.name = name,
                    .count = c->evaluations,
                    .x = c->evaluation[CURVE_STEP],
                    .y = c->evaluation[kind],
                    .marked = all,
                    .points = !all};
}

/* First and last value of each series, in words. */
static void describe(char out[CURVE_TEXT], const Series *s, long count) {
    size_t used = 0;
    *out = 0;
    for (long i = 0; i < count && used < CURVE_TEXT; i++) {
        long first = 0, last = s[i].count - 1;
        while (first < last && !isfinite(s[i].y[first])) first++;
        while (last > first && !isfinite(s[i].y[last])) last--;
        if (s[i].count)
            used += (size_t)snprintf(out + used, CURVE_TEXT - used, "%s%s: from %.4g to %.4g", i ? "; " : "",
                                     s[i].name, s[i].y[first], s[i].y[last]);
    }
}

/* `merged`: steps of which a point of training is the mean; 1 or less: none are merged. */
static Picture *add_chart(RunPictures *p, const char *title, long merged, const char *y_name, const Series *s,
                          long count) {
    int i = p->count++;
    describe(p->text[i], s, count);
    snprintf(p->title[i], CURVE_TEXT, merged > 1 ? "%s (training: means of %ld steps)" : "%s", title, merged);
    p->picture[i] = (Picture){PICTURE_CHART, p->title[i], p->text[i],
                              .chart = {.x_name = "step", .y_name = y_name, .series = s, .count = count}};
    return &p->picture[i];
}

static void draw_loss(const RunCurves *c, long step, RunPictures *p) {
    long count = 0;
    p->loss[count++] = of_steps(c, CURVE_LOSS, "training");
    p->loss[count++] = of_evaluations(c, CURVE_VAL_LOSS, "held-out");
    p->yard_x[1] = (double)step;
    for (int i = 0; i < c->yardsticks.count; i++) {
        p->yard_y[i][0] = p->yard_y[i][1] = curves_loss(c, c->yardsticks.of[i].loss);
        p->loss[count++] =
            (Series){.name = c->yardsticks.of[i].name, .count = 2, .x = p->yard_x, .y = p->yard_y[i]};
    }
    add_chart(p, "Loss", c->history[CURVE_LOSS].merged,
              c->characters > 0 ? "nats per character" : "nats per token", p->loss, count);
}

static void draw_accuracy(const RunCurves *c, RunPictures *p) {
    long count = 0;
    p->accuracy[count++] = of_evaluations(c, CURVE_VAL_ACCURACY, "held-out");
    bool exact = false;
    for (long i = 0; i < c->evaluations; i++) exact |= isfinite(c->evaluation[CURVE_VAL_EXACT][i]);
    if (exact) p->accuracy[count++] = of_evaluations(c, CURVE_VAL_EXACT, "exact answers");
    add_chart(p, "Token accuracy", 0, NULL, p->accuracy, count)->chart.y_high = 1;
}

void curves_draw(const RunCurves *c, long step, RunPictures *p) {
    *p = (RunPictures){0};
    draw_loss(c, step, p);
    draw_accuracy(c, p);
    p->single[0] = of_steps(c, CURVE_RATE, "learning rate");
    p->single[1] = of_steps(c, CURVE_NORM, "gradient norm");
    p->single[2] = of_steps(c, CURVE_SPEED, "tokens per second");
    long merged = c->history[CURVE_RATE].merged;
    add_chart(p, "Learning rate", merged, NULL, &p->single[0], 1);
    add_chart(p, "Gradient norm before clipping", merged, NULL, &p->single[1], 1)->chart.log_y = true;
    add_chart(p, "Training tokens per second", merged, NULL, &p->single[2], 1);
}
