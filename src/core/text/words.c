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

/* ' and one or two letters, or 0. */
static size_t contraction(const char *text, size_t length) {
    size_t n = 1;
    while (n < length && n < 4 && is_latin(text[n])) n++;
    return text[0] == '\'' && n > 1 && n < 4 ? n : 0;
}

size_t word_length(const char *text, size_t length) {
    size_t max = length < TOKEN_BYTES ? length : TOKEN_BYTES, n = contraction(text, length);
    if (n) return n;
    if (text[0] == ' ' && length > 1 && class_of(text[1]) != BLANK) n = 1;
    Class class = class_of(text[n]);
    do n++;
    while (n < max && class_of(text[n]) == class);
    if (n == length) return n;
    if (class == BLANK && n > 1 && text[n - 1] == ' ' && class_of(text[n]) != BLANK) n--;
    if (class != LETTER) return n;
    size_t end = n; /* perhaps inside a character */
    while (n + 3 > end && utf8_continues(text[n])) n--;
    return n;
}
