/* train: trains a Transformer on a toy task, as section 5 of "Attention Is All You Need" describes it.
 *
 *     ./train copy            a sequence comes back as it is
 *     ./train lm --text FILE  the next character of a text
 *
 * The parts are in src/: the task supplies batches (5.1), the trainer takes steps (5.2 to 5.4); here they are
 * put together, watched, judged and saved. */
#include "base/arena.h"
#include "base/directory.h"
#include "base/options.h"
#include "decoding/decode.h"
#include "nn/model_file.h"
#include "report/metrics.h"
#include "report/progress.h"
#include "tasks/text_task.h"
#include "training/trainer.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything that can be chosen. Where a task has defaults of its own, the value here is `unset` until then.
 */
enum { UNSET = -1 };
static struct Settings {
    /* Task */
    const char *text;
    long context, symbols, max_length, held_out;
    /* Model, section 3 */
    long layers, heads, d_model, d_ff;
    int norm, positions, activation, untied;
    double dropout, label_smoothing;
    /* Training, section 5 */
    long steps, batch, accumulate, warmup, eval_every;
    int optimizer, schedule;
    double lr, min_lr, beta1, beta2, epsilon, momentum, weight_decay, clip;
    /* Output */
    const char *run;
    long samples;
    bool force, json, quiet, dry_run;
} s;

static const Option table[] = {
    {"Task"},
    {"text", "FILE", NULL, "lm: the text to learn, UTF-8", .text = &s.text},
    {"context", "N", "[1,1048576]", "lm: characters that the model sees", .integer = &s.context},
    {"symbols", "N", "[2,20000]", "copy, reverse, sort: different symbols", .integer = &s.symbols},
    {"max-length", "N", "[1,4096]", "copy, reverse, sort: longest sequence", .integer = &s.max_length},
    {"held-out", "N", "[1,10000]", "copy, reverse, sort: sequences to judge by", .integer = &s.held_out},
    {"Model"},
    {"layers", "N", "[1,1000]", "N, of the encoder and of the decoder", "2; lm 4", .integer = &s.layers},
    {"heads", "N", "[1,1048576]", "h, attention heads", .integer = &s.heads},
    {"d-model", "N", "[1,1048576]", "width of the model", .integer = &s.d_model},
    {"d-ff", "N", "[1,1048576]", "width of the feed-forward layers", "4 d-model", .integer = &s.d_ff},
    {"norm", NULL, "post|pre", "where the layer norms stand", "post; lm pre", .choice = &s.norm},
    {"positions", NULL, "sinusoidal|learned", "positional encoding", "sinusoidal; lm learned",
     .choice = &s.positions},
    {"activation", NULL, "relu|gelu", "of the feed-forward layers", "relu; lm gelu", .choice = &s.activation},
    {"output", NULL, "tied|untied", "output matrix: the embedding's, or its own", .choice = &s.untied},
    {"dropout", "P", "[0,1)", "P_drop", .real = &s.dropout},
    {"label-smoothing", "E", "[0,1]", "of the training loss", "0.1; lm 0", .real = &s.label_smoothing},
    {"Training"},
    {"steps", "N", "[0,2147483647]", "updates to make", "1000", .integer = &s.steps},
    {"batch", "N", "[1,16777216]", "sequences at a time", "64; lm 12", .integer = &s.batch},
    {"accumulate", "N", "[1,1048576]", "batches of an update", .integer = &s.accumulate},
    {"optimizer", NULL, "adamw|sgd", "what makes the updates", .choice = &s.optimizer},
    {"schedule", NULL, "noam|cosine|constant", "learning rate over time", .choice = &s.schedule},
    {"lr", "X", "(0,inf)", "highest learning rate; noam: a factor", "0.002; noam 1", .real = &s.lr},
    {"min-lr", "X", "[0,inf)", "cosine: last learning rate", "0", .real = &s.min_lr},
    {"warmup", "N", "[0,2147483647]", "steps until the highest rate", "a fifth, at most 200",
     .integer = &s.warmup},
    {"beta1", "X", "[0,1)", "adamw: memory of the gradient", .real = &s.beta1},
    {"beta2", "X", "[0,1)", "adamw: memory of its square", "0.98; lm 0.99", .real = &s.beta2},
    {"epsilon", "X", "(0,inf)", "adamw: floor of the root", .real = &s.epsilon},
    {"momentum", "X", "[0,1)", "sgd", .real = &s.momentum},
    {"weight-decay", "X", "[0,inf)", "of matrices", "0; lm 0.1", .real = &s.weight_decay},
    {"clip", "X", "[0,inf)", "longest gradient; 0: any", .real = &s.clip},
    {"eval-every", "N", "[1,2147483647]", "steps between evaluations", "a tenth of steps",
     .integer = &s.eval_every},
    {"Output"},
    {"run", "DIR", NULL, "where model and metrics go", "runs/TASK", .text = &s.run},
    {"force", .help = "replace the run that is in DIR", .flag = &s.force},
    {"samples", "N", "[0,1000]", "decoded sequences to show at the end", .integer = &s.samples},
    {"json", .help = "print one JSON object an evaluation", .flag = &s.json},
    {"quiet", .help = "no progress, no samples", .flag = &s.quiet},
    {"dry-run", .help = "say what memory a run would take, and stop", .flag = &s.dry_run},
    {0},
};

/* Ctrl-C ends training early but keeps what was learned: the run is judged and saved. A second one kills. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    interrupted = 1;
    signal(signal_number, SIG_DFL);
}

static void or_else(long *value, long otherwise) {
    if (*value == UNSET) *value = otherwise;
}

static void or_else_real(double *value, double otherwise) {
    if (*value == UNSET) *value = otherwise;
}

static void or_else_choice(int *value, int otherwise) {
    if (*value == UNSET) *value = otherwise;
}

/* The model of the command line for this task, over the design's defaults. */
static ModelConfig model_config(const Task *task) {
    bool lm = task->max_S == 0;
    long longest = task->max_T > task->max_S ? task->max_T : task->max_S;
    ModelConfig c = lm ? config_language_model((int)task->vocab_size, (int)longest)
                       : config_seq2seq((int)task->vocab_size, (int)longest, task->pad_id);
    or_else(&s.layers, c.encoder_layers);
    or_else(&s.d_ff, 4 * s.d_model);
    or_else_choice(&s.norm, (int)c.norm);
    or_else_choice(&s.positions, (int)c.positions);
    or_else_choice(&s.activation, (int)c.activation - ACT_RELU);
    or_else_real(&s.label_smoothing, c.label_smoothing);
    c.encoder_layers = (int)s.layers;
    c.decoder_layers = lm ? 0 : (int)s.layers;
    c.heads = (int)s.heads;
    c.d_model = (int)s.d_model;
    c.d_ff = (int)s.d_ff;
    c.norm = (NormPlace)s.norm;
    c.final_norm = c.norm == NORM_PRE;
    c.positions = (PositionKind)s.positions;
    c.activation = (Activation)(s.activation + ACT_RELU);
    c.tied = !s.untied;
    c.label_smoothing = s.label_smoothing;
    return c;
}

/* Optimizer, schedule and batches of the command line. */
static void choose_training(Trainer *t, const Task *task, uint64_t seed) {
    bool lm = task->max_S == 0;
    or_else(&s.steps, 1000);
    or_else(&s.batch, lm ? 12 : 64);
    or_else(&s.warmup, s.steps < 1000 ? s.steps / 5 : 200);
    or_else(&s.eval_every, s.steps >= 10 ? s.steps / 10 : 1);
    or_else_real(&s.lr, s.schedule == SCHEDULE_NOAM ? 1 : 2e-3);
    or_else_real(&s.min_lr, 0);
    or_else_real(&s.beta2, lm ? 0.99 : 0.98);
    or_else_real(&s.weight_decay, lm ? 0.1 : 0);
    t->optimizer = (Optimizer){.kind = (OptimizerKind)s.optimizer,
                               .beta1 = s.beta1,
                               .beta2 = s.beta2,
                               .epsilon = s.epsilon,
                               .momentum = s.momentum,
                               .weight_decay = s.weight_decay,
                               .clip_norm = s.clip};
    t->schedule = (Schedule){.kind = (ScheduleKind)s.schedule,
                             .rate = s.lr,
                             .min_rate = s.min_lr,
                             .warmup = s.warmup,
                             .steps = s.steps,
                             .d_model = (int)s.d_model};
    t->task = task;
    t->batch = s.batch;
    t->accumulate = s.accumulate;
    t->seed = seed;
}

/* Greedy answers to all held-out sources: the share without a mistake. The first few are shown beside their
 * sources. Only tasks with sources have answers. */
static bool judge_answers(Trainer *t, bool show, double *exact, Error *e) {
    const Task *task = t->task;
    Sampler greedy = {0};
    long most = task->max_T, right = 0, shown = 0, count;
    int32_t *answer = calloc((size_t)(t->batch * most), sizeof *answer);
    long *length = calloc((size_t)t->batch, sizeof *length);
    char *text = malloc(UTF8_MAX * (size_t)(most + 1) + 1);
    bool ok = answer && length && text;
    if (!ok) fail(e, STATUS_NO_MEMORY, "memory: %ld answers", t->batch);
    for (long first = 0; ok && (count = task_held_out_batch(task, first, t->batch, t->rows)) > 0;
         first += count) {
        const Batch *b = t->rows;
        ok = decode_answers(t->tape, t->model, &greedy, count, b->S, b->source, task->begin_id, task->end_id,
                            most, answer, length, e);
        for (long i = 0; ok && i < count; i++) {
            long want = b->target_length[i] - 1;
            bool same = length[i] == want && memcmp(answer + i * most, b->target_out + i * b->T,
                                                    (size_t)want * sizeof *answer) == 0;
            right += same;
            if (!show || shown++ >= s.samples) continue;
            tokenizer_decode(task->tokenizer, b->source + i * b->S, b->source_length[i], text);
            fprintf(stderr, "  %s -> ", text);
            tokenizer_decode(task->tokenizer, answer + i * most, length[i], text);
            fprintf(stderr, "%s%s\n", text, same ? "" : "   (wrong)");
        }
    }
    *exact = (double)right / (double)task->held_out;
    free(answer), free(length), free(text);
    return ok;
}

/* A text as the model writes it, from the first characters of the held-out part. */
static bool show_text(Trainer *t, uint64_t seed, Error *e) {
    enum { PROMPT = 16, WRITTEN = 300 };
    const Corpus *corpus = text_task_corpus(t->task);
    int32_t ids[PROMPT + WRITTEN];
    char text[UTF8_MAX * (PROMPT + WRITTEN) + 1];
    long prompt = corpus->context < PROMPT ? corpus->context : PROMPT;
    memcpy(ids, corpus_held_out_window(corpus, 0), (size_t)prompt * sizeof *ids);
    Sampler sampler = {.temperature = 0.8, .seed = seed};
    if (!decode_continue(t->tape, t->model, &sampler, ids, prompt, WRITTEN, NULL, NULL, e)) return false;
    tokenizer_decode(corpus->tokenizer, ids, prompt, text);
    fprintf(stderr, "sample at temperature 0.8, continuing \"%s\":\n", text);
    tokenizer_decode(corpus->tokenizer, ids, prompt + WRITTEN, text);
    fprintf(stderr, "%s\n", text);
    return true;
}

static bool show_yardsticks(const Corpus *c, Error *e) {
    double unigram = unigram_entropy(c->ids + c->tail, c->count - c->tail, c->tokenizer->size, e);
    double bigram = bigram_entropy(c->ids + c->tail, c->count - c->tail, c->tokenizer->size, e);
    if (unigram < 0 || bigram < 0) return false;
    fprintf(stderr,
            "yardsticks, nats a character of the held-out text: uniform %.3f, unigram entropy %.3f, bigram "
            "%.3f\n",
            log((double)c->tokenizer->size), unigram, bigram);
    return true;
}

/* One evaluation: a row of metrics. The last one decodes as well. */
static bool evaluate(Trainer *t, MetricsFile *file, Metrics *m, Error *e) {
    Evaluation v;
    if (!trainer_evaluate(t, m->final ? 0 : 4 * t->batch, &v, e)) return false;
    m->val_loss = v.loss, m->val_accuracy = v.accuracy;
    if (m->final && t->task->max_S && !judge_answers(t, false, &m->val_exact, e)) return false;
    metrics_write(file, m);
    if (s.json) metrics_json(m);
    return true;
}

/* The loop. Section 5.2: a fixed number of steps. */
static bool train(Trainer *t, MetricsFile *file, Metrics *m, Error *e) {
    char words[160];
    double sum = 0, start = seconds_now(), val_loss = NAN;
    long summed = 0;
    Progress bar = progress_start(t->task->name, s.steps, s.quiet);
    while (m->step < s.steps && !interrupted) {
        StepResult r;
        if (!trainer_step(t, &r, e)) return false;
        m->step++, summed++;
        m->tokens += r.tokens, sum += r.loss;
        m->seconds = seconds_now() - start;
        m->train_loss = sum / (double)summed;
        if (m->step % s.eval_every == 0 && m->step < s.steps) {
            if (!evaluate(t, file, m, e)) return false;
            val_loss = m->val_loss;
            sum = 0, summed = 0;
        }
        if (isnan(val_loss))
            snprintf(words, sizeof words, "loss %.3f", r.loss);
        else
            snprintf(words, sizeof words, "loss %.3f  held-out %.3f", r.loss, val_loss);
        progress_show(&bar, m->step, (double)m->tokens / m->seconds, "tokens/s", words);
    }
    m->final = true;
    if (!evaluate(t, file, m, e)) return false;
    m->seconds = seconds_now() - start;
    snprintf(words, sizeof words, "loss %.3f  held-out %.3f", m->train_loss, m->val_loss);
    progress_end(&bar, m->step, (double)m->tokens / m->seconds, "tokens/s", words);
    return true;
}

static bool save(const Trainer *t, const char *directory, Error *e) {
    char path[4096], begin[24], end[24];
    snprintf(path, sizeof path, "%s/model.safetensors", directory);
    snprintf(begin, sizeof begin, "%ld", (long)t->task->begin_id);
    snprintf(end, sizeof end, "%ld", (long)t->task->end_id);
    char *vocabulary = tokenizer_string(t->task->tokenizer, e);
    if (!vocabulary) return false;
    Metadata extra[] = {
        {"task", t->task->name}, {"vocabulary", vocabulary}, {"begin_id", begin}, {"end_id", end}};
    bool ok = model_save(t->model, path, extra, sizeof extra / sizeof *extra, e);
    free(vocabulary);
    return ok;
}

/* What the run came to, for a person. */
static bool show_result(Trainer *t, const Metrics *m, uint64_t seed, Error *e) {
    if (s.quiet) return true;
    fprintf(stderr, "held-out: loss %.4f nats a token, token accuracy %.2f %%", m->val_loss,
            100 * m->val_accuracy);
    if (m->val_exact >= 0)
        fprintf(stderr, ", greedy decoding exact on %.2f %% of %ld sequences", 100 * m->val_exact,
                t->task->held_out);
    fprintf(stderr, "\n");
    if (s.samples == 0) return true;
    double ignored;
    return t->task->max_S ? judge_answers(t, true, &ignored, e)
                          : show_yardsticks(text_task_corpus(t->task), e) && show_text(t, seed, e);
}

/* From here on things are written. */
static bool run_in(const char *directory, Trainer *t, uint64_t seed, Error *e) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", directory);
    if (!s.force && access(path, F_OK) == 0)
        return fail(e, STATUS_CANNOT_CREATE, "%s: found a run there, need --force to replace it", directory);
    MetricsFile file;
    if (!directory_make(directory, e) || !metrics_open(&file, directory, e)) return false;
    signal(SIGINT, interrupt);
    Metrics m = {.task = t->task->name, .params = t->model->parameters.elements, .val_exact = -1};
    bool ok = train(t, &file, &m, e);
    ok = metrics_close(&file, e) && ok;
    if (t->bad && e->status == STATUS_NON_FINITE)
        fprintf(stderr, "train: first in the output of %s, operation %ld of the step\n", t->bad->op->name,
                t->bad->index);
    ok = ok && save(t, directory, e) && show_result(t, &m, seed, e);
    if (ok && !s.quiet) fprintf(stderr, "saved in %s\n", directory);
    return ok;
}

static bool run_task(const Task *task, uint64_t seed, Error *e) {
    Trainer t = {0};
    choose_training(&t, task, seed);
    ModelConfig c = model_config(task);
    if (!config_check(&c, STATUS_USAGE, e)) return false;
    size_t bytes = trainer_bytes(&c, s.dropout, task, t.batch, t.accumulate, e);
    if (!bytes) return false;
    if (s.dry_run) {
        printf("%.1f MB at the peak\n", (double)bytes * 1e-6);
        return true;
    }
    if (!memory_exists(bytes, "the training", e)) return false;
    t.model = model_new(&c, true, seed, e);
    if (!t.model) return false;
    t.model->dropout = s.dropout;
    bool ok = trainer_start(&t, e);
    if (ok) {
        char directory[256];
        snprintf(directory, sizeof directory, "runs/%s", task->name);
        ok = run_in(s.run ? s.run : directory, &t, seed, e);
        trainer_stop(&t);
    }
    model_free(t.model);
    return ok;
}

int main(int argc, char **argv) {
    TaskOptions o = task_defaults();
    s = (struct Settings){.text = o.text,
                          .context = o.context,
                          .symbols = o.symbols,
                          .max_length = o.max_length,
                          .held_out = o.held_out,
                          .layers = UNSET,
                          .heads = 4,
                          .d_model = 128,
                          .d_ff = UNSET,
                          .norm = UNSET,
                          .positions = UNSET,
                          .activation = UNSET,
                          .label_smoothing = UNSET,
                          .steps = UNSET,
                          .batch = UNSET,
                          .accumulate = 1,
                          .warmup = UNSET,
                          .eval_every = UNSET,
                          .schedule = SCHEDULE_COSINE,
                          .lr = UNSET,
                          .min_lr = UNSET,
                          .beta1 = 0.9,
                          .beta2 = UNSET,
                          .epsilon = 1e-9,
                          .momentum = 0.9,
                          .weight_decay = UNSET,
                          .clip = 1,
                          .samples = 5};
    Error e = {0};
    Options options = {
        "train",  "copy|reverse|sort|lm", "Trains a Transformer on a task.", table, .least = 1, .most = 1,
        .seed = 1};
    if (options_parse(&options, argc, argv, &e)) {
        o.seed = options.seed;
        o.text = s.text, o.context = s.context, o.symbols = s.symbols, o.max_length = s.max_length;
        o.held_out = s.held_out;
        Task *task = task_open(options.operand[0], &o, &e);
        if (task) run_task(task, options.seed, &e);
        task_free(task);
    }
    return options_exit(options.program, &e);
}
