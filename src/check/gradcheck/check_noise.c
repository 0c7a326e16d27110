#include "check/gradcheck/check_noise.h"
#include "base/random.h"
#include "check/gradcheck/rounding.h"
#include <string.h>

/* Runs with the inputs' last digits changed; runs of a batch with larger changes. */
enum { TRIALS = 6, JOLTS = 8, RUNS = JOLTS > 1 + TRIALS ? JOLTS : 1 + TRIALS };

/* A change larger than `gentle` may show the function instead of noise. */
static const double hardest = 0x1p-6, gentle = 0x1p-16;

typedef struct Measure {
    Noise *n;
    CheckBatch b;
    int input;
    bool *moved; /* of each output */
} Measure;

static bool is_jittered(const Measure *m, int k) {
    return m->input < 0 ? point_has_gradient(m->b.run->point, k) : k == m->input;
}

/* Requests a run with the values changed by the part `relative` of themselves. */
static void ask_jittered(Measure *m, double relative, uint64_t key) {
    const CheckPoint *p = m->b.run->point;
    check_batch_ask(&m->b, m->b.room);
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        uint64_t own_key = m->input < 0 ? random_key(key, (uint64_t)k) : key;
        for (long i = 0; is_jittered(m, k) && i < in->stored; i++)
            check_batch_change(&m->b, k, i, (double)point_jittered(in, i, (real)relative, own_key));
    }
}

/* Takes the changes of a jittered run. True if all outputs have moved. */
static bool take_changes(Measure *m, long run, double most, bool first_moves_only) {
    const real *y = check_batch_output(&m->b, run);
    bool all = true;
    for (long i = 0; i < m->b.outputs; i++) {
        double change = fabs((double)y[i] - (double)m->n->here[i]);
        bool counts = isfinite(change) && m->b.branches[run] == m->n->branches;
        if (first_moves_only) counts &= !m->moved[i] && change < most;
        if (counts) m->n->change[i] = fmax(m->n->change[i], change);
        m->moved[i] |= change > 0;
        all &= m->moved[i];
    }
    return all;
}

static void begin_measure(Measure *m, CheckRun *run, long outputs, Arena *arena) {
    long changes = 0;
    m->b.run = run;
    for (int k = 0; k < run->point->inputs; k++)
        if (is_jittered(m, k)) changes += run->point->in[k].stored;
    check_batch_open(&m->b, run, arena, outputs, RUNS, changes);
    m->n->here = arena_alloc(arena, (size_t)outputs * sizeof *m->n->here);
    m->n->change = arena_alloc(arena, (size_t)outputs * sizeof *m->n->change);
    m->moved = arena_alloc(arena, (size_t)outputs * sizeof *m->moved);
}

/* Takes the outputs at the point, and their own last digits. */
static void take_here(Measure *m) {
    Noise *n = m->n;
    double largest = 1;
    memcpy(n->here, check_batch_output(&m->b, 0), (size_t)m->b.outputs * sizeof *n->here);
    n->branches = m->b.branches[0];
    for (long i = 0; i < m->b.outputs; i++) {
        double size = isfinite(n->here[i]) ? fabs((double)n->here[i]) : 0;
        n->change[i] = size * (double)REAL_EPSILON;
        if (size > largest) largest = size;
    }
    n->floor = largest * (double)REAL_EPSILON;
}

void check_noise(Noise *n, CheckRun *run, int input, long outputs, Arena *arena) {
    Measure m = {.n = n, .input = input};
    double relative = (double)REAL_EPSILON;
    bool all = false;
    begin_measure(&m, run, outputs, arena);
    check_batch_begin(&m.b);
    check_batch_ask(&m.b, 0);
    for (int trial = 0; trial < TRIALS; trial++) ask_jittered(&m, relative, random_key(0, (uint64_t)trial));
    check_batch_run(&m.b);
    take_here(&m);
    for (int trial = 0; trial < TRIALS; trial++) all = take_changes(&m, 1 + trial, INFINITY, false);
    for (int trial = TRIALS; !all && relative <= hardest; trial += JOLTS) {
        check_batch_begin(&m.b);
        for (int i = 0; i < JOLTS && ldexp(relative, i) <= hardest; i++)
            ask_jittered(&m, ldexp(relative, 1 + i), random_key(0, (uint64_t)(trial + i)));
        check_batch_run(&m.b);
        for (int i = 0; i < m.b.done && !all; i++) {
            relative *= 2;
            all = take_changes(&m, i, relative <= gentle ? INFINITY : 1024 * n->floor, true);
        }
    }
}

/* ---- Steps of a coarse forward ---- */

/* By how much the middle of two moved outputs differs from the output at the point: the largest such bend of each output
 * over moves both ways, by the part `relative` down to half of it: one may jump as far up as another down. */
static double *largest_bends(Measure *m, double relative, Arena *arena) {
    enum { BATCHES = 4 };
    double *bend = arena_alloc(arena, (size_t)m->b.outputs * sizeof *bend);
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        check_batch_begin(&m->b);
        for (uint64_t pair = 0; pair < JOLTS / 2; pair++) {
            uint64_t key = random_key(1, batch * JOLTS + pair);
            double part = relative * (1 - (double)(batch * JOLTS / 2 + pair) / (BATCHES * JOLTS));
            ask_jittered(m, part, key);
            ask_jittered(m, -part, key);
        }
        check_batch_run(&m->b);
        for (long run = 0; run < JOLTS; run += 2) {
            const real *up = check_batch_output(&m->b, run), *down = check_batch_output(&m->b, run + 1);
            bool crossed = m->b.branches[run] != m->n->branches || m->b.branches[run + 1] != m->n->branches;
            for (long i = 0; i < m->b.outputs && !crossed; i++) {
                double by = fabs(((double)up[i] - (double)m->n->here[i]) +
                                 ((double)down[i] - (double)m->n->here[i])) /
                            2;
                if (isfinite(by)) bend[i] = fmax(bend[i], by);
            }
        }
    }
    return bend;
}

/* A move that is 8 times as long bends a smooth output 64 times and a kink 8 times as much, and leaves steps as they are.
 * Both are longer than a float's steps, 2^-24. */
const double *check_steps(CheckRun *run, int input, long outputs, int *digits, Arena *arena) {
    const double near = 0x1p-22, far = 8 * near, same = 0.25, least = 0x1p-38, most = 0x1p-20;
    Noise n;
    Measure m = {.n = &n, .input = input};
    double largest, part = 0;
    if (sizeof(real) == sizeof(float) || !outputs) return NULL;
    begin_measure(&m, run, outputs, arena);
    check_batch_begin(&m.b);
    check_batch_ask(&m.b, 0);
    check_batch_run(&m.b);
    take_here(&m);
    largest = rounding_largest(n.here, outputs);
    double *step = largest_bends(&m, far, arena), *small = largest_bends(&m, near, arena);
    for (long i = 0; i < outputs; i++) {
        double size = fabs((double)n.here[i]);
        bool jumps = small[i] > least * largest && small[i] >= same * step[i] && step[i] <= most * size;
        if (jumps) part = fmax(part, fmax(step[i], small[i]) / size);
    }
    if (part == 0) return NULL;
    for (long i = 0; i < outputs; i++) {
        double size = isfinite(n.here[i]) ? fabs((double)n.here[i]) : 0;
        step[i] = 2 * fmax(step[i], part * size);
    }
    *digits = (int)floor(-log10(part));
    return step;
}
