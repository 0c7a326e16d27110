/* JSON (RFC 8259), read without building a tree: the caller walks the text and says what it expects.
 *
 *     Json j = json_over(path, text, length, e);
 *     json_enter(&j, '{');
 *     while (json_member(&j, &key))
 *         if (strcmp(key.text, "dtype") == 0) json_string(&j, &dtype);
 *         else json_skip(&j);
 *     return json_end(&j);
 *
 * The first error stays; from then on every call returns false and does nothing, so a walk may go on without
 * looking. Strings are decoded in place: the text is written over as it is read, and strings point into it.
 */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH = 64 }; /* brackets that may be open at once */

typedef struct Json {
    const char *where; /* of the text, for messages */
    char *text;
    size_t length, at;
    int depth;
    char open[JSON_DEPTH]; /* the brackets around `at` */
    bool first;            /* nothing was read since the last bracket opened */
    bool failed;
    Error *error;
} Json;

typedef struct JsonString {
    char *text;    /* UTF-8, a NUL behind it */
    size_t length; /* of the text, which may hold NULs of its own */
} JsonString;

/* The text must be writable. */
Json json_over(const char *where, char *text, size_t length, Error *e);

/* Goes into the object '{' or the array '['. */
bool json_enter(Json *j, char bracket);

/* Goes to the next value of the array; false behind the last, having left the array. */
bool json_element(Json *j);

/* Goes to the value of the next member of the object and gives its key; false behind the last. Whether a key
 * comes twice is for the caller to see. */
bool json_member(Json *j, JsonString *key);

/* The value here. */
bool json_string(Json *j, JsonString *s);
bool json_natural(Json *j, uint64_t *n); /* digits alone: no sign, fraction or exponent */
bool json_skip(Json *j);                 /* any value */

/* True if nothing failed and nothing but white space is left. */
bool json_end(Json *j);

/* Fails at the place the walk has come to, behind the value read last: `WHERE: byte N: …`. */
bool json_fail(Json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes text as a JSON string, with its quotes. What is not UTF-8 in it becomes U+FFFD. */
void json_print(FILE *out, const char *text);

#endif
