#include "training/micro_batch.h"

/* Bytes that forward may keep for backward: twice a usual last-level cache, below which smaller micro-batches
 * are not faster. Each micro-batch reads all weights and adds to all gradients, which fewer tokens do not pay
 * for. */
enum { MOST_BYTES = 64 << 20, LEAST_TOKENS = 512 };

/* Bytes that forward of `rows` rows keeps for backward. */
static double kept_bytes(Tape *t, Model *m, long rows, long S, long T) {
    Tokens source = tokens_without_ids(rows, S), target = tokens_without_ids(rows, T);
    bool training = t->training;
    tape_plan(t);
    t->training = true;
    Forward f = {t, m, &source, &target};
    nn_loss(&f, nn_hidden(&f), NULL);
    double bytes = (double)tape_in_use(t);
    tape_reset(t);
    t->training = training;
    return bytes;
}

long micro_batch_rows(Tape *t, Model *m, long rows, long S, long T) {
    long tokens = rows * (S > T ? S : T), most = tokens / LEAST_TOKENS;
    double wanted = kept_bytes(t, m, rows, S, T) / MOST_BYTES;
    long count = wanted < (double)most ? (long)wanted + 1 : most;
    if (count > rows) count = rows;
    return count > 1 ? (rows + count - 1) / count : rows;
}
