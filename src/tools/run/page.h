/* Pages: the template page.html with page.css, page.js and the records that it shows, in one
 * HTML file that loads no other. */
#pragma once

#include "base/error.h"

/* Writes the page of a run's record. It fails as file_read and file_commit do, or with
 * STATUS_NO_MEMORY. */
bool page_of_run(const char *record, const char *path, Error *e);

/* Writes DIRECTORY/compare.html, the page of several runs, given by their directories. */
bool page_compare(char *const *run, int count, const char *directory, Error *e);
