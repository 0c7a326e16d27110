/* pairs: sequence to sequence on a user's own data. A file has a line for each pair: source, tab, target, both UTF-8
 * with at least one token. Blank lines are skipped and named in the task's remark; any other line is an error.
 *
 * Training and held-out pairs are disjoint by construction: of the different sources, in an order that a hash of seed
 * and source gives, the first `tail` part is held out, with all of their pairs. The tokenizer learns from the training
 * pairs alone, except characters without a size of vocabulary: those are all that there are. */
#ifndef TASKS_PAIRS_H
#define TASKS_PAIRS_H

#include "tasks/task.h"

typedef struct Pair {
    Passage source, target;
    /* For the task: */
    long question;     /* number of its source */
    long at, S, T;     /* its tokens: ids[at] …, source and then target */
    uint64_t position; /* of its source in the order of hashes */
} Pair;

/* The pairs of a file, in its order. */
typedef struct PairFile {
    char *data;
    Pair *pair; /* [count] */
    long count;
    uint32_t checksum;
} PairFile;

/* Reads a file; remarks on blank lines. STATUS_BAD_DATA names the file and the line. To be freed, also after failure. */
bool pairs_read(PairFile *f, const char *path, char remark[REMARK], Error *e);
void pairs_free(PairFile *f);

/* pairs, as task_open has it. STATUS_BAD_DATA names the file and the line. */
Task *task_pairs_open(const TaskKind *kind, const TaskOptions *o, Error *e);

#endif
