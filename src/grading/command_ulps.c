#include "base/clock.h"
#include "base/options.h"
#include "base/utf8.h"
#include "grading/commands.h"
#include "grading/gradcheck_show.h"
#include "grading/ulp_table.h"
#include "grading/ulps.h"
#include "ops/ops.h"
#include <string.h>

static const char notes[] =
    "Errors, in JSON as well, are in ulps: units in the last place of a float of the size of the terms that "
    "the\n"
    "result is made of. The float side is run by the float build of this program.\n"
    "Exit status: 0 all are within their bounds; 1 one is not; 2 usage; 66 no float build of this program.\n";

static void judge_operation(const Op *op, uint64_t seed, const Safetensors *twin, Show *show,
                            UlpTotals *totals) {
    CaseReport r;
    UlpRow row = {0};
    for (int i = 0; i < op->n_cases; i++) {
        ulps_judge(op->name, &op->cases[i], i, seed, twin, &r);
        ulp_row_add(&row, &r);
        ulp_totals_add(totals, &r, false);
        show_report(show, &r);
    }
    totals->operations++;
    if (!show->how->json) ulp_table_row(stdout, &row);
}

static void judge_sweeps(const Safetensors *twin, long every, Show *show, UlpTotals *totals) {
    CaseReport r;
    if (!show->how->json) ulp_sweep_heading(stdout, every);
    for (int i = 0; ulps_judge_sweep(i, twin, &r); i++) {
        if (!show->how->json) ulp_sweep_row(stdout, &r);
        ulp_totals_add(totals, &r, true);
        show_report(show, &r);
    }
}

static void judge_twin(const char *name, uint64_t seed, long every, const Safetensors *twin, Show *show,
                       Error *e) {
    UlpTotals totals = {0};
    bool words = !show->how->json;
    if (words) ulp_table_heading(stdout);
    for (int i = 0; i < ops_count; i++)
        if (!name || strcmp(ops_all[i].op->name, name) == 0)
            judge_operation(ops_all[i].op, seed, twin, show, &totals);
    if (!name) judge_sweeps(twin, every, show, &totals);
    show_explanations(show);
    if (words) ulp_table_summary(stdout, &totals, ULPS, clock_seconds() - show->start);
    show_finish(show, e);
}

void grading_command_ulps(int argc, char **argv, Error *e) {
    ShowOptions how = {.apart = true};
    const char *write = NULL, *read = NULL;
    long every = 251;
    const Option table[] = {
        {"What is checked"},
        {"every", "K", "[1,1000000000]", "sweep functions over every K-th float; 1 takes minutes",
         .integer = &every},
        {"read", "FILE", NULL, "judge what the float build of another machine wrote, with the same options",
         "this machine's is run", .text = &read},
        {"What is shown"},
        SHOW_OPTIONS(how),
        {"In the float build of this program"},
        {"write", "FILE", NULL, "what its kernels give, safetensors, for the double build to judge", "none",
         .text = &write},
        {0},
    };
    Options o = {"gradcheck ulps",
                 "[OPERATION]",
                 "Judges the float kernels by the double ones, in ulps.",
                 table,
                 notes,
                 .most = 1,
                 .seed = 1};
    if (!options_parse(&o, argc, argv, e)) return;
    const char *name = o.operands ? o.operand[0] : NULL;
    Safetensors twin = {0};
    Show show;
    char shown[ESCAPED_TEXT];
    show_start(&show, &how);
    if (name && !ops_find(name))
        error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows",
                  utf8_escape(shown, name));
    else if (sizeof(real) == sizeof(double) && write)
        error_set(e, STATUS_USAGE, "--write: found the double build of this program, need the float one");
    else if (sizeof(real) != sizeof(double) && !write)
        error_set(e, STATUS_USAGE,
                  "ulps: found the float build of this program, which cannot judge: need --write");
    else if (write)
        ulps_write(write, name, o.seed, every, e);
    else if (read ? safetensors_read(&twin, read, e) : ulps_ask_twin(&twin, name, o.seed, every, e))
        judge_twin(name, o.seed, every, &twin, &show, e);
    safetensors_free(&twin);
}
