#include "tasks/pairs.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/random.h"
#include "text/encoding.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct PairsTask {
    Task task;
    PairFile file; /* the held-out pairs first */
    long training; /* training pairs are the last */
    int32_t *ids;
    uint64_t key;
} PairsTask;

/* ---- Reading ---- */

static bool bad_line(const char *path, long line, const char *found, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "%s: line %ld: found %s, need a source, a tab and a target", path,
                     line, found);
}

/* One line, without its end, becomes a pair. */
static bool read_line(PairFile *f, const char *path, long line, char *text, size_t length, Error *e) {
    const char *tab = memchr(text, '\t', length), *end = text + length;
    if (!tab) return bad_line(path, line, "no tab", e);
    if (memchr(tab + 1, '\t', (size_t)(end - tab) - 1)) return bad_line(path, line, "a second tab", e);
    if (tab == text) return bad_line(path, line, "no source", e);
    if (tab + 1 == end) return bad_line(path, line, "no target", e);
    f->pair[f->count++] = (Pair){.line = line,
                                 .source = {path, text, (size_t)(tab - text)},
                                 .target = {path, tab + 1, (size_t)(end - tab) - 1}};
    return true;
}

bool pairs_read(PairFile *f, const char *path, bool any_bytes, char remark[REMARK], Error *e) {
    size_t size, lines = 1;
    if (!file_read(path, INT32_MAX, &f->data, &size, e) || !(any_bytes || text_check(path, f->data, size, e)))
        return false;
    f->checksum = crc32_update(0, f->data, size);
    size_t mark = utf8_mark(f->data, size);
    if (mark) task_remark(remark, "%s: skipped a byte-order mark", path);
    for (size_t i = 0; i < size; i++) lines += f->data[i] == '\n' || f->data[i] == '\r';
    f->pair = malloc(lines * sizeof *f->pair);
    if (!f->pair) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %zu pairs", path, lines);
    char blank[100] = "";
    long line = 1, blanks = 0;
    for (char *at = f->data + mark, *end = f->data + size; at < end; line++) {
        size_t length = 0, used = strlen(blank);
        while (at + length < end && at[length] != '\n' && at[length] != '\r') length++;
        char *stop = at + length;
        stop += stop + 1 < end && stop[0] == '\r' && stop[1] == '\n'; /* CR LF is one end */
        bool is_blank = strspn(at, " \t") >= length;
        if (is_blank && ++blanks <= 5) snprintf(blank + used, sizeof blank - used, ", %ld", line);
        if (is_blank && blanks == 6) snprintf(blank + used, sizeof blank - used, ", …");
        if (!is_blank && !read_line(f, path, line, at, length, e)) return false;
        at = stop + 1;
    }
    if (blanks)
        task_remark(remark, "%s: %ld blank line%s skipped: %s", path, blanks, blanks == 1 ? " is" : "s are",
                    blank + 2);
    return true;
}

void pairs_free(PairFile *f) {
    free(f->data), free(f->pair);
}

/* ---- Sides ---- */

/* Held-out sources first; pairs of one source in the file's order. */
static int by_position(const void *a, const void *b) {
    const Pair *x = a, *y = b;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* A number of the source, the same for sources that differ only in blanks at the ends. */
static uint64_t number_of(const Passage *source) {
    const char *text = source->text, *end = text + source->length;
    while (text < end && strchr(" \v\f\r", *text)) text++;
    while (text < end && strchr(" \v\f\r", end[-1])) end--;
    return dictionary_hash(text, (size_t)(end - text));
}

/* Equal positions are one source. */
static bool choose_sides(PairsTask *t, const TaskOptions *o, Error *e) {
    uint64_t key = random_key(o->seed, STREAM_SPLIT);
    Pair *pair = t->file.pair;
    long count = t->file.count, sources = 0, i = 0;
    for (long k = 0; k < count; k++) pair[k].position = random_key(key, number_of(&pair[k].source));
    qsort(pair, (size_t)count, sizeof *pair, by_position);
    for (long k = 0; k < count; k++) sources += k == 0 || pair[k].position != pair[k - 1].position;
    long held_out = (long)((double)sources * o->validation);
    if (o->validation > 0 && held_out < 1) held_out = 1;
    if (sources <= held_out)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld different source%s, need at least %ld", o->pairs,
                         sources, PLURAL(sources), held_out + 1);
    for (long left = held_out; left > 0; left -= pair[i].position != pair[i - 1].position) i++;
    t->training = count - i;
    t->task.nothing_held_out = held_out == 0;
    t->task.held_out = held_out ? i : count; /* without a tail all pairs are judged */
    return true;
}

/* ---- Tokens ---- */

static bool learn_tokens(PairsTask *t, const TaskOptions *o, Error *e) {
    const TokenizerKind *kind = o->tokenizer;
    long count = tokenizer_takes_all(kind, o->vocab_size) ? t->file.count : t->training;
    const Pair *pair = t->file.pair + t->file.count - count;
    Passage *passage = malloc(2 * (size_t)count * sizeof *passage);
    if (!passage) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", o->pairs, count);
    for (long i = 0; i < count; i++) passage[2 * i] = pair[i].source, passage[2 * i + 1] = pair[i].target;
    t->task.tokenizer = o->vocabulary ? tokenizer_parse("vocabulary", o->vocabulary, e)
                                      : tokenizer_learn(kind, o->vocab_size, passage, 2 * count, e);
    free(passage);
    return t->task.tokenizer;
}

static bool encode(const PairsTask *t, const Passage *p, long line, int32_t *ids, long *count, long *longest,
                   Error *e) {
    if (!tokenizer_encode(t->task.tokenizer, p->where, p->text, p->length, ids, count, e)) return false;
    if (*count > *longest) *longest = *count;
    return *count <= MAX_SEQUENCE ||
           error_set(e, STATUS_BAD_DATA, "%s: line %ld: found %ld tokens, need at most %d", p->where, line,
                     *count, MAX_SEQUENCE);
}

static bool encode_pairs(PairsTask *t, Error *e) {
    size_t bytes = 1;
    long at = 0;
    for (long i = 0; i < t->file.count; i++)
        bytes += t->file.pair[i].source.length + t->file.pair[i].target.length;
    t->ids = malloc(bytes * sizeof *t->ids);
    if (!t->ids) return error_set(e, STATUS_NO_MEMORY, "pairs: no memory for %zu tokens", bytes);
    for (long i = 0; i < t->file.count; i++) {
        Pair *p = &t->file.pair[i];
        p->at = at;
        if (!encode(t, &p->source, p->line, t->ids + at, &p->S, &t->task.max_S, e) ||
            !encode(t, &p->target, p->line, t->ids + at + p->S, &p->T, &t->task.max_T, e))
            return false;
        at += p->S + p->T;
    }
    t->task.max_T++;
    return true;
}

/* ---- The task ---- */

static void add_row(const PairsTask *t, const Pair *p, Batch *b) {
    BatchRow row = batch_add(b, p->S, p->T + 1);
    memcpy(row.source, t->ids + p->at, (size_t)p->S * sizeof *row.source);
    batch_teach(row, t->task.begin_id, t->ids + p->at + p->S, t->task.end_id);
}

static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const PairsTask *t = (const PairsTask *)task;
    long back = random_below(random_key(t->key, step), (uint64_t)row, t->training);
    add_row(t, &t->file.pair[t->file.count - 1 - back], b);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    const PairsTask *t = (const PairsTask *)task;
    add_row(t, &t->file.pair[row], b);
}

static void free_pairs(Task *task) {
    PairsTask *t = (PairsTask *)task;
    pairs_free(&t->file), free(t->ids);
}

bool task_pairs_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    PairsTask *t = task_new(out, kind, sizeof *t, e);
    if (!t) return false;
    t->task.add_training_row = add_training_row, t->task.add_held_out_row = add_held_out_row;
    t->task.free = free_pairs;
    t->key = random_key(o->seed, STREAM_TRAINING);
    if (!pairs_read(&t->file, o->pairs, o->tokenizer->any_bytes, t->task.remark, e) ||
        !choose_sides(t, o, e) || !learn_tokens(t, o, e) || !encode_pairs(t, e))
        return false;
    t->task.checksum = t->file.checksum;
    task_number_tokens(&t->task);
    return true;
}
