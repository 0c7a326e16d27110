/* Students' files before they run, the cases that their processes send, and the report files of
 * graders. */
#include "check/child.h"
#include "check/grading/gradcheck_show.h"
#include "check/grading/student_file.h"
#include "folder.h"
#include <limits.h>
#include <math.h>
#include <sys/stat.h>

/* ---- Names ---- */

/* Comments, strings and similar names define no operation. */
TEST(operations_have_names) {
#define LONGEST "a23456789012345678901234567890123456789012345678901234567890123"
    static const struct {
        const char *source, *names; /* each followed by a blank */
    } cases[] = {
        {"const Op op_a = {0};", "a "},
        {"Op op_a = {0};", "a "},
        {"const Op\n    op_a\n    =\n{0};", "a "},
        {"const Op op_a={0};const Op op_b ={0};", "a b "},
        {"extern const Op op_a;\nconst Op op_b = {0};", "b "},
        {"/* const Op op_a = {0}; */ const Op op_b = {0};", "b "},
        {"// const Op op_a = {0};\nconst Op op_b = {0};", "b "},
        {"/* without an end: const Op op_a = {0};", ""},
        {"const Op op_a = {0}; // const Op op_b = {0};", "a "},
        {"char *s = \"const Op op_a = \"; const Op op_b = {0};", "b "},
        {"char *s = \"\\\" const Op op_a = \"; const Op op_b = {0};", "b "},
        {"char c = '\"'; const Op op_b = {0};", "b "},
        {"char *s = \"without an end\nconst Op op_b = {0};", "b "},
        {"const Op op_b = {0}; \"without an end", "b "},
        {"const Op op_b = {0}; \"without an end\\", "b "},
        {"MyOp op_a = {0};", ""},
        {"const Ob op_a = {0};", ""},
        {"Opop_a = {0};", ""},
        {"op_a = {0};", ""},
        {" op_a = {0};", ""},
        {"const Op op_ = {0};", ""},
        {"const Op op_a[] = {0};", ""},
        {"const Op op_" LONGEST " = {0};", LONGEST " "},
        {"const Op op_" LONGEST "x = {0};", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char names[4][STUDENT_NAME], found[4 * STUDENT_NAME] = "";
        Error e = {0};
        write_text(in_folder("a.c"), cases[i].source);
        int count = student_names(in_folder("a.c"), names, 4, &e);
        for (int k = 0; k < count; k++) strcat(strcat(found, names[k]), " ");
        CHECK(!strcmp(found, cases[i].names), "%s: found '%s'", cases[i].source, found);
        CHECK((e.status == STATUS_NO && !strncmp(e.text, "defines no operation: ", 22)) == !count &&
                  (!count || e.status == STATUS_DONE),
              "%s: %s", cases[i].source, e.text);
    }
    char names[1][STUDENT_NAME];
    Error e = {0};
    write_text(in_folder("a.c"), "const Op op_a = {0}; const Op op_b = {0};");
    CHECK(student_names(in_folder("a.c"), names, 1, &e) == 1 && !strcmp(names[0], "a"), "%s",
          names[0]);
    CHECK(student_names(in_folder("none.c"), names, 1, &e) == 0 && e.status == STATUS_NO_INPUT,
          "%s", e.text);
}

/* ---- Compilers ---- */

/* A compiler that does what this script says. */
static void use_compiler(const char *script) {
    write_text(in_folder("cc"), script);
    CHECK(chmod(in_folder("cc"), 0777) == 0 && setenv("CC", in_folder("cc"), 1) == 0);
}

#define LACKS "the machine lacks memory, processes or disk space"

/* A missing or empty source and missing headers need no compiler. Every failure of a compiler gives
 * one line. */
TEST(compilers_are_heard) {
    static const struct {
        const char *script, *source, *headers, *says; /* what it says begins so; "" for nothing */
        Status status;
    } cases[] = {
        {"exit 0", "a.c", "src", "", STATUS_DONE},
        {"exit 0", "none.c", "src", "none.c: cannot be read", STATUS_NO_INPUT},
        {"exit 0", ".", "src", ".: found a folder, need a regular file", STATUS_NO_INPUT},
        {"exit 0", "empty.c", "src", "is empty", STATUS_NO},
        {"exit 0", "a.c", "nowhere", "nowhere/core/ops/ops.h: cannot be read: operations need it",
         STATUS_NO_INPUT},
        {"echo first; echo a.c:1: error: x; echo a.c:2: error: y; exit 1", "a.c", "src",
         "does not compile: a.c:1: error: x", STATUS_NO},
        {"echo one; echo undefined reference to f; echo 'collect2: error: ld returned 1'; exit 1",
         "a.c", "src", "does not compile: undefined reference to f", STATUS_NO},
        {"echo 'In file included from a.c:7:'; echo 'b.h:1:2: error: x'; echo '    1 | y'; echo "
         "'b.h:3: "
         "note: z'; echo 'a.c:8: warning: w'; exit 1",
         "a.c", "src",
         "does not compile: In file included from a.c:7:\nb.h:1:2: error: x\n    1 | y\nb.h:3: "
         "note: z",
         STATUS_NO},
        {"for i in $(seq 100); do echo \"a.c:$i: warning: $(seq 100 | tr -d '\\n')\"; done; echo "
         "'a.c:9: "
         "error: late'; exit 1",
         "a.c", "src", "does not compile: a.c:9: error: late", STATUS_NO},
        {"echo no word of it; exit 1", "a.c", "src", "does not compile: no word of it", STATUS_NO},
        {"kill -9 $$", "a.c", "src", LACKS, STATUS_NO_MEMORY},
        {"exit 1", "a.c", "src", LACKS, STATUS_NO_MEMORY},
        {"echo as: out.o: No space left on device; exit 1", "a.c", "src",
         LACKS ": as: out.o: No space left on device", STATUS_NO_MEMORY},
        {"kill -11 $$", "a.c", "src",
         "does not compile: the compiler crashed: signal 11 (Segmentation fault)", STATUS_NO},
        {NULL, "a.c", "src", "CC: nowhere: cannot be run", STATUS_UNAVAILABLE},
    };
    char here[PATH_MAX], headers[PATH_MAX];
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(headers, sizeof headers, "%.*s/src", PATH_MAX - 5, here);
    write_text(in_folder("a.c"), "int x;\n"), write_text(in_folder("empty.c"), "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[256], library[PATH_MAX];
        snprintf(script, sizeof script, "#!/bin/sh\n%s\n", cases[i].script ? cases[i].script : "");
        use_compiler(script);
        if (!cases[i].script) setenv("CC", "nowhere", 1);
        snprintf(library, sizeof library, "%s", in_folder("a.so"));
        CHECK(chdir(folder) == 0);
        StudentSource s = {.source = cases[i].source, .library = library};
        bool ok =
            student_compile(&s, strcmp(cases[i].headers, "src") == 0 ? headers : cases[i].headers);
        CHECK(chdir(here) == 0);
        CHECK(ok == !cases[i].status && s.error.status == cases[i].status &&
                  strcmp(ok ? "" : s.message, cases[i].says) == 0,
              "%s of %s: %s", cases[i].script, cases[i].source, s.message);
        CHECK(!s.error.text[0] || strncmp(s.message, s.error.text, strcspn(s.message, "\n")) == 0,
              "%s", s.error.text);
        CHECK(!*s.warnings, "%s", s.warnings);
    }
    unsetenv("CC");
}

#define WARNING                                                                                    \
    "a.c:1:1: warning: something that fills a line as wide as a screen, and half of another one, " \
    "so that "                                                                                     \
    "of "                                                                                          \
    "nine of its kind some have to be left out"

/* Warnings are kept as whole lines, as many as fit. */
TEST(warnings_are_kept) {
    write_text(in_folder("a.c"), "int x;\n");
    use_compiler("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do\necho '" WARNING
                 "'\necho '    1 | int x;'\ndone\n");
    char library[PATH_MAX];
    snprintf(library, sizeof library, "%s", in_folder("a.so"));
    StudentSource s = {.source = in_folder("a.c"), .library = library};
    CHECK(student_compile(&s, "src"), "%s", s.error.text);
    unsetenv("CC");
    long lines = 0;
    for (const char *line = s.warnings; *line; line += sizeof WARNING, lines++)
        CHECK(strncmp(line, WARNING "\n", sizeof WARNING) == 0, "%s", line);
    CHECK(lines > 1 && lines == (COMPILE_WARNINGS - 2) / (long)sizeof WARNING, "%ld lines", lines);
}

/* ---- Cases ---- */

enum { CASES_SENT = 2, CAPACITY = 1 << 13 };
static const double values[6] = {1, 2, 3, 4, 5, 6};
static const CheckCase sent[CASES_SENT] = {
    {"one",
     NULL,
     {{"x", DIMS(2, 3), .low = -1, .high = 1}, {"y", DIMS(6), .values = values}},
     .points = 3},
    {"\"two\", with a name",
     NULL,
     {{"x", DIMS(4), .margin = 0.5, .layout = TRANSPOSED}, {"again", DIMS(4), .same_as = 1}},
     .kinks = true}};

static void send(void *context, long i) {
    (void)context;
    (void)i;
    Program p = {.child = child_parent()};
    serve_list("op", sent, CASES_SENT);
    program_send(&p);
}

typedef struct Told {
    char bytes[CAPACITY];
    size_t size;
} Told;

static void listen(void *context, long i, const ChildEnd *end) {
    Told *t = context;
    CHECK(i == 0 && end->fate == CHILD_DONE && end->size <= CAPACITY, "%zu bytes", end->size);
    t->size = end->size;
    memcpy(t->bytes, end->result, t->size);
}

/* Lists the cases of bytes, after which their sender has ended. */
static bool list(Plan *heard, const char *bytes, size_t size, Error *e) {
    static Child *ended;
    static Program p;
    int end[2];
    if (!ended) {
        CHECK(pipe(end) == 0 && close(end[1]) == 0);
        ended = child_attach(end[0], -1, &(ChildLimits){.seconds = 60});
    }
    p = (Program){.child = ended, .filled = size};
    memcpy(p.block, bytes, size);
    return listing_take(&p, heard, "op", e);
}

/* Whether the case is valid: later code relies on these bounds. */
static bool is_sound(const CheckCase *c) {
    bool ok = isfinite(c->points);
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
        const CheckInput *in = &c->in[k];
        long count;
        ok &= in->shape.rank >= 0 && in->shape.rank <= MAX_RANK &&
              shape_fits(in->shape.rank, in->shape.size, sizeof(real), &count) &&
              count <= JOB_CHANGES && in->layout <= REPEATED && in->same_as >= 0 &&
              in->same_as <= k && isfinite(in->low) && isfinite(in->high) &&
              isfinite(in->away_from) && isfinite(in->margin);
    }
    return ok;
}

TEST(listed_cases_are_taken) {
    static Told t;
    Plan heard = {0};
    Error e = {0};
    child_run_all(1, 1, &(ChildLimits){.seconds = 60}, send, listen, &t);
    CHECK(list(&heard, t.bytes, t.size, &e) && heard.items == CASES_SENT, "%s", e.text);
    const CheckCase *one = &heard.item[0].c, *two = &heard.item[1].c;
    CHECK(strcmp(heard.item[0].name, "one") == 0 && strcmp(heard.item[1].name, sent[1].name) == 0);
    CHECK(one->points == 3 && !one->kinks && two->kinks && two->points == 0);
    CHECK(one->in[0].low == -1 && one->in[0].high == 1 && !one->in[0].values && !one->in[2].name);
    CHECK(one->in[1].values && memcmp(one->in[1].values, values, sizeof values) == 0);
    CHECK(two->in[0].margin == 0.5 && two->in[0].layout == TRANSPOSED && two->in[1].same_as == 1);
    CHECK(shape_equal(one->in[0].shape, SHAPE(2, 3)));
    plan_free(&heard);
}

/* A process that runs foreign code may send anything. Truncated or changed anywhere, its cases are
 * valid or none. */
TEST(damaged_cases_are_refused) {
    static Told t, changed;
    static const char wrong[] = {'\0', '9', '-', '}', '\n', '\xFF'};
    int refused = 0;
    child_run_all(1, 1, &(ChildLimits){.seconds = 60}, send, listen, &t);
    for (size_t i = 0; i < t.size; i++)
        for (size_t k = 0; k < sizeof wrong; k++) {
            Plan heard = {0};
            changed = t;
            changed.bytes[i] = wrong[k];
            bool taken = list(&heard, changed.bytes, t.size, &(Error){0});
            refused += !taken;
            for (long n = 0; taken && n < heard.items; n++)
                CHECK(is_sound(&heard.item[n].c), "byte %zu: 0x%02X", i, (unsigned)wrong[k]);
            plan_free(&heard);
        }
    CHECK(refused > 100, "refused %d", refused);
    for (size_t size = 0; size < t.size; size += 1 + size / 50) {
        Plan heard = {0};
        CHECK(!list(&heard, t.bytes, size, &(Error){0}), "of %zu bytes", size);
        plan_free(&heard);
    }
}

/* ---- Graders' files ---- */

static char *contents(const char *path) {
    static char text[1 << 15];
    FILE *f = fopen(path, "r");
    size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[size] = 0;
    return text;
}

/* Two cases of one operation and one of another, with characters that JSON escapes. */
static void make_reports(CaseReport r[3]) {
    for (int i = 0; i < 3; i++) r[i] = (CaseReport){0};
    REPORT_SET(r[0].op, "a<b>");
    REPORT_SET(r[0].name, "\"good\" & well");
    r[0].inputs = 1;
    REPORT_SET(r[0].in[0].name, "dx");
    r[0].in[0].error = 1e-9, r[0].in[0].coordinates = 6, r[0].in[0].shape = SHAPE(2, 3);
    r[1] = r[0];
    REPORT_SET(r[1].name, "tab\there, bell\a");
    r[1].verdict = r[1].in[0].verdict = INCONCLUSIVE;
    r[1].in[0].unclear = 1, r[1].in[0].error = INFINITY, r[1].in[0].numeric = NAN;
    REPORT_SET(r[1].in[0].reason, "x < 0 && y > \"1\"");
    REPORT_SET(r[2].op, "other");
    REPORT_SET(r[2].name, "bad");
    REPORT_SET(r[2].trouble, "bug: <here>");
    REPORT_SET(r[2].broken[PROPERTY_LINEAR], "bug: <here>");
    r[2].verdict = FAIL;
}

TEST(results_escape) {
    CaseReport r[3];
    Error e = {0};
    make_reports(r);
    CHECK(show_write(&(ShowOptions){.gradescope = in_folder("g.json"), .notes = "say \"hi\"\n"}, r,
                     3, 1.5, &e),
          "%s", e.text);
    const char *text = contents(in_folder("g.json"));
    static const char *const wants[] = {
        "{\"execution_time\": 2, \"visibility\": \"visible\", \"output\": \"say \\\"hi\\\"\\n\", "
        "\"tests\": "
        "[\n",
        "{\"name\": \"a<b>/\\\"good\\\" & well: dx\", \"score\": 1, \"max_score\": 1, \"status\": "
        "\"passed\", ",
        "{\"name\": \"a<b>/tab\\there, bell\\u0007: dx\", \"score\": 0, \"max_score\": 1, "
        "\"status\": "
        "\"failed\", ",
        "{\"name\": \"other/bad\", \"score\": 0, \"max_score\": 1, \"status\": \"failed\", ",
        "}\n]}\n"};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        CHECK(strstr(text, wants[i]), "no %s in\n%s", wants[i], text);
    r[0].inputs = r[1].inputs = 0; /* right, and nothing to be judged */
    r[1].verdict = PASS;
    REPORT_SET(r[1].trouble, "and more");
    CHECK(show_write(&(ShowOptions){.gradescope = in_folder("g.json"), .notes = ""}, r, 2, 1.5, &e),
          "%s", e.text);
    text = contents(in_folder("g.json"));
    CHECK(
        strstr(
            text,
            "{\"name\": \"a<b>/\\\"good\\\" & well\", \"score\": 1, \"max_score\": 1, \"status\": "
            "\"passed\", \"output\": \"PASS\\n\"}") &&
            strstr(text, "and more\\nPASS\\n\"}"),
        "%s", text);
    CHECK(!show_write(&(ShowOptions){.gradescope = in_folder("none/g.json"), .notes = ""}, r, 3,
                      1.5, &e) &&
              e.status == STATUS_CANNOT_CREATE,
          "%s", e.text);
}

/* One line for each gradient, or for a case without any. A value that is not finite is null. */
TEST(lines_of_json) {
    CaseReport r[3];
    char *text = NULL;
    size_t size = 0;
    make_reports(r);
    REPORT_SET(r[0].trouble, "and more");
    r[1].in[0].kinks = 1;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < 3; i++) show_json(out, i == 1 ? "a.c" : NULL, &r[i]);
    r[2].trouble[0] = r[2].broken[PROPERTY_LINEAR][0] = 0;
    show_json(out, NULL, &r[2]);
    fclose(out);
    static const char *const wants[] = {
        "{\"operation\": \"a<b>\", \"case\": \"\\\"good\\\" & well\", \"part\": \"dx\", "
        "\"verdict\": "
        "\"PASS\", \"shape\": [2, 3], \"elements\": 6, ",
        "\"part\": null, \"verdict\": \"PASS\", \"reason\": \"and more\"}\n",
        "\"case\": \"tab\\there, bell\\u0007\", \"file\": \"a.c\", \"part\": \"dx\", \"verdict\": "
        "\"INCONCLUSIVE\", ",
        "\"numeric\": null, \"estimate\": 0, \"error\": null, \"kink\": 0, \"kink_below\": 0, "
        "\"kink_above\": 0, \"reason\": \"x < 0 && y > \\\"1\\\"\"}\n",
        "{\"operation\": \"other\", \"case\": \"bad\", \"part\": null, \"verdict\": \"FAIL\", "
        "\"property\": "
        "\"linear\", \"reason\": \"bug: <here>\"}\n",
        "{\"operation\": \"other\", \"case\": \"bad\", \"part\": null, \"verdict\": \"FAIL\"}\n"};
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    CHECK(lines == 5, "%d lines:\n%s", lines, text);
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        CHECK(strstr(text, wants[i]), "no %s in\n%s", wants[i], text);
    free(text);
}

RUN_TESTS_AFTER(make_folder)
