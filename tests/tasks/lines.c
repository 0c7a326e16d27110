/* lm --lines: an example is a line, and training never sees a line that is held out. */
#include "folder.h"
#include "task_helpers.h"

/* 24 different lines, of which four stand twice, with every kind of line end, two empty lines and
 * no last end. */
static char lines[24][32];

static void write_lines(void) {
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    char text[2000] = "\xEF\xBB\xBF";
    for (int i = 0; i < 24; i++) sprintf(lines[i], "%c ครับ %s", 'a' + i, i % 3 ? "mill😀" : "  é");
    for (int i = 0; i < 28; i++)
        sprintf(text + strlen(text), "%s%s%s", lines[i % 24], i == 27 ? "" : ends[i % 3],
                i == 5 || i == 9 ? ends[i % 3] : "");
    make_folder();
    write_text(in_folder("lines"), text);
}

static Task *lines_task(const TokenizerKind *kind, long context, double validation) {
    static char path[1024]; /* as long as the task */
    TaskOptions o = task_defaults();
    snprintf(path, sizeof path, "%s", in_folder("lines"));
    o.text = path;
    o.lines = true;
    o.tokenizer = kind;
    o.context = context;
    o.validation = validation;
    return opened("lm", o);
}

/* The number of a row's line; its text must be all of a line. */
static int line_of(const Task *task, BatchRow row) {
    char text[4000];
    CHECK(row.S == 0 && row.T >= 2 && row.T <= task->max_T);
    CHECK(row.target_in[0] == task->begin_id && row.target_out[row.T - 1] == task->end_id);
    CHECK(!memcmp(row.target_in + 1, row.target_out, (size_t)(row.T - 1) * sizeof(int32_t)));
    tokenizer_decode(task->tokenizer, row.target_out, row.T - 1, text);
    for (int i = 0; i < 24; i++)
        if (!strcmp(text, lines[i])) return i;
    CHECK(false, "found \"%s\"", text);
    return 0;
}

TEST(rows_are_lines_and_sides_disjoint) {
    write_lines();
    for (const Choice *const *all = all_tokenizers; *all != &tokenizer_ids.choice; all++) {
        int seen[24] = {0}, rows = 0;
        Task *task = lines_task((const TokenizerKind *)*all, 64, 0.25);
        CHECK(task_is_language_model(task) && task->begin_id == task->end_id &&
              task->pad_id == NO_TOKEN);
        CHECK(task->opening_id == task->begin_id && task->vocab_size == task->tokenizer->size);
        CHECK(strstr(task->remark, "left out 2 empty lines\n") &&
                  strstr(task->remark, "a byte-order mark\n") && lines_of(task->remark) == 2,
              "%s", task->remark);
        Batch *b = batch_for(task, 400);
        task_training_batch(task, 3, 0, 400, b);
        for (long r = 0; r < b->rows; r++) seen[line_of(task, batch_row(b, r))] = 1;
        CHECK(task_held_out_batch(task, 0, 400, b) == task->held_out);
        for (long r = 0; r < b->rows; r++) {
            int *side = &seen[line_of(task, batch_row(b, r))];
            CHECK(*side != 1, "%s: a line is on both sides", (*all)->name);
            *side = 2;
        }
        for (int i = 0; i < 24; i++) rows += seen[i] ? seen[i] == 2 : 100;
        CHECK(rows == 6, "%s: %d different lines are held out", (*all)->name, rows);
        batch_free(b);
        task_free(task);
    }
}

/* A line that is longer than the context is cut and has no end; the context is no longer than the
 * longest line. */
TEST(long_lines_are_cut) {
    write_lines();
    Task *whole = lines_task(&tokenizer_char, 64, 0), *cut = lines_task(&tokenizer_char, 11, 0);
    CHECK(whole->max_T == 13 && cut->max_T == 11, "%ld, %ld", whole->max_T, cut->max_T);
    CHECK(strstr(cut->remark,
                 "/lines: cut 18 lines of more than 11 tokens, the end counted; --context N"),
          "%s", cut->remark);
    Batch *a = batch_for(whole, 28), *b = batch_for(cut, 28);
    CHECK(task_held_out_batch(whole, 0, 28, a) == 28 && task_held_out_batch(cut, 0, 28, b) == 28);
    for (long r = 0; r < 28; r++) {
        BatchRow x = batch_row(a, r), y = batch_row(b, r);
        CHECK(y.T == (x.T < 11 ? x.T : 11) &&
              (y.target_out[y.T - 1] == cut->end_id) == (x.T <= 11));
        CHECK(!memcmp(x.target_in, y.target_in, (size_t)y.T * sizeof(int32_t)) &&
              !memcmp(x.target_out, y.target_out, (size_t)y.T * sizeof(int32_t)));
    }
    batch_free(a);
    batch_free(b);
    task_free(whole);
    task_free(cut);
}

RUN_TESTS
