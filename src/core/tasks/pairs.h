/* pairs: sequence to sequence on a user's own data. A file has a line for each pair: source, tab,
 * target, both UTF-8 (with --tokenizer byte any bytes) with at least one token. CR, LF and CR LF
 * end a line. Blank lines are skipped and named in the task's remark; any other line is an error.
 *
 * Training and held-out pairs are disjoint by construction: a hash of seed and source orders the
 * different sources, and all pairs of the first ones are held out, a `validation` share. The
 * tokenizer learns from the training pairs. Only char learns from all pairs. */
#pragma once

#include "tasks/task.h"
#include "text/lines.h"

typedef struct Pair {
    Passage source, target;
    long line;     /* its number in the file, from 1 */
    long at, S, T; /* set by the task: its tokens: ids[at] …, source and then target */
} Pair;

/* The pairs of a file, in its order. */
typedef struct PairFile {
    Texts texts;
    Pair *pair; /* [count] */
    long count;
} PairFile;

/* Reads a file; remarks on blank lines and a byte-order mark. STATUS_BAD_DATA names the file and
 * the line, or the byte that is not UTF-8, which any_bytes allows. To be freed, also after failure.
 */
bool pairs_read(PairFile *f, const char *path, bool any_bytes, char remark[REMARK], Error *e);
void pairs_free(PairFile *f);
