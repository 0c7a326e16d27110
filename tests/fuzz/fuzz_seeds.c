/* The readers' promises (tests/fuzz/readers.h) hold for every seed of the fuzzers, cut at every
 * length, and with any one byte changed. Inputs that a fuzzer has found become seeds. */
#include "readers.h"
#include "test.h"
#include <dirent.h>

enum { MAX_SEED = 1 << 16, THOROUGH = 700 /* bytes from the start that are all changed */ };

static void read_seed(const struct Reader *r, const char *path) {
    static uint8_t seed[MAX_SEED], changed[MAX_SEED];
    FILE *f = fopen(path, "rb");
    CHECK(f, "%s", path);
    if (!f) return;
    size_t size = fread(seed, 1, sizeof seed, f);
    fclose(f);
    r->read(seed, size);
    for (size_t n = 0; n < size; n += n < THOROUGH ? 1 : 97) r->read(seed, n);
    memcpy(changed, seed, size);
    for (size_t i = 0; i < size; i += i < THOROUGH ? 1 : 97) {
        static const uint8_t other[] = {0x01, 0x10, 0x20, 0x80, 0xFF};
        for (size_t k = 0; k < sizeof other; k++) {
            changed[i] = seed[i] ^ other[k];
            r->read(changed, size);
        }
        changed[i] = seed[i];
    }
}

static void read_seeds(const struct Reader *r) {
    char folder[64], path[400];
    snprintf(folder, sizeof folder, "tests/fuzz/%s", r->name);
    DIR *d = opendir(folder);
    CHECK(d, "%s", folder);
    int seeds = 0;
    if (!d) return;
    for (const struct dirent *entry = readdir(d); entry; entry = readdir(d)) {
        if (*entry->d_name == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        read_seed(r, path);
        seeds++;
    }
    closedir(d);
    CHECK(seeds > 0, "%s: no seeds", folder);
}

#define READ_SEEDS(name, number)                                                                   \
    TEST(name) {                                                                                   \
        read_seeds(&readers[number]);                                                              \
    }
READ_SEEDS(safetensors, 0)
READ_SEEDS(npy, 1)
READ_SEEDS(json, 2)
READ_SEEDS(model, 3)
READ_SEEDS(batch, 4)
READ_SEEDS(text, 5)
READ_SEEDS(vocabulary, 6)
READ_SEEDS(pairs, 7)
READ_SEEDS(recipe, 8)
READ_SEEDS(checkpoint, 9)
_Static_assert(READERS == 10, "a reader without a test");
RUN_TESTS
