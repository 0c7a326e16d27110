/* A run's measurements over its steps, and their charts. */
#ifndef RUN_RUN_CURVES_H
#define RUN_RUN_CURVES_H

#include "explain/pictures/picture.h"
#include "run/history.h"
#include "tasks/text_task.h"

enum { CURVES = 5, CURVE_TEXT = 256, YARDSTICKS = 3 };

typedef enum CurveKind {
    CURVE_LOSS, /* at every step */
    CURVE_RATE,
    CURVE_NORM,
    CURVE_SPEED,
    CURVE_VAL_LOSS, /* at every evaluation */
    CURVE_VAL_ACCURACY,
    CURVE_VAL_EXACT,
    CURVE_TRAIN_LOSS,
    CURVE_TRAIN_ACCURACY,
    CURVE_KINDS,
} CurveKind;

/* Initially {0}. */
typedef struct RunCurves {
    bool text; /* a language model: characters, by position */
    Yardsticks yardsticks;
    History history[CURVE_KINDS];
} RunCurves;

/* Adds a value if it is finite. */
void curves_note(RunCurves *c, CurveKind kind, long step, double value);

/* The charts, and the arrays that they point into. */
typedef struct RunPictures {
    Picture picture[CURVES];
    int count;
    Series loss[3 + YARDSTICKS], accuracy[3], single[3];
    double yard_x[2], yard_y[YARDSTICKS][2];
    char text[CURVES][CURVE_TEXT];
} RunPictures;

/* Draws everything up to this step into p, which is valid as long as c. */
void curves_draw(const RunCurves *c, long step, RunPictures *p);

#endif
