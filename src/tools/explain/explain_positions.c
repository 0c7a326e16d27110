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
#include "explain/experiment.h"

enum { POSITIONS = 64, WIDTH = 32, FARTHEST = 32 };
enum { SYMBOLS = 16, STEPS = 200, JUDGED = 500 };

/* *rotation: the largest element of PE(p+k) - R_k PE(p) for p + k < POSITIONS; *product: the
 * largest difference of PE(p)·PE(p+k) from Σ_ω cos ωk. */
static void check_sinusoids(const real *pe, double *rotation, double *product) {
    *rotation = *product = 0;
    for (int n = 0; n < POSITIONS * POSITIONS; n++) {
        int p = n / POSITIONS, k = n % POSITIONS;
        if (p + k >= POSITIONS) continue;
        const real *from = pe + p * WIDTH, *to = from + k * WIDTH;
        double off = 0;
        for (int i = 0; i < WIDTH; i += 2) {
            double angle = k * pow(10000, -(double)i / WIDTH);
            double s = (double)from[i], c = (double)from[i + 1];
            double sine = (double)to[i], cosine = (double)to[i + 1];
            *rotation = fmax(*rotation, fabs(sine - (s * cos(angle) + c * sin(angle))));
            *rotation = fmax(*rotation, fabs(cosine - (c * cos(angle) - s * sin(angle))));
            off += s * sine + c * cosine - cos(angle);
        }
        *product = fmax(*product, fabs(off));
    }
}

/* The expected percentage of right tokens of a reader that knows no order, over the held-out rows.
 */
static double order_blind(const Task *task, Batch *b) {
    double right = 0, tokens = 0;
    for (long first = 0; first < JUDGED; first += b->max_rows) {
        long count = task_held_out_batch(task, first, b->max_rows, b);
        for (long r = 0; r < count; r++) {
            BatchRow row = batch_row(b, r);
            long left[SYMBOLS] = {0};
            for (long i = 0; i < row.S; i++) left[row.source[i]]++;
            for (long i = 0; i < row.S; i++) {
                long max = 0;
                for (int s = 0; s < SYMBOLS; s++) max = left[s] > max ? left[s] : max;
                right += (double)max / (double)(row.S - i);
                left[row.source[i]]--;
            }
            right++; /* the end */
            tokens += (double)row.T;
        }
    }
    return 100 * (right / tokens);
}

static void run(Lab *l) {
    real pe[POSITIONS * WIDTH];
    double tokens[2], blind = 0, rotation, product;
    for (int p = 0; p < POSITIONS; p++) nn_sinusoids(p, WIDTH, pe + p * WIDTH);
    check_sinusoids(pe, &rotation, &product);
    lab_start(l,
              "Models of one layer learn to copy sequences of up to 6 of %d symbols in %d steps. "
              "The table shows held-out tokens that are right when the model reads the right "
              "answer, and whole answers that are right when it reads its own. The order-blind "
              "reader knows which symbols are still to come, and not in which order.",
              SYMBOLS, STEPS);
    for (int without = 0; without < 2; without++) {
        Lesson x;
        lesson_learn(l, &x, "copy --symbols 16 --max-length 6", STEPS, without);
        tokens[without] = lesson_tokens(l, &x, JUDGED);
        LAB_ROW(l, TEXT(without ? "without" : "with"), NUMBER(tokens[without]),
                NUMBER(lesson_answers(l, &x, JUDGED)));
        blind = order_blind(x.task, x.trainer.batch);
        lesson_end(&x);
    }
    LAB_ROW(l, TEXT("order-blind reader"), NUMBER(blind), NUMBER(NAN));
    Map map = {"The sinusoids", FARTHEST, WIDTH, "position", "component", .low = -1, .high = 1};
    map.values = pe;
    lab_map(l, &map, "Each column is a wave; waves grow longer to the right.");
    lab_found(l,
              "Without positions the model gets %.2f %% of the tokens right, where a reader that "
              "knows no order can expect at most %.2f %%, and with them %.2f %%; PE(p+k) is PE(p) "
              "rotated within %.1e, and PE(p).PE(p+k) is the same for all p within %.1e.",
              tokens[1], blind, tokens[0], rotation, product);
}

const Experiment explain_positions = {
    "positions",
    "what a model loses without positions",
    "What does a model lose without positions?",
    "PE_(p,2c) = sin(p / 10000^(2c/d_model)),  PE_(p,2c+1) = cos(the same)\n"
    "PE(p+k) = R_k PE(p),  R_k a rotation",
    {{"positions", "positions", 18, AS_TEXT},
     {"accuracy", "tokens %", 8, 2},
     {"exact", "answers %", 9, 2}},
    run};
