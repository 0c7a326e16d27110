/* The page of a run, from the files of its directory. */
#ifndef RUN_RUN_PAGE_H
#define RUN_RUN_PAGE_H

#include "run/frames.h"

/* Writes the page of DIRECTORY/metrics.csv, steps.csv and frames.safetensors to a file. A table that does not exist has no
 * charts. It fails as file_read, safetensors_read and page_write do; STATUS_BAD_DATA: the notes do not fit the tensors. */
bool page_of_run(const char *directory, const char *path, Error *e);

/* The same with other frames. */
bool page_of_frames(const Safetensors *frames, const char *directory, const char *path, Error *e);

#endif
