/* Jobs in child processes, several at a time. A job that crashes, exits, loops or uses up its
 * memory ends alone.
 *
 * A job sends its result, bytes, through a pipe; what it prints on stdout and stderr is kept apart.
 */
#pragma once

#include "base/error.h"
#include <stddef.h>
#include <sys/types.h>

enum { CHILD_KEEPS = 2 };
typedef struct ChildLimits {
    /* Limit of processor time for each job. The limit of elapsed time is three times as long, for a
     * busy machine. */
    double seconds;
    long cases; /* child_again begins each of so many, which has these limits; 0: one */
    bool awake; /* it has no reason to sleep: if it does, the limit of elapsed time is `seconds` */
    size_t bytes;      /* of address space; 0: no limit. Ignored under AddressSanitizer, which needs
                          terabytes */
    size_t file_bytes; /* of a file that is written; 0: no limit */
    /* The job gets an empty directory of its own in this one, for temporary files and caches. It
     * goes with the job, and may hold as many bytes. NULL: none. */
    const char *folder;
    size_t folder_bytes;
    int keep[CHILD_KEEPS]; /* open files that the job inherits besides standard ones; 0: none */
} ChildLimits;

typedef enum ChildFate {
    CHILD_DONE,      /* the job's function returned */
    CHILD_EXITED,    /* it called exit, or another program took its place */
    CHILD_SIGNALLED, /* it crashed, or was killed */
    CHILD_TIMED_OUT,
    CHILD_FULL,        /* its own directory held more than it may */
    CHILD_INTERRUPTED, /* the program was asked to end (interrupt.h): no job is begun, and none
                          waited for */
    CHILD_NOT_BORN,    /* the system has no process or no memory for it */
} ChildFate;

enum { CHILD_PRINTED = 4096 };

typedef struct ChildEnd {
    ChildFate fate;
    int number;         /* exit status or signal */
    const char *result; /* the bytes sent, complete or not, followed by a NUL */
    size_t size;
    const char *printed; /* the first CHILD_PRINTED bytes of what it printed */
} ChildEnd;

/* Sends bytes of the result; for use inside a job. False: the parent has closed the pipe. */
bool child_send(const void *bytes, size_t size);

/* Ends the job here, as if its function had returned. */
_Noreturn void child_finish(void);

/* Runs job(context, i) for i in [0, jobs), each in a child of its own, `at_once` together, and
 * calls done(context, i, end) for each as it ends, in no order. A job's own children die with it.
 */
void child_run_all(long jobs, int at_once, const ChildLimits *limits,
                   void (*job)(void *context, long i),
                   void (*done)(void *context, long i, const ChildEnd *end), void *context);

/* Starts a child that runs job(context, i) and is talked to. NULL: no process or no memory. */
typedef struct Child Child;
Child *child_start(long i, const ChildLimits *limits, void (*job)(void *context, long i),
                   void *context);

/* A process that is no child of this one, at the other end of two open pipes. It is never stopped.
 */
Child *child_attach(int from, int to, const ChildLimits *limits);

/* Sends bytes to it. Only the time in which it is waited for counts. False: it has ended, and `end`
 * says how, until child_stop. */
bool child_tell(Child *c, const void *bytes, size_t size, ChildEnd *end);

/* Takes at least one byte from it and at most `size`; returns how many. 0: it has ended. */
size_t child_hear(Child *c, void *to, size_t size, ChildEnd *end);

/* Its limits of time begin again. */
void child_again(Child *c);

/* Inside the job: the path of its own directory, which $TMPDIR and $HOME name too; NULL: it has
 * none. */
const char *child_directory(void);

/* Inside the job: its parent, to be talked to. */
Child *child_parent(void);

/* Inside the job: becomes another program, whose standard input is what it is told, and whose
 * standard output is what it sends. */
_Noreturn void child_become(char *const argument[]);

/* Inside the job: runs another program that may start further ones, and ends as it does, or with
 * this status if it cannot be run. All of them end if the parent does. */
_Noreturn void child_become_family(char *const argument[], int cannot_run);

/* Ends it, if it still lives, and its family; frees c. */
void child_stop(Child *c);

/* Copies the last printed line, such as the message of a bug, into text as far as it fits. */
const char *child_last_line(char *text, size_t size, const char *printed);

/* The text of CHILD_NOT_BORN. */
#define CHILD_LACK "could not be run: no process or no memory for it"

/* Whether a text says that the machine has no memory, no process or no space on its disk for a
 * program. */
bool child_lacks(const char *text);

/* "crashed: signal 11 (Segmentation fault)": the end in words, which are printable; "" for
 * CHILD_DONE. Of a bug it is the last printed line. */
enum { CHILD_TEXT = 1024 };
const char *child_text(char text[CHILD_TEXT], const ChildEnd *end, const ChildLimits *limits);
