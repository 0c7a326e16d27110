/* Attention without its mask, tokens without positions: to show what they are for. The linker sends the core's calls of
 * these operations here (--wrap). */
#include "ops/ops.h"
#include "web/session.h"

static bool no_mask, no_positions;

void web_hide(bool mask, bool positions) {
    no_mask = !mask, no_positions = !positions;
}

/* Declares the operation, and the function below that the linker puts in its place. */
#define OP(name, arguments, formula, section)                                                                \
    Tensor *__real_tape_##name arguments;                                                                    \
    Tensor *__wrap_tape_##name arguments;
#include "ops/ops.def"
#undef OP

Tensor *__wrap_tape_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, int heads, const Sequences *queries,
                              const Sequences *keys, bool causal, double p) {
    return __real_tape_attention(t, q, k, v, heads, queries, keys, causal && !no_mask, p);
}

Tensor *__wrap_tape_masked_fill(Tape *t, Tensor *x, const uint8_t *mask, Shape mask_shape, real value) {
    return no_mask ? x : __real_tape_masked_fill(t, x, mask, mask_shape, value);
}

Tensor *__wrap_tape_embedding(Tape *t, Tensor *table, long count, const int32_t *ids, double s,
                              Tensor *positions, const int32_t *at) {
    return __real_tape_embedding(t, table, count, ids, s, no_positions ? NULL : positions,
                                 no_positions ? NULL : at);
}

Tensor *__wrap_tape_rotary(Tape *t, Tensor *x, long heads, long d_k, const int32_t *at, const real *turns,
                           bool normalise) {
    if (no_positions && !normalise) return x;
    return __real_tape_rotary(t, x, heads, d_k, no_positions ? NULL : at, no_positions ? NULL : turns,
                              normalise);
}
