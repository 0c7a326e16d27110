#include "base/random.h"
#include "check/gradcheck/check_lines.h"
#include <math.h>
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

/* Asks for a run with the values changed by the part `relative` of themselves. */
static void ask_jittered(Measure *m, double relative, uint64_t key) {
    const CheckPoint *p = m->b.run->point;
    check_batch_ask(&m->b, m->b.room);
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        uint64_t own_key = m->input < 0 ? random_key(key, (uint64_t)k) : key;
        for (long i = 0; is_jittered(m, k) && i < in->stored; i++)
            check_batch_change(&m->b, point_element(in, i), point_jittered(in, i, (real)relative, own_key));
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

static void begin(Measure *m, CheckRun *run, long outputs, Arena *arena) {
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
static void take_point(Measure *m) {
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
    begin(&m, run, outputs, arena);
    check_batch_begin(&m.b);
    check_batch_ask(&m.b, 0);
    for (int trial = 0; trial < TRIALS; trial++) ask_jittered(&m, relative, random_key(0, (uint64_t)trial));
    check_batch_run(&m.b);
    take_point(&m);
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
