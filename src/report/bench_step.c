/* ./bench step and ./bench profile: the time of a training step, and where it goes. */
#include "autograd/op.h"
#include "base/pool.h"
#include "base/random.h"
#include "kernels/peak.h"
#include "nn/nn.h"
#include "report/bench.h"
#include "report/progress.h"
#include "training/optimizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Sizes of the cases: kind, layers (of each stack), heads, d_model, d_ff, vocabulary, batch, source and
 * target length. */
typedef struct Case {
    const char *name;
    ModelKind kind;
    int layers, heads, d_model, d_ff, vocab;
    long batch, S, T;
} Case;

static const Case cases[] = {
    {"seed", KIND_SEQ2SEQ, 2, 4, 32, 128, 16, 8, 16, 16},    /* a tutorial's sizes */
    {"copy", KIND_SEQ2SEQ, 2, 4, 128, 512, 64, 64, 16, 17},  /* the copy task */
    {"paper", KIND_SEQ2SEQ, 2, 8, 512, 2048, 11, 80, 10, 9}, /* the Annotated Transformer's copy task */
    {"chars", KIND_LM, 4, 4, 128, 512, 65, 12, 0, 64},       /* nanoGPT's character model for CPUs */
    {"baby", KIND_LM, 6, 6, 384, 1536, 65, 8, 0, 256},       /* nanoGPT's baby GPT, batch 8 */
    {"words", KIND_LM, 4, 4, 256, 1024, 8192, 16, 0, 128},   /* a word model: the output layer dominates */
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct Bench {
    const Case *c;
    Model *model;
    Tape *tape;
    Tokens source, target;
    int32_t *targets;
    Optimizer optimizer;
} Bench;

static void bench_close(Bench *b) {
    tape_free(b->tape);
    model_free(b->model);
    tokens_free(&b->source);
    tokens_free(&b->target);
    free(b->targets);
}

static int32_t *random_ids(long count, long vocab, uint64_t stream, Error *e) {
    int32_t *ids = calloc((size_t)count + 1, sizeof *ids);
    if (!ids) fail(e, STATUS_NO_MEMORY, "memory: %ld tokens", count);
    for (long i = 0; ids && i < count; i++)
        ids[i] = (int32_t)random_below(random_key(1, stream), (uint64_t)i, vocab);
    return ids;
}

static bool bench_open(Bench *b, const Case *c, Error *e) {
    *b = (Bench){.c = c, .tape = tape_new(), .optimizer = optimizer_default(OPTIM_ADAMW)};
    ModelConfig config = c->kind == KIND_LM
                             ? config_language_model(c->vocab, (int)c->T)
                             : config_seq2seq(c->vocab, (int)(c->S > c->T ? c->S : c->T), NO_PAD);
    config.encoder_layers = c->layers;
    config.decoder_layers = c->kind == KIND_LM ? 0 : c->layers;
    config.heads = c->heads, config.d_model = c->d_model, config.d_ff = c->d_ff;
    b->optimizer.weight_decay = 0.01;
    b->model = model_new(&config, true, 1, e);
    b->targets = random_ids(c->batch * c->T, c->vocab, 2, e);
    int32_t *source = random_ids(c->batch * c->S, c->vocab, 0, e),
            *target = random_ids(c->batch * c->T, c->vocab, 1, e);
    bool ok = b->model && b->targets && source && target &&
              tokens_new(&b->source, c->batch, c->batch * c->S, e) &&
              tokens_new(&b->target, c->batch, c->batch * c->T, e);
    if (ok) {
        tokens_fill(&b->source, TOKENS_PACKED, c->batch, c->S, source, NO_PAD);
        tokens_fill(&b->target, TOKENS_PACKED, c->batch, c->T, target, NO_PAD);
        tape_plan(b->tape);
        tape_backward(b->tape, nn_loss(b->tape, b->model,
                                       nn_hidden(b->tape, b->model, &b->source, &b->target), b->targets));
        ok = tape_reserve(b->tape, tape_peak(b->tape), e);
    }
    free(source), free(target);
    return ok;
}

static void step(Bench *b) {
    Parameters *p = &b->model->parameters;
    parameters_clear_grad(p);
    Tensor *hidden = nn_hidden(b->tape, b->model, &b->source, &b->target);
    tape_backward(b->tape, nn_loss(b->tape, b->model, hidden, b->targets));
    parameters_settle_grad(p);
    optim_step(&b->optimizer, p, 1e-4, 1);
    tape_reset(b->tape);
}

/* Multiplications and additions of one step's matrix products: those of forward once and of backward twice.
 * What attention hides under the causal diagonal does not count, nor what is computed again to save memory.
 */
static double step_flops(const Case *c) {
    double d = c->d_model, ff = c->d_ff, rows = (double)(c->batch * c->T), source = (double)(c->batch * c->S);
    double feed_forward = 2 * 2 * d * ff, projections = 2 * 4 * d * d;
    double causal = 2 * 2 * d * ((double)c->T + 1) / 2, full = 2 * 2 * d * (double)c->S;
    double forward = rows * 2 * d * c->vocab;
    if (c->kind == KIND_LM) {
        forward += c->layers * rows * (projections + causal + feed_forward);
    } else {
        forward += c->layers * source * (projections + full + feed_forward);
        forward += c->layers * rows * (projections + causal + feed_forward + 2 * 2 * d * d + full);
        forward += c->layers * source * 2 * 2 * d * d; /* keys and values of the memory */
    }
    return 3 * forward;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool find_case(const char *name, const Case **c, Error *e) {
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, name) == 0) {
            *c = &cases[i];
            return true;
        }
    char shown[ESCAPED_TEXT];
    return fail(e, STATUS_USAGE, "case: found '%s', need one of seed, copy, paper, chars, baby, words",
                escaped(shown, name));
}

enum { WARM_UP = 5, MOST_STEPS = 100000 };

static bool measure(const Case *c, const BenchOptions *o, double peak, Error *e) {
    static double times[MOST_STEPS];
    Bench b;
    bool ok = bench_open(&b, c, e);
    long steps = 0;
    for (int i = 0; ok && i < WARM_UP; i++) step(&b);
    double end = seconds_now() + o->seconds;
    while (ok && steps < MOST_STEPS && (steps < WARM_UP || seconds_now() < end)) {
        double start = seconds_now();
        step(&b);
        times[steps++] = seconds_now() - start;
    }
    if (ok) {
        qsort(times, (size_t)steps, sizeof *times, ascending);
        double median = times[steps / 2], tokens = (double)(c->batch * c->T);
        double share = step_flops(c) / median * 1e-9 / (peak * pool_threads());
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        if (o->json)
            printf("{\"case\": \"%s\", \"ms_per_step\": %.4f, \"best_ms\": %.4f, \"tokens_per_s\": %.0f, "
                   "\"params\": %ld, "
                   "\"threads\": %d, \"flops_utilisation\": %.4f, \"peak_gflops\": %.1f, \"steps\": %ld, "
                   "\"peak_mb\": %.1f}\n",
                   c->name, median * 1e3, times[0] * 1e3, tokens / median, b.model->parameters.elements,
                   pool_threads(), share, peak, steps, (double)usage.ru_maxrss / 1024);
        else
            printf(
                "%-6s %d threads %9.3f ms/step (best %9.3f) %10.0f tokens/s %9ld parameters  %.2f of peak\n",
                c->name, pool_threads(), median * 1e3, times[0] * 1e3, tokens / median,
                b.model->parameters.elements, share);
        fflush(stdout);
    }
    bench_close(&b);
    return ok;
}

bool bench_step(const char *name, const BenchOptions *o, Error *e) {
    const Case *only = NULL;
    if (name && !find_case(name, &only, e)) return false;
    double peak = peak_gflops(0.2);
    for (int i = 0; i < CASES; i++)
        if ((!only || only == &cases[i]) && !measure(&cases[i], o, peak, e)) return false;
    return true;
}

/* Time by operation, gathered by the tape's observer. */
enum { MOST_OPS = 64 };
typedef struct Line {
    const char *name;
    double seconds[2]; /* forward, backward */
    long calls;
} Line;

typedef struct Profile {
    Line line[MOST_OPS];
    int lines;
} Profile;

static Line *line_of(Profile *p, const char *name) {
    for (int i = 0; i < p->lines; i++)
        if (p->line[i].name == name) return &p->line[i];
    if (p->lines == MOST_OPS) return &p->line[MOST_OPS - 1];
    p->line[p->lines].name = name;
    return &p->line[p->lines++];
}

static void observe(void *context, const Node *n, bool backward, double seconds) {
    Line *l = line_of(context, n->op->name);
    l->seconds[backward] += seconds;
    l->calls += !backward;
}

static int by_time(const void *a, const void *b) {
    const Line *x = a, *y = b;
    double p = x->seconds[0] + x->seconds[1], q = y->seconds[0] + y->seconds[1];
    return (p < q) - (p > q);
}

static void print_share(const BenchOptions *o, const char *name, double calls, double forward,
                        double backward, double total) {
    double share = total > 0 ? (forward + backward) / total : 0;
    if (o->json)
        printf("{\"op\": \"%s\", \"calls\": %.0f, \"forward_ms\": %.4f, \"backward_ms\": %.4f, \"share\": "
               "%.4f}\n",
               name, calls, forward * 1e3, backward * 1e3, share);
    else
        printf("%-22s %6.0f %12.4f %12.4f %8.1f %%\n", name, calls, forward * 1e3, backward * 1e3,
               100 * share);
}

bool bench_profile(const char *name, const BenchOptions *o, Error *e) {
    static Profile p;
    const Case *c = NULL;
    Bench b;
    if (!find_case(name, &c, e)) return false;
    bool ok = bench_open(&b, c, e);
    for (int i = 0; ok && i < WARM_UP; i++) step(&b);
    p = (Profile){0};
    b.tape->observer = observe;
    b.tape->observer_context = &p;
    double start = seconds_now(), total = 0, optimizer = 0;
    long steps = 0;
    for (; ok && (steps < WARM_UP || total < o->seconds); steps++) {
        step(&b);
        total = seconds_now() - start;
    }
    if (ok) {
        b.tape->observer = NULL;
        double begin = seconds_now();
        for (int i = 0; i < WARM_UP; i++) optim_step(&b.optimizer, &b.model->parameters, 1e-4, 1);
        optimizer = (seconds_now() - begin) / WARM_UP;
        total /= (double)steps;
        qsort(p.line, (size_t)p.lines, sizeof *p.line, by_time);
        if (!o->json)
            printf("%s: %.3f ms a step\n%-22s %6s %12s %12s %10s\n", c->name, total * 1e3, "operation",
                   "calls", "forward ms", "backward ms", "share");
        double rest = total - optimizer, n = (double)steps;
        for (int i = 0; i < p.lines; i++) {
            const Line *l = &p.line[i];
            print_share(o, l->name, (double)l->calls / n, l->seconds[0] / n, l->seconds[1] / n, total);
            rest -= (l->seconds[0] + l->seconds[1]) / n;
        }
        print_share(o, "optimizer", 1, 0, optimizer, total);
        print_share(o, "outside operations", 0, rest, 0, total);
    }
    bench_close(&b);
    return ok;
}
