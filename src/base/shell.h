/* Words for a shell. */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

#include "base/error.h"

/* The command of argc words as a shell reads it, those quoted that it would read in another way. For the
 * caller to free; NULL: STATUS_NO_MEMORY. */
char *shell_command(int argc, char *const *argv, Error *e);

#endif
