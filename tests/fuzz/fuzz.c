/* libFuzzer's side of tests/fuzz/readers.h: the program's name is the reader's. */
#include "readers.h"
#include <errno.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static const struct Reader *reader;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    for (int i = 0; i < READERS; i++)
        if (strcmp(readers[i].name, program_invocation_short_name) == 0) reader = &readers[i];
    if (!reader) fprintf(stderr, "%s: no such reader\n", (*argv)[0]);
    return reader ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    reader->read(data, size);
    return 0;
}

/* Most changes would make a header's length wrong, and test no more than that: three of four times
 * it is mended. The header ends with the last '}' before which all is text, or in .npy with a
 * newline. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    size_t from = (size_t)reader->header, end = from;
    size = LLVMFuzzerMutate(data, size, max);
    if (!from || size <= from || seed % 4 == 0) return size;
    for (size_t i = from; i < size && data[i] >= ' ' && data[i] != 0x7F; i++)
        if (data[i] == '}' || from == 10) end = i + 1;
    if (from == 10 && end < size && data[end] == '\n') end++;
    uint64_t length = end - from;
    if (from == 8) memcpy(data, &length, 8);
    if (from == 10) {
        data[8] = (uint8_t)length;
        data[9] = (uint8_t)(length >> 8);
    }
    return size;
}
