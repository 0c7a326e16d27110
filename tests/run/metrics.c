/* metrics.csv: the rows that --resume keeps, and rows that cannot be written. */
#include "run/metrics.h"
#include "child.h"
#include "pictures/label.h"
#include <sys/stat.h>

#define HEAD                                                                                                 \
    "task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact,val_nats_per_char,"          \
    "val_bits_per_char,val_perplexity,final_loss,final_accuracy,final_nats_per_char\n"
#define ROW(n) "copy," #n ",10," #n ".5,9,1.0,2.0,0.5,,,,,,,\n"

static const char *contents(const char *path) {
    static char *text;
    size_t size;
    free(text);
    text = read_bytes(path, &size);
    return text ? text : "no file";
}

/* A row of an evaluation in which nothing else was measured. */
static const Metrics row = {
    .task = "copy", .step = 10, .val_exact = NAN, .final_loss = NAN, .final_accuracy = NAN};

static bool open_metrics(CsvFile *f, const char *directory, Error *e) {
    return csv_open(f, directory, "metrics.csv", metrics_head, e);
}

/* Whole rows up to a step stay; later and damaged rows go. A file that lacks a row that it must have, or has a damaged one, is
 * kept under another name. */
TEST(rows_that_stay) {
    static const struct {
        const char *before;
        long last, needed;
        const char *after;
        bool kept;
    } cases[] = {
        {HEAD ROW(2) ROW(4), 4, 4, HEAD ROW(2) ROW(4)},
        {HEAD ROW(2) ROW(4), 2, 2, HEAD ROW(2)},
        {HEAD ROW(2) ROW(4), 3, 2, HEAD ROW(2)},
        {HEAD ROW(2) ROW(4), 3, 3, HEAD ROW(2), true},
        {HEAD ROW(2) ROW(4), 0, 0, HEAD},
        {HEAD ROW(0) ROW(4), 0, 0, HEAD ROW(0)},
        {HEAD ROW(0) ROW(4), -1, 0, HEAD},
        {HEAD ROW(2) ROW(4), 9, 4, HEAD ROW(2) ROW(4)},
        {HEAD ROW(2) ROW(4), 9, 9, HEAD ROW(2) ROW(4), true},
        {HEAD ROW(2) "copy,4,10,4", 9, 2, HEAD ROW(2)}, /* was being written */
        {HEAD ROW(2) "copy,4,10,4", 9, 4, HEAD ROW(2), true},
        {HEAD ROW(2) "copy,4,10,4.5,9,,,,\n" ROW(6), 9, 6, HEAD ROW(2) ROW(6), true},
        {HEAD ROW(2) "copy,four,10,4.5,9,,,,,,,,,,\n" ROW(6), 9, 6, HEAD ROW(2) ROW(6), true},
        {HEAD ROW(2) "copy,4,10,4.5 s,9,,,,,,,,,,\n" ROW(6), 9, 6, HEAD ROW(2) ROW(6), true},
        {HEAD ROW(4) ROW(2) ROW(6), 9, 6, HEAD ROW(4) ROW(6), true},
        {HEAD ROW(2) "\n" ROW(6), 9, 6, HEAD ROW(2) ROW(6), true},
        {HEAD, 4, 4, HEAD, true},
        {"step,loss\n" ROW(2), 2, 2, HEAD ROW(2), true},
        {"task,step,tokens,seconds", 4, 0, HEAD, true},
        {"", 4, 4, HEAD},
        {NULL, 4, 4, HEAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CsvFile f;
        Error e = {0};
        enter_folder();
        if (cases[i].before) write_text("metrics.csv", cases[i].before);
        CHECK(csv_resume(&f, ".", "metrics.csv", metrics_head, cases[i].last, cases[i].needed, &e), "%s",
              e.text);
        CHECK(cases[i].kept || !cases[i].before || !strcmp(contents("metrics.csv"), cases[i].before),
              "case %zu: the old file changed", i);
        metrics_write(&f, &row);
        CHECK(csv_save(&f, &e), "%s", e.text);
        csv_close(&f);
        char want[1000];
        snprintf(want, sizeof want, "%scopy,10,0,0.000,0,0.000000,0.000000,0.000000,,,,,,,\n",
                 cases[i].after);
        CHECK(!strcmp(contents("metrics.csv"), want), "case %zu: found\n%swant\n%s", i,
              contents("metrics.csv"), want);
        CHECK((access("metrics.csv.damaged-1", F_OK) == 0) == cases[i].kept, "case %zu", i);
    }
}

/* A file that cannot be written is refused before the training or, if its directory goes, at the next save. Nothing else is
 * left there. */
TEST(places_without_metrics) {
    char too_long[PATH_ROOM + 9] = {0};
    memset(too_long, 'x', PATH_ROOM + 8);
    CHECK(mkdir("taken", 0777) == 0 && mkdir("taken/metrics.csv", 0777) == 0);
    const struct {
        const char *directory, *want;
        bool opens;
    } cases[] = {{"none", "none/metrics.csv: No such file or directory", true},
                 {"taken", "taken/metrics.csv: found a directory, need a regular file"},
                 {too_long, "xxx"}};
    for (int i = 0; i < 6; i++) {
        CsvFile f;
        Error e = {0};
        const char *directory = cases[i / 2].directory, *want = cases[i / 2].want;
        bool ok = i % 2 ? csv_resume(&f, directory, "metrics.csv", metrics_head, 1, 1, &e)
                        : open_metrics(&f, directory, &e);
        CHECK(ok == cases[i / 2].opens && (!ok || !csv_save(&f, &e)), "%d: %s", i, e.text);
        CHECK(e.status == STATUS_CANNOT_CREATE && !strncmp(e.text, want, strlen(want)), "%d: %s", i, e.text);
        csv_close(&f);
    }
    CHECK(lines_of(list_folder(".")) == 3, "%s", listing);
}

/* A file is the old one or has all rows; one that was deleted has them again. */
TEST(tables_are_saved_whole) {
    CsvFile f;
    Error e = {0};
    write_text("metrics.csv", "of another run\n");
    CHECK(open_metrics(&f, ".", &e), "%s", e.text);
    metrics_write(&f, &row);
    CHECK(!strcmp(contents("metrics.csv"), "of another run\n"));
    for (int i = 1; i <= 2; i++) {
        CHECK(csv_save(&f, &e), "%s", e.text);
        CHECK(lines_of(contents("metrics.csv")) == i + 1 &&
                  !strncmp(contents("metrics.csv"), HEAD, strlen(HEAD)),
              "%s", contents("metrics.csv"));
        metrics_write(&f, &row);
        CHECK(unlink("metrics.csv") == 0);
    }
    csv_close(&f);
    CHECK(lines_of(list_folder(".")) == 1, "%s", listing);
}

/* A table is read by its names; what is no row or no number is left out. */
TEST(a_table_is_read) {
    Csv t;
    Error e = {0};
    write_text("table", "task,step,loss,norm\nlm,1,2.5,\nlm,3,,-1e3\nlm,2,9,9\nlm,4,x,1\nlm,5,1,inf\nlm,6,1");
    CHECK(csv_read(&t, "table", &e) && t.rows == 3, "%s, %ld rows", e.text, t.rows);
    const double *step = csv_column(&t, "step"), *loss = csv_column(&t, "loss"),
                 *norm = csv_column(&t, "norm");
    CHECK(step[0] == 1 && step[1] == 3 && step[2] == 5 && loss[0] == 2.5 && isnan(loss[1]) && loss[2] == 1 &&
          isnan(norm[0]) && norm[1] == -1e3 && isinf(norm[2]) && !csv_column(&t, "none"));
    csv_free(&t);
    CHECK(csv_read(&t, "absent", &e) && t.rows == 0 && !csv_column(&t, "step"), "%s", e.text);
    csv_free(&t);
    write_text("table", "task,loss\nlm,2\n");
    CHECK(!csv_read(&t, "table", &e) && e.status == STATUS_BAD_DATA, "%s", e.text);
    csv_free(&t);
}

/* Steps have a row each up to 255, then one for 2, 4, 8, …: at most 256 in an octave. Each row is a mean, whose steps are
 * the same after a resume at any step. */
TEST(rows_of_steps_are_means) {
    enum { STEPS = 5000 };
    CsvFile f;
    Csv t;
    StepSums sums = {0};
    Error e = {0};
    CHECK(csv_open(&f, ".", "steps.csv", steps_head, &e), "%s", e.text);
    for (long step = 1; step <= STEPS; step++)
        metrics_step(&sums, &f, step, &(StepResult){.loss = (double)step, .grad_norm = 2, .tokens = 30}, 0.5);
    CHECK(csv_save(&f, &e) && csv_read(&t, "steps.csv", &e), "%s", e.text);
    csv_close(&f);
    const double *step = csv_column(&t, "step"), *loss = csv_column(&t, "loss"),
                 *rate = csv_column(&t, "tokens_per_second");
    long octave = 0;
    for (long i = 0; i < t.rows; i++) {
        double before = i ? step[i - 1] : 0;
        CHECK_NEAR(loss[i], (before + 1 + step[i]) / 2, 5e-6 * step[i]);
        CHECK(rate[i] == 60 && step[i] - before <= step[i] / 128 + 1, "row %ld: step %g after %g", i, step[i],
              before);
        octave += step[i] > 2048 && step[i] <= 4096;
    }
    CHECK(step[t.rows - 1] > STEPS - 32 && octave == 128, "%ld rows, the last of step %g", octave,
          step[t.rows - 1]);
    csv_free(&t);
}

TEST(numbers_are_grouped) {
    static const struct {
        long number;
        const char *text;
    } cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {1317632, "1,317,632"}, {-123456, "-123,456"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NUMBER_ROOM];
        CHECK(!strcmp(number_text(text, cases[i].number), cases[i].text), "found %s", text);
    }
}

/* In JSON, NaN and infinity are null; val_exact is left out if it was not measured. The last object is about all held-out
 * rows. */
TEST(jSON_has_no_NaN) {
    static const struct {
        Metrics m;
        const char *want;
    } cases[] = {
        {{"copy", 3, 40, .params = 9, .seconds = 1.25, .train_loss = NAN, .val_loss = INFINITY,
          .val_accuracy = 0.5, .val_exact = NAN, .final_loss = NAN, .final_accuracy = NAN},
         "{\"task\": \"copy\", \"step\": 3, \"tokens\": 40, \"seconds\": 1.250, \"params\": 9, "
         "\"train_loss\": null, \"val_loss\": null, \"val_accuracy\": 0.5}\n"},
        {{"copy", 3, 40, .params = 9, .seconds = 1.25, .train_loss = 1, .val_loss = 2, .val_accuracy = 0.5,
          .val_exact = 1, .final_loss = 3, .final_accuracy = 0.25},
         "{\"task\": \"copy\", \"step\": 3, \"tokens\": 40, \"seconds\": 1.250, \"params\": 9, "
         "\"train_loss\": 1, \"val_loss\": 3, \"val_accuracy\": 0.25, \"val_exact\": 1, \"final\": true}\n"}};
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        int before = dup(STDOUT_FILENO), to = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        dup2(to, STDOUT_FILENO);
        metrics_json(&cases[i].m);
        dup2(before, STDOUT_FILENO);
        close(before), close(to);
        CHECK(!strcmp(contents("said"), cases[i].want), "found %s", contents("said"));
    }
}

RUN_PROGRAM_TESTS
