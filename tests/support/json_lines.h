/* The output of programs with --json: one object a line. */
#pragma once

#include "formats/json.h"
#include "test.h"

/* The number of that key in a line of JSON. NAN: it is null; INFINITY: there is no such key. */
static inline double number(const char *line, const char *key) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted), *end = strchr(line, '\n');
    if (!at || (end && at > end)) return INFINITY;
    at += strlen(quoted);
    return strncmp(at, "null", 4) == 0 ? NAN : strtod(at, NULL);
}

/* One object, with these keys in this order and no other. */
static inline void check_keys(const char *line, const char *const *keys) {
    char *copy = strndup(line, (size_t)(next_line(line) - line));
    Error e = {0};
    JsonString key;
    Json j = json_over("line", copy, strlen(copy), &e);
    CHECK(json_enter(&j, '{'));
    for (; json_member(&j, &key); keys++) {
        CHECK(*keys && strcmp(key.text, *keys) == 0, "found %s, want %s", key.text,
              *keys ? *keys : "no more");
        if (!*keys) break;
        json_skip(&j);
    }
    CHECK(!*keys, "no %s", *keys);
    CHECK(json_end(&j), "%s", e.text);
    free(copy);
}
