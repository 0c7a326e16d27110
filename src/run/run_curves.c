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

/* In words: where every series began, and where it is. */
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
    p->loss[count++] = series(c, CURVE_LOSS, "training, every step");
    p->loss[count++] = series(c, CURVE_TRAIN_LOSS, "training, rows to come");
    p->loss[count++] = series(c, CURVE_VAL_LOSS, "held-out");
    p->yard_x[1] = (double)step;
    const double loss[YARDSTICKS] = {c->yardsticks.uniform, c->yardsticks.unigram, c->yardsticks.bigram};
    for (int i = 0; i < YARDSTICKS; i++) {
        if (loss[i] <= 0) continue;
        p->yard_y[i][0] = p->yard_y[i][1] = loss[i];
        p->loss[count++] = (Series){.name = names[i], .count = 2, .x = p->yard_x, .y = p->yard_y[i]};
    }
    add_chart(p, "Loss", c->text ? "nats a character" : "nats a token", p->loss, count);
}

static void draw_accuracy(const RunCurves *c, RunPictures *p) {
    long count = 0;
    p->accuracy[count++] = series(c, CURVE_TRAIN_ACCURACY, "training, rows to come");
    p->accuracy[count++] = series(c, CURVE_VAL_ACCURACY, "held-out");
    if (c->history[CURVE_VAL_EXACT].count) {
        p->accuracy[count] = series(c, CURVE_VAL_EXACT, "whole answers");
        p->accuracy[count++].points = true;
    }
    add_chart(p, "Accuracy: share of tokens foretold", NULL, p->accuracy, count)->chart.y_high = 1;
}

/* Held-out results by length of an answer, or by position in a text. */
static void draw_classes(const RunCurves *c, RunPictures *p) {
    long count = 0;
    for (int i = 0; i < CLASSES; i++) {
        long first, last, tokens = c->held_out.class[i].tokens;
        judge_class_range(i, c->longest, &first, &last);
        if (!tokens) continue;
        snprintf(p->label[count], CLASS_LABEL, first == last ? "%ld" : "%ld–%ld", first, last);
        p->labels[count] = p->label[count];
        p->by_class[count++] =
            (c->text ? c->held_out.class[i].loss : 100 * c->held_out.class[i].right) / (double)tokens;
    }
    if (!count) return;
    char *text = p->text[p->count];
    size_t used = 0;
    for (long i = 0; i < count && used < CURVE_TEXT; i++)
        used += (size_t)snprintf(text + used, CURVE_TEXT - used, "%s%s: %.3g", i ? ", " : "", p->labels[i],
                                 p->by_class[i]);
    p->picture[p->count++] = (Picture){
        PICTURE_BARS,
        c->text ? "Held-out loss by position in the text" : "Held-out accuracy by length of the answer", text,
        .bars = {c->text ? "nats a character" : "per cent of tokens", p->labels, p->by_class, count}};
}

void curves_draw(const RunCurves *c, long step, RunPictures *p) {
    *p = (RunPictures){0};
    draw_loss(c, step, p);
    draw_accuracy(c, p);
    draw_classes(c, p);
    p->single[0] = series(c, CURVE_RATE, "learning rate");
    p->single[1] = series(c, CURVE_NORM, "gradient's norm");
    p->single[2] = series(c, CURVE_SPEED, "tokens a second");
    add_chart(p, "Learning rate", NULL, &p->single[0], 1);
    add_chart(p, "Gradient's norm, before clipping", NULL, &p->single[1], 1)->chart.log_y = true;
    add_chart(p, "Tokens a second, evaluations not counted", NULL, &p->single[2], 1);
}
