#include "base/options.h"
#include "base/utf8.h"
#include "check/grading/case_files.h"
#include "check/grading/commands.h"

static const char notes[] =
    "CASE is a case of the operation, or a part of its name that no other case has; the default is the\n"
    "first. DIR gets case.json, which describes the case; NAME.npy for each input; y.npy, the output;\n"
    "dy.npy, the upstream gradient. To be written there by you: dNAME.npy for each input that takes a\n"
    "gradient. `gradcheck verify DIR` judges them.\n";

void grading_command_case(int argc, char **argv, Error *e) {
    const char *out = NULL;
    bool single = false, force = false;
    const Option table[] = {
        {"out", "DIR", NULL, "the directory for the files, created if necessary", .text = &out},
        {"float", .help = "write float32 numbers, not float64", .flag = &single},
        {"force", .help = "write to a directory that is not empty, and replace files", .flag = &force},
        {0},
    };
    Options o = {"gradcheck case",
                 "OPERATION [CASE] --out DIR",
                 "Writes a check case as .npy files, for gradients in another language.",
                 table,
                 notes,
                 .least = 1,
                 .most = 2};
    if (!options_parse(&o, argc, argv, e)) return;
    const OpEntry *entry = ops_find(o.operand[0]);
    if (!entry) {
        error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows",
                  ESCAPED(o.operand[0]));
        return;
    }
    const CheckCase *c = case_find(entry, o.operands > 1 ? o.operand[1] : NULL, e);
    if (c && !out) error_set(e, STATUS_USAGE, "--out: found none, need a directory");
    if (!c || !out) return;
    CaseFiles files;
    case_open(&files, entry, c, o.seed, single);
    if (case_write(&files, out, force, e)) case_instruct(&files, out, stdout);
    case_close(&files);
}
