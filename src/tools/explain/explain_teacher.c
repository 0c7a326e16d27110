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
#include <math.h>

enum {
    SYMBOLS = 12,
    LONGEST = 8,
    MAX = LONGEST + 1,
    STEPS = 480,
    LOOKS = 8,
    JUDGED = 128,
    ROWS = 32,
    SHOWN = 5
};
enum { NOTHING = -1 };

/* The model's tokens at each step of each held-out row from `first` on, running free; NOTHING after the end. */
static bool run_free(Lesson *l, long first, long rows, int32_t said[ROWS][MAX], Error *e) {
    const Task *task = l->task;
    const Batch *b = l->trainer.batch;
    long length[ROWS];
    task_held_out_batch(task, first, rows, l->trainer.batch);
    Sampler greedy = {.tokenizer = task->tokenizer};
    if (!decode_answers(l->trainer.tape, l->model, &greedy, b->rows, b->source_start, b->source,
                        task->begin_id, task->end_id, MAX, said[0], length, e))
        return false;
    for (long r = 0; r < b->rows; r++)
        for (long i = length[r]; i < MAX; i++) said[r][i] = i == length[r] ? task->end_id : NOTHING;
    return true;
}

/* Shares of held-out tokens that are right. */
static bool judge(Lesson *l, double *taught, double *free, Error *e) {
    int32_t said[ROWS][MAX];
    double tokens = 0, right = 0;
    if (!lesson_judge(l, JUDGED, taught, NULL, e)) return false;
    for (long first = 0; first < JUDGED; first += ROWS) {
        if (!run_free(l, first, ROWS, said, e)) return false;
        for (long r = 0; r < ROWS; r++) {
            BatchRow row = batch_row(l->trainer.batch, r);
            for (long i = 0; i < row.T; i++, tokens++) right += said[r][i] == row.target_out[i];
        }
    }
    *free = right / tokens;
    return true;
}

static const Table table = {"teacher",
                            NULL,
                            NULL,
                            {{"trained", "trained", 7, 0},
                             {"taught_token", "taught: tokens %", 16, 2},
                             {"free_token", "free: tokens %", 14, 2}}};

/* ---- The steps of a batch ---- */

enum { SOURCE, TAUGHT_READS, WANTED, FREE_READS, FREE_SAYS, TEXTS };
static const Table step_table = {
    "teacher",
    "What does the decoder read in training, and what when it runs free?",
    "taught  step i reads token i-1 of the right answer\n"
    "free    step i reads token i-1 of its own answer",
    {{"step", "step", 4, 0},
     {"source", "source", 6, AS_TEXT},
     {"taught_reads", "taught: reads", 13, AS_TEXT},
     {"wanted", "right", SHOWN, AS_TEXT},
     {"free_reads", "free: reads", 11, AS_TEXT},
     {"free_says", "says", SHOWN, AS_TEXT}}};

/* A token as one letter. */
static char letter(const Task *task, int32_t id) {
    char text[TOKEN_BYTES + 1];
    if (id == NOTHING) return '.';
    if (id == task->begin_id) return '<';
    if (id == task->end_id) return '>';
    tokenizer_decode(task->tokenizer, &id, 1, text);
    return *text;
}

/* One row a step, one letter a sequence of the batch. */
static bool show_steps(const ExplainOptions *o, Lesson *l, Error *e) {
    int32_t said[ROWS][MAX];
    if (!run_free(l, 0, SHOWN, said, e)) return false;
    const Task *task = l->task;
    show_start(
        o, &step_table,
        "%d sequences after %ld steps of training, one letter each in every column. The encoder "
        "reads "
        "the source; the right answer is the source sorted. Taught, the decoder reads the right "
        "answer; free, it reads what it said one step before. < begins and > ends an answer.",
        SHOWN, l->trainer.state.step);
    for (long i = 0; i < MAX; i++) {
        char text[TEXTS][SHOWN + 1] = {0};
        for (long r = 0; r < SHOWN; r++) {
            BatchRow row = batch_row(l->trainer.batch, r);
            int32_t before = i ? said[r][i - 1] : task->begin_id;
            const int32_t token[TEXTS] = {[SOURCE] = i < row.S ? row.source[i] : NOTHING,
                                          [TAUGHT_READS] = i < row.T ? row.target_in[i] : NOTHING,
                                          [WANTED] = i < row.T ? row.target_out[i] : NOTHING,
                                          [FREE_READS] = before == task->end_id ? NOTHING : before,
                                          [FREE_SAYS] = said[r][i]};
            for (int k = 0; k < TEXTS; k++) text[k][r] = letter(task, token[k]);
        }
        show_row(o, &step_table,
                 (Cell[]){NUMBER(i + 1), TEXT(text[SOURCE]), TEXT(text[TAUGHT_READS]),
                          TEXT(text[WANTED]), TEXT(text[FREE_READS]), TEXT(text[FREE_SAYS])});
    }
    return true;
}

/* ---- In the course of training ---- */

static bool follow(const ExplainOptions *o, Lesson *l, Error *e) {
    double step[LOOKS], taught[LOOKS], free[LOOKS], widest = 0, least = 100; /* of taught - free */
    for (int i = 0; i < LOOKS; i++) {
        step[i] = STEPS * (i + 1) / LOOKS;
        if (!lesson_train(l, (long)step[i], e) || (i == 0 && !show_steps(o, l, e)) ||
            !judge(l, &taught[i], &free[i], e))
            return false;
        if (i == 0)
            show_start(o, &table,
                       "Right tokens of %d held-out sequences, by steps of training:", JUDGED);
        taught[i] *= 100, free[i] *= 100;
        widest = fmax(widest, taught[i] - free[i]), least = fmin(least, taught[i] - free[i]);
        show_row(o, &table, (Cell[]){NUMBER(step[i]), NUMBER(taught[i]), NUMBER(free[i])});
    }
    return show_found(
        o, &table, NULL, 0,
        "Running free the model gets %.1f to %.1f percentage points fewer tokens right than "
        "taught, and %.2f %% against %.2f %% after %d steps.",
        least, widest, free[LOOKS - 1], taught[LOOKS - 1], STEPS);
}

bool explain_teacher(const ExplainOptions *o, Error *e) {
    Lesson l;
    bool ok = lesson_begin(&l, "sort", SYMBOLS, LONGEST, STEPS, &attention_dot, o->seed, e) &&
              follow(o, &l, e);
    lesson_end(&l);
    return ok;
}
