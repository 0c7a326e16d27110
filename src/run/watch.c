/* The rows, and the frames made of them. */
#include "run/watch.h"
#include "base/directory.h"
#include "decoding/decode.h"
#include "kernels/arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = WATCHED_ANSWER + 1,
    TEXTS = 2,            /* rows of a text */
    LONGEST = 32,         /* tokens on an axis */
    SHORTEST = 8,         /* reduced to this for models with many heads */
    ALL_WEIGHTS = 300000, /* of all kept steps: the page has up to four bytes for each */
    PROMPT = 16,          /* tokens of the prompt */
    CONTINUED = 40,       /* generated tokens */
};

/* ---- Rows ---- */

/* Makes samples of the first rows that are short enough. A text may be cut; a source may not. The last sample of a text is
 * its continuation. */
static void choose_samples(Watch *w) {
    const Trainer *t = w->trainer;
    long prompt = t->task->lines ? 1 : PROMPT;
    long rows = task_held_out_batch(t->task, 0, t->micro_batch, t->batch);
    int samples = 0;
    for (long r = 0; r < rows; r++) {
        BatchRow row = batch_row(t->batch, r);
        long m = row.T < WATCHED_TOKENS ? row.T : WATCHED_TOKENS;
        if (samples == (row.S ? SAMPLES - 1 : TEXTS)) break;
        if (row.S && (row.S > WATCHED_TOKENS || row.T > WATCHED_TOKENS)) continue;
        frames_set(&w->frames, LIST_GIVEN + samples, row.S ? row.source : row.target_in, row.S ? row.S : 1);
        frames_set(&w->frames, LIST_WANTED + samples, row.target_out, row.S ? m - 1 : m);
        samples++;
        if (row.S || samples < TEXTS) continue;
        frames_set(&w->frames, LIST_GIVEN + samples, row.target_in, m < prompt ? m : prompt);
    }
}

/* The decoder's input for a sample. Returns its tokens. */
static long input_of(const Watch *w, int sample, int32_t out[WIDTH]) {
    const Task *task = w->trainer->task;
    List given = frames_list(&w->frames, LIST_GIVEN + sample),
         wanted = frames_list(&w->frames, LIST_WANTED + sample);
    bool text = task->max_S == 0;
    long n = text ? wanted.count - 1 : wanted.count;
    *out = text ? *given.id : task->begin_id;
    memcpy(out + 1, wanted.id, (size_t)n * sizeof *out);
    return n + 1;
}

/* Makes examples of the samples with at most `longest` tokens, as many as fit a page. Returns the number of their
 * weights. */
static double make_examples(Watch *w, long longest) {
    Frames *f = &w->frames;
    double sum = 0;
    int examples = 0;
    for (int i = 0; i < 2 * EXAMPLES; i++) frames_set(f, LIST_SOURCE + i, NULL, 0);
    for (int i = 0; i < frames_lists(f, LIST_WANTED, SAMPLES) && examples < EXAMPLES; i++) {
        int32_t target[WIDTH];
        long m = input_of(w, i, target);
        List source = frames_list(f, LIST_GIVEN + i);
        bool text = w->trainer->task->max_S == 0;
        if (!text && (source.count > longest || m > longest)) continue;
        frames_set(f, LIST_SOURCE + examples, source.id, text ? 0 : source.count);
        frames_set(f, LIST_TARGET + examples, target, m);
        double weights = frames_example_weights(f, examples);
        if (sum + weights > WATCHED_WEIGHTS) {
            frames_set(f, LIST_SOURCE + examples, NULL, 0), frames_set(f, LIST_TARGET + examples, NULL, 0);
            break;
        }
        sum += weights, examples++;
    }
    return sum;
}

/* Takes the frames up to this step, if they are of the same rows. */
static void take_earlier(Watch *w) {
    char path[PATH_ROOM];
    Frames old = {0}, *f = &w->frames;
    Safetensors file = {0};
    bool ok = directory_file(path, w->config->run, "frames.safetensors", STATUS_NO_INPUT, &(Error){0}) &&
              safetensors_read(&file, path, &(Error){0}) &&
              frames_read(&old, &file, w->trainer->task->vocab_size, &(Error){0}) && old.width == f->width &&
              old.weights == f->weights &&
              memcmp(old.tokens, f->tokens, (size_t)(LIST_ANSWER * f->width) * sizeof *f->tokens) == 0;
    for (int i = 0; ok && i < old.count && old.step[i] <= w->trainer->state.step; i++) {
        int frame = frames_begin(f, old.step[i]);
        memcpy(f->weight + frame * f->weights, old.weight + i * f->weights, (size_t)f->weights);
        for (int s = 0; s < SAMPLES; s++) {
            List answer = frames_list(&old, frames_answer(i, s));
            frames_set(f, frames_answer(frame, s), answer.id, answer.count);
        }
    }
    frames_free(&old);
    safetensors_free(&file);
}

bool watch_open(Watch *w, const TrainConfig *r, Trainer *t, Error *e) {
    const ModelConfig *c = &t->model->config;
    *w = (Watch){.config = r, .trainer = t};
    if (!frames_new(&w->frames, c, LONGEST, WIDTH, e) || !task_yardsticks(t->task, &w->yardsticks, e))
        return false;
    choose_samples(w);
    long longest = LONGEST;
    double weights;
    while ((weights = make_examples(w, longest)) == 0 && longest > SHORTEST) longest = longest * 3 / 4;
    if (!frames_reserve(&w->frames, weights * FRAMES > ALL_WEIGHTS ? (int)(ALL_WEIGHTS / weights) : FRAMES,
                        e))
        return false;
    if (r->resume) take_earlier(w);
    return true;
}

void watch_close(Watch *w) {
    frames_free(&w->frames);
    *w = (Watch){0};
}

/* ---- Attention and answers ---- */

/* An answer may be a little longer than the right one. */
static long most_tokens(List wanted) {
    return wanted.count + WATCHED_ANSWER - WATCHED_TOKENS;
}

/* The likeliest token after each token of a text. */
static bool predict(Watch *w, int sample, int32_t *out, long *count, Error *e) {
    Trainer *t = w->trainer;
    int32_t input[WIDTH];
    long V = t->model->config.vocab_size;
    *count = input_of(w, sample, input);
    const Tensor *logits = frames_logits(t->tape, t->model, (List){0}, (List){input, *count}, NULL, e);
    for (long i = 0; logits && i < *count; i++) out[i] = (int32_t)kernel_argmax(V, logits->data + i * V);
    tape_reset(t->tape);
    return logits;
}

/* Continues a text, or writes a line. */
static bool generate(const Trainer *t, List given, int32_t *out, long *count, Error *e) {
    int32_t ids[PROMPT + CONTINUED];
    const Task *task = t->task;
    Sampler sampler = {.temperature = 0.8, .seed = t->seed, .tokenizer = task->tokenizer};
    if (task->lines)
        return decode_answers(t->tape, t->model, &sampler, 1, NULL, NULL, task->begin_id, task->end_id,
                              CONTINUED, out, count, e);
    memcpy(ids, given.id, (size_t)given.count * sizeof *ids);
    *count = CONTINUED;
    bool ok = decode_continue(t->tape, t->model, &sampler, ids, given.count, CONTINUED, NULL, NULL, e);
    if (ok) memcpy(out, ids + given.count, CONTINUED * sizeof *ids);
    return ok;
}

static bool answer(Watch *w, int frame, int sample, Error *e) {
    Trainer *t = w->trainer;
    const Task *task = t->task;
    List given = frames_list(&w->frames, LIST_GIVEN + sample),
         wanted = frames_list(&w->frames, LIST_WANTED + sample);
    int32_t ids[WIDTH];
    long count = 0;
    bool ok;
    if (task->max_S)
        ok = decode_answers(t->tape, t->model, &(Sampler){.tokenizer = task->tokenizer}, 1,
                            (long[]){0, given.count}, given.id, task->begin_id, task->end_id,
                            most_tokens(wanted), ids, &count, e);
    else if (wanted.count)
        ok = predict(w, sample, ids, &count, e);
    else
        ok = generate(t, given, ids, &count, e);
    if (ok) frames_set(&w->frames, frames_answer(frame, sample), ids, count);
    return ok;
}

bool watch_look(Watch *w, Error *e) {
    Trainer *t = w->trainer;
    Frames *f = &w->frames;
    int frame = frames_begin(f, t->state.step);
    uint8_t *weight = f->weight + frame * f->weights;
    bool ok = true;
    for (int i = 0; ok && i < frames_lists(f, LIST_TARGET, EXAMPLES); i++) {
        Trace trace = {0};
        Group group[GROUPS];
        frames_groups(f, i, group);
        List source = frames_list(f, LIST_SOURCE + i), target = {0};
        target = source.count ? frames_list(f, LIST_TARGET + i) : group->rows;
        ok = frames_logits(t->tape, t->model, source, target, &trace, e);
        if (ok) weight = frames_take(f, i, &trace, weight);
        tape_reset(t->tape);
    }
    for (int i = 0; ok && i < frames_lists(f, LIST_GIVEN, SAMPLES); i++) ok = answer(w, frame, i, e);
    return ok;
}
