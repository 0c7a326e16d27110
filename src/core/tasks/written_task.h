/* Sequence to sequence on generated text: add is a Writing, which draws pairs of a source and a
 * target.
 *
 * Training and held-out pairs are disjoint by construction. `draw` numbers the questions; a pair is
 * held out if hash(seed, number) mod 8 = 0. Pairs are drawn until one is on the wanted side. Tokens
 * are the characters of the alphabet, then begin, end and padding. */
#pragma once

#include "tasks/task.h"

enum { WRITTEN_BYTES = 64 }; /* of a source and of a target, with NUL */

typedef struct Writing {
    /* Writes a source and a target, functions of the key, and returns the question's number. max:
     * the maximum number of digits in add, else unused. */
    uint64_t (*draw)(uint64_t key, long max, char *source, char *target);
    const char *alphabet;
    long max, max_S, max_T; /* bytes of the longest source and target */
} Writing;

/* A TaskOpen for a kind of task whose pairs `w` draws. */
bool task_written_open(Task **out, const TaskKind *kind, const Writing *w, const TaskOptions *o,
                       Error *e);

/* True if the question of this number is on the held-out side. */
bool task_written_held_out(const Task *task, uint64_t number);
