/* A run's measurements over its steps, and their charts. */
#ifndef RUN_RUN_CURVES_H
#define RUN_RUN_CURVES_H

#include "pictures/picture.h"
#include "run/metrics.h"
#include "tasks/yardsticks.h"

enum { HISTORY_ROOM = 512, CURVES = 5, CURVE_TEXT = 256 };

/* A series of values in fixed memory, initially {0}: when it is full, each two neighbours are replaced by
 * their mean. Each point is the mean of `merged` values, the last perhaps of fewer. */
typedef struct History {
    long count, merged, last; /* points; values in a full point, 0: 1; values in the last point */
    double x[HISTORY_ROOM], y[HISTORY_ROOM];
} History;

/* Adds y at x; x must not decrease. */
void history_add(History *h, double x, double y);

/* Measured at every step: the charts show means of neighbours if they are many. */
typedef enum StepCurve { CURVE_LOSS, CURVE_RATE, CURVE_NORM, CURVE_SPEED, STEP_CURVES } StepCurve;

/* Measured at every evaluation: the charts show all. NAN where one was not measured. */
typedef enum EvaluationCurve {
    CURVE_STEP,
    CURVE_VAL_LOSS,
    CURVE_VAL_ACCURACY,
    CURVE_VAL_EXACT,
    EVALUATION_CURVES,
} EvaluationCurve;

/* Initially {0}; freed with curves_free. */
typedef struct RunCurves {
    double characters; /* per token: losses are divided by them; 0: not a text */
    Yardsticks yardsticks;
    History history[STEP_CURVES];
    double *evaluation[EVALUATION_CURVES]; /* [evaluations] */
    long evaluations, room[EVALUATION_CURVES];
} RunCurves;

/* A loss in nats per token, as the charts show it. */
double curves_loss(const RunCurves *c, double loss);

/* Adds a step's value if it is finite; an evaluation. */
void curves_note(RunCurves *c, StepCurve kind, long step, double value);
void curves_note_evaluation(RunCurves *c, const Metrics *m);

void curves_free(RunCurves *c);

/* The charts, and the arrays that they point into. */
typedef struct RunPictures {
    Picture picture[CURVES];
    int count;
    Series loss[2 + YARDSTICKS], accuracy[2], single[3];
    double yard_x[2], yard_y[YARDSTICKS][2];
    char title[CURVES][CURVE_TEXT], text[CURVES][CURVE_TEXT];
} RunPictures;

/* Draws everything up to this step into p, which is valid as long as c. */
void curves_draw(const RunCurves *c, long step, RunPictures *p);

#endif
