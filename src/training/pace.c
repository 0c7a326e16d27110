#include "training/pace.h"
#include "base/clock.h"
#include <string.h>

enum { EVALUATIONS = 9, LEAST = 10 };

long pace_steps(Trainer *t, double seconds, Error *e) {
    Schedule schedule = t->schedule;
    StepResult step;
    Evaluation v;
    double start = clock_seconds(), first = 0, now = start;
    long steps = 0;
    bool ok = true;
    t->schedule = (Schedule){.kind = SCHEDULE_CONSTANT, .rate = 0};
    for (; ok && (steps < 3 || now - start < seconds / 40); steps++) {
        ok = trainer_step(t, &step, e);
        now = clock_seconds();
        if (steps == 0) first = now; /* its pages were new */
    }
    double per_step = steps > 1 ? (now - first) / (double)(steps - 1) : now - start;
    ok = ok && trainer_evaluate(t, trainer_evaluation_rows(t), &v, e);
    double per_evaluation = clock_seconds() - now;
    t->schedule = schedule;
    optim_forget(&t->optimizer);
    double left = seconds - (clock_seconds() - start) - EVALUATIONS * per_evaluation;
    steps = left / per_step < 1e9 ? (long)(left / per_step) : 1000000000;
    return !ok ? 0 : steps > LEAST ? steps : LEAST;
}
