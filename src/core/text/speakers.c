#include "text/speakers.h"
#include <string.h>

enum { READ = 1 << 20, PAIRS = 16, MIN_PAIRS = 4 };

/* Writes the label of a line, or "". */
static void read_label(const char *line, size_t length, char out[SPEAKER]) {
    const char *colon = memchr(line, ':', length < SPEAKER - 1 ? length : SPEAKER - 1);
    *out = 0;
    if (!colon || colon == line || colon + 1 == line + length || colon[1] != ' ') return;
    size_t bytes = (size_t)(colon - line) + 1;
    memcpy(out, line, bytes);
    out[bytes] = 0;
}

/* Counts a pair in a table of the first PAIRS different ones; `count` is that of all pairs. */
typedef struct Counts {
    Speakers pair[PAIRS];
    long of[PAIRS], count;
} Counts;

static void count_pair(Counts *c, const char *user, const char *bot) {
    c->count++;
    for (int i = 0; i < PAIRS; i++) {
        Speakers *p = &c->pair[i];
        if (!*p->user) {
            strcpy(p->user, user);
            strcpy(p->bot, bot);
        }
        if (strcmp(p->user, user) == 0 && strcmp(p->bot, bot) == 0) {
            c->of[i]++;
            return;
        }
    }
}

bool speakers_find(const char *text, size_t length, Speakers *out) {
    Counts c = {0};
    char before[SPEAKER] = "", label[SPEAKER];
    size_t end = length < READ ? length : READ;
    int best = 0;
    for (size_t at = 0, bytes; at < end; at += bytes + 1) {
        const char *feed = memchr(text + at, '\n', end - at);
        bytes = feed ? (size_t)(feed - text) - at : end - at;
        read_label(text + at, bytes, label);
        if (*label && *before && strcmp(label, before) != 0) count_pair(&c, before, label);
        strcpy(before, label);
    }
    for (int i = 1; i < PAIRS; i++)
        if (c.of[i] > c.of[best]) best = i;
    if (c.of[best] < MIN_PAIRS || 3 * c.of[best] < c.count) return false;
    *out = c.pair[best];
    return true;
}
