/* train: trains a Transformer on a toy task, as section 5 of "Attention Is All You Need" describes it.
 *
 *     ./train copy            a sequence comes back as it is
 *     ./train lm --text FILE  the next character of a text
 *
 * The parts are in src/: the task supplies batches (5.1), the trainer takes steps (5.2 to 5.4); here they are
 * put together, watched, judged and saved. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/options.h"
#include "nn/model_file.h"
#include "report/footprint.h"
#include "report/metrics.h"
#include "report/progress.h"
#include "report/samples.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Everything that can be chosen. Where a task has defaults of its own, the value here is UNSET until then. */
enum { UNSET = -1 };
static TaskOptions task_options;
static struct Settings {
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

/* Whether the flags were given that only some runs heed. */
static struct Given {
    bool text, context, tail, symbols, max_length, held_out;
    bool min_lr, warmup, beta1, beta2, epsilon, momentum, samples;
} given;

static const Option table[] = {
    {"Task"},
    {"text", "FILE", NULL, "lm: the text to learn, UTF-8", .text = &task_options.text, .given = &given.text},
    {"context", "N", "[1,1048576]", "lm: characters that the model sees", .integer = &task_options.context,
     .given = &given.context},
    {"tail", "P", "[0,1)", "lm: part of the text held out, its end; 0: learn and judge all of it",
     .real = &task_options.tail, .given = &given.tail},
    {"symbols", "N", "[2,20000]", "copy, reverse, sort: different symbols", .integer = &task_options.symbols,
     .given = &given.symbols},
    {"max-length", "N", "[1,4096]", "copy, reverse, sort: longest sequence",
     .integer = &task_options.max_length, .given = &given.max_length},
    {"held-out", "N", "[1,10000]", "copy, reverse, sort: sequences to judge by",
     .integer = &task_options.held_out, .given = &given.held_out},
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
    {"min-lr", "X", "[0,inf)", "cosine: last learning rate", "0", .real = &s.min_lr, .given = &given.min_lr},
    {"warmup", "N", "[0,2147483647]", "steps until the highest rate", "a fifth, at most 200",
     .integer = &s.warmup, .given = &given.warmup},
    {"beta1", "X", "[0,1)", "adamw: memory of the gradient", .real = &s.beta1, .given = &given.beta1},
    {"beta2", "X", "[0,1)", "adamw: memory of its square", "0.98; lm 0.99", .real = &s.beta2,
     .given = &given.beta2},
    {"epsilon", "X", "(0,inf)", "adamw: floor of the root", .real = &s.epsilon, .given = &given.epsilon},
    {"momentum", "X", "[0,1)", "sgd", .real = &s.momentum, .given = &given.momentum},
    {"weight-decay", "X", "[0,inf)", "of matrices", "0; lm 0.1", .real = &s.weight_decay},
    {"clip", "X", "[0,inf)", "longest gradient; 0: any", .real = &s.clip},
    {"eval-every", "N", "[1,2147483647]", "steps between evaluations", "a tenth of steps",
     .integer = &s.eval_every},
    {"Output"},
    {"run", "DIR", NULL, "where model and metrics go", "runs/TASK", .text = &s.run},
    {"force", .help = "replace the run that is in DIR", .flag = &s.force},
    {"samples", "N", "[0,1000]", "decoded sequences to show at the end", .integer = &s.samples,
     .given = &given.samples},
    {"json", .help = "print one JSON object an evaluation", .flag = &s.json},
    {"quiet", .help = "no progress, no samples", .flag = &s.quiet},
    {"dry-run", .help = "say what memory a run would take, and stop", .flag = &s.dry_run},
    {0},
};

/* Ctrl-C, and SIGTERM, end training early but keep what was learned: the run is saved and judged, and only
 * then ends by that signal, so that a script that started it stops too. A second one kills at once. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    interrupted = signal_number;
    signal(signal_number, SIG_DFL);
}

/* A signal that is ignored stays so: of a run in the background, Ctrl-C means another. */
static void heed(int signal_number) {
    if (signal(signal_number, interrupt) == SIG_IGN) signal(signal_number, SIG_IGN);
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

/* A flag without effect, or against another, is a mistake of whoever gave it. */
static bool check_flags(const Task *task, Error *e) {
    bool lm = task->max_S == 0, adamw = s.optimizer == OPTIM_ADAMW;
    char this_task[64];
    snprintf(this_task, sizeof this_task, "the task %s", task->name);
    const struct {
        bool given, fits;
        const char *flag, *found, *need;
    } rules[] = {
        {given.text, lm, "text", this_task, "lm"},
        {given.context, lm, "context", this_task, "lm"},
        {given.tail, lm, "tail", this_task, "lm"},
        {given.symbols, !lm, "symbols", this_task, "copy, reverse or sort"},
        {given.max_length, !lm, "max-length", this_task, "copy, reverse or sort"},
        {given.held_out, !lm, "held-out", this_task, "copy, reverse or sort"},
        {given.beta1, adamw, "beta1", "--optimizer sgd", "adamw"},
        {given.beta2, adamw, "beta2", "--optimizer sgd", "adamw"},
        {given.epsilon, adamw, "epsilon", "--optimizer sgd", "adamw"},
        {given.momentum, !adamw, "momentum", "--optimizer adamw", "sgd"},
        {given.min_lr, s.schedule == SCHEDULE_COSINE, "min-lr", "another --schedule", "cosine"},
        {given.warmup, s.schedule != SCHEDULE_CONSTANT, "warmup", "--schedule constant", "noam or cosine"},
        {given.samples, !s.quiet, "samples", "--quiet", "one of the two"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].given && !rules[i].fits)
            return error_set(e, STATUS_USAGE, "--%s: found %s, need %s", rules[i].flag, rules[i].found,
                             rules[i].need);
    if (s.warmup > s.steps)
        return error_set(e, STATUS_USAGE, "--warmup: found %ld, need at most the %ld of --steps", s.warmup,
                         s.steps);
    if (s.min_lr > s.lr)
        return error_set(e, STATUS_USAGE, "--min-lr: found %g, need at most the %g of --lr", s.min_lr, s.lr);
    return true;
}

/* Judges the model, under teacher forcing, by a part of what is held out or, at the end, by all of it. */
static bool judge(Trainer *t, Metrics *m, Error *e) {
    Evaluation v;
    if (!trainer_evaluate(t, m->final ? 0 : 4 * t->batch, &v, e)) return false;
    if (!isfinite(v.loss))
        return error_set(e, STATUS_NON_FINITE,
                         "step %ld: found a held-out loss that is %s, need a finite one", m->step,
                         isnan(v.loss) ? "not a number" : "infinite");
    m->val_loss = v.loss, m->val_accuracy = v.accuracy;
    return true;
}

/* Writes a row of metrics. */
static void record(MetricsFile *file, Metrics *m) {
    m->seconds = clock_seconds() - m->start;
    metrics_write(file, m);
    if (s.json) metrics_json(m);
}

/* The loop. Section 5.2: a fixed number of steps. */
static bool train(Trainer *t, MetricsFile *file, Metrics *m, Error *e) {
    char loss[64] = "", val_loss[64] = "";
    Report report = {.words = loss, .more = val_loss, .unit = "tok/s"};
    Progress bar = progress_start(t->task->name, s.steps, s.quiet);
    double sum = 0, seconds = 0;
    long summed = 0;
    bool ok = true;
    while (ok && m->step < s.steps && !interrupted) {
        StepResult r;
        double begin = clock_seconds();
        ok = trainer_step(t, &r, e);
        if (!ok) break;
        seconds += clock_seconds() - begin;
        m->step++, summed++;
        m->tokens += r.tokens, sum += r.loss;
        m->train_loss = sum / (double)summed;
        if (m->step % s.eval_every == 0 && m->step < s.steps) {
            ok = judge(t, m, e);
            if (!ok) break;
            if (s.json) progress_clear(&bar);
            record(file, m);
            snprintf(val_loss, sizeof val_loss, "val %.3f", m->val_loss);
            sum = 0, summed = 0;
        }
        snprintf(loss, sizeof loss, "loss %.3f", r.loss);
        report.done = m->step, report.rate = (double)m->tokens / seconds;
        progress_show(&bar, &report);
    }
    if (ok)
        progress_end(&bar, &report);
    else
        progress_clear(&bar);
    if (ok && interrupted && !s.quiet)
        fprintf(stderr, "stopped after step %ld of %ld; a second Ctrl-C stops at once\n", m->step, s.steps);
    return ok;
}

static bool save(const Trainer *t, const char *path, Error *e) {
    char begin[24], end[24];
    snprintf(begin, sizeof begin, "%ld", (long)t->task->begin_id);
    snprintf(end, sizeof end, "%ld", (long)t->task->end_id);
    if (!trainer_check(t, e)) return false;
    char *vocabulary = tokenizer_string(t->task->tokenizer, e);
    if (!vocabulary) return false;
    Metadata extra[] = {
        {"task", t->task->name}, {"vocabulary", vocabulary}, {"begin_id", begin}, {"end_id", end}};
    bool ok = model_save(t->model, path, extra, sizeof extra / sizeof *extra, e);
    free(vocabulary);
    return ok;
}

/* What the run came to, for a person. */
static bool show_result(Trainer *t, const Metrics *m, Error *e) {
    bool lm = t->task->max_S == 0;
    double ignored;
    fprintf(stderr, "%s: loss %.4f nats a %s, accuracy %.2f %%\n",
            lm && task_options.tail == 0 ? "the text, nothing held out" : "held-out", m->val_loss,
            lm ? "character" : "token", 100 * m->val_accuracy);
    if (lm && !samples_yardsticks(t, e)) return false;
    if (!lm)
        fprintf(stderr, "greedy answers, from the source alone: %.2f %% of %ld exact\n", 100 * m->val_exact,
                t->task->held_out);
    if (s.samples == 0) return true;
    return lm ? samples_text(t, e) : samples_answers(t, s.samples, true, &ignored, e);
}

/* What is trained, and the memory that it takes. */
static void describe(FILE *out, const Task *task, const Model *m, size_t bytes) {
    const ModelConfig *c = &m->config;
    fprintf(out, "%s: %d", task->name, c->encoder_layers);
    if (c->decoder_layers) fprintf(out, " + %d", c->decoder_layers);
    fprintf(out, " layers, d_model %d, %d heads: %ld parameters, %.1f MB\n", c->d_model, c->heads,
            m->parameters.elements, (double)bytes * 1e-6);
}

/* From here on things are written. The model's place is taken first: whatever there is against writing it
 * shows before training and not after, and no other run can take it. What was learned is saved before it is
 * set to decode. */
static bool run_in(const char *directory, Trainer *t, size_t bytes, Error *e) {
    char path[PATH_ROOM];
    if (!directory_file(path, directory, "model.safetensors", STATUS_CANNOT_CREATE, e)) return false;
    if (!s.force && access(path, F_OK) == 0)
        return error_set(e, STATUS_CANNOT_CREATE, "%s: found a run there, need --force to replace it",
                         directory);
    if (!directory_make(directory, e)) return false;
    File *place = file_create(path, e);
    MetricsFile file;
    if (!place || !metrics_open(&file, directory, e)) {
        file_abandon(place);
        return false;
    }
    if (!s.quiet) describe(stderr, t->task, t->model, bytes);
    heed(SIGINT), heed(SIGTERM);
    signal(SIGPIPE, SIG_IGN); /* a reader that goes costs its figures, not the run */
    Metrics m = {.task = t->task->name,
                 .params = t->model->parameters.elements,
                 .start = clock_seconds(),
                 .train_loss = NAN,
                 .val_exact = NAN};
    bool ok = train(t, &file, &m, e);
    m.final = true;
    ok = ok && judge(t, &m, e);
    file_abandon(place);
    ok = ok && save(t, path, e) && (!t->task->max_S || samples_answers(t, 0, false, &m.val_exact, e));
    if (ok) record(&file, &m);
    ok = ok && (s.quiet || show_result(t, &m, e));
    ok = metrics_close(&file, e) && ok;
    if (ok && !s.quiet) fprintf(stderr, "saved in %s, for ./generate %s\n", directory, directory);
    return ok;
}

static bool run_task(const Task *task, uint64_t seed, Error *e) {
    Trainer t = {0};
    choose_training(&t, task, seed);
    if (!check_flags(task, e)) return false;
    ModelConfig c = model_config(task);
    if (!config_check(&c, STATUS_USAGE, e)) return false;
    size_t arrays = trainer_bytes(&c, s.dropout, t.optimizer.kind, task, t.batch, t.accumulate, e),
           bytes = footprint_bytes(arrays);
    if (!arrays) return false;
    if (s.dry_run) {
        Model *outline = model_outline(&c, true, e);
        if (outline) describe(stdout, task, outline, bytes);
        model_free(outline);
        return outline != NULL;
    }
    if (!pages_exist(bytes, "the training", e)) return false;
    t.model = model_new(&c, true, seed, e);
    if (!t.model) return false;
    t.model->dropout = s.dropout;
    bool ok = trainer_start(&t, e);
    if (ok) {
        char directory[256];
        snprintf(directory, sizeof directory, "runs/%s", task->name);
        ok = run_in(s.run ? s.run : directory, &t, bytes, e);
        trainer_stop(&t);
    }
    model_free(t.model);
    return ok;
}

/* For the help: the tasks, and what each asks for. */
static const char *purpose(char out[512]) {
    int used = snprintf(out, 512, "Trains a Transformer, into the directory runs/TASK. The tasks:");
    for (const TaskKind *kind = task_kinds; kind->name && used < 512; kind++)
        used += snprintf(out + used, 512 - (size_t)used, "%s %s (%s)", kind == task_kinds ? "" : ",",
                         kind->name, kind->summary);
    return out;
}

int main(int argc, char **argv) {
    task_options = task_defaults();
    s = (struct Settings){.layers = UNSET,
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
    Options options = {"train",
                       "copy|reverse|sort|lm",
                       purpose((char[512]){0}),
                       table,
                       "Ctrl-C ends training early. The model is saved and judged all the same; then the\n"
                       "program ends by that signal (status 130). A second Ctrl-C ends it at once.\n",
                       .least = 1,
                       .most = 1,
                       .seed = 1};
    if (options_parse(&options, argc, argv, &e)) {
        task_options.seed = options.seed;
        Task *task = task_open(options.operand[0], &task_options, &e);
        if (task) run_task(task, options.seed, &e);
        task_free(task);
    }
    int status = options_exit(options.program, &e);
    if (interrupted && status == STATUS_DONE) raise(interrupted);
    return status;
}
