/* The tape's memory: blocks never overlap, reset joins regions, and too much is refused. */
#include "autograd/tape_memory.h"
#include "base/random.h"
#include "test.h"
#include <stdint.h>

enum { LINE = 64 };

typedef struct Block {
    unsigned char *at;
    size_t bytes;
} Block;

/* Every block is written from end to end with its own mark, and still holds it after all others
 * were written. Most are small, some force a new region; every third is given back at once. */
TEST(blocks_do_not_overlap) {
    enum { BLOCKS = 2000 };
    TapeMemory m = {0};
    static Block block[BLOCKS];
    Error e = {0};
    uint64_t key = random_key(1, 1);
    size_t taken = 0;
    for (int i = 0; i < BLOCKS; i++) {
        Block *b = &block[i];
        long scale = i % 200 == 199 ? 3000000 : 3000;
        b->bytes = (size_t)random_below(key, (uint64_t)i, scale);
        b->at = tape_memory_take(&m, b->bytes, &e);
        CHECK(b->at && (uintptr_t)b->at % LINE == 0, "%s", e.text);
        memset(b->at, i % 251, b->bytes);
        if (i % 3 == 0) {
            tape_memory_give_back(&m, b->bytes);
            b->bytes = 0;
        } else {
            taken += b->bytes ? (b->bytes + LINE - 1) / LINE * LINE : LINE;
        }
        CHECK(m.in_use == taken && m.peak >= taken, "%zu bytes in use, want %zu", m.in_use, taken);
    }
    CHECK(m.regions > 1, "the test meant to cross regions");
    for (int i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < block[i].bytes; j++)
            if (block[i].at[j] != i % 251) {
                CHECK(false, "byte %zu of block %d was written by another", j, i);
                return;
            }
    tape_memory_free(&m);
}

/* A block that is given back is the next one again, also if it was the first of its region. */
TEST(the_newest_block_is_given_back) {
    TapeMemory m = {0};
    Error e = {0};
    char *first = tape_memory_take(&m, 100, &e);
    tape_memory_give_back(&m, 100);
    CHECK(tape_memory_take(&m, 60, &e) == first && m.in_use == LINE);
    char *large = tape_memory_take(&m, 5 << 20, &e);
    tape_memory_give_back(&m, 5 << 20);
    CHECK(tape_memory_take(&m, 1, &e) == large && m.in_use == 2 * LINE && m.regions == 2);
    tape_memory_free(&m);
}

/* Reset replaces the regions of the first step by one of their total size. Later steps need no
 * more. */
TEST(reset_joins_regions) {
    TapeMemory m = {0};
    Error e = {0};
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 8; i++) CHECK(tape_memory_take(&m, 3 << 20, &e), "%s", e.text);
        CHECK(step == 0 ? m.regions > 1 : m.regions == 1, "step %d: %d regions", step, m.regions);
        tape_memory_reset(&m);
        CHECK(m.regions == 1 && m.in_use == 0 && m.peak == 24 << 20);
    }
    tape_memory_free(&m);
}

/* Exactly what is reserved fits into one region, and is not allocated again. */
TEST(what_is_reserved_suffices) {
    enum { BLOCKS = 40000 };
    TapeMemory m = {0};
    Error e = {0};
    CHECK(tape_memory_reserve(&m, BLOCKS * LINE, &e), "%s", e.text);
    const void *first = m.region[0].base;
    for (int i = 0; i < BLOCKS; i++) CHECK(tape_memory_take(&m, LINE, &e), "%s", e.text);
    CHECK(m.regions == 1 && m.in_use == BLOCKS * LINE, "%d regions", m.regions);
    CHECK(tape_memory_reserve(&m, BLOCKS * LINE, &e) && m.region[0].base == first && m.in_use == 0);
    tape_memory_free(&m);
}

/* More memory than any machine has is an error value with one line. */
TEST(too_much_is_refused) {
    TapeMemory m = {0};
    const size_t much[] = {SIZE_MAX / 2, SIZE_MAX, (size_t)1 << 60};
    for (int i = 0; i < 6; i++) {
        Error e = {0};
        CHECK(i < 3 ? !tape_memory_take(&m, much[i], &e)
                    : !tape_memory_reserve(&m, much[i - 3], &e));
        CHECK(e.status == STATUS_NO_MEMORY && *e.text, "%s", e.text);
    }
    Error e = {0};
    CHECK(tape_memory_take(&m, 100, &e), "%s", e.text);
    tape_memory_free(&m);
}

RUN_TESTS
