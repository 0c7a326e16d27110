/* A run that was stopped and resumed ends with the bits of an uninterrupted one. */
#include "base/pool.h"
#include "formats/safetensors.h"
#include "model_helpers.h"
#include "record_lines.h"
#include "run/run.h"
#include "run_helpers.h"
#include "training/checkpoint.h"

/* A record without what differs between equal runs: times, the lines of runs, which say where they
 * were resumed, and looks, which depend on the time. */
static char *figures(const char *path) {
    size_t size = 0, used = 0;
    char *record = read_bytes(path, &size), *kept = record ? calloc(size + 1, 1) : NULL;
    if (!kept) {
        free(record);
        return NULL;
    }
    for (const char *line = record; *line; line = next_line(line)) {
        bool is_step = find_event(line, "step") == line,
             is_evaluation = find_event(line, "evaluation") == line;
        if (!is_step && !is_evaluation) continue;
        size_t length = (size_t)(next_line(line) - line);
        memcpy(kept + used, line, length);
        for (int i = 0; i < 2; i++) {
            char *at = strstr(kept + used, i ? "\"seconds\": " : "\"tokens_per_second\": ");
            for (at = at ? strchr(at, ':') + 1 : NULL; at && strchr(" .0123456789e+-", *at); at++)
                *at = ' ';
        }
        used += length;
    }
    char *squeezed = kept;
    for (const char *from = kept; *from; from++)
        if (*from != ' ') *squeezed++ = *from;
    *squeezed = 0;
    free(record);
    return kept;
}

/* Adds a day to the seconds of every evaluation. */
static void add_a_day(const char *path) {
    size_t size = 0;
    char *record = read_bytes(path, &size);
    FILE *f = fopen(path, "w");
    static const char seconds[] = "\"seconds\": ";
    bool opened = record && f;
    CHECK(opened);
    for (const char *at = opened ? record : ""; *at; at++) {
        fputc(*at, f);
        if (at >= record + strlen(seconds) &&
            !strncmp(at + 1 - strlen(seconds), seconds, strlen(seconds)))
            fputs("8640", f);
    }
    if (f) fclose(f);
    free(record);
}

static void check_same_runs(const char *a, const char *b) {
    static const char *const names[] = {"checkpoint.safetensors", "best.safetensors",
                                        "model.safetensors"};
    char path[3][200];
    for (int i = 0; i < 3; i++) {
        snprintf(path[0], sizeof path[0], "%s/%s", a, names[i]);
        snprintf(path[1], sizeof path[1], "%s/%s", b, names[i]);
        if (access(path[0], F_OK) == 0) CHECK(same_files(path[0], path[1]), "%s", path[1]);
    }
    snprintf(path[0], sizeof path[0], "%s/run.jsonl", a);
    snprintf(path[1], sizeof path[1], "%s/run.jsonl", b);
    char *want = figures(path[0]), *found = figures(path[1]);
    CHECK(want && found && !strcmp(want, found), "found\n%s\nwant\n%s", found ? found : "none",
          want ? want : "none");
    free(want);
    free(found);
}

/* ---- After every step ---- */

/* Starts or resumes a run as ./train does, and drops it after `most` steps. */
static long train_some(const char *const *arguments, long max) {
    char *argv[MAX_ARGUMENTS + 2] = {(char *)"train"};
    int argc = 1;
    while (arguments[argc - 1]) {
        argv[argc] = (char *)arguments[argc - 1];
        argc++;
    }
    Error e = {0};
    TrainConfig config;
    Checkpoint past = {0};
    bool ok = train_config_parse(&config, argc, argv, &e);
    if (ok && config.resume)
        ok = checkpoint_open(&past, config.resume, &e) &&
             train_config_resume(&config, &past.file, &e);
    ok = ok && from_configure(&config, &past, &e) && train_config_complete(&config, &e);
    Task *task = ok ? train_config_open(&config, &e) : NULL;
    CHECK(task, "%s", e.text);
    if (!task) exit(1);
    Trainer t = train_config_trainer(&config, task);
    ModelConfig c = train_config_model(&config, task);
    Run run;
    t.model = trainer_model(&t, &c, &e);
    CHECK(t.model && model_allocate(t.model, &e), "%s", e.text);
    model_init(t.model, config.data.seed);
    t.model->dropout = config.dropout;
    ok = trainer_start(&t, &e) && (!config.resume || checkpoint_restore(&past, &t, &e)) &&
         (config.resume || !config.from || from_read_weights(&t, &config, &e)) &&
         run_open(&run, &config, &t, &(Yardsticks){0}, config.resume ? &past : NULL, &e);
    for (long i = 0; ok; i++) {
        StepResult step;
        Evaluation v;
        if (trainer_evaluation_due(&t))
            ok = trainer_evaluate(&t, 8, &v, &e) && run_evaluated(&run, &v, &e);
        if (!ok || !run_goes_on(&run) || i == max || t.state.step == t.schedule.steps) break;
        ok = trainer_step(&t, &step, &e);
        if (ok) run_stepped(&run, &step);
    }
    long reached = t.state.step;
    run_close(&run);
    CHECK(ok, "%s", e.text);
    trainer_stop(&t);
    model_free(t.model);
    task_free(task);
    checkpoint_free(&past);
    train_config_free(&config);
    return reached;
}

/* A run that has made one step is resumed and dropped after each further one, with other numbers of
 * threads and other times. */
static void resume_in_parts(const char *run, long steps) {
    char csv[64];
    snprintf(csv, sizeof csv, "%s/run.jsonl", run);
    long reached = 1;
    for (long want = 2; want <= steps && reached == want - 1; want++) {
        pool_set_threads(1 + (int)(want % 3));
        if (want == steps / 2) add_a_day(csv);
        reached = train_some(ARGUMENTS("--resume", run, "--quiet"), 1);
        CHECK(reached == want, "found step %ld, want %ld", reached, want);
    }
    pool_set_threads(1);
}

enum { STEPS = 200 };
#define STEPS_TEXT "200"

/* A run stopped after each of its 200 steps, and resumed with other numbers of threads, has the
 * weights, moments and figures of an uninterrupted run: with AdamW and Muon, dropout, accumulation
 * and windows, and whatever its times. */
TEST(after_every_step) {
    write_cat_text("text", 599);
#define MODERN "--preset", "modern"
#define REST                                                                                       \
    "--dropout", "0.1", "--accumulate", "2", "--steps", STEPS_TEXT, "--eval-every", "7",           \
        "--checkpoint-every", "1"
    for (int lm = 0; lm < 2; lm++) {
        const char *const *whole = lm ? ARGUMENTS(LM, MODERN, REST, "--run", "lm whole")
                                      : ARGUMENTS(COPY, REST, "--run", "whole");
        const char *const *first = lm ? ARGUMENTS(LM, MODERN, REST, "--run", "lm parts")
                                      : ARGUMENTS(COPY, REST, "--run", "parts");
        CHECK(train_some(whole, STEPS) == STEPS && train_some(first, 1) == 1);
        resume_in_parts(lm ? "lm parts" : "parts", STEPS);
        check_same_runs(lm ? "lm whole" : "whole", lm ? "lm parts" : "parts");
    }
}

/* ---- Another run's weights ---- */

/* The tensor of this name in both files. */
static bool same_tensor(const Safetensors *a, const Safetensors *b, const char *name) {
    const Array *x = safetensors_find(a, name), *y = safetensors_find(b, name);
    return x && y && x->count == y->count &&
           memcmp(x->bytes, y->bytes, (size_t)x->count * sizeof(real)) == 0;
}

/* A run begins with another's weights and tokenizer, on a text that has other characters, and
 * trains the norms only: the other weights keep their bytes, and have no moments. Stopped after
 * each step it ends in the same bits, also when the other run is gone. */
TEST(weights_of_another_run) {
    Error e = {0};
    Safetensors base, tuned;
    char other[200] = "";
    for (int i = 0; i < 199; i++) other[i] = "at hat"[i % 6];
    write_cat_text("text", 199);
    write_text("other", other);
    MUST(TRAIN(LM, "--tokenizer", "char", "--positions", "learned", "--steps", "4", "--run",
               "base"));
#define TUNE                                                                                       \
    "lm", "--from", "base", "--text", "other", "--train", "*norm*", "--steps", "6", "--batch",     \
        "4", "--quiet"
    CHECK(train_some(ARGUMENTS(TUNE, "--checkpoint-every", "1", "--run", "whole"), 6) == 6);
    CHECK(train_some(ARGUMENTS(TUNE, "--checkpoint-every", "1", "--run", "parts"), 1) == 1);
    CHECK(rename("base", "gone") == 0);
    resume_in_parts("parts", 6);
    check_same_runs("whole", "parts");
    CHECK(safetensors_read(&base, "gone/model.safetensors", &e) &&
              safetensors_read(&tuned, "parts/checkpoint.safetensors", &e),
          "%s", e.text);
    for (int i = 0; i < base.tensors; i++) {
        const char *name = base.tensor[i].name;
        char moment[PARAMETER_NAME + 8];
        snprintf(moment, sizeof moment, "moment1.%s", name);
        bool norm = strstr(name, "norm");
        CHECK(same_tensor(&base, &tuned, name) == !norm &&
                  !safetensors_find(&tuned, moment) == !norm,
              "%s", name);
    }
    safetensors_free(&base);
    safetensors_free(&tuned);
}

/* ---- Other options ---- */

/* --resume accepts fewer --steps than the warm-up has; a new run refuses them. */
TEST(may_end_early) {
    CHECK(train_some(ARGUMENTS(COPY, "--steps", "10", "--run", "run", "--checkpoint-every", "1"),
                     1) == 1);
    MUST(TRAIN("--resume", "run", "--steps", "1", "--quiet"));
}

/* A checkpoint that another process replaces after it was read is refused: the other run would be
 * lost. */
TEST(replaced_meanwhile) {
    MUST(TRAIN(COPY, "--steps", "2", "--run", "run"));
    char *argv[] = {"train", "--resume", "run", "--quiet"};
    Error e = {0};
    TrainConfig config;
    Checkpoint past;
    CHECK(train_config_parse(&config, 4, argv, &e) && checkpoint_open(&past, "run", &e) &&
              train_config_resume(&config, &past.file, &e) && train_config_complete(&config, &e),
          "%s", e.text);
    Task *task = task_open(config.task, &config.data, &e);
    Trainer t = train_config_trainer(&config, task);
    ModelConfig c = train_config_model(&config, task);
    t.model = model_new(&c, true, 1, &e);
    CHECK(trainer_start(&t, &e) && checkpoint_restore(&past, &t, &e), "%s", e.text);
    MUST(TRAIN("--resume", "run", "--steps", "5", "--quiet"));
    char *before = strdup(list_folder("run"));
    Run run;
    CHECK(!run_open(&run, &config, &t, &(Yardsticks){0}, &past, &e) &&
          e.status == STATUS_CANNOT_CREATE);
    CHECK(!strcmp(e.text,
                  "run/checkpoint.safetensors: another process has replaced it since it was read"),
          "%s", e.text);
    run_close(&run);
    CHECK(!strcmp(before, list_folder("run")), "before\n%s\nafter\n%s", before, listing);
    free(before);
    trainer_stop(&t);
    model_free(t.model);
    task_free(task);
    checkpoint_free(&past);
    train_config_free(&config);
}

RUN_PROGRAM_TESTS
