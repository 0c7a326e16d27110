/* Loss and accuracy of the trainer's batch by classes of tokens. */
#ifndef REPORT_JUDGE_H
#define REPORT_JUDGE_H

#include "training/trainer.h"

/* Classes are ranges of the answer's length, without its end token, or of the position in a text. */
enum { CLASSES = 16 };

typedef struct Judgement {
    double loss,
        right; /* sums over all tokens: nats, without smoothing; tokens whose target is the likeliest */
    long tokens;
    long longest; /* answer, or text */
    struct {
        double loss, right;
        long tokens;
    } class[CLASSES];
} Judgement;

/* The class of a number from 1 to most, a length or a position; and the numbers first to last of a class, which is empty if
 * first is above last. */
int judge_class(long number, long most);
void judge_class_range(int class, long most, long *first, long *last);

/* Adds the trainer's batch, at most one micro-batch, to j. */
bool judge_batch(Trainer *t, Judgement *j, Error *e);

#endif
