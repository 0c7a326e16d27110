/* What a training run measures over its steps, and the pictures of that. */
#ifndef REPORT_RUN_CURVES_H
#define REPORT_RUN_CURVES_H

#include "explain/pictures/picture.h"
#include "run/history.h"
#include "run/judge.h"
#include "tasks/text_task.h"

enum { CURVES = 6, CURVE_TEXT = 256, YARDSTICKS = 3, CLASS_LABEL = 24 };

typedef enum CurveKind {
    CURVE_LOSS, /* of every step */
    CURVE_RATE,
    CURVE_NORM,
    CURVE_SPEED,
    CURVE_VAL_LOSS, /* of every evaluation */
    CURVE_VAL_ACCURACY,
    CURVE_VAL_EXACT,
    CURVE_TRAIN_LOSS,
    CURVE_TRAIN_ACCURACY,
    CURVE_KINDS,
} CurveKind;

/* Starts as {0}. */
typedef struct RunCurves {
    bool text;    /* of a language model: in characters, by position */
    long longest; /* answer, or position */
    Yardsticks yardsticks;
    History history[CURVE_KINDS];
    Judgement held_out; /* the newest */
} RunCurves;

/* Notes a value, unless it is not finite. */
void curves_note(RunCurves *c, CurveKind kind, long step, double value);

/* The pictures, and what they are made of. */
typedef struct RunPictures {
    Picture picture[CURVES];
    int count;
    Series loss[3 + YARDSTICKS], accuracy[3], single[3];
    double yard_x[2], yard_y[YARDSTICKS][2];
    char text[CURVES][CURVE_TEXT];
    char label[CLASSES][CLASS_LABEL];
    const char *labels[CLASSES];
    double by_class[CLASSES];
} RunPictures;

/* Draws everything up to this step into p, which is as good as c is alive. */
void curves_draw(const RunCurves *c, long step, RunPictures *p);

#endif
