/* Tables of a run: a head line with the columns' names, then rows of numbers, each after a step. A table grows in memory, and
 * its file is written whole. */
#pragma once

#include "base/directory.h"
#include "base/file.h"
#include <stdbool.h>
#include <stdio.h>

enum { CSV_COLUMNS = 32 }; /* at most */

typedef struct CsvFile {
    char path[PATH_ROOM];
    FILE *out; /* a row is printed to it */
    char *text;
    size_t size; /* of the text, after csv_save */
} CsvFile;

/* Begins DIRECTORY/NAME, whose head line ends in a line feed. An old file stays until csv_save. STATUS_CANNOT_CREATE,
 * STATUS_NO_MEMORY. To be closed with csv_close, also after failure. */
bool csv_open(CsvFile *f, const char *directory, const char *name, const char *head, Error *e);

/* The same with the rows of the old file up to the step `last`. If the old file lacks a row up to the step `needed`, or has
 * a damaged one, it is renamed, and stderr says so. */
bool csv_resume(CsvFile *f, const char *directory, const char *name, const char *head, long last, long needed,
                Error *e);

/* Replaces the file by the table. It fails as file_create and file_commit do. */
bool csv_save(CsvFile *f, Error *e);
void csv_close(CsvFile *f);

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
