#include "base/directory.h"
#include "base/interrupt.h"
#include "base/options.h"
#include "base/utf8.h"
#include "check/directories.h"
#include "check/grading/grade_files.h"
#include "check/grading/student_file.h"
#include "check/sandbox.h"
#include "ops/ops.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char notes[] = "Commands, each with --help:\n"
                            "  model [KIND]   check a whole model, generated or from files\n";

static const char grading_help[] =
    "How to grade an exercise\n"
    "\n"
    "1. Print the file that students start from: an operation that --list shows, in C or Python.\n"
    "       ./gradcheck --template layer_norm --language python >layer_norm.py\n"
    "   For an operation of your own, write SOLUTION.c as src/core/ops/NAME.c, with static "
    "functions.\n"
    "2. Grade a file, or all C and Python files of a directory:\n"
    "       ./gradcheck FILE --like layer_norm --solution --gradescope results.json\n"
    "       ./gradcheck DIRECTORY --like SOLUTION.c --gradescope REPORTS\n"
    "       ./gradcheck DIRECTORY --cases CASES.c --solution --gradescope REPORTS\n"
    "   --like compares the forward pass too. CASES.c defines only const Op op_NAME =\n"
    "   {\"NAME\", CASES(cases)}, and its cases call tape_NAME; .points is the weight of a case.\n"
    "   Without both options a file is checked at its own cases. REPORTS/NAME.c.json belongs to\n"
    "   DIRECTORY/NAME.c. The tests and their points do not depend on the file.\n"
    "   A Python file has cases = [dict(x=(3, 5), y=[2, 0, 1], p=0.5)]: a tuple is the shape of\n"
    "   drawn values (low=0, high=1 bound them), a list or an array is values; integers, and the\n"
    "   inputs that constant=\"x\" names, take no gradient; a number is an argument.\n"
    "3. On Gradescope, let run_autograder end with\n"
    "       ./gradcheck submission/FILE.c --like layer_norm --gradescope results/results.json\n"
    "\n"
    "A student's code is confined (src/tools/check/README.md); --confined refuses to grade where "
    "the\n"
    "system cannot confine all of it.";

/* Prints the help, and what holds on this machine. */
static void print_grading_help(Error *e) {
    char folder[TEMPORARY_PATH];
    if (!directory_temporary(folder, e)) return;
    const char *gap = sandbox_gap(folder);
    directory_remove(folder);
    puts(grading_help);
    printf("This machine does not confine: %s.\n", gap ? gap : "nothing, all is confined");
    if (gap)
        puts("A file that is not confined can read the teacher's files: use a separate machine.");
}

static void list_operations(void) {
    for (int i = 0; i < ops_count; i++)
        printf("%-22s %-7s %s\n%30s %s\n", ops_all[i].op->name, ops_all[i].section,
               ops_all[i].formula, "", ops_all[i].arguments);
}

/* Adds the cases of an operation whose names contain `part`, or (name NULL) of all operations. */
static bool add_operations(Plan *plan, const char *name, const char *part, Error *e) {
    const OpEntry *entry = name ? ops_find(name) : NULL;
    if (!name) {
        for (int i = 0; i < ops_count; i++) plan_add(plan, ops_all[i].op, NULL);
        return true;
    }
    if (!entry)
        return error_set(e, STATUS_USAGE,
                         "operation: found '%s', need one that --list shows, a file or a directory",
                         ESCAPED(name));
    return plan_add(plan, entry->op, part) ||
           error_set(e, STATUS_USAGE, "case: %s has none like '%s'", name, ESCAPED(part));
}

static void check_plan(Grading *g, Error *e) {
    Show show;
    show_begin(&show, &g->show);
    plan_run(&g->plan, show_report, &show);
    show_finish(&show, e);
}

static void check_operations(Grading *g, const char *name, const char *part, Error *e) {
    if (!add_operations(&g->plan, name, part, e)) {
        grade_unjudged(&g->plan, &g->show, FAIL, e->text, &(Error){0});
        return;
    }
    g->show.overview = !name;
    if (name && !g->show.json) printf("%s: %s\n\n", name, ops_find(name)->formula);
    check_plan(g, e);
}

static void check_program(Grading *g, const char *command, Error *e) {
    interrupt_heed();
    if (!functions_use(&g->plan, command, e)) return;
    const OpEntry *like = g->file.like ? ops_find(g->file.like) : NULL;
    if (like) g->plan.like = like->op;
    if (g->file.like && !like) {
        error_set(e, STATUS_USAGE, "--like: found '%s', need an operation that --list shows",
                  ESCAPED(g->file.like));
        return;
    }
    functions_add_cases(&g->plan, "program");
    g->show.own_cases = !g->file.like;
    check_plan(g, e);
}

static bool is_a_folder(const char *name) {
    struct stat found;
    return !ops_find(name) && stat(name, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Whether --cases and --like can be used. */
static bool may_be_graded(const StudentFile *f, bool graded, Error *e) {
    if ((f->cases || f->like) && !graded)
        return error_set(e, STATUS_USAGE, "%s: found no C file or folder to grade, need one",
                         f->cases ? "--cases" : "--like");
    if (f->like && f->cases && directory_ends_in(f->cases, ".py"))
        return error_set(e, STATUS_USAGE,
                         "--like: found cases in Python beside it, need cases in C or none");
    if (f->like && !ops_find(f->like) && !directory_ends_in(f->like, ".c"))
        return error_set(e, STATUS_USAGE,
                         "--like: found '%s', need an operation that --list shows, or a .c file",
                         ESCAPED(f->like));
    return true;
}

/* Checks the operand: all operations, a file, a folder, or an operation and a part of its cases'
 * names. A run that ends without a verdict leaves graders' files that say why. */
static void check_operand(Grading *g, const char *name, const char *part, Error *e) {
    bool is_folder = name && is_a_folder(name),
         is_file = name && !is_folder &&
                   (directory_ends_in(name, ".c") || directory_ends_in(name, ".py"));
    if (!is_folder && !grade_unjudged(&g->plan, &g->show, FAIL, "the run did not finish", e))
        return;
    if (!may_be_graded(&g->file, is_file || is_folder, e)) return;
    if (is_file || is_folder) {
        sandbox_protect();
        interrupt_heed(); /* reports are finished, and nothing stays in $TMPDIR */
    }
    if (is_folder)
        grade_folder(g, name, e);
    else if (is_file)
        grade_file(g, name, e);
    else
        check_operations(g, name, part, e);
}

static void print_template(const char *name, const char *language, Error *e) {
    char headers[PATH_CAPACITY];
    template_print(name, language, student_headers(headers), stdout, e);
}

typedef struct CheckValues {
    Grading g;
    bool list, help_grading;
    const char *template, *program, *language;
    double gigabytes;
} CheckValues;

#define AT(type, field) SETTING(type, CheckValues, field)
static const Setting table[] = {
    {"Output"},
    {"list", .help = "list the operations: name, arguments, formula, section of the paper",
     AT(FLAG, list)},
    SHOW_OPTIONS(CheckValues, g.show),
    {"Checks"},
    {"seeds", "N", "[1,1000000]", "check each case at the points of N seeds, from --seed on",
     AT(INTEGER, g.plan.seeds)},
    {"nondeterminism", "PART", "[0,1e-6]",
     "let equal runs differ by this part of their size: the order of sums may depend on calls",
     AT(REAL, g.plan.nondeterminism)},
    {"Grading"},
    {"cases", "CASES.c", NULL, "a teacher's cases, which call the file's operation",
     AT(TEXT, g.file.cases), "the file's"},
    {"like", "WHAT", NULL,
     "compare the forward too, with an operation or a teacher's FILE.c, at its cases",
     AT(TEXT, g.file.like), "none"},
    {"solution", .help = "fail a file that includes this project's operations",
     AT(FLAG, g.file.solution)},
    {"program", "COMMAND", NULL, "check the functions of a program that answers over two pipes",
     AT(TEXT, program), "none"},
    {"confined", .help = "grade only where compiler and code can be confined",
     AT(FLAG, g.confined)},
    {"template", "OPERATION", NULL, "print a file to start from, and exit", AT(TEXT, template),
     "none"},
    {"language", "WORD", NULL, "of --template: c or python", AT(TEXT, language), "c"},
    {"help-grading", .help = "explain how to grade an exercise, and exit", AT(FLAG, help_grading)},
    {"Limits of each case"},
    {"time-limit", "S", "(0,86400]", "seconds; a tenth after two endless cases of a file",
     AT(REAL, g.plan.limits.seconds)},
    {"memory-limit", "GB", "(0,1000000]", "gigabytes", AT(REAL, gigabytes)},
    {0},
};

void grading_command_check(int argc, char **argv, Error *e) {
    CheckValues v = {.language = "c",
                     .gigabytes = 4,
                     .g.plan = {.seeds = 1, .limits = {.seconds = 10, .awake = true}}};
    Grading *g = &v.g;
    Options o = {"gradcheck",
                 "[OPERATION [CASE] | FILE.c | FILE.py | DIRECTORY]",
                 "Checks gradients against numerical derivatives and their estimated errors.",
                 table,
                 &v,
                 notes,
                 .max = 2};
    if (!options_parse(&o, argc, argv, e)) return;
    g->plan.seed = o.seed;
    g->plan.limits.seconds *= (double)g->plan.seeds;
    g->plan.limits.bytes = (size_t)(v.gigabytes * 1e9);
    if (v.help_grading)
        print_grading_help(e);
    else if (v.list)
        list_operations();
    else if (v.program)
        check_program(g, v.program, e);
    else if (v.template)
        print_template(v.template, v.language, e);
    else
        check_operand(g, o.operands ? o.operand[0] : NULL, o.operands > 1 ? o.operand[1] : NULL, e);
    plan_free(&g->plan);
}
