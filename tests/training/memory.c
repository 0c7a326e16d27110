/* The memory of training: computed from sizes and allocated once; steps neither allocate nor
 * fault. */
#include "base/arena.h"
#include "base/pool.h"
#include "failing_memory.h"
#include "model_helpers.h"
#include "training/trainer.h"
#include <sys/resource.h>

/* ---- Steps ---- */

static ModelConfig medium(ModelConfig c) {
    c.d_model = 32;
    c.d_ff = 96;
    c.heads = 4;
    c.vocab_size = 50;
    return c;
}

/* ---- The bytes that nn_step_cost says ---- */

/* The tape's own count: of a forward pass, and the peak of a training step and an evaluation. All
 * rows are full. */
static StepCost count_bytes(const ModelConfig *c, double dropout, long rows, long S, long T) {
    Error e = {0};
    Model *m = new_model(*c, 1);
    m->dropout = dropout;
    int32_t *ids = calloc((size_t)(rows * (S + T)), sizeof *ids);
    Tokens source = {0}, target = {0};
    CHECK(ids && tokens_new(&source, rows, rows * S, &e) &&
          tokens_new(&target, rows, rows * T, &e));
    if (S) tokens_fill(&source, rows, S, ids, NO_PAD);
    tokens_fill(&target, rows, T, ids, NO_PAD);
    Tape *t = tape_new();
    Forward f = {t, m, &source, &target};
    t->no_grad = true;
    CHECK(nn_predict(&f, nn_hidden(&f), ids));
    tape_reset(t);
    t->no_grad = false;
    t->training = true;
    Tensor *loss = nn_loss(&f, nn_hidden(&f), ids);
    double forward = (double)t->in_use;
    tape_backward(t, loss);
    double peak = (double)t->peak;
    tape_free(t);
    tokens_free(&source);
    tokens_free(&target);
    free(ids);
    model_free(m);
    return (StepCost){forward, peak};
}

static void check_bytes(const char *what, const ModelConfig *c, double dropout) {
    const long rows = 9, T = 40, S = config_is_lm(c) ? 0 : 33;
    for (int threads = 1; threads <= 3; threads += 2) {
        pool_set_threads(threads);
        Model *m = model_without_memory(c, true, &(Error){0});
        m->dropout = dropout;
        StepCost found = nn_step_cost(m, rows, S, T), want = count_bytes(c, dropout, rows, S, T);
        model_free(m);
        CHECK(found.kept == want.kept, "%s: forward keeps %.0f bytes, said %.0f", what, want.kept,
              found.kept);
        CHECK(found.bytes == want.bytes, "%s, %d threads: the peak is %.0f bytes, said %.0f", what,
              threads, want.bytes, found.bytes);
    }
}

/* Every choice of a model, with and without dropout. */
TEST(bytes_are_known_before_a_step) {
    for (int lm = 0; lm < 2; lm++)
        for (int drops = 0; drops < 2; drops++) {
            const double dropout = 0.1 * drops;
            ModelConfig base = medium(lm ? small_language_model() : small_seq2seq()), c = base;
            base.max_length = 64;
            for (int preset = PRESET_PAPER; preset <= PRESET_LLAMA; preset++) {
                c = base;
                config_set_preset(&c, (Preset)preset);
                config_derive(&c, lm);
                check_bytes("preset", &c, dropout);
            }
            for (int i = 0; all_activations[i]; i++) {
                c = base;
                c.activation = (const void *)all_activations[i];
                check_bytes(all_activations[i]->name, &c, dropout);
            }
            for (int i = 0; all_attentions[i]; i++) {
                c = base;
                c.attention = (const void *)all_attentions[i];
                check_bytes(all_attentions[i]->name, &c, dropout);
                c.positions = &positions_alibi;
                check_bytes("alibi", &c, dropout);
            }
            c = base;
            c.tied = false;
            c.vocab_size = 60000;
            check_bytes("large vocabulary", &c, dropout);
        }
}

/* Rows of a micro-batch of usual models, for any number of threads. Other rows would change the
 * bits of their training. */
TEST(large_batches_are_divided) {
    if (sizeof(real) != sizeof(float)) return; /* the table is of single precision */
    static const struct {
        bool lm;
        int layers, heads, d_model, vocab;
        long rows, S, T;
        Preset preset;
        double dropout;
        long want;
    } cases[] = {
        {false, 2, 4, 128, 64, 64, 16, 17, PRESET_PAPER, 0.1, 64},
        {false, 2, 4, 128, 2000, 64, 40, 40, PRESET_MODERN, 0.1, 22},
        {false, 2, 4, 128, 2000, 64, 40, 40, PRESET_GPT, 0.1, 32},
        {true, 4, 4, 128, 65, 12, 0, 64, PRESET_PAPER, 0, 12},
        {true, 4, 4, 128, 65, 32, 0, 128, PRESET_MODERN, 0.1, 11},
        {true, 6, 6, 384, 65, 64, 0, 256, PRESET_GPT, 0.2, 2},
        {true, 4, 4, 256, 8192, 16, 0, 128, PRESET_PAPER, 0, 8},
        {true, 12, 12, 768, 50257, 8, 0, 1024, PRESET_GPT, 0, 1},
        {true, 2, 4, 64, 65, 512, 0, 64, PRESET_PAPER, 0, 128},
        {true, 4, 4, 128, 65, 1024, 0, 64, PRESET_MODERN, 0, 26},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long S = cases[i].S, T = cases[i].T, longest = T > S ? T : S;
        ModelConfig c = cases[i].lm ? config_language_model(cases[i].vocab, (int)T)
                                    : config_seq2seq(cases[i].vocab, (int)longest, NO_PAD);
        config_set_preset(&c, cases[i].preset);
        config_derive(&c, cases[i].lm);
        c.encoder_layers = cases[i].layers;
        c.decoder_layers = cases[i].lm ? 0 : cases[i].layers;
        c.heads = cases[i].heads;
        c.d_model = cases[i].d_model;
        c.d_ff = 4 * cases[i].d_model;
        Model *m = model_without_memory(&c, true, &(Error){0});
        m->dropout = cases[i].dropout;
        for (int threads = 1; threads <= 8; threads += 7) {
            pool_set_threads(threads);
            long found = trainer_micro_batch(m, cases[i].rows, S, T);
            CHECK(found == cases[i].want, "case %zu: %ld rows, want %ld", i, found, cases[i].want);
        }
        model_free(m);
    }
}

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Allocations and page faults of some work. The system may reclaim a page at any time, so one of
 * several attempts must have no fault; none may allocate. */
enum { ATTEMPTS = 10 };
typedef struct Taken {
    long allocations, faults;
} Taken;

static Taken taken_begin(void) {
    return (Taken){heap.made, page_faults()};
}

static void taken_end(Taken *t) {
    t->faults = page_faults() - t->faults;
    t->allocations = heap.made - t->allocations;
#ifndef BLAS /* a library takes memory as it likes */
    CHECK(t->allocations == 0, "%ld allocations", t->allocations);
#endif
}

static void train_some(Trainer *t) {
    Error e = {0};
    StepResult r;
    Evaluation v;
    for (int i = 0; i < (SANITIZER ? 2 : 10); i++) CHECK(trainer_step(t, &r, &e), "%s", e.text);
    CHECK(trainer_evaluate(t, 0, &v, &e), "%s", e.text);
}

/* The memory of trainer_start suffices for every step and evaluation, and trainer_bytes predicts
 * it. If all batches have the maximum size, nearly all of it is used. */
static void check_trainer(Task *task, ModelConfig c, bool fills) {
    enum { BATCH = 16 };
    Error e = {0};
    Trainer t = {.model = new_model(c, 1),
                 .task = task,
                 .optimizer = optim_default(&optimizer_adamw),
                 .schedule = {.kind = &schedule_constant, .rate = 1e-3},
                 .rows = BATCH,
                 .accumulate = 2};
    t.model->dropout = 0.1;
    CHECK(trainer_start(&t, &e), "%s", e.text);
    size_t bytes = t.tape->arrays->region[0].bytes, said = trainer_bytes(&t, &c, 0.1, &e);
    double computed = nn_step_cost(t.model, t.micro_batch, task->max_S, task->max_T).bytes;
    CHECK((double)said >= computed + (double)model_bytes(t.model),
          "said %zu bytes, %.0f for the tape alone", said, computed);
    train_some(&t);
    Taken taken = {.faults = 1};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (!taken.faults) break;
        taken = taken_begin();
        train_some(&t);
        taken_end(&taken);
    }
    CHECK(taken.faults == 0, "%ld page faults", taken.faults);
    double peak = (double)t.tape->peak;
    CHECK(peak <= computed && (!fills || peak > 0.95 * computed), "computed %.0f bytes, used %.0f",
          computed, peak);
    CHECK(t.tape->arrays->regions == 1 && t.tape->arrays->region[0].bytes == bytes,
          "the tape grows");
    trainer_stop(&t);
    model_free(t.model);
    task_free(task);
}

/* A large vocabulary: evaluation holds no more than training, which never has all logits. */
TEST(evaluation_takes_no_more_than_training) {
    Error e = {0};
    StepResult step;
    Evaluation v;
    TaskOptions o = task_defaults();
    o.symbols = 20000;
    o.max_length = 10;
    o.held_out = 64;
    Task *copy = must(task_open("copy", &o, &e), &e);
    ModelConfig c = config_seq2seq((int)copy->vocab_size, 12, copy->pad_id);
    c.d_model = 16;
    c.d_ff = 32;
    Trainer t = {.model = new_model(c, 1),
                 .task = copy,
                 .optimizer = optim_default(&optimizer_adamw),
                 .schedule = {.kind = &schedule_constant, .rate = 1e-3},
                 .rows = 64,
                 .accumulate = 1};
    CHECK(trainer_start(&t, &e), "%s", e.text);
    CHECK(trainer_step(&t, &step, &e), "%s", e.text);
    size_t training = t.tape->peak;
    CHECK(trainer_evaluate(&t, 0, &v, &e) && v.tokens > 64, "%s", e.text);
    CHECK(t.tape->peak <= training, "evaluation takes %zu bytes, training %zu", t.tape->peak,
          training);
    trainer_stop(&t);
    model_free(t.model);
    task_free(copy);
}

TEST(a_trainer_takes_no_memory_while_it_trains) {
    Error e = {0};
    TaskOptions o = task_defaults();
    o.symbols = 9;
    o.max_length = 12;
    o.held_out = 16;
    Task *reverse = must(task_open("reverse", &o, &e), &e);
    check_trainer(reverse, medium(config_seq2seq((int)reverse->vocab_size, 13, reverse->pad_id)),
                  false);
    o.text = "data/chronicle.txt";
    o.context = 24;
    o.validation = 0.01;
    Task *lm = must(task_open("lm", &o, &e), &e);
    ModelConfig c = medium(config_language_model((int)lm->vocab_size, 24));
    c.vocab_size = (int)lm->vocab_size;
    check_trainer(lm, c, true);
}

RUN_TESTS
