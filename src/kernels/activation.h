/* What a linear layer may do to each element of its result, as part of the product. */
#ifndef KERNELS_ACTIVATION_H
#define KERNELS_ACTIVATION_H

typedef enum Activation {
    ACT_NONE,
    ACT_RELU, /* max(x, 0) */
    ACT_GELU, /* x (1 + erf(x / √2)) / 2 */
} Activation;

#endif
