/* The commands of ./gradcheck. Each reads its command line, of which argv[0] is the program or the
 * command's own name, and does what it says; e is what the program ends with. */
#ifndef GRADING_COMMANDS_H
#define GRADING_COMMANDS_H

#include "base/error.h"

typedef void GradingCommand(int argc, char **argv, Error *e);

GradingCommand grading_command_check;  /* operations: all, one, or those of a C file */
GradingCommand grading_command_case;   /* writes a case as .npy files */
GradingCommand grading_command_verify; /* judges what was written beside them */
GradingCommand grading_command_model;  /* a whole model */

#endif
