/* Commands as a shell reads them. */
#ifndef TRAINING_SHELL_H
#define TRAINING_SHELL_H

#include "base/error.h"

/* The words as one command, quoted where a shell would otherwise change them. The caller frees it; NULL with
 * STATUS_NO_MEMORY. */
char *shell_command(int argc, char *const *argv, Error *e);

#endif
