/* Several runs on one page. */
#ifndef RUN_RUN_COMPARE_H
#define RUN_RUN_COMPARE_H

#include "base/error.h"

/* Writes DIRECTORY/compare.html: the losses of 2 to TRAIN_COMPARED runs, given by their directories, in one chart, and their
 * results and the options in which they differ in one table. It fails as page_of_run does. */
bool run_compare(char *const *run, int count, const char *directory, Error *e);

#endif
