/* The source of an operation, src/ops/NAME.c, as text to take an exercise from. Its parts are what blank lines
 * divide, and each BUILD_CASE. */
#ifndef GRADING_OP_SOURCE_H
#define GRADING_OP_SOURCE_H

#include "ops/ops.h"
#include <stdio.h>

enum { SOURCE_PARTS = 128 };

typedef struct OpSource {
    const OpEntry *entry;
    char *text;
    char *part[SOURCE_PARTS]; /* each a string, without the lines' ends behind it */
    int parts;
    char *cases; /* the part that is the case table */
} OpSource;

/* HEADERS/ops/NAME.c. False: STATUS_NO_INPUT, or STATUS_BAD_DATA where it has no cases. To be freed either way. */
bool op_source_read(OpSource *s, const OpEntry *entry, const char *headers, Error *e);
void op_source_free(OpSource *s);

/* The header comment without its derivation, its end left open. */
void op_source_task(const OpSource *s, FILE *out);

/* Whether the operation's case number i is one that a student's file can have: it calls no operation that is not there for
 * it. */
bool op_source_has_case(const OpSource *s, int i);

/* These cases, behind all that they are made of. */
void op_source_print_cases(const OpSource *s, FILE *out);

/* Another operation that the cases call and a student's code does not find: the next one from *at on, which moves behind
 * it, from 0; NULL: there are no more. */
const OpEntry *op_source_hidden(const OpSource *s, int *at);

#endif
