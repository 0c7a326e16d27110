/* Training: optimizers, clipping and schedules against PyTorch's, and the trainer's promises: k
 * batches of B are one of kB, what is not finite changes nothing, the same seed gives the same
 * bits. */
#include "base/pool.h"
#include "base/work.h"
#include "expect_bug.h"
#include "model_helpers.h"
#include "run/pace.h"
#include "training/trainer.h"
#include <stdarg.h>

/* ---- Optimizers ---- */

/* tests/golden/optimizers.py made it with PyTorch. */
static Safetensors golden_file(void) {
    Error e = {0};
    Safetensors s;
    CHECK(safetensors_read(&s, "tests/golden/optim.safetensors", &e), "%s", e.text);
    return s;
}

static void golden(const Safetensors *s, double *out, long count, const char *format, ...) {
    char name[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    const Array *a = safetensors_find(s, name);
    if (!a || a->count != count) {
        CHECK(false, "%s: found %ld elements, want %ld", name, a ? a->count : -1, count);
        exit(1);
    }
    array_to_double(a, out);
}

/* A store of one matrix and one vector. */
static Parameters two_tensors(long rows, long columns, long vector) {
    Parameters p = {0};
    static Tensor leaf[2];
    Error e = {0};
    bool ok = parameters_add(&p, "matrix", SHAPE(rows, columns), (Init){INIT_CONSTANT, 0}, &leaf[0],
                             &e) &&
              parameters_add(&p, "vector", SHAPE(vector), (Init){INIT_CONSTANT, 0}, &leaf[1], &e) &&
              parameters_allocate(&p, true, &e);
    must(ok ? &p : NULL, &e);
    return p;
}

static void set(real *to, const double *from, long count) {
    for (long i = 0; i < count; i++) to[i] = (real)from[i];
}

static void start_optimizer(Optimizer *o, const Parameters *p) {
    Error e = {0};
    CHECK(optim_start(o, p, &e), "%s", e.text);
}

/* A store of two layers' matrices, an embedding and a vector, as a model has them. */
static Parameters layers(long rows, long columns) {
    static const char *const name[] = {"embedding.weight", "encoder.layers.0.linear1.weight",
                                       "encoder.layers.1.linear1.weight",
                                       "encoder.layers.1.linear1.bias"};
    static Tensor leaf[4];
    Parameters p = {0};
    Error e = {0};
    bool ok = true;
    for (int i = 0; i < 4; i++) {
        if (!ok) break;
        ok = parameters_add(&p, name[i], i == 3 ? SHAPE(rows) : SHAPE(rows, columns),
                            (Init){INIT_CONSTANT, 1}, &leaf[i], &e);
    }
    must(ok && parameters_allocate(&p, true, &e) ? &p : NULL, &e);
    parameters_init(&p, 1);
    return p;
}

/* Five steps of a case on one tensor of a store whose other numbers are 0 and stay. Vectors do not
 * decay. */
TEST(optimizers_agree_with_PyTorch) {
    enum { MATRIX = 2, VECTOR = 3, STEPS = 5, MAX = 36 };
    static const struct {
        const char *name;
        const OptimizerKind *kind;
        double decay;
        int entry;
        long rows, columns;
        double epsilons;
    } cases[] = {
        {"adam", &optimizer_adamw, 0, MATRIX, 7, 1, 8},
        {"adam", &optimizer_adamw, 0.1, VECTOR, 7, 1, 8},
        {"adamw", &optimizer_adamw, 0.1, MATRIX, 7, 1, 8},
        {"sgd", &optimizer_sgd, 0, MATRIX, 7, 1, 8},
        {"sgd", &optimizer_sgd, 0.1, VECTOR, 7, 1, 8},
        {"sgd_decay", &optimizer_sgd, 0.1, MATRIX, 7, 1, 8},
        {"muon_wide", &optimizer_muon, 0, MATRIX, 4, 9, 64},
        {"muon_high", &optimizer_muon, 0, MATRIX, 9, 4, 64},
        {"muon_square", &optimizer_muon, 0, MATRIX, 6, 6, 64},
    };
    Safetensors s = golden_file();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        bool muon = cases[i].kind == &optimizer_muon;
        Parameters p = layers(cases[i].rows, cases[i].columns);
        Optimizer o = optim_default(cases[i].kind);
        double x[MAX];
        const Parameter *entry = &p.entry[cases[i].entry];
        long n = shape_count(entry->shape), at = entry->offset;
        o.clip_norm = 0;
        o.weight_decay = cases[i].decay;
        if (muon) o.matrix_rate = 4;
        start_optimizer(&o, &p);
        memset(p.value, 0, (size_t)p.size * sizeof *p.value);
        golden(&s, x, n, "%s.p0", name);
        set(p.value + at, x, n);
        for (int step = 1; step <= STEPS; step++) {
            golden(&s, x, n, "%s.g%d", name, step);
            set(p.grad + at, x, n);
            optim_step(&o, &p, muon ? 1e-2 / 4 : 1e-2, 1);
            golden(&s, x, n, "%s.p%d", name, step);
            double error = relative_error(p.value + at, x, n);
            CHECK(error <= cases[i].epsilons * (double)REAL_EPSILON, "%s, step %d: error %.3g",
                  name, step, error);
        }
        CHECK(o.step == STEPS);
        for (long j = 0; j < p.size; j++)
            CHECK((j >= at && j < at + n) || p.value[j] == 0, "%s: element %ld, outside, is %g",
                  name, j, (double)p.value[j]);
        optim_stop(&o);
        parameters_free(&p);
    }
    safetensors_free(&s);
}

/* Muon gives embeddings and vectors AdamW's step, matrices of layers their decay; and any number of
 * threads gives the same bits. */
TEST(muon_divides_the_store) {
    enum { ROWS = 70, COLUMNS = 150, THREADS = 4 };
    real *end = NULL;
    for (int threads = 1; threads <= THREADS; threads++) {
        Parameters p = layers(ROWS, COLUMNS), q = layers(ROWS, COLUMNS);
        Optimizer o = optim_default(&optimizer_muon), adam = optim_default(&optimizer_adamw);
        pool_set_threads(threads);
        o.weight_decay = adam.weight_decay = 0.5;
        start_optimizer(&o, &p);
        start_optimizer(&adam, &q);
        for (int step = 0; step < 3; step++) {
            for (int i = 0; i < 4; i++)
                for (long j = 0; j < shape_count(p.entry[i].shape); j++) {
                    long at = p.entry[i].offset + j;
                    p.grad[at] = q.grad[at] =
                        i == 1 ? 0
                               : (real)random_normal(random_key(3, (uint64_t)(4 * step + i)),
                                                     (uint64_t)j);
                }
            optim_step(&o, &p, 0.125, 1);
            optim_step(&adam, &q, 0.125, 1);
        }
        for (int i = 0; i < 4; i += 3)
            CHECK(same_bits(p.value + p.entry[i].offset, q.value + p.entry[i].offset,
                            shape_count(p.entry[i].shape)));
        real decayed = p.value[p.entry[1].offset], *matrix = p.value + p.entry[2].offset;
        CHECK_NEAR(decayed, pow(1 - 0.125 * 0.5, 3), 4 * (double)REAL_EPSILON);
        if (!end) end = copy_of(matrix, ROWS * COLUMNS);
        CHECK(same_bits(matrix, end, ROWS * COLUMNS), "%d threads", threads);
        optim_stop(&o);
        optim_stop(&adam);
        parameters_free(&p);
        parameters_free(&q);
    }
    free(end);
}

/* Clipping both tensors by their joint norm, seen as the step of plain gradient descent from 0. */
TEST(clipping_agrees_with_PyTorch) {
    Safetensors s = golden_file();
    static const char *const cases[] = {"clip", "clip_small"};
    for (int i = 0; i < 2; i++)
        for (int k = 1; k <= 4;
             k *= 4) { /* a sum over k batches, scaled by 1/k, is clipped as their mean */
            Parameters p = two_tensors(2, 3, 4);
            Optimizer o = optim_default(&optimizer_sgd);
            start_optimizer(&o, &p);
            double x[6], norm;
            for (int j = 0; j < 2; j++) {
                golden(&s, x, j ? 4 : 6, "%s.g%d", cases[i], j + 1);
                for (int l = 0; l < 6; l++) x[l] *= k;
                set(p.grad + p.entry[j].offset, x, j ? 4 : 6);
            }
            golden(&s, &norm, 1, "%s.norm", cases[i]);
            CHECK_NEAR(optim_step(&o, &p, 1, 1.0 / k), norm, 4 * (double)REAL_EPSILON);
            for (int j = 0; j < 2; j++) {
                golden(&s, x, j ? 4 : 6, "%s.c%d", cases[i], j + 1);
                for (int l = 0; l < 6; l++) x[l] = -x[l];
                double error = relative_error(p.value + p.entry[j].offset, x, j ? 4 : 6);
                CHECK(error <= 4 * (double)REAL_EPSILON, "%s.c%d: relative error %.3g", cases[i],
                      j + 1, error);
            }
            optim_stop(&o);
            parameters_free(&p);
        }
    safetensors_free(&s);
}

/* A store of many chunks, whose border between matrices and vectors lies inside one: every element
 * gets the step that the formula gives it, and the same bits from any number of threads. */
TEST(a_store_of_many_chunks) {
    enum { ROWS = 5, COLUMNS = WORK_GRAIN / 2 + 7, VECTOR = WORK_GRAIN + 3 };
    Parameters p = two_tensors(ROWS, COLUMNS, VECTOR);
    real *start = copy_of(p.value, p.size), *end = NULL;
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (long j = 0; j < shape_count(p.entry[i].shape); j++) {
            long at = p.entry[i].offset + j;
            start[at] = (real)random_normal(random_key(1, (uint64_t)i), (uint64_t)j);
            p.grad[at] = (real)random_normal(random_key(2, (uint64_t)i), (uint64_t)j);
            sum += (double)p.grad[at] * (double)p.grad[at];
        }
    static const int threads[] = {1, 2, 3, 4, 8};
    for (int i = 0; i < 5; i++) {
        pool_set_threads(threads[i]);
        Optimizer o = optim_default(&optimizer_adamw);
        o.weight_decay = 0.1;
        memcpy(p.value, start, (size_t)p.size * sizeof(real));
        start_optimizer(&o, &p);
        CHECK_NEAR(optim_step(&o, &p, 0.01, 1), sqrt(sum), 1e-12 * sqrt(sum));
        if (i == 0)
            end = copy_of(p.value, p.size);
        else
            CHECK(same_bits(p.value, end, p.size), "%d threads", threads[i]);
        optim_stop(&o);
    }
    /* After one step from moments of 0 the corrected moments are g and g². */
    double clip = 1 / (sqrt(sum) + 1e-6);
    for (int i = 0; i < 2; i++)
        for (long j = 0; j < shape_count(p.entry[i].shape); j++) {
            long at = p.entry[i].offset + j;
            double g = (double)p.grad[at] * clip, w = (double)start[at] * (i ? 1 : 1 - 0.01 * 0.1);
            CHECK_NEAR(end[at], w - 0.01 * g / (fabs(g) + 1e-9), 16 * (double)REAL_EPSILON);
        }
    free(start);
    free(end);
    parameters_free(&p);
}

/* A gradient with a NaN or an infinity, or one whose square overflows, is refused: weights, moments
 * and count of steps stay. */
TEST(a_gradient_that_is_not_finite_changes_nothing) {
    static const double bad[] = {NAN, INFINITY, -INFINITY, (double)REAL_MAX * 0.5};
    for (int k = 0; all_optimizers[k]; k++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            const OptimizerKind *kind = (const OptimizerKind *)all_optimizers[k];
            Parameters p = two_tensors(2, 3, 4);
            Optimizer o = optim_default(kind);
            for (long j = 0; j < 6; j++) p.value[j] = p.grad[j] = (real)j;
            start_optimizer(&o, &p);
            optim_step(&o, &p, 0.1, 1);
            long moments = kind->moments * p.size;
            real *before = copy_of(p.value, p.size), *moments_before = copy_of(o.moment1, moments);
            p.grad[p.entry[1].offset + 2] = (real)bad[i];
            bool overflows =
                isfinite(bad[i]) && sizeof(real) == sizeof(float); /* not in double's squares */
            double norm = optim_step(&o, &p, 0.1, 1);
            CHECK(isfinite(norm) == overflows, "%g: norm %g", bad[i], norm);
            bool same =
                same_bits(p.value, before, p.size) && same_bits(o.moment1, moments_before, moments);
            CHECK(o.step == 1 + overflows && same == !overflows, "%g", bad[i]);
            free(before);
            free(moments_before);
            optim_stop(&o);
            parameters_free(&p);
        }
}

/* ---- Schedules ---- */

static void check_schedule(const char *name, const Schedule *schedule, long count, long first) {
    double step[16], rate[16];
    Safetensors s = golden_file();
    golden(&s, step, count, "%s.step", name);
    golden(&s, rate, count, "%s.lr", name);
    for (long i = 0; i < count; i++)
        CHECK_NEAR(schedule_rate(schedule, (long)step[i] + 1 - first), rate[i], 1e-14 * rate[i]);
    safetensors_free(&s);
}

TEST(schedules_agree_with_PyTorch) {
    Schedule noam = {.kind = &schedule_noam, .rate = 1, .warmup = 4000, .d_model = 512};
    check_schedule("noam", &noam, 9, 1);
    Schedule cosine = {
        .kind = &schedule_cosine, .rate = 1e-3, .min_rate = 1e-4, .warmup = 100, .steps = 2000};
    Schedule linear = {.kind = &schedule_linear, .rate = 1e-3, .warmup = 100, .steps = 2000};
    check_schedule("linear", &linear, 12, 1);
    check_schedule("cosine", &cosine, 10, 0); /* there steps count from 0 */
}

/* Schedules without golden values: no warm-up, steps after the last, a constant rate. */
TEST(schedules_at_their_ends) {
    Schedule cosine = {.kind = &schedule_cosine, .rate = 2, .min_rate = 1, .steps = 10};
    CHECK_NEAR(schedule_rate(&cosine, 1), 2, 0);
    CHECK_NEAR(schedule_rate(&cosine, 6), 1.5, 1e-15);
    CHECK_NEAR(schedule_rate(&cosine, 11), 1, 0);
    CHECK_NEAR(schedule_rate(&cosine, 1000), 1, 0);
    cosine.warmup = 10; /* all of it */
    CHECK_NEAR(schedule_rate(&cosine, 10), 20.0 / 11, 1e-15);
    CHECK_NEAR(schedule_rate(&cosine, 11), 1, 0);
    Schedule noam = {.kind = &schedule_noam, .rate = 3, .warmup = 0, .d_model = 4};
    CHECK_NEAR(schedule_rate(&noam, 1), 1.5, 1e-15);
    CHECK_NEAR(schedule_rate(&noam, 100), 0.15, 1e-15);
    Schedule constant = {.kind = &schedule_constant, .rate = 0.5, .warmup = 3};
    for (long step = 1; step < 10; step++) CHECK(schedule_rate(&constant, step) == 0.5);
}

/* A tensor that backward does not reach has a gradient of 0 after settling, not the last step's. */
TEST(gradients_that_backward_does_not_reach_are_0) {
    ModelConfig c = small_seq2seq();
    Model *m = new_model(c, 1);
    Parameters *q = &m->parameters;
    PaddedBatch *b = random_batch(&c, 2, 4, 4, 1);
    Pass p = pass_new(m, b);
    pass_run(&p);
    pass_fill(&p);
    parameters_clear_grad(q);
    Tensor *y = nn_encoder(&(Forward){p.tape, m, &p.source, &p.target});
    real *dy = calloc((size_t)shape_count(y->shape), sizeof *dy);
    if (!dy) exit(1);
    for (long i = 0; i < shape_count(y->shape); i++) dy[i] = (real)i;
    tape_backward_from(p.tape, y, dy);
    parameters_zero_unreached(q);
    for (int i = 0; i < q->count; i++) {
        bool decoder = strncmp(q->entry[i].name, "decoder.", 8) == 0, any = false;
        for (long j = 0; j < shape_count(q->entry[i].shape); j++)
            any |= q->grad[q->entry[i].offset + j] != 0;
        CHECK(any == !decoder, "%s has %s gradient", q->entry[i].name, any ? "a" : "no");
    }
    free(dy);
    pass_end(&p);
}

/* ---- The trainer ---- */

static Task *open_copy(void) {
    Error e = {0};
    TaskOptions o = task_defaults();
    o.symbols = 9;
    o.max_length = 6;
    o.held_out = 50;
    return must(task_open("copy", &o, &e), &e);
}

static ModelConfig config_for(const Task *task) {
    ModelConfig c = config_seq2seq((int)task->vocab_size, 8, task->pad_id);
    c.d_model = 16;
    c.d_ff = 32;
    c.heads = 2;
    return c;
}

static Trainer *trainer_with(const Task *task, ModelConfig c, long rows, long accumulate,
                             double dropout) {
    Error e = {0};
    Trainer *t = calloc(1, sizeof *t);
    if (!t) exit(1);
    *t = (Trainer){.model = new_model(c, 1),
                   .task = task,
                   .optimizer = optim_default(&optimizer_adamw),
                   .schedule = {.kind = &schedule_constant, .rate = 2e-3},
                   .rows = rows,
                   .accumulate = accumulate,
                   .seed = 1};
    t->model->dropout = dropout;
    CHECK(trainer_start(t, &e), "%s", e.text);
    return t;
}

static Trainer *trainer_new(const Task *task, long rows, long accumulate, double dropout) {
    return trainer_with(task, config_for(task), rows, accumulate, dropout);
}

static void trainer_free(Trainer *t) {
    trainer_stop(t);
    model_free(t->model);
    free(t);
}

static StepResult take_step(Trainer *t) {
    Error e = {0};
    StepResult r;
    CHECK(trainer_step(t, &r, &e), "%s", e.text);
    return r;
}

/* Frozen parameters keep their bits and take no memory of gradients and moments; what learns has
 * the gradients, bit by bit, that it has when everything learns, and moves. */
TEST(frozen_parameters_stay) {
    Task *task = open_copy();
    Error e = {0};
    ModelConfig c = config_for(task);
    for (int i = 0; all_optimizers[i]; i++) {
        const OptimizerKind *kind = (const OptimizerKind *)all_optimizers[i];
        Trainer *all = trainer_new(task, 8, 1, 0), some = *all;
        some.optimizer = optim_default(kind);
        some.optimizer.weight_decay = 0.1;
        some.learning = "*.layers.0.*";
        some.batch = NULL;
        some.source = some.target = (Tokens){0};
        some.model = trainer_model(&some, &c, &e);
        CHECK(some.model && model_allocate(some.model, &e) && trainer_start(&some, &e), "%s",
              e.text);
        model_init(some.model, 1);
        const Parameters *p = &some.model->parameters, *q = &all->model->parameters;
        real *before = copy_of(p->value, q->size);
        CHECK(parameters_gradient_bytes(p) < parameters_bytes(p, false) &&
              optim_bytes(kind, p) < optim_bytes(kind, q));
        take_step(all);
        take_step(&some);
        for (int j = 0; j < p->count; j++) {
            const Parameter *x = &p->entry[j], *y = &q->entry[j];
            long n = shape_count(x->shape);
            bool moved = !same_bits(p->value + x->offset, before + x->offset, n);
            CHECK(x->frozen == !strstr(x->name, ".layers.0.") && moved == !x->frozen, "%s",
                  x->name);
            CHECK(x->frozen || kind->owns || same_bits(p->grad + x->offset, q->grad + y->offset, n),
                  "%s", x->name);
        }
        free(before);
        trainer_stop(&some);
        model_free(some.model);
        trainer_free(all);
    }
    task_free(task);
}

/* k batches of B are one of kB, and so are parts of any size: the same tokens, loss and gradient,
 * whatever share of the tokens falls to each part. Sums are taken in another order, so they agree
 * to rounding. */
TEST(k_batches_of_B_are_one_of_kB) {
    Task *task = open_copy();
    Trainer *whole = trainer_new(task, 12, 1, 0);
    StepResult want = take_step(whole);
    const Parameters *p = &whole->model->parameters;
    double *grad = calloc((size_t)p->size, sizeof *grad);
    const long size = grad ? p->size : 0;
    for (long i = 0; i < size; i++) grad[i] = (double)p->grad[i];
    static const long batches[][3] = {{6, 2, 6},  {4, 3, 4},  {1, 12, 1},
                                      {12, 1, 5}, {12, 1, 1}, {6, 2, 4}};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        Trainer *t = trainer_new(task, batches[i][0], batches[i][1], 0);
        CHECK(t->micro_batch == batches[i][0], "%ld rows at a time", t->micro_batch);
        t->micro_batch = batches[i][2];
        StepResult r = take_step(t);
        CHECK(r.tokens == want.tokens, "found %ld tokens, want %ld", r.tokens, want.tokens);
        CHECK_NEAR(r.loss, want.loss, 4 * (double)REAL_EPSILON * want.loss);
        CHECK_NEAR(r.grad_norm, want.grad_norm, 16 * (double)REAL_EPSILON * want.grad_norm);
        double error = relative_error(t->model->parameters.grad, grad, p->size);
        CHECK(error <= 16 * (double)REAL_EPSILON,
              "%ld batches in parts of %ld: gradients differ by %.3g", batches[i][1], batches[i][2],
              error);
        trainer_free(t);
    }
    free(grad);
    trainer_free(whole);
    task_free(task);
}

/* With dropout too: the same seed gives the same weights, for any number of threads; another seed
 * others. */
TEST(the_same_seed_gives_the_same_bits) {
    Task *task = open_copy();
    real *want = NULL;
    static const int threads[] = {1, 1, 2, 3, 4, 8};
    long size = 0;
    for (int i = 0; i < 7; i++) {
        pool_set_threads(i < 6 ? threads[i] : 1);
        Trainer *t = trainer_new(task, 32, 2, 0.1);
        if (i == 6) t->seed = 2;
        t->micro_batch = 20; /* micro-batches of 20, 20, 20 and 4 rows */
        for (int step = 0; step < 10; step++) take_step(t);
        size = t->model->parameters.size;
        if (i == 0)
            want = copy_of(t->model->parameters.value, 2 * size);
        else
            CHECK(same_bits(t->model->parameters.value, want, 2 * size) == (i < 6), "run %d", i);
        trainer_free(t);
    }
    free(want);
    task_free(task);
}

/* Measuring the pace leaves weights, moments and the count of steps as they were, with Muon too:
 * the steps after it have the same bits. */
TEST(measuring_the_pace_leaves_no_trace) {
    for (int muon = 0; muon < 2; muon++) {
        Task *task = open_copy();
        real *want = NULL;
        for (int paced = 0; paced < 2; paced++) {
            Error e = {0};
            Trainer *t = trainer_new(task, 8, 1, 0.1);
            optim_stop(&t->optimizer);
            t->optimizer = optim_default(muon ? &optimizer_muon : &optimizer_adamw);
            start_optimizer(&t->optimizer, &t->model->parameters);
            Pace pace = {0};
            if (paced) CHECK(pace_measure(&pace, t, 0.05, &e) && pace.step > 0, "%s", e.text);
            CHECK(t->state.step == 0 && t->optimizer.step == 0 && t->schedule.rate > 0);
            for (int step = 0; step < 3; step++) take_step(t);
            long size = t->model->parameters.size;
            if (!paced) want = copy_of(t->model->parameters.value, size);
            CHECK(same_bits(t->model->parameters.value, want, size), "muon %d, paced %d", muon,
                  paced);
            trainer_free(t);
        }
        free(want);
        task_free(task);
    }
}

/* A loss that is not finite: the step fails, says where it began, and changes nothing. */
TEST(a_step_that_is_not_finite_changes_nothing) {
    Task *task = open_copy();
    static const char *const name[] = {"embedding.weight", "decoder.layers.1.linear2.bias"};
    static const char *const first[] = {"linear_cross_entropy (", "linear ("};
    for (int i = 0; i < 2; i++) {
        Trainer *t = trainer_new(task, 4, 2, 0);
        take_step(t);
        Parameters *p = &t->model->parameters;
        Error e = {0}, weight = {0};
        char line[128];
        CHECK(trainer_check(t, &weight), "%s", weight.text);
        p->value[parameters_find(p, name[i])->offset + 3] = i ? (real)NAN : (real)INFINITY;
        snprintf(line, sizeof line,
                 "step 1: found a weight of %s that is %s, need them within 1e+18", name[i],
                 i ? "nan" : "inf");
        CHECK(!trainer_check(t, &weight) && weight.status == STATUS_NON_FINITE);
        CHECK(strcmp(weight.text, line) == 0, "found \"%s\", want \"%s\"", weight.text, line);
        real *value = copy_of(p->value, p->size),
             *moments = copy_of(t->optimizer.moment1, 2 * p->size);
        StepResult r;
        CHECK(!trainer_step(t, &r, &e) && e.status == STATUS_NON_FINITE, "status %d",
              (int)e.status);
        snprintf(line, sizeof line, "step 2: found a loss that is not a number, first in %s",
                 first[i]);
        CHECK(strncmp(e.text, line, strlen(line)) == 0, "found \"%s\", want \"%s…\"", e.text, line);
        CHECK(t->optimizer.step == 1 && same_bits(p->value, value, p->size));
        CHECK(same_bits(t->optimizer.moment1, moments, 2 * p->size));
        free(value);
        free(moments);
        trainer_free(t);
    }
    task_free(task);
}

/* All held-out rows of a task, as a batch file would have them. */
static PaddedBatch *held_out_padded(const Task *task) {
    Error e = {0};
    Batch *b = must(task_batch(task, task->held_out, &e), &e);
    long rows = task_held_out_batch(task, 0, task->held_out, b);
    CHECK(rows == task->held_out);
    PaddedBatch *p = must(batch_padded(rows, task->max_S, task->max_T, task->pad_id, &e), &e);
    for (long r = 0; r < rows; r++) {
        BatchRow row = batch_row(b, r);
        memcpy(p->source + r * p->S, row.source, (size_t)row.S * sizeof(int32_t));
        memcpy(p->target_in + r * p->T, row.target_in, (size_t)row.T * sizeof(int32_t));
        memcpy(p->target_out + r * p->T, row.target_out, (size_t)row.T * sizeof(int32_t));
    }
    batch_free(b);
    return p;
}

/* The evaluation is the mean over all held-out tokens, however they are cut into batches, and
 * leaves the model alone; dropout is off. */
TEST(evaluation_is_a_mean_over_tokens) {
    Task *task = open_copy();
    Evaluation want = {0};
    static const long batches[] = {50, 7, 1};
    for (int i = 0; i < 3; i++) {
        Error e = {0};
        Evaluation found;
        Trainer *t = trainer_new(task, batches[i], 1, i ? 0.3 : 0);
        Parameters *p = &t->model->parameters;
        real *before = copy_of(p->value, 2 * p->size);
        t->tape->training = true; /* as a step leaves it */
        CHECK(trainer_evaluate(t, 0, &found, &e), "%s", e.text);
        if (i == 0) {
            want = found;
            PaddedBatch *b = held_out_padded(task);
            t->model->config.label_smoothing = 0;
            Pass q = pass_new(t->model, b);
            CHECK(found.tokens == batch_padded_targets(b), "found %ld tokens", found.tokens);
            CHECK_NEAR(found.loss, pass_loss(&q), 8 * (double)REAL_EPSILON * found.loss);
            CHECK(found.accuracy > 0 && found.accuracy < 0.5, "accuracy %g before training",
                  found.accuracy);
            pass_free(&q);
            batch_padded_free(b);
        }
        CHECK(found.tokens == want.tokens && found.accuracy == want.accuracy);
        CHECK_NEAR(found.loss, want.loss, 8 * (double)REAL_EPSILON * want.loss);
        CHECK(same_bits(p->value, before, 2 * p->size), "evaluation changes the model");
        free(before);
        trainer_free(t);
    }
    task_free(task);
}

static bool until(void *rows, long judged) {
    return judged < *(const long *)rows;
}

/* The error of the loss is the standard error of the tokens' mean; of one token it is not known. */
TEST(an_evaluation_has_an_error) {
    enum { ROWS = 6 };
    Error e = {0};
    TaskOptions o = task_defaults();
    o.text = "data/flower.txt";
    o.context = 1; /* a row is a token */
    o.validation = 0.5;
    Task *task = must(task_open("lm", &o, &e), &e);
    Trainer *t = trainer_with(task, config_language_model((int)task->vocab_size, 8), 1, 1, 0);
    double loss[ROWS], sum = 0, squares = 0;
    Evaluation v;
    for (long rows = 1; rows <= ROWS; rows++) {
        EvaluationWatch watch = {until, &rows};
        CHECK(trainer_evaluate_watched(t, ROWS, &watch, &v, &e) && v.rows == rows, "%s", e.text);
        CHECK((rows == 1) == isinf(v.error), "%g", v.error);
        loss[rows - 1] = v.loss * (double)rows - sum;
        sum += loss[rows - 1];
    }
    for (int i = 0; i < ROWS; i++) squares += pow(loss[i] - sum / ROWS, 2);
    double want = sqrt(squares / (ROWS - 1) / ROWS);
    CHECK(want > 0);
    CHECK_NEAR(v.error, want, 1e-4 * want);
    trainer_free(t);
    task_free(task);
}

/* A gradient whose norm is not finite ends the training before its update. The output's rows are so
 * large that the gradient of the last norm's weights overflows, while these weights, nearly 0, keep
 * the loss finite. */
TEST(a_step_whose_gradient_is_not_finite_changes_nothing) {
    static const char text[] = "step 1: found a gradient norm that is ";
    Error e = {0};
    StepResult r;
    TaskOptions o = task_defaults();
    o.symbols = 9;
    o.max_length = 1;
    o.held_out = 2;
    Task *task = must(task_open("copy", &o, &e), &e);
    ModelConfig c = config_for(task);
    c.tied = false;
    Trainer *t = trainer_with(task, c, 1, 1, 0);
    Parameters *p = &t->model->parameters;
    real *norm = p->value + parameters_find(p, "decoder.layers.1.norm3.weight")->offset,
         *output = p->value + parameters_find(p, "output.weight")->offset;
    for (int i = 0; i < c.d_model; i++) norm[i] = 1 / REAL_MAX;
    for (long v = 0; v < task->vocab_size; v++)
        for (int i = 0; i < c.d_model; i++)
            output[v * c.d_model + i] = v == task->end_id ? REAL_MAX : -REAL_MAX;
    real *value = copy_of(p->value, p->size);
    CHECK(!trainer_step(t, &r, &e) && e.status == STATUS_NON_FINITE, "status %d", (int)e.status);
    CHECK(isfinite(r.loss) && !strncmp(e.text, text, strlen(text)), "loss %g: %s", r.loss, e.text);
    CHECK(t->optimizer.step == 0 && t->state.step == 0 && same_bits(p->value, value, p->size));
    free(value);
    trainer_free(t);
    task_free(task);
}

RUN_TESTS
