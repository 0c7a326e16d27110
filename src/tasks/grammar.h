/* grammar: the next word of sentences that a probabilistic context-free grammar makes. Verbs agree in number with a
 * subject that may be far away, and relative clauses nest. A row is one sentence; the token "\n" begins and ends it.
 *
 * The grammar is unambiguous, so that the probability of a sentence is that of its derivation, and its entropy is exact.
 * With p(r) the probability of rule r of a symbol A, and H(A) the entropy of its expansion,
 *
 *     H(A) = Σ_r p(r) (-log p(r) + Σ_{B in r} H(B)),    L(A) = Σ_r p(r) Σ_{B in r} L(B),    H = 0 and L = 1 for a word,
 *
 * which is solved by iteration. No model has a lower expected loss than H(S) / (L(S) + 1) nats a token, the end counted.
 * Sentences of MAX_WORDS words or more, less than one in 10⁹, are drawn anew.
 *
 * Held-out sentences are drawn from a stream of their own. A short one may be in both: to keep them apart would change
 * the distribution, and its entropy. */
#ifndef TASKS_GRAMMAR_H
#define TASKS_GRAMMAR_H

#include "tasks/task.h"

enum { MAX_WORDS = 63 };

/* grammar, as task_open has it. */
TaskOpen task_grammar_open;

#endif
