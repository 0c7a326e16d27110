/* Messages of PROTOCOL.md under construction, and what judge and program tell each other besides if the program runs an
 * operation on a tape (serve.c). */
#ifndef CHECK_MESSAGE_H
#define CHECK_MESSAGE_H

#include "check/gradcheck/job.h"
#include "formats/array.h"

enum { LINE = 256, NAMES = 128 };

/* What a program on a tape is told besides, before the inputs: they are those of the point, in its layouts. */
typedef struct TapeJob {
    JobWays ways;
    CheckLayout layout[CHECK_INPUTS];
    int same_as[CHECK_INPUTS];
    bool constant[CHECK_INPUTS];
    char name[CHECK_INPUTS][NAMES];
    int inputs;
    long runs, changes;
} TapeJob;

/* What it tells besides, after its outputs or gradients. */
typedef struct TapeNews {
    bool wants_grad;
    long nodes;
    char damage[DAMAGE_TEXT];
} TapeNews;

typedef struct Message {
    char *bytes;
    size_t size, room;
} Message;

/* Adds bytes as they are. */
void message_put(Message *m, const void *bytes, size_t size);

/* Adds an array of `runs` such shapes; 0: of one, without an axis for runs. */
void message_array(Message *m, Dtype dtype, long runs, Shape s, const void *bytes);

/* The same, of numbers as doubles. */
void message_reals(Message *m, long runs, Shape s, const real *x);

#endif
