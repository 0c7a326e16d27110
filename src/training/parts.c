#include "training/parts.h"

/* What forward keeps for backward may take so much of memory, twice a usual last-level cache: in less, smaller parts
 * are not faster. Every part reads the weights and adds to their gradients; fewer tokens do not pay for that. */
enum { PART_BYTES = 64 << 20, PART_TOKENS = 512 };

/* Bytes that forward of `rows` rows keeps for backward. */
static double kept_bytes(Tape *t, Model *m, long rows, long S, long T) {
    Tokens source = tokens_outline(rows, S), target = tokens_outline(rows, T);
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

long trainer_part_rows(Tape *t, Model *m, long rows, long S, long T) {
    long tokens = rows * (S > T ? S : T), most = tokens / PART_TOKENS;
    double wanted = kept_bytes(t, m, rows, S, T) / PART_BYTES;
    long parts = wanted < (double)most ? (long)wanted + 1 : most;
    if (parts > rows) parts = rows;
    return parts > 1 ? (rows + parts - 1) / parts : rows;
}
