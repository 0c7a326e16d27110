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
        for (long i = 0; is_jittered(m, k) && i < in->stored; i++)
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
    for (int trial = 0; trial < TRIALS; trial++) ask_jittered(&m, relative, random_key(0, (uint64_t)trial));
    check_run_all(run, NULL);
    take_here(&m);
    for (int trial = 0; trial < TRIALS; trial++) all = take_changes(&m, 1 + trial, INFINITY, false);
    for (int trial = TRIALS; !all && relative <= hardest; trial += JOLTS) {
        int jolts = 0;
        for (; jolts < JOLTS && ldexp(relative, jolts) <= hardest; jolts++)
            ask_jittered(&m, ldexp(relative, 1 + jolts), random_key(0, (uint64_t)(trial + jolts)));
        check_run_all(run, NULL);
        for (int i = 0; i < jolts && !all; i++) {
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
    double *bend = arena_alloc(arena, (size_t)m->run->outputs * sizeof *bend);
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        for (uint64_t pair = 0; pair < JOLTS / 2; pair++) {
            uint64_t key = random_key(1, batch * JOLTS + pair);
            double part = relative * (1 - (double)(batch * JOLTS / 2 + pair) / (BATCHES * JOLTS));
            ask_jittered(m, part, key);
            ask_jittered(m, -part, key);
        }
        check_run_all(m->run, NULL);
        for (long run = 0; run < JOLTS; run += 2) {
            const real *up = check_run_output(m->run, run), *down = check_run_output(m->run, run + 1);
            bool crossed = m->run->result.branches[run] != m->n->branches ||
                           m->run->result.branches[run + 1] != m->n->branches;
            for (long i = 0; i < m->run->outputs && !crossed; i++) {
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
const double *check_steps(CheckRun *run, int input, int *digits, Arena *arena) {
    const double near = 0x1p-22, far = 8 * near, same = 0.25, least = 0x1p-38, most = 0x1p-20;
    Noise n;
    double largest, part = 0;
    long outputs = run->outputs;
    if (sizeof(real) == sizeof(float) || !outputs) return NULL;
    Measure m = begin_measure(&n, run, input, arena);
    check_run_all(run, NULL);
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
