#include "base/arena.h"
#include "base/random.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/gradcheck.h"
#include "check/grading/model_pass.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

/* The current parameter: check cases have no context argument. */
static struct Probe {
    ModelPass *pass;
    const Parameter *parameter;
    long count;
    real *start, *direction; /* [count] w₀ and v */
    real unit;               /* u */
    long samples, sample[MAX_SAMPLES];
} probe;

enum { DIRECTION, ELEMENTS, PARTS };

static real *weights(void) {
    return probe.pass->model->parameters.value + probe.parameter->offset;
}

static real element(const Tensor *x, long k) {
    return x->data[k * x->stride[0]];
}

/* Moves the weights and outputs 0. The model is recorded after it. */
static void probe_forward(Node *n) {
    real s = probe.unit * (n->in[DIRECTION]->data[0] - 1), *w = weights();
    for (long i = 0; i < probe.count; i++) w[i] = probe.start[i] + s * probe.direction[i];
    for (long k = 0; k < probe.samples; k++)
        w[probe.sample[k]] += probe.unit * (element(n->in[ELEMENTS], k) - 1);
    n->out->data[0] = 0;
}

/* It is recorded first and so runs last, when the weights have their gradient. */
static void probe_backward(Node *n) {
    Parameters *all = &probe.pass->model->parameters;
    parameters_zero_unreached(all);
    const real *dw = all->grad + probe.parameter->offset;
    double sum = 0;
    for (long i = 0; i < probe.count; i++) sum += (double)probe.direction[i] * (double)dw[i];
    n->in[DIRECTION]->grad[0] += probe.unit * (real)sum;
    for (long k = 0; k < probe.samples; k++)
        n->in[ELEMENTS]->grad[k] += probe.unit * dw[probe.sample[k]];
    parameters_clear_grad(all);
}

static const Op op_probe = {"probe", probe_forward, probe_backward};

static Tensor *loss_at(Tape *t, Tensor **x) {
    parameters_clear_grad(&probe.pass->model->parameters);
    Tensor *moved = tape_forward(tape_node(t, &op_probe, SCALAR, PARTS, x));
    return tape_add(t, moved, pass_record(probe.pass, t));
}

static bool is_sampled(long i) {
    for (long k = 0; k < probe.samples; k++)
        if (probe.sample[k] == i) return true;
    return false;
}

static void choose_elements(const double *dw, long most, uint64_t key) {
    long largest = 0, wanted = most < probe.count ? most : probe.count;
    for (long i = 1; i < probe.count; i++)
        if (fabs(dw[i]) > fabs(dw[largest])) largest = i;
    probe.samples = 0;
    if (wanted) probe.sample[probe.samples++] = largest;
    for (uint64_t draw = 0; probe.samples < wanted; draw++) {
        long i = random_below(key, draw, probe.count);
        while (is_sampled(i)) i = (i + 1) % probe.count;
        probe.sample[probe.samples++] = i;
    }
}

/* Draws again if the terms of Σ v_i dw_i cancel: a derivative near 0 is hard to check. */
static void choose_direction(const double *dw, uint64_t seed) {
    enum { DRAWS = 64 };
    double sum = 0, squares = 1;
    for (uint64_t draw = 0; draw < DRAWS && fabs(sum) < 0.5 * sqrt(squares); draw++) {
        check_run_direction(probe.direction, probe.count, random_key(seed, draw));
        sum = squares = 0;
        for (long i = 0; i < probe.count; i++) {
            double term = (double)probe.direction[i] * dw[i];
            sum += term;
            squares += term * term;
        }
    }
}

/* A power of two near the root mean square of w, so that nothing is rounded; of a vector at least
 * 1/4: a bias that training has barely moved from 0 would change the loss by less than its
 * rounding. */
static real unit_of(const real *w, const Parameter *parameter) {
    double sum = 0, least = parameter->shape.rank == 1 ? 0.25 : 1e-30;
    for (long i = 0; i < probe.count; i++) sum += (double)w[i] * (double)w[i];
    double size = sqrt(sum / (double)probe.count);
    return (real)(sum > 0 ? ldexp(1, ilogb(fmax(size, least))) : 1);
}

/* Converts from units of the inputs to units of dL/dw. A random cotangent multiplies the whole.
 * What the checker says of s and the e_i says nothing of w. */
static void to_gradient(InputReport *r, uint64_t seed) {
    real cotangent = 1;
    if (r->output < 0) check_run_cotangent(&cotangent, 1, seed, 0);
    double factor = 1 / ((double)probe.unit * (double)cotangent);
    r->analytic *= factor;
    r->numeric *= factor;
    r->estimate *= fabs(factor);
    r->kink_below *= factor;
    r->kink_above *= factor;
    r->step *= (double)probe.unit;
    r->output = 0;
    r->map[0] = r->full[0] = 0;
    if (r->verdict != FAIL) return;
    r->pattern = PATTERN_NONE;
    r->reason[0] = 0;
}

void model_differences(ModelPass *p, int i, const double *dw, long samples, uint64_t seed,
                       const char *model, CaseReport *report) {
    static double ones[MAX_SAMPLES];
    Parameters *all = &p->model->parameters;
    const Parameter *w = &all->entry[i];
    Arena arena = {0};
    probe.pass = p;
    probe.parameter = w;
    probe.count = shape_count(w->shape);
    probe.start = arena_alloc(&arena, (size_t)probe.count * sizeof(real));
    probe.direction = arena_alloc(&arena, (size_t)probe.count * sizeof(real));
    memcpy(probe.start, weights(), (size_t)probe.count * sizeof(real));
    probe.unit = unit_of(probe.start, w);
    choose_direction(dw, random_key(seed, (uint64_t)(2 * i)));
    choose_elements(dw, samples, random_key(seed, (uint64_t)(2 * i + 1)));
    for (long k = 0; k < MAX_SAMPLES; k++) ones[k] = 1;
    CheckCase c = {w->name,
                   loss_at,
                   {[DIRECTION] = {"s", SCALAR, .values = ones},
                    [ELEMENTS] = {"w", SHAPE(probe.samples), .values = ones}}};
    gradcheck_case_with(model, &c, &(CheckOptions){.seed = seed, .differences = true}, report);
    for (int k = 0; k < report->inputs; k++) to_gradient(&report->in[k], seed);
    if (probe.samples) {
        report->in[ELEMENTS].shape = w->shape;
        report->in[ELEMENTS].element = probe.sample[report->in[ELEMENTS].element];
        report->in[ELEMENTS].kink = probe.sample[report->in[ELEMENTS].kink];
    } else {
        report->inputs = 1;
    }
    memcpy(weights(), probe.start, (size_t)probe.count * sizeof(real));
    arena_free(&arena);
}
