/* gradcheck: proves gradients: of the operations here, of somebody else's, of arrays in files, of whole
 * models.
 *
 *     ./gradcheck                     every operation, every case
 *     ./gradcheck softmax             one operation
 *     ./gradcheck my_op.c             an operation in a C file
 *     ./gradcheck case OP --out DIR   writes a case as .npy files, for another language
 *     ./gradcheck verify DIR          judges the gradients that were written beside them
 *     ./gradcheck model               a whole model: made here, or from files
 *     ./gradcheck ulps                the float kernels, judged by the double ones */
#include "base/clock.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "grading/case_files.h"
#include "grading/check_cases.h"
#include "grading/gradcheck_show.h"
#include "grading/model_check.h"
#include "grading/model_table.h"
#include "grading/ulp_table.h"
#include "grading/ulps.h"
#include "grading/verify_files.h"
#include "ops/ops.h"
#include "report/progress.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Operations: all, one, or those of a C file ---- */

static struct Settings {
    ShowOptions show;
    bool list;
    double seconds, gigabytes;
    long seeds;
} s = {.seconds = 10, .gigabytes = 4, .seeds = 1};

/* How reports are shown: options of every command that makes them. */
/* clang-format off */
#define REPORT_OPTIONS(show) \
    {"json", .help = "print one JSON object a line for each operation, case and gradient", .flag = &(show).json}, \
    {"junit", "FILE", NULL, "write a JUnit XML report", "none", .text = &(show).junit}, \
    {"gradescope", "FILE", NULL, "write a results.json for Gradescope", "none", .text = &(show).gradescope}
/* clang-format on */

static const Option check_options[] = {
    {"What is shown"},
    {"list", .help = "list the operations: name, arguments, formula, section of the paper", .flag = &s.list},
    {"curve", .help = "draw the error of differences against their step", .flag = &s.show.curve},
    REPORT_OPTIONS(s.show),
    {"What is checked"},
    {"seeds", "N", "[1,1000000]", "each case at N points, those of the seed and of the ones that follow",
     .integer = &s.seeds},
    {"Limits of each case"},
    {"time-limit", "S", "(0,86400]", "seconds", .real = &s.seconds},
    {"memory-limit", "GB", "(0,1000000]", "gigabytes", .real = &s.gigabytes},
    {0},
};

static const char check_notes[] =
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
static bool check(CheckPlan *plan, bool overview, Error *e) {
    Show show;
    plan->at_once = pool_threads();
    plan->curves = s.show.curve;
    s.show.overview = overview;
    show_start(&show, &s.show);
    plan_run(plan, show_report, &show);
    return show_finish(&show, e);
}

static bool check_all(CheckPlan *plan, Error *e) {
    for (int i = 0; i < ops_count; i++) plan_add(plan, ops_all[i].op, NULL);
    return check(plan, true, e);
}

static bool check_operation(CheckPlan *plan, const char *name, const char *part, Error *e) {
    const OpEntry *entry = ops_find(name);
    char shown[ESCAPED_TEXT];
    if (!entry)
        return error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows, or a .c file",
                         utf8_escape(shown, name));
    if (!plan_add(plan, entry->op, part))
        return error_set(e, STATUS_USAGE, "case: %s has none like '%s'", name, utf8_escape(shown, part));
    if (!s.show.json) printf("%s: %s\n\n", name, entry->formula);
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
    if (!mkdtemp(directory)) return error_set(e, STATUS_CANNOT_CREATE, "%s: cannot be made", directory);
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

static void run_check(const Options *o, Error *e) {
    CheckPlan plan = {.seed = o->seed,
                      .seeds = s.seeds,
                      .limits = {s.seconds * (double)s.seeds, (size_t)(s.gigabytes * 1e9)}};
    if (s.list)
        list_operations();
    else if (!o->operands)
        check_all(&plan, e);
    else if (is_c_file(o->operand[0]))
        check_file(&plan, o->operand[0], e);
    else
        check_operation(&plan, o->operand[0], o->operands > 1 ? o->operand[1] : NULL, e);
    plan_free(&plan);
}

/* ---- A whole model ---- */

static struct ModelSettings {
    ShowOptions show;
    ModelCheck check;
} m = {.show = {.apart = true}, .check = {.samples = 4}};

static const Option model_options[] = {
    {"The model"},
    {"weights", "FILE", NULL, "its weights, safetensors", "small models made here", .text = &m.check.weights},
    {"batch", "FILE", NULL, "a batch of token ids, safetensors", "a random one", .text = &m.check.batch},
    {"double", .help = "the pass that is written is in double, not in float", .flag = &m.check.in_double},
    {"What is written"},
    {"out", "FILE", NULL, "loss, logits and all gradients of the pass, safetensors", "none",
     .text = &m.check.out},
    {"save", "DIR", NULL, "weights, batch and gradients, to start a port from", "none",
     .text = &m.check.save},
    {"What is checked"},
    {"against", "FILE", NULL, "a port's gradient file, tensor by tensor", "none", .text = &m.check.against},
    {"only", "PATTERN", NULL, "parameters whose name fits, like 'decoder.*norm?.bias'", "all",
     .text = &m.check.only},
    {"samples", "N", "[0,1000]", "elements of each parameter moved alone", .integer = &m.check.samples},
    {"unchecked", .help = "write the files, check nothing", .flag = &m.check.unchecked},
    {"What is shown"},
    REPORT_OPTIONS(m.show),
    {0},
};

static const char model_notes[] = "KIND is seq2seq or lm: one of the models that are made here; both without "
                                  "it. All differences are taken in\n"
                                  "double; the float pass is run by the float build of this program.\n"
                                  "Exit status: 0 everything is proved; 1 something is wrong; 4 nothing is "
                                  "wrong, but something could not be\n"
                                  "proved; 2 usage; 65 a file is malformed or of another model; 66 no such "
                                  "file, or no float build of this\n"
                                  "program; 73 a file cannot be written.\n";

static void report_model(ModelCheck *c, Show *show, ModelTotals *totals) {
    FILE *out = m.show.json ? NULL : stdout;
    totals->models++;
    if (out) model_table_heading(out, c->pass.model, c->pass.batch, c->values.value[VALUES_LOSS]);
    for (int t = 0; t < model_check_tensors(c); t++) {
        static CaseReport differences, values;
        if (!model_check_tensor(c, t, &differences, &values)) continue;
        model_table_row(out, &differences, &values, totals);
        if (differences.inputs) show_report(show, &differences);
        if (values.inputs || values.trouble[0]) show_report(show, &values);
    }
}

static bool model_kinds(const Options *o, int *first, int *last, Error *e) {
    const char *word = o->operands ? o->operand[0] : NULL;
    char shown[ESCAPED_TEXT];
    *first = word && strcmp(word, "lm") == 0 ? KIND_LM : KIND_SEQ2SEQ;
    *last = word && strcmp(word, "seq2seq") == 0 ? KIND_SEQ2SEQ : KIND_LM;
    if (word && *first != *last)
        return error_set(e, STATUS_USAGE, "model: found '%s', need seq2seq or lm", utf8_escape(shown, word));
    if (word && m.check.weights)
        return error_set(e, STATUS_USAGE, "model: found '%s' and --weights, which say the same", word);
    if (m.check.weights) *last = *first;
    if (*first != *last && (m.check.batch || m.check.out || m.check.against))
        return error_set(e, STATUS_USAGE, "%s: found two models, need seq2seq, lm or --weights",
                         m.check.batch ? "--batch"
                         : m.check.out ? "--out"
                                       : "--against");
    return true;
}

static void run_model(const Options *o, Error *e) {
    int kind, last;
    Show show;
    ModelTotals totals = {0};
    if (sizeof(real) != sizeof(double) && (m.check.in_double || !m.check.unchecked)) {
        error_set(e, STATUS_USAGE,
                  "model: found the float build of this program, which can only write files: need %s",
                  m.check.in_double ? "the double one" : "--unchecked");
        return;
    }
    if (!model_kinds(o, &kind, &last, e)) return;
    show_start(&show, &m.show);
    bool ok = true;
    for (; ok && kind <= last; kind++) {
        ModelCheck c = m.check;
        c.kind = (ModelKind)kind, c.seed = o->seed;
        ok = model_check_open(&c, e);
        if (ok && !c.unchecked) report_model(&c, &show, &totals);
        if (ok && !c.unchecked && !m.show.json && kind < last) printf("\n");
        model_check_close(&c);
    }
    if (!ok || m.check.unchecked) return;
    show_explanations(&show);
    if (!m.show.json) model_table_summary(stdout, &totals, clock_seconds() - show.start);
    show_finish(&show, e);
}

/* ---- Files: a case, and what was written beside it ---- */

static struct CaseSettings {
    const char *out;
    bool single, force;
} case_settings;

static const Option case_options[] = {
    {"out", "DIR", NULL, "the directory for the files, made if need be", .text = &case_settings.out},
    {"float", .help = "write float32 numbers, not float64", .flag = &case_settings.single},
    {"force", .help = "write among the files that are in DIR, and over those of the same names",
     .flag = &case_settings.force},
    {0},
};

static const char case_notes[] =
    "CASE is the name of one of the operation's cases, or a part of it that no other\n"
    "has; without one the first is taken. In DIR: case.json, which says what is\n"
    "computed; NAME.npy for every input; y.npy, the output; dy.npy, the upstream\n"
    "gradient. To be written beside them: dNAME.npy for every input that takes one.\n"
    "Exit status: 0 written; 2 usage, no such operation or case; 73 DIR is not\n"
    "empty, or cannot be made.\n";

static void run_case(const Options *o, Error *e) {
    char shown[ESCAPED_TEXT];
    const OpEntry *entry = ops_find(o->operand[0]);
    if (!entry) {
        error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows",
                  utf8_escape(shown, o->operand[0]));
        return;
    }
    const CheckCase *c = case_find(entry, o->operands > 1 ? o->operand[1] : NULL, e);
    if (c && !case_settings.out) error_set(e, STATUS_USAGE, "--out: found none, need a directory");
    if (!c || !case_settings.out) return;
    CaseFiles files;
    case_open(&files, entry, c, o->seed, case_settings.single);
    if (case_write(&files, case_settings.out, case_settings.single, case_settings.force, e))
        case_instruct(&files, case_settings.out, case_settings.single, stdout);
    case_close(&files);
}

static ShowOptions verify_show;

static const Option verify_options[] = {REPORT_OPTIONS(verify_show), {0}};

static const char verify_notes[] =
    "DIR is what `gradcheck case` made. y.npy and each dNAME.npy, float32 or float64,\n"
    "are judged against the operation at the inputs and the upstream gradient that\n"
    "are in DIR. The error allowed is what rounding in the file's precision explains.\n"
    "Exit status: 0 all is right; 1 something is wrong, missing or unreadable;\n"
    "4 nothing is wrong, but something could not be proved; 2 usage; 65 a case.json\n"
    "is damaged; 66 there is no such DIR, or no case.json in it. Whatever is wrong\n"
    "with one part, or one DIR, the others are judged.\n";

static void run_verify(const Options *o, Error *e) {
    Show show;
    Error unusable = {
        0}; /* of the first directory that cannot be judged: it tells more than that something failed */
    show_start(&show, &verify_show);
    for (int i = 0; i < o->operands; i++) {
        CaseReport report;
        grading_verify_directory(o->operand[i], &report, stderr, &unusable);
        show_report(&show, &report);
    }
    Error verdict = {0};
    show_finish(&show, &verdict);
    bool judged = unusable.status == STATUS_DONE ||
                  (verdict.status != STATUS_NO && verdict.status != STATUS_INCONCLUSIVE);
    *e = judged ? verdict : unusable;
}

/* ---- Float kernels by their double twins ---- */

static struct UlpSettings {
    ShowOptions show;
    const char *write;
    long every;
} u = {.show = {.apart = true}, .every = 251};

static const Option ulp_options[] = {
    {"What is checked"},
    {"every", "K", "[1,1000000000]", "sweep functions over every K-th float; 1 takes minutes",
     .integer = &u.every},
    {"What is shown"},
    REPORT_OPTIONS(u.show),
    {"In the float build of this program"},
    {"write", "FILE", NULL, "what its kernels give, safetensors, for the double build to judge", "none",
     .text = &u.write},
    {0},
};

static const char ulp_notes[] =
    "Errors, in JSON as well, are in ulps: units in the last place of a float of the size of the terms that "
    "the\n"
    "result is made of. The float side is run by the float build of this program.\n"
    "Exit status: 0 all are within their bounds; 1 one is not; 2 usage; 66 no float build of this program.\n";

static void judge_operation(const Op *op, uint64_t seed, const Safetensors *twin, Show *show,
                            UlpTotals *totals) {
    static CaseReport r;
    UlpRow row = {0};
    for (int i = 0; i < op->n_cases; i++) {
        ulps_judge(op->name, &op->cases[i], i, seed, twin, &r);
        ulp_row_add(&row, &r);
        ulp_totals_add(totals, &r, false);
        show_report(show, &r);
    }
    totals->operations++;
    if (!u.show.json) ulp_table_row(stdout, &row);
}

static void judge_sweeps(const Safetensors *twin, Show *show, UlpTotals *totals) {
    static CaseReport r;
    if (!u.show.json) ulp_sweep_heading(stdout, u.every);
    for (int i = 0; ulps_judge_sweep(i, twin, &r); i++) {
        if (!u.show.json) ulp_sweep_row(stdout, &r);
        ulp_totals_add(totals, &r, true);
        show_report(show, &r);
    }
}

static void judge_twin(const char *name, uint64_t seed, const Safetensors *twin, Show *show, Error *e) {
    UlpTotals totals = {0};
    if (!u.show.json) ulp_table_heading(stdout);
    for (int i = 0; i < ops_count; i++)
        if (!name || strcmp(ops_all[i].op->name, name) == 0)
            judge_operation(ops_all[i].op, seed, twin, show, &totals);
    if (!name) judge_sweeps(twin, show, &totals);
    show_explanations(show);
    if (!u.show.json) ulp_table_summary(stdout, &totals, ULPS, clock_seconds() - show->start);
    show_finish(show, e);
}

static void run_ulps(const Options *o, Error *e) {
    const char *name = o->operands ? o->operand[0] : NULL;
    Safetensors twin = {0};
    Show show;
    char shown[ESCAPED_TEXT];
    show_start(&show, &u.show);
    if (name && !ops_find(name))
        error_set(e, STATUS_USAGE, "operation: found '%s', need one that --list shows",
                  utf8_escape(shown, name));
    else if (sizeof(real) == sizeof(double) && u.write)
        error_set(e, STATUS_USAGE, "--write: found the double build of this program, need the float one");
    else if (sizeof(real) != sizeof(double) && !u.write)
        error_set(e, STATUS_USAGE,
                  "ulps: found the float build of this program, which cannot judge: need --write");
    else if (u.write)
        ulps_write(u.write, name, o->seed, u.every, e);
    else if (ulps_ask_twin(&twin, name, o->seed, u.every, e))
        judge_twin(name, o->seed, &twin, &show, e);
    safetensors_free(&twin);
}

/* ---- Commands: words that may come first, each with options and --help of its own ---- */

static struct Command {
    const char *name; /* "": there is none of the others */
    void (*run)(const Options *o, Error *e);
    Options options;
} commands[] = {
    {"", run_check,
     .options = {"gradcheck", "[OPERATION [CASE] | FILE.c]",
                 "Proves gradients by comparing them with differences that know their own error.",
                 check_options, check_notes, .most = 2, .seed = 1}},
    {"case", run_case,
     .options = {"gradcheck case", "OPERATION [CASE] --out DIR",
                 "Writes a check case as .npy files, for gradients in another language.", case_options,
                 case_notes, .least = 1, .most = 2, .seed = 1}},
    {"verify", run_verify,
     .options = {"gradcheck verify", "DIR...", "Judges the gradients that were written beside a case.",
                 verify_options, verify_notes, .least = 1, .most = INT_MAX, .seed = 1}},
    {"model", run_model,
     .options =
         {"gradcheck model", "[KIND]",
          "Runs a model forward and backward over a batch, and proves the gradient of every parameter.",
          model_options, model_notes, .most = 1, .seed = 1}},
    {"ulps", run_ulps,
     .options = {"gradcheck ulps", "[OPERATION]", "Judges the float kernels by the double ones, in ulps.",
                 ulp_options, ulp_notes, .most = 1, .seed = 1}},
};

static struct Command *command_of(const char *word) {
    for (size_t i = 1; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, word) == 0) return &commands[i];
    return commands;
}

int main(int argc, char **argv) {
    Error e = {0};
    struct Command *command = command_of(argc > 1 ? argv[1] : "");
    int words = command == commands ? 0 : 1;
    if (options_parse(&command->options, argc - words, argv + words, &e)) command->run(&command->options, &e);
    return options_exit("gradcheck", &e);
}
