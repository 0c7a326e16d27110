/* A page about attention, and about the training of what attends: one file of HTML that needs no other.
 *
 * Everything on it is described by plain values; page_write knows no model. It is whole without JavaScript; with it, a
 * slider shows earlier steps. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "run/page_content.h"

/* Writes the file. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY; the old file stays then. */
bool page_write(const Page *p, const char *path, Error *e);

/* Leaves out digits that a decimal fraction has only as a double: 0.10000000000000001 becomes 0.1. */
void page_shorten(char *text);

#endif
