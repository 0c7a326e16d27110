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

bool judge_batch(Trainer *t, Judgement *j, Error *e) {
    long V = t->model->config.vocab_size;
    trainer_take(t, 0, t->batch->rows);
    t->tape->training = false;
    t->tape->no_grad = true;
    Forward f = {t->tape, t->model, &t->source, &t->target};
    Tensor *logits = nn_logits(&f, nn_hidden(&f));
    bool ok = !tape_failed(t->tape, e);
    const real *scores = ok ? logits->data : NULL;
    for (long r = 0; ok && r < t->batch->rows; r++) {
        BatchRow row = batch_row(t->batch, r);
        for (long i = 0; i < row.T; i++, scores += V) {
            int class =
                row.S ? judge_class(row.T - 1, t->task->max_T - 1) : judge_class(i + 1, t->task->max_T);
            long want = row.target_out[i];
            count_token(j, class, nats(scores, V, want), kernel_argmax(V, scores) == want);
        }
    }
    tape_reset(t->tape);
    t->tape->no_grad = false;
    return ok;
}
