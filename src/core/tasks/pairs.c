/* pairs: sequence to sequence on a user's own data. A file has a line for each pair: source, tab,
 * target, both UTF-8 (with --tokenizer byte any bytes) with at least one token. CR, LF and CR LF
 * end a line. Blank lines are skipped and named in the task's remark; any other line is an error.
 *
 * Training and held-out pairs are disjoint by construction: a hash of seed and source orders the
 * different sources, and all pairs of the first ones are held out, a `validation` share. The
 * tokenizer learns from the training pairs. Only char learns from all pairs. */
#include "base/crc32.h"
#include "base/random.h"
#include "tasks/task.h"
#include "text/encoding.h"
#include "text/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Pair {
    Passage source, target;
    long line;     /* its number in the file, from 1 */
    long at, S, T; /* its tokens: ids[at] …, source and then target */
} Pair;

typedef struct PairsTask {
    Task task;
    Texts file;
    Pair *pair; /* [count], in the order of the file */
    long count;
    Side *side;    /* [count] the pairs in an order that has those held out first */
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

static bool read_line(PairsTask *t, const Passage *text, long line, Error *e) {
    const char *at = text->text, *end = at + text->length, *tab = memchr(at, '\t', text->length);
    const char *path = text->where;
    if (!tab) return bad_line(path, line, "no tab", e);
    if (memchr(tab + 1, '\t', (size_t)(end - tab) - 1))
        return bad_line(path, line, "a second tab", e);
    if (tab == at) return bad_line(path, line, "no source", e);
    if (tab + 1 == end) return bad_line(path, line, "no target", e);
    t->pair[t->count++] = (Pair){.line = line,
                                 .source = {path, at, (size_t)(tab - at)},
                                 .target = {path, tab + 1, (size_t)(end - tab) - 1}};
    return true;
}

static bool is_blank(const Passage *line) {
    size_t n = 0;
    while (n < line->length && (line->text[n] == ' ' || line->text[n] == '\t')) n++;
    return n == line->length;
}

static bool read_lines(PairsTask *t, const Passage *line, long lines, Error *e) {
    for (long i = 0; i < lines; i++)
        if (!is_blank(&line[i]) && !read_line(t, &line[i], i + 1, e)) return false;
    long blank = lines - t->count;
    if (blank)
        task_remark(t->task.remark, "%s: left out %ld blank line%s", line->where, blank,
                    PLURAL(blank));
    return true;
}

static bool read_pairs(PairsTask *t, const TaskOptions *o, Error *e) {
    long lines;
    if (!texts_open(&t->file, o->pairs, true, e)) return false;
    const Passage *text = t->file.text;
    if (!o->tokenizer->any_bytes && !text_check(o->pairs, text->text, text->length, "pairs", e))
        return false;
    if (t->file.byte_order_mark)
        task_remark(t->task.remark, "%s: skipped a byte-order mark", o->pairs);
    Passage *line = texts_lines(text, 1, &lines, e);
    if (!line) return false;
    t->pair = malloc((size_t)(lines + 1) * sizeof *t->pair);
    bool ok = t->pair
                  ? read_lines(t, line, lines, e)
                  : error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", o->pairs, lines);
    free(line);
    return ok;
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
    long count = t->count, held_out;
    Side *side = t->side = malloc((size_t)(count + 1) * sizeof *side);
    if (!side)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", o->pairs, count);
    for (long k = 0; k < count; k++) side[k] = (Side){number_of(&t->pair[k].source), k};
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
    long count = kind == &tokenizer_char ? t->count : t->training;
    const Side *side = t->side + t->count - count;
    Passage *passage = malloc(2 * (size_t)count * sizeof *passage);
    if (!passage)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld pairs", o->pairs, count);
    for (long i = 0; i < count; i++) {
        const Pair *p = &t->pair[side[i].item];
        passage[2 * i] = p->source;
        passage[2 * i + 1] = p->target;
    }
    t->task.tokenizer = o->vocabulary ? tokenizer_parse("vocabulary", o->vocabulary, e)
                                      : tokenizer_learn(kind, o->vocab_size, passage, 2 * count, e);
    free(passage);
    return t->task.tokenizer;
}

static bool encode(const PairsTask *t, const Passage *p, const Pair *pair, long max, int32_t *ids,
                   long *count, long *longest, Error *e) {
    char where[ERROR_TEXT];
    snprintf(where, sizeof where, "%.200s: line %ld", p->where, pair->line);
    if (!tokenizer_encode(t->task.tokenizer, where, p->text, p->length, ids, count, e))
        return false;
    if (*count > *longest) *longest = *count;
    return *count <= max || error_set(e, STATUS_BAD_DATA, "%s: found %ld tokens, need at most %ld",
                                      where, *count, max);
}

/* The model of another run limits the tokens of a target with its end. */
static bool encode_pairs(PairsTask *t, const TaskOptions *o, Error *e) {
    size_t bytes = 1;
    long at = 0, max_S = o->vocabulary ? o->context : MAX_SEQUENCE;
    long max_T = o->vocabulary ? o->context - 1 : MAX_SEQUENCE;
    for (long i = 0; i < t->count; i++)
        bytes += t->pair[i].source.length + t->pair[i].target.length;
    t->ids = malloc(bytes * sizeof *t->ids);
    if (!t->ids) return error_set(e, STATUS_NO_MEMORY, "pairs: no memory for %zu tokens", bytes);
    for (long i = 0; i < t->count; i++) {
        Pair *p = &t->pair[i];
        p->at = at;
        if (!encode(t, &p->source, p, max_S, t->ids + at, &p->S, &t->task.max_S, e) ||
            !encode(t, &p->target, p, max_T, t->ids + at + p->S, &p->T, &t->task.max_T, e))
            return false;
        at += p->S + p->T;
    }
    t->task.max_T++;
    return true;
}

/* ---- The task ---- */

/* Adds row i in the order of t->side. */
static void add_row(const PairsTask *t, long i, Batch *b) {
    const Pair *p = &t->pair[t->side[i].item];
    BatchRow row = batch_add(b, p->S, p->T + 1);
    memcpy(row.source, t->ids + p->at, (size_t)p->S * sizeof *row.source);
    batch_teach(row, t->task.begin_id, t->ids + p->at + p->S, t->task.end_id);
}

static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const PairsTask *t = (const PairsTask *)task;
    long back = random_below(random_key(t->key, step), (uint64_t)row, t->training);
    add_row(t, t->count - 1 - back, b);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    add_row((const PairsTask *)task, row, b);
}

static void free_pairs(Task *task) {
    PairsTask *t = (PairsTask *)task;
    texts_close(&t->file);
    free(t->pair);
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
    if (!read_pairs(t, o, e) || !choose_sides(t, o, e) || !learn_tokens(t, o, e) ||
        !encode_pairs(t, o, e))
        return false;
    t->task.checksum = crc32_update(0, t->file.text->text, t->file.text->length);
    task_number_tokens(&t->task);
    return true;
}
