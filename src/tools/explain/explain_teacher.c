/* teacher: "the output embeddings are offset by one position" (3.1). In training the decoder reads
 * the right answer shifted right by one: at step i it reads token i-1 of the right answer, whatever
 * it has said itself. So all steps of an answer are computed at once; this is teacher forcing.
 * Running free, the decoder reads its own token i-1: a mistake is read again, and later tokens
 * suffer from it. Up to the first mistake both read the same, so whole answers are right equally
 * often. */
#include "decoding/decode.h"
#include "explain/experiment.h"

enum { MAX = 9, STEPS = 60, JUDGED = 128, ROWS = 32, NOTHING = -1, SHOWN = 2, TOKEN = 4 };

/* The model's answers to the held-out rows from `first` on, running free; NOTHING after the end. */
static void run_free(Lab *l, Lesson *x, long first, int32_t said[ROWS][MAX]) {
    const Task *task = x->task;
    Batch *b = x->trainer.batch;
    Sampler greedy = {.tokenizer = task->tokenizer};
    long length[ROWS];
    task_held_out_batch(task, first, ROWS, b);
    lab_want(l, decode_answers(x->trainer.tape, x->trainer.model, &greedy, b->rows, b->source_start,
                               b->source, task->begin_id, task->end_id, MAX, said[0], length,
                               &l->error));
    for (long r = 0; r < ROWS; r++)
        for (long i = length[r]; i < MAX; i++) said[r][i] = i == length[r] ? task->end_id : NOTHING;
}

/* The percentage of held-out tokens that are right, running free. */
static double judge_free(Lab *l, Lesson *x) {
    int32_t said[ROWS][MAX];
    double tokens = 0, right = 0;
    for (long first = 0; first < JUDGED; first += ROWS) {
        run_free(l, x, first, said);
        for (long r = 0; r < ROWS; r++) {
            BatchRow row = batch_row(x->trainer.batch, r);
            for (long i = 0; i < row.T; i++) right += said[r][i] == row.target_out[i];
            tokens += (double)row.T;
        }
    }
    return 100 * (right / tokens);
}

/* "7", "<" for the begin, ">" for the end, "" for nothing. */
static const char *letter(const Task *task, int32_t id, char text[TOKEN_BYTES + 1]) {
    if (id == task->begin_id) return "<";
    if (id == task->end_id) return ">";
    if (id == NOTHING) return "";
    tokenizer_decode(task->tokenizer, &id, 1, text);
    text[1] = 0;
    return text;
}

static void show_sequences(Lab *l, Lesson *x) {
    int32_t said[ROWS][MAX];
    const Task *task = x->task;
    run_free(l, x, 0, said);
    for (long i = 0; i < MAX; i++) {
        char text[SHOWN][TOKEN][TOKEN_BYTES + 1];
        Cell cell[1 + SHOWN * TOKEN] = {NUMBER(i + 1)};
        for (long r = 0; r < SHOWN; r++) {
            BatchRow row = batch_row(x->trainer.batch, r);
            int32_t before = i ? said[r][i - 1] : task->begin_id;
            const int32_t token[TOKEN] = {i < row.T ? row.target_out[i] : NOTHING,
                                          i < row.T ? row.target_in[i] : NOTHING,
                                          before == task->end_id ? NOTHING : before, said[r][i]};
            for (int k = 0; k < TOKEN; k++)
                cell[1 + r * TOKEN + k].text = letter(task, token[k], text[r][k]);
        }
        lab_row(l, cell);
    }
}

static void run(Lab *l) {
    Lesson x;
    lesson_learn(l, &x, "sort --symbols 12 --max-length 8", STEPS, false);
    lab_start(l,
              "Two sequences that training does not use, after %ld steps of learning to sort: the "
              "right answer at each step, the token that the decoder reads, taught and free, and "
              "the token that it says free. < begins and > ends an answer.",
              x.trainer.state.step);
    show_sequences(l, &x);
    lab_found(l,
              "Of %d held-out answers the model gets %.1f %% of the tokens right taught, and %.1f "
              "%% running free, where it reads its own mistakes.",
              JUDGED, lesson_tokens(l, &x, JUDGED), judge_free(l, &x));
    lesson_end(&x);
}

const Experiment explain_teacher = {
    "teacher",
    "what the decoder reads in training, and what when it runs free",
    "What does the decoder read in training, and what when it runs free?",
    "taught  step i reads token i-1 of the right answer\n"
    "free    step i reads token i-1 of its own answer",
    {{"step", "step", 4, 0},
     {"first_right", "1: right", 8, AS_TEXT},
     {"first_taught", "taught", 6, AS_TEXT},
     {"first_free", "free", 4, AS_TEXT},
     {"first_says", "says", TOKEN, AS_TEXT},
     {"second_right", "2: right", 8, AS_TEXT},
     {"second_taught", "taught", 6, AS_TEXT},
     {"second_free", "free", 4, AS_TEXT},
     {"second_says", "says", TOKEN, AS_TEXT}},
    run};
