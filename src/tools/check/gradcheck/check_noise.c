#include "base/random.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/rounding.h"
#include <string.h>

/* Runs with the inputs' last digits changed; runs of a batch with larger changes. */
enum { TRIALS = 6, JOLTS = 8 };

/* A change larger than `gentle` may show the function instead of noise. */
static const double hardest = 0x1p-6, gentle = 0x1p-16;

typedef struct Measure {
    Noise *n;
    CheckRun *run;
    int input;
    bool *moved; /* of each output */
} Measure;

static bool is_jittered(const Measure *m, int k) {
    return m->input < 0 ? point_has_gradient(m->run->point, k) : k == m->input;
}

/* Requests a run with the values changed by the part `relative` of themselves. */
static void ask_jittered(Measure *m, double relative, uint64_t key) {
    const CheckPoint *p = m->run->point;
    check_run_ask(m->run);
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        uint64_t own_key = m->input < 0 ? random_key(key, (uint64_t)k) : key;
        long count = is_jittered(m, k) ? in->stored : 0;
        for (long i = 0; i < count; i++)
            check_run_change(m->run, k, i, (double)point_jittered(in, i, (real)relative, own_key));
    }
}

/* Takes the changes of a jittered run. True if all outputs have moved. */
static bool take_changes(Measure *m, long run, double most, bool first_moves_only) {
    const real *y = check_run_output(m->run, run);
    bool all = true;
    for (long i = 0; i < m->run->outputs; i++) {
        double change = fabs((double)y[i] - (double)m->n->here[i]);
        bool counts = isfinite(change) && m->run->result.branches[run] == m->n->branches;
        if (first_moves_only) counts &= !m->moved[i] && change < most;
        if (counts) m->n->change[i] = fmax(m->n->change[i], change);
        m->moved[i] |= change > 0;
        all &= m->moved[i];
    }
    return all;
}

static Measure begin_measure(Noise *n, CheckRun *run, int input, Arena *arena) {
    size_t outputs = (size_t)run->outputs;
    n->here = arena_alloc(arena, outputs * sizeof *n->here);
    n->change = arena_alloc(arena, outputs * sizeof *n->change);
    check_run_ask(run);
    return (Measure){n, run, input, arena_alloc(arena, outputs)};
}

/* Takes the outputs at the point, and their own last digits. */
static void take_here(Measure *m) {
    Noise *n = m->n;
    double largest = 1;
    memcpy(n->here, check_run_output(m->run, 0), (size_t)m->run->outputs * sizeof *n->here);
    n->branches = m->run->result.branches[0];
    for (long i = 0; i < m->run->outputs; i++) {
        double size = isfinite(n->here[i]) ? fabs((double)n->here[i]) : 0;
        n->change[i] = size * (double)REAL_EPSILON;
        if (size > largest) largest = size;
    }
    n->floor = largest * (double)REAL_EPSILON;
}

void check_noise(Noise *n, CheckRun *run, int input, Arena *arena) {
    Measure m = begin_measure(n, run, input, arena);
    double relative = (double)REAL_EPSILON;
    bool all = false;
    for (int trial = 0; trial < TRIALS; trial++)
        ask_jittered(&m, relative, random_key(0, (uint64_t)trial));
    check_run_all(run, NULL);
    take_here(&m);
    for (int trial = 0; trial < TRIALS; trial++) all = take_changes(&m, 1 + trial, INFINITY, false);
    for (int trial = TRIALS; relative <= hardest; trial += JOLTS) {
        int jolts = 0;
        if (all) return;
        for (; jolts < JOLTS && ldexp(relative, jolts) <= hardest; jolts++)
            ask_jittered(&m, ldexp(relative, 1 + jolts), random_key(0, (uint64_t)(trial + jolts)));
        check_run_all(run, NULL);
        for (int i = 0; i < jolts; i++) {
            if (all) return;
            relative *= 2;
            all = take_changes(&m, i, relative <= gentle ? INFINITY : 1024 * n->floor, true);
        }
    }
}
