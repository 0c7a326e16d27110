/* The checksum of zlib, gzip and PNG: CRC-32 with the polynomial 0x04C11DB7, reflected. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Extends `crc`, the checksum of the bytes so far, by these bytes. Start with 0. */
uint32_t crc32_update(uint32_t crc, const void *data, size_t size);
