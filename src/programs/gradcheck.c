/* gradcheck: checks the gradients of this project's operations, of students' files, of arrays in files and of
 * whole models.
 *
 *     ./gradcheck                     every operation, every case
 *     ./gradcheck softmax             one operation
 *     ./gradcheck my_op.c             an operation in a C file
 *     ./gradcheck case OP --out DIR   writes a case as .npy files, for another language
 *     ./gradcheck verify DIR          judges the gradients that were written there
 *     ./gradcheck model               a whole model, generated or from files */
#include "base/interrupt.h"
#include "base/options.h"
#include "check/grading/commands.h"
#include <string.h>

/* The first word selects the command; any other word is an operand of `check`. */
static const struct {
    const char *word;
    GradingCommand *run;
} commands[] = {
    {"case", grading_command_case}, {"verify", grading_command_verify}, {"model", grading_command_model}};

int main(int argc, char **argv) {
    Error e = {0};
    GradingCommand *run = grading_command_check;
    for (size_t i = 0; i < sizeof commands / sizeof *commands && argc > 1; i++)
        if (strcmp(commands[i].word, argv[1]) == 0) run = commands[i].run;
    int words = run != grading_command_check;
    run(argc - words, argv + words, &e);
    int status = options_exit("gradcheck", &e);
    interrupt_end();
    return status;
}
