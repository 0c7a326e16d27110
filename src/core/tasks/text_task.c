/* lm: next-token prediction. A row is a window of the corpus; its targets are the window one token
 * later. There are no source, special tokens or padding.
 *
 * Training windows are drawn at random from the training part. Held-out windows are adjacent:
 * `context` input tokens each and the token after them. The last one is shorter, and ends with the
 * text.
 *
 * With lines a row is a line: the token "\n" begins and ends it. A line that is longer than the
 * context is cut. */
#include "base/random.h"
#include "tasks/corpus.h"
#include "text/lines.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct TextTask {
    Task task;
    Corpus *corpus;
    uint64_t key;
    long *answer; /* [questions] index of the first token of each held-out answer */
} TextTask;

/* The window of context + 1 tokens from `first` on, as far as the text goes. */
static void add_window(Batch *b, const Corpus *c, long first) {
    long left = c->count - 1 - first;
    BatchRow row = batch_add(b, 0, left < c->context ? left : c->context);
    for (long i = 0; i < row.T; i++) {
        row.target_in[i] = c->ids[first + i];
        row.target_out[i] = c->ids[first + i + 1];
    }
}

static void add_line(Batch *b, const Corpus *c, long line) {
    long first = c->line[line], tokens = c->line[line + 1] - first;
    BatchRow row = batch_add(b, 0, tokens < c->context ? tokens : c->context);
    for (long i = 0; i < row.T; i++) {
        row.target_in[i] = i ? c->ids[first + i - 1] : c->line_end;
        row.target_out[i] = c->ids[first + i];
    }
}

static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const TextTask *t = (const TextTask *)task;
    const Corpus *c = t->corpus;
    long count = c->line ? c->training_lines : c->training - c->context;
    long index = random_below(random_key(t->key, step), (uint64_t)row, count);
    (c->line ? add_line : add_window)(b, c, index);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    const Corpus *c = ((const TextTask *)task)->corpus;
    if (c->line)
        add_line(b, c, c->validation ? c->training_lines + row : row);
    else
        add_window(b, c, c->validation + row * c->context);
}

/* The number of held-out windows, or lines. */
static long held_out_rows(const Corpus *c) {
    long targets = c->count - c->validation - 1;
    if (!c->line) return (targets + c->context - 1) / c->context;
    return c->validation ? c->lines - c->training_lines : c->lines;
}

/* Counts characters a token of the training part, and a target of the held-out rows: without the
 * first token, and without the ends of lines that are cut. */
static bool find_characters(Task *task, const Corpus *c, Error *e) {
    long held_out = c->validation ? c->characters : 0;
    task->training_characters = (double)(c->written - held_out) / (double)c->training;
    if (!c->line) {
        size_t first = tokenizer_characters(c->tokenizer, c->ids[c->validation]);
        long targets = c->count - c->validation - 1;
        task->characters = ((double)c->characters - (double)first) / (double)targets;
        return true;
    }
    double characters = 0, tokens = 0;
    Batch *b = task_batch(task, 1, e);
    if (!b) return false;
    for (long row = 0; row < task->held_out; row++) {
        batch_clear(b);
        add_held_out_row(task, row, b);
        tokens += (double)batch_target_tokens(b);
        for (long i = 0; i < batch_target_tokens(b); i++)
            characters += (double)tokenizer_characters(task->tokenizer, b->target_out[i]);
    }
    task->characters = characters / tokens;
    batch_free(b);
    return true;
}

/* The corpus owns the tokenizer. */
static void free_corpus(Task *task) {
    free(((TextTask *)task)->answer);
    corpus_free(((TextTask *)task)->corpus);
    task->tokenizer = NULL;
}

const Corpus *task_text_corpus(const Task *task) {
    return task->free == free_corpus ? ((const TextTask *)task)->corpus : NULL;
}

/* ---- Questions of a conversation ---- */

bool task_text_line_ends(const Task *task, int32_t id) {
    const Tokenizer *k = task->tokenizer;
    return k->text[k->start[id]] == '\n';
}

/* Finds the held-out answers: what follows a line's beginning "Bot:". */
static bool find_answers(TextTask *t, Error *e) {
    const Corpus *c = t->corpus;
    int32_t label[SPEAKER + 1];
    char text[SPEAKER + 1];
    long n = 0;
    int bytes = snprintf(text, sizeof text, "\n%s", c->speakers.bot);
    if (bytes < 2 || c->line || !c->validation) return true;
    if (!tokenizer_encode(c->tokenizer, "label", text, (size_t)bytes, label, &n, e)) return false;
    t->answer = calloc((size_t)(c->count - c->validation), sizeof *t->answer);
    if (!t->answer) return error_set(e, STATUS_NO_MEMORY, "memory: the answers of a text");
    for (long i = c->validation; i + n < c->count; i++) {
        long same = 0;
        while (same < n && c->ids[i + same] == label[same]) same++;
        if (same == n) t->answer[t->task.questions++] = i + n;
    }
    return true;
}

/* Whether an empty line stands before a token. */
static bool begins_paragraph(const Task *task, const uint16_t *id) {
    const uint32_t *start = task->tokenizer->start + id[-1];
    if (!task_text_line_ends(task, id[-1])) return false;
    return start[1] - start[0] > 1 || task_text_line_ends(task, id[-2]);
}

long task_text_question(const Task *task, long question, int32_t *ids, long *prompt) {
    const TextTask *t = (const TextTask *)task;
    const Corpus *c = t->corpus;
    long answer = t->answer[question], end = answer;
    while (end < c->count && !task_text_line_ends(task, c->ids[end])) end++;
    long first = answer, window = end + 1 - c->context;
    if (window < c->validation) window = c->validation;
    while (first > window && !begins_paragraph(task, c->ids + first)) first--;
    if (first >= answer) return 0;
    for (long i = first; i < end; i++) ids[i - first] = c->ids[i];
    *prompt = answer - first;
    return end - answer;
}

/* The token after which most lines begin, as far as its first tokens tell; in a text of one line,
 * its first token. */
static bool find_opening(const Corpus *c, int32_t *best, Error *e) {
    enum { MAX_TOKENS = 1 << 24 };
    *best = c->line ? c->line_end : c->ids[0];
    if (c->line) return true;
    const Tokenizer *k = c->tokenizer;
    long *count = calloc((size_t)k->size, sizeof *count), max = 0;
    if (!count)
        return error_set(e, STATUS_NO_MEMORY, "memory: counts of %ld tokens", (long)k->size);
    for (long i = 0; i < c->training && i < MAX_TOKENS; i++) {
        int32_t id = c->ids[i];
        bool ends_line = k->text[k->start[id + 1] - 1] == '\n';
        if (ends_line && ++count[id] > max) {
            max = count[id];
            *best = id;
        }
    }
    free(count);
    return true;
}

/* Reports invisible characters, and the options that a short text changes. */
static void remark(const Corpus *c, const TaskOptions *o, char out[REMARK]) {
    enum { FEW = 200 };
    const char *name = TEXTS_NAMED(o->text);
    bool all = c->without_tail || (c->validation == 0 && c->count < 2000);
    bool set_short = o->validation > 0 && o->validation < task_defaults().validation;
    if (c->empty_lines)
        task_remark(out, "%s: left out %ld empty line%s", name, c->empty_lines,
                    PLURAL(c->empty_lines));
    if (c->long_lines)
        task_remark(
            out,
            "%s: cut %ld line%s of more than %ld tokens, the end counted; --context N takes more",
            name, c->long_lines, PLURAL(c->long_lines), c->context);
    const char *cause = set_short ? "short --tail" : "short text";
    if (o->validation > 0.5) cause = "long --tail";
    if (!c->line && (c->context < o->context || all))
        task_remark(out, "%s: a %s: context %ld%s; a longer text teaches more", name, cause,
                    c->context, all ? ", nothing held out" : "");
    if (set_short && !c->without_tail && c->characters < FEW)
        task_remark(out, "%s: held out %ld characters, too few to judge by; a longer --tail helps",
                    name, c->characters);
    if (*c->unkept)
        task_remark(out, "%s: its tokens are not kept, the next start encodes them again: %s", name,
                    c->unkept);
    if (o->vocabulary) corpus_remark_unmerged(c, name, out);
    if (c->byte_order_mark) task_remark(out, "%s: skipped a byte-order mark", name);
    if (c->carriage_returns && !c->line && c->tokenizer->utf8)
        task_remark(out,
                    "%s: kept %ld carriage return%s as characters; --newline unix makes each end "
                    "of a line LF",
                    name, c->carriage_returns, PLURAL(c->carriage_returns));
}

bool task_text_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    TextTask *t = task_new(out, kind, sizeof *t, e);
    if (!t) return false;
    const Corpus *c = t->corpus = corpus_load(o, e);
    if (!c) return false;
    Task *task = &t->task;
    t->key = random_key(o->seed, STREAM_WINDOWS);
    task->tokenizer = c->tokenizer;
    task->vocab_size = c->tokenizer->size;
    task->max_T = c->context;
    task->held_out = held_out_rows(c);
    if (c->line) {
        task->begin_id = task->end_id = c->line_end;
        task->lines = o->text;
    }
    task->nothing_held_out = c->validation == 0;
    task->checksum = c->checksum;
    task->unix_newlines = o->unix_newlines || o->lines;
    task->add_training_row = add_training_row;
    task->add_held_out_row = add_held_out_row;
    task->free = free_corpus;
    remark(c, o, task->remark);
    task->speakers = c->speakers;
    return find_answers(t, e) && find_characters(task, c, e) &&
           find_opening(c, &task->opening_id, e);
}
