/* The lists of kinds, from which options and files take their words. */
#include "nn/choices.h"

#define POSITIONS(name) &positions_##name.choice,
const Choice *const all_positions[] = {
#include "nn/choices.def"
    NULL};

#define NORM(name) &norm_##name.choice,
const Choice *const all_norms[] = {
#include "nn/choices.def"
    NULL};

#define ACTIVATION(name) &activation_##name.choice,
const Choice *const all_activations[] = {
#include "nn/choices.def"
    NULL};

#define FEED_FORWARD(name) &feed_forward_##name.choice,
const Choice *const all_feed_forwards[] = {
#include "nn/choices.def"
    NULL};

#define ATTENTION(name) &attention_##name.choice,
const Choice *const all_attentions[] = {
#include "nn/choices.def"
    NULL};
