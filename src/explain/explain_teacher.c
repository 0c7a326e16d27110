/* teacher: "the output embeddings are offset by one position" (3.1). In training the decoder reads the
 * right answer shifted right by one: at step i it reads token i-1 of the right answer, whatever it has
 * said itself. So all steps of an answer are computed at once; this is teacher forcing. Running free, the
 * decoder reads its own token i-1.
 *
 * Tokens are judged in both ways. Running free, a mistake is read again, and later tokens suffer from it.
 * Whole answers are right equally often in both ways: up to the first mistake both read the same. They are
 * therefore not shown. */
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

/* The tokens that the model says at each step of each row; NOTHING after the end. */
typedef struct Said {
    int32_t taught[ROWS][MOST], free[ROWS][MOST];
} Said;

/* Teacher forcing: the likeliest token of every step, all at once. */
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

/* Draws held-out rows from `first` on and lets the model answer them in both ways. */
static bool listen(Lesson *l, long first, long rows, Said *s, Error *e) {
    task_held_out_batch(l->task, first, rows, l->trainer.batch);
    return teach(l, s, e) && run_free(l, s, e);
}

/* Right tokens. */
static long count(const int32_t *said, const BatchRow *row) {
    long right = 0;
    for (long i = 0; i < row->T; i++) right += said[i] == row->target_out[i];
    return right;
}

/* Shares of held-out tokens that are right. */
static bool judge(Lesson *l, double *taught, double *free, Error *e) {
    Said s;
    long tokens = 0, right_taught = 0, right_free = 0;
    for (long first = 0; first < JUDGED; first += ROWS) {
        if (!listen(l, first, ROWS, &s, e)) return false;
        for (long r = 0; r < ROWS; r++) {
            BatchRow row = batch_row(l->trainer.batch, r);
            right_taught += count(s.taught[r], &row), right_free += count(s.free[r], &row);
            tokens += row.T;
        }
    }
    *taught = (double)right_taught / (double)tokens, *free = (double)right_free / (double)tokens;
    return true;
}

/* ---- The steps of a batch ---- */

enum { SOURCE, TAUGHT_READS, TAUGHT_SAYS, WANTED, FREE_READS, FREE_SAYS, TEXTS };
static const Table step_table = {"teacher",
                                 {{"step", "step", 4, 0},
                                  {"source", "source", 6, AS_TEXT},
                                  {"taught_reads", "taught: reads", 13, AS_TEXT},
                                  {"taught_says", "says", SHOWN, AS_TEXT},
                                  {"wanted", "right", SHOWN, AS_TEXT},
                                  {"free_reads", "free: reads", 11, AS_TEXT},
                                  {"free_says", "says", SHOWN, AS_TEXT}}};

/* A token as one letter. */
static char letter(const Task *task, int32_t id) {
    char text[TOKEN_BYTES + 1];
    if (id == NOTHING) return '.';
    if (id == task->begin_id) return '<';
    if (id == task->end_id) return '>';
    if (id == task->pad_id) return '_';
    tokenizer_decode(task->tokenizer, &id, 1, text);
    return *text;
}

/* One row a step, one letter a sequence of the batch. */
static void show_step(const ExplainOptions *o, const Task *task, const Batch *b, const Said *s, long i) {
    char text[TEXTS][SHOWN + 1] = {0};
    for (long r = 0; r < SHOWN; r++) {
        BatchRow row = batch_row(b, r);
        int32_t before = i ? s->free[r][i - 1] : task->begin_id;
        const int32_t token[TEXTS] = {[SOURCE] = i < row.S ? row.source[i] : NOTHING,
                                      [TAUGHT_READS] = i < row.T ? row.target_in[i] : NOTHING,
                                      [TAUGHT_SAYS] = s->taught[r][i],
                                      [WANTED] = i < row.T ? row.target_out[i] : NOTHING,
                                      [FREE_READS] = before == task->end_id ? NOTHING : before,
                                      [FREE_SAYS] = s->free[r][i]};
        for (int k = 0; k < TEXTS; k++) text[k][r] = letter(task, token[k]);
    }
    show_row(o, &step_table,
             (Cell[]){NUMBER(i + 1), TEXT(text[SOURCE]), TEXT(text[TAUGHT_READS]), TEXT(text[TAUGHT_SAYS]),
                      TEXT(text[WANTED]), TEXT(text[FREE_READS]), TEXT(text[FREE_SAYS])});
}

static bool show_steps(const ExplainOptions *o, Lesson *l, Error *e) {
    Said s;
    if (!listen(l, 0, SHOWN, &s, e)) return false;
    show_say(o,
             "%d sequences after %ld steps of training, one letter each in every column. The encoder reads "
             "the source; the right answer is the source sorted. Taught, the decoder reads the right answer; "
             "free, it reads what it said one step before. < begins and > ends an answer.",
             SHOWN, l->trainer.optimizer.step);
    show_head(o, &step_table);
    for (long i = 0; i < MOST; i++) show_step(o, l->task, l->trainer.batch, &s, i);
    return true;
}

/* ---- In the course of training ---- */

static const Table table = {"teacher",
                            {{"trained", "trained", 7, 0},
                             {"taught_token", "taught: tokens %", 16, 2},
                             {"free_token", "free: tokens %", 14, 2}}};

/* Percentages of right tokens by steps of training. */
typedef struct Course {
    double step[LOOKS], taught[LOOKS], free[LOOKS], widest, least; /* of taught - free */
} Course;

static bool follow(const ExplainOptions *o, Lesson *l, Course *c, Error *e) {
    *c = (Course){.least = 100};
    for (int i = 0; i < LOOKS; i++) {
        if (!lesson_train(l, STEPS * (i + 1) / LOOKS, e)) return false;
        if (i == 0) {
            if (!show_steps(o, l, e)) return false;
            if (!o->json) putchar('\n');
            show_say(o, "Right tokens of %d held-out sequences, by steps of training:", JUDGED);
            show_head(o, &table);
        }
        if (!judge(l, &c->taught[i], &c->free[i], e)) return false;
        c->step[i] = STEPS * (i + 1) / LOOKS;
        c->taught[i] *= 100, c->free[i] *= 100;
        c->widest = fmax(c->widest, c->taught[i] - c->free[i]);
        c->least = fmin(c->least, c->taught[i] - c->free[i]);
        show_row(o, &table, (Cell[]){NUMBER(c->step[i]), NUMBER(c->taught[i]), NUMBER(c->free[i])});
    }
    return true;
}

static bool conclude(const ExplainOptions *o, const Course *c, Error *e) {
    Series series[] = {{"taught", LOOKS, c->step, c->taught}, {"free", LOOKS, c->step, c->free}};
    Picture picture = {PICTURE_CHART, "Right tokens, taught and free",
                       "Free, a model that reads its own mistakes gets fewer tokens right.",
                       .chart = {"step", "tokens right %", .series = series, .count = 2}};
    if (!show_pictures(o, &picture, 1, e)) return false;
    show_found(o, "teacher",
               "Running free the model gets %.1f to %.1f percentage points fewer tokens right than taught, "
               "and %.2f %% against %.2f %% after %d steps.",
               c->least, c->widest, c->free[LOOKS - 1], c->taught[LOOKS - 1], STEPS);
    return true;
}

bool explain_teacher(const ExplainOptions *o, Error *e) {
    Lesson l;
    Course c;
    show_question(o, "What does the decoder read in training, and what when it runs free?",
                  "taught  step i reads token i-1 of the right answer\n"
                  "free    step i reads token i-1 of its own answer");
    bool ok =
        lesson_begin(&l, "sort", SYMBOLS, LONGEST, STEPS, ATTENTION_DOT, o->seed, e) && follow(o, &l, &c, e);
    lesson_end(&l);
    return ok && conclude(o, &c, e);
}
