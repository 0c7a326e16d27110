#include "nn/builder.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const Init init_zeros = {INIT_CONSTANT, 0}, init_ones = {INIT_CONSTANT, 1};

Init glorot(long fan_in, long fan_out) {
    return (Init){INIT_UNIFORM, sqrt(6.0 / (double)(fan_in + fan_out))};
}

Init small_normal(const ModelConfig *c) {
    return (Init){INIT_NORMAL, 0.5 / sqrt((double)c->d_model)};
}

void *build_module(Builder *b, size_t bytes) {
    return arena_alloc(b->modules, bytes);
}

size_t build_enter(Builder *b, const char *part, ...) {
    size_t length = strlen(b->prefix);
    va_list arguments;
    va_start(arguments, part);
    vsnprintf(b->prefix + length, sizeof b->prefix - length, part, arguments);
    va_end(arguments);
    size_t end = strlen(b->prefix);
    snprintf(b->prefix + end, sizeof b->prefix - end, ".");
    return length;
}

void build_leave(Builder *b, size_t length) {
    b->prefix[length] = 0;
}

void build_split(Builder *b, const char *name, Shape s, Init init, Tensor *upper, long rows,
                 Tensor *lower) {
    char full[PARAMETER_NAME];
    if (snprintf(full, sizeof full, "%s%s", b->prefix, name) >= PARAMETER_NAME)
        error_bug("%s%s: found a longer name, need at most %d characters", b->prefix, name,
                  PARAMETER_NAME - 1);
    b->ok = b->ok && parameters_add_split(b->parameters, full, s, init, upper, rows, lower, b->e);
}

void build_tensor(Builder *b, const char *name, Shape s, Init init, Tensor *leaf) {
    build_split(b, name, s, init, leaf, 0, NULL);
}

void build_linear(Builder *b, const char *name, long in, long out, Linear *l) {
    size_t outside = build_enter(b, "%s", name);
    build_tensor(b, "weight", SHAPE(out, in), glorot(in, out), &l->weight);
    if (b->config->biases) build_tensor(b, "bias", SHAPE(out), init_zeros, &l->bias);
    build_leave(b, outside);
}
