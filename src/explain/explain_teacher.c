/* teacher: "the output embeddings are offset by one position" (3.1). While it trains, the decoder is fed the right answer
 * shifted right by one place: at every step it reads what it should have said at the step before, whatever it has said,
 * so that all steps of an answer are computed at once. Running free it reads what it has said itself.
 *
 * Every token is judged in both ways. Free, a mistake is read again, and what follows suffers from it. Whole answers are
 * right equally often: as long as nothing is wrong both ways read the same. */
#include "decoding/decode.h"
#include "explain/lesson.h"
#include "explain/show.h"
#include "kernels/arrays.h"
#include <math.h>

enum {
    SYMBOLS = 12,
    LONGEST = 8,
    MOST = LONGEST + 1,
    STEPS = 480,
    LOOKS = 8,
    JUDGED = 128,
    ROWS = 32,
    SHOWN = 5
};
enum { NOTHING = -1 };

/* What the model says at the steps of a batch's rows, NOTHING behind the end. */
typedef struct Said {
    int32_t taught[ROWS][MOST], free[ROWS][MOST];
} Said;

/* Taught: the likeliest token of every step, all at once. */
static bool teach(Lesson *l, Said *s, Error *e) {
    Trainer *t = &l->trainer;
    long V = l->task->vocab_size;
    trainer_take(t, 0, t->batch->rows);
    Forward f = {.tape = t->tape, .model = l->model, .source = &t->source, .target = &t->target};
    t->tape->no_grad = true;
    const Tensor *scores = nn_logits(&f, nn_hidden(&f));
    bool ok = !tape_failed(t->tape, e);
    for (long r = 0; ok && r < t->batch->rows; r++)
        for (long i = 0, row = t->batch->target_start[r]; i < MOST; i++, row++)
            s->taught[r][i] = row < t->batch->target_start[r + 1]
                                  ? (int32_t)kernel_argmax(V, scores->data + row * V)
                                  : NOTHING;
    tape_reset(t->tape);
    t->tape->no_grad = false;
    return ok;
}

static bool run_free(Lesson *l, Said *s, Error *e) {
    const Task *task = l->task;
    const Batch *b = l->trainer.batch;
    long length[ROWS];
    if (!decode_answers(l->trainer.tape, l->model, &(Sampler){0}, b->rows, b->source_start, b->source,
                        task->begin_id, task->end_id, MOST, s->free[0], length, e))
        return false;
    for (long r = 0; r < b->rows; r++)
        for (long i = length[r]; i < MOST; i++) s->free[r][i] = i == length[r] ? task->end_id : NOTHING;
    return true;
}

/* Draws the held-out rows from `first` on, and listens to both. */
static bool listen(Lesson *l, long first, long rows, Said *s, Error *e) {
    task_held_out_batch(l->task, first, rows, l->trainer.batch);
    return teach(l, s, e) && run_free(l, s, e);
}

/* Shares of tokens, and of whole answers, that are right. */
typedef struct Shares {
    double token, answer;
} Shares;

static void count(const int32_t *said, const BatchRow *row, Shares *sum) {
    long right = 0;
    for (long i = 0; i < row->T; i++) right += said[i] == row->target_out[i];
    sum->token += (double)right, sum->answer += right == row->T;
}

static bool judge(Lesson *l, Shares *taught, Shares *free, Error *e) {
    Said s;
    double tokens = 0;
    *taught = *free = (Shares){0};
    for (long first = 0; first < JUDGED; first += ROWS) {
        if (!listen(l, first, ROWS, &s, e)) return false;
        for (long r = 0; r < ROWS; r++) {
            BatchRow row = batch_row(l->trainer.batch, r);
            count(s.taught[r], &row, taught), count(s.free[r], &row, free);
            tokens += (double)row.T;
        }
    }
    taught->token /= tokens, free->token /= tokens;
    taught->answer /= JUDGED, free->answer /= JUDGED;
    return true;
}

/* ---- The steps of a batch ---- */

static const Column step_columns[] = {{"step", "step", 4, 0},
                                      {"taught_reads", "reads", SHOWN, AS_TEXT},
                                      {"taught_says", "says", SHOWN, AS_TEXT},
                                      {"wanted", "want", SHOWN, AS_TEXT},
                                      {"free_reads", "reads", SHOWN, AS_TEXT},
                                      {"free_says", "says", SHOWN, AS_TEXT}};
enum { STEP_COLUMNS = sizeof step_columns / sizeof *step_columns };

/* A token in one column. */
static char letter(const Task *task, int32_t id) {
    char text[16];
    if (id == NOTHING) return '.';
    if (id == task->begin_id) return '<';
    if (id == task->end_id) return '>';
    if (id == task->pad_id) return '_';
    tokenizer_decode(task->tokenizer, &id, 1, text);
    return *text;
}

/* A line a step, a letter a row of the batch. */
static void show_step(const ExplainOptions *o, const Task *task, const Batch *b, const Said *s, long i) {
    char reads[SHOWN + 1] = "", says[SHOWN + 1] = "", wanted[SHOWN + 1] = "", own[SHOWN + 1] = "",
                       free_says[SHOWN + 1] = "";
    for (long r = 0; r < SHOWN; r++) {
        BatchRow row = batch_row(b, r);
        int32_t before = i ? s->free[r][i - 1] : task->begin_id;
        reads[r] = letter(task, i < row.T ? row.target_in[i] : NOTHING);
        says[r] = letter(task, s->taught[r][i]);
        wanted[r] = letter(task, i < row.T ? row.target_out[i] : NOTHING);
        own[r] = letter(task, before == task->end_id ? NOTHING : before);
        free_says[r] = letter(task, s->free[r][i]);
    }
    show_row(o, "teacher", step_columns, STEP_COLUMNS,
             (Cell[]){NUMBER(i + 1), TEXT(reads), TEXT(says), TEXT(wanted), TEXT(own), TEXT(free_says)});
}

static bool show_steps(const ExplainOptions *o, Lesson *l, Error *e) {
    Said s;
    if (!listen(l, 0, SHOWN, &s, e)) return false;
    show_say(o,
             "A batch of %d sequences to be sorted, a column of letters each, after %ld steps of "
             "training. Taught, the decoder reads what was wanted at the step before, < at first; free, "
             "in the last two columns, what it said itself. > ends an answer.",
             SHOWN, l->trainer.optimizer.step);
    show_head(o, step_columns, STEP_COLUMNS);
    for (long i = 0; i < MOST; i++) show_step(o, l->task, l->trainer.batch, &s, i);
    return true;
}

/* ---- As training goes ---- */

static const Column columns[] = {{"trained", "trained", 7, 0},
                                 {"taught_token", "taught: tokens %", 16, 2},
                                 {"taught_answer", "answers %", 9, 2},
                                 {"free_token", "free: tokens %", 14, 2},
                                 {"free_answer", "answers %", 9, 2}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Shares in per cent by the steps of training. */
typedef struct Course {
    double step[LOOKS], taught[LOOKS], free[LOOKS], widest; /* the largest difference between the two */
    bool same_answers;
} Course;

static bool follow(const ExplainOptions *o, Lesson *l, Course *c, Error *e) {
    *c = (Course){.same_answers = true};
    for (int i = 0; i < LOOKS; i++) {
        Shares taught, free;
        if (!lesson_train(l, STEPS * (i + 1) / LOOKS, e)) return false;
        if (i == 0) {
            if (!show_steps(o, l, e)) return false;
            show_say(o, "%s", "");
            show_say(o, "Of %d held-out sequences, as training goes:", JUDGED);
            show_head(o, columns, COLUMNS);
        }
        if (!judge(l, &taught, &free, e)) return false;
        c->step[i] = STEPS * (i + 1) / LOOKS;
        c->taught[i] = 100 * taught.token, c->free[i] = 100 * free.token;
        c->widest = fmax(c->widest, c->taught[i] - c->free[i]);
        c->same_answers = c->same_answers && taught.answer == free.answer;
        show_row(o, "teacher", columns, COLUMNS,
                 (Cell[]){NUMBER(c->step[i]), NUMBER(c->taught[i]), NUMBER(100 * taught.answer),
                          NUMBER(c->free[i]), NUMBER(100 * free.answer)});
    }
    return true;
}

static bool show_course(const ExplainOptions *o, const Course *c, Error *e) {
    Series series[] = {{"taught", LOOKS, c->step, c->taught}, {"free", LOOKS, c->step, c->free}};
    Picture picture = {PICTURE_CHART, "Taught and free",
                       "Fed its own mistakes the model has fewer tokens right, until it makes none.",
                       .chart = {"step", "tokens right %", .series = series, .count = 2}};
    if (!show_pictures(o, &picture, 1, e)) return false;
    show_found(o, "teacher",
               "fed what it said itself the model has up to %.1f points fewer tokens right than fed what "
               "was wanted; after %d steps %.2f %% and %.2f %%. Whole answers are right %s.",
               c->widest, STEPS, c->free[LOOKS - 1], c->taught[LOOKS - 1],
               c->same_answers ? "equally often, at every step" : "not equally often");
    return true;
}

bool explain_teacher(const ExplainOptions *o, Error *e) {
    Lesson l;
    Course c;
    bool ok =
        lesson_begin(&l, "sort", SYMBOLS, LONGEST, STEPS, ATTENTION_DOT, o->seed, e) && follow(o, &l, &c, e);
    lesson_end(&l);
    return ok && show_course(o, &c, e);
}
