#include "decoding/stream.h"
#include <string.h>

/* The place where the stop text begins in the held bytes, or may begin at their end; otherwise the
 * end. */
static size_t find_stop(const Stream *s, bool *whole) {
    size_t length = s->stop ? strlen(s->stop) : 0, at = length ? 0 : s->count;
    for (; at < s->count; at++) {
        size_t left = s->count - at, n = left < length ? left : length;
        if (memcmp(s->held + at, s->stop, n) != 0) continue;
        *whole = n == length;
        break;
    }
    return at;
}

static void let_go(Stream *s, size_t bytes) {
    if (s->out) utf8_print(s->out, s->held, bytes);
    s->count -= bytes;
    memmove(s->held, s->held + bytes, s->count);
}

bool stream_take(Stream *s, int32_t id) {
    bool whole = false;
    s->count += tokenizer_decode(s->tokenizer, &id, 1, s->held + s->count);
    size_t safe = find_stop(s, &whole);
    let_go(s, whole ? safe : safe - utf8_unfinished(s->held, safe));
    if (whole) s->count = 0;
    return !whole;
}

void stream_end(Stream *s) {
    let_go(s, s->count - utf8_unfinished(s->held, s->count));
    s->count = 0;
}
