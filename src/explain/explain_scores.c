/* scores: "The two most commonly used attention functions are additive attention, and dot-product attention. … While the
 * two are similar in theoretical complexity, dot-product attention is much faster and more space-efficient in practice,
 * since it can be implemented using highly optimized matrix multiplication code" (3.2.1).
 *
 *     dot         s_ij = q_i·k_j / √d_k                      a product of matrices
 *     additive    s_ij = Σ_c w_c tanh(q_ic + k_jc)           a tanh for every pair and component
 *
 * The same small model learns to copy with each, from the same batches; and each attention alone is timed, forward and
 * backward, by the length of its sequence. */
#include "base/clock.h"
#include "base/random.h"
#include "explain/lesson.h"
#include "explain/show.h"
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>

enum { SYMBOLS = 16, LONGEST = 4, STEPS = 360, LOOKS = 9, JUDGED = 300, KINDS = 2 };
static const char *const kind_name[KINDS] = {[ATTENTION_DOT] = "dot", [ATTENTION_ADDITIVE] = "additive"};

/* ---- Learning ---- */

typedef struct Learnt {
    double tokens, answers, seconds;     /* shares at the end; of the steps alone */
    double step[LOOKS], accuracy[LOOKS]; /* shares of tokens on the way */
} Learnt;

static const Column columns[] = {{"attention", "attention", 9, AS_TEXT},
                                 {"parameters", "parameters", 10, 0},
                                 {"accuracy", "tokens %", 8, 2},
                                 {"exact", "answers %", 9, 2},
                                 {"ms_per_step", "ms a step", 9, 2}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool learn(const ExplainOptions *o, AttentionKind kind, Learnt *r, Error *e) {
    Lesson l;
    *r = (Learnt){0};
    bool ok = lesson_begin(&l, "copy", SYMBOLS, LONGEST, STEPS, kind, o->seed, e);
    for (int i = 0; ok && i < LOOKS; i++) {
        double begin = clock_seconds();
        ok = lesson_train(&l, STEPS * (i + 1) / LOOKS, e);
        r->seconds += clock_seconds() - begin;
        ok = ok && lesson_judge(&l, JUDGED, &r->tokens, i == LOOKS - 1 ? &r->answers : NULL, e);
        r->step[i] = STEPS * (i + 1) / LOOKS, r->accuracy[i] = 100 * r->tokens;
    }
    if (ok)
        show_row(o, "scores", columns, COLUMNS,
                 (Cell[]){TEXT(kind_name[kind]), NUMBER(l.model->parameters.elements),
                          NUMBER(100 * r->tokens), NUMBER(100 * r->answers),
                          NUMBER(1e3 * r->seconds / STEPS)});
    lesson_end(&l);
    return ok;
}

/* ---- Time alone ---- */

enum { WIDTH = 64, HEADS = 4, LENGTHS = 3, REPEATS = 2, FARTHEST = 128 };
static const int32_t length_of[LENGTHS] = {8, 32, FARTHEST};

static const Column time_columns[] = {{"length", "length", 6, 0},
                                      {"dot_ms", "dot ms", 9, 3},
                                      {"additive_ms", "additive ms", 11, 3},
                                      {"times", "times", 6, 1}};
enum { TIME_COLUMNS = sizeof time_columns / sizeof *time_columns };

/* Queries, keys, values, and additive attention's w; each with the gradient behind it. */
enum { Q, K, V, W, INPUTS_OF_BOTH };

/* Seconds of one forward and backward over a sequence, the least of some. */
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
        Tensor *y = kind == ATTENTION_DOT
                        ? tape_attention(t, in[Q], in[K], in[V], HEADS, s, s, false)
                        : tape_additive_attention(t, in[Q], in[K], in[V], in[W], HEADS, s, s, false);
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
    show_say(o, "One attention alone, width %d, %d heads, forward and backward:", WIDTH, HEADS);
    show_head(o, time_columns, TIME_COLUMNS);
    for (int i = 0; ok && i < LENGTHS; i++) {
        int32_t start = 0, length = length_of[i];
        Sequences s = {1, &start, &length, &length, length, length};
        for (int kind = 0; ok && kind < KINDS; kind++) {
            ok = time_attention(t, (AttentionKind)kind, &s, memory, &ms[kind][i], e);
            ms[kind][i] *= 1e3;
        }
        if (ok)
            show_row(
                o, "scores", time_columns, TIME_COLUMNS,
                (Cell[]){NUMBER(length), NUMBER(ms[0][i]), NUMBER(ms[1][i]), NUMBER(ms[1][i] / ms[0][i])});
    }
    tape_free(t);
    free(memory);
    return ok;
}

/* ---- All ---- */

bool explain_scores(const ExplainOptions *o, Error *e) {
    Learnt r[KINDS];
    double ms[KINDS][LENGTHS], lengths[LENGTHS];
    show_say(o,
             "Copying sequences of up to %d of %d symbols, one layer, %d steps: held-out tokens right "
             "when fed the right ones, whole answers right when fed its own, and time.",
             LONGEST, SYMBOLS, STEPS);
    show_head(o, columns, COLUMNS);
    for (int kind = 0; kind < KINDS; kind++)
        if (!learn(o, (AttentionKind)kind, &r[kind], e)) return false;
    if (!time_lengths(o, ms, e)) return false;
    for (int i = 0; i < LENGTHS; i++) lengths[i] = length_of[i];
    Series learnt[KINDS], times[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        learnt[kind] = (Series){kind_name[kind], LOOKS, r[kind].step, r[kind].accuracy};
        times[kind] = (Series){kind_name[kind], LENGTHS, lengths, ms[kind]};
    }
    Picture pictures[] = {
        {PICTURE_CHART, "Learning to copy", "With either score the model learns to copy.",
         .chart = {"step", "held-out tokens %", .y_high = 100, .series = learnt, .count = KINDS}},
        {PICTURE_CHART, "Time of one attention", "Additive attention takes longer at every length.",
         .chart = {"length", "milliseconds", true, true, .series = times, .count = KINDS}}};
    if (!show_pictures(o, pictures, 2, e)) return false;
    show_found(o, "scores",
               "after %d steps dot-product attention has %.2f %% of the tokens right and additive attention "
               "%.2f %%, which takes %.1f times as long a step here, and alone over %d tokens %.1f times.",
               STEPS, 100 * r[0].tokens, 100 * r[1].tokens, r[1].seconds / r[0].seconds, FARTHEST,
               ms[1][LENGTHS - 1] / ms[0][LENGTHS - 1]);
    return true;
}
