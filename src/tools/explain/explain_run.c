/* Prints what a trained model attends to in a text. */
#include "explain/explain.h"
#include "explain/map.h"
#include "explain/walk.h"
#include <stdlib.h>
#include <string.h>

/* Prints the heads of an attention that the options choose. */
static void show_attention(const WalkThrough *w, const RunOptions *o, const AttentionTrace *a) {
    enum { TITLE = 128 };
    const WalkText *source = &w->source, *target = &w->target; /* begin and the answer */
    const Tensor *weights = a->steps[0].weights;               /* [h, rows, columns] */
    bool is_cross = strstr(a->name, "multihead_attn");
    bool in_encoder = source->count && strncmp(a->name, "encoder", strlen("encoder")) == 0;
    const WalkText *rows = in_encoder ? source : target, *columns = is_cross ? source : rows;
    int layer = 1 + atoi(strstr(a->name, ".layers.") + strlen(".layers."));
    const char *kind = is_cross ? "Cross-attention" : "Self-attention";
    const char *side = in_encoder ? " of the encoder" : " of the decoder";
    for (int head = 1; head <= weights->shape.size[0]; head++) {
        char title[TITLE];
        long n = weights->shape.size[1], m = weights->shape.size[2];
        if ((o->layer && o->layer != layer) || (o->head && o->head != head)) continue;
        snprintf(title, TITLE, "Layer %d, head %d: %s%s", layer, head, kind,
                 source->count ? side : "");
        map_print(&(Map){title, NULL, n, m, "query", "key", rows->label, columns->label,
                         weights->data + (head - 1) * n * m, 0, 1});
        putchar('\n');
    }
}

/* Prints all attentions, in the order of computation. */
static bool show_run(const WalkThrough *w, const RunOptions *o, Error *e) {
    const ModelConfig *c = &w->run.model->config;
    int layers = c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
    if (!walk_has_head(c, layers, o->layer, o->head, e)) return false;
    for (const AttentionTrace *a = w->trace.first; a; a = a->next) show_attention(w, o, a);
    return true;
}

bool explain_run(const RunOptions *o, Error *e) {
    WalkThrough w;
    bool ok =
        walk_read(&w, &(WalkOptions){.text = o->text, .model = o->run}, e) && show_run(&w, o, e);
    walk_close(&w);
    return ok;
}
