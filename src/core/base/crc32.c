/* CRC-32, eight bytes at a step ("slicing by 8": Kounavis and Berry, "Novel Table Lookup-Based
 * Algorithms for High-Performance CRC Generation", 2008). */
#include "base/crc32.h"

/* table[0][b] is the remainder of the byte b, table[k][b] that of b followed by k zero bytes. */
static uint32_t table[8][256];

/* Before main. */
__attribute__((constructor)) static void make_table(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t r = b;
        for (int bit = 0; bit < 8; bit++) r = r >> 1 ^ (r & 1 ? 0xEDB88320 : 0);
        table[0][b] = r;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xFF];
}

uint32_t crc32_update(uint32_t crc, const void *data, size_t size) {
    const unsigned char *p = data;
    uint32_t r = ~crc;
    for (; size >= 8; size -= 8) {
        r ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        r = table[7][r & 0xFF] ^ table[6][r >> 8 & 0xFF] ^ table[5][r >> 16 & 0xFF] ^
            table[4][r >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
        p += 8;
    }
    for (; size; size--) r = r >> 8 ^ table[0][(r ^ *p++) & 0xFF];
    return ~r;
}
