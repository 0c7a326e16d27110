#include "text/bpe.h"
#include <stdlib.h>
#include <string.h>

static long place(const PairTable *t, Merge pair) {
    uint64_t hash = ((uint64_t)(uint32_t)pair.left << 32 | (uint32_t)pair.right) * 0x9E3779B97F4A7C15u;
    long slot = (long)((hash ^ hash >> 32) & (uint64_t)(t->slots - 1));
    while (t->slot[slot].value && memcmp(&t->slot[slot].pair, &pair, sizeof pair) != 0)
        slot = (slot + 1) & (t->slots - 1);
    return slot;
}

int32_t pair_table_find(const PairTable *t, Merge pair) {
    return t->slots ? t->slot[place(t, pair)].value - 1 : -1;
}

bool pair_table_add(PairTable *t, Merge pair, int32_t value, Error *e) {
    enum { FIRST = 1024 };
    if (2 * t->count >= t->slots) {
        PairTable old = *t;
        t->slots = old.slots ? 2 * old.slots : FIRST;
        t->slot = calloc((size_t)t->slots, sizeof *t->slot);
        if (!t->slot) {
            *t = old;
            return error_set(e, STATUS_NO_MEMORY, "memory: %ld pairs of tokens", t->count);
        }
        for (long i = 0; i < old.slots; i++)
            if (old.slot[i].value) t->slot[place(t, old.slot[i].pair)] = old.slot[i];
        free(old.slot);
    }
    t->slot[place(t, pair)] = (struct PairSlot){pair, value + 1};
    t->count++;
    return true;
}

/* Joins the pair of the earliest merge, one place at a time. That equals joining all places of a merge at once, because
 * no merge makes a pair of an earlier one. */
long bpe_encode_word(const PairTable *merges, const char *word, size_t n, int32_t *ids) {
    int32_t becomes[TOKEN_BYTES]; /* the token of ids i and i + 1 */
    long count = (long)n;
    for (long i = 0; i < count; i++) ids[i] = (unsigned char)word[i];
    for (long i = 0; i + 1 < count; i++) becomes[i] = pair_table_find(merges, (Merge){ids[i], ids[i + 1]});
    for (;;) {
        long at = -1;
        for (long i = 0; i + 1 < count; i++)
            if (becomes[i] >= 0 && (at < 0 || becomes[i] < becomes[at])) at = i;
        if (at < 0) return count;
        ids[at] = becomes[at];
        count--;
        memmove(ids + at + 1, ids + at + 2, (size_t)(count - at - 1) * sizeof *ids);
        memmove(becomes + at, becomes + at + 1, (size_t)(count - at) * sizeof *becomes);
        if (at > 0) becomes[at - 1] = pair_table_find(merges, (Merge){ids[at - 1], ids[at]});
        if (at + 1 < count) becomes[at] = pair_table_find(merges, (Merge){ids[at], ids[at + 1]});
    }
}
