#include "base/options.h"
#include "base/utf8.h"
#include "check/grading/case_files.h"
#include "check/grading/commands.h"

static const char notes[] =
    "CASE is the name of one of the operation's cases, or a part of it that no other\n"
    "has; without one the first is taken. In DIR: case.json, which says what is\n"
    "computed; NAME.npy for every input; y.npy, the output; dy.npy, the upstream\n"
    "gradient. To be written beside them: dNAME.npy for every input that takes one.\n"
    "Exit status: 0 written; 2 usage, no such operation or case; 73 DIR is not\n"
    "empty, or cannot be made.\n";

void grading_command_case(int argc, char **argv, Error *e) {
    const char *out = NULL;
    bool single = false, force = false;
    const Option table[] = {
        {"out", "DIR", NULL, "the directory for the files, made if need be", .text = &out},
        {"float", .help = "write float32 numbers, not float64", .flag = &single},
        {"force", .help = "write among the files that are in DIR, and over those of the same names",
         .flag = &force},
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
    if (case_write(&files, out, single, force, e)) case_instruct(&files, out, single, stdout);
    case_close(&files);
}
