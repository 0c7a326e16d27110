/* Runs of ./train by the names that a user gives them. */
#pragma once

#include "base/directory.h"

#define CHECKPOINT_FILE "checkpoint.safetensors"
#define MODEL_FILE      "model.safetensors"

/* Writes the directory of a run, which has FILE, into out. `name` may be this directory, a file in
 * it, its name in runs/, or a directory with this run and no other. STATUS_NO_INPUT names the runs
 * that there are. */
bool runs_find(char out[PATH_CAPACITY], const char *name, const char *file, Error *e);
