#include "base/random.h"
#include "check/gradcheck/check_run.h"
#include <string.h>

/* Runs with the inputs' last digits changed; runs of a batch. Each later run changes the inputs by
 * twice as much, up to `hardest`: larger changes show the function, not its rounding. */
enum { TRIALS = 6, BATCH = 8 };
static const double hardest = 0x1p-16;

static double change_of_trial(int trial) {
    double change = ldexp((double)REAL_EPSILON, trial < TRIALS ? 0 : trial - TRIALS + 1);
    return fmin(change, hardest);
}

/* Requests a run with the values of the input, or (-1) of all, changed by the part `relative` of
 * themselves. */
static void ask_jittered(CheckRun *run, int input, double relative, uint64_t key) {
    const CheckPoint *p = run->point;
    check_run_ask(run);
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        uint64_t own_key = input < 0 ? random_key(key, (uint64_t)k) : key;
        bool moves = input < 0 ? point_has_gradient(p, k) : k == input;
        for (long i = 0; i < (moves ? in->stored : 0); i++)
            check_run_change(run, k, i, (double)point_jittered(in, i, (real)relative, own_key));
    }
}

/* Takes the changes of a jittered run; of larger ones an output's first move, whose number is
 * first[i]. True if all outputs have moved. */
static bool take_changes(Noise *n, const CheckRun *run, long which, int trial, int *first) {
    const real *y = check_run_output(run, which);
    bool all = true;
    for (long i = 0; i < run->outputs; i++) {
        double change = fabs((double)y[i] - (double)n->here[i]);
        bool counts = isfinite(change) && run->result.branches[which] == n->branches;
        if (counts && (trial < TRIALS || !first[i])) n->change[i] = fmax(n->change[i], change);
        if (change > 0 && !first[i]) first[i] = 1 + trial;
        all &= first[i] > 0;
    }
    return all;
}

/* Forgets the first moves of a trial that slightly larger changes continue: a step of rounding does
 * not grow, and a function does behind its kink. */
static void forget_kinks(Noise *n, CheckRun *run, int input, int trial, const int *first) {
    enum { LOOKS = 3, PARTS = 64 };
    bool any = false;
    for (long i = 0; i < run->outputs; i++) any |= first[i] == 1 + trial;
    for (int k = 1; any && k <= LOOKS; k++)
        ask_jittered(run, input, change_of_trial(trial) * (1 + (double)k / PARTS),
                     random_key(0, (uint64_t)trial));
    if (any) check_run_all(run, NULL);
    for (long i = 0; any && i < run->outputs; i++) {
        double before = n->change[i];
        bool grows = first[i] == 1 + trial;
        for (int k = 0; k < LOOKS; k++) {
            double change = fabs((double)check_run_output(run, k)[i] - (double)n->here[i]);
            grows &= change > before;
            before = change;
        }
        if (grows) n->change[i] = fabs((double)n->here[i]) * (double)REAL_EPSILON;
    }
}

/* Takes the outputs at the point, and their own last digits. */
static void take_here(Noise *n, CheckRun *run) {
    double largest = 1;
    check_run_ask(run);
    check_run_all(run, NULL);
    memcpy(n->here, check_run_output(run, 0), (size_t)run->outputs * sizeof *n->here);
    n->branches = run->result.branches[0];
    for (long i = 0; i < run->outputs; i++) {
        double size = isfinite(n->here[i]) ? fabs((double)n->here[i]) : 0;
        n->change[i] = size * (double)REAL_EPSILON;
        largest = fmax(largest, size);
    }
    n->floor = largest * (double)REAL_EPSILON;
}

void check_noise(Noise *n, CheckRun *run, int input, Arena *arena) {
    size_t outputs = (size_t)run->outputs;
    bool all = false;
    int *first = arena_alloc(arena, outputs * sizeof *first);
    int trial = 0;
    n->here = arena_alloc(arena, outputs * sizeof *n->here);
    n->change = arena_alloc(arena, outputs * sizeof *n->change);
    take_here(n, run);
    while (change_of_trial(trial) < hardest && !all) {
        for (int i = 0; i < BATCH; i++)
            ask_jittered(run, input, change_of_trial(trial + i),
                         random_key(0, (uint64_t)(trial + i)));
        check_run_all(run, NULL);
        for (int i = 0; i < BATCH && !(all && trial >= TRIALS); i++, trial++)
            all = take_changes(n, run, i, trial, first);
    }
    while (--trial >= TRIALS) forget_kinks(n, run, input, trial, first);
}
