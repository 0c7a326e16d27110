/* A hash table with open addressing, at most half full. */
#include "text/dictionary.h"
#include <stdlib.h>
#include <string.h>

/* FNV-1a, whose low bits are mixed with the high ones. */
uint64_t dictionary_hash(const char *text, size_t length) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

/* The slot that holds text, or the free one where it belongs. */
static long slot_of(const Dictionary *d, const char *text, size_t length, uint64_t hash) {
    long slot = (long)(hash & (uint64_t)(d->slots - 1));
    for (; d->slot[slot]; slot = (slot + 1) & (d->slots - 1)) {
        const Entry *entry = &d->entry[d->slot[slot] - 1];
        if (entry->hash == hash && entry->length == length && !memcmp(entry->text, text, length))
            break;
    }
    return slot;
}

long dictionary_find(const Dictionary *d, const char *text, size_t length) {
    return d->slots ? d->slot[slot_of(d, text, length, dictionary_hash(text, length))] - 1 : -1;
}

static bool grow(Dictionary *d, Error *e) {
    enum { FIRST = 512 };
    long capacity = d->capacity ? 2 * d->capacity : FIRST;
    Entry *entry = realloc(d->entry, (size_t)capacity * sizeof *entry);
    int32_t *slot = calloc((size_t)(2 * capacity), sizeof *slot);
    if (entry) d->entry = entry;
    if (!entry || !slot || capacity > INT32_MAX / 2) {
        free(slot);
        return error_set(e, STATUS_NO_MEMORY, "memory: a dictionary of %ld entries", capacity);
    }
    free(d->slot);
    d->slot = slot;
    d->capacity = capacity;
    d->slots = 2 * capacity;
    for (long i = 0; i < d->count; i++)
        d->slot[slot_of(d, entry[i].text, entry[i].length, entry[i].hash)] = (int32_t)i + 1;
    return true;
}

long dictionary_add(Dictionary *d, const char *text, size_t length, Error *e) {
    if (d->count == d->capacity && !grow(d, e)) return -1;
    uint64_t hash = dictionary_hash(text, length);
    long slot = slot_of(d, text, length, hash);
    if (!d->slot[slot]) {
        d->entry[d->count] = (Entry){text, length, hash, 0};
        d->slot[slot] = (int32_t)++d->count;
    }
    long number = d->slot[slot] - 1;
    d->entry[number].count++;
    return number;
}

size_t dictionary_bytes(const Dictionary *d) {
    return (size_t)d->capacity * sizeof *d->entry + (size_t)d->slots * sizeof *d->slot;
}

void dictionary_free(Dictionary *d) {
    free(d->entry);
    free(d->slot);
    *d = (Dictionary){0};
}
