/* Decides whether an added point can accuse a gradient.
 *
 * The checker adds points to those of a case: larger values, zeros, the ends of a range. There a right file
 * may overflow, leave its domain, or meet a tie. A gradient is wrong at such a point only where forward is
 * finite, far from overflow, and has the same slope nearby. */
#include "base/random.h"
#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/check_entries.h"
#include <math.h>

/* Points nearby, and how far they are: relative to a value, or to 1. */
enum { NEARBY = 4 };
static const double distance = sizeof(real) == sizeof(double) ? 1e-5 : 1e-2;
static const double step = sizeof(real) == sizeof(double) ? 1e-7 : 1e-3;

bool check_smooth_outputs(const Tensor *y, Arena *arena) {
    const double most = sizeof(real) == sizeof(double) ? 1e100 : 1e12;
    long count = shape_count(y->shape);
    real *value = arena_alloc(arena, (size_t)(count + 1) * sizeof *value);
    tensor_copy_out(y, value);
    for (long i = 0; i < count; i++)
        if (!(fabs((double)value[i]) < most)) return false;
    return true;
}

static double size_of(real x) {
    return fmax(fabs((double)x), 1);
}

/* Asks for a run at a point nearby, with one element moved by `far` more. */
static void ask_nearby(CheckBatch *b, const real *moved, double far, int which) {
    const CheckPoint *p = b->run->point;
    long changes = 0;
    for (int k = 0; k < p->inputs; k++)
        if (point_has_gradient(p, k)) changes += p->in[k].stored;
    check_batch_ask(b, changes);
    for (int k = 0; k < p->inputs; k++) {
        uint64_t key = random_key(random_key(0x5300, (uint64_t)(which / 2)), (uint64_t)k);
        for (long i = 0; point_has_gradient(p, k) && i < p->in[k].stored; i++) {
            real *x = point_element(&p->in[k], i);
            double part = 0.5 + (double)random_uniform(key, 2 * (uint64_t)i);
            bool up = (random_bits(key, 2 * (uint64_t)i + 1) ^ (uint64_t)which) &
                      1; /* the next on the other side */
            double by = distance * size_of(*x) * (up ? part : -part);
            check_batch_change(b, x, (real)((double)*x + by + (x == moved ? far : 0)));
        }
    }
}

static bool is_off(const Entry *entry, double least) {
    double off = fabs(entry->analytic - entry->numeric);
    return entry->state == ENTRY_WRONG && isfinite(entry->numeric) &&
           !(off <= least * fmax(1, fabs(entry->numeric)));
}

/* The sum that cotangent q makes of the outputs' differences; NAN where an output is no number. */
static double slope_at(const CheckBatch *b, const Entries *e, long q, int which, double width) {
    const real *above = check_batch_output(b, 2 * which), *below = check_batch_output(b, 2 * which + 1);
    double slope = 0;
    for (long i = 0; i < e->outputs; i++)
        slope += (double)e->cotangent[q * e->outputs + i] * ((double)above[i] - (double)below[i]);
    return slope / width;
}

/* The largest slope of a coordinate, or error of it. */
static double largest_of(const Entries *e, long j) {
    double largest = 0;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        double off = fabs(entry->analytic - entry->numeric);
        if (isfinite(entry->numeric)) largest = fmax(largest, fabs(entry->numeric));
        if (isfinite(off)) largest = fmax(largest, off);
    }
    return largest > 0 ? largest : 1;
}

/* Whether coordinate j is wrong beyond doubt. */
static bool is_wrong(CheckBatch *b, const Entries *e, long j, double least) {
    const PointInput *in = &b->run->point->in[e->input];
    real *x = point_element(in, check_entries_element(e, j));
    double far = step * size_of(*x);
    check_batch_begin(b);
    for (int which = 0; which < NEARBY; which++) ask_nearby(b, x, far, which), ask_nearby(b, x, -far, which);
    check_batch_run(b);
    const double part = 0.01;
    double room = part * largest_of(e, j);
    bool wrong = false;
    for (long q = 0; q < e->cotangents; q++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        wrong |= is_off(entry, least);
        for (int which = 0; which < NEARBY; which++)
            if (!(fabs(slope_at(b, e, q, which, 2 * far) - entry->numeric) <= room)) return false;
    }
    return wrong;
}

void check_smooth_excuse(CheckRun *differences, Entries *e, double least, Arena *arena) {
    CheckBatch b;
    long changes = 0;
    for (int k = 0; k < differences->point->inputs; k++) changes += differences->point->in[k].count;
    check_batch_open(&b, differences, arena, e->outputs, 2 * NEARBY, 2 * NEARBY * changes);
    for (long j = 0; j < e->coordinates; j++)
        if (e->state[j] == ENTRY_WRONG && !is_wrong(&b, e, j, least))
            e->state[j] = ENTRY_UNCLEAR, e->doubt[j] = DOUBT_KINK;
}
