/* The defaults of a training run: the library's own, then those of the preset. */
#include "base/append.h"
#include "tasks/corpus.h"
#include "training/train_config.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "Attention Is All You Need". Deviation: the rate falls with a cosine, which needs no warm-up of
 * thousands of steps. */
static void set_paper(TrainConfig *r) {
    r->dropout = 0.1; /* 5.4 */
}

/* nanoGPT, train_shakespeare_char.py, as its README runs it on a CPU. */
static void set_gpt(TrainConfig *r) {
    r->schedule.rate = 1e-3;
    r->schedule.min_rate = 1e-4;
    r->optimizer.beta2 = 0.99;
    r->optimizer.weight_decay = 0.1;
}

/* Nats a character on the held-out tenth of 1 MB of English (fortunes), 4 layers, d_model 128,
 * context 64, batch 12, one seed; a difference below 0.02 means little:
 *
 *     1500 steps  gpt at rates of 2e-3 to 0 1.998, modern 1.752, with RMS norm 1.750
 *     500 steps   modern 1.958; silu 1.981, swiglu 1.964, RMS norm 1.961; --matrix-lr 0.04 1.956,
 *                 --lr 0.006 1.958; falling over all steps 1.968; --weight-decay 0.1 1.961;
 *                 context 128, batch 6 1.991; batch 24, 250 steps 2.025; d_model 96 2.010,
 *                 3 layers 1.982
 *
 * Muon adds the same time to a step at any batch: at 12 rows, 19 % of a step with AdamW. */
static void set_modern(TrainConfig *r) {
    set_gpt(r);
    r->optimizer.kind = &optimizer_muon;
    r->optimizer.weight_decay = 0;
    r->schedule.kind = &schedule_linear;
    r->schedule.rate = 3e-3;
    r->schedule.min_rate = 0;
}

/* ---- Rules from the length of the text ----
 *
 * Nats a character on the held-out tenth with preset modern, batch 12, context 64, one seed: a
 * difference below 0.02 means little. text/tokenizer_fit.c has the rules for tokens,
 * training/README.md the losses of the wider model.
 *
 *     1.1 MB of Shakespeare, vocabulary 2048, 3300 steps, about 6 times through it:
 *         weight decay 0                  dropout 0.05 1.481, 0.1 1.469, 0.2 1.484
 *         weight decay 0.1, dropout 0.1   1.452
 *         weight decay 0.2                dropout 0 1.447, 0.1 1.465
 *         weight decay 0.3, dropout 0     1.452
 *         the same, context 128, batch 6  1.443
 *         weight decay 0.2, 28 times      dropout 0.2 1.451, 0.4 1.511 (vocabulary 1024)
 *     10 MB of documentation, 2200 steps: weight decay 0 1.608, 0.2 1.599; 2000 steps of context
 *         128, batch 6: 1.614 and 1.620
 *     70 kB (data/chronicle.txt), 1000 steps, about 32 times through it; the best weights on the
 *         way: weight decay 0, dropout 0.1 1.193, 0.2 1.163, 0.4 1.143; weight decay 0.2, dropout
 *         0.2 1.159, 0.4 1.131 */

/* A text that is too short for a tail is learnt by heart in BY_HEART steps: 1,900 characters reach
 * 0.01 nats each, 300 characters 0.06 in half of them.
 *
 * From MANY_PASSES of the usual model through a text of LARGE_TEXT characters on, --minutes take
 * the other width. */
enum { BY_HEART = 200, SMALL_TEXT = 250000, MANY_PASSES = 16, LARGE_TEXT = 1000000, WIDE = 256 };

/* Whether the preset's defaults follow from the text. */
static bool is_modern(const TrainConfig *r) {
    return r->preset == PRESET_MODERN || r->preset == PRESET_LLAMA;
}

void train_config_fit_text(TrainConfig *r) {
    bool modern = is_modern(r);
    if (r->data.lines && !train_config_is_set(r, &r->batch))
        r->batch = 64; /* most lines are far shorter than the context */
    if (modern && !train_config_is_set(r, &r->data.tokenizer))
        r->data.tokenizer = r->preset == PRESET_LLAMA ? &tokenizer_bpe : NULL;
    r->data.usual_tail = !train_config_is_set(r, &r->data.validation);
    if (modern && r->data.validation > 0 && !train_config_is_set(r, &r->optimizer.weight_decay))
        r->optimizer.weight_decay = 0.2;
}

double train_config_passes(const TrainConfig *r, const Task *task) {
    const Corpus *c = task_text_corpus(task);
    if (c->line) return r->data.tokens / (double)(r->data.context * c->training_lines);
    return r->data.tokens / (double)c->training;
}

/* Takes over what the opened task chose by its text: the tokenizer. Then the defaults that depend
 * on passes through it. */
static void fit_task(TrainConfig *r, const Task *task) {
    const Corpus *c = task_text_corpus(task);
    if (!c) return;
    r->data.tokenizer = c->tokenizer->kind;
    r->data.vocab_size = c->vocab_size;
    /* A text of which nothing is held out is to be learnt by heart. */
    bool by_heart = c->validation == 0, modern = is_modern(r);
    if (by_heart && r->data.usual_tail) r->data.validation = 0;
    if (modern && by_heart && !train_config_is_set(r, &r->optimizer.weight_decay))
        r->optimizer.weight_decay = 0;
    if (!modern || train_config_is_set(r, &r->dropout)) return;
    double passes = train_config_passes(r, task);
    if (r->minutes > 0)
        passes = INFINITY; /* the steps are not known yet: plan memory for dropout */
    bool small = c->written < SMALL_TEXT, few = passes < (small ? 6 : 12);
    r->dropout = small ? 0.4 : 0.2;
    if (few) r->dropout = r->model.d_model >= WIDE ? 0.1 : 0;
    if (by_heart) r->dropout = 0;
}

void train_config_set_steps(TrainConfig *r, const Task *task, long steps) {
    bool linear = r->schedule.kind == &schedule_linear;
    long warmup = steps / (linear ? 20 : 5), max = r->preset == PRESET_GPT ? 100 : 200;
    if (!linear && warmup > max) warmup = max;
    r->schedule.steps = steps;
    if (!train_config_is_set(r, &r->schedule.warmup)) r->schedule.warmup = warmup;
    if (!train_config_is_set(r, &r->eval_every)) r->eval_every = steps >= 10 ? steps / 10 : 1;
    r->data.tokens = (double)steps * (double)(r->batch * r->accumulate * r->data.context);
    if (task) fit_task(r, task);
}

void train_config_set_width(TrainConfig *r, int d_model) {
    ModelConfig *m = &r->model;
    bool gated = m->activation->columns == 2; /* as many weights with two thirds of the width */
    m->d_model = d_model;
    if (!train_config_is_set(r, &m->d_ff))
        m->d_ff = gated ? (8 * d_model + 47) / 48 * 16 : 4 * d_model;
}

/* Takes the other width; true: it does, and the task is to be opened again, with the longer
 * context. */
static bool widen(TrainConfig *r, const Task *task) {
    const ModelConfig *m = &r->model;
    const void *sizes[] = {&m->d_model, &m->d_ff,         &m->encoder_layers,
                           &m->heads,   &r->data.context, &r->batch};
    const Corpus *c = task_text_corpus(task);
    if (!c || c->line || c->written < LARGE_TEXT || !is_modern(r) || r->minutes == 0) return false;
    if (train_config_passes(r, task) < MANY_PASSES) return false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (train_config_is_set(r, sizes[i])) return false;
    train_config_set_width(r, WIDE);
    r->data.context = 128;
    r->batch = 8;
    return true;
}

/* Says which option names another file than the one that is not there. */
static void name_option(const TrainConfig *r, Error *e) {
    bool lm = train_config_is_lm(r);
    const char *option = lm ? "text" : "pairs", *path = lm ? r->data.text : r->data.pairs;
    if (r->resume) {
        text_append(e->text, sizeof e->text, "; --%s FILE says where it is now", option);
    } else if (strcmp(path, lm ? task_defaults().text : task_defaults().pairs) == 0) {
        *e = (Error){0};
        error_set(e, STATUS_NO_INPUT, "%s: not in this directory, need --%s FILE", path, option);
    }
}

bool train_config_find_input(const TrainConfig *r, Error *e) {
    char path[PATH_CAPACITY];
    const char *names = strcmp(r->task, "pairs") == 0 ? r->data.pairs : "";
    if (train_config_is_lm(r)) names = r->data.text;
    while (*names) {
        size_t bytes = strcspn(names, "\n");
        snprintf(path, sizeof path, "%.*s", (int)bytes, names);
        names += bytes + (names[bytes] == '\n');
        if (strcmp(path, "-") == 0 || bytes >= sizeof path || access(path, F_OK) == 0) continue;
        error_set(e, STATUS_NO_INPUT, "%s: %s", ESCAPED(path), strerror(errno));
        name_option(r, e);
        return false;
    }
    return true;
}

Task *train_config_open(TrainConfig *r, Error *e) {
    Task *task = task_open(r->task, &r->data, e);
    if (task) fit_task(r, task);
    const Corpus *c = task ? task_text_corpus(task) : NULL;
    bool is_short = c && c->validation == 0 && r->data.usual_tail && is_modern(r);
    if (is_short && r->minutes == 0 && !train_config_is_set(r, &r->schedule.steps))
        train_config_set_steps(r, task, BY_HEART);
    if (task && widen(r, task)) {
        task_free(task);
        task = task_open(r->task, &r->data, e);
    }
    if (e->status == STATUS_NO_INPUT) name_option(r, e);
    if (r->resume && e->status == STATUS_BAD_DATA && train_config_is_lm(r) &&
        strcmp(r->data.text, "-") == 0)
        text_append(e->text, sizeof e->text, "; the text of the run is needed at stdin again");
    return task;
}

TrainConfig train_config_defaults(bool lm, Preset preset) {
    static void (*const set[])(TrainConfig *) = {[PRESET_PAPER] = set_paper,
                                                 [PRESET_GPT] = set_gpt,
                                                 [PRESET_MODERN] = set_modern,
                                                 [PRESET_LLAMA] = set_modern};
    TrainConfig r = {.data = task_defaults(),
                     .preset = (int)preset,
                     .model = lm ? config_language_model(1, 1) : config_seq2seq(1, 1, NO_PAD),
                     .optimizer = optim_default(&optimizer_adamw),
                     .schedule = {.kind = &schedule_cosine, .rate = 2e-3, .steps = 1000},
                     .batch = lm ? 12 : 64,
                     .accumulate = 1,
                     .matrix_lr = 0.02,
                     .checkpoint_minutes = 10};
    config_set_preset(&r.model, preset);
    set[preset](&r);
    return r;
}
