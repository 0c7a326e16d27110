/* 3.4 Embeddings and softmax: the linear transformation and softmax that turn the decoder's output
 * into predicted next-token probabilities; 5.4: the loss of these predictions. */
#include "autograd/op.h"
#include "base/pool.h"
#include "base/work.h"
#include "kernels/arrays.h"
#include "kernels/product.h"
#include "nn/nn.h"
#include "ops/cross_entropy_row.h"

void nn_output_add(Builder *b, Model *m) {
    const ModelConfig *c = b->config;
    if (!c->tied)
        build_tensor(b, "output.weight", SHAPE(c->vocab_size, c->d_model), small_normal(c),
                     &m->output);
}

/* "We share the same weight matrix between the two embedding layers and the pre-softmax linear
 * transformation." Deviation: an untied model has an output matrix of its own. Neither has a
 * bias. */
static Tensor *output_matrix(Model *m) {
    return m->config.tied ? &m->embedding : &m->output;
}

Tensor *nn_logits(const Forward *f, Tensor *hidden) {
    nn_want_pass(f);
    WANT(hidden);
    Tensor *w = output_matrix(f->model);
    Tensor *logits = tape_linear(f->tape, hidden, w, NULL, ACT_NONE, NULL);
    nn_trace_name(f->trace, f->tape, w, "W", AXES(AXIS_VOCABULARY, AXIS_FEATURE));
    nn_trace_name(f->trace, f->tape, logits, "logits", AXES(AXIS_TARGET, AXIS_VOCABULARY));
    return logits;
}

Tensor *nn_loss(const Forward *f, Tensor *hidden, const int32_t *targets) {
    nn_want_pass(f);
    WANT(hidden);
    const ModelConfig *c = &f->model->config;
    return tape_linear_cross_entropy(f->tape, hidden, output_matrix(f->model), targets, c->pad_id,
                                     c->label_smoothing);
}

/* One block of rows of predictions at work. */
typedef struct Block {
    Matrix logits;
    const int32_t *targets;
    Prediction *out;
    long rows_per_chunk;
} Block;

static void predict_rows(void *block, long chunk) {
    const Block *b = block;
    long V = b->logits.columns, begin = chunk * b->rows_per_chunk;
    long end = chunk_end(begin, b->rows_per_chunk, b->logits.rows);
    for (long i = begin; i < end; i++) {
        const real *row = b->logits.at + i * V;
        b->out[i] = (Prediction){cross_entropy_row(V, row, b->targets[i], 0, 0, NULL),
                                 (int32_t)kernel_argmax(V, row)};
    }
}

const Prediction *nn_predict(const Forward *f, Tensor *hidden, const int32_t *targets) {
    nn_want_pass(f);
    WANT(hidden);
    const Tensor *w = output_matrix(f->model);
    hidden = tape_contiguous(f->tape, hidden);
    long n = hidden->shape.size[0], d = hidden->shape.size[1], V = w->shape.size[0];
    long max_rows = logit_block_rows(n, V);
    Prediction *all = (void *)node_array(hidden->maker, n * (long)(sizeof *all / sizeof(real)));
    real *logits = tape_constant(f->tape, SHAPE(max_rows, V))->data;
    if (!all || !logits) return NULL;
    for (long first = 0; first < n; first += max_rows) {
        long rows = chunk_end(first, max_rows, n) - first;
        Block b = {matrix_of(logits, rows, V), targets + first, all + first, rows_per_chunk(4 * V)};
        product_nt(matrix_of(hidden->data + first * d, rows, d), matrix_of(w->data, V, d), b.logits,
                   false);
        pool_for(chunks_of(rows, b.rows_per_chunk), predict_rows, &b);
    }
    return all;
}
