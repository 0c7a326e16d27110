/* UTF-8: one decoder for checks and messages. */
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

/* The lead byte determines how many bytes follow. The valid lead bytes and their valid second bytes
 * exclude overlong forms, surrogates and numbers above U+10FFFF (RFC 3629, section 4). *problem is NULL
 * for a character. */
static int decode(const char *text, size_t length, uint32_t *character, const char **problem) {
    const unsigned char *s = (const unsigned char *)text;
    unsigned char lead = s[0];
    *problem = NULL;
    if (lead < 0x80) {
        *character = lead;
        return 1;
    }
    int follow = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (lead < 0xC0)
        *problem = "a continuation byte without a lead";
    else if (lead < 0xC2)
        *problem = "an overlong form";
    else if (lead > 0xF7)
        *problem = "a byte that UTF-8 never has";
    else if (lead > 0xF4)
        *problem = "a character above U+10FFFF";
    if (*problem) return 0;

    uint32_t c = lead & (0x3Fu >> follow);
    for (int i = 1; i <= follow; i++) {
        if ((size_t)i >= length) {
            *problem = "a character cut short by the end";
            return 0;
        }
        if ((s[i] & 0xC0) != 0x80) {
            *problem = "a character cut short";
            return 0;
        }
        c = c << 6 | (s[i] & 0x3Fu);
        if ((lead == 0xE0 && s[1] < 0xA0) || (lead == 0xF0 && s[1] < 0x90)) *problem = "an overlong form";
        if (lead == 0xED && s[1] > 0x9F) *problem = "a surrogate";
        if (lead == 0xF4 && s[1] > 0x8F) *problem = "a character above U+10FFFF";
        if (*problem) return 0;
    }
    *character = c;
    return follow + 1;
}

int utf8_decode(const char *text, size_t length, uint32_t *character) {
    const char *problem;
    return length ? decode(text, length, character, &problem) : 0;
}

const char *utf8_problem(const char *text, size_t length) {
    const char *problem;
    uint32_t character;
    decode(text, length, &character, &problem);
    return problem;
}

int utf8_encode(uint32_t c, char out[UTF8_MAX]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        error_bug("utf8_encode: U+%04X is no character", (unsigned)c);
    int follow = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    for (int i = follow; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0x780u >> follow & 0xFF) | c);
    return follow + 1;
}

bool utf8_check(const char *where, const char *text, size_t length, Error *e) {
    uint32_t character;
    for (size_t at = 0; at < length;) {
        int bytes = utf8_decode(text + at, length - at, &character);
        if (!bytes)
            return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, %s, need UTF-8", where, at,
                             (unsigned)(unsigned char)text[at], utf8_problem(text + at, length - at));
        at += (size_t)bytes;
    }
    return true;
}

size_t utf8_count(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* Characters that move the cursor, end a line or turn the direction of writing. */
static bool drives_terminal(uint32_t c) {
    return c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

const char *utf8_escape(char out[ESCAPED_TEXT], const char *text) {
    size_t length = strlen(text), at = 0;
    char *end = out;
    while (at < length) {
        uint32_t character;
        int bytes = utf8_decode(text + at, length - at, &character);
        bool plain = bytes && !drives_terminal(character);
        if (!bytes) bytes = 1;
        if (at + (size_t)bytes > ESCAPED_BYTES) break;
        for (int i = 0; i < bytes; i++, at++) {
            if (plain)
                *end++ = text[at];
            else
                end += sprintf(end, "\\x%02X", (unsigned)(unsigned char)text[at]);
        }
    }
    strcpy(end, at < length ? "..." : "");
    return out;
}

void utf8_make_printable(char *text) {
    for (uint32_t character; *text;) {
        int bytes = utf8_decode(text, strlen(text), &character);
        if (bytes && character >= ' ' && (character < 0x7F || character > 0x9F))
            text += bytes;
        else
            *text++ = '?';
    }
}
