/* JSON (RFC 8259), read without building a tree: the caller walks the text and states what it
 * expects.
 *
 *     Json j = json_over(path, text, length, e);
 *     json_enter(&j, '{');
 *     while (json_member(&j, &key))
 *         if (strcmp(key.text, "dtype") == 0) json_string(&j, &dtype);
 *         else json_skip(&j);
 *     return json_end(&j);
 *
 * After the first error every call returns false and does nothing, so a walk may check for errors
 * at its end. Strings are decoded in place: reading overwrites the text, and strings point into
 * it. */
#pragma once

#include "base/error.h"
#include "base/real.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 64 }; /* open brackets, at most */

typedef struct Json {
    const char *where; /* name of the text, for messages */
    char *text;
    size_t length, at;
    int depth;
    char open[JSON_DEPTH]; /* the brackets around `at` */
    bool first;            /* the innermost bracket has no value yet */
    bool failed;
    Error *error;
} Json;

typedef struct JsonString {
    char *text;    /* UTF-8, NUL-terminated */
    size_t length; /* bytes; the text may contain NULs */
} JsonString;

/* The text must be writable. */
Json json_over(const char *where, char *text, size_t length, Error *e);

/* Enters the object '{' or the array '['. */
bool json_enter(Json *j, char bracket);

/* Advances to the next value of the array. After the last one, leaves the array and returns
 * false. */
bool json_element(Json *j);

/* Advances to the value of the next member of the object and stores its key. After the last one,
 * leaves the object and returns false. Does not check for duplicate keys. */
bool json_member(Json *j, JsonString *key);

/* Reads the current value. */
bool json_string(Json *j, JsonString *s);
bool json_natural(Json *j, uint64_t *n); /* digits only: no sign, fraction or exponent */
bool json_skip(Json *j); /* any value; does not check how a number or a word is spelt */

/* True if nothing failed and only white space is left. */
bool json_end(Json *j);

/* Fails at the current position, after the value read last: `WHERE: byte N: …`. */
bool json_fail(Json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes text as a JSON string, quoted. Bytes that are not UTF-8 become U+FFFD. */
void json_print(FILE *out, const char *text);

/* Write a member of an object behind others, `, "key": …`: a text, a number, numbers. A number that
 * is not finite is null; others have all their digits. */
void json_text(FILE *out, const char *key, const char *text);
void json_number(FILE *out, const char *key, double x);
void json_reals(FILE *out, const char *key, const real *x, long count);
