#include "base/directory.h"
#include "base/interrupt.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "check/grading/commands.h"
#include "check/grading/directories.h"
#include "check/grading/grade_files.h"
#include "check/grading/template.h"
#include "check/sandbox.h"
#include "ops/ops.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char notes[] =
    "Commands, each with --help of its own:\n"
    "  case OPERATION [CASE] --out DIR   write a case as .npy files, for another language\n"
    "  verify DIR...                     judge the gradients written beside them\n"
    "  model [KIND]                      check a whole model, made here or from files\n"
    "\n"
    "Exit status: 0 everything is proved; 1 something is wrong; 4 nothing is "
    "wrong, but something could not be\n"
    "proved; 2 usage; 66 no such file.\n";

static const char grading_help[] =
    "From an exercise to points, in four steps.\n\n"
    "1. Choose an operation that is here (./gradcheck --list), or write one: a C file as those of src/ops, "
    "or the cases alone,\n"
    "       const Op op_NAME = {\"NAME\", CASES(cases)}, whose cases call tape_NAME; .points is what one is "
    "worth.\n"
    "   Hand out a file to start from; it says what is to be written, and checks itself. Of your own it is "
    "your solution\n"
    "   without what stands in forward and backward:\n"
    "       ./gradcheck --template layer_norm >layer_norm.c\n"
    "2. Grade what comes back, a file or all in a folder and below it, by cases that are not theirs:\n"
    "       ./gradcheck FILE.c --like layer_norm --solution --gradescope results.json\n"
    "       ./gradcheck FOLDER --like SOLUTION.c --gradescope DIR --junit DIR\n"
    "       ./gradcheck FOLDER --cases CASES.c --solution --gradescope DIR --junit DIR\n"
    "   --like asks for the forward of the operation, or of your solution, as well, at its cases or those of "
    "--cases. DIR/way/\n"
    "   NAME.json is about FOLDER/way/NAME.c. A loop without end takes --time-limit, three times and a tenth "
    "of it for each\n"
    "   case that follows; what is wrong in one file makes the status of all of them 1. Without --like and "
    "--cases a student's\n"
    "   own cases count, other sizes and larger values beside them; --strict makes inconclusive what these "
    "do not test.\n"
    "3. results.json has a test for each gradient of each case, with --like for its output, and one for each "
    "property over all\n"
    "   cases: the same tests whatever is handed in, all failed where nothing could be judged, no file or a "
    "run that was\n"
    "   killed. A case's points are shared out evenly among gradients, output and properties. The compiler's "
    "warnings stand\n"
    "   above them.\n"
    "4. In Gradescope the autograder's run_autograder ends with\n"
    "       ./gradcheck submission/FILE.c --like layer_norm --solution --gradescope results/results.json\n\n"
    "A file's code runs in a process of its own that judges nothing, without the operations of this project "
    "but those that only\n"
    "move numbers. What is left to a cheat: a process that outlives the run, files on the same machine, or a "
    "backward that takes\n"
    "differences exact to eleven digits. Grade on a machine of its own, and use --like.\n";

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
    if (!entry)
        return error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows, or a .c file",
                         ESCAPED(name));
    if (!plan_add(plan, entry->op, part))
        return error_set(e, STATUS_USAGE, "case: %s has none like '%s'", name, ESCAPED(part));
    if (!how->json) printf("%s: %s\n\n", name, entry->formula);
    return check(plan, how, e);
}

static bool is_a_folder(const char *name) {
    struct stat found;
    return !ops_find(name) && stat(name, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Whether what it is judged by is asked for as it can be. */
static bool may_be_graded(const StudentFile *f, bool graded, Error *e) {
    if ((f->cases || f->like) && !graded)
        return error_set(e, STATUS_USAGE, "%s: found no C file or folder to grade, need one",
                         f->cases ? "--cases" : "--like");
    if (f->like && !ops_find(f->like) && !directory_ends_in(f->like, ".c"))
        return error_set(e, STATUS_USAGE,
                         "--like: found '%s', need an operation that --list shows, or a .c file",
                         ESCAPED(f->like));
    return true;
}

/* What the operand says: all operations, a file, a folder, or an operation and a part of its cases' names.
 * A run that ends without a verdict leaves graders' files that say why. */
static void check_operand(Grading *g, const char *name, const char *part, Error *e) {
    bool is_folder = name && is_a_folder(name), is_file = name && !is_folder && directory_ends_in(name, ".c");
    Error unwritten = {0};
    if (!is_folder && !grade_unjudged(&g->plan, &g->show, "the run did not come to its end", e)) return;
    if (!may_be_graded(&g->file, is_file || is_folder, e)) return;
    if (is_file || is_folder) {
        sandbox_protect();
        interrupt_heed(); /* reports are finished, and nothing stays in $TMPDIR */
    }
    if (is_folder)
        grade_folder(g, name, e);
    else if (is_file)
        grade_file(g, e);
    else if (name)
        check_operation(&g->plan, name, part, &g->show, e);
    else
        check_all(&g->plan, &g->show, e);
    bool judged = e->status == STATUS_DONE || e->status == STATUS_NO || e->status == STATUS_INCONCLUSIVE;
    if (!judged && !is_file && !is_folder) grade_unjudged(&g->plan, &g->show, e->text, &unwritten);
}

void grading_command_check(int argc, char **argv, Error *e) {
    ShowOptions show = {0};
    bool list = false, strict = false, solution = false, help_grading = false;
    const char *cases = NULL, *like = NULL, *template = NULL;
    char headers[PATH_ROOM];
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
        {"A file that is to be graded"},
        {"cases", "CASES.c", NULL, "a teacher's cases, which call what the file defines", "its own",
         .text = &cases},
        {"like", "WHAT", NULL, "an operation here or a teacher's FILE.c: its forward, and its cases", "none",
         .text = &like},
        {"solution", .help = "refuse a file that includes the operations of this project", .flag = &solution},
        {"strict", .help = "inconclusive is what its own cases hardly test", .flag = &strict},
        {"template", "OPERATION", NULL, "print a file to start from, and end", "none", .text = &template},
        {"help-grading", .help = "print how an exercise is graded, and end", .flag = &help_grading},
        {"Limits of each case"},
        {"time-limit", "S", "(0,86400]", "seconds; a tenth of it once three cases of a file did not end",
         .real = &seconds},
        {"memory-limit", "GB", "(0,1000000]", "gigabytes", .real = &gigabytes},
        {0},
    };
    Options o = {"gradcheck",
                 "[OPERATION [CASE] | FILE.c | FOLDER]",
                 "Proves gradients by comparing them with differences that know their own error.",
                 table,
                 notes,
                 .most = 2};
    if (!options_parse(&o, argc, argv, e)) return;
    CheckPlan plan = {
        .seed = o.seed, .seeds = seeds, .limits = {seconds * (double)seeds, (size_t)(gigabytes * 1e9)}};
    const char *name = o.operands ? o.operand[0] : NULL;
    Grading g = {plan, {.source = name, .cases = cases, .like = like, .solution = solution}, show, strict};
    if (help_grading)
        fputs(grading_help, stdout);
    else if (list)
        list_operations();
    else if (template)
        template_print(template, student_headers(headers), stdout, e);
    else
        check_operand(&g, name, o.operands > 1 ? o.operand[1] : NULL, e);
    plan_free(&g.plan);
}
