/* Command lines for a shell. */
#ifndef RUN_SHELL_H
#define RUN_SHELL_H

#include "training/train_config.h"

/* The words as one command, quoted where a shell would otherwise change them. The caller frees it; NULL with
 * STATUS_NO_MEMORY. */
char *shell_command(int argc, char *const *argv, Error *e);

/* The command line of the same run, without settings at their defaults; the caller frees it. NULL:
 * STATUS_NO_MEMORY. */
char *train_config_command(const TrainConfig *r, Error *e);

#endif
