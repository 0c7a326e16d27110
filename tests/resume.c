/* A run that stops, however it is stopped, is gone on with to the bits of one that never did. */
#include "base/pool.h"
#include "report/run.h"
#include "run_helpers.h"

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

/* As if the run had taken a day longer so far. */
static void add_a_day(const char *path) {
    size_t size = 0;
    char *csv = read_bytes(path, &size);
    FILE *f = fopen(path, "w");
    int commas = 0;
    for (const char *at = csv; at && f && *at; at++) {
        fputc(*at, f);
        if (*at == '\n') commas = 0;
        commas += *at == ',';
        if (*at == ',' && commas == 3 && at[1] != 's') fputs("8640", f);
    }
    if (f) fclose(f);
    free(csv);
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
 * between them, weights, moments and figures are those of a run in one piece; with dropout, accumulation, windows; and
 * however long it takes. */
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
            if (reached == STEPS / 2) add_a_day(lm ? "lm parts/metrics.csv" : "parts/metrics.csv");
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

PROGRAM_TEST_MAIN({"after every step", every_step, 300}, {"at any moment", any_moment},
                  {"other choices", other_choices}, {"a file of choices", config_file})
