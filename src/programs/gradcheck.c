/* gradcheck: proves gradients: of the operations here, of somebody else's, of arrays in files, of whole
 * models.
 *
 *     ./gradcheck                     every operation, every case
 *     ./gradcheck softmax             one operation
 *     ./gradcheck my_op.c             an operation in a C file */
#include "base/options.h"
#include "base/pool.h"
#include "checking/check_cases.h"
#include "ops/ops.h"
#include "report/gradcheck_report.h"
#include "report/progress.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Settings {
    bool list, curve, json;
    const char *junit, *gradescope;
    double seconds, gigabytes;
    long seeds;
} s = {.seconds = 10, .gigabytes = 4, .seeds = 1};

static const Option table[] = {
    {"What is shown"},
    {"list", .help = "list the operations: name, arguments, formula, section of the paper", .flag = &s.list},
    {"curve", .help = "draw the error of differences against their step", .flag = &s.curve},
    {"json", .help = "print one JSON object a line for each operation, case and gradient", .flag = &s.json},
    {"junit", "FILE", NULL, "write a JUnit XML report", "none", .text = &s.junit},
    {"gradescope", "FILE", NULL, "write a results.json for Gradescope", "none", .text = &s.gradescope},
    {"What is checked"},
    {"seeds", "N", "[1,1000000]", "each case at N points, those of the seed and of the ones that follow",
     .integer = &s.seeds},
    {"Limits of each case"},
    {"time-limit", "S", "(0,86400]", "seconds", .real = &s.seconds},
    {"memory-limit", "GB", "(0,1000000]", "gigabytes", .real = &s.gigabytes},
    {0},
};

static const char notes[] = "Exit status: 0 everything is proved; 1 something is wrong; 4 nothing is wrong, "
                            "but something could not be\n"
                            "proved; 2 usage; 66 no such file.\n";

static int list_operations(void) {
    for (int i = 0; i < ops_count; i++)
        printf("%-22s %-7s %s\n%30s %s\n", ops_all[i].op->name, ops_all[i].section, ops_all[i].formula, "",
               ops_all[i].arguments);
    return STATUS_DONE;
}

/* Takes the reports as they come. */
typedef struct Show {
    bool overview;
    CaseReport *report; /* all of them */
    long count;
    CheckTotals totals, op;
    FILE *explanations; /* what goes below the table */
    char *text;
    size_t size;
} Show;

static void end_of_operation(Show *show) {
    if (show->overview && !s.json && show->op.cases) table_overview_row(stdout, show->op.last_op, &show->op);
    show->op = (CheckTotals){0};
}

static void show_report(void *context, const CaseReport *r) {
    Show *show = context;
    if (show->op.cases && strcmp(show->op.last_op, r->op) != 0) end_of_operation(show);
    totals_add(&show->op, r);
    totals_add(&show->totals, r);
    show->report[show->count++] = *r;
    if (s.json)
        json_report(stdout, r);
    else if (!show->overview)
        gradcheck_rows(stdout, r);
    if (s.json) return;
    if (r->verdict != PASS) fprintf(show->explanations, "\n");
    gradcheck_explain(show->explanations, r);
    if (s.curve) gradcheck_curves(show->explanations, r);
    fflush(stdout);
}

/* Runs the plan and shows what it finds. */
static bool check(CheckPlan *plan, bool overview, Error *e) {
    Show show = {.overview = overview};
    double start = seconds_now();
    plan->at_once = pool_threads();
    plan->curves = s.curve;
    show.report = calloc((size_t)plan->items + 1, sizeof *show.report);
    show.explanations = open_memstream(&show.text, &show.size);
    if (!show.report || !show.explanations)
        return fail(e, STATUS_NO_MEMORY, "memory: %ld reports", plan->items);
    if (!s.json) (overview ? table_overview_heading : gradcheck_heading)(stdout);
    plan_run(plan, show_report, &show);
    end_of_operation(&show);
    fclose(show.explanations);
    double seconds = seconds_now() - start;
    if (!s.json) {
        fputs(show.text, stdout);
        table_summary(stdout, &show.totals, seconds);
    }
    bool written = (!s.junit || junit_write(s.junit, show.report, show.count, seconds, e)) &&
                   (!s.gradescope || gradescope_write(s.gradescope, show.report, show.count, seconds, e));
    free(show.text);
    free(show.report);
    Status status = totals_status(&show.totals);
    if (!written) return false;
    if (status == STATUS_NO)
        return fail(e, status, "%ld of %ld cases failed", show.totals.failed, show.totals.cases);
    if (status == STATUS_INCONCLUSIVE)
        return fail(e, status, "%ld of %ld cases are inconclusive", show.totals.inconclusive,
                    show.totals.cases);
    return true;
}

static bool check_all(CheckPlan *plan, Error *e) {
    for (int i = 0; i < ops_count; i++) plan_add(plan, ops_all[i].op, NULL);
    return check(plan, true, e);
}

static bool check_operation(CheckPlan *plan, const char *name, const char *part, Error *e) {
    const OpEntry *entry = ops_find(name);
    char shown[ESCAPED_TEXT];
    if (!entry)
        return fail(e, STATUS_USAGE, "operation: found '%s', need one that --list shows, or a .c file",
                    escaped(shown, name));
    if (!plan_add(plan, entry->op, part))
        return fail(e, STATUS_USAGE, "case: %s has none like '%s'", name, escaped(shown, part));
    if (!s.json) printf("%s: %s\n\n", name, entry->formula);
    return check(plan, false, e);
}

/* The project's headers stand in src beside this program, or beside the folder that it was built in. */
static void find_headers(char *path, size_t size) {
    ssize_t n = readlink("/proc/self/exe", path, size - 32);
    path[n < 0 ? 0 : n] = 0;
    for (char *slash; (slash = strrchr(path, '/'));) {
        strcpy(slash, "/src/ops/ops.h");
        bool here = access(path, R_OK) == 0;
        strcpy(slash, here ? "/src" : "");
        if (here) return;
    }
    strcpy(path, "src");
}

static bool check_file(CheckPlan *plan, const char *source, Error *e) {
    char headers[4096], directory[] = "/tmp/gradcheck-XXXXXX", library[sizeof directory + 8];
    find_headers(headers, sizeof headers);
    if (!mkdtemp(directory)) return fail(e, STATUS_CANNOT_CREATE, "%s: cannot be made", directory);
    snprintf(library, sizeof library, "%s/op.so", directory);
    bool ok = plan_add_file(plan, source, library, headers, e) && check(plan, false, e);
    unlink(library);
    rmdir(directory);
    return ok;
}

static bool is_c_file(const char *name) {
    size_t n = strlen(name);
    return n > 2 && strcmp(name + n - 2, ".c") == 0;
}

int main(int argc, char **argv) {
    Error e = {0};
    Options o = {.program = "gradcheck",
                 .usage = "[OPERATION [CASE] | FILE.c]",
                 .purpose = "Proves gradients by comparing them with differences that know their own error.",
                 .table = table,
                 .notes = notes,
                 .most = 2,
                 .seed = 1};
    if (options_parse(&o, argc, argv, &e)) {
        CheckPlan plan = {.seed = o.seed,
                          .seeds = s.seeds,
                          .limits = {s.seconds * (double)s.seeds, (size_t)(s.gigabytes * 1e9)}};
        if (s.list)
            list_operations();
        else if (!o.operands)
            check_all(&plan, &e);
        else if (is_c_file(o.operand[0]))
            check_file(&plan, o.operand[0], &e);
        else
            check_operation(&plan, o.operand[0], o.operands > 1 ? o.operand[1] : NULL, &e);
        plan_free(&plan);
    }
    return options_exit("gradcheck", &e);
}
