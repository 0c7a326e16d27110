/* Settings: their values as text, and which of them have an effect. */
#include "base/setting.h"
#include "base/append.h"
#include "base/utf8.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Setting *setting_find(const Setting *table, const char *name) {
    for (const Setting *s = table; s->name; s++)
        if (s->type != SETTING_HEADING && strcmp(s->name, name) == 0) return s;
    return NULL;
}

static void *member(const Setting *s, const void *values) {
    return (char *)values + s->offset;
}

/* The chosen kind. A text with kinds names one of them. NULL: none. */
static const Choice *kind_of(const Setting *s, const void *values) {
    const void *at;
    memcpy(&at, member(s, values), sizeof at);
    if (s->type == SETTING_KIND || !at) return at;
    for (const Choice *const *kind = s->kinds; *kind; kind++)
        if (strcmp((*kind)->name, at) == 0) return *kind;
    return NULL;
}

static void set_pointer(const Setting *s, void *values, const void *pointer) {
    memcpy(member(s, values), &pointer, sizeof pointer);
}

/* ---- Reading ---- */

/* A long double holds every double and, unless it is itself a double, every long; the ends of
 * intervals are short numbers and fit in any case. */
static bool in_interval(const Setting *s, long double value) {
    const char *allowed = s->allowed ? s->allowed : "";
    char open, close;
    long double low, high;
    int length = 0;
    if (sscanf(allowed, "%c%Lf,%Lf%c%n", &open, &low, &high, &close, &length) != 4 ||
        allowed[length] || !strchr("[(", open) || !strchr("])", close))
        error_bug("--%s: \"%s\" is no interval", s->name, allowed);
    return (open == '[' ? value >= low : value > low) &&
           (close == ']' ? value <= high : value < high);
}

/* Whether text has the characters of a decimal number alone: strtod and strtol also take blanks,
 * hexadecimal, inf and nan. */
static bool is_decimal(const char *text, const char *characters) {
    return *text && text[strspn(text, characters)] == 0;
}

static bool read_integer(const Setting *s, void *values, const char *text) {
    char *end = "";
    errno = 0;
    bool none = s->none && strcmp(text, s->none) == 0;
    long value = none ? -1 : strtol(text, &end, 10);
    if (!none && strpbrk(text, "eE")) { /* 1e3 */
        double real = strtod(text, &end);
        if (!(fabs(real) <= (double)(1L << 30) * (1L << 20)) || real != floor(real)) return false;
        value = (long)real;
    }
    if (!none && (!is_decimal(text, "+-.0123456789eE") || *end || errno)) return false;
    if (!none && !in_interval(s, (long double)value)) return false;
    if (s->size == sizeof(long)) {
        memcpy(member(s, values), &value, sizeof value);
    } else {
        if (value > INT_MAX || value < INT_MIN) return false;
        memcpy(member(s, values), &(int){(int)value}, sizeof(int));
    }
    return true;
}

static bool read_natural(const Setting *s, void *values, const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!is_decimal(text, "0123456789") || *end || errno || value > UINT64_MAX) return false;
    *(uint64_t *)member(s, values) = value;
    return true;
}

static bool read_real(const Setting *s, void *values, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (s->none && strcmp(text, s->none) == 0) {
        *(double *)member(s, values) = (double)INFINITY;
        return true;
    }
    if (!is_decimal(text, "+-.0123456789eE") || *end || !isfinite(value)) return false;
    /* A number too small for a double must not silently become 0. */
    if (value == 0 && strcspn(text, "123456789") < strcspn(text, "eE")) return false;
    if (!in_interval(s, value)) return false;
    *(double *)member(s, values) = value;
    return true;
}

/* The word of this index: a kind's name, or one of "post|pre". NULL: there is none. */
static const char *word_of(const Setting *s, int index, char out[SETTING_VALUE]) {
    if (s->type == SETTING_KIND) return s->kinds[index] ? s->kinds[index]->name : NULL;
    const char *word = s->type == SETTING_CHOICE ? s->allowed : "false|true";
    for (; index > 0; index--) {
        word = strchr(word, '|');
        if (!word) return NULL;
        word++;
    }
    snprintf(out, SETTING_VALUE, "%.*s", (int)strcspn(word, "|"), word);
    return out;
}

/* The index is an int, an enum or, of two words, a bool: its first bytes. */
static bool read_word(const Setting *s, void *values, const char *text) {
    char out[SETTING_VALUE];
    if (!text) text = "true"; /* a flag */
    if (s->none && strcmp(text, s->none) == 0) {
        set_pointer(s, values, NULL);
        return true;
    }
    for (int i = 0;; i++) {
        const char *word = word_of(s, i, out);
        if (!word) return false;
        if (strcmp(word, text) != 0) continue;
        if (s->type == SETTING_KIND)
            set_pointer(s, values, s->kinds[i]);
        else
            memcpy(member(s, values), &i, s->size);
        return true;
    }
}

static bool read_value(const Setting *s, void *values, const char *text) {
    switch (s->type) {
    case SETTING_HEADING: return false;
    case SETTING_INTEGER: return read_integer(s, values, text);
    case SETTING_NATURAL: return read_natural(s, values, text);
    case SETTING_REAL: return read_real(s, values, text);
    case SETTING_FLAG:
    case SETTING_TRUTH:
    case SETTING_CHOICE:
    case SETTING_KIND: return read_word(s, values, text);
    case SETTING_TEXT: set_pointer(s, values, text); return true;
    }
    return false;
}

bool setting_read(const Setting *s, void *values, const char *text, const char *where,
                  Status status, Error *e) {
    char want[SETTING_WANTED];
    return read_value(s, values, text) || error_set(e, status, "%s: found \"%s\", need %s", where,
                                                    ESCAPED(text), setting_wanted(s, want));
}

/* ---- Writing ---- */

const char *setting_allowed(const Setting *s, char out[SETTING_WORDS]) {
    if (s->type == SETTING_TRUTH) return "false|true";
    if (s->type == SETTING_INTEGER || s->type == SETTING_REAL) in_interval(s, 0);
    if (s->type == SETTING_CHOICE && !s->allowed)
        error_bug("--%s: no words to choose from", s->name);
    if (s->type != SETTING_KIND) return s->allowed ? s->allowed : "";
    *out = 0;
    for (const Choice *const *kind = s->kinds; *kind; kind++)
        text_append(out, SETTING_WORDS, "%s%s", *out ? "|" : "", (*kind)->name);
    if (strlen(out) == SETTING_WORDS - 1) error_bug("--%s: the words are too long", s->name);
    return out;
}

const char *setting_wanted(const Setting *s, char out[SETTING_WANTED]) {
    static const char *const form[] = {[SETTING_FLAG] = "true or false",
                                       [SETTING_TRUTH] = "true or false",
                                       [SETTING_NATURAL] = "an integer in [0,2^64)",
                                       [SETTING_TEXT] = "a text",
                                       [SETTING_INTEGER] = "an integer in",
                                       [SETTING_REAL] = "a number in",
                                       [SETTING_CHOICE] = "one of",
                                       [SETTING_KIND] = "one of"};
    char words[SETTING_WORDS];
    bool has_words = s->type == SETTING_INTEGER || s->type == SETTING_REAL ||
                     s->type == SETTING_CHOICE || s->type == SETTING_KIND;
    if (s->type == SETTING_TEXT && s->argument) return s->argument;
    if (!has_words) return form[s->type];
    snprintf(out, SETTING_WANTED, "%s %s%s%s", form[s->type], setting_allowed(s, words),
             s->none ? " or " : "", s->none ? s->none : "");
    return out;
}

static long integer_of(const Setting *s, const void *values) {
    const void *at = member(s, values);
    return s->size == sizeof(long) ? *(const long *)at : *(const int *)at;
}

/* The shortest text that reads back as the number. */
static void write_real(double value, char out[SETTING_VALUE]) {
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, SETTING_VALUE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) return;
    }
}

const char *setting_text(const Setting *s, const void *values, char out[SETTING_VALUE]) {
    const void *at = member(s, values);
    *out = 0;
    switch (s->type) {
    case SETTING_HEADING: break;
    case SETTING_INTEGER:
        if (s->none && integer_of(s, values) == -1) return s->none;
        snprintf(out, SETTING_VALUE, "%ld", integer_of(s, values));
        break;
    case SETTING_NATURAL: snprintf(out, SETTING_VALUE, "%" PRIu64, *(const uint64_t *)at); break;
    case SETTING_REAL:
        if (s->none && isinf(*(const double *)at)) return s->none;
        write_real(*(const double *)at, out);
        break;
    case SETTING_FLAG:
    case SETTING_TRUTH:
    case SETTING_CHOICE: {
        int index = 0;
        memcpy(&index, at, s->size);
        const char *word = word_of(s, index, out);
        return word ? word : "";
    }
    case SETTING_KIND: {
        const Choice *kind = kind_of(s, values);
        if (kind) return kind->name;
        return s->none ? s->none : "";
    }
    case SETTING_TEXT: return *(const char *const *)at ? *(const char *const *)at : "";
    }
    return out;
}

void setting_copy(const Setting *s, void *to, const void *from) {
    memcpy(member(s, to), member(s, from), s->size);
}

const char *setting_default(const Setting *s, const void *one, const char *name, const void *other,
                            char out[SETTING_VALUE]) {
    char first[SETTING_VALUE], second[SETTING_VALUE];
    const char *value = setting_text(s, one, first), *differs = setting_text(s, other, second);
    snprintf(out, SETTING_VALUE, "%s", value);
    if (strcmp(value, differs) != 0) text_append(out, SETTING_VALUE, "; %s %s", name, differs);
    return out;
}

const char *setting_key(const Setting *s, char out[SETTING_KEY]) {
    snprintf(out, SETTING_KEY, "%s", s->key ? s->key : s->name);
    for (char *c = out; *c; c++)
        if (*c == '-') *c = '_';
    return out;
}

/* ---- Effect ---- */

bool choice_reads(const Choice *kind, const char *name) {
    size_t length = strlen(name);
    for (const char *word = kind->reads; word && *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        if (n == length && memcmp(word, name, n) == 0) return true;
        word += n;
    }
    return false;
}

/* Whether a number is not 0, a text is there, or a flag is true. */
static bool is_set(const Setting *s, const void *values) {
    static const char zero[sizeof(double)] = {0};
    return memcmp(member(s, values), zero, s->size) != 0;
}

/* The names of the kinds that read a setting: "adamw or muon". */
static const char *readers(const Setting *of, const char *name, char out[SETTING_WORDS]) {
    const char *last = NULL;
    *out = 0;
    for (const Choice *const *kind = of->kinds; *kind; kind++) {
        if (!choice_reads(*kind, name)) continue;
        if (last) text_append(out, SETTING_WORDS, "%s%s", *out ? ", " : "", last);
        last = (*kind)->name;
    }
    if (last) text_append(out, SETTING_WORDS, "%s%s", *out ? " or " : "", last);
    return out;
}

/* The kind of `of` must read the setting, or be not chosen yet. */
static bool check_kind(const Setting *of, const void *values, const char *name, const char *blamed,
                       Error *e) {
    char need[SETTING_WORDS], found[SETTING_VALUE];
    const Choice *kind = kind_of(of, values);
    if (!kind || choice_reads(kind, name)) return true;
    return error_set(e, STATUS_USAGE, "--%s: found %s%s %s, need %s", blamed,
                     of->help ? "--" : "the ", of->name, setting_text(of, values, found),
                     readers(of, name, need));
}

static bool check_effect(const Setting *table, const void *values, const Setting *s,
                         const char *blamed, Error *e);

/* One of the names of s->of, without its "!". */
static bool check_other(const Setting *table, const void *values, const Setting *s,
                        const char *name, bool excludes, const char *blamed, Error *e) {
    const Setting *of = setting_find(table, name);
    if (!of) error_bug("--%s: the table has no \"%s\"", s->name, name);
    if (!check_effect(table, values, of, blamed, excludes ? &(Error){0} : e)) return excludes;
    if (of->kinds) return check_kind(of, values, s->name, blamed, e);
    if (is_set(of, values) != excludes) return true;
    return error_set(e, STATUS_USAGE,
                     excludes ? "--%s: found --%s, need one of the two"
                              : "--%s: found no --%s, need it",
                     blamed, of->name);
}

/* Errors name the setting `blamed`, which depends on s. */
static bool check_effect(const Setting *table, const void *values, const Setting *s,
                         const char *blamed, Error *e) {
    for (const char *word = s->of; word && *word; word += strspn(word, " ")) {
        char name[SETTING_KEY];
        bool excludes = *word == '!';
        word += excludes;
        size_t length = strcspn(word, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        if (!check_other(table, values, s, name, excludes, blamed, e)) return false;
        word += length;
    }
    return true;
}

bool setting_check_effect(const Setting *table, const void *values, const Setting *s, Error *e) {
    return check_effect(table, values, s, s->name, e);
}
