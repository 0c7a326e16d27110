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
    for (int bytes = 1; bytes && at < length; at += (size_t)bytes) {
        while (at + 1 < length && (unsigned char)text[at] < 0x80) at++; /* most texts, at once */
        bytes = utf8_decode(text + at, length - at, &character);
    }
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

/* Whether further bytes complete these to a character: if any do, the smallest or the largest
 * do. */
static bool begins_character(const char *text, size_t bytes) {
    char smallest[UTF8_MAX], largest[UTF8_MAX];
    uint32_t character;
    memset(smallest, 0x80, UTF8_MAX);
    memset(largest, 0xBF, UTF8_MAX);
    memcpy(smallest, text, bytes);
    memcpy(largest, text, bytes);
    return utf8_decode(smallest, UTF8_MAX, &character) > (int)bytes ||
           utf8_decode(largest, UTF8_MAX, &character) > (int)bytes;
}

size_t utf8_unfinished(const char *text, size_t length) {
    for (size_t back = 1; back < UTF8_MAX && back <= length; back++)
        if (begins_character(text + length - back, back)) return back;
    return 0;
}

size_t utf8_count(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += !utf8_continues(text[i]);
    return count;
}

size_t utf8_prefix(const char *text, size_t length, size_t characters) {
    size_t at = 0;
    while (at < length && (utf8_continues(text[at]) || characters-- > 0)) at++;
    return at;
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
