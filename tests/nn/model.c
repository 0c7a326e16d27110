/* Whole models: against PyTorch, against numeric differences, and properties that hold for any
 * weights: causality, padding, ties, dropout, threads. */
#include "autograd/op.h"
#include "base/pool.h"
#include "expect_bug.h"
#include "kernels/arrays.h"
#include "model_helpers.h"

enum { EPSILONS = 1000 }; /* of difference between roundings of a BLAS library (same_sums) */
/* ---- Golden values ---- */

/* tests/golden/make_golden.py made them with PyTorch in double. */
#ifdef REAL_DOUBLE
static const double golden_tolerance = 1e-9;
#else
static const double golden_tolerance = 1e-5;
#endif

static void expect(const Safetensors *golden, const char *name, const real *found, long count) {
    const Array *a = safetensors_find(golden, name);
    double *want = calloc((size_t)count, sizeof *want);
    CHECK(a && a->count == count, "%s: found %ld elements", name, a ? a->count : -1);
    if (want && a && a->count == count) {
        array_to_double(a, want);
        double error = relative_error(found, want, count);
        CHECK(error <= golden_tolerance, "%s: %s: relative error %.3g", golden->path, name, error);
    }
    free(want);
}

static void expect_gradients(const Safetensors *golden, const Parameters *p) {
    char name[PARAMETER_NAME + 8];
    for (int i = 0; i < p->count; i++) {
        snprintf(name, sizeof name, "grad.%s", p->entry[i].name);
        expect(golden, name, p->grad + p->entry[i].offset, shape_count(p->entry[i].shape));
    }
    CHECK(golden->tensors == p->count + 2, "found %d tensors", golden->tensors);
}

/* Loss, logits of real positions and all gradients of a model in a file that PyTorch wrote, by the
 * fused attention and by the paper's own steps. */
static void golden(const char *name) {
    char path[3][80];
    const char *part[] = {"weights", "batch", "grads"};
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "tests/golden/%s.%s.safetensors", name, part[i]);
    Error e = {0};
    Model *m = must(model_load(path[0], true, NULL, &e), &e);
    PaddedBatch *b = must(batch_read(path[1], &m->config, &e), &e);
    Safetensors want;
    CHECK(safetensors_read(&want, path[2], &e), "%s", e.text);
    Pass p = pass_new(m, b);
    for (int plain = 0; plain < (m->config.attention == &attention_dot ? 2 : 1); plain++) {
        if (plain) m->config.attention = &attention_plain;
        pass_run(&p);
        expect(&want, "loss", &p.loss, 1);
        expect(&want, "logits", p.logits, b->rows * b->T * m->config.vocab_size);
        expect_gradients(&want, &m->parameters);
    }
    pass_free(&p);
    safetensors_free(&want);
    batch_padded_free(b);
    model_free(m);
}

TEST(loss_logits_and_gradients_agree_with_PyTorch) {
    static const char *const names[] = {
        "seq2seq",   "seq2seq_prenorm", "seq2seq_additive", "lm",       "lm_padded",
        "lm_rotary", "lm_llama",        "seq2seq_rotary",   "lm_alibi", "seq2seq_alibi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) golden(names[i]);
}

/* ---- Causality ---- */

/* Changing the token at position t changes outputs at t and no bit of an earlier one. 70 positions
 * are more than a block of queries in attention. */
static void check_causality(ModelConfig c) {
    enum { T = 70 };
    Model *m = new_model(c, 1);
    PaddedBatch *b = random_batch(&c, 2, 5, T, 1);
    long V = c.vocab_size, row = T * V;
    Pass p = pass_new(m, b);
    pass_run(&p);
    real *before = copy_of(p.logits, 2 * row);
    for (long t = 0; t < T; t += t % 9 ? 1 : 3) {
        int32_t *id = &b->target_in[t], token = *id;
        do *id = (*id + 1) % c.vocab_size;
        while (*id == c.pad_id);
        pass_run(&p);
        CHECK(same_bits(p.logits, before, t * V), "position %ld is seen before it", t);
        CHECK(!same_bits(p.logits + t * V, before + t * V, V), "position %ld does not see itself",
              t);
        CHECK(same_bits(p.logits + row, before + row, row), "position %ld is seen by another row",
              t);
        *id = token;
    }
    free(before);
    pass_end(&p);
}

TEST(no_output_depends_on_a_later_token) {
    for (int kind = 0; kind < 2; kind++)
        for (NormPlace place = NORM_POST; place <= NORM_PRE; place++) {
            ModelConfig c = kind ? small_language_model() : small_seq2seq();
            c.norm = place;
            check_causality(c);
        }
}

/* Every output of a row depends on every token of its own source and on no other row's. */
TEST(every_output_depends_on_the_whole_source) {
    enum { S = 67, T = 4 };
    ModelConfig c = small_seq2seq();
    Model *m = new_model(c, 1);
    PaddedBatch *b = random_batch(&c, 2, S, T, 1);
    long V = c.vocab_size, row = T * V;
    Pass p = pass_new(m, b);
    pass_run(&p);
    real *before = copy_of(p.logits, 2 * row);
    for (long s = 0; s < S; s += s < 2 || s > 62 ? 1 : 15) {
        int32_t *id = &b->source[s], token = *id;
        *id = token % (c.vocab_size - 1) + 1;
        pass_run(&p);
        for (long t = 0; t < T; t++)
            CHECK(!same_bits(p.logits + t * V, before + t * V, V),
                  "output %ld does not see source %ld", t, s);
        CHECK(same_bits(p.logits + row, before + row, row), "another row sees source %ld", s);
        *id = token;
    }
    free(before);
    pass_end(&p);
}

/* ---- Padding ---- */

/* The batch with `more` columns of padding after source and target. */
static PaddedBatch *with_padding(const PaddedBatch *b, long more) {
    Error e = {0};
    PaddedBatch *wide =
        must(batch_padded(b->rows, b->S ? b->S + more : 0, b->T + more, b->pad_id, &e), &e);
    for (long r = 0; r < b->rows; r++) {
        memcpy(wide->source + r * wide->S, b->source + r * b->S, (size_t)b->S * sizeof(int32_t));
        memcpy(wide->target_in + r * wide->T, b->target_in + r * b->T,
               (size_t)b->T * sizeof(int32_t));
        memcpy(wide->target_out + r * wide->T, b->target_out + r * b->T,
               (size_t)b->T * sizeof(int32_t));
    }
    return wide;
}

/* Padding does not exist for the model: outputs, loss and gradients keep their bits. */
static void check_padding(ModelConfig c) {
    Model *m = new_model(c, 3);
    Parameters *parameters = &m->parameters;
    PaddedBatch *b = random_batch(&c, 5, 6, 7, 3), *wide = with_padding(b, 64);
    Pass p = pass_new(m, b), q = pass_new(m, wide);
    long V = c.vocab_size;
    pass_run(&p);
    real *grad = copy_of(parameters->grad, parameters->size), loss = p.loss;
    pass_run(&q);
    CHECK(same_sums(&q.loss, &loss, 1, EPSILONS), "loss %.9g, was %.9g", (double)q.loss,
          (double)loss);
    for (long r = 0; r < b->rows; r++)
        CHECK(same_sums(p.logits + r * b->T * V, q.logits + r * wide->T * V, b->T * V, EPSILONS),
              "outputs of row %ld change", r);
    CHECK(same_sums(parameters->grad, grad, parameters->size, EPSILONS), "gradients change");
    free(grad);
    pass_free(&q);
    batch_padded_free(wide);
    pass_end(&p);
}

TEST(padding_changes_nothing) {
    ModelConfig c = small_seq2seq();
    check_padding(c);
    c = small_language_model();
    c.pad_id = 4;
    check_padding(c);
}

static bool all_finite(const real *x, long count) {
    for (long i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* A source of padding only: attention over it has no key and gives 0. Nothing becomes NaN, and the
 * other rows do not change. */
TEST(a_source_without_a_token) {
    ModelConfig c = small_seq2seq();
    Model *m = new_model(c, 4);
    PaddedBatch *b = random_batch(&c, 3, 5, 6, 4);
    Pass p = pass_new(m, b);
    long row = b->T * c.vocab_size;
    pass_run(&p);
    real *before = copy_of(p.logits, 3 * row);
    for (long i = 0; i < b->S; i++) b->source[b->S + i] = c.pad_id;
    pass_run(&p);
    CHECK(p.source.rows[1] == 0 &&
          p.source.sequences.total_rows == p.source.rows[0] + p.source.rows[2]);
    CHECK(isfinite(p.loss) && all_finite(p.logits, 3 * row));
    CHECK(all_finite(m->parameters.grad, m->parameters.size));
    CHECK(same_sums(p.logits, before, row, EPSILONS) &&
          same_sums(p.logits + 2 * row, before + 2 * row, row, EPSILONS));
    CHECK(!same_bits(p.logits + row, before + row, row), "the source does not matter");
    free(before);
    pass_end(&p);
}

/* ---- Start ---- */

/* Initial weights predict all tokens almost equally: the first loss is near log(vocab_size). */
TEST(the_first_loss_is_near_log_vocab) {
    ModelConfig config[] = {config_seq2seq(64, 18, 63), config_language_model(70, 64)};
    for (int kind = 0; kind < 2; kind++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            Model *m = new_model(config[kind], seed);
            PaddedBatch *b = random_batch(&config[kind], 8, 16, 16, seed);
            Pass p = pass_new(m, b);
            double loss = (double)pass_loss(&p), want = log(config[kind].vocab_size);
            CHECK(fabs(loss - want) < 0.25, "seed %d: loss %.3f, log V is %.3f", (int)seed, loss,
                  want);
            pass_end(&p);
        }
}

/* With init_keys each W^K begins as W^Q, in self- and cross-attention; all else begins as without
 * it. */
TEST(keys_may_begin_as_queries) {
    ModelConfig c = config_seq2seq(64, 18, 63);
    Model *usual = new_model(c, 1);
    c.init_keys = 1;
    Model *m = new_model(c, 1);
    long part = (long)c.d_model * c.d_model;
    for (int i = 0; i < m->parameters.count; i++) {
        const Parameter *p = &m->parameters.entry[i];
        const real *x = m->parameters.value + p->offset, *y = usual->parameters.value + p->offset;
        bool in = strstr(p->name, "in_proj_weight") != NULL;
        long all = shape_count(p->shape), first = in ? part : all;
        CHECK(same_bits(x, y, first), "%s", p->name);
        if (!in) continue;
        CHECK(same_bits(x + part, x, part) && !same_bits(y + part, y, part), "%s", p->name);
        CHECK(same_bits(x + 2 * part, y + 2 * part, part), "%s", p->name);
    }
    model_free(usual);
    model_free(m);
}

/* ---- Dropout ---- */

static void check_dropout(ModelConfig c, double dropout) {
    Model *m = new_model(c, 5);
    PaddedBatch *b = random_batch(&c, 4, 6, 6, 5);
    Pass p = pass_new(m, b);
    long size = m->parameters.size;
    p.tape->training = true;
    p.tape->seed = 9;
    p.tape->step = 3;
    pass_run(&p);
    real without = p.loss;
    m->dropout = dropout;

    p.tape->training = false;
    pass_run(&p);
    CHECK(p.loss == without, "dropout drops in evaluation");

    p.tape->training = true;
    pass_run(&p);
    real dropped = p.loss, *grad = copy_of(m->parameters.grad, size);
    CHECK(dropped != without && isfinite(dropped), "dropout drops nothing in training");
    pass_run(&p);
    CHECK(p.loss == dropped && same_bits(m->parameters.grad, grad, size),
          "the same step drops otherwise");

    p.tape->step = 4;
    pass_run(&p);
    CHECK(p.loss != dropped, "another step drops the same");
    p.tape->step = 3;
    p.tape->seed = 10;
    pass_run(&p);
    CHECK(p.loss != dropped, "another seed drops the same");
    free(grad);
    pass_end(&p);
}

TEST(dropout_in_training_only_and_repeatable) {
    check_dropout(small_seq2seq(), 0.2);
    check_dropout(small_language_model(), 0.2);
}

/* ---- Threads ---- */

/* Every operation splits its work at these sizes. Loss, outputs and gradients have the same bits
 * for any number of threads. */
static void check_threads(ModelConfig c) {
    c.d_model = 64;
    c.d_ff = 192;
    c.heads = 4;
    c.vocab_size = 300;
    Model *m = new_model(c, 6);
    m->dropout = 0.1;
    PaddedBatch *b = random_batch(&c, 8, 75, 75, 6);
    Pass p = pass_new(m, b);
    p.tape->training = true;
    long size = m->parameters.size, logits = b->rows * b->T * c.vocab_size;
    pool_set_threads(1);
    pass_run(&p);
    real loss = p.loss, *grad = copy_of(m->parameters.grad, size), *out = copy_of(p.logits, logits);
    static const int threads[] = {2, 3, 4, 8};
    for (int i = 0; i < 4; i++) {
        pool_set_threads(threads[i]);
        pass_run(&p);
        CHECK(p.loss == loss, "%d threads: loss", threads[i]);
        CHECK(same_bits(p.logits, out, logits), "%d threads: logits", threads[i]);
        CHECK(same_bits(m->parameters.grad, grad, size), "%d threads: gradients", threads[i]);
    }
    free(grad);
    free(out);
    pass_end(&p);
}

TEST(the_same_bits_for_any_number_of_threads) {
    check_threads(small_seq2seq());
    check_threads(small_language_model());
}

/* ---- Sublayers ---- */

static real product(const real *w, const real *x, long n) {
    real sum = 0;
    for (long i = 0; i < n; i++) sum += w[i] * x[i];
    return sum;
}

/* A sublayer alone is its formula: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, without residual,
 * dropout and norm. */
TEST(a_sublayer_is_its_formula) {
    enum { ROWS = 3, D = 8, D_FF = 16 };
    Model *m = new_model(small_seq2seq(), 10);
    m->dropout = 0.5;
    Parameters p = {0};
    Arena memory = {0};
    Error e = {0};
    Builder b = {&m->config, &p, &memory, .ok = true, .e = &e};
    void *module = nn_feed_forward_new(&b);
    CHECK(b.ok && parameters_allocate(&p, false, &e), "%s", e.text);
    parameters_init(&p, 10);
    static const char *const name[] = {"linear1.weight", "linear1.bias", "linear2.weight",
                                       "linear2.bias"};
    real *w[4];
    for (int i = 0; i < 4; i++) w[i] = parameters_find(&p, name[i])->part[0]->data;
    real x[ROWS * D];
    for (int i = 0; i < ROWS * D; i++) x[i] = (real)(i % 7) - 3;
    for (int j = 0; j < D_FF; j++) w[1][j] = (real)j / 8 - 1;
    for (int j = 0; j < D; j++) w[3][j] = (real)j;
    Tape *t = tape_new();
    t->training = true;
    Tensor *y = nn_feed_forward(&(Forward){t, m}, module, tape_leaf(t, SHAPE(ROWS, D), x, NULL));
    for (int i = 0; i < ROWS; i++) {
        real inner[D_FF];
        for (int j = 0; j < D_FF; j++) {
            real z = product(w[0] + j * D, x + i * D, D) + w[1][j];
            inner[j] = z > 0 ? z : 0;
        }
        for (int j = 0; j < D; j++) {
            real want = product(w[2] + j * D_FF, inner, D_FF) + w[3][j];
            CHECK_NEAR(y->data[i * D + j], want, 64 * (double)REAL_EPSILON * 10);
        }
    }
    tape_free(t);
    parameters_free(&p);
    arena_free(&memory);
    model_free(m);
}

/* ---- The residual connection ---- */

static Tensor *minus_half(const Forward *f, void *module, Tensor *x) {
    (void)module;
    return tape_scale(f->tape, x, (real)-0.5);
}

static Tensor *product_of(const Forward *f, void *module, Tensor *x) {
    return nn_project(f, module, x);
}

static Tensor *product_of_product(const Forward *f, void *module, Tensor *x) {
    return nn_project(f, module, nn_project(f, module, x));
}

static Tensor *half_of_product(const Forward *f, void *module, Tensor *x) {
    return tape_scale(f->tape, nn_project(f, module, x), (real)0.5);
}

/* Norms are of rows (1, -1), whose mean is 0 and variance 1. */
static void check_residual(NormPlace norm, bool training, Sublayer *sublayer, Linear *l,
                           double want) {
    ModelConfig c = small_language_model();
    c.final_norm = true;
    c.norm = norm;
    c.d_model = 2;
    c.heads = 1;
    Model *m = new_model(c, 1);
    Tape *t = tape_new();
    t->training = training;
    Forward f = {.tape = t, .model = m};
    real x[] = {1, -1};
    Tensor *y =
        nn_add_and_norm(&f, sublayer, l, m->encoder_norm, tape_leaf(t, SHAPE(1, 2), x, NULL));
    CHECK_NEAR(y->data[0], (real)want, 1e-4);
    CHECK_NEAR(y->data[1], (real)-want, 1e-4);
    tape_free(t);
    model_free(m);
}

/* The product of x = (1, -1) is -0.5 x plus its bias, which is -0.25 x. */
TEST(every_sublayer_has_its_residual_once) {
    real w[] = {-0.5, 0, 0, -0.5}, b[] = {-0.25, 0.25};
    Linear l = {tensor_over(w, SHAPE(2, 2)), tensor_over(b, SHAPE(2))};
    for (int training = 0; training < 2; training++) {
        check_residual(NORM_PRE, training, minus_half, NULL, 1 - 0.5);
        check_residual(NORM_POST, training, minus_half, NULL, 1);
        check_residual(NORM_PRE, training, product_of, &l, 1 - 0.75);
        check_residual(NORM_POST, training, product_of, &l, 1);
    }
    EXPECT_BUG("nn_project: the sublayer returns another tensor than its result",
               check_residual(NORM_PRE, true, product_of_product, &l, 0));
    EXPECT_BUG("nn_project: the sublayer returns another tensor than its result",
               check_residual(NORM_PRE, true, half_of_product, &l, 0));
}

/* ---- Predictions ---- */

/* Made block by block, they are those of all logits, bit by bit. 5 x 40 rows are four blocks. */
TEST(predictions_are_those_of_all_logits) {
    ModelConfig c = small_language_model();
    c.vocab_size = 40000;
    Model *m = new_model(c, 8);
    PaddedBatch *b = random_batch(&c, 5, 0, 40, 8);
    Pass p = pass_new(m, b);
    pass_fill(&p);
    Forward f = {p.tape, m, NULL, &p.target};
    Tensor *hidden = nn_hidden(&f), *logits = nn_logits(&f, hidden);
    real want = tape_cross_entropy(p.tape, logits, p.targets, NO_PAD, 0)->data[0];
    const Prediction *found = nn_predict(&f, hidden, p.targets);
    long rows = p.target.sequences.total_rows, same = 0;
    double sum = 0;
    for (long i = 0; i < rows; i++) {
        same += found[i].likeliest == kernel_argmax(c.vocab_size, logits->data + i * c.vocab_size);
        sum += found[i].loss;
    }
    real mean = (real)(sum / (double)rows);
    CHECK(rows == 200 && same == rows, "%ld of %ld rows", same, rows);
    CHECK(same_sums(&mean, &want, 1, EPSILONS), "%.9g, want %.9g", (double)mean, (double)want);
    pass_end(&p);
}

/* ---- Cost ---- */

/* The multiply-adds that ./bench reports are those of the paper's layers, of pairs of tokens
 * without the masked ones. */
TEST(a_pass_counts_the_products_of_its_layers) {
    ModelConfig c = small_seq2seq();
    c.encoder_layers = c.decoder_layers = 1;
    Pass p = pass_new(new_model(c, 9), random_batch(&c, 3, 5, 6, 9));
    pass_fill(&p);
    const double d = c.d_model, d_ff = c.d_ff, n = (double)p.source.sequences.total_rows,
                 m = (double)p.target.sequences.total_rows;
    double seen = 0, causal = 0, crossed = 0, flops = 0;
    for (long i = 0; i < p.batch->rows; i++) {
        double source = p.source.sequences.length[i], target = p.target.sequences.length[i];
        seen += source * source;
        causal += target * (target + 1) / 2;
        crossed += source * target;
    }
    double encoder = 4 * n * d * d + 2 * seen * d + 2 * n * d * d_ff,
           decoder = 6 * m * d * d + 2 * n * d * d + 2 * (causal + crossed) * d + 2 * m * d * d_ff;
    Forward f = {p.tape, p.model, &p.source, &p.target};
    nn_loss(&f, nn_hidden(&f), p.targets);
    for (const Node *node = p.tape->last; node; node = node->previous)
        if (node->op->flops) flops += node->op->flops(node);
    CHECK_NEAR(flops / 2, encoder + decoder + m * d * c.vocab_size, 0.5);
    pass_end(&p);
}

RUN_TESTS
