/* positions: "Since our model contains no recurrence and no convolution, in order for the model to
 * make use of the order of the sequence, we must inject some information about the relative or
 * absolute position of the tokens" (3.5).
 *
 * The sinusoids. Each pair of columns is the hand of a clock: (sin ωp, cos ωp) at position p.
 * Moving by k turns each hand by ωk, whatever p is: PE(p+k) = R_k PE(p), a rotation; and
 * PE(p)·PE(p+k) = Σ_ω cos ωk depends on k alone.
 *
 * Without them. An encoder without positions sees a set, and so does a decoder that attends to its
 * output. When it copies a sequence, the decoder knows which symbols are still to come, because it
 * reads those already answered, but not their order. All orders are equally likely, so its best
 * answer is the most frequent of the remaining symbols; after the last symbol the end is certain.
 */
#include "explain/lesson.h"
#include "explain/show.h"
#include <math.h>
#include <string.h>

enum {
    POSITIONS = 64,
    WIDTH = 32,
    FARTHEST = 32,
    SYMBOLS = 16,
    LONGEST = 6,
    STEPS = 400,
    JUDGED = 500
};

/* The largest element of PE(p+k) - R_k PE(p) for p + k < POSITIONS. */
static double off_rotation(const real *pe) {
    double off = 0;
    for (int p = 0; p < POSITIONS; p++)
        for (int k = 0; p + k < POSITIONS; k++)
            for (int i = 0; i < WIDTH; i += 2) {
                double angle = k * pow(10000, -(double)i / WIDTH);
                double s = (double)pe[p * WIDTH + i], c = (double)pe[p * WIDTH + i + 1];
                const real *turned = pe + (p + k) * WIDTH + i;
                off = fmax(off, fabs((double)turned[0] - (s * cos(angle) + c * sin(angle))));
                off = fmax(off, fabs((double)turned[1] - (c * cos(angle) - s * sin(angle))));
            }
    return off;
}

/* Puts PE(0)·PE(k) into product[k]; returns the largest difference of PE(p)·PE(p+k) from it. */
static double products(const real *pe, double product[FARTHEST]) {
    double off = 0;
    for (int p = 0; p < POSITIONS; p++)
        for (int k = 0; k < FARTHEST && p + k < POSITIONS; k++) {
            double sum = 0;
            for (int i = 0; i < WIDTH; i++)
                sum += (double)pe[p * WIDTH + i] * (double)pe[(p + k) * WIDTH + i];
            if (p == 0) product[k] = sum;
            off = fmax(off, fabs(sum - product[k]));
        }
    return off;
}

/* The expected share of right tokens of a reader that knows no order, over the held-out rows. */
static double order_blind(const Task *task, Batch *b) {
    double right = 0, tokens = 0;
    for (long first = 0, count; first < JUDGED; first += count) {
        count = task_held_out_batch(task, first, b->max_rows, b);
        if (count == 0) break;
        for (long r = 0; r < count; r++) {
            BatchRow row = batch_row(b, r);
            long left[SYMBOLS] = {0};
            for (long i = 0; i < row.S; i++) left[row.source[i]]++;
            for (long i = 0; i < row.S; i++) {
                long most = 0;
                for (int s = 0; s < SYMBOLS; s++) most = left[s] > most ? left[s] : most;
                right += (double)most / (double)(row.S - i);
                left[row.source[i]]--;
            }
            right++; /* the end */
            tokens += (double)row.T;
        }
    }
    return right / tokens;
}

static const Table table = {
    "positions",
    "What does a model lose without positions?",
    "PE_(p,2c) = sin(p / 10000^(2c/d_model)),  PE_(p,2c+1) = cos(the same)\n"
    "PE(p+k) = R_k PE(p),  R_k a rotation",
    {{"positions", "positions", 18, AS_TEXT},
     {"accuracy", "tokens %", 8, 2},
     {"exact", "answers %", 9, 2}}};

/* Trains copy, with its table of positions or with zeros instead. */
static bool copy(const ExplainOptions *o, bool with, double *accuracy, double *blind, Error *e) {
    Lesson l;
    double exact;
    bool ok = lesson_begin(&l, "copy", SYMBOLS, LONGEST, STEPS, &attention_dot, o->seed, e);
    if (ok && !with) nn_make_positions(l.model, l.task->max_T); /* made once, and not again */
    if (ok && !with)
        memset(l.model->position_table, 0,
               (size_t)shape_count(l.model->positions.shape) * sizeof(real));
    ok = ok && lesson_train(&l, STEPS, e) && lesson_judge(&l, JUDGED, accuracy, &exact, e);
    if (ok) {
        *blind = order_blind(l.task, l.trainer.batch);
        show_row(o, &table,
                 (Cell[]){TEXT(with ? "with" : "without"), NUMBER(100 * *accuracy),
                          NUMBER(100 * exact)});
    }
    lesson_end(&l);
    return ok;
}

bool explain_positions(const ExplainOptions *o, Error *e) {
    real pe[POSITIONS * WIDTH];
    double product[FARTHEST], accuracy[2], blind;
    for (int p = 0; p < POSITIONS; p++) nn_sinusoids(p, WIDTH, pe + p * WIDTH);
    double rotation = off_rotation(pe), distance = products(pe, product);
    show_start(
        o, &table,
        "Models of one layer learn to copy sequences of up to %d of %d symbols in %d steps. The "
        "table "
        "shows held-out tokens that are right when the model reads the right answer, and whole "
        "answers that are right when it reads its own. The order-blind reader knows which symbols "
        "are "
        "still to come, and not in which order.",
        LONGEST, SYMBOLS, STEPS);
    for (int with = 1; with >= 0; with--)
        if (!copy(o, with, &accuracy[with], &blind, e)) return false;
    show_row(o, &table, (Cell[]){TEXT("order-blind reader"), NUMBER(100 * blind), NUMBER(NAN)});
    const Map map = {"The sinusoids", "Each column is a wave; waves grow longer to the right.",
                     FARTHEST,        WIDTH,
                     "position",      "component",
                     .values = pe,    .low = -1,
                     .high = 1};
    return show_found(
        o, &table, &map, 1,
        "Without positions the model gets %.2f %% of the tokens right, where a reader that "
        "knows no order can expect at most %.2f %%, and with them %.2f %%; PE(p+k) is PE(p) "
        "rotated within %.1e, and PE(p).PE(p+k) is the same for all p within %.1e.",
        100 * accuracy[0], 100 * blind, 100 * accuracy[1], rotation, distance);
}
