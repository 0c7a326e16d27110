/* add and pairs: rows are what the tasks say they are, and training never sees what is held
 * out. */
#include "base/random.h"
#include "folder.h"
#include "task_helpers.h"
#include "tasks/written_task.h"

enum { TEXT = 64 * TOKEN_BYTES };

/* Source and target of a row as text; begin and end stand where they belong. */
static void read_row(const Task *task, BatchRow row, char source[TEXT], char target[TEXT]) {
    CHECK(row.S >= 1 && row.S <= task->max_S && row.T >= 2 && row.T <= task->max_T, "%ld, %ld",
          row.S, row.T);
    CHECK(row.target_in[0] == task->begin_id && row.target_out[row.T - 1] == task->end_id);
    CHECK(!memcmp(row.target_in + 1, row.target_out, (size_t)(row.T - 1) * sizeof(int32_t)));
    tokenizer_decode(task->tokenizer, row.source, row.S, source);
    tokenizer_decode(task->tokenizer, row.target_out, row.T - 1, target);
}

/* Calls check for training rows of `steps` batches and for all held-out ones. */
static void each_row(const Task *task, int steps,
                     void (*check)(const Task *task, bool held_out, const char *source,
                                   const char *target)) {
    char source[TEXT], target[TEXT];
    Batch *b = batch_for(task, 64);
    for (int step = 0; step < steps; step++) {
        task_training_batch(task, (uint64_t)step, 0, 64, b);
        for (long r = 0; r < b->rows; r++) {
            read_row(task, batch_row(b, r), source, target);
            check(task, false, source, target);
        }
    }
    long first = 0, count = task_held_out_batch(task, first, 64, b);
    while (count) {
        for (long r = 0; r < count; r++) {
            read_row(task, batch_row(b, r), source, target);
            check(task, true, source, target);
        }
        first += count;
        count = task_held_out_batch(task, first, 64, b);
    }
    CHECK(first == task->held_out);
    batch_free(b);
}

/* ---- add ---- */

static long lengths[10];

static void check_sum(const Task *task, bool held_out, const char *source, const char *target) {
    unsigned long a, b, sum = 0, place = 1;
    int n = 0, digits;
    CHECK(sscanf(source, "%lu%n+%lu", &a, &digits, &b) == 2, "%s", source);
    for (; target[n]; n++) {
        sum += (unsigned long)(target[n] - '0') * place;
        place *= 10;
    }
    CHECK(sum == a + b && (n == 1 || target[n - 1] != '0'), "%s -> %s", source, target);
    char again[64];
    snprintf(again, sizeof again, "%lu+%lu", a, b);
    CHECK(!strcmp(source, again), "%s", source);
    CHECK(task_written_held_out(task, (uint64_t)a << 32 | b) == held_out, "%s", source);
    lengths[digits]++;
}

TEST(sums_are_sums_and_sides_disjoint) {
    for (long max = 1; max <= 9; max += 4) {
        TaskOptions o = task_defaults();
        o.digits = max;
        Task *task = opened("add", o);
        memset(lengths, 0, sizeof lengths);
        each_row(task, 100, check_sum);
        for (long d = 1; d < 10; d++)
            CHECK(d <= max ? labs(lengths[d] - 7400 / max) < 400 : !lengths[d], "%ld of %ld digits",
                  lengths[d], d);
        task_free(task);
    }
}

/* ---- pairs ---- */

static Task *pairs_of(const char *text, const TokenizerKind *kind, Error *e) {
    make_folder();
    static char path[256];
    snprintf(path, sizeof path, "%s/pairs.tsv", folder);
    FILE *f = fopen(path, "wb");
    if (!f || fputs(text, f) < 0 || fclose(f)) exit(1);
    TaskOptions o = task_defaults();
    o.pairs = path;
    o.tokenizer = kind;
    o.validation = 0.25;
    Task *task = task_open("pairs", &o, e);
    char *shown = e->status ? strstr(e->text, "pairs.tsv") : NULL;
    if (shown) memmove(e->text, shown, strlen(shown) + 1);
    return task;
}

static char side_of[8]; /* of the source's letter */
static int rows_seen;

static void check_pair(const Task *task, bool held_out, const char *source, const char *target) {
    (void)task;
    bool blanks = *source == ' ';
    source += blanks;
    int i = source[0] - 'a';
    CHECK(i >= 0 && i < 8 && !strcmp(source + 1, blanks ? " 无可 mill  " : " 无可 mill"), "%s",
          source);
    CHECK((target[0] == source[0] || target[0] == source[0] - 32) && !strcmp(target + 1, "é the\\"),
          "%s", target);
    CHECK(!side_of[i] || side_of[i] == 1 + held_out, "%s is on both sides", source);
    side_of[i] = (char)(1 + held_out);
    rows_seen |= 1 << (2 * i + (target[0] != source[0]));
}

/* Eight sources with two targets each: two sources are held out, with all of their pairs, by every
 * tokenizer. Blanks at the ends make no other source. */
TEST(pairs_from_a_file) {
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    char text[1000] = "\xEF\xBB\xBF\r\n";
    for (int i = 0; i < 16; i++)
        sprintf(text + strlen(text),
                i < 8 ? "%c 无可 mill\t%cé the\\%s" : " %c 无可 mill  \t%cé the\\%s", 'a' + i % 8,
                (i < 8 ? 'a' : 'A') + i % 8, i == 15 ? "" : ends[i % 3]);
    for (const Choice *const *all = all_tokenizers; *all != &tokenizer_ids.choice; all++) {
        Error e = {0};
        Task *task = pairs_of(text, (const TokenizerKind *)*all, &e);
        CHECK(task && task->held_out == 4, "%s", e.text);
        if (!task) return;
        CHECK(strstr(task->remark, "skipped a byte-order mark") &&
                  strstr(task->remark, ": left out 1 blank line\n"),
              "%s", task->remark);
        memset(side_of, 0, sizeof side_of);
        rows_seen = 0;
        each_row(task, 20, check_pair);
        CHECK(rows_seen == (1 << 16) - 1, "%x", (unsigned)rows_seen);
        task_free(task);
    }
}

/* byte takes pairs of any bytes; the other tokenizers say where the first wrong byte is. */
TEST(pairs_that_are_not_utf8) {
    static const char latin[] =
        "caf\xE9 noir\tblack coffee\nth\xE9\ttea\nlait\tmilk\nsucr\xE9\tsweet\n";
    for (const Choice *const *all = all_tokenizers; *all != &tokenizer_ids.choice; all++) {
        const TokenizerKind *kind = (const TokenizerKind *)*all;
        Error e = {0};
        Task *task = pairs_of(latin, kind, &e);
        CHECK(!task == !kind->any_bytes, "%s: %s", kind->choice.name, e.text);
        CHECK(task ||
                  strstr(e.text, "byte 3: found 0xE9, need UTF-8 text or --tokenizer byte; iconv"),
              "%s", e.text);
        task_free(task);
    }
}

TEST(lines_that_are_no_pairs) {
    static char long_source[MAX_SEQUENCE + 20] = "a\tb\n\n";
    memset(long_source + 5, 'c', MAX_SEQUENCE + 1);
    strcat(long_source, "\td\n");
    const char *const wrong[][2] = {
        {"a\tb\nab\n", "pairs.tsv: line 2: found no tab, need a source, a tab and a target"},
        {"a\tb\n\nc\td\te\n",
         "pairs.tsv: line 3: found a second tab, need a source, a tab and a target"},
        {"\tb\n", "pairs.tsv: line 1: found no source, need a source, a tab and a target"},
        {"a\tb\na\t\r\n", "pairs.tsv: line 2: found no target, need a source, a tab and a target"},
        {"a\tb\na\tc\n", "pairs.tsv: found 1 different source, need at least 2"},
        {"", "pairs.tsv: found 0 different sources, need at least 2"},
        {long_source, "pairs.tsv: line 3: found 4097 tokens, need at most 4096"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error e = {0};
        CHECK(!pairs_of(wrong[i][0], &tokenizer_char, &e));
        CHECK_ERROR(e, STATUS_BAD_DATA, wrong[i][1]);
    }
}

TEST(a_remark_ends_where_its_room_ends) {
    char remark[REMARK + 1] = "", line[REMARK];
    memset(line, 'x', REMARK - 1);
    line[REMARK - 1] = 0;
    remark[REMARK] = 'y';
    for (int i = 0; i < 3; i++) task_remark(remark, "%s", line);
    CHECK(strlen(remark) == REMARK - 1 && remark[REMARK] == 'y');
}

RUN_TESTS
