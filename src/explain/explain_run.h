/* The attention of a saved run over a text: as a page, as SVG files, or in the terminal. */
#ifndef EXPLAIN_EXPLAIN_RUN_H
#define EXPLAIN_EXPLAIN_RUN_H

#include "base/error.h"

typedef struct RunOptions {
    const char *run;  /* directory of the run */
    const char *text; /* UTF-8; an encoder-decoder answers it */
    const char *html; /* file that receives the page; NULL: none */
    const char *svg;  /* directory that receives a picture a head; NULL: none */
    long layer, head; /* from 1: only these are drawn; 0: all */
} RunOptions;

/* Draws to stdout if neither html nor svg is given. STATUS_BAD_DATA: the text has a character that the run does not know,
 * or is too long for the model or a page. Otherwise it fails as saved_run_open, page_write and pictures_save do. */
bool explain_run(const RunOptions *o, Error *e);

#endif
