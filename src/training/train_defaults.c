/* The defaults of a training run: the library's own, then those of the preset. */
#include "base/directory.h"
#include "base/file.h"
#include "training/train_config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "Attention Is All You Need". Deviation: the rate falls with a cosine, which needs no warm-up of thousands of steps. */
static void set_paper(TrainConfig *r) {
    r->norm = NORM_POST, r->positions = POSITIONS_SINUSOIDAL, r->activation = 0;
    r->label_smoothing = 0.1, r->dropout = 0.1; /* 5.4 */
}

/* nanoGPT, train_shakespeare_char.py, as its README runs it on a CPU. */
static void set_gpt(TrainConfig *r) {
    r->norm = NORM_PRE, r->positions = POSITIONS_LEARNED, r->activation = ACT_GELU - ACT_RELU;
    r->label_smoothing = 0;
    r->lr = 1e-3, r->min_lr = 1e-4, r->beta2 = 0.99, r->weight_decay = 0.1;
}

/* Nats a character on the held-out tenth of 1 MB of English (fortunes), 4 layers, d_model 128, context 64, batch 12, one
 * seed; below 0.02 means little:
 *
 *     1500 steps  gpt at rates of 2e-3 to 0 1.998, modern 1.752, with RMS norm 1.750
 *     500 steps   modern 1.958; silu 1.981, swiglu 1.964, RMS norm 1.961; --matrix-lr 0.04 1.956, --lr 0.006 1.958;
 *                 --decay 1 1.968; --weight-decay 0.1 1.961; context 128, batch 6 1.991; batch 24, 250 steps 2.025;
 *                 d_model 96 2.010, 3 layers 1.982
 *
 * A step of Muon costs the same at any batch: at 12 rows 28 % of a step with AdamW, at 48 rows 7 %. */
static void set_modern(TrainConfig *r) {
    set_gpt(r);
    r->positions = POSITIONS_ROTARY, r->qk_norm = 1, r->init_output = 1;
    r->optimizer = OPTIM_MUON, r->schedule = SCHEDULE_LINEAR;
    r->lr = 3e-3, r->min_lr = 0, r->weight_decay = 0;
}

/* ---- Rules from the length of the text ----
 *
 * Nats a character on the held-out tenth with preset modern; context 64, one seed; below 0.02 means little. CPU: seconds
 * of one thread, which a loaded machine makes about a seventh longer; a step of preset gpt takes 0.025.
 *
 *     1 MB of English (fortunes)     vocabulary 1024: batch 8, 2000 steps 1.557 in 51; batch 12, 1500 steps 1.539 in 52;
 *                                    batch 16, 1200 steps 1.543 in 57
 *                                    vocabulary 2048: batch 8, 1800 steps 1.535 in 50; batch 12, 1400 steps 1.533 in 54;
 *                                    batch 16, 1100 steps 1.537 in 58
 *                                    vocabulary 4096: batch 8, 1700 steps 1.521 in 57; batch 12, 1300 steps 1.516 in 60
 *         vocabulary 2048, batch 8,  --matrix-lr 0.03 1.537, --lr 0.005 1.542, both rates x 0.7 1.544;
 *         1800 steps (1.535)         d_model 160 with 5 heads, 1400 steps 1.552 in 63
 *     1 MB of English (Jargon file)  batch 12: 2048, 1500 steps 1.347 in 61; 4096, 1350 steps 1.340 in 61
 *     10 MB of English (fortunes and  batch 12: 2048, 1500 steps 1.167 in 62; 4096, 1350 steps 1.141 in 66
 *     a book)
 *     1 MB, 4096, batch 12, about    the Jargon file: 2500 steps without dropout 1.385, 2400 steps with 0.1 1.314;
 *     6 times through it             more fortunes: 1.630 and 1.577
 *     70 kB, 1000 steps of batch 12, about 32 times through it; the best weights on the way:
 *         data/chronicle.txt         vocabulary 1024, dropout 0.1 1.193, 0.2 1.163, 0.3 1.165, 0.4 1.143;
 *                                    400 steps, dropout 0.2 1.135, 0.3 1.130; vocabulary 512, dropout 0.2 1.191
 *         the Jargon file's head     dropout 0.3: vocabulary 1024 1.899, 2048 1.956
 *
 * Not measured: sizes for five minutes and more, where a wider model may win. */

/* The size of the files at these paths, one a line. A file that cannot be read counts 0 bytes; task_open reports it. */
static double bytes_of(const char *paths) {
    double sum = 0;
    for (const char *end; paths && *paths; paths = *end ? end + 1 : end) {
        char path[PATH_ROOM];
        uintmax_t bytes;
        Error ignored = {0};
        end = paths + strcspn(paths, "\n");
        snprintf(path, sizeof path, "%.*s", (int)(end - paths), paths);
        int fd = file_open(path, &bytes, &ignored);
        if (fd >= 0) sum += (double)bytes, close(fd);
    }
    return sum;
}

/* A tenth of a text with fewer bytes than TINY_TEXT is too little to measure a loss on. */
enum { TINY_TEXT = 2000, SHORT_TEXT = 25000, MEDIUM_TEXT = 250000, LONG_TEXT = 700000 };

void train_config_fit_text(TrainConfig *r) {
    double bytes = bytes_of(r->data.text);
    if (strcmp(r->task, "lm") != 0) return;
    if (r->preset == PRESET_MODERN && !train_config_is_set(r, &r->data.tokenizer))
        r->data.tokenizer = TOKENIZER_BPE;
    if (r->data.tokenizer == TOKENIZER_BPE && !train_config_is_set(r, &r->data.vocab_size))
        r->data.vocab_size = bytes < SHORT_TEXT    ? 512
                             : bytes < MEDIUM_TEXT ? 1024
                             : bytes < LONG_TEXT   ? 2048
                                                   : 4096;
    if (bytes < TINY_TEXT && !train_config_is_set(r, &r->data.validation)) r->data.validation = 0;
}

void train_config_fit_steps(TrainConfig *r) {
    static const double bytes_per_token[] = {1, 1, 3, 5}; /* about: by TokenizerKind */
    if (r->preset != PRESET_MODERN || strcmp(r->task, "lm") != 0 || train_config_is_set(r, &r->dropout))
        return;
    double tokens = (double)r->steps * (double)(r->batch * r->accumulate * r->data.context);
    double passes = tokens * bytes_per_token[r->data.tokenizer] / fmax(1, bytes_of(r->data.text));
    if (r->minutes > 0) passes = INFINITY; /* the steps are not known yet: plan memory for dropout */
    r->dropout = r->data.validation == 0 || passes < 4 ? 0 : passes < 8 ? 0.1 : passes < 24 ? 0.2 : 0.4;
}

TrainConfig train_config_defaults(bool lm, Preset preset) {
    ModelConfig m = lm ? config_language_model(1, 1) : config_seq2seq(1, 1, NO_PAD);
    Optimizer o = optim_default(OPTIM_ADAMW);
    TrainConfig r = {.data = task_defaults(),
                     .preset = (int)preset,
                     .layers = m.encoder_layers,
                     .heads = m.heads,
                     .d_model = m.d_model,
                     .attention = (int)m.attention,
                     .untied = !m.tied,
                     .steps = 1000,
                     .batch = lm ? 12 : 64,
                     .accumulate = 1,
                     .optimizer = OPTIM_ADAMW,
                     .schedule = SCHEDULE_COSINE,
                     .lr = 2e-3,
                     .matrix_lr = 0.02,
                     .decay = 0.7,
                     .beta1 = o.beta1,
                     .beta2 = o.beta2,
                     .epsilon = o.epsilon,
                     .clip = o.clip_norm,
                     .checkpoint_minutes = 10,
                     .samples = 5,
                     .seeds = 1};
    (preset == PRESET_PAPER ? set_paper : preset == PRESET_GPT ? set_gpt : set_modern)(&r);
    return r;
}
