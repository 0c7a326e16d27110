#include "explain/fit.h"
#include <math.h>

bool fit_start(Fit *f, uint64_t seed, Error *e) {
    f->tape = tape_new();
    f->optimizer = optim_default(OPTIM_ADAMW);
    if (!parameters_allocate(&f->weights, true, e) || !optim_start(&f->optimizer, &f->weights, e))
        return false;
    parameters_init(&f->weights, seed);
    return true;
}

void fit_stop(Fit *f) {
    optim_stop(&f->optimizer);
    parameters_free(&f->weights);
    tape_free(f->tape);
    f->tape = NULL;
}

bool fit_step(Fit *f, Tensor *loss, double rate, Error *e) {
    if (tape_failed(f->tape, e)) return false;
    parameters_clear_grad(&f->weights);
    tape_backward(f->tape, loss);
    if (tape_failed(f->tape, e)) return false;
    parameters_zero_unreached(&f->weights);
    double norm = optim_step(&f->optimizer, &f->weights, rate, 1);
    tape_reset(f->tape);
    return isfinite(norm) ||
           error_set(e, STATUS_NON_FINITE, "found a gradient that is not finite, need a finite one");
}
