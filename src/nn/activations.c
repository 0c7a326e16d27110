/* The activations of feed-forward networks. */
#include "nn/choices.h"

#define SILU "silu(x) = x / (1 + e^-x)"

const ActivationKind activation_relu = {{"relu"}, ACT_RELU, NULL, 1, "H = max(0, N W_1 + b_1)"};
const ActivationKind activation_gelu = {{"gelu"}, ACT_GELU, NULL, 1, "H = gelu(N W_1 + b_1)"};
const ActivationKind activation_silu = {{"silu"}, ACT_SILU, NULL, 1, "H = silu(N W_1 + b_1), " SILU};

/* Shazeer, arXiv:2002.05202: half of the columns are gates, the other half values (ops/swiglu.c). */
const ActivationKind activation_swiglu = {
    {"swiglu"}, ACT_NONE, tape_swiglu, 2, "H = silu(G) V element by element, " SILU};
