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

static void count_token(void *context, const BatchRow *row, long i, double loss, bool right) {
    Judgement *j = context;
    int class = row->S ? judge_class(row->T - 1, j->longest) : judge_class(i + 1, j->longest);
    j->loss += loss, j->right += right, j->tokens++;
    j->class[class].loss += loss, j->class[class].right += right, j->class[class].tokens++;
}

bool judge_batch(Trainer *t, Judgement *j, Error *e) {
    j->longest = t->task->max_T - !task_is_language_model(t->task);
    return trainer_judge(t, count_token, j, e);
}
