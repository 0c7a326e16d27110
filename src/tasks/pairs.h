/* pairs: sequence to sequence on a user's own data. A file has a line for each pair: source, tab, target, both UTF-8
 * with at least one token. Blank lines are skipped and named in the task's remark; any other line is an error.
 *
 * Training and held-out pairs are disjoint by construction: of the different sources, in an order that a hash of seed
 * and source gives, the first `tail` part is held out, with all of their pairs. The tokenizer learns from the training
 * pairs alone, except characters without a size of vocabulary: those are all that there are. */
#ifndef TASKS_PAIRS_H
#define TASKS_PAIRS_H

#include "tasks/task.h"

/* pairs, as task_open has it. STATUS_BAD_DATA names the file and the line. */
Task *task_pairs_open(const TaskKind *kind, const TaskOptions *o, Error *e);

#endif
