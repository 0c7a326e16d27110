/* Sequence to sequence: random sequences over a small alphabet, and an answer computed from each.
 * copy, reverse and sort differ only in that function.
 *
 * Tokens. The n symbols have ids 0 … n-1; begin, end and padding have n, n+1, n+2. Symbols are
 * printed in order as 1-9, A-Z, a-z (no 0, which looks like O), then U+4E00 onwards.
 *
 * Training and held-out sequences are disjoint by construction. A sequence x of any length is held
 * out if
 *
 *     (x₁ + hash(seed, length, x₂ … x_length)) mod n  <  n/8, at least 1
 *
 * so of the n sequences that differ only in their first symbol, n/8 are held out. A sequence of
 * either set is drawn by choosing x₂ … x_length and the left-hand side uniformly and solving for
 * x₁: uniform over the set, without rejection. */
#pragma once

#include "tasks/task.h"

/* Their answers: write n tokens to y, which does not overlap x: x, x in reverse order, x in
 * ascending order. */
void task_copy_answer(const int32_t *x, long n, int32_t *y);
void task_reverse_answer(const int32_t *x, long n, int32_t *y);
void task_sort_answer(const int32_t *x, long n, int32_t *y);

/* True if the sequence x of n ≥ 1 symbols is held out. */
bool task_sequence_held_out(const Task *task, const int32_t *x, long n);
