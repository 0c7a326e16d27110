#include "base/options.h"
#include "grading/commands.h"
#include "grading/gradcheck_show.h"
#include "grading/verify_files.h"
#include <limits.h>

static const char notes[] =
    "DIR is what `gradcheck case` made. y.npy and each dNAME.npy, float32 or float64,\n"
    "are judged against the operation at the inputs and the upstream gradient that\n"
    "are in DIR. The error allowed is what rounding in the file's precision explains.\n"
    "Exit status: 0 all is right; 1 something is wrong, missing or unreadable;\n"
    "4 nothing is wrong, but something could not be proved; 2 usage; 65 a case.json\n"
    "is damaged; 66 there is no such DIR, or no case.json in it. Whatever is wrong\n"
    "with one part, or one DIR, the others are judged.\n";

void grading_command_verify(int argc, char **argv, Error *e) {
    ShowOptions how = {0};
    const Option table[] = {SHOW_OPTIONS(how), {0}};
    Options o = {"gradcheck verify",
                 "DIR...",
                 "Judges the gradients that were written beside a case.",
                 table,
                 notes,
                 .least = 1,
                 .most = INT_MAX,
                 .seed = 1};
    if (!options_parse(&o, argc, argv, e)) return;
    Show show;
    /* Of the first directory that cannot be judged: it tells more than that something failed. */
    Error unusable = {0}, verdict = {0};
    show_start(&show, &how);
    for (int i = 0; i < o.operands; i++) {
        CaseReport report;
        grading_verify_directory(o.operand[i], &report, stderr, &unusable);
        show_report(&show, &report);
    }
    show_finish(&show, &verdict);
    bool judged = unusable.status == STATUS_DONE ||
                  (verdict.status != STATUS_NO && verdict.status != STATUS_INCONCLUSIVE);
    *e = judged ? verdict : unusable;
}
