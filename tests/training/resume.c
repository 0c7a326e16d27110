/* A run that was stopped and resumed ends with the bits of an uninterrupted one. */
#include "base/pool.h"
#include "formats/safetensors.h"
#include "model_helpers.h"
#include "record_lines.h"
#include "run/run.h"
#include "run_helpers.h"
#include "training/checkpoint.h"
#include <sys/stat.h>

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
    CHECK(rename("gone", "base") == 0);
    static const struct {
        const char *option, *value;
        int status;
        const char *message;
    } wrong[] = {
        {"--d-model", "16", 78, "base/model.safetensors: made with --d-model 8, now 16"},
        {"--tokenizer", "bpe", 78, "base/model.safetensors: made with --tokenizer char, now bpe"},
        {"--vocab-size", "300", 2, "--vocab-size: found --from, need one of the two"},
        {"--train", "head*", 2, "--train: found no parameter like 'head*', need one that learns"},
        {"--tail", "0", 65, "third: byte 0: "},
    };
    write_text("third", "QQ QQ QQ QQ QQ QQ QQ");
    for (int i = 0; i < 5; i++)
        CHECK(TRAIN("lm", "--from", "base", "--text", i == 4 ? "third" : "text", wrong[i].option,
                    wrong[i].value, "--run", "x") == wrong[i].status &&
                  strstr(err, wrong[i].message),
              "%s", err);
    CHECK(TRAIN("copy", "--from", "base", "--run", "x") == 78 &&
              strstr(err, "found a model of kind lm, need seq2seq for copy"),
          "%s", err);
}

/* ---- Other options ---- */

/* --resume accepts fewer --steps than the warm-up has; a new run refuses them. */
TEST(may_end_early) {
    CHECK(train_some(ARGUMENTS(COPY, "--steps", "10", "--run", "run", "--checkpoint-every", "1"),
                     1) == 1);
    MUST(TRAIN("--resume", "run", "--steps", "1", "--quiet"));
}

/* ---- Invalid checkpoints ---- */

/* Copies a checkpoint with a valid checksum and another value of a key; NULL: without the key. A
 * setting is added. If the key names a tensor, it is left out, or written in the other "precision",
 * as "integers", in another "shape", or with a NaN ("nan"). */
static void change_checkpoint(const char *from, const char *to, const char *key,
                              const char *value) {
    static const real one = 1;
    Safetensors s;
    Error e = {0};
    CHECK(safetensors_read(&s, from, &e), "%s", e.text);
    Metadata *notes = calloc((size_t)s.metadata_count + 2, sizeof *notes);
    Array *array = calloc((size_t)s.tensors + 1, sizeof *array);
    void *wide = NULL;
    int count = 0, arrays = 0;
    for (int i = 0; i < s.metadata_count; i++) {
        bool changed = strcmp(s.metadata[i].key, key) == 0;
        if (strcmp(s.metadata[i].key, "crc32") == 0 || (changed && !value)) continue;
        notes[count++] = changed ? (Metadata){key, value} : s.metadata[i];
    }
    if (strncmp(key, "recipe.", 7) == 0 && value && !safetensors_metadata(&s, key))
        notes[count++] = (Metadata){key, value};
    for (int i = 0; i < s.tensors; i++) {
        bool changed = strcmp(s.tensor[i].name, key) == 0;
        if (changed && !value) continue;
        array[arrays++] = s.tensor[i];
        if (!changed) continue;
        Array *a = &array[arrays - 1];
        wide = calloc((size_t)a->count, sizeof(double));
        a->bytes = wide;
        if (!strcmp(value, "precision")) a->dtype = DTYPE_REAL == DTYPE_F32 ? DTYPE_F64 : DTYPE_F32;
        if (!strcmp(value, "integers")) a->dtype = DTYPE_I32;
        if (!strcmp(value, "shape")) {
            a->size[0] *= 2;
            a->size[1] /= 2;
        }
        if (!strcmp(value, "nan")) memcpy(wide, &(real){(real)NAN}, sizeof(real));
    }
    if (strcmp(key, "more") == 0) array[arrays++] = array_over(key, DTYPE_REAL, SHAPE(1), &one);
    CHECK(safetensors_write(to, notes, count, array, arrays, &e), "%s", e.text);
    free(notes);
    free(array);
    free(wide);
    safetensors_free(&s);
}

#ifdef REAL_DOUBLE
#define PRECISION "double"
#define OWN       "F64"
#define OTHER     "F32"
#else
#define PRECISION "float"
#define OWN       "F32"
#define OTHER     "F64"
#endif

TEST(changed_checkpoints) {
    static const struct {
        const char *key, *value;
        int status;
        const char *want; /* after the path */
    } cases[] = {
        {"run.step", NULL, 65, "metadata: run.step: found \"\", need an integer in [0,1e18]"},
        {"run.step", "", 65, "metadata: run.step: found \"\", need an integer in [0,1e18]"},
        {"run.step", "1.5", 65, "metadata: run.step: found \"1.5\", need an integer in [0,1e18]"},
        {"run.tokens", "-1", 65, "metadata: run.tokens: found \"-1\", need an integer in [0,1e18]"},
        {"run.best_loss", "nan", 65,
         "metadata: run.best_loss: found \"nan\", need a number in (-inf,inf) or inf"},
        {"run.loss_sum", "1e", 65,
         "metadata: run.loss_sum: found \"1e\", need a number in (-inf,inf)"},
        {"task", NULL, 65, "metadata: found no task, need it"},
        {"recipe.momentum", "0.9", 65,
         "metadata: found the setting momentum, which this version does not have"},
        {"recipe.lr", "fast", 65, "metadata: recipe.lr: found \"fast\", need a number in (0,inf)"},
        {"recipe.optimizer", "adam", 65,
         "metadata: recipe.optimizer: found \"adam\", need one of adamw|sgd|muon"},
        {"norm_kind", "batch", 65, "metadata: norm_kind: found \"batch\", need one of layer|rms"},
        {"vocabulary", "12354", 78,
         "text or program differ: made with vocabulary 12354, now 12345"},
        {"vocabulary", "12345 and more characters than a message shows", 78,
         "text or program differ: made with another vocabulary"},
        {"precision", "half", 78,
         "text or program differ: made with precision half, now " PRECISION},
        {"text_crc32", NULL, 78, "text or program differ: made with text_crc32 none, now 00000000"},
        {"moment2.embedding.weight", NULL, 65, "found no tensor \"moment2.embedding.weight\""},
        {"run.best_step", "x", 65,
         "metadata: run.best_step: found \"x\", need an integer in [0,1e18]"},
        {"run.step", "-3", 65, "metadata: run.step: found \"-3\", need an integer in [0,1e18]"},
        {"moment1.embedding.weight", "precision", 65,
         "moment1.embedding.weight: found " OTHER ", need " OWN},
        {"moment1.embedding.weight", "integers", 65,
         "moment1.embedding.weight: found I32, need " OWN},
        {"moment1.embedding.weight", "shape", 65,
         "moment1.embedding.weight: found shape [16,4], need [8,8]"},
        {"embedding.weight", "nan", 65,
         "embedding.weight: element 0: found nan, need a finite number"},
        {"more", NULL, 65, "found 94 tensors, need 93"},
    };
    MUST(TRAIN(COPY, "--steps", "2", "--run", "run"));
    CHECK(mkdir("changed", 0777) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[400];
        change_checkpoint("run/checkpoint.safetensors", "changed/checkpoint.safetensors",
                          cases[i].key, cases[i].value);
        int status = TRAIN("--resume", "changed", "--steps", "3", "--quiet");
        snprintf(line, sizeof line, "train: changed/checkpoint.safetensors: %s\n", cases[i].want);
        CHECK(status == cases[i].status && !strcmp(err, line), "%s: status %d: found %swant %s",
              cases[i].key, status, err, line);
        CHECK(lines_of(list_folder("changed")) == 2, "%s", listing);
    }
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

/* A setting that a checkpoint lacks has its default: the run goes on as one that was given it. */
TEST(a_checkpoint_of_fewer_settings) {
    static const char *const lacks[] = {"recipe.clip", "recipe.lr", "norm_kind"};
    MUST(TRAIN(COPY, "--steps", "2", "--run", "run"));
    CHECK(mkdir("changed", 0777) == 0);
    MUST(TRAIN("--resume", "run", "--steps", "3", "--quiet"));
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN(COPY, "--steps", "2", "--run", "whole", "--force"));
        change_checkpoint("whole/checkpoint.safetensors", "changed/checkpoint.safetensors",
                          lacks[i], NULL);
        MUST(TRAIN("--resume", "changed", "--steps", "3", "--quiet"));
        CHECK(same_files("changed/model.safetensors", "run/model.safetensors"), "%s", lacks[i]);
    }
}

RUN_PROGRAM_TESTS
