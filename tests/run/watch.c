/* The rows and steps that a page shows, and the progress bar. */
#include "run/watch.h"
#include "child.h"
#include "decoding/beam.h"
#include "run/progress.h"
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
    CHECK(trainer_start(&w->trainer, &e) && watch_open(&w->watch, &w->trainer, &e), "%s", e.text);
}

#define OPEN(w, ...) open_watch(w, (char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *))

static void close_watch(Watched *w) {
    watch_close(&w->watch);
    trainer_stop(&w->trainer);
    model_free(w->trainer.model);
    task_free(w->task);
    train_config_free(&w->config);
}

/* However often a run is looked at, a file keeps at most so many frames: the first, the newest, and others that lie evenly
 * between them. Frames after a step from which the run is made again go. */
TEST(long_runs_are_thinned_out) {
    enum { MOST = 6, LOOKS = 60 };
    Watched w;
    Error e = {0};
    OPEN(&w, "train", "copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "8", "--symbols",
         "5", "--max-length", "3", "--held-out", "9");
    CHECK(watch_look(&w.watch, &w.trainer, &e), "%s", e.text);
    for (long look = 1; look <= LOOKS; look++) {
        Safetensors file = {0};
        static Frames f;
        FramesPage parts;
        Page p = {0};
        long step = look < LOOKS ? 10 * look : 305;
        f = (Frames){0};
        watch_add(&w.watch, step, &f);
        if (look > 1 && safetensors_read(&file, "frames.safetensors", &e))
            frames_add_earlier(&f, &file, step, MOST - 1);
        CHECK(frames_write(&f, ".", &e), "%s", e.text);
        safetensors_free(&file);
        CHECK(safetensors_read(&file, "frames.safetensors", &e) &&
                  frames_page(&parts, &file, w.task->vocab_size, &p, &e),
              "%s", e.text);
        CHECK(look == LOOKS || p.frame_count == (look < MOST ? look : MOST), "look %ld: %d frames", look,
              p.frame_count);
        CHECK(p.frames[0].step == 10 && p.frames[p.frame_count - 1].step == step && p.sample_count == 5,
              "look %ld", look);
        for (int i = 1; i < p.frame_count && look < LOOKS; i++)
            CHECK(p.frames[i].step > p.frames[i - 1].step &&
                      p.frames[i].step - p.frames[i - 1].step <= 10 + 3 * step / MOST,
                  "look %ld: step %ld after %ld", look, p.frames[i].step, p.frames[i - 1].step);
        frames_page_free(&parts);
        safetensors_free(&file);
    }
    close_watch(&w);
}

/* A file of frames that is not what it should be is refused in one line. */
TEST(damaged_frames) {
    static const int32_t ids[] = {0, 1, 9, -1};
    static const uint8_t weights[4] = {0};
    static const real number[] = {1};
    const struct {
        Array array[3];
        const char *said;
    } cases[] = {
        {{array_over("sample.0.given", DTYPE_I32, SHAPE(3), ids)}, "found the id 9, need one below 4"},
        {{array_over("sample.0.given", DTYPE_I32, SHAPE(1), ids + 3)}, "found the id -1"},
        {{array_over("sample.0.given", DTYPE_REAL, SHAPE(1), number)}, "sample.0.given: found F"},
        {{array_over("sample.0.given", DTYPE_I32, SHAPE(1, 2), ids)}, "sample.0.given: found"},
        {{array_over("example.0.target", DTYPE_I32, SHAPE(2), ids),
          array_over("frame.1.answer.0", DTYPE_I32, SHAPE(2), ids)},
         "frame.0000000001.example.0.text: found none"},
        {{array_over("example.0.target", DTYPE_I32, SHAPE(2), ids),
          array_over("frame.0000000001.example.0.text", DTYPE_U8, SHAPE(1, 1, 4, 1), weights)},
         "found shape [1,1,4,1], need [1,1,2,2]"},
        {{array_over("searched.given", DTYPE_I32, SHAPE(1), ids),
          array_over("beam.0.tokens", DTYPE_I32, SHAPE(2), ids),
          array_over("beam.0.probability", DTYPE_REAL, SHAPE(1), number)},
         "beam.0.probability: found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Frames f = {0};
        FramesPage parts;
        Page p = {0};
        Error e = {0};
        while (f.tensors < 3 && cases[i].array[f.tensors].name) f.tensors++;
        memcpy(f.tensor, cases[i].array, sizeof cases[i].array);
        Safetensors file = frames_as_file(&f);
        CHECK(!frames_page(&parts, &file, 4, &p, &e) && e.status == STATUS_BAD_DATA &&
                  strstr(e.text, cases[i].said),
              "case %zu: %s", i, e.text);
        frames_page_free(&parts);
    }
}

/* The page has the answers of a beam search to the first source with a wrong answer. Their probabilities multiply to the
 * scores of another search, and the list has one item for each different beginning. */
TEST(beams_are_a_tree) {
    enum { STEPS = 40 };
    Watched w;
    Error e = {0};
    OPEN(&w, "train", "reverse", "--d-model", "16", "--heads", "2", "--layers", "1", "--batch", "16",
         "--symbols", "4", "--max-length", "5", "--held-out", "9");
    for (int step = 0; step < STEPS; step++)
        CHECK(trainer_step(&w.trainer, &(StepResult){0}, &e), "%s", e.text);
    CHECK(watch_look(&w.watch, &w.trainer, &e), "%s", e.text);
    static Frames f;
    FramesPage parts;
    const char *token[7] = {"1", "2", "3", "4", "begin", "end", "pad"};
    Page p = {.title = "t", .status = "s", .token = token};
    watch_add(&w.watch, STEPS, &f);
    Safetensors file = frames_as_file(&f);
    CHECK(frames_page(&parts, &file, w.task->vocab_size, &p, &e), "%s", e.text);
    int first = 0;
    for (const PageAnswer *a = p.frames->answer; first + 1 < p.sample_count; first++, a++)
        if (a->count != p.samples[first].wanted_count ||
            memcmp(a->tokens, p.samples[first].wanted, (size_t)a->count * sizeof *a->tokens) != 0)
            break;
    CHECK(p.searched.given_count == p.samples[first].given_count &&
              !memcmp(p.searched.given, p.samples[first].given,
                      (size_t)p.searched.given_count * sizeof(int32_t)) &&
              p.beam_count == 3,
          "%d answers", p.beam_count);

    Hypothesis best[3];
    Decoder d;
    long found, beginnings = 0;
    const Task *task = w.task;
    Given given = {&task->begin_id,
                   1,
                   1,
                   (long[]){0, p.searched.given_count},
                   p.searched.given,
                   .next = {task->tokenizer, task->begin_id, task->end_id, task->pad_id}};
    BeamOptions o = {.length_penalty = 0.6, .n_best = 3};
    CHECK(
        decoder_open(&d, w.trainer.tape, w.trainer.model, 3, &given, p.samples[first].wanted_count + 4, &e) &&
            beam_search(&d, &o, best, &found, &e) && found == 3,
        "%s", e.text);
    for (int i = 0; i < 3; i++) {
        const PageBeam *b = &p.beams[i];
        double log_p = 0;
        for (long k = 0; k < b->answer.count; k++) log_p += log(b->probability[k]);
        CHECK_NEAR(log_p / pow((5 + (double)b->answer.count) / 6, 0.6), best[i].score, 1e-4);
        CHECK(memcmp(b->answer.tokens, best[i].ids, (size_t)best[i].n * sizeof *best->ids) == 0, "answer %d",
              i);
        for (long k = 0; k < b->answer.count; k++, beginnings++)
            for (int other = 0; other < i; other++)
                if (p.beams[other].answer.count > k && memcmp(p.beams[other].answer.tokens, b->answer.tokens,
                                                              (size_t)(k + 1) * sizeof(int32_t)) == 0) {
                    beginnings--;
                    break;
                }
        free(best[i].ids);
    }
    decoder_close(&d);
    CHECK(page_write(&p, "page.html", &e), "%s", e.text);
    size_t size;
    char *text = read_bytes("page.html", &size), *list = strstr(text, "class=\"beams\""),
         *end = strstr(list, "</div>");
    *end = 0;
    CHECK(count_of(list, "<li") == beginnings && count_of(list, "class=\"best\"") == p.beams->answer.count,
          "%d items, %ld beginnings", count_of(list, "<li"), beginnings);
    free(text);
    close_watch(&w);
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
        long weights = 0;
        CHECK((w.watch.rows > 0) == cases[i].rows && (w.watch.examples > 0) == cases[i].examples,
              "case %zu: %d rows, %d examples", i, w.watch.rows, w.watch.examples);
        for (int r = 0; r < w.watch.rows; r++)
            CHECK(w.watch.row[r].n > 0 && w.watch.row[r].n <= WATCHED_TOKENS &&
                      w.watch.row[r].m <= WATCHED_TOKENS,
                  "%ld, %ld", w.watch.row[r].n, w.watch.row[r].m);
        for (int k = 0; k < w.watch.examples; k++) {
            weights += page_weights(&w.watch.example[k]);
            for (int g = 0; g < w.watch.example[k].groups; g++)
                CHECK(w.watch.example[k].group[g].rows <= 32 && w.watch.example[k].group[g].columns <= 32);
        }
        CHECK(weights <= 40000 && w.watch.most >= 1 && w.watch.most <= PAGE_FRAMES, "%ld weights, %d frames",
              weights, w.watch.most);
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
