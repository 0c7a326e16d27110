/* Every fused operation equals the composition of elementary operations that it stands for: values,
 * and the gradients of all its inputs, whether they start out fresh, are added to, or belong to
 * other nodes. */
#include "base/random.h"
#include "nn/nn.h"
#include "test.h"

enum { MAX_TENSORS = 4 };

typedef Tensor *(*Build)(Tape *t, Tensor **x, const void *context);

/* Defines a Build as one expression in the tape t, the inputs x and the context c. */
#define BUILD(name, Context, expression)                                                           \
    static Tensor *name(Tape *t, Tensor **x, const void *context) {                                \
        const Context *c = context;                                                                \
        (void)c;                                                                                   \
        return expression;                                                                         \
    }

typedef struct Case {
    const char *name;
    Shape in[MAX_TENSORS]; /* up to the first of rank 0 */
    Build fused, composed;
    const void *context;
    double tolerance; /* in units of REAL_EPSILON, relative to the largest of each array; 0: 32 */
} Case;

/* Initial gradients of the inputs. */
typedef enum Start {
    FRESH, /* memory with anything in it: the first gradient is stored */
    ADDED, /* numbers that stay and are added to */
    INNER, /* the inputs are themselves made on the tape */
    STARTS,
} Start;
static const char *const start_name[] = {"fresh", "added to", "of a node"};

/* Results of a run. */
typedef struct Outcome {
    long count; /* of y */
    real *y, *dx[MAX_TENSORS];
} Outcome;

static real *numbers(long count, uint64_t stream) {
    real *x = malloc((size_t)(count + 1) * sizeof *x);
    if (!x) exit(1);
    for (long i = 0; i < count; i++) x[i] = (real)random_normal(random_key(1, stream), (uint64_t)i);
    return x;
}

static int input_count(const Case *c) {
    int inputs = 0;
    while (inputs < MAX_TENSORS && c->in[inputs].rank) inputs++;
    return inputs;
}

/* Initial contents of a gradient's memory. */
static real before(Start start, long i) {
    if (start == FRESH) return (real)NAN;
    return start == ADDED ? (real)(i % 3 - 1) : 0;
}

static Outcome run(const Case *c, Build build, Start start) {
    Outcome out = {0};
    Tape *t = tape_new();
    Tensor *x[MAX_TENSORS];
    real *data[MAX_TENSORS];
    int inputs = input_count(c);
    t->training = true;
    t->seed = 3;
    t->step = 4;
    for (int i = 0; i < inputs; i++) {
        long count = shape_count(c->in[i]);
        data[i] = numbers(count, (uint64_t)i);
        out.dx[i] = malloc((size_t)(count + 1) * sizeof(real));
        if (!out.dx[i]) exit(1);
        for (long j = 0; j < count; j++) out.dx[i][j] = before(start, j);
        x[i] = tape_leaf(t, c->in[i], data[i], out.dx[i]);
        x[i]->grad_state = start == FRESH ? GRAD_FRESH : GRAD_SUM;
        if (start == INNER) x[i] = tape_scale(t, x[i], 1);
    }
    Tensor *y = build(t, x, c->context);
    out.count = shape_count(y->shape);
    out.y = malloc((size_t)(out.count + 1) * sizeof *out.y);
    if (!out.y) exit(1);
    memcpy(out.y, y->data, (size_t)out.count * sizeof *out.y);
    real *dy = numbers(out.count, 99);
    tape_backward_from(t, y, dy);
    for (int i = 0; i < inputs; i++)
        for (long j = 0; j < (start == ADDED ? shape_count(c->in[i]) : 0); j++)
            out.dx[i][j] -= before(start, j);
    Error e = {0};
    CHECK(!tape_failed(t, &e), "%s", e.text);
    tape_free(t);
    free(dy);
    for (int i = 0; i < inputs; i++) free(data[i]);
    return out;
}

static void outcome_free(Outcome *o) {
    free(o->y);
    for (int i = 0; i < MAX_TENSORS; i++) free(o->dx[i]);
}

/* `scale`: of numbers that the found ones were added to and taken from again. */
static void compare(const Case *c, const char *what, const char *how, const real *found,
                    const real *want, long count, double scale) {
    double error = 0, largest = scale;
    long at = 0;
    for (long i = 0; i < count; i++) {
        double d = fabs((double)found[i] - (double)want[i]);
        largest = fmax(largest, fabs((double)want[i]));
        if (!(d <= error)) {
            error = d;
            at = i;
        }
        if (isnan(d)) break;
    }
    double tolerance = (c->tolerance > 0 ? c->tolerance : 32) * (double)REAL_EPSILON * largest;
    CHECK(error <= tolerance, "%s, %s, %s %ld: found %.9g, want %.9g, largest %.3g", c->name, how,
          what, at, (double)found[at], (double)want[at], largest);
}

static void check_case(const Case *c) {
    for (Start start = FRESH; start < STARTS; start++) {
        Outcome want = run(c, c->composed, start == INNER ? INNER : FRESH);
        Outcome found = run(c, c->fused, start);
        compare(c, "y", start_name[start], found.y, want.y, want.count, 0);
        for (int i = 0; i < input_count(c); i++) {
            char what[] = "gradient of input 0, element";
            what[18] = (char)('0' + i);
            compare(c, what, start_name[start], found.dx[i], want.dx[i], shape_count(c->in[i]),
                    start == ADDED ? 1 : 0);
        }
        outcome_free(&found);
        outcome_free(&want);
    }
}

#define CHECK_ALL(cases)                                                                           \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof *(cases); i_++) check_case(&(cases)[i_])

/* ---- linear ---- */

typedef struct LinearContext {
    Activation activation;
    int bias, residual; /* which input it is; 0: none */
} LinearContext;

BUILD(linear_fused, LinearContext,
      tape_linear(t, x[0], x[1], c->bias ? x[c->bias] : NULL, c->activation,
                  c->residual ? x[c->residual] : NULL))

static Tensor *linear_composed(Tape *t, Tensor **x, const void *context) {
    const LinearContext *c = context;
    Tensor *y = tape_matmul(t, x[0], tape_transpose(t, x[1], 0, 1));
    if (c->bias) y = tape_add(t, y, x[c->bias]);
    if (c->activation == ACT_RELU) y = tape_relu(t, y);
    if (c->activation == ACT_GELU) y = tape_gelu(t, y);
    if (c->activation == ACT_SILU) y = tape_silu(t, y);
    return c->residual ? tape_add(t, x[c->residual], y) : y;
}

BUILD(linear_on_itself_fused, void, tape_linear(t, x[0], x[1], NULL, ACT_NONE, x[0]))

BUILD(linear_on_itself_composed, void,
      tape_add(t, x[0], tape_matmul(t, x[0], tape_transpose(t, x[1], 0, 1))))

TEST(linear_is_matmul_add_and_activation) {
    static const LinearContext alone = {ACT_NONE, 0, 0}, bias = {ACT_NONE, 2, 0},
                               relu = {ACT_RELU, 2, 0}, gelu = {ACT_GELU, 2, 0},
                               silu = {ACT_SILU, 2, 0}, residual = {ACT_NONE, 2, 3},
                               residual_alone = {ACT_NONE, 0, 2}, gelu_alone = {ACT_GELU, 0, 0};
#define LINEAR(name, context, ...)                                                                 \
    { name, {__VA_ARGS__}, linear_fused, linear_composed, &context, 64 }
    static const Case cases[] = {
        LINEAR("alone", alone, DIMS(3, 5), DIMS(4, 5)),
        LINEAR("bias", bias, DIMS(3, 5), DIMS(4, 5), DIMS(4)),
        LINEAR("relu", relu, DIMS(3, 5), DIMS(4, 5), DIMS(4)),
        LINEAR("gelu", gelu, DIMS(3, 5), DIMS(4, 5), DIMS(4)),
        LINEAR("silu", silu, DIMS(30, 50), DIMS(41, 50), DIMS(41)),
        LINEAR("gelu, no bias", gelu_alone, DIMS(3, 5), DIMS(4, 5)),
        LINEAR("residual", residual, DIMS(3, 5), DIMS(4, 5), DIMS(4), DIMS(3, 4)),
        LINEAR("residual, no bias", residual_alone, DIMS(3, 5), DIMS(4, 5), DIMS(3, 4)),
        LINEAR("large, relu", relu, DIMS(260, 70), DIMS(131, 70), DIMS(131)),
        LINEAR("large, gelu", gelu, DIMS(260, 70), DIMS(131, 70), DIMS(131)),
        LINEAR("large, residual", residual, DIMS(260, 70), DIMS(131, 70), DIMS(131),
               DIMS(260, 131)),
        LINEAR("one row", residual, DIMS(1, 200), DIMS(33, 200), DIMS(33), DIMS(1, 33)),
        LINEAR("one column", gelu, DIMS(200, 1), DIMS(1, 1), DIMS(1)),
        LINEAR("no rows", gelu, DIMS(0, 5), DIMS(4, 5), DIMS(4)),
        {"input is residual",
         {DIMS(6, 5), DIMS(5, 5)},
         linear_on_itself_fused,
         linear_on_itself_composed},
    };
    CHECK_ALL(cases);
}

/* ---- swiglu, rotary ---- */

BUILD(swiglu_fused, void, tape_swiglu(t, x[0]))

static Tensor *swiglu_composed(Tape *t, Tensor **x, const void *context) {
    (void)context;
    long d = x[0]->shape.size[1] / 2;
    return tape_mul(t, tape_silu(t, tape_slice(t, x[0], 1, 0, d)),
                    tape_slice(t, x[0], 1, d, 2 * d));
}

typedef struct RotaryContext {
    long heads, d_k;
    bool turned, normalised;
} RotaryContext;

enum { TURNS = 8, WIDEST = 48 };
static int32_t turned_at[4096];
static real turns[TURNS * WIDEST];

/* Any angles: row p's is a smooth function of p and the pair. */
static void make_turns(long d_k) {
    for (long i = 0; i < 4096; i++) turned_at[i] = (int32_t)(i * 5 % TURNS);
    for (long p = 0; p < TURNS; p++)
        for (long j = 0; j < d_k / 2; j++) {
            turns[p * d_k + j] = (real)cos((double)(p * (j + 1)) / 3);
            turns[p * d_k + d_k / 2 + j] = (real)sin((double)(p * (j + 1)) / 3);
        }
}

static Tensor *rotary_fused(Tape *t, Tensor **x, const void *context) {
    const RotaryContext *c = context;
    make_turns(c->d_k);
    return tape_rotary(t, x[0], c->heads, c->d_k, turned_at, c->turned ? turns : NULL,
                       c->normalised);
}

static Tensor *rotary_composed(Tape *t, Tensor **x, const void *context) {
    const RotaryContext *c = context;
    long n = x[0]->shape.size[0], all = x[0]->shape.size[1], used = c->heads * c->d_k,
         m = c->d_k / 2;
    Tensor *gain = tape_constant(t, SHAPE(c->d_k)), *turn = tape_constant(t, SHAPE(n, 1, c->d_k));
    Tensor *y = tape_reshape(t, tape_slice(t, x[0], 1, 0, used), SHAPE(n, c->heads, c->d_k));
    make_turns(c->d_k);
    for (long j = 0; j < c->d_k; j++) gain->data[j] = 1;
    for (long i = 0; i < n; i++)
        memcpy(turn->data + i * c->d_k, turns + turned_at[i] * c->d_k,
               (size_t)c->d_k * sizeof(real));
    if (c->normalised) y = tape_rms_norm(t, y, gain);
    if (c->turned) {
        Tensor *a = tape_slice(t, y, 2, 0, m), *b = tape_slice(t, y, 2, m, 2 * m);
        Tensor *cosine = tape_slice(t, turn, 2, 0, m), *sine = tape_slice(t, turn, 2, m, 2 * m);
        Tensor *first = tape_sub(t, tape_mul(t, a, cosine), tape_mul(t, b, sine));
        Tensor *second = tape_add(t, tape_mul(t, a, sine), tape_mul(t, b, cosine));
        y = tape_concat(t, 2, 2, (Tensor *[]){first, second});
    }
    y = tape_reshape(t, y, SHAPE(n, used));
    return tape_concat(t, 1, 2, (Tensor *[]){y, tape_slice(t, x[0], 1, used, all)});
}

TEST(swiglu_is_a_product_rotary_a_norm_and_turned_pairs) {
    static const RotaryContext plain = {4, 6, true, false}, both = {4, 6, true, true},
                               norm = {4, 6, false, true}, wide = {2, 38, true, true},
                               whole = {8, 32, true, true};
    static const Case cases[] = {
        {"swiglu", {DIMS(3, 10)}, swiglu_fused, swiglu_composed},
        {"swiglu, several chunks", {DIMS(70, 514)}, swiglu_fused, swiglu_composed},
        {"rotary", {DIMS(5, 36)}, rotary_fused, rotary_composed, &plain},
        {"rotary, normalised", {DIMS(5, 36)}, rotary_fused, rotary_composed, &both},
        {"normalised alone", {DIMS(5, 36)}, rotary_fused, rotary_composed, &norm},
        {"rotary, wide", {DIMS(5, 76)}, rotary_fused, rotary_composed, &wide},
        {"rotary, several chunks", {DIMS(130, 384)}, rotary_fused, rotary_composed, &whole},
    };
    CHECK_ALL(cases);
}

/* ---- attention ---- */

typedef struct AttentionContext {
    int heads;
    Reach reach;
} AttentionContext;

/* With k and v in place, or in the columns of the inputs before them. */
BUILD(attention_fused, AttentionContext, tape_attention(t, x[0], NULL, NULL, c->heads, &c->reach))

BUILD(cross_attention_fused, AttentionContext,
      tape_attention(t, x[0], x[1], NULL, c->heads, &c->reach))

BUILD(open_attention_fused, AttentionContext,
      tape_attention(t, x[0], x[1], x[2], c->heads, &c->reach))

static const real slopes[] = {(real)0.5, (real)0.125, (real)2, (real)0.03};

static Tensor *subtract_distances(const Forward *f, Tensor *scaled, long offset) {
    long h = scaled->shape.size[0], n = scaled->shape.size[1], m = scaled->shape.size[2];
    Tensor *bias = tape_constant(f->tape, scaled->shape);
    for (long i = 0; i < h * n * m; i++)
        bias->data[i] = slopes[i / (n * m)] * (real)labs(i / m % n + offset - i % m);
    return tape_sub(f->tape, scaled, bias);
}

static const Positions falling_positions = {{"falling"}, .scores = subtract_distances};

static Tensor *attention_of(Tape *t, Tensor *q, Tensor *k, Tensor *v, const AttentionContext *c) {
    Model model = {.config.positions = &falling_positions};
    Forward f = {t, &model};
    Scoring scoring = {&attention_dot, .placed = c->reach.slopes ? &f : NULL};
    return nn_plain_attention(t, &scoring, q, k, v, c->heads, &c->reach, NULL);
}

/* The columns of a part of x, whose columns begin with part `first`. */
static Tensor *part_of(Tape *t, Tensor *x, AttentionPart first, AttentionPart part,
                       const AttentionContext *c) {
    HeadColumns one = {c->heads, 1};
    long parts = heads_column(one, PART_END) - heads_column(one, first);
    HeadColumns h = {c->heads, x->shape.size[1] / parts};
    long begin = heads_column(h, part) - heads_column(h, first);
    return tape_slice(t, x, 1, begin, begin + heads_column(h, part + 1) - heads_column(h, part));
}

static Tensor *attention_composed(Tape *t, Tensor **x, const void *context) {
    return attention_of(t, part_of(t, x[0], PART_Q, PART_Q, context),
                        part_of(t, x[0], PART_Q, PART_K, context),
                        part_of(t, x[0], PART_Q, PART_V, context), context);
}

static Tensor *cross_attention_composed(Tape *t, Tensor **x, const void *context) {
    return attention_of(t, x[0], part_of(t, x[1], PART_K, PART_K, context),
                        part_of(t, x[1], PART_K, PART_V, context), context);
}

BUILD(open_attention_composed, AttentionContext, attention_of(t, x[0], x[1], x[2], c))

TEST(attention_is_matmul_mask_softmax_matmul) {
    /* First rows, rows, tokens. Some sequences have padding after their tokens, one of them no
     * token. */
    typedef const int32_t Ints[];
    const Sequences packed = {3, (Ints){0, 3, 4}, (Ints){3, 1, 5}, (Ints){3, 1, 5}, 9, 5};
    const Sequences padded = {3, (Ints){0, 4, 8}, (Ints){4, 4, 4}, (Ints){4, 0, 2}, 12, 4};
    const Sequences longer = {3,  (Ints){0, 130, 131}, (Ints){130, 1, 70}, (Ints){130, 1, 70}, 201,
                              130};
    const Sequences wide = {3, (Ints){0, 70, 140}, (Ints){70, 70, 70}, (Ints){70, 3, 65}, 210, 70};
    const Sequences memory = {3,  (Ints){0, 20, 170}, (Ints){20, 150, 9}, (Ints){20, 149, 0}, 179,
                              150};
    const Sequences newest = {3, (Ints){0, 1, 2}, (Ints){1, 1, 1}, (Ints){1, 1, 1}, 3, 1};
    const AttentionContext all = {2, {&packed, &packed, false}},
                           causal = {2, {&packed, &packed, true}},
                           with_padding = {1, {&padded, &padded, false}},
                           causal_with_padding = {3, {&padded, &padded, true}},
                           blocks = {4, {&longer, &longer, false}},
                           causal_blocks = {4, {&longer, &longer, true}},
                           causal_wide = {2, {&wide, &wide, true}},
                           cross = {2, {&longer, &memory, false}},
                           few = {2, {&packed, &memory, true}},
                           falling = {3, {&padded, &padded, false, slopes}},
                           falling_blocks = {4, {&longer, &longer, true, slopes}},
                           falling_newest = {4, {&newest, &memory, false, slopes}};
#define ATTENTION(name, kind, context, ...)                                                        \
    { name, {__VA_ARGS__}, kind##_fused, kind##_composed, &context }
    const Case cases[] = {
        ATTENTION("all", attention, all, DIMS(9, 24)),
        ATTENTION("slopes, padding", attention, falling, DIMS(12, 27)),
        ATTENTION("slopes, causal blocks", attention, falling_blocks, DIMS(201, 192)),
        ATTENTION("slopes, newest tokens", cross_attention, falling_newest, DIMS(3, 32),
                  DIMS(179, 64)),
        ATTENTION("causal", attention, causal, DIMS(9, 24)),
        ATTENTION("padding", attention, with_padding, DIMS(12, 15)),
        ATTENTION("causal, padding", attention, causal_with_padding, DIMS(12, 27)),
        ATTENTION("blocks", attention, blocks, DIMS(201, 84)),
        ATTENTION("causal blocks", attention, causal_blocks, DIMS(201, 192)),
        ATTENTION("causal blocks, padding", attention, causal_wide, DIMS(210, 48)),
        ATTENTION("cross", cross_attention, cross, DIMS(201, 32), DIMS(179, 64)),
        ATTENTION("few queries", cross_attention, few, DIMS(9, 8), DIMS(179, 16)),
        ATTENTION("three matrices", open_attention, cross, DIMS(201, 32), DIMS(179, 32),
                  DIMS(179, 32)),
    };
    CHECK_ALL(cases);
}

/* ---- linear_cross_entropy, cross_entropy ---- */

typedef struct LossContext {
    long n, V;
    const int32_t *targets;
    double smoothing;
} LossContext;

enum { IGNORE = -1, TARGETS = 70 };

BUILD(loss_fused, LossContext,
      tape_linear_cross_entropy(t, x[0], x[1], c->targets, IGNORE, c->smoothing))

BUILD(loss_of_logits, LossContext, tape_cross_entropy(t, x[0], c->targets, IGNORE, c->smoothing))

/* Σ_ij w_ij log softmax(x)_ij, with w_ij = -1/C ((1-ε) δ_jt + ε/V) where row i counts, else 0. */
static Tensor *weighted_log_softmax(Tape *t, Tensor *x, const LossContext *c) {
    long counted = 0;
    for (long i = 0; i < c->n; i++) counted += c->targets[i] != IGNORE;
    Tensor *w = tape_constant(t, SHAPE(c->n, c->V));
    for (long i = 0; i < c->n; i++) {
        if (c->targets[i] == IGNORE) continue;
        for (long j = 0; j < c->V; j++) {
            double q = (j == c->targets[i]) * (1 - c->smoothing) + c->smoothing / (double)c->V;
            w->data[i * c->V + j] = (real)(-q / (double)counted);
        }
    }
    return tape_sum(t, tape_mul(t, tape_log_softmax(t, x, -1), w), ALL_AXES);
}

BUILD(loss_composed, LossContext,
      weighted_log_softmax(t, tape_matmul(t, x[0], tape_transpose(t, x[1], 0, 1)), c))

BUILD(loss_of_logits_composed, LossContext, weighted_log_softmax(t, x[0], c))

TEST(linear_cross_entropy_is_linear_and_log_softmax) {
    static int32_t few[TARGETS], many[TARGETS];
    for (int i = 0; i < TARGETS; i++) {
        few[i] = i % 7 == 3 ? IGNORE : i * 5 % 11;
        many[i] = i % 9 == 1 ? IGNORE : i * 571 % 40000;
    }
    const LossContext small = {8, 11, few, 0}, smoothed = {8, 11, few, 0.1},
                      rows = {TARGETS, 11, few, 0.3},
                      wide = {TARGETS, 40000, many, 0.1}; /* more than a block of rows */
    /* In double the elementary sums over the vocabulary run in no wider type. */
    const double loose = sizeof(real) == sizeof(double) ? 1024 : 128;
    const Case cases[] = {
        {"small", {DIMS(8, 5), DIMS(11, 5)}, loss_fused, loss_composed, &small},
        {"smoothed", {DIMS(8, 5), DIMS(11, 5)}, loss_fused, loss_composed, &smoothed},
        {"many rows", {DIMS(TARGETS, 6), DIMS(11, 6)}, loss_fused, loss_composed, &rows},
        {"large vocabulary",
         {DIMS(TARGETS, 3), DIMS(40000, 3)},
         loss_fused,
         loss_composed,
         &wide,
         loose},
        {"logits", {DIMS(8, 11)}, loss_of_logits, loss_of_logits_composed, &small},
        {"logits, smoothed", {DIMS(TARGETS, 11)}, loss_of_logits, loss_of_logits_composed, &rows},
    };
    CHECK_ALL(cases);
}

/* ---- residual ---- */

BUILD(residual_fused, double, tape_residual(t, x[0], x[1], *c))

/* Dropout stands at the same place of the tape, so it drops the same. */
BUILD(residual_composed, double, tape_add(t, x[0], tape_dropout(t, x[1], *c)))

TEST(residual_is_dropout_and_add) {
    static const double half = 0.5, tenth = 0.1, none = 0;
    static const Case cases[] = {
        {"half", {DIMS(7, 9), DIMS(7, 9)}, residual_fused, residual_composed, &half, 1},
        {"large", {DIMS(300, 130), DIMS(300, 130)}, residual_fused, residual_composed, &tenth, 1},
        {"nothing dropped", {DIMS(7, 9), DIMS(7, 9)}, residual_fused, residual_composed, &none, 1},
    };
    CHECK_ALL(cases);
}

/* ---- embedding ---- */

typedef struct EmbeddingContext {
    long n;
    const int32_t *ids, *at;
    double scale;
} EmbeddingContext;

BUILD(embedding_fused, EmbeddingContext,
      tape_embedding(t, x[0], c->n, c->ids, c->scale, c->at ? x[1] : NULL, c->at))

/* The rows of a table that ids name, as a product with a matrix of ones and zeros. */
static Tensor *rows_of(Tape *t, Tensor *table, long n, const int32_t *ids) {
    long V = table->shape.size[0];
    Tensor *one_hot = tape_constant(t, SHAPE(n, V));
    for (long i = 0; i < n; i++) one_hot->data[i * V + ids[i]] = 1;
    return tape_matmul(t, one_hot, table);
}

static Tensor *embedding_composed(Tape *t, Tensor **x, const void *context) {
    const EmbeddingContext *c = context;
    Tensor *y = tape_scale(t, rows_of(t, x[0], c->n, c->ids), (real)c->scale);
    return c->at ? tape_add(t, y, rows_of(t, x[1], c->n, c->at)) : y;
}

TEST(embedding_is_products_with_one_hot_rows) {
    enum { N = 300 };
    static int32_t ids[N], at[N];
    for (int i = 0; i < N; i++) {
        ids[i] = i * i % 37;
        at[i] = i % 19;
    }
    const EmbeddingContext few = {5, ids, NULL, 1}, positions = {12, ids, at, 2.5},
                           many = {N, ids, at, 8};
    const Case cases[] = {
        {"tokens", {DIMS(37, 3)}, embedding_fused, embedding_composed, &few},
        {"positions", {DIMS(37, 6), DIMS(21, 6)}, embedding_fused, embedding_composed, &positions},
        {"many", {DIMS(37, 70), DIMS(21, 70)}, embedding_fused, embedding_composed, &many, 64},
    };
    CHECK_ALL(cases);
}

/* ---- layer_norm ---- */

BUILD(norm_fused, void, tape_layer_norm(t, x[0], x[1], x[2]))

/* γ (x - μ) / √(σ² + ε) + β */
static Tensor *norm_composed(Tape *t, Tensor **x, const void *context) {
    (void)context;
    Tensor *epsilon = tape_constant(t, SCALAR);
    epsilon->data[0] = (real)1e-5;
    Tensor *centred = tape_sub(t, x[0], tape_mean(t, x[0], -1));
    Tensor *variance = tape_mean(t, tape_square(t, centred), -1);
    Tensor *normal = tape_div(t, centred, tape_sqrt(t, tape_add(t, variance, epsilon)));
    return tape_add(t, tape_mul(t, x[1], normal), x[2]);
}

TEST(layer_norm_is_means_squares_and_quotients) {
    static const Case cases[] = {
        {"small", {DIMS(3, 5), DIMS(5), DIMS(5)}, norm_fused, norm_composed},
        {"wide", {DIMS(2, 1500), DIMS(1500), DIMS(1500)}, norm_fused, norm_composed},
        {"many rows", {DIMS(400, 70), DIMS(70), DIMS(70)}, norm_fused, norm_composed, NULL, 64},
        {"two columns", {DIMS(9, 2), DIMS(2), DIMS(2)}, norm_fused, norm_composed, NULL, 4096},
        {"three axes", {DIMS(2, 3, 8), DIMS(8), DIMS(8)}, norm_fused, norm_composed},
    };
    CHECK_ALL(cases);
}

BUILD(rms_norm_fused, void, tape_rms_norm(t, x[0], x[1]))

/* γ x / √(mean of x² + ε) */
static Tensor *rms_norm_composed(Tape *t, Tensor **x, const void *context) {
    (void)context;
    Tensor *epsilon = tape_constant(t, SCALAR);
    epsilon->data[0] = (real)1e-5;
    Tensor *square = tape_add(t, tape_mean(t, tape_square(t, x[0]), -1), epsilon);
    return tape_mul(t, x[1], tape_div(t, x[0], tape_sqrt(t, square)));
}

TEST(rms_norm_is_a_square_a_mean_and_a_quotient) {
    static const Case cases[] = {
        {"small", {DIMS(3, 5), DIMS(5)}, rms_norm_fused, rms_norm_composed},
        {"wide", {DIMS(2, 1500), DIMS(1500)}, rms_norm_fused, rms_norm_composed},
        {"many rows", {DIMS(400, 70), DIMS(70)}, rms_norm_fused, rms_norm_composed, NULL, 64},
        {"three axes", {DIMS(2, 3, 8), DIMS(8)}, rms_norm_fused, rms_norm_composed},
    };
    CHECK_ALL(cases);
}

RUN_TESTS
