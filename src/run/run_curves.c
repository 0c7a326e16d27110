#include "run/run_curves.h"
#include <math.h>

void curves_note(RunCurves *c, CurveKind kind, long step, double value) {
    if (isfinite(value)) history_add(&c->history[kind], (double)step, value);
}

static Series series(const RunCurves *c, CurveKind kind, const char *name) {
    const History *h = &c->history[kind];
    bool marked = kind == CURVE_VAL_LOSS || kind == CURVE_VAL_ACCURACY;
    return (Series){.name = name, .count = h->count, .x = h->x, .y = h->y, .marked = marked};
}

/* First and last value of each series, in words. */
static void describe(char out[CURVE_TEXT], const Series *s, long count) {
    size_t used = 0;
    *out = 0;
    for (long i = 0; i < count && used < CURVE_TEXT; i++)
        if (s[i].count)
            used += (size_t)snprintf(out + used, CURVE_TEXT - used, "%s%s: from %.4g to %.4g", i ? "; " : "",
                                     s[i].name, s[i].y[0], s[i].y[s[i].count - 1]);
}

static Picture *add_chart(RunPictures *p, const char *title, const char *y_name, const Series *s,
                          long count) {
    int i = p->count++;
    describe(p->text[i], s, count);
    p->picture[i] = (Picture){PICTURE_CHART, title, p->text[i],
                              .chart = {.x_name = "step", .y_name = y_name, .series = s, .count = count}};
    return &p->picture[i];
}

static void draw_loss(const RunCurves *c, long step, RunPictures *p) {
    static const char *const names[YARDSTICKS] = {"uniform guess", "unigram entropy", "bigram entropy"};
    long count = 0;
    p->loss[count++] = series(c, CURVE_LOSS, "training");
    p->loss[count++] = series(c, CURVE_TRAIN_LOSS, "next training batch");
    p->loss[count++] = series(c, CURVE_VAL_LOSS, "held-out");
    p->yard_x[1] = (double)step;
    const double loss[YARDSTICKS] = {c->yardsticks.uniform, c->yardsticks.unigram, c->yardsticks.bigram};
    for (int i = 0; i < YARDSTICKS; i++) {
        if (loss[i] <= 0) continue;
        p->yard_y[i][0] = p->yard_y[i][1] = loss[i];
        p->loss[count++] = (Series){.name = names[i], .count = 2, .x = p->yard_x, .y = p->yard_y[i]};
    }
    add_chart(p, "Loss", c->text ? "nats per character" : "nats per token", p->loss, count);
}

static void draw_accuracy(const RunCurves *c, RunPictures *p) {
    long count = 0;
    p->accuracy[count++] = series(c, CURVE_TRAIN_ACCURACY, "next training batch");
    p->accuracy[count++] = series(c, CURVE_VAL_ACCURACY, "held-out");
    if (c->history[CURVE_VAL_EXACT].count) {
        p->accuracy[count] = series(c, CURVE_VAL_EXACT, "exact answers");
        p->accuracy[count++].points = true;
    }
    add_chart(p, "Token accuracy", NULL, p->accuracy, count)->chart.y_high = 1;
}

void curves_draw(const RunCurves *c, long step, RunPictures *p) {
    *p = (RunPictures){0};
    draw_loss(c, step, p);
    draw_accuracy(c, p);
    p->single[0] = series(c, CURVE_RATE, "learning rate");
    p->single[1] = series(c, CURVE_NORM, "gradient norm");
    p->single[2] = series(c, CURVE_SPEED, "tokens per second");
    add_chart(p, "Learning rate", NULL, &p->single[0], 1);
    add_chart(p, "Gradient norm before clipping", NULL, &p->single[1], 1)->chart.log_y = true;
    add_chart(p, "Training tokens per second", NULL, &p->single[2], 1);
}
