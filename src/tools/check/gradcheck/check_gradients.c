#include "check/gradcheck/check_gradients.h"
#include "base/append.h"
#include "base/random.h"
#include "check/gradcheck/numeric_derivative.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes up to which the whole Jacobian is checked. Larger ones are checked with RANDOM
 * cotangents. */
enum { WHOLE_OUTPUTS = 128, WHOLE_ENTRIES = 1 << 14, RANDOM = 3 };

/* Each element is moved alone if the number of elements times the numbers computed for a move is at
 * most WORK. Otherwise a sample of each input is: as many elements as WORK allows, at least MIN. */
enum { WORK = 1 << 22, MIN = 4 };

/* The runs of all differences, those that are expected of an element, and those of a point if the
 * case has had many. */
enum { RUNS = CHECK_RUNS * 5 / 8, RUNS_OF_AN_ELEMENT = 12, MIN_RUNS = CHECK_RUNS / 8 };

static void set_cotangents(Gradients *g, long coordinates) {
    g->whole = g->outputs <= WHOLE_OUTPUTS && g->outputs * coordinates <= WHOLE_ENTRIES;
    g->cotangents = g->whole ? 1 + g->outputs : RANDOM;
    real *cotangent =
        arena_alloc(g->arena, (size_t)(g->cotangents * g->outputs) * sizeof *cotangent);
    for (long q = 0; q < (g->whole ? 1 : RANDOM); q++)
        check_run_cotangent(cotangent + q * g->outputs, g->outputs, g->seed, (uint64_t)q);
    for (long i = 1; i < g->cotangents; i++)
        if (g->whole) cotangent[i * g->outputs + i - 1] = 1;
    g->cotangent = cotangent;
}

static Entries new_entries(const Gradients *g, int input, long coordinates) {
    return (Entries){
        .input = input,
        .cotangents = g->cotangents,
        .outputs = g->outputs,
        .coordinates = coordinates,
        .whole = g->whole,
        .cotangent = g->cotangent,
        .rounding = g->rounding,
        .entry = arena_alloc(g->arena, (size_t)(g->cotangents * coordinates) * sizeof(Entry)),
        .state = arena_alloc(g->arena, (size_t)coordinates * sizeof(EntryState)),
        .doubt = arena_alloc(g->arena, (size_t)coordinates * sizeof(Doubt))};
}

/* Draws elements spread over the input: one at random from each of `count` equal parts. */
static const long *sample(Arena *arena, long of, long count, uint64_t key) {
    long *place = arena_alloc(arena, (size_t)count * sizeof *place);
    for (long i = 0; i < count; i++) {
        long first = i * of / count, end = (i + 1) * of / count;
        place[i] = first + random_below(key, (uint64_t)i, end - first);
    }
    return place;
}

/* The runs of this point. An explanation has its own. */
static long runs_left(const Gradients *g) {
    long left = g->run->explaining ? CHECK_RUNS / 2 : RUNS - g->differences->evaluations;
    return left < MIN_RUNS ? MIN_RUNS : left;
}

static void lay_out(Gradients *g) {
    const CheckPoint *point = g->run->point;
    long coordinates = 0, numbers = 1 + g->outputs, inputs = 0;
    long alone = runs_left(g) / RUNS_OF_AN_ELEMENT;
    for (int k = 0; k < point->inputs; k++) {
        numbers += point->in[k].count;
        if (!point_has_gradient(point, k)) continue;
        coordinates += point->in[k].stored;
        inputs++;
    }
    set_cotangents(g, coordinates);
    bool sampled = (double)coordinates * (double)numbers > WORK || coordinates > alone;
    g->runs = coordinates > alone ? RUNS_OF_AN_ELEMENT : runs_left(g) / (coordinates + 1);
    g->run->planned = g->run->evaluations + g->cotangents + 60;
    for (int k = 0; k < point->inputs; k++) {
        const PointInput *in = &point->in[k];
        if (!point_has_gradient(point, k)) continue;
        long own = in->stored, max = WORK / numbers / inputs;
        if (max > alone / inputs) max = alone / inputs;
        if (max < MIN) max = MIN;
        bool all = !sampled || own <= max;
        g->element[k] = new_entries(g, k, all ? own : max);
        g->run->planned += RUNS_OF_AN_ELEMENT * g->element[k].coordinates;
        uint64_t key = random_key(g->seed, 0xD1EC00 + (uint64_t)k);
        if (!all) g->element[k].place = sample(g->arena, own, max, key);
        g->along[k] = new_entries(g, k, 1);
        real *direction = arena_alloc(g->arena, (size_t)own * sizeof *direction);
        check_run_direction(direction, own, key);
        g->along[k].direction = direction;
    }
}

/* The analytic value of an input's coordinate, from its gradient. */
static double analytic_of(const Gradients *g, int k, long j, const real *gradient) {
    const PointInput *in = &g->run->point->in[k];
    double sum = 0;
    for (long i = check_entries_element(&g->element[k], j); i < in->count; i += in->stored)
        sum += (double)gradient[i];
    return sum;
}

/* Takes the analytic values of an input's entries for cotangent q from its gradient. */
static void take_gradient(Gradients *g, int k, long q, const real *gradient) {
    const PointInput *in = &g->run->point->in[k];
    const Entries *e = &g->element[k], *along = &g->along[k];
    long own = in->stored;
    for (long j = 0; j < e->coordinates; j++)
        e->entry[q * e->coordinates + j].analytic = analytic_of(g, k, j, gradient);
    for (long i = 0; i < in->count; i++)
        along->entry[q].analytic += (double)along->direction[i % own] * (double)gradient[i];
}

/* Computes the analytic values: one backward for each cotangent. */
static void run_backward_for_all(Gradients *g) {
    CheckRun *run = g->run;
    run->first_dy = g->cotangent;
    run->ways.fill = 0;
    for (long q = 0; q < g->cotangents; q++) check_run_ask(run);
    check_run_all(run, g->cotangent);
    for (int k = 0; k < run->point->inputs; k++) {
        size_t bytes = (size_t)run->point->in[k].count * sizeof(real);
        if (!g->element[k].entry) continue;
        for (long q = 0; q < g->cotangents; q++)
            take_gradient(g, k, q, check_run_gradient(run, q, k));
        run->first_grad[k] =
            memcpy(arena_alloc(g->arena, bytes), check_run_gradient(run, 0, k), bytes);
    }
}

/* Reports the gravest entry, and of several the one with the largest error; NaN is larger than
 * all. */
static void report_worst(InputReport *r, const Entries *e) {
    const Entry *worst = NULL;
    double worst_error = 0;
    for (long q = 0; q < e->cotangents; q++)
        for (long j = 0; j < e->coordinates; j++) {
            const Entry *entry = &e->entry[q * e->coordinates + j];
            double error = entry->state == ENTRY_FLAT ? 0 : entry->error;
            if (isnan(error)) error = INFINITY;
            if (worst && entry->state < worst->state) continue;
            if (worst && entry->state == worst->state && error <= worst_error) continue;
            worst = entry;
            worst_error = error;
            r->element = check_entries_element(e, j);
            r->output = e->whole && q ? q - 1 : -1;
        }
    if (!worst) return;
    r->analytic = worst->analytic;
    r->numeric = worst->numeric;
    r->estimate = worst->estimate;
    r->error = worst->state == ENTRY_FLAT ? 0 : worst->error;
    r->step = worst->step;
}

/* Reports the first kink, at a single output if that is known. */
static void report_kink(InputReport *r, const Entries *e) {
    for (long j = 0; j < e->coordinates; j++)
        for (long q = e->cotangents - 1; q >= 0; q--) {
            const Entry *entry = &e->entry[q * e->coordinates + j];
            if (e->state[j] != ENTRY_KINK || entry->state != ENTRY_KINK) continue;
            r->kink = check_entries_element(e, j);
            r->kink_output = e->whole && q ? q - 1 : -1;
            r->kink_below = fabs(entry->below) <= SWEEP_TRUST * entry->estimate ? 0 : entry->below;
            r->kink_above = fabs(entry->above) <= SWEEP_TRUST * entry->estimate ? 0 : entry->above;
            return;
        }
}

/* Whether the gradient of a coordinate is not 0; it is if rounding explains what no output
 * shows. */
static bool has_slope(const Entries *e, long j) {
    double most = e->doubt[j] == DOUBT_FLAT ? e->rounded : 0;
    for (long q = 0; q < e->cotangents; q++)
        if (!(fabs(e->entry[q * e->coordinates + j].analytic) <= most)) return true;
    return false;
}

static void report_elements(InputReport *r, const PointInput *in, const Entries *e) {
    *r = (InputReport){.shape = in->shape, .coordinates = in->stored, .alone = e->coordinates};
    snprintf(r->name, sizeof r->name, "d%s", in->name);
    for (long j = 0; j < e->coordinates; j++) {
        r->wrong += e->state[j] == ENTRY_WRONG;
        r->unclear += e->state[j] == ENTRY_UNCLEAR;
        r->kinks += e->state[j] == ENTRY_KINK;
        r->flat += e->state[j] == ENTRY_FLAT;
        if (e->doubt[j] > r->doubt) r->doubt = e->doubt[j];
        r->sloped += has_slope(e, j);
    }
    if (e->in_steps) r->sloped = e->coordinates;
    r->verdict = r->unclear ? INCONCLUSIVE : PASS;
    if (r->wrong) r->verdict = FAIL;
    report_worst(r, e);
    report_kink(r, e);
}

/* Reports an error that shows when all elements move together, and not in the sample. A coarse
 * forward may show no sum. */
static void report_along(InputReport *r, const Entries *e) {
    bool wrong = e->state[0] == ENTRY_WRONG;
    if (r->verdict != PASS || e->state[0] <= ENTRY_KINK || (e->steps && !wrong)) return;
    report_worst(r, e);
    r->verdict = wrong ? FAIL : INCONCLUSIVE;
    r->wrong = wrong;
    r->unclear = !wrong;
    snprintf(r->reason, sizeof r->reason,
             "%s: %ld of %ld elements were moved alone, and are right; the worst is of all moved "
             "together",
             wrong ? "the sum of all gradients along a random direction is wrong"
                   : report_doubt[e->doubt[0]],
             r->alone, r->coordinates);
    if (wrong) r->pattern = PATTERN_UNKNOWN;
}

/* Reports that nothing was recorded, so that no gradient arrives at an input. Beside a reference
 * this is a failure; else it proves nothing, unless the case is flat. */
static void report_unrecorded(InputReport *r, const char *input, bool flat, bool by_reference) {
    static const char hint[] = "Is %s among the INPUTS of tape_node, and does the function return "
                               "what tape_forward returns?";
    const char *what = "the output takes no gradient and does not depend on this input. If it is "
                       "meant to be constant, set .flat = true in the case. ";
    if (r->verdict == PASS && r->coordinates && by_reference) {
        r->verdict = FAIL;
    } else if (r->verdict == PASS && r->coordinates && !flat) {
        r->verdict = INCONCLUSIVE;
        r->unclear = r->coordinates;
    }
    if (r->verdict == PASS) return;
    if (r->verdict == FAIL) {
        r->pattern = PATTERN_NOT_RECORDED;
        what = "the output takes no gradient. ";
    }
    snprintf(r->reason, sizeof r->reason, "%s", what);
    text_append(r->reason, sizeof r->reason, hint, input);
}

/* A tie whose shares are wrong is the failure of one of its inputs. */
static void report_ties(Gradients *g, CaseReport *report) {
    char text[REPORT_TEXT];
    int wrong;
    if (report->verdict == FAIL) return;
    if (!check_ties(g->differences, g->element, g->arena, &wrong, text, sizeof text)) return;
    if (check_digits(g->differences, -1, g->arena).count) return; /* steps look like ties */
    report->verdict = FAIL;
    InputReport *r = report->in;
    for (int k = 0; k < g->run->point->inputs; k++) {
        if (!g->element[k].entry) continue;
        if (k != wrong) {
            r++;
            continue;
        }
        report_elements(r, &g->run->point->in[k], &g->element[k]);
        r->pattern = PATTERN_TIES;
        snprintf(r->reason, sizeof r->reason, "%s", text);
        return;
    }
}

/* The wrong entries of coordinate j, or of all (-1), that are off by at most
 * `part` of themselves. */
static long count_wrong(const Entries *e, long j, double part) {
    long count = 0;
    for (long i = 0; i < e->cotangents * e->coordinates; i++)
        count += e->entry[i].state == ENTRY_WRONG && !(e->entry[i].error > part) &&
                 (j < 0 || i % e->coordinates == j);
    return count;
}

/* Excuses wrong entries that are off by as little as rounding changes a gradient: at inputs whose
 * last digits differ it is measured. */
static void excuse_rounding(Gradients *g, int k) {
    enum { TRIALS = 4, TRUST = 64 };
    Entries *e = &g->element[k];
    CheckRun *run = g->run;
    const CheckPoint *given = run->point;
    if (!count_wrong(e, -1, CHECK_TOLERANCE)) return;
    for (int trial = 0; trial < TRIALS; trial++) {
        CheckPoint nearby = point_nearby(given, g->arena, (real)REAL_EPSILON, (uint64_t)trial);
        run->point = &nearby;
        for (long q = 0; q < g->cotangents; q++) check_run_ask(run);
        check_run_all(run, g->cotangent);
        run->point = given;
        for (long i = 0; i < e->cotangents * e->coordinates; i++) {
            Entry *entry = &e->entry[i];
            const real *gradient = check_run_gradient(run, i / e->coordinates, k);
            double moved = fabs(analytic_of(g, k, i % e->coordinates, gradient) - entry->analytic);
            bool rounded = fabs(entry->analytic - entry->numeric) <= TRUST * moved;
            if (entry->state == ENTRY_WRONG && entry->error <= CHECK_TOLERANCE && rounded)
                entry->state = ENTRY_PROVED;
        }
    }
    for (long j = 0; j < e->coordinates; j++)
        if (e->state[j] == ENTRY_WRONG && !count_wrong(e, j, INFINITY)) e->state[j] = ENTRY_PROVED;
}

static void judge_elements(Gradients *g, int k, InputReport *r) {
    long runs = g->runs * g->element[k].coordinates, left = runs_left(g);
    check_entries(g->differences, &g->element[k], runs < left ? runs : left, g->arena);
    excuse_rounding(g, k);
    check_smooth_excuse(g->differences, &g->element[k], g->doubted, g->added);
    report_elements(r, &g->run->point->in[k], &g->element[k]);
}

/* A coordinate is not wrong if it is off by at most what jumps by the part `jump` explain. */
static void excuse_jumps(Entries *e, double jump) {
    double part = fmin(0.05, 1e3 * sqrt(jump));
    for (long j = 0; j < e->coordinates; j++) {
        bool hidden = e->state[j] == ENTRY_WRONG;
        for (long q = 0; q < e->cotangents; q++) {
            if (!hidden) break;
            const Entry *row = e->entry + q * e->coordinates;
            double scale = 0, off = fabs(row[j].analytic - row[j].numeric);
            for (long i = 0; i < e->coordinates; i++) scale = fmax(scale, fabs(row[i].numeric));
            hidden = off <= part * scale;
        }
        if (!hidden) continue;
        e->state[j] = ENTRY_UNCLEAR;
        e->doubt[j] = DOUBT_NOISE;
    }
}

/* Judges again by the digits that forward has, if it has few: its steps look like kinks, and like
 * slopes; and a wrong gradient by the rounding that forward shows: 1 + erf(-5) has ten digits. */
static void judge_by_digits(Gradients *g, int k, InputReport *r) {
    const double most = 0x1p-20; /* a larger step shows no slope */
    const PointInput *in = &g->run->point->in[k];
    Digits d = check_digits(g->differences, k, g->arena);
    if (!d.count) {
        g->element[k].noise = d.step;
        if (d.noisy && r->verdict == FAIL) judge_elements(g, k, r);
        return;
    }
    if (d.everywhere && d.jump <= most) {
        for (long i = 0; i < g->outputs; i++) d.step[i] *= 2;
        g->element[k].steps = g->along[k].steps = d.step;
        judge_elements(g, k, r);
        r->digits = d.count;
    } else if (!d.everywhere) {
        excuse_jumps(&g->element[k], d.jump);
        report_elements(r, in, &g->element[k]);
        if (r->verdict != INCONCLUSIVE || r->doubt != DOUBT_NOISE) return;
        snprintf(r->reason, sizeof r->reason,
                 "forward jumps by about %.0e of itself at some places, as an iteration that ends "
                 "early does. The gradient agrees with its differences to about %d digits",
                 d.jump, (int)floor(-log10(r->error)));
    }
}

/* Reports a gradient that has another shape than its input, and was taken as 0. */
static void report_misfit(InputReport *r, const char *why) {
    r->verdict = FAIL;
    r->kinks = r->flat = r->unclear = 0;
    r->error = NAN;
    REPORT_SET(r->reason, why);
}

static void judge_input(Gradients *g, int k, InputReport *r) {
    judge_elements(g, k, r);
    if (r->verdict != PASS || (r->kinks && !g->run->c->kinks)) judge_by_digits(g, k, r);
    if (!g->element[k].place) return;
    check_entries(g->differences, &g->along[k], MIN_RUNS, g->arena);
    if (!g->doubted) report_along(r, &g->along[k]);
}

/* Whether a run's output takes a gradient, and how many elements it has. */
static bool is_recorded(CheckRun *run, long *outputs) {
    const Tensor *y = check_run_forward(run);
    *outputs = shape_count(y->shape);
    return tensor_wants_grad(y);
}

/* Reports the shapes of the point and of its output. */
static void report_shapes(const CheckRun *run, CaseReport *report) {
    const CheckPoint *p = run->point;
    for (int k = 0; k <= p->inputs; k++) {
        NamedShape *to = &report->shape[k];
        REPORT_SET(to->name, k < p->inputs ? p->in[k].name : "the output");
        to->shape = k < p->inputs ? p->in[k].shape : run->y->shape;
    }
}

void check_gradients(Gradients *g, CaseReport *report) {
    CheckRun *run = g->run;
    bool kinks = run->c->kinks, any = false, by_reference = g->differences != run;
    long outputs;
    bool wanted = by_reference && is_recorded(g->differences, &outputs);
    bool recorded = is_recorded(run, &g->outputs);
    report->outputs = g->outputs;
    report->parts = run->result.parts;
    memcpy(report->part, run->result.part, sizeof report->part);
    report->inputs = 0;
    report_shapes(run, report);
    for (int k = 0; k < run->point->inputs; k++) any |= point_has_gradient(run->point, k);
    if (!any || (by_reference && !wanted && !recorded)) return;
    if (g->doubted && !check_smooth_outputs(run)) {
        report->verdict = INCONCLUSIVE;
        return;
    }
    lay_out(g);
    if (recorded) run_backward_for_all(g);
    char misfit[CHECK_INPUTS][MISFIT_TEXT] = {""};
    if (recorded) memcpy(misfit, run->result.misfit, sizeof misfit);
    for (int k = 0; k < run->point->inputs; k++) {
        if (!g->element[k].entry) continue;
        InputReport *r = &report->in[report->inputs++];
        if (*misfit[k]) {
            report_elements(r, &run->point->in[k], &g->element[k]);
            report_misfit(r, misfit[k]);
        } else {
            judge_input(g, k, r);
        }
        if (!recorded) report_unrecorded(r, run->point->in[k].name, run->c->flat, by_reference);
        if (r->verdict > report->verdict) report->verdict = r->verdict;
        kinks |= r->kinks > 0;
    }
    report->recorded = recorded;
    if (recorded && g->whole && kinks && (!g->doubted || run->c->kinks)) report_ties(g, report);
}
