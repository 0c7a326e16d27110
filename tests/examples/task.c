/* A small Transformer learns to answer digits in reverse, each one more: 1907 -> 8102. */
#include <stdio.h>
#include <stdlib.h>
#include <tapeformer.h>

enum { ROWS = 32, DIGITS = 4, BEGIN = 10, END, VOCABULARY, STEPS = 300 };

/* Draws ROWS sources, [ROWS,DIGITS]. In each row the decoder reads BEGIN and the answer, `in`, and
 * is to predict the answer and END, `out`; both are [ROWS,DIGITS+1]. */
static void draw(int32_t *source, int32_t *in, int32_t *out) {
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < DIGITS; i++) source[i] = rand() % 10;
        in[0] = BEGIN;
        for (int i = 0; i < DIGITS; i++) {
            out[i] = (source[DIGITS - 1 - i] + 1) % 10;
            in[i + 1] = out[i];
        }
        out[DIGITS] = END;
        source += DIGITS;
        in += DIGITS + 1;
        out += DIGITS + 1;
    }
}

static int fail(const Error *e) {
    fprintf(stderr, "%s\n", e->text);
    return (int)e->status;
}

int main(void) {
    Error e = {0};
    ModelConfig c = config_seq2seq(VOCABULARY, DIGITS + 1, NO_PAD);
    c.encoder_layers = c.decoder_layers = 1;
    c.d_model = 32;
    c.heads = 4;
    c.d_ff = 64;
    c.label_smoothing = 0;
    Model *m = model_new(&c, true, 1, &e);
    Tokens source, target;
    Optimizer adam = optim_default(&optimizer_adamw);
    if (!m || !optim_start(&adam, &m->parameters, &e) ||
        !tokens_new(&source, ROWS, ROWS * DIGITS, &e) ||
        !tokens_new(&target, ROWS, ROWS * (DIGITS + 1), &e))
        return fail(&e);
    int32_t x[ROWS * DIGITS], in[ROWS * (DIGITS + 1)], out[ROWS * (DIGITS + 1)];
    long source_start[ROWS + 1], target_start[ROWS + 1]; /* the index of each row's first token */
    for (long r = 0; r <= ROWS; r++) {
        source_start[r] = r * DIGITS;
        target_start[r] = r * (DIGITS + 1);
    }
    Schedule cosine = {&schedule_cosine, .rate = 1e-2, .warmup = 30, .steps = STEPS};
    Tape *t = tape_new();
    Forward f = {.tape = t, .model = m, .source = &source, .target = &target};
    for (long step = 1; step <= STEPS; step++) {
        draw(x, in, out);
        tokens_pack(&source, ROWS, source_start, x);
        tokens_pack(&target, ROWS, target_start, in);
        Tensor *loss = nn_loss(&f, nn_hidden(&f), out);
        parameters_clear_grad(&m->parameters); /* no parameter has a gradient … */
        tape_backward(t, loss);
        parameters_zero_unreached(&m->parameters); /* … and one without a path to the loss has 0 */
        optim_step(&adam, &m->parameters, schedule_rate(&cosine, step), 1); /* 1: of one batch */
        if (step % 100 == 0) printf("step %ld  loss %.3f\n", step, (double)loss->data[0]);
        tape_reset(t);
    }
    long length;
    int32_t question[DIGITS] = {1, 9, 0, 7}, answer[DIGITS + 1];
    Sampler greedy = {0};
    if (!decode_answers(t, m, &greedy, 1, (long[]){0, DIGITS}, question, BEGIN, END, DIGITS + 1,
                        answer, &length, &e))
        return fail(&e);
    printf("1907 -> ");
    for (long i = 0; i < length; i++) printf("%d", answer[i]);
    putchar('\n');
    tape_free(t);
    tokens_free(&source);
    tokens_free(&target);
    optim_stop(&adam);
    model_free(m);
    return 0;
}
