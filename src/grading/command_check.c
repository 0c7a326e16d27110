#include "base/options.h"
#include "base/pool.h"
#include "base/system.h"
#include "base/utf8.h"
#include "grading/check_cases.h"
#include "grading/commands.h"
#include "grading/gradcheck_show.h"
#include "ops/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char notes[] =
    "Commands, each with --help of its own:\n"
    "  case OPERATION [CASE] --out DIR   write a case as .npy files, for another language\n"
    "  verify DIR...                     judge the gradients written beside them\n"
    "  model [KIND]                      check a whole model, made here or from files\n"
    "  ulps [OPERATION]                  judge the float kernels by the double ones\n\n"
    "Exit status: 0 everything is proved; 1 something is wrong; 4 nothing is "
    "wrong, but something could not be\n"
    "proved; 2 usage; 66 no such file.\n";

static void list_operations(void) {
    for (int i = 0; i < ops_count; i++)
        printf("%-22s %-7s %s\n%30s %s\n", ops_all[i].op->name, ops_all[i].section, ops_all[i].formula, "",
               ops_all[i].arguments);
}

/* Runs the plan and shows what it finds. */
static bool check(CheckPlan *plan, ShowOptions *how, Error *e) {
    Show show;
    plan->at_once = pool_threads();
    plan->curves = how->curve;
    show_start(&show, how);
    plan_run(plan, show_report, &show);
    return show_finish(&show, e);
}

static bool check_all(CheckPlan *plan, ShowOptions *how, Error *e) {
    for (int i = 0; i < ops_count; i++) plan_add(plan, ops_all[i].op, NULL);
    how->overview = true;
    return check(plan, how, e);
}

static bool check_operation(CheckPlan *plan, const char *name, const char *part, ShowOptions *how, Error *e) {
    const OpEntry *entry = ops_find(name);
    char shown[ESCAPED_TEXT];
    if (!entry)
        return error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows, or a .c file",
                         utf8_escape(shown, name));
    if (!plan_add(plan, entry->op, part))
        return error_set(e, STATUS_USAGE, "case: %s has none like '%s'", name, utf8_escape(shown, part));
    if (!how->json) printf("%s: %s\n\n", name, entry->formula);
    return check(plan, how, e);
}

/* The project's headers stand in src beside this program, or beside the folder that it was built in. */
static void find_headers(char *path, size_t size) {
    system_program(path, size - 32);
    for (char *slash; (slash = strrchr(path, '/'));) {
        strcpy(slash, "/src/ops/ops.h");
        bool here = access(path, R_OK) == 0;
        strcpy(slash, here ? "/src" : "");
        if (here) return;
    }
    strcpy(path, "src");
}

static bool check_file(CheckPlan *plan, const char *source, ShowOptions *how, Error *e) {
    char headers[4096], directory[] = "/tmp/gradcheck-XXXXXX", library[sizeof directory + 8];
    find_headers(headers, sizeof headers);
    if (!mkdtemp(directory)) return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be made", directory);
    snprintf(library, sizeof library, "%s/op.so", directory);
    bool ok = plan_add_file(plan, source, library, headers, e) && check(plan, how, e);
    unlink(library);
    rmdir(directory);
    return ok;
}

static bool is_c_file(const char *name) {
    size_t n = strlen(name);
    return n > 2 && strcmp(name + n - 2, ".c") == 0;
}

void grading_command_check(int argc, char **argv, Error *e) {
    ShowOptions show = {0};
    bool list = false;
    double seconds = 10, gigabytes = 4;
    long seeds = 1;
    const Option table[] = {
        {"What is shown"},
        {"list", .help = "list the operations: name, arguments, formula, section of the paper",
         .flag = &list},
        {"curve", .help = "draw the error of differences against their step", .flag = &show.curve},
        SHOW_OPTIONS(show),
        {"What is checked"},
        {"seeds", "N", "[1,1000000]", "each case at N points, those of the seed and of the ones that follow",
         .integer = &seeds},
        {"Limits of each case"},
        {"time-limit", "S", "(0,86400]", "seconds", .real = &seconds},
        {"memory-limit", "GB", "(0,1000000]", "gigabytes", .real = &gigabytes},
        {0},
    };
    Options o = {"gradcheck",
                 "[OPERATION [CASE] | FILE.c]",
                 "Proves gradients by comparing them with differences that know their own error.",
                 table,
                 notes,
                 .most = 2,
                 .seed = 1};
    if (!options_parse(&o, argc, argv, e)) return;
    CheckPlan plan = {
        .seed = o.seed, .seeds = seeds, .limits = {seconds * (double)seeds, (size_t)(gigabytes * 1e9)}};
    const char *name = o.operands ? o.operand[0] : NULL;
    if (list)
        list_operations();
    else if (!name)
        check_all(&plan, &show, e);
    else if (is_c_file(name))
        check_file(&plan, name, &show, e);
    else
        check_operation(&plan, name, o.operands > 1 ? o.operand[1] : NULL, &show, e);
    plan_free(&plan);
}
