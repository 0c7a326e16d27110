/* The memory of training: planned to the byte and allocated once; steps neither allocate nor fault. */
#include "autograd/tape_memory.h"
#include "base/pool.h"
#include "failing_memory.h"
#include "model_helpers.h"
#include "training/trainer.h"
#include <sys/resource.h>

TEST(allocations_are_counted) {
    long before = heap.made;
    void *volatile p = malloc(10);
    CHECK(p && heap.made == before + COUNTS_MALLOC);
    free(p);
}

/* ---- Steps ---- */

static ModelConfig medium(ModelConfig c) {
    c.d_model = 32, c.d_ff = 96, c.heads = 4, c.vocab_size = 50;
    return c;
}

/* Records a training step on the tape. */
static void record_step(Pass *p, Model *m) {
    p->tape->training = true;
    Forward f = {p->tape, m, &p->source, &p->target};
    tape_backward(p->tape, nn_loss(&f, nn_hidden(&f), p->targets));
}

static void train_step(Pass *p, Optimizer *o) {
    Parameters *q = &p->model->parameters;
    pass_fill(p);
    parameters_clear_grad(q);
    p->tape->step = (uint64_t)o->step;
    record_step(p, p->model);
    tape_reset(p->tape);
    parameters_zero_unreached(q);
    double norm = optim_step(o, q, 1e-3, 1);
    CHECK(isfinite(norm));
}

/* A plan with an outline of the model has exactly the bytes of the real step. */
static void check_plan(ModelConfig c, double dropout) {
    Error e = {0};
    Model *m = new_model(c, 1), *outline = must(model_without_memory(&c, true, &e), &e);
    m->dropout = outline->dropout = dropout;
    PaddedBatch *b = random_batch(&c, 7, 20, 30, 1);
    Pass p = pass_new(m, b);
    pass_fill(&p);
    tape_plan(p.tape);
    record_step(&p, outline);
    size_t planned = tape_peak(p.tape);
    CHECK(planned > (size_t)(b->T * c.d_model) * sizeof(real), "planned %zu", planned);
    CHECK(tape_reserve(p.tape, planned, &e), "%s", e.text);
    CHECK(p.tape->memory->regions == 1, "found %d regions", p.tape->memory->regions);
    tape_forget_peak(p.tape);
    parameters_clear_grad(&m->parameters);
    record_step(&p, m);
    CHECK(tape_peak(p.tape) == planned, "planned %zu bytes, used %zu", planned, tape_peak(p.tape));
    CHECK(p.tape->memory->regions == 1, "grew to %d regions", p.tape->memory->regions);
    CHECK(!tape_failed(p.tape, &e), "%s", e.text);
    tape_reset(p.tape);
    pass_end(&p);
    model_free(outline);
}

TEST(a_plans_peak_is_the_steps) {
    for (int threads = 1; threads <= 3; threads += 2)
        for (int drops = 0; drops < 2; drops++) {
            pool_set_threads(threads);
            check_plan(medium(small_seq2seq()), drops * 0.1);
            check_plan(medium(small_language_model()), drops * 0.1);
        }
}

/* Planned bytes that forward of `rows` rows keeps. */
static double kept(Model *outline, long rows, long T) {
    Tape *t = tape_new();
    Tokens target = tokens_without_ids(rows, T);
    tape_plan(t);
    Forward f = {t, outline, NULL, &target};
    nn_loss(&f, nn_hidden(&f), NULL);
    double bytes = (double)tape_in_use(t);
    tape_free(t);
    return bytes;
}

/* A batch whose activations are small is one micro-batch. Micro-batches of a large one keep about 64 MB each,
 * or have little more than 512 tokens, and are no more than that needs. The number of threads does not
 * matter. */
TEST(large_batches_are_divided) {
    static const struct {
        long d_model, rows, T;
    } cases[] = {{32, 64, 64},    {384, 1, 256},  {384, 8, 256}, {384, 100, 256},
                 {1024, 64, 512}, {1024, 40, 16}, {64, 4096, 16}};
    const double most = 64 << 20;
    Error e = {0};
    bool whole = false, many = false;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long d = cases[i].d_model, rows = cases[i].rows, T = cases[i].T, part = 0;
        ModelConfig c = config_language_model(65, (int)T);
        c.d_model = (int)d, c.d_ff = (int)(4 * d);
        Model *outline = must(model_without_memory(&c, true, &e), &e);
        for (int threads = 1; threads <= 8; threads += 7) {
            pool_set_threads(threads);
            Tape *t = tape_new();
            long found = trainer_micro_batch(t, outline, rows, 0, T);
            CHECK(part == 0 || found == part, "%ld rows for %d threads, %ld for one", found, threads, part);
            CHECK(t->nodes == 0 && !t->planning && !t->training, "the tape is not as it was");
            part = found;
            tape_free(t);
        }
        CHECK(part >= 1 && part <= rows, "%ld of %ld rows", part, rows);
        long parts = (rows + part - 1) / part, fewer = parts > 1 ? (rows + parts - 2) / (parts - 1) : rows;
        double bytes = kept(outline, part, T), otherwise = kept(outline, fewer, T);
        CHECK(bytes <= 1.1 * most || part * T < 1024 || part == 1, "%ld rows keep %.3g bytes", part, bytes);
        CHECK(parts == 1 || part * T >= 512, "a part has %ld tokens", part * T);
        CHECK(parts == 1 || otherwise > 0.9 * most, "%ld rows would keep only %.3g bytes", fewer, otherwise);
        whole |= part == rows, many |= part < rows;
        model_free(outline);
    }
    CHECK(whole && many, "only one of the two is tested");
}

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Allocations and page faults of some work. The system may reclaim a page at any time, so one of several
 * attempts must have no fault; none may allocate. */
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

/* After a few steps, a step allocates nothing and touches no new page, whatever the lengths in its batch, and
 * the tape does not grow. */
static void check_steady(ModelConfig c) {
    enum { BATCHES = 4, STEPS = (SANITIZER ? 1 : 3) * BATCHES };
    Model *m = new_model(c, 2);
    m->dropout = 0.1;
    Optimizer o = optim_default(&optimizer_adamw);
    PaddedBatch *b[BATCHES];
    for (int i = 0; i < BATCHES; i++) b[i] = random_batch(&c, 6, 30, 40, (uint64_t)i);
    Pass p = pass_new(m, b[0]);
    CHECK(optim_start(&o, &m->parameters, &(Error){0}));
    for (int i = 0; i < STEPS; i++) {
        p.batch = b[i % BATCHES];
        train_step(&p, &o);
    }
    size_t bytes = p.tape->memory->region[0].bytes;
    Taken taken = {.faults = 1};
    for (int attempt = 0; attempt < ATTEMPTS && taken.faults; attempt++) {
        taken = taken_begin();
        for (int i = 0; i < STEPS; i++) {
            p.batch = b[i % BATCHES];
            train_step(&p, &o);
        }
        taken_end(&taken);
    }
    CHECK(taken.faults == 0, "%ld page faults in %d steps", taken.faults, STEPS);
    CHECK(p.tape->memory->regions == 1 && p.tape->memory->region[0].bytes == bytes, "the tape grows");
    optim_stop(&o);
    pass_free(&p);
    for (int i = 0; i < BATCHES; i++) batch_padded_free(b[i]);
    model_free(m);
}

TEST(a_steady_step_takes_no_memory) {
    check_steady(medium(small_seq2seq()));
    check_steady(medium(small_language_model()));
}

static void train_some(Trainer *t) {
    Error e = {0};
    StepResult r;
    Evaluation v;
    for (int i = 0; i < (SANITIZER ? 2 : 10); i++) CHECK(trainer_step(t, &r, &e), "%s", e.text);
    CHECK(trainer_evaluate(t, 0, &v, &e), "%s", e.text);
}

/* The memory of trainer_start suffices for every step and evaluation, and trainer_bytes predicts it. If all
 * batches have the maximum size, all of it is used. */
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
    size_t planned = tape_peak(t.tape), bytes = t.tape->memory->region[0].bytes;
    size_t said = trainer_bytes(&t, &c, 0.1, &e);
    CHECK(said >= planned + model_bytes(t.model), "said %zu bytes, planned %zu for the tape alone", said,
          planned);
    tape_forget_peak(t.tape);
    train_some(&t);
    Taken taken = {.faults = 1};
    for (int attempt = 0; attempt < ATTEMPTS && taken.faults; attempt++) {
        taken = taken_begin();
        train_some(&t);
        taken_end(&taken);
    }
    CHECK(taken.faults == 0, "%ld page faults", taken.faults);
    size_t peak = tape_peak(t.tape);
    CHECK(fills ? peak == planned : peak <= planned, "planned %zu bytes, used %zu", planned, peak);
    CHECK(t.tape->memory->regions == 1 && t.tape->memory->region[0].bytes == bytes, "the tape grows");
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
    o.symbols = 20000, o.max_length = 10, o.held_out = 64;
    Task *copy = must(task_open("copy", &o, &e), &e);
    ModelConfig c = config_seq2seq((int)copy->vocab_size, 12, copy->pad_id);
    c.d_model = 16, c.d_ff = 32;
    Trainer t = {.model = new_model(c, 1),
                 .task = copy,
                 .optimizer = optim_default(&optimizer_adamw),
                 .schedule = {.kind = &schedule_constant, .rate = 1e-3},
                 .rows = 64,
                 .accumulate = 1};
    CHECK(trainer_start(&t, &e), "%s", e.text);
    tape_forget_peak(t.tape);
    CHECK(trainer_step(&t, &step, &e), "%s", e.text);
    size_t training = tape_peak(t.tape);
    tape_forget_peak(t.tape);
    CHECK(trainer_evaluate(&t, 0, &v, &e) && v.tokens > 64, "%s", e.text);
    CHECK(tape_peak(t.tape) <= training, "evaluation takes %zu bytes, training %zu", tape_peak(t.tape),
          training);
    trainer_stop(&t);
    model_free(t.model);
    task_free(copy);
}

TEST(a_trainer_takes_no_memory_while_it_trains) {
    Error e = {0};
    TaskOptions o = task_defaults();
    o.symbols = 9, o.max_length = 12, o.held_out = 16;
    Task *reverse = must(task_open("reverse", &o, &e), &e);
    check_trainer(reverse, medium(config_seq2seq((int)reverse->vocab_size, 13, reverse->pad_id)), false);
    o.text = "data/chronicle.txt", o.context = 24, o.validation = 0.01;
    Task *lm = must(task_open("lm", &o, &e), &e);
    ModelConfig c = medium(config_language_model((int)lm->vocab_size, 24));
    c.vocab_size = (int)lm->vocab_size;
    check_trainer(lm, c, true);
}

RUN_TESTS
