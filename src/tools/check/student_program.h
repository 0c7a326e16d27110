/* A program at the other end of two pipes, to which the judge sends jobs: an operation on a tape,
 * or functions in another language. Both share nothing else. The judge checks all that it reads,
 * and keeps the expected values. */
#pragma once

#include "check/child.h"
#include "check/gradcheck/check_run.h"
#include "formats/array.h"

enum { PROGRAM_OUTPUTS = 16, PROGRAM_BLOCK = 1 << 14 };

typedef struct Program {
    Child *child;
    void (*runner)(struct Program *p, const Job *j,
                   Result *r); /* tape_program_run or protocol_run */
    /* Called if the program ends, or says that it cannot go on; does not return. NULL: `end` says
     * why, and what is taken is not there. */
    void (*lost)(void *context, const ChildEnd *end, const CheckRun *r);
    void *context;
    ChildEnd end;
    CheckRun *run; /* at work */

    char block[PROGRAM_BLOCK]; /* bytes that it has sent, taken up to `taken` */
    size_t taken, filled;

    /* A program of functions has these, too. */
    const char *awaited; /* the message that it has not answered */
    char *begin; /* what it is told first: a line that names the case; NULL: nothing, or it has been
                    told */
    int outputs; /* of its last forward, and the numbers of each in a run */
    long numbers[PROGRAM_OUTPUTS];
    Shape shape[PROGRAM_OUTPUTS];
} Program;

/* The JobRunner of all programs; `where` is a Program. */
JobRunner program_run;

/* Adds bytes to the next message, which is sent before an answer is taken, or in the program by
 * program_send. */
void program_put(const void *bytes, size_t size);
void program_send(void);

/* Takes the next bytes; `program` is a Program. False: it has ended. */
bool program_take(void *program, void *to, size_t size);

/* Waits for bytes in the block, and returns how many there are. 0: it has ended. */
size_t program_wait(Program *p);

/* Gives up a program that has said something else than it should. */
void program_refuse(Program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Gives it up if an output has not as many numbers as the upstream gradients of this job, or too
 * many. */
void program_expect_outputs(Program *p, const Job *j, long found);

/* ---- An operation on a tape: a child of this program, so a job and its result are sent as they
 * lie in memory ---- */

/* Has the program do a job. */
void tape_program_run(Program *p, const Job *j, Result *r);

/* In the program: serves jobs for a case until the judge ends. */
_Noreturn void tape_program_serve(const CheckCase *c);

/* ---- Functions in another language (protocol.c): PROTOCOL.md has the messages ---- */

/* Has the program do a job. */
void protocol_run(Program *p, const Job *j, Result *r);

/* Takes a line, without its end. False: the program has ended, or the line does not fit. */
bool protocol_line(Program *p, char *line, size_t size);

/* Puts an array of `runs` such shapes; 0: of one, without an axis for runs. */
void protocol_put_array(Dtype dtype, long runs, Shape s, const void *bytes);

/* ---- Arrays in the form of NumPy's .npy files, as they go through a pipe (npy.c) ---- */

/* The bytes before the elements, as numpy.save writes them. */
enum { NPY_START = 128 };
void npy_start(const Array *a, char start[NPY_START]);

/* Takes an array from a stream, of which more(context, to, size) gives the next bytes; false: there
 * are none. `what` names it in messages. More than `most` elements, and what is no array of float
 * or double in row-major order, are STATUS_BAD_DATA. To be freed with array_free. */
typedef bool NpySource(void *context, void *to, size_t size);
bool npy_receive(Array *a, const char *what, long most, NpySource *more, void *context, Error *e);
