#include "base/clock.h"
#include "base/options.h"
#include "base/utf8.h"
#include "check/grading/commands.h"
#include "check/grading/gradcheck_show.h"
#include "check/grading/ulps.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

static const char notes[] =
    "Errors, in JSON as well, are in ulps: units in the last place of a float of the size of the terms that "
    "the\n"
    "result is made of. The float side is run by the float build of this program.\n"
    "Exit status: 0 all are within their bounds; 1 one is not; 2 usage; 66 no float build of this program.\n";

enum { PARTS = 16 };

/* Over all cases of an operation: the worst error of each part, in ulps. */
typedef struct Row {
    int parts;
    struct {
        char name[REPORT_NAME];
        double worst;
    } part[PARTS];
} Row;

static void add_to_row(Row *row, const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        int k = 0;
        while (k < row->parts && strcmp(row->part[k].name, in->name) != 0) k++;
        if (k == row->parts) {
            if (row->parts == PARTS) continue;
            snprintf(row->part[row->parts++].name, REPORT_NAME, "%s", in->name);
        }
        row->part[k].worst = fmax(row->part[k].worst, in->error);
    }
}

static void print_row(const Row *row, const CheckTotals *t) {
    printf("%-22s %6ld %9ld  %-7s", t->last_op, t->cases, t->elements,
           gradcheck_verdict_text(totals_verdict(t)));
    for (int k = 0; k < row->parts; k++) printf("  %s %.2g", row->part[k].name, row->part[k].worst);
    printf("\n");
}

static void judge_operation(const Op *op, uint64_t seed, const Safetensors *twin, Show *show) {
    CaseReport r;
    Row row = {0};
    for (int i = 0; i < op->n_cases; i++) {
        ulps_judge(op->name, &op->cases[i], i, seed, twin, &r);
        add_to_row(&row, &r);
        show_report(show, &r);
    }
    if (!show->how->json) print_row(&row, &show->op);
}

static void print_sweep_heading(long every) {
    char floats[40];
    snprintf(floats, sizeof floats, every > 1 ? "1 of %ld floats" : "all floats", every);
    printf("\n%-22s %16s  %-7s  %s\n", "function", floats, "verdict",
           "worst error over the whole range, in ulps of the result");
}

static void print_sweep(const CaseReport *r) {
    if (!r->inputs) return;
    printf("%-22s %16ld  %-7s  %.3f at %.9g, at most %.3g allowed\n", r->name, r->in[0].coordinates,
           gradcheck_verdict_text(r->verdict), r->in[0].error, r->in[0].analytic, r->in[0].estimate);
}

static void judge_sweeps(const Safetensors *twin, long every, Show *show) {
    CaseReport r;
    if (!show->how->json) print_sweep_heading(every);
    for (int i = 0; ulps_judge_sweep(i, twin, &r); i++) {
        if (!show->how->json) print_sweep(&r);
        show_report(show, &r);
    }
}

/* Sweeps count as passed or failed, and as nothing else. */
static void print_summary(const CheckTotals *cases, const CheckTotals *all, double seconds) {
    printf("\n%ld operations, %ld cases, %ld results of %ld elements in %.1f s\n", cases->operations,
           cases->cases, cases->gradients, cases->elements, seconds);
    printf("at most %d ulps allowed, found %.2g (%s)\n", ULPS, cases->worst, cases->worst_at);
    printf("%ld passed, %ld failed\n", all->passed, all->failed);
}

static void judge_twin(const char *name, uint64_t seed, long every, const Safetensors *twin, Show *show,
                       Error *e) {
    bool words = !show->how->json;
    if (words)
        printf("%-22s %6s %9s  %-7s  %s\n", "operation", "cases", "elements", "verdict",
               "worst error of the result and of each gradient, in ulps of its terms");
    for (int i = 0; i < ops_count; i++)
        if (!name || strcmp(ops_all[i].op->name, name) == 0) judge_operation(ops_all[i].op, seed, twin, show);
    CheckTotals cases = show->totals;
    if (!name) judge_sweeps(twin, every, show);
    show_explanations(show);
    if (words) print_summary(&cases, &show->totals, clock_seconds() - show->start);
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
                 .most = 1};
    if (!options_parse(&o, argc, argv, e)) return;
    const char *name = o.operands ? o.operand[0] : NULL;
    Safetensors twin = {0};
    Show show;
    show_start(&show, &how);
    if (name && !ops_find(name))
        error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows", ESCAPED(name));
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
