/* A module calls these functions to add its parameters to a model: names in a weight file, shapes
 * and initial values.
 *
 *     typedef struct Dense { Linear in, out; } Dense;
 *
 *     static void *add_parameters(Builder *b) {
 *         Dense *m = build_module(b, sizeof *m);
 *         build_linear(b, "linear1", b->config->d_model, b->config->d_ff, &m->in);
 *         build_linear(b, "linear2", b->config->d_ff, b->config->d_model, &m->out);
 *         return m;
 *     }
 *
 * A leaf has its shape at once; it gets its memory once all modules are added. The order of calls
 * is the order of a weight file and determines the initial values. A failure is remembered: the
 * caller of the modules reports it. */
#pragma once

#include "base/arena.h"
#include "nn/config.h"
#include "nn/parameters.h"

/* y = x Wᵀ + b. As in PyTorch's modules the matrix is [out, in]. Without config.biases, b is
 * missing: its tensor is {0}. */
typedef struct Linear {
    Tensor weight, bias; /* [out, in], [out] */
} Linear;

typedef struct Builder {
    const ModelConfig *config;
    Parameters *parameters;
    Arena *modules;
    char prefix[PARAMETER_NAME]; /* of the module at work: "encoder.layers.0.self_attn." */
    bool ok;                     /* false, with e, after the first failure */
    Error *e;
} Builder;

/* Zeroed memory for a module's struct, or an array of them; it lives as long as the model. */
void *build_module(Builder *b, size_t bytes);

/* Appends a part and a point to the prefix. Returns the length before, for build_leave. */
__attribute__((format(printf, 2, 3))) size_t build_enter(Builder *b, const char *part, ...);
void build_leave(Builder *b, size_t length);

/* Adds a tensor of any shape. build_split adds one with two leaves: `upper` has its first `rows`
 * rows, `lower` has the others. */
void build_tensor(Builder *b, const char *name, Shape s, Init init, Tensor *leaf);
void build_split(Builder *b, const char *name, Shape s, Init init, Tensor *upper, long rows,
                 Tensor *lower);

/* Adds NAME.weight, initialised as glorot(in, out), and with config.biases NAME.bias, all 0. */
void build_linear(Builder *b, const char *name, long in, long out, Linear *l);

/* Uniform within ±√(6 / (fan_in + fan_out)): Glorot & Bengio, as PyTorch's nn.Transformer
 * initialises matrices. */
Init glorot(long fan_in, long fan_out);

/* The initial values of embeddings and output matrices: normal, σ = ½ d_model^-½. An embedding
 * times √d_model is then as large as a positional encoding. An output matrix gives small logits,
 * and a first loss near log(vocab_size). */
Init small_normal(const ModelConfig *c);

extern const Init init_zeros, init_ones; /* {INIT_CONSTANT, 0.5}: 0.5 everywhere */
