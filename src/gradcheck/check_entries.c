/* long: what a line through a point knows (Line) is this file's own, and all that judges an entry reads it */
#include "gradcheck/check_entries.h"
#include "base/random.h"
#include "gradcheck/check_entry.h"
#include "gradcheck/numeric_derivative.h"
#include <math.h>
#include <string.h>

/* A step falls from a power of two near |x| / 8 by halves; a sweep has so many. Where the first sweep does
 * not confirm the gradient, others start lower: the function may be wild at the scale of x. */
enum { STEPS = 20, LOWER = 9, SWEEPS = 4 };

/* The function around the point, seen along one coordinate. */
typedef struct Line {
    CheckRun *run;
    Entries *e;
    real *x, at; /* where the coordinate lies in memory, and its value */
    real *here;  /* the output at the point */
    real *above, *below;
    double *slope;     /* of each output: its difference quotient */
    double *noise;     /* of each output: what rounding changes in it */
    bool *moved;       /* of each output, while its noise is measured */
    double floor;      /* what rounding may hide in an output of 0, which has no last digit: it may be the
                          difference of equal numbers, or the logarithm of a 1 that was rounded */
    Sweep *sweep;      /* one a cotangent */
    double *scale;     /* of each cotangent: its largest derivative over all coordinates */
    uint64_t branches; /* taken at the point */
    bool crossed;      /* the newest sweep ended on the other side of a kink */
    bool still;        /* at its last step no output moved */
    bool both_move;    /* at a step so far there were outputs that moved on either side */
} Line;

/* All inputs, so far from where they are along the direction. */
static void move_along(Line *l, double far) {
    for (int k = 0; k < l->run->point->inputs; k++)
        if (l->e->direction[k]) point_move(l->run->point, k, l->e->direction[k], (real)far);
}

static uint64_t outputs_at(Line *l, double x, real *y) {
    if (l->e->direction)
        move_along(l, x);
    else
        *l->x = (real)x;
    point_ready(l->run->point, 0);
    tensor_copy_out(check_run_forward(l->run), y);
    if (l->e->direction)
        move_along(l, 0);
    else
        *l->x = l->at;
    return l->run->branches;
}

static double first_step(double x) {
    double size = isfinite(x) ? fmax(fabs(x), 1) : 1;
    return ldexp(1, ilogb(size) - 3);
}

/* Gives every cotangent's sweep the difference between the outputs at the points `span` apart. */
static void add_differences(Line *l, const real *above, const real *below, double step, double span) {
    const Entries *e = l->e;
    bool moves_above = false, moves_below = false;
    for (long i = 0; i < e->outputs; i++) {
        double a = (double)above[i], b = (double)below[i];
        l->slope[i] = a == b ? 0 : (a - b) / span; /* equal infinities are equal */
        moves_above |= above[i] != l->here[i];
        moves_below |= below[i] != l->here[i];
    }
    l->still = !moves_above && !moves_below;
    l->both_move |= moves_above && moves_below;
    for (long q = 0; q < e->cotangents; q++) {
        double slope = 0, noise = 0;
        bool one_hot = e->whole && q > 0;
        for (long i = one_hot ? q - 1 : 0; i < (one_hot ? q : e->outputs); i++) {
            double c = (double)e->cotangent[q * e->outputs + i];
            slope += c * l->slope[i];
            noise = hypot(noise, c * l->noise[i]);
        }
        /* Over the edge of the domain: smaller steps begin a sweep of their own. */
        if (!isfinite(slope))
            sweep_start(&l->sweep[q], l->sweep[q].order);
        else
            sweep_add(&l->sweep[q], step, slope, noise / step);
    }
}

/* The changes of the outputs when the input's values change by so much of themselves. */
static void jitter(Line *l, real relative, uint64_t key) {
    CheckPoint *point = l->run->point;
    point_jitter(point, l->e->input, relative, key);
    point_ready(point, 0);
    tensor_copy_out(check_run_forward(l->run), l->above);
    point_restore(point, l->e->input);
}

/* Rounding changes the last digit of an output, or as much as the last digits of the input do, which is
 * measured. An output that does not answer to them (the logarithm of 1 + something small moves in steps of
 * the 1's last digit) is jolted harder until it does: its first move shows the size of its steps. */
static void measure_noise(Line *l) {
    enum { TRIALS = 6 };
    const double hardest = 0x1p-6,
                 gentle = 0x1p-16; /* harder than gentle may be no noise, but the function */
    long n = l->e->outputs;
    double largest = 1;
    for (long i = 0; i < n; i++) {
        double size = isfinite(l->here[i]) ? fabs((double)l->here[i]) : 0;
        l->noise[i] = size * (double)REAL_EPSILON;
        l->moved[i] = false;
        if (size > largest) largest = size;
    }
    l->floor = largest * (double)REAL_EPSILON;
    double relative = (double)REAL_EPSILON;
    bool all = false;
    for (int trial = 0; trial < TRIALS || (!all && relative <= hardest); trial++) {
        bool jolt = trial >= TRIALS;
        if (jolt) relative *= 2;
        jitter(l, (real)relative, random_key(0, (uint64_t)trial));
        all = true;
        for (long i = 0; i < n; i++) {
            double change = fabs((double)l->above[i] - (double)l->here[i]);
            bool counts = isfinite(change) && l->run->branches == l->branches;
            if (jolt) counts &= !l->moved[i] && (relative <= gentle || change < 1024 * l->floor);
            if (counts) l->noise[i] = fmax(l->noise[i], change);
            l->moved[i] |= change > 0;
            all &= l->moved[i];
        }
    }
}

static void start_sweeps(Line *l, int order) {
    for (long q = 0; q < l->e->cotangents; q++) sweep_start(&l->sweep[q], order);
}

static bool all_settled(const Line *l) {
    for (long q = 0; q < l->e->cotangents; q++)
        if (!sweep_settled(&l->sweep[q], 64 * (double)REAL_EPSILON)) return false;
    return true;
}

/* Below this the digits of x ± step are not good enough. */
static double last_step(const Line *l) {
    return 32 * (double)REAL_EPSILON * (isfinite(l->at) ? fabs((double)l->at) : 0);
}

/* Central differences at falling steps, as long as all branches are those taken at the point. */
static void sweep_both_sides(Line *l, double step) {
    start_sweeps(l, CENTRAL);
    for (int i = 0; i < STEPS && step > last_step(l) && !all_settled(l); i++, step /= 2) {
        real up = (real)((double)l->at + step), down = (real)((double)l->at - step);
        uint64_t above = outputs_at(l, (double)up, l->above), below = outputs_at(l, (double)down, l->below);
        l->crossed = above != l->branches || below != l->branches;
        if (l->crossed)
            start_sweeps(l, CENTRAL);
        else
            add_differences(l, l->above, l->below, step,
                            isfinite(l->at) ? (double)up - (double)down : 2 * step);
    }
}

/* Differences on one side, side = ±1. The branches taken there may differ from those at the point, which then
 * lies on the boundary. */
static void sweep_one_side(Line *l, double step, int side) {
    start_sweeps(l, ONE_SIDED);
    uint64_t before = 0;
    for (int i = 0; i < STEPS + LOWER && step > last_step(l) && !all_settled(l); i++, step /= 2) {
        real there = (real)((double)l->at + side * step);
        uint64_t branches = outputs_at(l, (double)there, l->above);
        if (branches != before) start_sweeps(l, ONE_SIDED);
        before = branches;
        add_differences(l, l->above, l->here, step, (double)there - (double)l->at);
    }
}

/* Outputs that move evenly over large steps, on either side, and not at all over the smallest move in steps of their
 * own, as (1e8 + x)² - 1e16 does: between two of them a rest is no proof of a derivative of 0, and the slope over many
 * is none of another value. Once seen this stays, for still smaller steps only rest again. (Beside a relu's kink there
 * is rest too, but one side rests over large steps as well.) */
static void weigh(const Line *l, Entry *entry, const Entry *found) {
    bool resolved = isfinite(entry->numeric) && entry->estimate <= 1e-3 * fabs(entry->numeric);
    bool at_rest = l->still && l->both_move && check_entry_confirms(found);
    entry->in_steps |= at_rest && resolved && entry->state == ENTRY_WRONG;
    if (entry->in_steps) {
        entry->estimate = fabs(entry->numeric - entry->analytic);
        entry->state = ENTRY_UNCLEAR;
    } else if (check_entry_more_credible(found, entry)) {
        *entry = *found;
    }
}

static void take_results(Line *l, long coordinate) {
    Entries *e = l->e;
    for (long q = 0; q < e->cotangents; q++) {
        Entry *entry = &e->entry[q * e->coordinates + coordinate], found = *entry;
        const Sweep *s = &l->sweep[q];
        found.numeric = s->value, found.estimate = s->error;
        found.rounding = s->rounding, found.step = s->step;
        check_entry_judge(&found, l->scale[q], l->floor);
        weigh(l, entry, &found);
    }
}

/* True if the output stays the same however far the coordinate goes: then its derivative is 0. */
static bool constant_along(Line *l) {
    double size = fmax(fabs((double)l->at), 1);
    for (double far = 0.7 * size; far < 1e6 * size; far *= 16)
        for (int side = -1; side <= 1; side += 2) {
            outputs_at(l, (double)l->at + side * far, l->above);
            for (long i = 0; i < l->e->outputs; i++)
                if (!(l->above[i] == l->here[i])) return false;
        }
    return true;
}

/* What all entries of a coordinate say together. Flat entries prove nothing by themselves: beside one that is
 * proved they are harmless. */
static void judge_coordinate(Line *l, long coordinate) {
    Entries *e = l->e;
    EntryState worst = ENTRY_PROVED;
    bool proved = false, moves = false, flat_gradient = false;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + coordinate];
        if (entry->state > worst) worst = entry->state;
        if (entry->state == ENTRY_PROVED) proved = true, moves |= entry->analytic != 0;
        if (entry->state == ENTRY_FLAT) flat_gradient |= entry->analytic != 0 || entry->numeric != 0;
    }
    e->doubt[coordinate] = worst != ENTRY_UNCLEAR ? DOUBT_NONE : l->crossed ? DOUBT_KINK : DOUBT_NOISE;
    if (worst == ENTRY_FLAT && !(flat_gradient ? moves : proved)) {
        if (constant_along(l))
            worst = ENTRY_PROVED;
        else if (!l->run->c->flat)
            worst = ENTRY_UNCLEAR, e->doubt[coordinate] = DOUBT_FLAT;
    } else if (worst == ENTRY_FLAT && !flat_gradient) {
        worst = ENTRY_PROVED;
    }
    e->state[coordinate] = worst;
}

/* Where differences on both sides do not confirm the gradient, each side by itself: if the two derivatives
 * differ, the point is on a kink, and any value between them is a gradient. */
static void try_kink(Line *l, long coordinate, Sweep *right) {
    Entries *e = l->e;
    double step = first_step((double)l->at) / 4;
    sweep_one_side(l, step, 1);
    memcpy(right, l->sweep, (size_t)e->cotangents * sizeof *right);
    bool still = l->still;
    sweep_one_side(l, step, -1);
    l->still &= still;
    for (long q = 0; q < e->cotangents; q++) {
        Entry *entry = &e->entry[q * e->coordinates + coordinate], found = *entry;
        const Sweep *a = &right[q], *b = &l->sweep[q];
        if (entry->state < ENTRY_KINK || !isfinite(a->value) || !isfinite(b->value)) continue;
        double low = fmin(a->value, b->value), high = fmax(a->value, b->value);
        double error = a->error + b->error, size = fmax(fabs(low), fabs(high));
        found.estimate = error;
        found.rounding = a->rounding + b->rounding;
        found.step = fmin(a->step, b->step);
        found.numeric = fmin(fmax(found.analytic, low), high); /* the nearest that is allowed */
        if (error <= size) l->scale[q] = fmax(l->scale[q], size);
        bool kink = high - low > SWEEP_TRUST * error + CHECK_TOLERANCE * size;
        if (!kink) found.numeric = (low + high) / 2;
        check_entry_judge(&found, fmax(l->scale[q], size), l->floor);
        if (kink && found.state < ENTRY_KINK) {
            found.state = ENTRY_KINK;
            found.below = b->value;
            found.above = a->value;
        }
        weigh(l, entry, &found);
    }
}

/* An entry that is off by less than the tolerance is wrong only if the numeric derivative is as exact as it says. Outputs
 * that move in steps of their own may be even enough over many of them to look exact: other steps then find another
 * value. */
static void confirm_small_errors(Line *l, long coordinate) {
    static const double other[] = {0.7, 0.037};
    Entries *e = l->e;
    bool doubted = false;
    for (long q = 0; q < e->cotangents; q++)
        doubted |= check_entry_small_error(&e->entry[q * e->coordinates + coordinate]);
    for (size_t i = 0; doubted && i < sizeof other / sizeof *other; i++) {
        sweep_both_sides(l, other[i] * first_step((double)l->at));
        for (long q = 0; q < e->cotangents; q++) {
            Entry *entry = &e->entry[q * e->coordinates + coordinate];
            double off = fabs(entry->analytic - entry->numeric);
            if (check_entry_small_error(entry) && !(fabs(l->sweep[q].value - entry->numeric) <= off / 8))
                entry->state = ENTRY_PROVED;
        }
    }
}

/* The scale is known when all coordinates have a derivative. */
static void set_scales(Line *l) {
    Entries *e = l->e;
    for (long q = 0; q < e->cotangents; q++) {
        Entry *row = e->entry + q * e->coordinates;
        for (long j = 0; j < e->coordinates; j++)
            if (row[j].estimate <= fabs(row[j].numeric))
                l->scale[q] = fmax(l->scale[q], fabs(row[j].numeric));
        for (long j = 0; j < e->coordinates; j++)
            if (row[j].state != ENTRY_KINK) check_entry_judge(&row[j], l->scale[q], l->floor);
    }
}

static void set_line(Line *l, long coordinate) {
    l->both_move = false;
    l->at = 0;
    if (l->e->direction) return;
    l->x = point_element(&l->run->point->in[l->e->input], check_entries_element(l->e, coordinate));
    l->at = *l->x;
}

long check_entries_element(const Entries *e, long j) {
    return e->place ? e->place[j] : j;
}

/* Memory for the line's numbers, and what the output is and how noisy where the lines of all coordinates meet. */
static Line open_line(CheckRun *run, Entries *e, Arena *arena) {
    size_t outputs = (size_t)e->outputs, cotangents = (size_t)e->cotangents;
    Line l = {.run = run, .e = e};
    l.here = arena_alloc(arena, outputs * sizeof(real));
    l.above = arena_alloc(arena, outputs * sizeof(real));
    l.below = arena_alloc(arena, outputs * sizeof(real));
    l.slope = arena_alloc(arena, outputs * sizeof(double));
    l.noise = arena_alloc(arena, outputs * sizeof(double));
    l.moved = arena_alloc(arena, outputs);
    l.scale = arena_alloc(arena, cotangents * sizeof(double));
    l.sweep = arena_alloc(arena, cotangents * sizeof(Sweep));
    set_line(&l, 0);
    l.branches = outputs_at(&l, (double)l.at, l.here);
    measure_noise(&l);
    return l;
}

void check_entries(CheckRun *run, Entries *e, Arena *arena) {
    if (!e->coordinates) return;
    Line l = open_line(run, e, arena);
    Sweep *right = arena_alloc(arena, (size_t)e->cotangents * sizeof(Sweep));
    for (long i = 0; i < e->cotangents * e->coordinates; i++) {
        e->entry[i].state = ENTRY_WRONG;
        e->entry[i].numeric = NAN;
        e->entry[i].estimate = INFINITY;
    }
    for (long j = 0; j < e->coordinates; j++) {
        set_line(&l, j);
        sweep_both_sides(&l, first_step((double)l.at));
        take_results(&l, j);
    }
    set_scales(&l);
    for (long j = 0; j < e->coordinates; j++) {
        set_line(&l, j);
        confirm_small_errors(&l, j);
        l.crossed = false;
        judge_coordinate(&l, j);
        for (int lower = 1; lower < SWEEPS && e->state[j] > ENTRY_KINK; lower++) {
            sweep_both_sides(&l, ldexp(first_step((double)l.at), -LOWER * lower));
            take_results(&l, j);
            judge_coordinate(&l, j);
        }
        if (e->state[j] <= ENTRY_KINK) continue;
        try_kink(&l, j, right);
        judge_coordinate(&l, j);
    }
    /* Derivatives found on the way may be larger than all before: what is small beside them is proved. */
    set_scales(&l);
    for (long j = 0; j < e->coordinates; j++) {
        set_line(&l, j);
        confirm_small_errors(&l, j);
        if (e->state[j] > ENTRY_KINK) judge_coordinate(&l, j);
    }
}
