/* A reader of JSON, and writers of members. Every function of the reader starts at the first unread
 * byte. */
#include "formats/json.h"
#include "base/utf8.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

Json json_over(const char *where, char *text, size_t length, Error *e) {
    return (Json){.where = where, .text = text, .length = length, .error = e};
}

bool json_fail(Json *j, const char *format, ...) {
    char text[ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!j->failed) error_set(j->error, STATUS_BAD_DATA, "%s: byte %zu: %s", j->where, j->at, text);
    j->failed = true;
    return false;
}

static bool need(Json *j, const char *what) {
    if (j->at == j->length) return json_fail(j, "found the end, need %s", what);
    unsigned char next = (unsigned char)j->text[j->at];
    if (next > ' ' && next < 0x7F) return json_fail(j, "found '%c', need %s", next, what);
    return json_fail(j, "found byte 0x%02X, need %s", (unsigned)next, what);
}

/* Skips white space and returns the next byte; 0 at the end or after a failure. */
static char peek(Json *j) {
    while (j->at < j->length && j->text[j->at] && strchr(" \t\n\r", j->text[j->at])) j->at++;
    return j->failed || j->at == j->length ? 0 : j->text[j->at];
}

static bool take(Json *j, char byte, const char *what) {
    if (peek(j) != byte) return need(j, what);
    j->at++;
    return true;
}

/* ---- Objects and arrays ---- */

bool json_enter(Json *j, char bracket) {
    if (peek(j) != bracket) return need(j, bracket == '{' ? "an object" : "an array");
    if (j->depth == JSON_DEPTH) return need(j, "less depth");
    j->at++;
    j->open[j->depth++] = bracket;
    j->first = true;
    return !j->failed;
}

/* Advances to the next value in the innermost bracket; false if the bracket closes. */
static bool next_in(Json *j, char open, char close) {
    if (j->failed) return false;
    if (!j->depth || j->open[j->depth - 1] != open)
        error_bug("json: %s: no %c is open", j->where, open);
    if (peek(j) == close) {
        j->at++;
        j->depth--;
        j->first = false;
        return false;
    }
    bool first = j->first;
    j->first = false;
    return first || take(j, ',', open == '{' ? "a comma or }" : "a comma or ]");
}

bool json_element(Json *j) {
    return next_in(j, '[', ']');
}

bool json_member(Json *j, JsonString *key) {
    return next_in(j, '{', '}') && json_string(j, key) && take(j, ':', "a colon");
}

bool json_end(Json *j) {
    if (!j->failed && j->depth) error_bug("json: %s: a bracket is still open", j->where);
    if (peek(j) || j->at < j->length) need(j, "nothing more");
    return !j->failed;
}

/* ---- Strings ---- */

/* Four hexadecimal digits. */
static bool hexadecimal(Json *j, uint32_t *n) {
    *n = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *found =
            j->at < j->length ? memchr(digits, j->text[j->at], sizeof digits - 1) : NULL;
        if (!found) return need(j, "a hexadecimal digit");
        uint32_t digit = (uint32_t)(found - digits);
        *n = *n << 4 | (digit < 16 ? digit : digit - 6);
        j->at++;
    }
    return true;
}

/* Decodes the escape after a backslash to UTF-8 at *out; of a surrogate pair, both halves. */
static bool escape(Json *j, char **out) {
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char name = j->at < j->length ? j->text[j->at] : 0;
    const char *found = name ? strchr(names, name) : NULL;
    if (!found && name != 'u') return need(j, "a JSON escape");
    j->at++;
    if (found) {
        *(*out)++ = bytes[found - names];
        return true;
    }
    uint32_t c, low;
    if (!hexadecimal(j, &c)) return false;
    if (c >= 0xDC00 && c <= 0xDFFF)
        return json_fail(j, "found the second half of a surrogate pair alone");
    if (c >= 0xD800 && c <= 0xDBFF) {
        bool follows = j->length - j->at >= 2 && memcmp(j->text + j->at, "\\u", 2) == 0;
        if (follows) j->at += 2;
        if (follows && !hexadecimal(j, &low)) return false;
        if (!follows || low < 0xDC00 || low > 0xDFFF)
            return json_fail(j, "found the first half of a surrogate pair alone");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    *out += utf8_encode(
        c, *out); /* at most as long as the escape, so it does not overtake the reading */
    return true;
}

bool json_string(Json *j, JsonString *s) {
    if (!take(j, '"', "a string")) return false;
    char *start = j->text + j->at, *out = start;
    for (;;) {
        uint32_t c;
        int bytes = utf8_decode(j->text + j->at, j->length - j->at, &c);
        if (!bytes && j->at < j->length) return need(j, "UTF-8");
        if (!bytes) return need(j, "a closing quote");
        if (c < ' ') return json_fail(j, "found control character 0x%02X in a string", (unsigned)c);
        if (c == '"') break;
        if (c == '\\') {
            j->at++;
            if (!escape(j, &out)) return false;
            continue;
        }
        memmove(out, j->text + j->at, (size_t)bytes);
        out += bytes;
        j->at += (size_t)bytes;
    }
    j->at++;
    *out = 0; /* overwrites the closing quote or a byte before it */
    *s = (JsonString){start, (size_t)(out - start)};
    return true;
}

void json_print(FILE *out, const char *text) {
    static const char bytes[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    size_t length = strlen(text);
    fputc('"', out);
    for (size_t at = 0; at < length;) {
        uint32_t c;
        int n = utf8_decode(text + at, length - at, &c);
        const char *special = strchr(bytes, text[at]);
        if (!n)
            fputs("\xEF\xBF\xBD", out);
        else if (special)
            fprintf(out, "\\%c", names[special - bytes]);
        else if (c < ' ' || c == 0x7F)
            fprintf(out, "\\u%04X", (unsigned)c);
        else
            fwrite(text + at, 1, (size_t)n, out);
        at += n ? (size_t)n : 1;
    }
    fputc('"', out);
}

/* ---- Numbers and words ---- */

static bool is_one_of(const Json *j, const char *bytes) {
    return j->at < j->length && j->text[j->at] && strchr(bytes, j->text[j->at]);
}

bool json_natural(Json *j, uint64_t *n) {
    static const char digits[] = "0123456789";
    uint64_t value = 0;
    peek(j);
    size_t from = j->at;
    if (j->failed || !is_one_of(j, digits)) return need(j, "a number of digits only");
    for (; is_one_of(j, digits); j->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(j->text[j->at] - '0'), &value)) {
            j->at = from;
            return need(j, "a number below 2^64");
        }
    *n = value;
    return true;
}

/* Recurses at most JSON_DEPTH deep. */
bool json_skip(Json *j) {
    JsonString text;
    if (j->failed) return false;
    switch (peek(j)) {
    case '{':
        json_enter(j, '{');
        while (json_member(j, &text)) json_skip(j);
        return !j->failed;
    case '[':
        json_enter(j, '[');
        while (json_element(j)) json_skip(j);
        return !j->failed;
    case '"': return json_string(j, &text);
    default: break;
    }
    /* A number, true, false or null, or what is spelt with their letters. */
    size_t from = j->at;
    while (is_one_of(j, "+-.0123456789Eaeflnrstu")) j->at++;
    return j->at > from || need(j, "a value");
}

void json_text(FILE *out, const char *key, const char *text) {
    fprintf(out, ", \"%s\": ", key);
    json_print(out, text);
}

void json_number(FILE *out, const char *key, double x) {
    fprintf(out, isfinite(x) ? ", \"%s\": %.17g" : ", \"%s\": null", key, x);
}

void json_reals(FILE *out, const char *key, const real *x, long count) {
    int digits = sizeof(real) == sizeof(double) ? 17 : 9;
    fprintf(out, ", \"%s\": [", key);
    for (long i = 0; i < count; i++)
        fprintf(out, isfinite(x[i]) ? "%s%.*g" : "%snull", i ? "," : "", digits, (double)x[i]);
    putc(']', out);
}
