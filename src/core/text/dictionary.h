/* A dictionary numbers byte strings 0, 1, 2, … in the order in which they are first added, and
 * counts how often each is added. It keeps pointers; the caller owns the bytes. */
#pragma once

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

typedef struct Entry {
    const char *text;
    size_t length;
    uint64_t hash;
    long count; /* times that it was added */
} Entry;

/* Empty where it is all zeros. */
typedef struct Dictionary {
    Entry *entry; /* [count] */
    long count, capacity;
    int32_t *slot; /* [slots], a power of two: number + 1 by hash, 0: free */
    long slots;
} Dictionary;

/* A hash of text, the same on every machine. */
uint64_t dictionary_hash(const char *text, size_t length);

/* The number of text, or -1 where it was never added. */
long dictionary_find(const Dictionary *d, const char *text, size_t length);

/* Adds text, or counts it once more. Returns its number; -1: STATUS_NO_MEMORY. */
long dictionary_add(Dictionary *d, const char *text, size_t length, Error *e);

/* The memory that it has from malloc. */
size_t dictionary_bytes(const Dictionary *d);

void dictionary_free(Dictionary *d);
