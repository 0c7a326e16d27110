/* For Op.arguments: prints numbers as members of a JSON object. */
#pragma once

#include "ops/sequences.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* `"name": 0.1`, with enough digits to read the same number back. JSON has no infinities: they are
 * the strings "inf" and "-inf". */
static inline void print_number(FILE *out, const char *name, double x) {
    char text[32];
    int digits = 15;
    do snprintf(text, sizeof text, "%.*g", digits, x);
    while (strtod(text, NULL) != x && ++digits <= 17);
    fprintf(out, isfinite(x) ? "\"%s\": %s" : "\"%s\": \"%s\"", name, text);
}

/* `"name": [2, 0, 2]` */
static inline void print_ids(FILE *out, const char *name, const int32_t *id, long count) {
    fprintf(out, "\"%s\": [", name);
    for (long i = 0; i < count; i++) fprintf(out, i ? ", %ld" : "%ld", (long)id[i]);
    fprintf(out, "]");
}

/* `"name": {"start": [0, 3], "rows": [3, 1], "length": [3, 1]}` */
static inline void print_sequences(FILE *out, const char *name, const Sequences *s) {
    fprintf(out, "\"%s\": {", name);
    print_ids(out, "start", s->start, s->count);
    fprintf(out, ", ");
    print_ids(out, "rows", s->rows, s->count);
    fprintf(out, ", ");
    print_ids(out, "length", s->length, s->count);
    fprintf(out, "}");
}
