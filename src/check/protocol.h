/* A program at the other end of two pipes that runs an operation: its check case, or functions in another language. PROTOCOL.md
 * has the messages. Judge and program share nothing else: the judge checks all that it reads, and keeps the expected
 * values. */
#ifndef CHECK_PROTOCOL_H
#define CHECK_PROTOCOL_H

#include "check/child.h"
#include "check/gradcheck/tape_runner.h"
#include "formats/array.h"

enum { PROTOCOL_OUTPUTS = 16 };

typedef struct Program {
    Child *child;
    bool on_tape; /* it runs protocol_serve */
    const char
        *begin; /* what it is told first: a line that names the case; NULL: nothing, or it has been told */

    /* Called if the program ends, or says that it cannot go on; does not return. */
    void (*lost)(void *context, const ChildEnd *end, const CheckRun *r);
    void *context;
    CheckRun *run; /* at work */
    int outputs;   /* of its last forward, and the numbers of each in a run */
    long numbers[PROTOCOL_OUTPUTS];
    Shape shape[PROTOCOL_OUTPUTS];
} Program;

/* A JobRunner; `where` is a Program. */
JobRunner protocol_run;

/* Takes a program's first line, which says what it has, up to `size` bytes. */
bool protocol_hello(Child *c, char *line, size_t size, ChildEnd *end);

/* Takes an array that the program sends. False: it ended, or has sent something else. */
bool protocol_array(Child *c, const char *what, Array *a, Error *e);

/* In the program (serve.c): serves jobs for a case until the judge ends. */
void protocol_serve(const CheckCase *c);

#endif
