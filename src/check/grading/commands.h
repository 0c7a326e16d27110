/* The commands of ./gradcheck. Each parses its arguments, of which argv[0] is the name of the program or
 * of the command, and runs; e gets the result of the program. */
#ifndef GRADING_COMMANDS_H
#define GRADING_COMMANDS_H

#include "base/error.h"

typedef void GradingCommand(int argc, char **argv, Error *e);

GradingCommand grading_command_check; /* checks operations: all, one, or those of C files */
GradingCommand grading_command_model; /* checks a whole model */

#endif
