#include "base/utf8.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The lead byte determines how many bytes follow. The bounds of the number exclude overlong forms
 * and surrogates (RFC 3629, section 4). */
int utf8_decode(const char *text, size_t length, uint32_t *character) {
    static const uint32_t min[UTF8_MAX] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0) return 0;
    int follow = (s[0] >= 0xC0) + (s[0] >= 0xE0) + (s[0] >= 0xF0);
    if ((s[0] >= 0x80 && s[0] < 0xC0) || s[0] > 0xF4 || (size_t)follow >= length) return 0;
    uint32_t c = follow ? s[0] & (0x3Fu >> follow) : s[0];
    for (int i = 1; i <= follow; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3Fu);
    }
    if (c < min[follow] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0;
    *character = c;
    return follow + 1;
}

size_t utf8_symbol(const char *text, size_t length, uint32_t *symbol) {
    int bytes = utf8_decode(text, length, symbol);
    if (!bytes) *symbol = NO_UTF8 + (unsigned char)*text;
    return bytes ? (size_t)bytes : 1;
}

int utf8_encode(uint32_t c, char out[UTF8_MAX]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        error_bug("utf8_encode: U+%04X is no character", (unsigned)c);
    int follow = 1 + (c >= 0x800) + (c >= 0x10000);
    for (int i = follow; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)((0x780u >> follow & 0xFF) | c);
    return follow + 1;
}

size_t utf8_valid(const char *text, size_t length) {
    size_t at = 0;
    uint32_t character;
    for (int bytes = 1; bytes && at < length; at += (size_t)bytes)
        bytes = utf8_decode(text + at, length - at, &character);
    return at;
}

bool utf8_check(const char *where, const char *text, size_t length, Error *e) {
    size_t at = utf8_valid(text, length);
    return at == length || error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, need UTF-8",
                                     where, at, (unsigned)(unsigned char)text[at]);
}

size_t utf8_mark(const char *text, size_t length) {
    return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* The grammar of RFC 3629, section 4. States 1 to 3 want as many bytes more; 4 to 7 follow the
 * first bytes that narrow the second. */
int utf8_next(int state, unsigned char byte) {
    static const struct Step {
        unsigned char state, first, last, next;
    } steps[] = {{0, 0x00, 0x7F, 0}, {0, 0xC2, 0xDF, 1}, {0, 0xE0, 0xE0, 4}, {0, 0xE1, 0xEC, 2},
                 {0, 0xED, 0xED, 5}, {0, 0xEE, 0xEF, 2}, {0, 0xF0, 0xF0, 6}, {0, 0xF1, 0xF3, 3},
                 {0, 0xF4, 0xF4, 7}, {1, 0x80, 0xBF, 0}, {2, 0x80, 0xBF, 1}, {3, 0x80, 0xBF, 2},
                 {4, 0xA0, 0xBF, 1}, {5, 0x80, 0x9F, 1}, {6, 0x90, 0xBF, 2}, {7, 0x80, 0x8F, 2}};
    for (const struct Step *s = steps; s < steps + sizeof steps / sizeof *steps; s++)
        if (s->state == state && byte >= s->first && byte <= s->last) return s->next;
    return -1;
}

int utf8_state(int state, const char *text, size_t length) {
    for (size_t i = 0; i < length && state >= 0; i++)
        state = utf8_next(state, (unsigned char)text[i]);
    return state;
}

size_t utf8_whole(const char *text, size_t length) {
    for (size_t back = 1; back < UTF8_MAX && back <= length; back++)
        if (utf8_state(0, text + length - back, back) > 0) return length - back;
    return length;
}

size_t utf8_count(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += !utf8_continues(text[i]);
    return count;
}

bool utf8_drives_terminal(uint32_t c) {
    return c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void utf8_print(FILE *out, const char *text, size_t length) {
    bool terminal = isatty(fileno(out));
    uint32_t character;
    size_t bytes = length;
    for (size_t at = 0; at < length; at += bytes) {
        if (terminal) bytes = (size_t)utf8_decode(text + at, length - at, &character);
        bool blank = bytes == 1 && (character == '\t' || character == '\n');
        if (terminal && !blank && (!bytes || utf8_drives_terminal(character)))
            fputs("\xEF\xBF\xBD", out);
        else
            fwrite(text + at, 1, bytes, out);
        if (!bytes) bytes = 1;
    }
}

void utf8_make_printable(char *text, const char *keep) {
    for (uint32_t character; *text;) {
        int bytes = utf8_decode(text, strlen(text), &character);
        if (bytes && (strchr(keep, *text) || !utf8_drives_terminal(character)))
            text += bytes;
        else
            *text++ = '?';
    }
}

const char *utf8_escape(char out[ESCAPED_TEXT], const char *text) {
    size_t length = strlen(text), at = 0;
    char *end = out;
    while (at < length) {
        uint32_t symbol;
        size_t bytes = utf8_symbol(text + at, length - at, &symbol);
        bool plain = symbol < NO_UTF8 && !utf8_drives_terminal(symbol);
        if (at + bytes > ESCAPED_BYTES) break;
        for (; bytes; bytes--) {
            unsigned char byte = (unsigned char)text[at++];
            end += sprintf(end, plain ? "%c" : "\\x%02X", byte);
        }
    }
    strcpy(end, at < length ? "..." : "");
    return out;
}
