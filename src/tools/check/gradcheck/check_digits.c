/* The digits that forward has.
 *
 * Differences of sixth order over evenly spaced points vanish fast for a smooth function: with
 * spacing h as h⁶, at a kink as h. A jump leaves as much of itself at any spacing. So the points
 * close in on the place where the difference is largest, and a part that no longer falls is a jump.
 * A forward that jumps at most places rounds its numbers to steps, as float does. One that jumps at
 * few places may be an iteration that ends early. */
#include "base/random.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdlib.h>

enum { POINTS = 33, ORDER = 6, WINDOWS = POINTS - ORDER, LEVELS = 6 };

/* The level at which a smooth function shows its rounding, also that of 1 + erf(-7). */
enum { ROUNDING = 3 };

/* The largest sixth difference of a jump by 1. */
static const double jump_of_1 = 10;

/* Asks for a run with the inputs moved by the part t of themselves, or of 1, each up or down. */
static void ask_moved(CheckRun *run, int input, double t) {
    const CheckPoint *p = run->point;
    check_run_ask(run);
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        uint64_t key = random_key(1, (uint64_t)k);
        if (input >= 0 ? k != input : !point_has_gradient(p, k)) continue;
        for (long i = 0; i < in->stored; i++) {
            double x = (double)in->value[i], by = t * fmax(fabs(x), 1);
            check_run_change(run, k, i, x + (random_bits(key, (uint64_t)i) & 1 ? by : -by));
        }
    }
}

/* The sixth difference of output i over the points from `first` on, as the size of a jump. */
static double bend_at(const CheckRun *run, long first, long i) {
    static const double binomial[] = {1, -6, 15, -20, 15, -6, 1};
    double sum = 0;
    for (int k = 0; k <= ORDER; k++)
        sum += binomial[k] * (double)check_run_output(run, first + k)[i];
    return isfinite(sum) ? fabs(sum) / jump_of_1 : 0;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The bends over the points at hand, relative to the largest output: the largest of any output,
 * where it is, and the largest median of an output that bends about as much at most places. */
typedef struct Bends {
    double largest, median;
    long at;
} Bends;

static Bends take_bends(const CheckRun *run, double *median) {
    const double least = 0x1p-38;
    const real *y = check_run_output(run, POINTS / 2);
    double size = rounding_largest(y, run->outputs);
    Bends b = {.at = WINDOWS / 2};
    for (long i = 0; i < run->outputs; i++) {
        double bend[WINDOWS];
        for (long k = 0; k < WINDOWS; k++) {
            bend[k] = bend_at(run, k, i);
            if (!(bend[k] > b.largest * size)) continue;
            b.largest = bend[k] / size;
            b.at = k;
        }
        qsort(bend, WINDOWS, sizeof *bend, by_size);
        bool even = bend[WINDOWS / 4] >= bend[WINDOWS / 2] / 8; /* beside a pole most bend less */
        median[i] = even ? bend[WINDOWS / 2] : 0;
        if (median[i] > least * size) b.median = fmax(b.median, median[i] / size);
    }
    return b;
}

Digits check_digits(CheckRun *run, int input, Arena *arena) {
    const double least = 0x1p-38, remains = 0.4, closer = (double)ORDER / (POINTS - 1);
    const double ulps = 4 * (double)REAL_EPSILON;
    Digits d = {0};
    Bends before = {0}, now = {.largest = INFINITY};
    double center = 0, spacing = 0x1p-7;
    if (sizeof(real) == sizeof(float) || !run->outputs) return d;
    d.step = arena_alloc(arena, (size_t)run->outputs * sizeof *d.step);
    for (int level = 0; level < LEVELS; level++, spacing *= closer) {
        if (!(now.largest > least) && level != ROUNDING) continue;
        for (int k = 0; k < POINTS; k++) ask_moved(run, input, center + (k - POINTS / 2) * spacing);
        check_run_all(run, NULL);
        before = now;
        now = take_bends(run, d.step);
        center += ((double)now.at + ORDER / 2.0 - POINTS / 2.0) * spacing;
    }
    for (long i = 0; i < run->outputs; i++)
        d.noisy |= d.step[i] > ulps * fabs((double)check_run_output(run, POINTS / 2)[i]);
    if (!(now.largest > least)) return d;
    d.everywhere = now.median > 0 && now.median >= before.median / 10;
    if (!d.everywhere && now.largest < remains * before.largest) return d;
    d.jump = d.everywhere ? now.median : now.largest;
    d.count = (int)fmax(0, floor(-log10(d.jump)));
    if (!d.count) return d; /* a jump of the output's own size is a kink near 0 */
    for (long i = 0; i < run->outputs; i++)
        d.step[i] = fmax(d.step[i], d.jump * fabs((double)check_run_output(run, POINTS / 2)[i]));
    return d;
}
