/* Attention maps: a model that reverses attends to the mirrored position. */
#include "explain/experiment.h"
#include "run/samples.h"
#include "test.h"

/* To reverse n tokens, target position i must attend to source position n-1-i. */
TEST(a_model_that_reverses_looks_at_the_mirrored_position) {
    enum { STEPS = SANITIZER ? 20 : 150, ROWS = SANITIZER ? 2 : 100 };
    Lab lab = {.seed = 1, .tape = tape_new()};
    Lesson l;
    Error e = {0};
    long right = 0, all = 0;
    lesson_learn(&lab, &l, "reverse --symbols 8 --max-length 6", STEPS, false);
    Batch *b = task_batch(l.task, ROWS, &e);
    CHECK(b, "%s", e.text);
    if (b) task_held_out_batch(l.task, 0, ROWS, b);
    long rows = b ? b->rows : 0;
    for (long r = 0; r < rows; r++) {
        BatchRow row = batch_row(b, r);
        Trace trace = {0};
        CHECK(samples_logits(l.trainer.tape, l.trainer.model, row.source, row.S, row.target_in,
                             row.T, &trace, &e),
              "%s", e.text);
        const Tensor *cross =
            nn_trace_find(&trace, "decoder.layers.0.multihead_attn")->steps[0].weights;
        all += row.S;
        for (long i = 0; i < row.S; i++) {
            bool found = false;
            for (long head = 0; head < cross->shape.size[0]; head++) {
                const real *weight = cross->data + (head * row.T + i) * row.S;
                long best = 0;
                for (long j = 1; j < row.S; j++)
                    if (weight[j] > weight[best]) best = j;
                found |= best == row.S - 1 - i;
            }
            right += found;
        }
        tape_reset(l.trainer.tape);
    }
    printf("  reverse: at %ld of %ld target positions (%.1f %%) a head attends most to the "
           "mirrored source\n",
           right, all, 100. * (double)right / (double)all);
    CHECK(all > 0 && (SANITIZER || 10 * right >= 9 * all), "%ld of %ld", right, all);
    batch_free(b);
    lesson_end(&l);
    tape_free(lab.tape);
}

RUN_TESTS
