#include "run/watch.h"
#include "decoding/beam.h"
#include "run/attention_look.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST = 32,         /* tokens on an axis */
    SHORTEST = 8,         /* reduced to this for models with many heads */
    ALL_WEIGHTS = 300000, /* of all kept steps: the page has up to four bytes for each */
    PROMPT = 16,          /* tokens of the prompt */
    CONTINUED = 40,       /* generated tokens */
};

/* ---- Rows ---- */

static void copy_row(WatchedRow *row, BatchRow from) {
    row->n = from.S;
    row->m = from.T < WATCHED_TOKENS ? from.T : WATCHED_TOKENS;
    memcpy(row->source, from.source, (size_t)row->n * sizeof *row->source);
    memcpy(row->target_in, from.target_in, (size_t)row->m * sizeof *row->source);
    memcpy(row->target_out, from.target_out, (size_t)row->m * sizeof *row->source);
}

/* A text may be cut; a source may not. */
static void choose_rows(Watch *w, const Trainer *t) {
    long count = task_held_out_batch(t->task, 0, t->micro_batch, t->batch);
    for (long r = 0; r < count; r++) {
        BatchRow row = batch_row(t->batch, r);
        if (w->rows == (row.S ? WATCHED_ROWS : 2)) return;
        if (row.S && (row.S > WATCHED_TOKENS || row.T > WATCHED_TOKENS)) continue;
        copy_row(&w->row[w->rows++], row);
    }
}

/* Makes examples of the rows with at most `longest` tokens, as many as fit a page. Returns the number of
 * their weights. */
static long make_examples(Watch *w, const ModelConfig *c, long longest) {
    long sum = 0;
    w->examples = 0;
    for (int i = 0; i < w->rows && w->examples < PAGE_EXAMPLES; i++) {
        const WatchedRow *row = &w->row[i];
        long m = row->n || row->m < longest ? row->m : longest;
        PageExample *x = &w->example[w->examples];
        if (row->n > longest || m > longest) continue;
        attention_example(x, c, row->source, row->n, row->target_in, m);
        x->whole = row->m;
        if (sum + page_weights(x) > WATCHED_WEIGHTS) break;
        sum += page_weights(x);
        w->examples++;
    }
    return sum;
}

static void choose_examples(Watch *w, const ModelConfig *c) {
    long longest = LONGEST, weights;
    while ((weights = make_examples(w, c, longest)) == 0 && longest > SHORTEST) longest = longest * 3 / 4;
    long most = weights ? ALL_WEIGHTS / weights : PAGE_FRAMES;
    w->most = most < PAGE_FRAMES ? (int)most : PAGE_FRAMES;
}

static void choose_samples(Watch *w) {
    for (int i = 0; i < w->rows; i++) {
        const WatchedRow *row = &w->row[i];
        bool text = row->n == 0;
        w->sample[w->samples++] = (PageSample){.given = text ? row->target_in : row->source,
                                               .given_count = text ? 1 : row->n,
                                               .wanted = row->target_out,
                                               .wanted_count = text ? row->m : row->m - 1};
        if (text && i == w->rows - 1)
            w->sample[w->samples++] =
                (PageSample){.given = row->target_in, .given_count = row->m < PROMPT ? row->m : PROMPT};
    }
}

/* Gives each group its place in one block. */
static bool take_memory(Watch *w, Error *e) {
    long bytes = 1;
    for (int i = 0; i < w->examples; i++)
        for (int g = 0; g < w->example[i].groups; g++) bytes += page_group_size(&w->example[i].group[g]);
    uint8_t *place = malloc((size_t)bytes);
    w->weights[0][0] = place;
    for (int i = 0; place && i < w->examples; i++)
        for (int g = 0; g < w->example[i].groups; g++) {
            w->weights[i][g] = place;
            place += page_group_size(&w->example[i].group[g]);
        }
    return place || error_set(e, STATUS_NO_MEMORY, "memory: %ld bytes of weights for the page", bytes);
}

bool watch_open(Watch *w, Trainer *t, Error *e) {
    choose_rows(w, t);
    choose_examples(w, &t->model->config);
    choose_samples(w);
    return take_memory(w, e);
}

void watch_close(Watch *w) {
    free(w->weights[0][0]);
    *w = (Watch){0};
}

/* ---- Attention and answers ---- */

/* An answer may be a little longer than the right one. */
static long most_tokens(const PageSample *s) {
    return s->wanted_count + WATCHED_ANSWER - WATCHED_TOKENS;
}

/* An answer to a source; next-token predictions of a text; or generated text. */
static bool answer(Watch *w, int i, Trainer *t, Error *e) {
    const PageSample *s = &w->sample[i];
    const Task *task = t->task;
    PageAnswer *a = &w->answer[i];
    int32_t *tokens = w->tokens[i];
    a->tokens = tokens;
    if (task->max_S)
        return decode_answers(t->tape, t->model, &(Sampler){.tokenizer = task->tokenizer}, 1,
                              (long[]){0, s->given_count}, s->given, task->begin_id, task->end_id,
                              most_tokens(s), tokens, &a->count, e);
    if (!s->wanted) {
        int32_t ids[PROMPT + CONTINUED];
        Sampler sampler = {.temperature = 0.8, .seed = t->seed, .tokenizer = task->tokenizer};
        memcpy(ids, s->given, (size_t)s->given_count * sizeof *ids);
        a->count = CONTINUED;
        bool ok = decode_continue(t->tape, t->model, &sampler, ids, s->given_count, a->count, NULL, NULL, e);
        if (ok) memcpy(tokens, ids + s->given_count, (size_t)a->count * sizeof *ids);
        return ok;
    }
    PageExample x;
    a->count = s->wanted_count;
    attention_example(&x, &t->model->config, NULL, 0, w->row[i].target_in, a->count);
    return attention_likeliest(&x, t->tape, t->model, tokens, e);
}

/* ---- Beam search ---- */

static NextTokens next_of(const Task *t) {
    return (NextTokens){t->tokenizer, t->begin_id, t->end_id, t->pad_id};
}

/* Computes the probabilities of the n tokens of an answer in one pass over all, as in training. */
static bool judge(const PageSample *s, const int32_t *ids, long n, Trainer *t, double *probability,
                  Error *e) {
    PageExample x;
    NextTokens next = next_of(t->task);
    int32_t target[WATCHED_ANSWER + 1] = {t->task->begin_id};
    memcpy(target + 1, ids, (size_t)(n - 1) * sizeof *target);
    attention_example(&x, &t->model->config, s->given, s->given_count, target, n);
    const Tensor *logits = attention_logits(&x, t->tape, t->model, NULL, e);
    for (long i = 0, V = t->model->config.vocab_size; logits && i < n; i++) {
        real *row = logits->data + i * V;
        next_tokens_hide(&next, ids, i, V, row);
        double sum = 0;
        for (long v = 0; v < V; v++) sum += exp((double)(row[v] - row[ids[i]]));
        probability[i] = 1 / sum;
    }
    tape_reset(t->tape);
    return logits;
}

static bool is_right(const PageSample *s, const PageAnswer *a) {
    return a->count == s->wanted_count &&
           memcmp(a->tokens, s->wanted, (size_t)a->count * sizeof *a->tokens) == 0;
}

static bool search(Watch *w, Trainer *t, Error *e) {
    const Task *task = t->task;
    Hypothesis best[PAGE_BEAMS];
    Decoder d;
    long found = 0;
    int i = 0;
    if (!task->max_S || w->samples == 0) return true;
    while (i < w->samples && is_right(&w->sample[i], &w->answer[i])) i++;
    const PageSample *s = w->searched = &w->sample[i < w->samples ? i : 0];
    Given given = {&task->begin_id, 1, 1, (long[]){0, s->given_count}, s->given, .next = next_of(task)};
    BeamOptions o = {.length_penalty = 0.6, .n_best = PAGE_BEAMS};
    bool ok = decoder_open(&d, t->tape, t->model, PAGE_BEAMS, &given, most_tokens(s), e) &&
              beam_search(&d, &o, best, &found, e);
    decoder_close(&d);
    for (w->beams = 0; w->beams < found; w->beams++) {
        const Hypothesis *h = &best[w->beams];
        int32_t *ids = memcpy(w->beam_ids[w->beams], h->ids, (size_t)h->n * sizeof *ids);
        long n = h->n + (h->n + 1 < d.room); /* with the end, unless the answer was cut off */
        ids[h->n] = task->end_id;
        w->beam[w->beams] = (PageBeam){{n, ids}, w->probability[w->beams]};
        ok = ok && judge(s, ids, n, t, w->probability[w->beams], e);
        free(h->ids);
    }
    return ok;
}

/* Adds the counts of a module to those of the other examples. */
static void add_counts(Watch *w, const TraceCounts *c) {
    int i = 0;
    while (i < w->counted && strcmp(w->counts[i].name + strlen(NOTE_SHARES), c->name) != 0) i++;
    if (i == WATCHED_COUNTS || c->n > WATCHED_PARTS) return;
    WatchedCounts *sum = &w->counts[i];
    if (i == w->counted) {
        *sum = (WatchedCounts){.n = c->n};
        snprintf(sum->name, sizeof sum->name, NOTE_SHARES "%s", c->name);
        w->counted++;
    }
    for (int k = 0; k < c->n; k++) sum->count[k] += c->count[k];
}

/* "27 24 26 23 %" */
static void write_shares(WatchedCounts *c) {
    size_t at = 0;
    long total = 0;
    for (int k = 0; k < c->n; k++) total += c->count[k];
    for (int k = 0; k < c->n && at < sizeof c->shares; k++)
        at += (size_t)snprintf(c->shares + at, sizeof c->shares - at, "%.0f ",
                               100 * (double)c->count[k] / (double)(total ? total : 1));
    if (at + 1 < sizeof c->shares) strcpy(c->shares + at, "%");
}

static bool look(Watch *w, int i, Trainer *t, Error *e) {
    Trace trace = {0};
    bool ok = attention_logits(&w->example[i], t->tape, t->model, &trace, e);
    if (ok) attention_take(&w->example[i], &trace, w->weights[i]);
    for (const TraceCounts *c = trace.counts; ok && c; c = c->next) add_counts(w, c);
    tape_reset(t->tape);
    return ok;
}

bool watch_look(Watch *w, Trainer *t, Error *e) {
    bool ok = true;
    w->counted = 0;
    for (int i = 0; ok && i < w->examples; i++) ok = look(w, i, t, e);
    for (int i = 0; i < w->counted; i++) write_shares(&w->counts[i]);
    for (int i = 0; ok && i < w->samples; i++) ok = answer(w, i, t, e);
    return ok && search(w, t, e);
}

void watch_add(const Watch *w, long step, Frames *f) {
    for (int i = 0; i < w->examples; i++) {
        frames_add_example(f, i, &w->example[i]);
        frames_add_weights(f, step, i, &w->example[i], w->weights[i]);
    }
    for (int i = 0; i < w->samples; i++) {
        frames_add_sample(f, i, &w->sample[i]);
        frames_add_answer(f, step, i, &w->answer[i]);
    }
    if (w->beams) frames_add_beams(f, w->searched, w->beam, w->beams);
    for (int i = w->counted - 1; i >= 0; i--) frames_note(f, w->counts[i].name, w->counts[i].shares);
}
