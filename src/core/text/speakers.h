/* The two speakers of a text that has conversations:
 *
 *     User: Who has the lamp?
 *     Bot: Anna has the lamp. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SPEAKER = 32 };

typedef struct Speakers {
    char user[SPEAKER], bot[SPEAKER]; /* "User:", who asks, and "Bot:", who answers; "": nobody */
} Speakers;

/* Finds the most frequent pair of lines that follow each other and begin with two different labels:
 * at most 30 bytes, a colon and a space. It reads the first megabyte. False: too few pairs are
 * alike. */
bool speakers_find(const char *text, size_t length, Speakers *out);
