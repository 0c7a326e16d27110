/* The activations of feed-forward networks. */
#include "nn/choices.h"

const ActivationKind activation_relu = {{"relu"}, tape_relu, 1, ACT_RELU};
const ActivationKind activation_gelu = {{"gelu"}, tape_gelu, 1, ACT_GELU};
const ActivationKind activation_silu = {{"silu"}, tape_silu, 1, ACT_SILU};

/* Shazeer, arXiv:2002.05202: half of the columns are gates, the other half values
 * (ops/swiglu.c). */
const ActivationKind activation_swiglu = {{"swiglu"}, tape_swiglu, 2, ACT_NONE};
