/* RUN/run.jsonl, the record of a run: a JSON object a line, appended as things happen. README.md
 * lists the members.
 *
 *     FILE *out = record_begin(r, "step", 12);
 *     record_number(out, "loss", 2.31);
 *     record_end(r);
 *
 * Lines that cannot be written wait in memory for the next attempt. */
#pragma once

#include "base/directory.h"
#include "formats/json.h"
#include <sys/types.h>

typedef struct Record {
    char path[PATH_CAPACITY];
    int fd;        /* -1: the lines wait for record_create */
    off_t size;    /* bytes in the file that are complete lines */
    FILE *line;    /* writes `pending` */
    char *pending; /* lines that are not in the file yet */
    size_t bytes;  /* of pending */
    size_t begun;  /* bytes before the line that is being written */
    bool echo;     /* each line is printed on stdout, too */
} Record;

/* A record without a file. To be closed with record_close. STATUS_CANNOT_CREATE: the path cannot
 * become a file. */
bool record_open(Record *r, const char *directory, bool echo, Error *e);

/* Makes an empty file, in place of another run's, for this record. */
bool record_create(Record *r, Error *e);

/* The state of a run, as its record has it up to a checkpoint. */
typedef struct Past {
    double seconds;    /* of the last line that is kept */
    long steps;        /* lines of steps */
    long damaged;      /* number of the first damaged line; 0: none */
    bool is_evaluated; /* the last step of the schedule has its final evaluation */
} Past;

/* Reads a record up to the checkpoint of `step`, whose last evaluation was at `evaluated`;
 * `planned`: the last step of its schedule. Returns the bytes of the lines that a resumed run
 * keeps: those before the first that the run will write again, and before a line that a kill has
 * cut. A file that does not exist has none. */
off_t record_read(const char *path, long step, long evaluated, long planned, Past *past);

/* Opens the file, drops what is beyond its first `keep` bytes, and appends to it.
 * STATUS_CANNOT_CREATE, STATUS_IO. */
bool record_resume(Record *r, off_t keep, Error *e);

/* Begins a line and its first two members, and returns the stream for the others; ends it. */
FILE *record_begin(Record *r, const char *event, long step);
void record_end(Record *r);

/* Writes a number as a further member, as json_number does, with 7 digits; NAN is left out. */
void record_number(FILE *out, const char *name, double value);

/* Brings all lines to the disk. If the run's directory was deleted and made again, writes the
 * whole file there. STATUS_CANNOT_CREATE, STATUS_IO. */
bool record_save(Record *r, Error *e);
void record_close(Record *r);
