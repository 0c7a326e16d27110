#include "run/watch.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "decoding/decode.h"
#include "run/samples.h"
#include <math.h>
#include <string.h>

/* Looks are skipped while they took a larger share of the time since the start. */
#define MAX_SHARE 0.015

enum {
    TEXTS = 2,         /* rows of a text */
    EXAMPLES = 2,      /* rows whose attention is recorded */
    MAX_MAP = 32,      /* tokens of a map, … */
    MIN_MAP = 8,       /* … of a model with many heads */
    PROMPT = 16,       /* tokens of a text that the model continues … */
    CONTINUATION = 64, /* … by so many, … */
    MAX_SAMPLE = 160,  /* … and at the end by these */
    MAX_ANSWER = WATCHED_TOKENS + 4,
};

/* ---- Rows ---- */

static bool is_text(const Watch *w) {
    return w->trainer->task->max_S == 0;
}

/* Takes the first rows that are short enough. A row of a text may be cut; a source may not. */
static void choose_rows(Watch *w) {
    const Trainer *t = w->trainer;
    long rows = task_held_out_batch(t->task, 0, t->micro_batch, t->batch);
    int max_rows = is_text(w) ? TEXTS : WATCHED_ROWS;
    for (long i = 0; i < rows; i++) {
        BatchRow from = batch_row(t->batch, i);
        if (w->rows == max_rows) return;
        if (from.S > WATCHED_TOKENS || (from.S && from.T > WATCHED_TOKENS)) continue;
        WatchedRow *to = &w->row[w->rows++];
        to->S = from.S;
        to->T = from.T < WATCHED_TOKENS ? from.T : WATCHED_TOKENS;
        if (from.S) memcpy(to->source, from.source, (size_t)to->S * sizeof *to->source);
        memcpy(to->input, from.target_in, (size_t)to->T * sizeof *to->input);
        memcpy(to->wanted, from.target_out, (size_t)to->T * sizeof *to->wanted);
    }
}

static double weights_of(const ModelConfig *c, long S, long T) {
    double encoder = config_is_lm(c) ? (double)(T * T) : (double)(S * S);
    return c->heads * (c->encoder_layers * encoder + c->decoder_layers * (double)(T * T + T * S));
}

/* Chooses the examples whose maps are small enough, with maps of at most so many tokens. Returns
 * their number. */
static int choose_examples(Watch *w, long longest) {
    double sum = 0;
    int examples = 0;
    for (WatchedRow *r = w->row; r < w->row + w->rows; r++) {
        long T = is_text(w) && r->T > longest ? longest : r->T;
        sum += weights_of(&w->trainer->model->config, r->S, T);
        bool fits =
            r->S <= longest && T <= longest && sum <= WATCHED_WEIGHTS && examples < EXAMPLES;
        if (!fits) sum -= weights_of(&w->trainer->model->config, r->S, T);
        r->attention = fits ? T : 0;
        examples += fits;
    }
    return examples;
}

Watch watch_open(const TrainConfig *c, Trainer *t, Record *r) {
    Watch w = {.config = c, .trainer = t, .record = r};
    long longest = MAX_MAP;
    choose_rows(&w);
    while (choose_examples(&w, longest) == 0 && longest > MIN_MAP) longest = longest * 3 / 4;
    return w;
}

/* ---- Attention ---- */

static void print_labels(FILE *out, const char *name, const Task *task, const int32_t *id,
                         long count) {
    char text[TOKEN_LABEL];
    fprintf(out, ", \"%s\": [", name);
    for (long i = 0; i < count; i++) {
        const char *special = id[i] == task->begin_id ? "begin" : "end";
        bool is_data = id[i] < task->tokenizer->size;
        if (i) fputs(", ", out);
        json_print(out, is_data ? tokenizer_label(task->tokenizer, id[i], text) : special);
    }
    putc(']', out);
}

/* Prints [heads, rows, columns] weights, rounded to three digits. */
static void print_weights(FILE *out, const Tensor *weights) {
    long rows = weights->shape.size[1], columns = weights->shape.size[2];
    const real *value = weights->data;
    fputs(", \"weights\": [", out);
    for (long i = 0; i < weights->shape.size[0] * rows; i++) {
        bool begins_head = i % rows == 0;
        if (i) fputs(begins_head ? "]], " : "], ", out);
        fputs(begins_head ? "[[" : "[", out);
        for (long k = 0; k < columns; k++)
            fprintf(out, k ? ", %.3g" : "%.3g", round(1000 * (double)value[k]) / 1000);
        value += columns;
    }
    fputs("]]]", out);
}

static void record_attention(Watch *w, int example, const AttentionTrace *a) {
    const WatchedRow *r = &w->row[example];
    const Task *task = w->trainer->task;
    const Tensor *weights = a->steps[0].weights;
    bool from_source = r->S && strncmp(a->name, "encoder", strlen("encoder")) == 0;
    bool to_source = from_source || strstr(a->name, "multihead_attn");
    FILE *out = record_begin(w->record, "attention", w->trainer->state.step);
    fprintf(out, ", \"example\": %d", example);
    json_text(out, "module", a->name);
    print_labels(out, "rows", task, from_source ? r->source : r->input, weights->shape.size[1]);
    print_labels(out, "columns", task, to_source ? r->source : r->input, weights->shape.size[2]);
    print_weights(out, weights);
    record_end(w->record);
}

/* Records the attention of all layers and heads on the examples, at steps that lie ever further
 * apart. */
static bool look_at_attention(Watch *w, Error *e) {
    const Trainer *t = w->trainer;
    for (int i = 0; i < w->rows; i++) {
        const WatchedRow *r = &w->row[i];
        Trace trace = {0};
        if (!r->attention) continue;
        if (!samples_logits(t->tape, t->model, r->source, r->S, r->input, r->attention, &trace,
                            e)) {
            tape_reset(t->tape);
            return false;
        }
        for (const AttentionTrace *a = trace.first; a; a = a->next) record_attention(w, i, a);
        tape_reset(t->tape);
    }
    w->attention_due = t->state.step + t->state.step / 5 + 1;
    return true;
}

/* ---- Answers ---- */

/* Prints the text of tokens as a JSON string. */
static void print_text(FILE *out, const Tokenizer *k, const int32_t *id, long count) {
    char text[TOKEN_BYTES * (PROMPT + MAX_SAMPLE) + 1];
    size_t bytes = tokenizer_decode(k, id, count, text);
    for (size_t i = 0; i < bytes; i++)
        if (!text[i])
            text[i] = '\xFF'; /* is printed as U+FFFD, as other bytes that are not UTF-8 */
    json_print(out, text);
}

static void record_tokens(FILE *out, const char *name, const Task *task, const int32_t *id,
                          long count) {
    fprintf(out, ", \"%s\": ", name);
    print_text(out, task->tokenizer, id, count);
}

/* Prints tokens on the terminal. */
static void show_tokens(const char *before, const Task *task, const int32_t *id, long count) {
    char text[TOKEN_BYTES * (PROMPT + MAX_SAMPLE) + 1];
    size_t bytes = tokenizer_decode(task->tokenizer, id, count, text);
    fputs(before, stderr);
    utf8_print(stderr, text,
               bytes - utf8_unfinished(text, bytes)); /* it may end inside a character */
}

/* Prints tokens, and their answer if there is one, on one line of the terminal. */
static void show_line(const Task *task, const int32_t *id, long count, const int32_t *answer,
                      long answered) {
    enum { ALL = TOKEN_BYTES * (PROMPT + MAX_SAMPLE + MAX_ANSWER) + 8 };
    char text[ALL];
    size_t bytes = tokenizer_decode(task->tokenizer, id, count, text);
    bytes -= utf8_unfinished(text, bytes);
    if (answer) {
        memcpy(text + bytes, " -> ", 4);
        bytes += 4 + tokenizer_decode(task->tokenizer, answer, answered, text + bytes + 4);
    }
    text[bytes] = 0;
    utf8_make_printable(text, "\n");
    for (char *feed = strchr(text, '\n'); feed; feed = strchr(feed, '\n')) *feed = ' ';
    int columns = terminal_columns(stderr) - 4;
    bytes = utf8_prefix(text, strlen(text), (size_t)(columns > 0 ? columns : 0));
    fprintf(stderr, "  %.*s\n", (int)bytes, text);
}

/* Decodes and records the answer to a source. */
static bool look_at_answer(Watch *w, int index, bool is_last, Error *e) {
    const Trainer *t = w->trainer;
    const Task *task = t->task;
    const WatchedRow *r = &w->row[index];
    int32_t ids[MAX_ANSWER];
    long count, wanted = r->T - 1, start[] = {0, r->S}; /* without the end */
    Sampler greedy = {.tokenizer = task->tokenizer};
    if (!decode_answers(t->tape, t->model, &greedy, 1, start, r->source, task->begin_id,
                        task->end_id, wanted + MAX_ANSWER - WATCHED_TOKENS, ids, &count, e))
        return false;
    bool is_right = count == wanted && memcmp(ids, r->wanted, (size_t)wanted * sizeof *ids) == 0;
    FILE *out = record_begin(w->record, "answer", t->state.step);
    fprintf(out, ", \"index\": %d", index);
    record_tokens(out, "given", task, r->source, r->S);
    record_tokens(out, "wanted", task, r->wanted, wanted);
    record_tokens(out, "answer", task, ids, count);
    fprintf(out, ", \"right\": %s", is_right ? "true" : "false");
    record_end(w->record);
    if (w->config->quiet) return true;
    if (!is_last && index == 0) show_line(task, r->source, r->S, ids, count);
    if (is_last) {
        show_tokens("  ", task, r->source, r->S);
        show_tokens(" -> ", task, ids, count);
        fputs(is_right ? "\n" : "   (wrong)\n", stderr);
    }
    return true;
}

/* ---- Texts ---- */

/* The loss of a token, from the scores of all: -log softmax. */
static double loss_of(const real *logit, long count, int32_t id) {
    double max = -INFINITY, sum = 0;
    for (long i = 0; i < count; i++) max = fmax(max, (double)logit[i]);
    for (long i = 0; i < count; i++) sum += exp((double)logit[i] - max);
    return log(sum) + max - (double)logit[id];
}

/* Writes the text and the losses as two members of a line: "tokens" and "nats". The tokens of one
 * character are one. The first token has no loss: null. */
static void record_costs(FILE *out, const Tokenizer *k, const int32_t *id, double *nats,
                         long count) {
    long pieces = 0, first = 0;
    fputs(", \"tokens\": [", out);
    while (first < count) {
        double loss = nats[first];
        long end = first + 1;
        while (end < count && tokenizer_unfinished(k, id + first, end - first, NULL))
            loss += nats[end++];
        if (pieces) fputs(", ", out);
        print_text(out, k, id + first, end - first);
        nats[pieces++] = loss;
        first = end;
    }
    fputs("], \"nats\": [", out);
    for (long i = 0; i < pieces; i++)
        fprintf(out, isfinite(nats[i]) ? "%s%.3f" : "%snull", i ? ", " : "", nats[i]);
    putc(']', out);
}

/* Records what each token of a held-out text costs. */
static bool look_at_costs(Watch *w, int index, Error *e) {
    const Trainer *t = w->trainer;
    const WatchedRow *r = &w->row[index];
    long count = t->model->config.vocab_size;
    int32_t id[WATCHED_TOKENS + 1] = {r->input[0]};
    double nats[WATCHED_TOKENS + 1] = {NAN};
    const Tensor *logits = samples_logits(t->tape, t->model, NULL, 0, r->input, r->T, NULL, e);
    if (!logits) {
        tape_reset(t->tape);
        return false;
    }
    memcpy(id + 1, r->wanted, (size_t)r->T * sizeof *id);
    for (long i = 0; i < r->T; i++)
        nats[i + 1] = loss_of(logits->data + i * count, count, r->wanted[i]);
    FILE *out = record_begin(w->record, "costs", t->state.step);
    fprintf(out, ", \"index\": %d", index);
    record_costs(out, t->task->tokenizer, id, nats, r->T + 1);
    record_end(w->record);
    tape_reset(t->tape);
    return true;
}

/* Records a continuation of the first row, or a line. */
static bool look_at_sample(Watch *w, bool is_last, Error *e) {
    const Trainer *t = w->trainer;
    const Task *task = t->task;
    const WatchedRow *r = &w->row[0];
    int32_t ids[PROMPT + MAX_SAMPLE];
    long prompt = r->T < PROMPT ? r->T : PROMPT, count = CONTINUATION;
    Sampler sampler = {.temperature = 0.8, .seed = t->seed, .tokenizer = task->tokenizer};
    if (is_last) count = MAX_SAMPLE;
    if (task->lines) prompt = 0;
    memcpy(ids, r->input, (size_t)prompt * sizeof *ids);
    bool ok = task->lines
                  ? decode_answers(t->tape, t->model, &sampler, 1, NULL, NULL, task->begin_id,
                                   task->end_id, CONTINUATION, ids, &count, e)
                  : decode_continue(t->tape, t->model, &sampler, ids, prompt, count, NULL, NULL, e);
    if (!ok) return false;
    FILE *out = record_begin(w->record, "sample", t->state.step);
    record_tokens(out, "prompt", task, ids, prompt);
    record_tokens(out, "text", task, ids + prompt, count);
    record_end(w->record);
    if (!is_last && !w->config->quiet) show_line(task, ids + prompt, count, NULL, 0);
    if (is_last && !w->config->quiet) {
        show_tokens("a sample at temperature 0.8:\n", task, ids, prompt + count);
        putc('\n', stderr);
    }
    return true;
}

/* ---- A look ---- */

/* Shows a sample each time, and all of them at the end. */
static bool look_at_rows(Watch *w, bool is_last, Error *e) {
    if (is_text(w) && !look_at_sample(w, is_last, e)) return false;
    for (int i = 0; i < w->rows; i++) {
        bool ok = is_text(w) ? look_at_costs(w, i, e) : look_at_answer(w, i, is_last, e);
        if (!ok) return false;
    }
    return true;
}

bool watch_look(Watch *w, double seconds, bool is_last, Error *e) {
    double start = clock_seconds();
    if (w->rows == 0 || (!is_last && w->spent > MAX_SHARE * seconds)) return true;
    bool attends = is_last || w->trainer->state.step >= w->attention_due;
    bool ok = look_at_rows(w, is_last, e) && (!attends || look_at_attention(w, e));
    w->spent += clock_seconds() - start;
    return ok;
}
