/* The values of options as text. */
#include "base/append.h"
#include "base/options.h"
#include "base/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A long double holds every double and, unless it is itself a double, every long; the ends of intervals
 * are short numbers and fit in any case. */
static bool in_interval(const Option *o, long double value) {
    const char *allowed = o->allowed ? o->allowed : "";
    char open, close;
    long double low, high;
    int length = 0;
    if (sscanf(allowed, "%c%Lf,%Lf%c%n", &open, &low, &high, &close, &length) != 4 || allowed[length] ||
        !strchr("[(", open) || !strchr("])", close))
        error_bug("options_parse: --%s: \"%s\" is no interval", o->name, allowed);
    return (open == '[' ? value >= low : value > low) && (close == ']' ? value <= high : value < high);
}

/* Whether text has the characters of a decimal number alone: strtod and strtol also take blanks,
 * hexadecimal, inf and nan. */
static bool is_decimal(const char *text, const char *characters) {
    return *text && text[strspn(text, characters)] == 0;
}

static bool read_integer(const Option *o, const char *text, long *out) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (strpbrk(text, "eE")) { /* 1e3 */
        double real = strtod(text, &end);
        if (!(fabs(real) <= (double)(1L << 30) * (1L << 20)) || real != floor(real)) return false;
        value = (long)real;
    }
    if (!is_decimal(text, "+-.0123456789eE") || *end || errno || !in_interval(o, (long double)value))
        return false;
    *out = value;
    return true;
}

static bool read_whole(const Option *o, const char *text) {
    long value = -1;
    bool none = o->none && strcmp(text, o->none) == 0;
    if (!none && (!read_integer(o, text, &value) || value > INT_MAX || value < INT_MIN)) return false;
    *o->whole = (int)value;
    return true;
}

static bool read_natural(const Option *o, const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!is_decimal(text, "0123456789") || *end || errno || value > UINT64_MAX) return false;
    *o->natural = value;
    return true;
}

static bool read_real(const Option *o, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (!is_decimal(text, "+-.0123456789eE") || *end || !isfinite(value)) return false;
    /* A number too small for a double must not silently become 0. */
    if (value == 0 && strcspn(text, "123456789") < strcspn(text, "eE")) return false;
    if (!in_interval(o, value)) return false;
    *o->real = value;
    return true;
}

/* The index-th word of "one|two|three" and its length; NULL: there is none. */
static const char *word(const Option *o, int index, int *length) {
    const char *at = o->allowed;
    for (int i = 0;; i++) {
        *length = (int)strcspn(at, "|");
        if (i == index) return at;
        if (!at[*length]) return NULL;
        at += *length + 1;
    }
}

static bool read_choice(const Option *o, const char *text) {
    const char *at;
    int length;
    for (int i = 0; (at = word(o, i, &length)); i++) {
        if (strncmp(at, text, (size_t)length) != 0 || text[length]) continue;
        *o->choice = i;
        return true;
    }
    return false;
}

/* The destination may be a pointer to any struct that begins with a Choice: its bytes are copied. */
static const Choice *kind_of(const Option *o) {
    const Choice *kind;
    memcpy(&kind, o->kind, sizeof kind);
    return kind;
}

static bool read_kind(const Option *o, const char *text) {
    if (o->none && strcmp(text, o->none) == 0) {
        memcpy(o->kind, &(const Choice *){NULL}, sizeof(const Choice *));
        return true;
    }
    for (const Choice *const *kind = o->kinds; *kind; kind++) {
        if (strcmp((*kind)->name, text) != 0) continue;
        memcpy(o->kind, kind, sizeof *kind);
        return true;
    }
    return false;
}

const char *option_allowed(const Option *o, char out[ALLOWED_TEXT]) {
    if (o->truth) return "false|true";
    if (!o->kind) return o->allowed ? o->allowed : "";
    *out = 0;
    for (const Choice *const *kind = o->kinds; *kind; kind++)
        text_append(out, ALLOWED_TEXT, "%s%s", *out ? "|" : "", (*kind)->name);
    if (strlen(out) == ALLOWED_TEXT - 1) error_bug("options_parse: --%s: the words are too long", o->name);
    return out;
}

const char *option_wanted(const Option *o, char out[WANTED_TEXT]) {
    char values[ALLOWED_TEXT];
    const char *what = "one of";
    if (o->natural) return "an integer in [0,2^64)";
    if (o->text) return "a text";
    if (o->flag || o->truth) return "true or false";
    if (o->integer || o->whole) what = "an integer in";
    if (o->real) what = "a number in";
    snprintf(out, WANTED_TEXT, "%s %s%s%s", what, option_allowed(o, values), o->none ? " or " : "",
             o->none ? o->none : "");
    return out;
}

static bool read_value(const Option *o, const char *text) {
    if (o->integer) return read_integer(o, text, o->integer);
    if (o->whole) return read_whole(o, text);
    if (o->natural) return read_natural(o, text);
    if (o->real) return read_real(o, text);
    if (o->choice) return read_choice(o, text);
    if (o->kind) return read_kind(o, text);
    if (o->text) *o->text = text;
    bool *truth = o->flag ? o->flag : o->truth;
    if (!truth) return true;
    *truth = !text || strcmp(text, "true") == 0;
    return *truth || strcmp(text, "false") == 0;
}

void option_check(const Option *o) {
    char words[ALLOWED_TEXT];
    if (o->integer || o->whole || o->real) in_interval(o, 0);
    if (o->choice && !o->allowed) error_bug("options_parse: --%s: no words to choose from", o->name);
    option_allowed(o, words);
}

bool option_read(const Option *o, const char *text, const char *where, Status status, Error *e) {
    char want[WANTED_TEXT];
    return read_value(o, text) ||
           error_set(e, status, "%s: found \"%s\", need %s", where, ESCAPED(text), option_wanted(o, want));
}

const char *option_text(const Option *o, char out[OPTION_TEXT]) {
    int length = 0;
    const char *at = NULL;
    if (o->text) return *o->text ? *o->text : "";
    if (o->kind && kind_of(o)) return kind_of(o)->name;
    if (o->kind) return o->none ? o->none : "";
    if (o->flag) return *o->flag ? "true" : "false";
    if (o->truth) return *o->truth ? "true" : "false";
    if (o->whole && o->none && *o->whole == -1) return o->none;
    *out = 0;
    if (o->choice) at = word(o, *o->choice, &length);
    if (at) snprintf(out, OPTION_TEXT, "%.*s", length, at);
    if (o->integer) snprintf(out, OPTION_TEXT, "%ld", *o->integer);
    if (o->whole) snprintf(out, OPTION_TEXT, "%d", *o->whole);
    if (o->natural) snprintf(out, OPTION_TEXT, "%" PRIu64, *o->natural);
    for (int digits = 6; o->real && digits <= 17; digits++) { /* the shortest that reads back */
        snprintf(out, OPTION_TEXT, "%.*g", digits, *o->real);
        if (strtod(out, NULL) == *o->real) break;
    }
    return out;
}
