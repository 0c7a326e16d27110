/* A program at the other end of two pipes that runs an operation: its check case, or functions in another language. PROTOCOL.md
 * has the messages. Judge and program share nothing else: the judge checks all that it reads, and keeps the expected
 * values. */
#ifndef CHECK_PROTOCOL_H
#define CHECK_PROTOCOL_H

#include "check/child.h"
#include "check/gradcheck/case_tape.h"

typedef struct Program {
    Child *child;
    bool on_tape; /* it runs protocol_serve */

    /* Called if the program ends, or says that it cannot go on; does not return. */
    void (*lost)(void *context, const ChildEnd *end, const CheckRun *r);
    void *context;
    CheckRun *run; /* at work */
} Program;

/* A JobRunner; `where` is a Program. */
JobRunner protocol_run;

/* In the program: serves jobs for a case until the judge ends. */
void protocol_serve(const CheckCase *c);

#endif
