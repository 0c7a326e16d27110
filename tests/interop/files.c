/* Reads and writes files for tests/interop/differential.py. Each line of stdin is one order and
 * gets a line of answer:
 *
 *     read PATH          ok NAME DTYPE [SHAPE] CRC …, sorted by name, then the metadata's pairs; or
 * no MESSAGE write PATH SEED    the same of random arrays, which are then in the file
 *
 * PATH is a .safetensors file. CRC is that of the elements, row-major and little-endian. Names and
 * metadata are written as JSON strings. */
#include "base/crc32.h"
#include "base/random.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include <stdlib.h>
#include <string.h>

static void show(const Array *a) {
    putchar(' ');
    json_print(stdout, a->name ? a->name : "");
    printf(" %s [", dtype_name(a->dtype));
    for (int i = 0; i < a->rank; i++) printf(i ? ",%ld" : "%ld", a->size[i]);
    printf("] %08X", (unsigned)crc32_update(0, a->bytes, (size_t)a->count * dtype_size(a->dtype)));
}

static void show_pair(const Metadata *m) {
    putchar(' ');
    json_print(stdout, m->key);
    putchar('=');
    json_print(stdout, m->value);
}

static void read_order(const char *path) {
    Error e = {0};
    Safetensors s = {0};
    bool ok = safetensors_read(&s, path, &e);
    printf(ok ? "ok" : "no %s", e.text);
    for (int i = 0; i < (ok ? s.tensors : 0); i++) show(&s.tensor[i]);
    for (int i = 0; i < (ok ? s.metadata_count : 0); i++) show_pair(&s.metadata[i]);
    safetensors_free(&s);
}

enum { MAX_ARRAYS = 5, MAX_BYTES = 8 * 5 * 5 * 5, STREAM = 1 };

static Array random_array(uint64_t key, int i, const char *name, const char *bytes) {
    uint64_t at = 16 * (uint64_t)i;
    Dtype d = (Dtype)random_below(key, at++, DTYPES);
    Shape s = {.rank = (int)random_below(key, at++, 4)};
    for (int axis = 0; axis < s.rank; axis++) s.size[axis] = (long)random_below(key, at++, 6);
    return array_over(name, d, s, bytes);
}

static void write_order(const char *path, uint64_t seed) {
    static const char *const names[MAX_ARRAYS] = {"a.b", "\"quoted\"\\\n", "无可奈何", " ",
                                                  "z\x7f"};
    static const Metadata pairs[] = {{"", "empty"}, {"e", ""}, {"\t\"\\", "🙂 line\n"}};
    uint64_t key = random_key(seed, STREAM);
    static char bytes[MAX_ARRAYS][MAX_BYTES];
    Array a[MAX_ARRAYS];
    Error e = {0};
    int count = (int)random_below(key, 1000, MAX_ARRAYS + 1),
        noted = (int)random_below(key, 1001, 4);
    for (int i = 0; i < count; i++) {
        a[i] = random_array(key, i, names[i], bytes[i]);
        for (int j = 0; j < MAX_BYTES; j++)
            bytes[i][j] = (char)random_below(random_key(seed, 2 + (uint64_t)i), (uint64_t)j, 256);
    }
    bool ok = safetensors_write(path, pairs, noted, a, count, &e);
    printf(ok ? "ok" : "no %s", e.text);
    for (int i = 0; i < count; i++) show(&a[i]);
    for (int i = 0; i < noted; i++) show_pair(&pairs[i]);
}

int main(void) {
    char order[1024], verb[8], path[900];
    unsigned long long seed = 0;
    while (fgets(order, sizeof order, stdin)) {
        int words = sscanf(order, "%7s %899s %llu", verb, path, &seed);
        if (words == 2 && strcmp(verb, "read") == 0)
            read_order(path);
        else if (words == 3 && strcmp(verb, "write") == 0)
            write_order(path, seed);
        else
            return 2;
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
