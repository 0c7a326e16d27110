/* scores: "The two most commonly used attention functions are additive attention, and dot-product
 * attention. … While the two are similar in theoretical complexity, dot-product attention is much faster
 * and more space-efficient in practice, since it can be implemented using highly optimized matrix
 * multiplication code" (3.2.1).
 *
 *     dot         s_ij = q_i·k_j / √d_k                      one matrix product
 *     additive    s_ij = Σ_c w_c tanh(q_ic + k_jc)           one tanh for every pair and component
 *
 * The same small model learns to copy with each, from the same batches, for several seeds. Then each
 * attention alone is timed, forward and backward, over sequences of three lengths. */
#include "base/clock.h"
#include "base/random.h"
#include "explain/lesson.h"
#include "explain/show.h"
#include "nn/trace.h"
#include <math.h>
#include <stdlib.h>

enum { SYMBOLS = 16, LONGEST = 3, STEPS = 360, JUDGED = 300, SEEDS = 5, KINDS = 2 };
static const char *const kind_name[KINDS] = {[ATTENTION_DOT] = "dot", [ATTENTION_ADDITIVE] = "additive"};

/* ---- Learning ---- */

static const Table learning = {"scores",
                               {{"seed", "seed", 4, 0},
                                {"attention", "attention", 9, AS_TEXT},
                                {"parameters", "parameters", 10, 0},
                                {"accuracy", "tokens %", 8, 2},
                                {"exact", "answers %", 9, 2},
                                {"ms_per_step", "ms a step", 9, 2}}};

/* Trains one model. *percent gets its right held-out tokens; its time is added to *seconds. */
static bool learn(const ExplainOptions *o, AttentionKind kind, uint64_t seed, double *percent,
                  double *seconds, Error *e) {
    Lesson l;
    double tokens, answers, begin = clock_seconds();
    bool ok = lesson_begin(&l, "copy", SYMBOLS, LONGEST, STEPS, kind, seed, e) && lesson_train(&l, STEPS, e);
    double took = clock_seconds() - begin;
    ok = ok && lesson_judge(&l, JUDGED, &tokens, &answers, e);
    if (ok) {
        *percent = 100 * tokens;
        show_row(o, &learning,
                 (Cell[]){NUMBER(seed), TEXT(kind_name[kind]), NUMBER(l.model->parameters.elements),
                          NUMBER(*percent), NUMBER(100 * answers), NUMBER(1e3 * took / STEPS)});
        *seconds += took;
    }
    lesson_end(&l);
    return ok;
}

/* ---- Time alone ---- */

enum { WIDTH = 64, HEADS = 4, LENGTHS = 3, REPEATS = 4, FARTHEST = 128 };
static const int32_t length_of[LENGTHS] = {8, 32, FARTHEST};

static const Table timing = {"scores",
                             {{"length", "length", 6, 0},
                              {"dot_ms", "dot ms", 9, 3},
                              {"additive_ms", "additive ms", 11, 3},
                              {"times", "times", 6, 1}}};

/* Queries, keys, values, and w of additive attention; the gradient of each follows it in memory. */
enum { Q, K, V, W, INPUTS_OF_BOTH };

/* The least seconds of REPEATS times forward and backward over one sequence. */
static bool time_attention(Tape *t, AttentionKind kind, const Sequences *s, real *memory, double *seconds,
                           Error *e) {
    long size = s->total_rows * WIDTH;
    *seconds = INFINITY;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        Tensor *in[INPUTS_OF_BOTH];
        double begin = clock_seconds();
        for (int i = 0; i < INPUTS_OF_BOTH; i++)
            in[i] = tape_leaf(t, i == W ? SHAPE(WIDTH) : SHAPE(s->total_rows, WIDTH), memory + 2 * i * size,
                              memory + (2 * i + 1) * size);
        Tensor *y = nn_plain_attention(t, in[Q], in[K], in[V], kind == ATTENTION_DOT ? NULL : in[W], HEADS, s,
                                       s, false, NULL);
        if (tape_failed(t, e)) return false;
        tape_backward_from(t, y, memory);
        *seconds = fmin(*seconds, clock_seconds() - begin);
        tape_reset(t);
    }
    return true;
}

static bool time_lengths(const ExplainOptions *o, double ms[KINDS][LENGTHS], Error *e) {
    enum { REALS = 2 * INPUTS_OF_BOTH * FARTHEST * WIDTH };
    real *memory = calloc(REALS, sizeof *memory);
    if (!memory) return error_set(e, STATUS_NO_MEMORY, "memory: %d numbers", REALS);
    for (int i = 0; i < REALS; i++)
        memory[i] = (real)random_normal(random_key(o->seed, STREAM_EXPERIMENT), (uint64_t)i);
    Tape *t = tape_new();
    bool ok = true;
    if (!o->json) putchar('\n');
    show_say(o, "One attention alone, width %d, %d heads, forward and backward:", WIDTH, HEADS);
    show_head(o, &timing);
    for (int i = 0; ok && i < LENGTHS; i++) {
        int32_t start = 0, length = length_of[i];
        Sequences s = {1, &start, &length, &length, length, length};
        for (int kind = 0; ok && kind < KINDS; kind++) {
            ok = time_attention(t, (AttentionKind)kind, &s, memory, &ms[kind][i], e);
            ms[kind][i] *= 1e3;
        }
        if (ok)
            show_row(
                o, &timing,
                (Cell[]){NUMBER(length), NUMBER(ms[0][i]), NUMBER(ms[1][i]), NUMBER(ms[1][i] / ms[0][i])});
    }
    tape_free(t);
    free(memory);
    return ok;
}

/* ---- All ---- */

static void conclude(const ExplainOptions *o, double percent[KINDS][SEEDS], const double seconds[KINDS],
                     double times) {
    double low[KINDS] = {100, 100}, high[KINDS] = {0};
    int ahead = 0; /* seeds for which dot-product attention is */
    for (int i = 0; i < SEEDS; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            low[kind] = fmin(low[kind], percent[kind][i]);
            high[kind] = fmax(high[kind], percent[kind][i]);
        }
        ahead += percent[ATTENTION_DOT][i] > percent[ATTENTION_ADDITIVE][i];
    }
    show_found(o, "scores",
               "Over %d seeds dot-product attention gets %.2f to %.2f %% of the tokens right and additive "
               "attention %.2f to %.2f %%; dot-product attention is ahead for %d of %d seeds, and additive "
               "attention takes %.1f times as long a step, and %.1f times alone over %d tokens.",
               SEEDS, low[0], high[0], low[1], high[1], ahead, SEEDS, seconds[1] / seconds[0], times,
               FARTHEST);
}

bool explain_scores(const ExplainOptions *o, Error *e) {
    double percent[KINDS][SEEDS], seconds[KINDS] = {0}, ms[KINDS][LENGTHS], lengths[LENGTHS];
    show_question(o, "Which score learns better, and which is faster?",
                  "dot       s_ij = q_i.k_j / sqrt(d_k)\n"
                  "additive  s_ij = sum_c w_c tanh(q_ic + k_jc)");
    show_say(o,
             "Models of one layer learn to copy sequences of up to %d of %d symbols in %d steps. The table "
             "shows held-out tokens that are right when the model reads the right answer, whole answers that "
             "are right when it reads its own, and time.",
             LONGEST, SYMBOLS, STEPS);
    show_head(o, &learning);
    for (int i = 0; i < SEEDS; i++)
        for (int kind = 0; kind < KINDS; kind++)
            if (!learn(o, (AttentionKind)kind, o->seed + (uint64_t)i, &percent[kind][i], &seconds[kind], e))
                return false;
    if (!time_lengths(o, ms, e)) return false;
    for (int i = 0; i < LENGTHS; i++) lengths[i] = length_of[i];
    Series times[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        times[kind] = (Series){kind_name[kind], LENGTHS, lengths, ms[kind]};
    Picture picture = {PICTURE_CHART, "Time of one attention", "Forward and backward over one sequence.",
                       .chart = {"length", "milliseconds", true, true, .series = times, .count = KINDS}};
    if (!show_pictures(o, &picture, 1, e)) return false;
    conclude(o, percent, seconds, ms[1][LENGTHS - 1] / ms[0][LENGTHS - 1]);
    return true;
}
