/* Sequence to sequence: random words over a small alphabet, and an answer computed from each. copy, reverse
 * and sort are this with one function of their own.
 *
 * Tokens. The n symbols are ids 0 … n-1, and begin, end and padding are n, n+1, n+2: no datum can be taken
 * for one of them. Symbol ids rise with the code points of the characters they print as: 1-9, A-Z, a-z (no 0,
 * which reads like O), then U+4E00 onwards.
 *
 * Training and held-out sequences are disjoint by construction. A sequence x of any length is held out if
 *
 *     (x₁ + hash(seed, length, x₂ … x_length)) mod n  <  n/8, at least 1
 *
 * so of the n sequences that differ in their first symbol alone, n/8 are held out and the others are not,
 * whatever follows and however short it is. Each side is drawn by choosing x₂ … x_length and the left-hand
 * side, uniformly, and solving for x₁: uniform over its side, and no draw is ever rejected. */
#ifndef TASKS_SEQUENCE_TASK_H
#define TASKS_SEQUENCE_TASK_H

#include "tasks/task.h"

/* copy, reverse or sort, as task_open has it. */
Task *task_sequence_open(const TaskKind *kind, const TaskOptions *o, Error *e);

/* True if the sequence x, n ≥ 1 symbols, is on the held-out side. */
bool task_sequence_held_out(const Task *task, const int32_t *x, long n);

#endif
