/* metrics.csv: the rows that --resume keeps, and rows that cannot be written. */
#include "run/metrics.h"
#include "child.h"
#include <sys/stat.h>

#define EARLIER "task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact"
#define HEAD    EARLIER ",val_nats_per_char,val_bits_per_char,val_perplexity\n"
#define ROW(n)  "copy," #n ",10," #n ".5,9,1.0,2.0,0.5,,,,\n"

static const char *contents(const char *path) {
    static char *text;
    size_t size;
    free(text);
    text = read_bytes(path, &size);
    return text ? text : "no file";
}

static void take_seconds(void *seconds, const Metrics *m) {
    *(double *)seconds = m->seconds;
}

/* Whole rows up to the checkpoint's last evaluation stay; later and damaged rows go. */
TEST(rows_that_stay) {
    static const struct {
        const char *before;
        long evaluated;
        const char *after;
        double seconds;
    } cases[] = {
        {HEAD ROW(2) ROW(4), 4, HEAD ROW(2) ROW(4), 4.5},
        {HEAD ROW(2) ROW(4), 2, HEAD ROW(2), 2.5},
        {HEAD ROW(2) ROW(4), 3, HEAD ROW(2), 2.5},
        {HEAD ROW(2) ROW(4), 0, HEAD, 0},
        {HEAD ROW(2) ROW(4), 9, HEAD ROW(2) ROW(4), 4.5},
        {HEAD ROW(2) "copy,4,10,4", 9, HEAD ROW(2), 2.5},
        {HEAD ROW(2) "copy,four,10,4.5,9,,,,\n" ROW(6), 9, HEAD ROW(2) ROW(6), 6.5},
        {HEAD ROW(2) "\n" ROW(6), 9, HEAD ROW(2) ROW(6), 6.5},
        {HEAD, 4, HEAD, 0},
        {"step,loss\n" ROW(2), 4, HEAD ROW(2), 2.5},
        {EARLIER "\n" ROW(2), 2, HEAD ROW(2), 2.5},
        {"task,step,tokens,seconds", 4, HEAD, 0},
        {"", 4, HEAD, 0},
        {NULL, 4, HEAD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        MetricsFile f;
        Error e = {0};
        double seconds = 0;
        unlink("metrics.csv");
        if (cases[i].before) write_text("metrics.csv", cases[i].before);
        CHECK(metrics_resume(&f, ".", cases[i].evaluated, take_seconds, &seconds, &e), "%s", e.text);
        CHECK(seconds == cases[i].seconds, "case %zu: %g seconds", i, seconds);
        metrics_write(&f, &(Metrics){.task = "copy", .step = 10, .val_exact = NAN});
        CHECK(metrics_close(&f, &e), "%s", e.text);
        char want[1000];
        snprintf(want, sizeof want, "%scopy,10,0,0.000,0,0.000000,0.000000,0.000000,,,,\n", cases[i].after);
        CHECK(!strcmp(contents("metrics.csv"), want), "case %zu: found\n%swant\n%s", i,
              contents("metrics.csv"), want);
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
        MetricsFile f;
        double seconds;
        Error e = {0};
        const char *directory = cases[i / 3].directory, *want = cases[i / 3].want;
        bool ok = i % 3 == 2 ? metrics_resume(&f, directory, 1, take_seconds, &seconds, &e)
                             : metrics_open(&f, directory, i % 3, &e);
        CHECK(!ok && e.status == STATUS_CANNOT_CREATE && !strncmp(e.text, want, strlen(want)), "%d: %s", i,
              e.text);
    }
    CHECK(lines_of(list_folder(".")) == 3, "%s", listing);
}

/* Runs act(f); returns its output on stderr. */
static const char *said(void (*act)(MetricsFile *f), MetricsFile *f) {
    fflush(stderr);
    int before = dup(STDERR_FILENO), to = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    dup2(to, STDERR_FILENO);
    act(f);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before), close(to);
    return contents("said");
}

/* If the file cannot replace the old one, it is reported once, and metrics_close fails. */
TEST(no_place) {
    MetricsFile f;
    Error e = {0};
    CHECK(mkdir("run", 0777) == 0 && metrics_open(&f, "run", true, &e), "%s", e.text);
    metrics_write(&f, &(Metrics){.task = "copy", .step = 1});
    CHECK(system("rm -r run") == 0);
    const char *text = said(metrics_place, &f);
    CHECK(!strcmp(text, "run/metrics.csv: No such file or directory\n"), "said '%s'", text);
    metrics_write(&f, &(Metrics){.task = "copy", .step = 2});
    CHECK(!metrics_close(&f, &e) && e.status == STATUS_IO, "%s", e.text);

    /* Rows are written directly if the directory exists again. */
    CHECK(mkdir("run", 0777) == 0 && metrics_open(&f, "run", true, &(Error){0}));
    metrics_write(&f, &(Metrics){.task = "copy", .step = 1});
    CHECK(system("rm -r run && mkdir run") == 0);
    CHECK(strstr(said(metrics_place, &f), "run/metrics.csv: "));
    CHECK(strstr(contents("run/metrics.csv"), "\ncopy,1,"), "%s", contents("run/metrics.csv"));
    CHECK(!metrics_close(&f, &(Error){0}));
}

/* metrics_restore writes a deleted file again with all rows, unless its directory is gone. */
TEST(a_deleted_file) {
    MetricsFile f;
    Error e = {0};
    CHECK(mkdir("run", 0777) == 0 && metrics_open(&f, "run", false, &e), "%s", e.text);
    metrics_write(&f, &(Metrics){.task = "copy", .step = 1});
    CHECK(!*said(metrics_restore, &f));
    CHECK(unlink("run/metrics.csv") == 0);
    CHECK(!*said(metrics_restore, &f));
    CHECK(strstr(contents("run/metrics.csv"), HEAD "copy,1,"), "%s",
          contents("run/metrics.csv")); /* at once */
    metrics_write(&f, &(Metrics){.task = "copy", .step = 2});
    const char *text = contents("run/metrics.csv");
    CHECK(!strncmp(text, HEAD "copy,1,", strlen(HEAD) + 7) && strstr(text, "\ncopy,2,"), "%s", text);
    CHECK(system("rm -r run") == 0);
    CHECK(!*said(metrics_restore, &f) && access("run", F_OK) != 0);
    CHECK(metrics_close(&f, &e), "%s", e.text);

    /* A file that replaces another is created again, or the failure is reported. */
    CHECK(mkdir("run", 0777) == 0 && metrics_open(&f, "run", true, &e), "%s", e.text);
    CHECK(system("rm -r run") == 0);
    CHECK(!strcmp(said(metrics_restore, &f), "run/metrics.csv: No such file or directory\n"));
    CHECK(!metrics_close(&f, &e) && e.status == STATUS_IO);
}

static void write_two(MetricsFile *f) {
    for (int step = 1; step <= 2; step++) metrics_write(f, &(Metrics){.task = "copy", .step = step});
}

/* Opens metrics.csv on a full disk; returns the descriptor to close. */
static int open_on_a_full_disk(MetricsFile *f) {
    Error e = {0};
    CHECK(metrics_open(f, ".", false, &e), "%s", e.text);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CHECK(full >= 0 && dup2(full, fileno(f->csv)) >= 0);
    return full;
}

/* The first row that cannot be written is reported, and metrics_close fails. */
TEST(a_full_disk) {
    MetricsFile f;
    Error e = {0};
    int full = open_on_a_full_disk(&f);
    const char *text = said(write_two, &f);
    CHECK(!strcmp(text, "./metrics.csv: No space left on device\n"), "said '%s'", text);
    CHECK(!metrics_close(&f, &e) && e.status == STATUS_IO, "%s", e.text);
    close(full);
}

/* A write error at fclose is an error too. */
TEST(lost_at_the_end) {
    MetricsFile f;
    Error e = {0};
    int full = open_on_a_full_disk(&f);
    CHECK(!metrics_close(&f, &e) && e.status == STATUS_IO &&
              !strcmp(e.text, "./metrics.csv: No space left on device"),
          "%s", e.text);
    close(full);
}

static void resume(MetricsFile *f) {
    double seconds;
    Error e = {0};
    CHECK(metrics_resume(f, ".", 4, take_seconds, &seconds, &e), "%s", e.text);
}

/* A sound file of an earlier version, which had fewer columns, is not damaged: the new ones are empty in its rows. */
TEST(earlier_columns) {
    MetricsFile f;
    write_text("metrics.csv", EARLIER "\n"
                                      "copy,2,10,2.5,9,,3.0,0.5,\n"
                                      "copy,4,10,4.5,9,1.0,2.0,0.5,0.25\n");
    const char *text = said(resume, &f);
    CHECK(!*text, "said '%s'", text);
    CHECK(metrics_close(&f, &(Error){0}) && lines_of(list_folder(".")) == 3, "%s", listing);
    text = contents("metrics.csv");
    CHECK(!strcmp(text, HEAD "copy,2,10,2.5,9,,3.0,0.5,,,,\n"
                             "copy,4,10,4.5,9,1.0,2.0,0.5,0.25,,,\n"),
          "found %s", text);
}

/* In JSON, NaN and infinity are null; val_exact is left out if it was not measured. */
TEST(jSON_has_no_NaN) {
    static const struct {
        Metrics m;
        const char *want;
    } cases[] = {
        {{"copy", 3, 40, .params = 9, .seconds = 1.25, .train_loss = NAN, .val_loss = INFINITY,
          .val_accuracy = 0.5, .val_exact = NAN},
         "{\"task\": \"copy\", \"step\": 3, \"tokens\": 40, \"seconds\": 1.250, \"params\": 9, "
         "\"train_loss\": null, \"val_loss\": null, \"val_accuracy\": 0.5}\n"},
        {{"copy", 3, 40, .params = 9, .seconds = 1.25, .train_loss = 1, .val_loss = 2, .val_accuracy = 0.5,
          .val_exact = 1, .final = true},
         "{\"task\": \"copy\", \"step\": 3, \"tokens\": 40, \"seconds\": 1.250, \"params\": 9, "
         "\"train_loss\": 1, \"val_loss\": 2, \"val_accuracy\": 0.5, \"val_exact\": 1, \"final\": true}\n"}};
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
