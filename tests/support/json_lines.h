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
