/* A run that stops, however it is stopped, is gone on with to the bits of one that never did; and nothing that was
 * learned is lost. */
#include "base/pool.h"
#include "child.h"
#include "report/run.h"
#include <math.h>
#include <signal.h>
#include <time.h>

#define TINY "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--quiet"
#define COPY "copy", TINY, "--symbols", "5", "--max-length", "4", "--held-out", "30"
#define LM   "lm", TINY, "--text", "text", "--context", "8"

/* metrics.csv without its seconds. */
static char *figures(const char *path) {
    size_t size = 0;
    char *csv = read_bytes(path, &size), *to = csv;
    int commas = 0;
    for (const char *from = csv; from && *from; from++) {
        if (*from == '\n') commas = 0;
        if (commas != 3 || *from == ',') *to++ = *from;
        commas += *from == ',';
    }
    if (to) *to = 0;
    return csv;
}

static void check_same_runs(const char *a, const char *b) {
    static const char *const names[] = {"checkpoint.safetensors", "best.safetensors", "model.safetensors"};
    char path[3][200];
    for (int i = 0; i < 3; i++) {
        snprintf(path[0], sizeof path[0], "%s/%s", a, names[i]);
        snprintf(path[1], sizeof path[1], "%s/%s", b, names[i]);
        if (access(path[0], F_OK) == 0) CHECK(same_files(path[0], path[1]), "%s", path[1]);
    }
    snprintf(path[0], sizeof path[0], "%s/metrics.csv", a);
    snprintf(path[1], sizeof path[1], "%s/metrics.csv", b);
    char *want = figures(path[0]), *found = figures(path[1]);
    CHECK(want && found && !strcmp(want, found), "found\n%s\nwant\n%s", found ? found : "none",
          want ? want : "none");
    free(want), free(found);
}

/* ---- After every step ---- */

/* Begins a run, or goes on with it, as ./train does, and leaves it without a word after `most` steps. */
static long train_some(const char *const *arguments, long most) {
    char *argv[MOST_ARGUMENTS + 2] = {(char *)"train"};
    int argc = 1;
    while (arguments[argc - 1]) argv[argc] = (char *)arguments[argc - 1], argc++;
    Error e = {0};
    Recipe recipe;
    Checkpoint past = {0};
    bool ok = recipe_parse(&recipe, argc, argv, &e);
    if (ok && recipe.resume)
        ok = checkpoint_open(&past, recipe.resume, &e) &&
             recipe_resume(&recipe, past.path, checkpoint_note, &past, &e);
    ok = ok && recipe_complete(&recipe, &e);
    Task *task = ok ? task_open(recipe.task, &recipe.data, &e) : NULL;
    CHECK(task, "%s", e.text);
    if (!task) exit(1);
    Trainer t = recipe_trainer(&recipe, task);
    ModelConfig c = recipe_model(&recipe, task);
    Run run;
    t.model = model_new(&c, true, recipe.data.seed, &e);
    t.model->dropout = recipe.dropout;
    ok = (!recipe.resume || checkpoint_restore(&past, &t, &e)) && trainer_start(&t, &e) &&
         run_open(&run, &recipe, &t, recipe.resume ? &past : NULL, &e);
    for (long i = 0; ok; i++) {
        StepResult step;
        Evaluation v;
        if (run_evaluation_due(&run)) ok = trainer_evaluate(&t, 8, &v, &e) && run_evaluated(&run, &v, &e);
        run_checkpoint(&run);
        if (i == most || !run_goes_on(&run)) break;
        ok = ok && trainer_step(&t, &step, &e);
        run_end_step(&run, &step);
    }
    long reached = run.state.step;
    CHECK(ok && run_close(&run, &e), "%s", e.text);
    trainer_stop(&t);
    model_free(t.model);
    task_free(task);
    checkpoint_free(&past);
    recipe_free(&recipe);
    return reached;
}

enum { STEPS = 200 };
#define STEPS_TEXT "200"

/* Stopped after every single step and gone on with, by another number of threads: 200 of 200 steps, the evaluations
 * between them, weights, moments and figures are those of a run in one piece; with dropout, accumulation, windows. */
static void every_step(void) {
    enter_folder();
    char text[600];
    for (int i = 0; i < 599; i++) text[i] = "the cat sat on the mat, \n"[(i * i + i / 7) % 25];
    text[599] = 0;
    write_text("text", text);
#define REST                                                                                                 \
    "--dropout", "0.1", "--accumulate", "2", "--steps", STEPS_TEXT, "--eval-every", "7",                     \
        "--checkpoint-every", "1"
    for (int lm = 0; lm < 2; lm++) {
        const char *const *whole =
            lm ? ARGUMENTS(LM, REST, "--run", "lm whole") : ARGUMENTS(COPY, REST, "--run", "whole");
        const char *const *first =
            lm ? ARGUMENTS(LM, REST, "--run", "lm parts") : ARGUMENTS(COPY, REST, "--run", "parts");
        const char *const *more = ARGUMENTS("--resume", lm ? "lm parts" : "parts", "--quiet");
        pool_set_threads(1);
        CHECK(train_some(whole, STEPS) == STEPS);
        long reached = train_some(first, 1), stops = 1;
        for (; reached < STEPS; stops++) {
            pool_set_threads(1 + (int)(reached % 3));
            long before = reached;
            reached = train_some(more, 1);
            CHECK(reached == before + 1, "from %ld to %ld", before, reached);
            if (reached == before) break;
        }
        CHECK(stops == STEPS);
        check_same_runs(lm ? "lm whole" : "whole", lm ? "lm parts" : "parts");
    }
    pool_set_threads(1);
}

/* ---- Kills and signals ---- */

static void sleep_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Ends a training after a while by a signal; its status. */
static int end_after(const char *const *arguments, long ms, int signal_number) {
    FILE *to_out = tmpfile(), *to_err = tmpfile();
    pid_t child = start_program("train", arguments, (Streams){0}, to_out, to_err);
    sleep_ms(ms);
    kill(child, signal_number);
    int status = wait_program(child);
    slurp(to_out, out), slurp(to_err, err);
    return status;
}

/* Kills, and requests to end, at any moment; at last the run goes on to its end. */
static void any_moment(void) {
    enter_folder();
#define LONGER "--steps", "800", "--eval-every", "40", "--checkpoint-every", "5", "--dropout", "0.1"
    CHECK(TRAIN(COPY, LONGER, "--run", "whole", "--threads", "2") == 0, "%s", err);
    static const int signals[] = {SIGKILL, SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 16; i++) {
        bool begun = access("parts/checkpoint.safetensors", F_OK) == 0;
        int status =
            end_after(begun ? ARGUMENTS("--resume", "parts", "--quiet", "--threads", i % 2 ? "1" : "2")
                            : ARGUMENTS(COPY, LONGER, "--run", "parts", "--force"),
                      5 + 17 * i % 60, signals[i % 4]);
        CHECK(status == 0 || status == 128 + signals[i % 4], "status %d: %s", status, err);
    }
    int status = access("parts/checkpoint.safetensors", F_OK) == 0
                     ? TRAIN("--resume", "parts", "--quiet")
                     : TRAIN(COPY, LONGER, "--run", "parts", "--force");
    CHECK(status == 0, "%s", err);
    check_same_runs("whole", "parts");
}

/* ---- What may not change, and what may ---- */

static void other_choices(void) {
    enter_folder();
    write_text("text",
               "a text that is long enough for the context that is asked for, and for its tail as well");
    write_text("other",
               "a text that is long enough for the context that is asked for, and for its tail as wall");
    CHECK(TRAIN(LM, "--steps", "4", "--run", "run") == 0, "%s", err);
    CHECK(TRAIN("--resume", "run", "--lr", "0.1", "--d-model", "16", "--layers", "1") == 78);
    CHECK(
        !strcmp(err,
                "train: run/checkpoint.safetensors: made by other choices: --d-model: found 16, need 8; "
                "--lr: found "
                "0.1, need 0.002 (may change: text, steps, eval-every, checkpoint-every, checkpoint-minutes, "
                "threads)\n"),
        "%s", err);
    CHECK(TRAIN("copy", "--resume", "run") == 78 && strstr(err, "task: found copy, need lm"), "%s", err);
    CHECK(TRAIN("--resume", "run", "--text", "other") == 78 && strstr(err, "text_crc32: found "), "%s", err);
    CHECK(TRAIN("--resume", "run", "--seed", "2") == 78 && strstr(err, "--seed: found 2, need 1"), "%s", err);
    CHECK(TRAIN("--resume", "run", "--run", "other run") == 2, "%s", err);
    CHECK(TRAIN("--resume", "nowhere") == 66 && strstr(err, "nowhere/checkpoint.safetensors"), "%s", err);
    CHECK(rename("text", "moved") == 0);
    CHECK(TRAIN("--resume", "run", "--text", "moved", "--steps", "6", "--quiet") == 0, "%s", err);
    size_t size = 0;
    char *csv = read_bytes("run/metrics.csv", &size);
    CHECK(csv && strstr(csv, "\nlm,6,") && !strstr(csv, "\nlm,4,128,0.000\n"), "%s", csv ? csv : "none");
    free(csv);
}

/* A file of choices; what the command line says counts. */
static void config_file(void) {
    enter_folder();
    write_text("choices",
               "# small\ntask copy\nd-model = 8\nheads 2\n\nlayers 1\r\nbatch 4\nsymbols 5\nmax-length 4\n"
               "held-out 30\nsteps 9\nquiet true\n");
    CHECK(TRAIN("--config", "choices", "--run", "a", "--steps", "3") == 0 && !*err, "%s", err);
    CHECK(TRAIN(COPY, "--run", "b", "--steps", "3") == 0, "%s", err);
    check_same_runs("a", "b");
    write_text("choices", "task copy\nlr fast\n");
    CHECK(TRAIN("--config", "choices") == 2);
    CHECK(!strcmp(err, "train: choices: line 2: lr: found \"fast\", need a number in (0,inf)\n"), "%s", err);
    write_text("choices", "rate 3\n");
    CHECK(TRAIN("--config", "choices") == 2);
    CHECK(!strcmp(err, "train: choices: line 1: found \"rate\", need the name of an option, see --help\n"),
          "%s", err);
}

/* ---- Nothing is lost ---- */

/* The weights before a step that is not finite are saved; with --force the old run stands until then. */
static void before_a_bad_step(void) {
    enter_folder();
    CHECK(TRAIN(COPY, "--steps", "40", "--run", "run", "--schedule", "constant", "--lr", "1e17",
                "--optimizer", "sgd", "--clip", "0", "--eval-every", "100") == 3,
          "%s", err);
    CHECK(strncmp(err, "train: step ", 12) == 0, "%s", err);
    if (access("run/model.safetensors", F_OK) == 0)
        CHECK(GENERATE("run", "--prompt", "12") == 0 || *err, "%s", err);
    CHECK(TRAIN(COPY, "--steps", "2", "--run", "kept") == 0, "%s", err);
    char *before = strdup(list_folder("kept"));
    CHECK(end_after(ARGUMENTS(COPY, "--steps", "2147483647", "--eval-every", "2147483647", "--run", "kept",
                              "--force"),
                    100, SIGKILL) == 128 + SIGKILL);
    unlink("kept/.model.safetensors.tapeformer-tmp"), unlink("kept/.metrics.csv.new");
    char *after = strdup(list_folder("kept"));
    CHECK(!strcmp(before, after), "before\n%s\nafter\n%s", before, after);
    free(before), free(after);
}

/* A folder that is deleted meanwhile is made again. */
static void deleted_folder(void) {
    enter_folder();
    FILE *to_out = tmpfile(), *to_err = tmpfile();
    pid_t child = start_program(
        "train", ARGUMENTS(COPY, "--steps", "2147483647", "--eval-every", "2000000000", "--run", "run"),
        (Streams){0}, to_out, to_err);
    for (int i = 0; i < 2000 && access("run/metrics.csv", F_OK) != 0; i++) sleep_ms(2);
    sleep_ms(50);
    CHECK(system("rm -r run") == 0);
    kill(child, SIGTERM);
    int status = wait_program(child);
    slurp(to_out, out), slurp(to_err, err);
    CHECK(status == 128 + SIGTERM, "status %d: %s", status, err);
    CHECK(GENERATE("run", "--prompt", "12") == 0, "%s", err);
    size_t size = 0;
    char *csv = read_bytes("run/metrics.csv", &size);
    CHECK(csv && lines_of(csv) == 2, "%s", csv ? csv : "none");
    free(csv);
}

/* What is no regular file is refused and not waited for; a limit on the size of files is an error like others. */
static void strange_places(void) {
    enter_folder();
    CHECK(mkdir("run", 0777) == 0 && mkfifo("run/metrics.csv", 0666) == 0);
    CHECK(TRAIN(COPY, "--steps", "2", "--run", "run") == 73, "%s", err);
    CHECK(!strcmp(err, "train: run/metrics.csv: found a FIFO, need a regular file\n"), "%s", err);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before, limit.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    int status = TRAIN(COPY, "--steps", "2", "--run", "limited");
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == STATUS_IO && strstr(err, "File too large"), "status %d: %s", status, err);
}

/* A byte-order mark and carriage returns are remarked on; --newline unix leaves the latter out. */
static void texts_from_elsewhere(void) {
    enter_folder();
    write_text("plain", "one line\nand another one\nand a third that is long enough\n");
    write_text("marked", "\xEF\xBB\xBFone line\r\nand another one\r\nand a third that is long enough\r\n");
#define SHORT                                                                                                \
    "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--context", "4", "--steps", "2",     \
        "--samples", "0"
    CHECK(TRAIN("lm", "--text", "marked", SHORT, "--run", "a") == 0, "%s", err);
    CHECK(strstr(err, "marked: a byte-order mark at its start is left out\n") &&
              strstr(err, "marked: 3 carriage returns are characters like others; --newline unix"),
          "%s", err);
    CHECK(TRAIN("lm", "--text", "marked", "--newline", "unix", SHORT, "--run", "b") == 0, "%s", err);
    CHECK(!strstr(err, "carriage"), "%s", err);
    CHECK(TRAIN("lm", "--text", "plain", SHORT, "--run", "c") == 0, "%s", err);
    CHECK(same_files("b/model.safetensors", "c/model.safetensors"));
}

/* A request to end is heeded between two parts of a step, which is taken again when the run goes on. */
static void within_a_step(void) {
    enter_folder();
#define SLOW "--steps", "2", "--eval-every", "100", "--accumulate", "20000", "--schedule", "constant"
    CHECK(end_after(ARGUMENTS(COPY, SLOW, "--run", "parts"), 150, SIGINT) == 128 + SIGINT, "%s", err);
    Error e = {0};
    Checkpoint c;
    CHECK(checkpoint_open(&c, "parts", &e) && c.state.step < 2, "%s, step %ld", e.text, c.state.step);
    checkpoint_free(&c);
    CHECK(TRAIN(COPY, SLOW, "--run", "whole") == 0, "%s", err);
    CHECK(TRAIN("--resume", "parts", "--quiet") == 0, "%s", err);
    check_same_runs("whole", "parts");
}

PROGRAM_TEST_MAIN({"after every step", every_step}, {"at any moment", any_moment},
                  {"other choices", other_choices}, {"a file of choices", config_file},
                  {"before a bad step", before_a_bad_step}, {"a deleted folder", deleted_folder},
                  {"strange places", strange_places}, {"texts from elsewhere", texts_from_elsewhere},
                  {"within a step", within_a_step})
