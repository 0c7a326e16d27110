/* The activations of feed-forward networks. */
#include "nn/choices.h"

#define SILU "silu(x) = x / (1 + e^-x)"

const ActivationKind activation_relu = {
    {"relu"}, tape_relu, 1, ACT_RELU, "H = max(0, N W_1 + b_1)"};
const ActivationKind activation_gelu = {{"gelu"}, tape_gelu, 1, ACT_GELU, "H = gelu(N W_1 + b_1)"};
const ActivationKind activation_silu = {
    {"silu"}, tape_silu, 1, ACT_SILU, "H = silu(N W_1 + b_1), " SILU};

/* Shazeer, arXiv:2002.05202: half of the columns are gates, the other half values
 * (ops/swiglu.c). */
const ActivationKind activation_swiglu = {
    {"swiglu"}, tape_swiglu, 2, ACT_NONE, "H = silu(G) V element by element, " SILU};
