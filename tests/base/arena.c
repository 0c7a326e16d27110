/* The arena: blocks never overlap, reset joins regions, and too much is refused. */
#include "base/arena.h"
#include "base/random.h"
#include "test.h"
#include <stdint.h>

enum { LINE = CACHE_LINE };

typedef struct Block {
    unsigned char *at;
    size_t bytes;
} Block;

/* Every block is written from end to end with its own mark, and still holds it after all others
 * were written. Most are small, some force a new region; every third is given back at once. */
TEST(blocks_do_not_overlap) {
    enum { BLOCKS = 2000 };
    Arena m = {0};
    static Block block[BLOCKS];
    Error e = {0};
    uint64_t key = random_key(1, 1);
    for (int i = 0; i < BLOCKS; i++) {
        Block *b = &block[i];
        long scale = i % 200 == 199 ? 3000000 : 3000;
        b->bytes = (size_t)random_below(key, (uint64_t)i, scale);
        b->at = arena_take(&m, b->bytes, "it", &e);
        CHECK(b->at && (uintptr_t)b->at % LINE == 0, "%s", e.text);
        memset(b->at, i % 251, b->bytes);
        if (i % 3 == 0) {
            arena_give_back(&m, b->bytes);
            b->bytes = 0;
        }
    }
    CHECK(m.regions > 1, "the test meant to cross regions");
    for (int i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < block[i].bytes; j++)
            if (block[i].at[j] != i % 251) {
                CHECK(false, "byte %zu of block %d was written by another", j, i);
                return;
            }
    arena_free(&m);
}

/* A block that is given back is the next one again, also if it was the first of its region. */
TEST(the_newest_block_is_given_back) {
    Arena m = {0};
    Error e = {0};
    char *first = arena_take(&m, 100, "it", &e);
    arena_give_back(&m, 100);
    CHECK(arena_take(&m, 60, "it", &e) == first && m.region[0].used == LINE);
    char *large = arena_take(&m, 5 << 20, "it", &e);
    arena_give_back(&m, 5 << 20);
    CHECK(arena_take(&m, 1, "it", &e) == large && m.region[1].used == LINE && m.regions == 2);
    arena_free(&m);
}

/* Reset replaces the regions of the first step by one of their total size. Later steps need no
 * more. */
TEST(reset_joins_regions) {
    Arena m = {0};
    Error e = {0};
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 8; i++) CHECK(arena_take(&m, 3 << 20, "it", &e), "%s", e.text);
        CHECK(step == 0 ? m.regions > 1 : m.regions == 1, "step %d: %d regions", step, m.regions);
        arena_reset(&m);
        CHECK(m.regions == 1 && m.region[0].used == 0 && m.region[0].bytes == 24 << 20);
    }
    arena_free(&m);
}

/* Exactly what is reserved fits into one region, and is not allocated again. */
TEST(what_is_reserved_suffices) {
    enum { BLOCKS = 40000 };
    Arena m = {0};
    Error e = {0};
    CHECK(arena_reserve(&m, BLOCKS * LINE, "it", &e), "%s", e.text);
    const void *first = m.region[0].base;
    for (int i = 0; i < BLOCKS; i++) CHECK(arena_take(&m, LINE, "it", &e), "%s", e.text);
    CHECK(m.regions == 1 && m.region[0].used == BLOCKS * LINE, "%d regions", m.regions);
    CHECK(arena_reserve(&m, BLOCKS * LINE, "it", &e) && m.region[0].base == first &&
          m.region[0].used == 0);
    arena_free(&m);
}

/* More memory than any machine has is an error value with one line. */
TEST(too_much_is_refused) {
    Arena m = {0};
    const size_t much[] = {SIZE_MAX / 2, SIZE_MAX, (size_t)1 << 60};
    for (int i = 0; i < 6; i++) {
        Error e = {0};
        CHECK(i < 3 ? !arena_take(&m, much[i], "it", &e)
                    : !arena_reserve(&m, much[i - 3], "it", &e));
        CHECK(e.status == STATUS_NO_MEMORY && *e.text, "%s", e.text);
    }
    Error e = {0};
    CHECK(arena_take(&m, 100, "it", &e), "%s", e.text);
    arena_free(&m);
}

RUN_TESTS
