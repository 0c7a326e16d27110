/* There are two kinds of failure.
 *
 * An outside failure comes from a file, an option, a full disk, or an array that does not fit into
 * memory. The function that meets it fills an Error and returns false. Its callers return false,
 * too, and the program prints one line and exits with the error's status.
 *
 * A fatal failure is a programmer's mistake (a shape that does not fit, an axis out of range), or
 * no memory for a small record. The function that meets it prints one line and ends the process,
 * unless the caller has set a handler. */
#pragma once

#include <stdbool.h>

/* Exit statuses of every program, STATUS_DONE and so on, as the help lists them; 65 and above are
 * those of sysexits.h. */
#define STATUSES(STATUS)                                                                           \
    STATUS(DONE, 0, "done")                                                                        \
    STATUS(NO, 1, "ran, and the verdict is no")                                                    \
    STATUS(USAGE, 2, "a flag or an operand is wrong")                                              \
    STATUS(NON_FINITE, 3, "training stopped on a number that is not finite")                       \
    STATUS(INCONCLUSIVE, 4, "nothing is wrong, but something could not be proved")                 \
    STATUS(BAD_DATA, 65, "an input is malformed")                                                  \
    STATUS(NO_INPUT, 66, "an input cannot be opened")                                              \
    STATUS(UNAVAILABLE, 69, "another program is needed, and cannot be run")                        \
    STATUS(BUG, 70, "a bug in this program")                                                       \
    STATUS(NO_MEMORY, 71, "out of memory")                                                         \
    STATUS(CANNOT_CREATE, 73, "an output cannot be created")                                       \
    STATUS(IO, 74, "reading or writing failed")                                                    \
    STATUS(OTHER_MODEL, 78, "the checkpoint is of another model")

#define STATUS_NUMBER(name, number, meaning) STATUS_##name = number,
typedef enum Status { STATUSES(STATUS_NUMBER) } Status;

enum { ERROR_TEXT = 512 };

typedef struct Error {
    Status status; /* STATUS_DONE: no error */
    char text[ERROR_TEXT];
} Error;

/* The ending of a noun after the number n: "found %ld token%s". */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Fills e and returns false, so that a function can `return error_set(e, STATUS_IO, "%s: …",
 * path)`. The text is one line, `FILE: WHERE: found X, need Y`, without the program's name. Control
 * bytes become '?'. A text that is too long keeps its beginning and its end. If e holds an error
 * already, it keeps that one: the first cause counts. */
bool error_set(Error *e, Status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fatal: prints `bug: …` on stderr and exits with STATUS_BUG. */
void error_bug(const char *format, ...) __attribute__((noreturn))
__attribute__((format(printf, 1, 2)));

/* Stops with a bug where a pointer must not be NULL: "trainer_start: t->model is NULL". */
#define WANT(pointer)                                                                              \
    do {                                                                                           \
        if (!(pointer)) error_bug("%s: " #pointer " is NULL", __func__);                           \
    } while (0)

/* Fatal: prints the text and exits with this status. error_no_memory prints `out of memory: …`; its
 * text names what the memory was for. */
void error_fatal(Status status, const char *format, ...) __attribute__((noreturn))
__attribute__((format(printf, 2, 3)));
#define error_no_memory(...) error_fatal(STATUS_NO_MEMORY, __VA_ARGS__)

/* A handler replaces the line on stderr and the exit of a fatal failure. It gets the text without
 * its prefix, valid until the thread's next fatal failure. The handler may leave by longjmp, in the
 * thread that set it. If it returns, the process exits.
 *
 * After longjmp the caller resets or frees the tape that it used; gradients hold a part of their
 * sum. Models, parameters, other tapes and the thread pool are as before the call that failed.
 * Memory that this call allocated with malloc is lost. If a worker of pool_for fails, the handler
 * of the thread that called pool_for runs. */
typedef struct FatalHandler {
    void (*call)(void *context, Status status, const char *text); /* NULL: none */
    void *context;
} FatalHandler;

/* Sets the calling thread's handler and returns the one before. */
FatalHandler error_on_fatal(FatalHandler handler);
