/* A saved run's attention over a sentence of the reader's: as a page, as SVG files, or in the terminal. */
#ifndef EXPLAIN_EXPLAIN_RUN_H
#define EXPLAIN_EXPLAIN_RUN_H

#include "base/error.h"

typedef struct RunOptions {
    const char *run;  /* a run's directory */
    const char *text; /* UTF-8; a sequence to sequence model gives its own answer to it */
    const char *html; /* the file that gets the page; NULL: none */
    const char *svg;  /* the directory that gets a picture a head; NULL: none */
    long layer, head; /* in the terminal, from 1: these alone; 0: all */
} RunOptions;

/* Without html and svg, draws to stdout. STATUS_BAD_DATA: a character that the run does not know, or more of them than the
 * model, or a page, has room for; and what saved_run_open, page_write and pictures_save fail with. */
bool explain_run(const RunOptions *o, Error *e);

#endif
