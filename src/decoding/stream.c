#include "decoding/stream.h"
#include <string.h>

/* The place where the stop text begins in the held bytes, or may begin at their end; otherwise the end. */
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

/* Bytes at the end of a text that further ones would complete to a character. */
static size_t incomplete(const char *text, size_t n) {
    for (size_t k = 1; k < UTF8_MAX && k <= n; k++)
        for (int rest = 0x80; rest <= 0xBF; rest += 0x3F) { /* the least and the greatest */
            char whole[UTF8_MAX];
            uint32_t character;
            memset(whole, rest, sizeof whole);
            memcpy(whole, text + n - k, k);
            if (utf8_decode(whole, sizeof whole, &character) > (int)k) return k;
        }
    return 0;
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
    let_go(s, whole ? safe : safe - incomplete(s->held, safe));
    if (whole) s->count = 0;
    return !whole;
}

void stream_end(Stream *s) {
    let_go(s, s->count - incomplete(s->held, s->count));
    s->count = 0;
}
