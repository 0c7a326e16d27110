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

static bool open_metrics(CsvFile *f, const char *directory, bool replace, Error *e) {
    return csv_open(f, directory, "metrics.csv", metrics_head, replace, e);
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
        csv_place(&f);
        metrics_write(&f, &row);
        CHECK(csv_close(&f, &e), "%s", e.text);
        char want[1000];
        snprintf(want, sizeof want, "%scopy,10,0,0.000,0,0.000000,0.000000,0.000000,,,,,,,\n",
                 cases[i].after);
        CHECK(!strcmp(contents("metrics.csv"), want), "case %zu: found\n%swant\n%s", i,
              contents("metrics.csv"), want);
        CHECK((access("metrics.csv.damaged-1", F_OK) == 0) == cases[i].kept, "case %zu", i);
    }
}

TEST(places_without_metrics) {
    char too_long[PATH_ROOM + 9] = {0};
    memset(too_long, 'x', PATH_ROOM + 8);
    CHECK(mkdir("taken", 0777) == 0 && mkdir("taken/metrics.csv", 0777) == 0);
    const struct {
        const char *directory, *want;
    } cases[] = {{"none", "none/metrics.csv: No such file or directory"},
                 {"taken", "taken/metrics.csv: found a directory, need a regular file"},
                 {too_long, "xxx"}};
    for (int i = 0; i < 9; i++) {
        CsvFile f;
        Error e = {0};
        const char *directory = cases[i / 3].directory, *want = cases[i / 3].want;
        bool ok = i % 3 == 2 ? csv_resume(&f, directory, "metrics.csv", metrics_head, 1, 1, &e)
                             : open_metrics(&f, directory, i % 3, &e);
        CHECK(!ok && e.status == STATUS_CANNOT_CREATE && !strncmp(e.text, want, strlen(want)), "%d: %s", i,
              e.text);
    }
    CHECK(lines_of(list_folder(".")) == 3, "%s", listing);
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
    CHECK(csv_open(&f, ".", "steps.csv", steps_head, false, &e), "%s", e.text);
    for (long step = 1; step <= STEPS; step++)
        metrics_step(&sums, &f, step, &(StepResult){.loss = (double)step, .grad_norm = 2, .tokens = 30}, 0.5);
    CHECK(csv_close(&f, &e) && csv_read(&t, "steps.csv", &e), "%s", e.text);
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

/* Runs act(f); returns its output on stderr. */
static const char *said(void (*act)(CsvFile *f), CsvFile *f) {
    fflush(stderr);
    int before = dup(STDERR_FILENO), to = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    dup2(to, STDERR_FILENO);
    act(f);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before), close(to);
    return contents("said");
}

/* If the file cannot replace the old one, it is reported once, and csv_close fails. */
TEST(no_place) {
    CsvFile f;
    Error e = {0};
    CHECK(mkdir("run", 0777) == 0 && open_metrics(&f, "run", true, &e), "%s", e.text);
    metrics_write(&f, &(Metrics){.task = "copy", .step = 1});
    CHECK(system("rm -r run") == 0);
    const char *text = said(csv_place, &f);
    CHECK(!strcmp(text, "run/metrics.csv: No such file or directory\n"), "said '%s'", text);
    metrics_write(&f, &(Metrics){.task = "copy", .step = 2});
    CHECK(!csv_close(&f, &e) && e.status == STATUS_IO, "%s", e.text);

    /* Rows are written directly if the directory exists again. */
    CHECK(mkdir("run", 0777) == 0 && open_metrics(&f, "run", true, &(Error){0}));
    metrics_write(&f, &(Metrics){.task = "copy", .step = 1});
    CHECK(system("rm -r run && mkdir run") == 0);
    CHECK(strstr(said(csv_place, &f), "run/metrics.csv: "));
    CHECK(strstr(contents("run/metrics.csv"), "\ncopy,1,"), "%s", contents("run/metrics.csv"));
    CHECK(!csv_close(&f, &(Error){0}));
}

/* csv_restore writes a deleted file again with all rows, unless its directory is gone. */
TEST(a_deleted_file) {
    CsvFile f;
    Error e = {0};
    CHECK(mkdir("run", 0777) == 0 && open_metrics(&f, "run", false, &e), "%s", e.text);
    metrics_write(&f, &(Metrics){.task = "copy", .step = 1});
    CHECK(!*said(csv_restore, &f));
    CHECK(unlink("run/metrics.csv") == 0);
    CHECK(!*said(csv_restore, &f));
    CHECK(strstr(contents("run/metrics.csv"), HEAD "copy,1,"), "%s",
          contents("run/metrics.csv")); /* at once */
    metrics_write(&f, &(Metrics){.task = "copy", .step = 2});
    const char *text = contents("run/metrics.csv");
    CHECK(!strncmp(text, HEAD "copy,1,", strlen(HEAD) + 7) && strstr(text, "\ncopy,2,"), "%s", text);
    CHECK(system("rm -r run") == 0);
    CHECK(!*said(csv_restore, &f) && access("run", F_OK) != 0);
    CHECK(csv_close(&f, &e), "%s", e.text);

    /* A file that replaces another is created again, or the failure is reported. */
    CHECK(mkdir("run", 0777) == 0 && open_metrics(&f, "run", true, &e), "%s", e.text);
    CHECK(system("rm -r run") == 0);
    CHECK(!strcmp(said(csv_restore, &f), "run/metrics.csv: No such file or directory\n"));
    CHECK(!csv_close(&f, &e) && e.status == STATUS_IO);
}

static void write_two(CsvFile *f) {
    for (int step = 1; step <= 2; step++) metrics_write(f, &(Metrics){.task = "copy", .step = step});
}

/* Opens metrics.csv on a full disk; returns the descriptor to close. */
static int open_on_a_full_disk(CsvFile *f) {
    Error e = {0};
    CHECK(open_metrics(f, ".", false, &e), "%s", e.text);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK(full >= 0 && dup2(full, fileno(f->out)) >= 0);
    return full;
}

/* The first row that cannot be written is reported, and csv_close fails. */
TEST(a_full_disk) {
    CsvFile f;
    Error e = {0};
    int full = open_on_a_full_disk(&f);
    const char *text = said(write_two, &f);
    CHECK(!strcmp(text, "./metrics.csv: No space left on device\n"), "said '%s'", text);
    CHECK(!csv_close(&f, &e) && e.status == STATUS_IO, "%s", e.text);
    close(full);
}

/* A write error at fclose is an error too. */
TEST(lost_at_the_end) {
    CsvFile f;
    Error e = {0};
    int full = open_on_a_full_disk(&f);
    fputs("1", f.out);
    CHECK(!csv_close(&f, &e) && e.status == STATUS_IO &&
              !strcmp(e.text, "./metrics.csv: No space left on device"),
          "%s", e.text);
    close(full);
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
