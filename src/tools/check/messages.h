/* A program at the other end of two pipes, which runs jobs and speaks PROTOCOL.md: functions in
 * another language, or a C file (grading/serve.c). Both ends in C put and take with the functions
 * below. The judge checks all that it takes, and keeps the expected values.
 *
 * A C file gets an array more after the line `forward`: the job's ways, and of each input layout,
 * same_as and constant. It answers "ok 2 WANTS_GRAD NODES DAMAGE" with the output and the branches,
 * and "ok N DAMAGE" with the gradients. */
#pragma once

#include "check/child.h"
#include "check/gradcheck/check_run.h"
#include "formats/array.h"

enum {
    PROGRAM_OUTPUTS = JOB_PARTS,
    PROGRAM_BLOCK = 1 << 14,
    PROGRAM_LINE = 1024,
    PROGRAM_WAYS = 7
};

typedef struct Program {
    Child *child;
    bool on_tape; /* a C file: its jobs have ways */
    bool goes_on; /* it is asked again after it was given up */
    /* Called if the program ends, or says that it cannot go on; does not return. NULL: `end` says
     * why, and what is taken is not there. */
    void (*lost)(void *context, const ChildEnd *end, const CheckRun *r);
    void *context;
    ChildEnd end;
    CheckRun *run; /* at work */

    char block[PROGRAM_BLOCK]; /* bytes that it has sent, taken up to `taken` */
    size_t taken, filled;

    const char *awaited; /* the message that it has not answered */
    char *begin; /* what it is told first: a line that names the case; NULL: nothing, or it has been
                    told */
    Shape in[CHECK_INPUTS]; /* of its last forward */
    int outputs;            /* and the numbers of each in a run */
    long numbers[PROGRAM_OUTPUTS];
    Shape shape[PROGRAM_OUTPUTS];
} Program;

/* The JobRunner of programs; `where` is a Program. */
JobRunner program_run;

/* ---- Messages, at both ends ---- */

/* Add bytes, or an array of `runs` such shapes (0: of one, without an axis for runs), to the next
 * message, which is sent before an answer is taken. */
void program_put(const void *bytes, size_t size);
void program_put_array(Dtype dtype, long runs, Shape s, const void *bytes);

/* Sends the message, unless it is sent. False: the program has ended. */
bool program_send(Program *p);

/* Takes the next bytes; `program` is a Program. False: it has ended. */
bool program_take(void *program, void *to, size_t size);

/* Takes a line, without its end. False: the program has ended, or the line does not fit. */
bool program_line(Program *p, char *line, size_t size);

/* ---- Arrays in the form of NumPy's .npy files, as they go through a pipe (npy.c) ---- */

/* The bytes before the elements, as numpy.save writes them. */
enum { NPY_START = 128 };
void npy_start(const Array *a, char start[NPY_START]);

/* Takes an array from a stream, of which more(context, to, size) gives the next bytes; false: there
 * are none. `what` names it in messages. More than `most` elements, and what is no array of float,
 * double or 64-bit integers in row-major order, are STATUS_BAD_DATA. To be freed with array_free.
 */
typedef bool NpySource(void *context, void *to, size_t size);
bool npy_receive(Array *a, const char *what, long most, NpySource *more, void *context, Error *e);
