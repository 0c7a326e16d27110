/* The tape's memory: blocks never overlap, are whole again when all are given back, and planning hands out
 * the same offsets as the real thing. */
#include "autograd/tape_memory.h"
#include "base/random.h"
#include "test.h"
#include <stdint.h>

enum { BLOCKS = 200, STEPS = 20000, LINE = 64 };

typedef struct Taken {
    size_t at, bytes; /* 0 bytes: not taken */
    unsigned char mark;
} Taken;

static void fill(const TapeMemory *m, const Taken *b) {
    memset(tape_memory_at(m, b->at), b->mark, b->bytes);
}

static void check_filled(const TapeMemory *m, const Taken *b) {
    const unsigned char *p = tape_memory_at(m, b->at);
    for (size_t i = 0; i < b->bytes; i++)
        if (p[i] != b->mark) {
            CHECK(false, "byte %zu of the block at %zu was written by another", i, b->at);
            return;
        }
}

/* Each block is written from end to end, and must be as it was written when its turn to go comes. Most are
 * small, some force a new region. */
TEST(blocks_do_not_overlap) {
    TapeMemory m = {0};
    Taken block[BLOCKS] = {{0}};
    Error e = {0};
    uint64_t key = random_key(1, 1);
    for (uint64_t step = 0; step < STEPS; step++) {
        Taken *b = &block[random_below(key, 3 * step, BLOCKS)];
        if (b->bytes) {
            check_filled(&m, b);
            tape_memory_give_back(&m, b->at, b->bytes);
            b->bytes = 0;
        } else {
            long scale = random_below(key, 3 * step + 1, 100) == 0 ? 3000000 : 3000;
            b->bytes = 1 + (size_t)random_below(key, 3 * step + 2, scale);
            b->mark = (unsigned char)step;
            CHECK(tape_memory_take(&m, b->bytes, &b->at, &e), "%s", e.text);
            CHECK(b->at % LINE == 0 && (uintptr_t)tape_memory_at(&m, b->at) % LINE == 0, "at %zu", b->at);
            fill(&m, b);
        }
    }
    CHECK(m.regions > 1, "the test meant to cross regions");
    for (int i = 0; i < BLOCKS; i++)
        if (block[i].bytes) {
            check_filled(&m, &block[i]);
            tape_memory_give_back(&m, block[i].at, block[i].bytes);
        }
    tape_memory_free(&m);
}

/* In any order of giving back, within one region, nothing is lost: no hole is left, the top is 0. */
TEST(all_given_back_is_whole_again) {
    TapeMemory m = {0};
    Error e = {0};
    uint64_t key = random_key(2, 1);
    CHECK(tape_memory_reserve(&m, 1 << 20, &e), "%s", e.text);
    for (int round = 0; round < 200; round++) {
        enum { N = 40 };
        Taken block[N];
        for (int i = 0; i < N; i++) {
            block[i].bytes = (size_t)random_below(key, (uint64_t)(round * 100 + i), 2000);
            CHECK(tape_memory_take(&m, block[i].bytes, &block[i].at, &e), "%s", e.text);
        }
        for (int left = N; left > 0; left--) {
            int i = (int)random_below(key, (uint64_t)(round * 100 + 50 + left), left);
            tape_memory_give_back(&m, block[i].at, block[i].bytes);
            block[i] = block[left - 1];
        }
        CHECK(m.top == 0 && m.holes == 0, "top %zu, %d holes", m.top, m.holes);
    }
    CHECK(m.regions == 1);
    tape_memory_free(&m);
}

/* The smallest hole that is large enough is taken. */
TEST(the_best_hole_is_used) {
    TapeMemory m = {0};
    Error e = {0};
    size_t at[5], again;
    for (int i = 0; i < 5; i++)
        CHECK(tape_memory_take(&m, i == 1 ? 4 * LINE : i == 3 ? 2 * LINE : LINE, &at[i], &e));
    tape_memory_give_back(&m, at[1], 4 * LINE);
    tape_memory_give_back(&m, at[3], 2 * LINE);
    CHECK(tape_memory_in_use(&m) == 3 * LINE, "%zu bytes in use", tape_memory_in_use(&m));
    CHECK(tape_memory_take(&m, LINE + 1, &again, &e) && again == at[3], "found %zu, want %zu", again, at[3]);
    CHECK(tape_memory_take(&m, LINE, &again, &e) && again == at[1], "found %zu, want %zu", again, at[1]);
    CHECK(tape_memory_take(&m, LINE, &again, &e) && again == at[1] + LINE, "found %zu", again);
    CHECK(tape_memory_take(&m, 2 * LINE, &again, &e) && again == at[1] + 2 * LINE, "found %zu", again);
    CHECK(m.top == 9 * LINE && m.holes == 0, "top %zu, %d holes", m.top, m.holes);
    tape_memory_free(&m);
}

/* Regions are neighbours in offsets and not in addresses: free blocks on both sides of a border are not one.
 */
TEST(no_block_crosses_regions) {
    const size_t region = 1 << 20;
    for (int second_first = 0; second_first < 2; second_first++) {
        TapeMemory m = {0};
        Error e = {0};
        Taken first = {0, region, 1}, second = {0, region, 2}, third = {0, LINE, 3},
              large = {0, 3 * region / 2, 4};
        CHECK(tape_memory_take(&m, first.bytes, &first.at, &e) &&
              tape_memory_take(&m, second.bytes, &second.at, &e) &&
              tape_memory_take(&m, third.bytes, &third.at, &e));
        CHECK(m.regions == 3 && third.at == m.region[2].start, "the test meant to fill two regions");
        fill(&m, &third);
        tape_memory_give_back(&m, second_first ? second.at : first.at, region);
        tape_memory_give_back(&m, second_first ? first.at : second.at, region);
        CHECK(tape_memory_take(&m, large.bytes, &large.at, &e), "%s", e.text);
        CHECK(large.at > third.at, "at %zu", large.at);
        tape_memory_free(&m);
    }
}

/* With several regions and nothing taken the first one is used again. */
TEST(the_first_region_begins_anew) {
    const size_t region = 1 << 20;
    TapeMemory m = {0};
    Error e = {0};
    size_t first = 0, second = 0, again = 0;
    CHECK(tape_memory_take(&m, region, &first, &e) && tape_memory_take(&m, LINE, &second, &e));
    CHECK(m.regions == 2 && second == m.region[1].start, "the test meant to fill a region");
    tape_memory_give_back(&m, second, LINE);
    tape_memory_give_back(&m, first, region);
    CHECK(tape_memory_take(&m, LINE, &again, &e) && again == first, "at %zu", again);
    tape_memory_free(&m);
}

/* The same calls on a plan and on one region of the planned size give the same offsets and the same peak. */
TEST(a_plan_tells_the_offsets) {
    TapeMemory plan = {.planning = true}, real_one = {0};
    Error e = {0};
    Taken block[BLOCKS] = {{0}};
    for (int pass = 0; pass < 2; pass++) {
        TapeMemory *m = pass ? &real_one : &plan;
        uint64_t key = random_key(3, 1);
        if (pass) CHECK(tape_memory_reserve(m, plan.peak, &e), "%s", e.text);
        for (uint64_t step = 0; step < 2000; step++) {
            Taken *b = &block[random_below(key, 2 * step, BLOCKS)];
            if (b->bytes) {
                tape_memory_give_back(m, b->at, b->bytes);
                b->bytes = 0;
            } else {
                b->bytes = 1 + (size_t)random_below(key, 2 * step + 1, 50000);
                CHECK(tape_memory_take(m, b->bytes, &b->at, &e), "%s", e.text);
            }
            CHECK(pass || !tape_memory_at(m, b->at), "a plan has an address");
        }
        for (int i = 0; i < BLOCKS; i++) {
            if (block[i].bytes) tape_memory_give_back(m, block[i].at, block[i].bytes);
            block[i].bytes = 0;
        }
    }
    CHECK(real_one.peak == plan.peak && real_one.regions == 1, "peak %zu, planned %zu, %d regions",
          real_one.peak, plan.peak, real_one.regions);
    tape_memory_free(&plan);
    tape_memory_free(&real_one);
}

/* Reset replaces the regions of the first step by one of their total size. Later steps need no more. */
TEST(reset_joins_regions) {
    TapeMemory m = {0};
    Error e = {0};
    size_t at;
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 8; i++) CHECK(tape_memory_take(&m, 3 << 20, &at, &e), "%s", e.text);
        CHECK(step == 0 ? m.regions > 1 : m.regions == 1, "step %d: %d regions", step, m.regions);
        tape_memory_reset(&m);
        CHECK(m.regions == 1 && m.top == 0 && m.holes == 0);
    }
    tape_memory_free(&m);
}

/* More memory than any machine has is an error value with one line. */
TEST(too_much_is_refused) {
    TapeMemory m = {0};
    size_t at;
    const size_t much[] = {SIZE_MAX / 2, SIZE_MAX, (size_t)1 << 60};
    for (int i = 0; i < 6; i++) {
        Error e = {0};
        CHECK(!(i < 3 ? tape_memory_take(&m, much[i], &at, &e) : tape_memory_reserve(&m, much[i - 3], &e)) &&
                  e.status == STATUS_NO_MEMORY && *e.text,
              "%s", e.text);
    }
    Error e = {0};
    CHECK(tape_memory_take(&m, 100, &at, &e) && tape_memory_at(&m, at), "%s", e.text);
    tape_memory_free(&m);
}

/* Holes are as many as there may be, and what is reserved already is not taken again. */
TEST(many_holes_are_kept) {
    enum { MANY = 700, BYTES = 64 };
    TapeMemory m = {0};
    Error e = {0};
    size_t at[MANY];
    CHECK(tape_memory_reserve(&m, MANY * BYTES, &e), "%s", e.text);
    for (int i = 0; i < MANY; i++) CHECK(tape_memory_take(&m, BYTES, &at[i], &e), "%s", e.text);
    for (int i = 0; i < MANY; i += 2) tape_memory_give_back(&m, at[i], BYTES);
    CHECK(tape_memory_in_use(&m) == MANY / 2 * BYTES && m.holes == MANY / 2, "%d holes", m.holes);
    for (int i = 1; i < MANY; i += 2) tape_memory_give_back(&m, at[i], BYTES);
    CHECK(tape_memory_in_use(&m) == 0 && m.holes == 0);
    const void *first = tape_memory_at(&m, 0);
    CHECK(tape_memory_reserve(&m, BYTES, &e) && tape_memory_at(&m, 0) == first && m.regions == 1);
    tape_memory_free(&m);
}

RUN_TESTS
