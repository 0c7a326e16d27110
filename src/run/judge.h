/* Judges a model by rows of its task, token by token. */
#ifndef REPORT_JUDGE_H
#define REPORT_JUDGE_H

#include "training/trainer.h"

/* Where a token stands decides in which class it counts: of an answer by its length, end
 * not counted; of a text by its position. */
enum { CLASSES = 16 };

typedef struct Judgement {
    double loss,
        right; /* sums over all tokens: nats, without smoothing; likeliest tokens that are the target */
    long tokens;
    struct {
        double loss, right;
        long tokens;
    } class[CLASSES];
} Judgement;

/* What class a number from 1 to most, a length or a position, is in; and the numbers first to last of a class, which
 * has none where first is above last. */
int judge_class(long number, long most);
void judge_class_range(int class, long most, long *first, long *last);

/* Adds to j what the model makes of the trainer's batch, no larger than a part, under teacher forcing. */
bool judge_batch(Trainer *t, Judgement *j, Error *e);

#endif
