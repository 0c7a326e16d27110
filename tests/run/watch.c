/* The rows and steps that a page shows, and the progress bar. */
#include "run/watch.h"
#include "child.h"
#include "run/progress.h"
#include "run/run_page.h"
#include "training/train_config.h"
#include <poll.h>

/* ---- Rows and steps ---- */

typedef struct Watched {
    TrainConfig config;
    Task *task;
    Trainer trainer;
    Watch watch;
} Watched;

/* Opens the watch of a run with these arguments. */
static void open_watch(Watched *w, char **arguments, int count) {
    Error e = {0};
    *w = (Watched){0};
    CHECK(train_config_parse(&w->config, count, arguments, &e) && train_config_complete(&w->config, &e), "%s",
          e.text);
    w->task = task_open(w->config.task, &w->config.data, &e);
    w->trainer = train_config_trainer(&w->config, w->task);
    ModelConfig c = train_config_model(&w->config, w->task);
    w->trainer.model = model_new(&c, true, 1, &e);
    CHECK(trainer_start(&w->trainer, &e) && watch_open(&w->watch, &w->config, &w->trainer, &e), "%s", e.text);
}

#define OPEN(w, ...) open_watch(w, (char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *))

static void close_watch(Watched *w) {
    watch_close(&w->watch);
    trainer_stop(&w->trainer);
    model_free(w->trainer.model);
    task_free(w->task);
    train_config_free(&w->config);
}

/* However often a run is looked at, at most so many frames stay: the first, the newest, and others that lie evenly between
 * them. Frames from a step on from which the run is made again go. */
TEST(long_runs_are_thinned_out) {
    enum { MOST = 6, LOOKS = 60 };
    Watched w;
    Error e = {0};
    OPEN(&w, "train", "copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "8", "--symbols",
         "5", "--max-length", "3", "--held-out", "9", "--run", ".");
    Frames *f = &w.watch.frames, file;
    Safetensors read = {0};
    f->most = MOST;
    for (long look = 1; look <= LOOKS; look++) {
        long step = w.trainer.state.step = look < LOOKS ? 10 * look : 305;
        CHECK(watch_look(&w.watch, &e), "%s", e.text);
        CHECK(look == LOOKS || f->count == (look < MOST ? look : MOST), "look %ld: %d frames", look,
              f->count);
        CHECK(f->step[0] == 10 && f->step[f->count - 1] == step && frames_lists(f, LIST_GIVEN, SAMPLES) == 5,
              "look %ld", look);
        for (int i = 1; i < f->count && look < LOOKS; i++)
            CHECK(f->step[i] > f->step[i - 1] && f->step[i] - f->step[i - 1] <= 10 + 3 * step / MOST,
                  "look %ld: step %d after %d", look, f->step[i], f->step[i - 1]);
    }
    /* The file has them all. */
    CHECK(frames_write(f, NULL, 0, ".", &e) && safetensors_read(&read, "frames.safetensors", &e) &&
              frames_read(&file, &read, w.task->vocab_size, &e),
          "%s", e.text);
    CHECK(
        file.count == f->count && !memcmp(file.step, f->step, (size_t)f->count * sizeof *f->step) &&
        !memcmp(file.weight, f->weight, (size_t)(f->count * f->weights)) &&
        !memcmp(file.tokens, f->tokens, (size_t)(frames_answer(f->count, 0) * f->width) * sizeof *f->tokens));
    frames_free(&file);
    safetensors_free(&read);
    close_watch(&w);
}

/* A file of frames that is not what it should be is refused in one line. */
TEST(damaged_frames) {
    enum { ROWS = LIST_ANSWER + SAMPLES };
    static const int32_t model[] = {1, 0, 2, 8}, far[] = {1, 0, 2 << 20, 8}, step[] = {1};
    static const uint8_t weights[6] = {0};
    static int32_t tokens[2 * ROWS], outside[2 * ROWS];
    for (int i = 0; i < 2 * ROWS; i++) tokens[i] = outside[i] = i / 2 == LIST_TARGET ? i % 2 : -1;
    outside[0] = 4;
    const Array whole[] = {array_over("model", DTYPE_I32, SHAPE(4), model),
                           array_over("steps", DTYPE_I32, SHAPE(1), step),
                           array_over("tokens", DTYPE_I32, SHAPE(ROWS, 2), tokens),
                           array_over("weights", DTYPE_U8, SHAPE(1, 6), weights)};
    const struct {
        int place;
        Array array;
        const char *said;
    } cases[] = {
        {0, whole[0], NULL},
        {0, array_over("other", DTYPE_I32, SHAPE(4), model), "found no tensor \"model\""},
        {0, array_over("model", DTYPE_I32, SHAPE(3), model), "model: found shape [3], need [4]"},
        {0, array_over("model", DTYPE_I32, SHAPE(4), far),
         "model: found 2097152, need one from 0 to 1048576"},
        {1, array_over("steps", DTYPE_F32, SHAPE(1), step), "steps: found F32 of rank 1, need I32 of rank 1"},
        {1, array_over("steps", DTYPE_I32, SHAPE(25), tokens), "found 25 frames of lists of 2 tokens"},
        {2, array_over("tokens", DTYPE_I32, SHAPE(ROWS - 1, 2), tokens), "tokens: found shape ["},
        {2, array_over("tokens", DTYPE_I32, SHAPE(ROWS, 2), outside),
         "tokens: found 4, need one from -1 to 3"},
        {3, array_over("weights", DTYPE_U8, SHAPE(1, 5), weights), "weights: found shape [1,5], need [1,6]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Array array[4];
        Safetensors file = {0};
        Frames f;
        Error e = {0};
        memcpy(array, whole, sizeof array);
        array[cases[i].place] = cases[i].array;
        CHECK(safetensors_write("frames", NULL, 0, array, 4, &e) && safetensors_read(&file, "frames", &e),
              "%s", e.text);
        bool ok = frames_read(&f, &file, 4, &e);
        CHECK(cases[i].said ? !ok && e.status == STATUS_BAD_DATA && strstr(e.text, cases[i].said) : ok,
              "case %zu: %s", i, e.text);
        frames_free(&f);
        safetensors_free(&file);
    }
}

/* Sources are shown whole or not at all, and with as many weights as fit a page: for a model with many heads,
 * only short ones, or none. */
TEST(rows_that_have_room) {
    static const struct {
        const char *length, *layers, *heads;
        bool rows, examples;
    } cases[] = {{"8", "1", "1", true, true},
                 {"60", "1", "1", true, true},  /* some are too long for a drawing */
                 {"200", "1", "1", true, true}, /* and some to be watched */
                 {"12", "20", "8", true, true}, /* short ones alone */
                 {"12", "300", "8", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Watched w;
        OPEN(&w, "train", "copy", "--d-model", "8", "--d-ff", "8", "--batch", "16", "--max-length",
             (char *)cases[i].length, "--layers", (char *)cases[i].layers, "--heads", (char *)cases[i].heads);
        const Frames *f = &w.watch.frames;
        int rows = frames_lists(f, LIST_GIVEN, SAMPLES), examples = frames_lists(f, LIST_TARGET, EXAMPLES);
        CHECK((rows > 0) == cases[i].rows && (examples > 0) == cases[i].examples,
              "case %zu: %d rows, %d examples", i, rows, examples);
        for (int k = 0; k < examples; k++) {
            Group group[GROUPS];
            for (int g = frames_groups(f, k, group); g-- > 0;)
                CHECK(group[g].rows.count <= 32 && group[g].columns.count <= 32);
        }
        CHECK(f->weights <= 40000 && f->most >= 1 && f->most <= FRAMES, "%ld weights, %d frames", f->weights,
              f->most);
        close_watch(&w);
    }
}

/* ---- The bar ---- */

/* The output of a bar on a terminal of this width after these seconds. */
static const char *bar(int columns, double seconds, Report r, long resumed_at, long total, bool last) {
    static char text[4096];
    int other, terminal = open_terminal(columns, &other), before = dup(STDERR_FILENO);
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    setenv("TERM", "xterm", 1);
    dup2(other, STDERR_FILENO);
    Progress p = progress_start("train", total, false);
    p.start -= seconds;
    p.before = resumed_at;
    progress_clear(&p); /* before there is any */
    if (last)
        progress_end(&p, &r);
    else
        progress_show(&p, &r), progress_clear(&p);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    /* The terminal passes the text on with a delay: a bell marks its end. */
    struct pollfd ready = {terminal, POLLIN, 0};
    size_t n = 0;
    CHECK(write(other, "\a", 1) == 1);
    while (!memchr(text, '\a', n) && poll(&ready, 1, 10000) > 0) {
        ssize_t more = read(terminal, text + n, sizeof text - 1 - n);
        if (more <= 0) break;
        n += (size_t)more;
    }
    CHECK(n > 0 && text[n - 1] == '\a');
    text[n > 0 ? n - 1 : 0] = 0;
    close(before), close(other), close(terminal);
    return text;
}

TEST(bars_say_how_long) {
    static const struct {
        double seconds, rate;
        long done, total;
        bool last;
        const char *want;
    } cases[] = {
        {65, 940, 50, 100, false,
         "\r\033[Ktrain [###############...............] 50/100  loss 1.5  val 2.5  940 tok/s  1:05 left"
         "\r\033[K"},
        {4000, 9994, 50, 100, false, "  9.99k tok/s  1:06:40 left"},
        {4000, 45600, 25, 100, false, "  45.6k tok/s  3:20:00 left"},
        {10, 123456, 50, 100, false, "  123k tok/s  0:10 left"},
        {10, 1234567, 50, 100, false, "  1.23M tok/s  0:10 left"},
        {10, 2e13, 50, 100, false, "  20000G tok/s  0:10 left"},
        {10, 1, 0, 100, false, " 0/100  loss 1.5  val 2.5  1 tok/s  0:00 left"},
        {3599.6, 1, 100, 100, true,
         "train [##############################] 100/100  loss 1.5  val 2.5  1 tok/s  1:00:00 taken\r\n"},
        {59, 1, 0, 0, true,
         "train [##############################] 0/0  loss 1.5  val 2.5  1 tok/s  0:59 taken\r\n"},
        {59, 1, 100, 100, false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Report r = {cases[i].done, "loss 1.5", "val 2.5", cases[i].rate, "tok/s"};
        const char *text = bar(100, cases[i].seconds, r, 0, cases[i].total, cases[i].last);
        CHECK(*cases[i].want ? strstr(text, cases[i].want) != NULL : !*text, "case %zu: found %s", i, text);
    }
    Report r = {50, "loss 1.5", "", 940, "tok/s"};
    CHECK(strstr(bar(30, 65, r, 0, 100, false), "train 50/100  loss 1.5"), "%s",
          bar(30, 65, r, 0, 100, false));
    /* A run that continues at step 40 has made 10 steps in 10 seconds. */
    CHECK(strstr(bar(100, 10, r, 40, 100, false), "  0:50 left"), "%s", bar(100, 10, r, 40, 100, false));
}

RUN_PROGRAM_TESTS
