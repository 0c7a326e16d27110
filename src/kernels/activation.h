/* The activations that a matrix product can apply to its result. */
#ifndef KERNELS_ACTIVATION_H
#define KERNELS_ACTIVATION_H

typedef enum Activation {
    ACT_NONE,
    ACT_RELU,   /* max(x, 0) */
    ACT_GELU,   /* x (1 + erf(x / √2)) / 2 */
    ACT_SILU,   /* x / (1 + e^-x) */
    ACT_SWIGLU, /* of a feed-forward network alone: ops/swiglu.c */
} Activation;

#endif
