/* Two kinds of failure, kept apart.
 *
 * What the world does wrong (a file, a flag, a full disk, no memory) is an Error value. The function that
 * meets it fills the value and returns false; it travels up to the program, which prints one line and exits
 * with its status.
 *
 * A programmer's mistake (a shape that does not fit, an axis out of range) is a bug: it stops the program at
 * once and says which function, which argument, what was found and what is wanted. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

/* Exit statuses of every program; 65 and above are those of sysexits.h. */
typedef enum Status {
    STATUS_DONE = 0,
    STATUS_NO = 1,             /* ran, and the verdict is no */
    STATUS_USAGE = 2,          /* a flag or an operand is wrong */
    STATUS_NON_FINITE = 3,     /* training stopped on a number that is not finite */
    STATUS_INCONCLUSIVE = 4,   /* ran, and nothing is refuted, but something could not be proved */
    STATUS_BAD_DATA = 65,      /* an input is malformed */
    STATUS_NO_INPUT = 66,      /* an input cannot be opened */
    STATUS_BUG = 70,           /* a programmer's mistake */
    STATUS_NO_MEMORY = 71,     /* memory ran out, or would */
    STATUS_CANNOT_CREATE = 73, /* an output cannot be created */
    STATUS_IO = 74,            /* reading or writing failed */
    STATUS_OTHER_MODEL = 78,   /* the checkpoint is of another model */
} Status;

enum { ERROR_TEXT = 512 };

typedef struct Error {
    Status status; /* STATUS_DONE: no error */
    char text[ERROR_TEXT];
} Error;

/* Fills e and returns false, so that a failing function can `return error_set(e, STATUS_IO, "%s: …", path)`.
 * The text is one line, `FILE: WHERE: found X, need Y`, without the program's name; control bytes in it
 * become '?', and of a text too long its start and its end are kept. An error already in e stays: the first cause
 * is the one that counts. */
bool error_set(Error *e, Status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints `bug: …` on stderr and exits with STATUS_BUG. */
void error_bug(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Where memory is asked for in the middle of a computation, which cannot go on without it: prints `out of memory: …`, for
 * what, and exits with STATUS_NO_MEMORY. */
void error_no_memory(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
