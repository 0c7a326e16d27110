#include "formats/bytes.h"
#include <string.h>

uint64_t bytes_number(const void *at) {
    const unsigned char *byte = at;
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--) number = number << 8 | byte[i];
    return number;
}

void bytes_put_number(void *at, uint64_t number) {
    unsigned char *byte = at;
    for (int i = 0; i < 8; i++, number >>= 8) byte[i] = (unsigned char)number;
}

void bytes_swap(void *elements, long count, size_t size) {
    for (char *element = elements; count; count--, element += size)
        for (size_t i = 0; i < size / 2; i++) {
            char byte = element[i];
            element[i] = element[size - 1 - i];
            element[size - 1 - i] = byte;
        }
}

void bytes_for_file(const void *elements, long count, size_t size,
                    void (*take)(void *context, const void *piece, size_t bytes), void *context) {
    if (!BYTES_BIG_ENDIAN || size == 1) {
        take(context, elements, (size_t)count * size);
        return;
    }
    char piece[4096];
    const char *from = elements;
    long most = (long)(sizeof piece / size);
    for (long n; count; count -= n, from += (size_t)n * size) {
        n = count < most ? count : most;
        memcpy(piece, from, (size_t)n * size);
        bytes_swap(piece, n, size);
        take(context, piece, (size_t)n * size);
    }
}

static void write_piece(void *file, const void *piece, size_t bytes) {
    file_write(file, piece, bytes);
}

void bytes_write(File *f, const void *elements, long count, size_t size) {
    bytes_for_file(elements, count, size, write_piece, f);
}
