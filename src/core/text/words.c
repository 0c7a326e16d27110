#include "text/words.h"
#include "base/utf8.h"

typedef enum Class { LETTER, DIGIT, BLANK, OTHER } Class;

static bool is_latin(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static Class class_of(char c) {
    if (is_latin(c) || (unsigned char)c >= 0x80) return LETTER;
    if (c >= '0' && c <= '9') return DIGIT;
    return c == ' ' || (c >= '\t' && c <= '\r') ? BLANK : OTHER;
}

/* First bytes of U+3000 to U+9FFF, of U+F000 to U+FFFF and of what lies above. U+AC00 to U+D7A3 are
 * Hangul syllables. */
static bool begins_ideograph(char c) {
    unsigned char byte = (unsigned char)c;
    return (byte >= 0xE3 && byte <= 0xE9) || byte >= 0xEF;
}

/* ' and one or two letters, or 0. */
static size_t contraction(const char *text, size_t length) {
    size_t n = 1;
    while (n < length && n < 4 && is_latin(text[n])) n++;
    return text[0] == '\'' && n > 1 && n < 4 ? n : 0;
}

size_t word_length(const char *text, size_t length, bool ideographs) {
    size_t max = length < TOKEN_BYTES ? length : TOKEN_BYTES, n = contraction(text, length);
    if (n) return n;
    if (text[0] == ' ' && length > 1 && class_of(text[1]) != BLANK) n = 1;
    Class class = class_of(text[n]);
    bool alone = ideographs && begins_ideograph(text[n]);
    for (n++; n < max && class_of(text[n]) == class; n++)
        if (!utf8_continues(text[n]) && (alone || (ideographs && begins_ideograph(text[n]))))
            return n;
    if (n == length) return n;
    if (class == BLANK && n > 1 && text[n - 1] == ' ' && class_of(text[n]) != BLANK) n--;
    if (class != LETTER) return n;
    size_t end = n; /* perhaps inside a character */
    while (n + 3 > end && utf8_continues(text[n])) n--;
    return n;
}
