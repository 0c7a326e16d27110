#include "run/judge.h"

int judge_class(long number, long most) {
    return (int)(most <= CLASSES ? number - 1 : (number - 1) * CLASSES / most);
}

void judge_class_range(int class, long most, long *first, long *last) {
    long classes = most < CLASSES ? most : CLASSES;
    *first = (class * most + classes - 1) / classes + 1;
    *last = ((class + 1) * most + classes - 1) / classes;
    if (class >= classes) *first = most + 1, *last = most;
}

static void count_token(Judgement *j, int class, double loss, bool right) {
    j->loss += loss, j->right += right, j->tokens++;
    j->class[class].loss += loss, j->class[class].right += right, j->class[class].tokens++;
}

bool judge_batch(Trainer *t, Judgement *j, Error *e) {
    trainer_take(t, 0, t->batch->rows);
    t->tape->training = false;
    t->tape->no_grad = true;
    Forward f = {t->tape, t->model, &t->source, &t->target};
    const Prediction *p = nn_predict(&f, nn_hidden(&f), t->targets);
    bool ok = !tape_failed(t->tape, e);
    for (long r = 0; ok && r < t->batch->rows; r++) {
        BatchRow row = batch_row(t->batch, r);
        for (long i = 0; i < row.T; i++, p++) {
            int class =
                row.S ? judge_class(row.T - 1, t->task->max_T - 1) : judge_class(i + 1, t->task->max_T);
            count_token(j, class, p->loss, p->likeliest == row.target_out[i]);
        }
    }
    tape_reset(t->tape);
    t->tape->no_grad = false;
    return ok;
}
