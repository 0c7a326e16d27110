#include "tasks/sequence_task.h"
#include "base/random.h"
#include <stdlib.h>
#include <string.h>

enum { SPLIT = 8 }; /* one of SPLIT sequences is held out */

typedef struct SequenceTask {
    Task task;
    void (*answer)(const int32_t *x, long n, int32_t *y);
    long symbols, reserved; /* sequences whose left-hand side is below `reserved` are held out */
    uint64_t split_key, training_key;
    int32_t *held_out;     /* [task.held_out, task.max_S] */
    long *held_out_length; /* [task.held_out] */
} SequenceTask;

/* hash(seed, length, x₂ … x_n) mod symbols */
static long shift(const SequenceTask *t, const int32_t *x, long n) {
    uint64_t hash = random_key(t->split_key, (uint64_t)n);
    for (long i = 1; i < n; i++) hash = random_key(hash, (uint64_t)x[i]);
    return (long)((hash >> 32) % (uint64_t)t->symbols);
}

bool task_sequence_held_out(const Task *task, const int32_t *x, long n) {
    const SequenceTask *t = (const SequenceTask *)task;
    return (x[0] + shift(t, x, n)) % t->symbols < t->reserved;
}

/* Draws a sequence of n symbols with its left-hand side in [low, high), from n positions of the
 * key's stream. */
static void draw(const SequenceTask *t, uint64_t key, uint64_t position, long low, long high,
                 int32_t *x, long n) {
    for (long i = 1; i < n; i++)
        x[i] = (int32_t)random_below(key, position + (uint64_t)i, t->symbols);
    long side = low + random_below(key, position, high - low);
    x[0] = (int32_t)((side + t->symbols - shift(t, x, n)) % t->symbols);
}

/* Number of held-out sequences of a length: an equal share of those still wanted, at most the
 * reserved · symbols^(length-1) that exist. */
static long quota(const SequenceTask *t, long length, long wanted) {
    long share = wanted / (t->task.max_S - length + 1), count = t->reserved;
    for (long i = 1; i < length; i++) {
        if (count >= share) return share;
        count *= t->symbols;
    }
    return share < count ? share : count;
}

static bool drawn_before(const int32_t *earlier, long count, long stride, const int32_t *x,
                         long n) {
    for (long i = 0; i < count; i++)
        if (!memcmp(earlier + i * stride, x, (size_t)n * sizeof *x)) return true;
    return false;
}

static void draw_held_out(SequenceTask *t, uint64_t seed, long wanted) {
    long stride = t->task.max_S, count = 0;
    for (long length = 1; length <= stride; length++) {
        uint64_t key = random_key(random_key(seed, STREAM_HELD_OUT), (uint64_t)length),
                 position = 0;
        const int32_t *first = t->held_out + count * stride;
        long many = quota(t, length, wanted - count);
        for (long i = 0; i < many; position += (uint64_t)length) {
            int32_t *x = t->held_out + count * stride;
            draw(t, key, position, 0, t->reserved, x, length);
            if (drawn_before(first, i, stride, x, length)) continue;
            t->held_out_length[count++] = length;
            i++;
        }
    }
    t->task.held_out = count;
}

/* Shuffles the held-out sequences, which were drawn by length. */
static void shuffle_held_out(SequenceTask *t, uint64_t seed) {
    uint64_t key = random_key(seed, STREAM_ORDER);
    long stride = t->task.max_S;
    for (long i = t->task.held_out - 1; i > 0; i--) {
        long j = random_below(key, (uint64_t)i, i + 1), length = t->held_out_length[i];
        t->held_out_length[i] = t->held_out_length[j];
        t->held_out_length[j] = length;
        for (long k = 0; k < stride; k++) {
            int32_t *a = t->held_out + i * stride + k, *b = t->held_out + j * stride + k, swap = *a;
            *a = *b;
            *b = swap;
        }
    }
}

/* Writes the targets of a row whose source is written. */
static void finish_row(const SequenceTask *t, BatchRow row) {
    t->answer(row.source, row.S, row.target_out);
    batch_teach(row, t->task.begin_id, row.target_out, t->task.end_id);
}

/* The row's stream has its length at position 0, then its symbols. */
static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const SequenceTask *t = (const SequenceTask *)task;
    uint64_t key = random_key(random_key(t->training_key, step), (uint64_t)row);
    long n = 1 + random_below(key, 0, task->max_S);
    BatchRow to = batch_add(b, n, n + 1);
    draw(t, key, 1, t->reserved, t->symbols, to.source, n);
    finish_row(t, to);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    const SequenceTask *t = (const SequenceTask *)task;
    long n = t->held_out_length[row];
    BatchRow to = batch_add(b, n, n + 1);
    memcpy(to.source, t->held_out + row * task->max_S, (size_t)n * sizeof *to.source);
    finish_row(t, to);
}

static void free_held_out(Task *task) {
    SequenceTask *t = (SequenceTask *)task;
    free(t->held_out);
    free(t->held_out_length);
}

/* The characters that stand for the symbols. */
static Tokenizer *alphabet(const char *name, long symbols, Error *e) {
    static const char latin[] = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    enum { LATIN = sizeof latin - 1, MORE = 0x4E00 };
    char text[MAX_SYMBOLS * UTF8_MAX + 1], *out = text;
    for (long i = 0; i < symbols; i++)
        out += utf8_encode(i < LATIN ? (uint32_t)latin[i] : (uint32_t)(MORE + i - LATIN), out);
    *out = 0;
    return tokenizer_parse(name, text, e);
}

/* ---- The tasks ---- */

bool task_sequence_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    SequenceTask *t = task_new(out, kind, sizeof *t, e);
    if (!t) return false;
    t->task.max_S = o->max_length;
    t->task.max_T = o->max_length + 1;
    t->task.add_training_row = add_training_row;
    t->task.add_held_out_row = add_held_out_row;
    t->task.free = free_held_out;
    t->answer = kind->answer;
    t->symbols = o->symbols;
    t->reserved = o->symbols < 2 * SPLIT ? 1 : o->symbols / SPLIT;
    t->split_key = random_key(o->seed, STREAM_SPLIT);
    t->training_key = random_key(o->seed, STREAM_TRAINING);
    t->task.tokenizer = alphabet(kind->choice.name, o->symbols, e);
    t->held_out = calloc((size_t)(o->held_out * o->max_length), sizeof *t->held_out);
    t->held_out_length = malloc((size_t)o->held_out * sizeof *t->held_out_length);
    if (!t->task.tokenizer || !t->held_out || !t->held_out_length)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld held-out sequences",
                         kind->choice.name, o->held_out);
    task_number_tokens(&t->task);
    draw_held_out(t, o->seed, o->held_out);
    shuffle_held_out(t, o->seed);
    if (t->task.held_out < o->held_out)
        task_remark(t->task.remark, "%s: --held-out is %ld, not %ld: no more such sequences exist",
                    kind->choice.name, t->task.held_out, o->held_out);
    return true;
}

/* Cross-attention must find the source token at the decoder's own position. */
void task_copy_answer(const int32_t *x, long n, int32_t *y) {
    memcpy(y, x, (size_t)n * sizeof *y);
}

/* The position depends on the length, which the model must infer from the encoder's output. */
void task_reverse_answer(const int32_t *x, long n, int32_t *y) {
    for (long i = 0; i < n; i++) y[i] = x[n - 1 - i];
}

static int by_id(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The position of an answer token in the source depends on all symbols. */
void task_sort_answer(const int32_t *x, long n, int32_t *y) {
    memcpy(y, x, (size_t)n * sizeof *y);
    qsort(y, (size_t)n, sizeof *y, by_id);
}
