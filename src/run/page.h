/* A page about a run and its attention: one HTML file, without references to others. It is complete without
 * JavaScript, which adds a slider for earlier steps. page_write knows no model. */
#ifndef RUN_PAGE_H
#define RUN_PAGE_H

#include "run/page_content.h"

/* Writes the file. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY; then the old file stays. */
bool page_write(const Page *p, const char *path, Error *e);

/* Leaves out digits that a decimal fraction has only as a double: 0.10000000000000001 becomes 0.1. */
void page_shorten(char *text);

#endif
