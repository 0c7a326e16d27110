/* Jobs for functions in another language. PROTOCOL.md has the messages. */
#ifndef CHECK_PROTOCOL_H
#define CHECK_PROTOCOL_H

#include "check/student_program.h"
#include "formats/array.h"

/* A JobRunner; `where` is a Program. */
JobRunner protocol_run;

/* Takes a line, without its end, as far as it fits. False: the program has ended. */
bool protocol_line(Program *p, char *line, size_t size);

/* Takes an array. False: the program has ended, or has sent something else. */
bool protocol_array(Program *p, const char *what, Array *a, Error *e);

#endif
