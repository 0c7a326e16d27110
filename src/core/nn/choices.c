/* The lists of kinds, from which options and files take their words. */
#include "nn/choices.h"

#define POSITIONS(name)  &positions_##name.choice,
#define NORM(name)       &norm_##name.choice,
#define ACTIVATION(name) &activation_##name.choice,
#define ATTENTION(name)  &attention_##name.choice,
const Choice *const all_positions[] = {ALL_POSITIONS(POSITIONS) NULL};
const Choice *const all_norms[] = {ALL_NORMS(NORM) NULL};
const Choice *const all_activations[] = {ALL_ACTIVATIONS(ACTIVATION) NULL};
const Choice *const all_attentions[] = {ALL_ATTENTIONS(ATTENTION) NULL};
