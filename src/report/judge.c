#include "report/judge.h"
#include "kernels/arrays.h"
#include <math.h>

int judge_class(long number, long most) {
    return (int)(most <= CLASSES ? number - 1 : (number - 1) * CLASSES / most);
}

void judge_class_range(int class, long most, long *first, long *last) {
    long classes = most < CLASSES ? most : CLASSES;
    *first = (class * most + classes - 1) / classes + 1;
    *last = ((class + 1) * most + classes - 1) / classes;
    if (class >= classes) *first = most + 1, *last = most;
}

/* -log softmax(scores)[target], in nats. */
static double nats(const real *scores, long count, long target) {
    double most = (double)scores[kernel_argmax(count, scores)], sum = 0;
    for (long i = 0; i < count; i++) sum += exp((double)scores[i] - most);
    return log(sum) + most - (double)scores[target];
}

static void count_token(Judgement *j, int class, double loss, bool right) {
    j->loss += loss, j->right += right, j->tokens++;
    j->class[class].loss += loss, j->class[class].right += right, j->class[class].tokens++;
}

bool judge_rows(Trainer *t, const Batch *b, Judgement *j, Error *e) {
    long V = t->model->config.vocab_size;
    if (b->S) tokens_fill(&t->source, TOKENS_PACKED, b->rows, b->S, b->source, b->pad_id);
    tokens_fill(&t->target, TOKENS_PACKED, b->rows, b->T, b->target_in, b->pad_id);
    t->tape->training = false;
    t->tape->no_grad = true;
    Forward f = {t->tape, t->model, &t->source, &t->target};
    Tensor *logits = nn_logits(&f, nn_hidden(&f));
    bool ok = !tape_failed(t->tape, e);
    for (long r = 0; ok && r < b->rows; r++)
        for (long i = 0; i < b->target_length[r]; i++) {
            const real *scores = logits->data + (t->target.sequences.start[r] + i) * V;
            long want = b->target_out[r * b->T + i];
            int class = b->S ? judge_class(b->target_length[r] - 1, t->task->max_T - 1)
                             : judge_class(i + 1, t->task->max_T);
            count_token(j, class, nats(scores, V, want), kernel_argmax(V, scores) == want);
        }
    tape_reset(t->tape);
    t->tape->no_grad = false;
    return ok;
}
