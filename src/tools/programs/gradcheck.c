/* gradcheck: checks the gradients of this project's operations, of students' files and of whole
 * models.
 *
 *     ./gradcheck            every operation, every case
 *     ./gradcheck softmax    one operation
 *     ./gradcheck my_op.c    an operation in a C file
 *     ./gradcheck model      a whole model, generated or from files */
#include "base/interrupt.h"
#include "base/options.h"
#include "check/grading/grade_files.h"
#include <string.h>

int main(int argc, char **argv) {
    Error e = {0};
    if (argc > 1 && strcmp(argv[1], "model") == 0)
        grading_command_model(argc - 1, argv + 1, &e);
    else
        grading_command_check(argc, argv, &e);
    int status = options_exit("gradcheck", &e);
    interrupt_end();
    return status;
}
