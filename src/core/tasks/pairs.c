#include "tasks/pairs.h"
#include "base/crc32.h"
#include "base/random.h"
#include "tasks/tasks.h"
#include "text/encoding.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct PairsTask {
    Task task;
    PairFile file;
    Side *side;    /* [file.count] the pairs in an order that has those held out first */
    long training; /* … and these last */
    int32_t *ids;
    uint64_t key;
} PairsTask;

/* ---- Reading ---- */

static bool bad_line(const char *path, long line, const char *found, Error *e) {
    return error_set(e, STATUS_BAD_DATA,
                     "%s: line %ld: found %s, need a source, a tab and a target", path, line,
                     found);
}

static bool read_line(PairFile *f, const Passage *text, long line, Error *e) {
    const char *at = text->text, *end = at + text->length, *tab = memchr(at, '\t', text->length);
    const char *path = text->where;
    if (!tab) return bad_line(path, line, "no tab", e);
    if (memchr(tab + 1, '\t', (size_t)(end - tab) - 1))
        return bad_line(path, line, "a second tab", e);
    if (tab == at) return bad_line(path, line, "no source", e);
    if (tab + 1 == end) return bad_line(path, line, "no target", e);
    f->pair[f->count++] = (Pair){.line = line,
                                 .source = {path, at, (size_t)(tab - at)},
                                 .target = {path, tab + 1, (size_t)(end - tab) - 1}};
    return true;
}

static bool is_blank(const Passage *line) {
    size_t n = 0;
    while (n < line->length && (line->text[n] == ' ' || line->text[n] == '\t')) n++;
    return n == line->length;
}

static bool read_lines(PairFile *f, const Passage *line, long lines, char remark[REMARK],
                       Error *e) {
    for (long i = 0; i < lines; i++)
        if (!is_blank(&line[i]) && !read_line(f, &line[i], i + 1, e)) return false;
    long blank = lines - f->count;
    if (blank)
        task_remark(remark, "%s: left out %ld blank line%s", line->where, blank, PLURAL(blank));
    return true;
}

bool pairs_read(PairFile *f, const char *path, bool any_bytes, char remark[REMARK], Error *e) {
    long lines;
    if (!texts_open(&f->texts, path, true, e)) return false;
    const Passage *text = f->texts.text;
    if (!any_bytes && !text_check(path, text->text, text->length, e)) return false;
    if (f->texts.byte_order_mark) task_remark(remark, "%s: skipped a byte-order mark", path);
    Passage *line = texts_lines(text, 1, &lines, e);
    if (!line) return false;
    f->pair = malloc((size_t)(lines + 1) * sizeof *f->pair);
    bool ok =
        (f->pair || error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", path, lines)) &&
        read_lines(f, line, lines, remark, e);
    free(line);
    return ok;
}

void pairs_free(PairFile *f) {
    texts_close(&f->texts);
    free(f->pair);
}

/* ---- Sides ---- */

/* A number of the source, the same for sources that differ only in blanks at the ends. */
static uint64_t number_of(const Passage *source) {
    const char *text = source->text, *end = text + source->length;
    while (text < end && strchr(" \v\f\r", *text)) text++;
    while (text < end && strchr(" \v\f\r", end[-1])) end--;
    return dictionary_hash(text, (size_t)(end - text));
}

static bool choose_sides(PairsTask *t, const TaskOptions *o, Error *e) {
    long count = t->file.count, held_out;
    Side *side = t->side = malloc((size_t)(count + 1) * sizeof *side);
    if (!side)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", o->pairs, count);
    for (long k = 0; k < count; k++) side[k] = (Side){number_of(&t->file.pair[k].source), k};
    if (!sides_choose(side, count, o->seed, o->validation, o->pairs, "source", &held_out, e))
        return false;
    t->training = count - held_out;
    t->task.nothing_held_out = held_out == 0;
    t->task.held_out = held_out ? held_out : count; /* without a tail all pairs are judged */
    return true;
}

/* ---- Tokens ---- */

static bool learn_tokens(PairsTask *t, const TaskOptions *o, Error *e) {
    const TokenizerKind *kind = o->tokenizer;
    long count = kind == &tokenizer_char ? t->file.count : t->training;
    const Side *side = t->side + t->file.count - count;
    Passage *passage = malloc(2 * (size_t)count * sizeof *passage);
    if (!passage)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", o->pairs, count);
    for (long i = 0; i < count; i++) {
        const Pair *p = &t->file.pair[side[i].item];
        passage[2 * i] = p->source;
        passage[2 * i + 1] = p->target;
    }
    t->task.tokenizer = o->vocabulary ? tokenizer_parse("vocabulary", o->vocabulary, e)
                                      : tokenizer_learn(kind, o->vocab_size, passage, 2 * count, e);
    free(passage);
    return t->task.tokenizer;
}

static bool encode(const PairsTask *t, const Passage *p, long line, int32_t *ids, long *count,
                   long *longest, Error *e) {
    if (!tokenizer_encode(t->task.tokenizer, p->where, p->text, p->length, ids, count, e))
        return false;
    if (*count > *longest) *longest = *count;
    return *count <= MAX_SEQUENCE ||
           error_set(e, STATUS_BAD_DATA, "%s: line %ld: found %ld tokens, need at most %d",
                     p->where, line, *count, MAX_SEQUENCE);
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

/* Adds row i in the order of t->side. */
static void add_row(const PairsTask *t, long i, Batch *b) {
    const Pair *p = &t->file.pair[t->side[i].item];
    BatchRow row = batch_add(b, p->S, p->T + 1);
    memcpy(row.source, t->ids + p->at, (size_t)p->S * sizeof *row.source);
    batch_teach(row, t->task.begin_id, t->ids + p->at + p->S, t->task.end_id);
}

static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const PairsTask *t = (const PairsTask *)task;
    long back = random_below(random_key(t->key, step), (uint64_t)row, t->training);
    add_row(t, t->file.count - 1 - back, b);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    add_row((const PairsTask *)task, row, b);
}

static void free_pairs(Task *task) {
    PairsTask *t = (PairsTask *)task;
    pairs_free(&t->file);
    free(t->side);
    free(t->ids);
}

bool task_pairs_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    PairsTask *t = task_new(out, kind, sizeof *t, e);
    if (!t) return false;
    t->task.add_training_row = add_training_row;
    t->task.add_held_out_row = add_held_out_row;
    t->task.free = free_pairs;
    t->key = random_key(o->seed, STREAM_TRAINING);
    if (!pairs_read(&t->file, o->pairs, o->tokenizer->any_bytes, t->task.remark, e) ||
        !choose_sides(t, o, e) || !learn_tokens(t, o, e) || !encode_pairs(t, e))
        return false;
    t->task.checksum = crc32_update(0, t->file.texts.text->text, t->file.texts.text->length);
    task_number_tokens(&t->task);
    return true;
}
