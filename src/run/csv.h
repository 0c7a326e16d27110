/* A table that grows on disk: a head line with the columns' names, then rows of numbers, each after a step. */
#ifndef RUN_CSV_H
#define RUN_CSV_H

#include "base/directory.h"
#include "base/file.h"
#include <stdbool.h>
#include <stdio.h>

enum { CSV_COLUMNS = 32 }; /* at most */

typedef struct CsvFile {
    FILE *out;
    Error error; /* the first failed write */
    char path[PATH_ROOM];
    File *place; /* of a file that replaces another: rows stay in memory until csv_place; else NULL */
    char *rows;
    size_t size;
} CsvFile;

/* Creates DIRECTORY/NAME with its head line; with `replace`, the old file stays until csv_place.
 * STATUS_CANNOT_CREATE, STATUS_NO_MEMORY. */
bool csv_open(CsvFile *f, const char *directory, const char *name, const char *head, bool replace, Error *e);

/* The same with the rows of the old file up to the step `last`. If the old file lacks a row up to the step `needed`, or has
 * a damaged one, it is renamed, and stderr says so. */
bool csv_resume(CsvFile *f, const char *directory, const char *name, const char *head, long last, long needed,
                Error *e);

/* Puts the file in the old one's place. Reports a failure on stderr. */
void csv_place(CsvFile *f);

/* Writes the file again if it was deleted but its directory exists. */
void csv_restore(CsvFile *f);

/* Flushes what was written to f->out. Reports the first failure on stderr. */
void csv_flush(CsvFile *f);

/* STATUS_IO if a row could not be written. Rows not yet in place are lost. */
bool csv_close(CsvFile *f, Error *e);

/* ---- Reading ---- */

/* The whole rows of such a file, column by column. */
typedef struct Csv {
    long rows;
    int columns;
    double *value; /* [columns, rows]; NAN: empty, or not a number */
    char *name[CSV_COLUMNS];
    char *text; /* the file, of which the names are parts */
} Csv;

/* Reads a file; to be freed with csv_free, also after failure. A file that does not exist has no rows. STATUS_IO,
 * STATUS_NO_MEMORY, STATUS_BAD_DATA: not a table with a column `step`. */
bool csv_read(Csv *t, const char *path, Error *e);
void csv_free(Csv *t);

/* The values of a column, [rows]; NULL: there is none of that name. */
double *csv_column(const Csv *t, const char *name);

#endif
