/* The weights of the walk: those that its formulas name. */
#include "explain/walk.h"
#include <stdio.h>
#include <string.h>

/* Rows [first, first + count) of a weight of this layer, transposed: the formulas have `x W` in place of `x Wᵀ`. Nothing
 * where the model has no such weight. */
static void add_weight(WalkSteps *s, const char *name, const char *prefix, const char *of,
                       long first, long count) {
    const WalkThrough *w = s->walk;
    char full[PARAMETER_NAME];
    snprintf(full, sizeof full, "%.30s%.16s%.16s", w->layer, prefix, of);
    const Parameter *p = parameters_find(&w->run.model->parameters, full);
    if (!p) return;
    Tensor *x = tape_slice(
        w->tape, tape_leaf(w->tape, p->shape, w->run.model->parameters.value + p->offset, NULL), 0,
        first, count ? first + count : p->shape.size[0]);
    if (x->shape.rank > 1) x = tape_transpose(w->tape, x, 0, 1);
    walk_add(s, "weights", name, name, "weight", x, NULL, NULL, NULL);
}

static void add_pair(WalkSteps *s, const char *weight, const char *bias, const char *prefix) {
    add_weight(s, weight, prefix, ".weight", 0, 0), add_weight(s, bias, prefix, ".bias", 0, 0);
}

void walk_add_weights(WalkSteps *s) {
    static const char *const names[] = {"W^Q", "W^K", "W^V", "b^Q", "b^K", "b^V"};
    const WalkThrough *w = s->walk;
    Model *m = w->run.model;
    bool cross = w->side == SIDE_CROSS, decoder = strncmp(w->layer, "decoder", 7) == 0;
    const char *attention = cross ? "multihead_attn" : "self_attn";
    for (int i = 0; i < 6; i++) {
        AttentionPart part = (AttentionPart)(i % PART_END);
        add_weight(s, names[i], attention, i < PART_END ? ".in_proj_weight" : ".in_proj_bias",
                   config_head_column(&m->config, part, w->options->head - 1),
                   config_d_k(&m->config));
    }
    add_pair(s, "W^O", "b^O", cross ? "multihead_attn.out_proj" : "self_attn.out_proj");
    add_pair(s, "W_1", "b_1", "linear1"), add_pair(s, "W_2", "b_2", "linear2");
    add_pair(s, "gain", "bias", walk_norms[cross + (m->config.norm == NORM_PRE)]);
    add_pair(s, "last gain", "last bias", walk_norms[1 + decoder]);
    walk_add(s, "weights", "W", "W", "weight", &m->embedding, NULL, NULL, NULL);
}
