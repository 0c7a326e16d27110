#include "run/frames.h"
#include "base/directory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODER_LAYERS, DECODER_LAYERS, HEADS, LONGEST }; /* of Frames.model */

/* ---- Lists of tokens ---- */

bool frames_new(Frames *f, const ModelConfig *c, long longest, long width, Error *e) {
    *f =
        (Frames){.model = {c->encoder_layers, c->decoder_layers, c->heads, (int32_t)longest}, .width = width};
    f->tokens = malloc((size_t)(LISTS * width) * sizeof *f->tokens);
    if (!f->tokens) return error_set(e, STATUS_NO_MEMORY, "memory: lists of %ld tokens for the page", width);
    for (long i = 0; i < LISTS * width; i++) f->tokens[i] = -1;
    return true;
}

void frames_free(Frames *f) {
    free(f->tokens), free(f->weight);
    *f = (Frames){0};
}

void frames_set(Frames *f, int list, const int32_t *id, long count) {
    int32_t *at = f->tokens + list * f->width;
    if (count > f->width) error_bug("frames_set: %ld tokens, want at most %ld", count, f->width);
    for (long i = 0; i < f->width; i++) at[i] = i < count ? id[i] : -1;
}

List frames_list(const Frames *f, int list) {
    List l = {f->tokens + list * f->width, 0};
    while (l.count < f->width && l.id[l.count] >= 0) l.count++;
    return l;
}

int frames_lists(const Frames *f, int first, int most) {
    int count = 0;
    while (count < most && f->tokens[(first + count) * f->width] >= 0) count++;
    return count;
}

/* ---- Frames ---- */

static double all_weights(const Frames *f) {
    double weights = 0;
    for (int i = frames_lists(f, LIST_TARGET, EXAMPLES); i-- > 0;) weights += frames_example_weights(f, i);
    return weights;
}

bool frames_reserve(Frames *f, int most, Error *e) {
    f->most = most, f->weights = (long)all_weights(f);
    f->weight = malloc((size_t)(most * f->weights) + 1);
    return f->weight || error_set(e, STATUS_NO_MEMORY, "memory: %ld weights for the page", most * f->weights);
}

static void move_frames(Frames *f, int to, int from) {
    int n = f->count - from;
    memmove(f->step + to, f->step + from, (size_t)n * sizeof *f->step);
    memmove(f->tokens + frames_answer(to, 0) * f->width, f->tokens + frames_answer(from, 0) * f->width,
            (size_t)(n * SAMPLES * f->width) * sizeof *f->tokens);
    memmove(f->weight + to * f->weights, f->weight + from * f->weights, (size_t)(n * f->weights));
    f->count += to - from;
}

int frames_begin(Frames *f, long step) {
    while (f->count && f->step[f->count - 1] >= step) f->count--;
    int drop = f->count > 2 ? 1 : f->count - 1;
    for (int i = 1; i + 1 < f->count; i++)
        if (f->step[i + 1] - f->step[i - 1] < f->step[drop + 1] - f->step[drop - 1]) drop = i;
    if (f->count == f->most) move_frames(f, drop, drop + 1);
    f->step[f->count] = (int32_t)step;
    return f->count++;
}

/* ---- Attention ---- */

/* The kinds of attention of a model with a source, and then that of one without. */
static const struct Kind {
    const char *name, *file_name, *pattern;
    bool in_decoder, from_source, to_source, causal;
} kinds[] = {
    {"Encoder self-attention", "encoder", "encoder.layers.%d.self_attn", .from_source = true,
     .to_source = true},
    {"Decoder self-attention", "decoder", "decoder.layers.%d.self_attn", .in_decoder = true, .causal = true},
    {"Cross-attention", "cross", "decoder.layers.%d.multihead_attn", .in_decoder = true, .to_source = true},
    {"Causal self-attention", "text", "encoder.layers.%d.self_attn", .causal = true},
};

int frames_groups(const Frames *f, int example, Group group[GROUPS]) {
    bool text = f->model[DECODER_LAYERS] == 0;
    int count = text ? 1 : GROUPS;
    List source = frames_list(f, LIST_SOURCE + example), target = frames_list(f, LIST_TARGET + example);
    if (text && target.count > f->model[LONGEST]) target.count = f->model[LONGEST];
    for (int g = 0; g < count; g++) {
        const struct Kind *kind = &kinds[text ? GROUPS : g];
        group[g] = (Group){.name = kind->name,
                           .file_name = kind->file_name,
                           .pattern = kind->pattern,
                           .layers = f->model[kind->in_decoder ? DECODER_LAYERS : ENCODER_LAYERS],
                           .heads = f->model[HEADS],
                           .rows = kind->from_source ? source : target,
                           .columns = kind->to_source ? source : target,
                           .causal = kind->causal};
    }
    return count;
}

long frames_row_weights(const Group *g, long row) {
    return g->causal ? row + 1 : g->columns.count;
}

double frames_example_weights(const Frames *f, int example) {
    Group group[GROUPS];
    double sum = 0;
    for (int g = frames_groups(f, example, group); g-- > 0;) {
        double rows = (double)group[g].rows.count, columns = (double)group[g].columns.count;
        sum += (double)group[g].layers * group[g].heads * rows * (group[g].causal ? (rows + 1) / 2 : columns);
    }
    return sum;
}

Tensor *frames_logits(Tape *t, Model *m, List source, List target, Trace *trace, Error *e) {
    Tokens from = {0}, to = {0};
    Tensor *logits = NULL;
    if (tokens_new(&to, 1, target.count, e) && tokens_new(&from, 1, source.count, e)) {
        Forward f = {t, m, &from, &to, .trace = trace};
        tokens_fill(&to, 1, target.count, target.id, m->config.pad_id);
        tokens_fill(&from, 1, source.count, source.id, m->config.pad_id);
        t->training = false;
        logits = nn_logits(&f, nn_hidden(&f));
        if (tape_failed(t, e)) logits = NULL;
    }
    tokens_free(&from), tokens_free(&to);
    return logits;
}

uint8_t *frames_take(const Frames *f, int example, const Trace *trace, uint8_t *weight) {
    Group group[GROUPS];
    int groups = frames_groups(f, example, group);
    for (const Group *g = group; g < group + groups; g++)
        for (int layer = 0; layer < g->layers; layer++) {
            char name[PARAMETER_NAME];
            snprintf(name, sizeof name, g->pattern, layer);
            const real *w = nn_trace_find(trace, name)->steps[0].weights->data; /* [heads, rows, columns] */
            for (long row = 0; row < g->heads * g->rows.count; row++, w += g->columns.count)
                for (long i = 0; i < frames_row_weights(g, row % g->rows.count); i++)
                    *weight++ = (uint8_t)lround(100 * (double)w[i]);
        }
    return weight;
}

/* ---- The file ---- */

bool frames_write(const Frames *f, const Metadata *note, int notes, const char *directory, Error *e) {
    char path[PATH_ROOM];
    const Array arrays[] = {
        array_over("model", DTYPE_I32, SHAPE(4), f->model),
        array_over("steps", DTYPE_I32, SHAPE(f->count), f->step),
        array_over("tokens", DTYPE_I32, SHAPE(frames_answer(f->count, 0), f->width), f->tokens),
        array_over("weights", DTYPE_U8, SHAPE(f->count, f->weights), f->weight)};
    return directory_file(path, directory, "frames.safetensors", STATUS_CANNOT_CREATE, e) &&
           safetensors_write(path, note, notes, arrays, sizeof arrays / sizeof *arrays, e);
}

/* The array of this name and type. */
static const Array *need(const Safetensors *file, const char *name, Dtype d, int rank, Error *e) {
    const Array *a = safetensors_need(file, name, e);
    if (a && (a->dtype != d || a->rank != rank)) {
        error_set(e, STATUS_BAD_DATA, "%s: found %s of rank %d, need %s of rank %d", ARRAY_PLACE(a),
                  dtype_name(a->dtype), a->rank, dtype_name(d), rank);
        return NULL;
    }
    return a;
}

static bool in_range(const Array *a, const int32_t *value, long least, long most, Error *e) {
    for (long i = 0; i < a->count; i++)
        if (value[i] < least || value[i] > most)
            return error_set(e, STATUS_BAD_DATA, "%s: found %ld, need one from %ld to %ld", ARRAY_PLACE(a),
                             (long)value[i], least, most);
    return true;
}

bool frames_read(Frames *f, const Safetensors *file, long tokens, Error *e) {
    *f = (Frames){0};
    const Array *model = need(file, "model", DTYPE_I32, 1, e), *steps = need(file, "steps", DTYPE_I32, 1, e),
                *lists = need(file, "tokens", DTYPE_I32, 2, e),
                *weights = need(file, "weights", DTYPE_U8, 2, e);
    if (!model || !steps || !lists || !weights || !array_expect_shape(model, SHAPE(4), e)) return false;
    long width = lists->size[1], frames = steps->count;
    if (frames > FRAMES || width == 0)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld frames of lists of %ld tokens, need at most %d",
                         file->path, frames, width, FRAMES);
    if (!array_expect_shape(lists, SHAPE(frames_answer((int)frames, 0), width), e) ||
        !frames_new(f, &(ModelConfig){0}, 0, width, e) || !array_to_int32(model, f->model, e) ||
        !array_to_int32(steps, f->step, e) || !array_to_int32(lists, f->tokens, e) ||
        !in_range(model, f->model, 0, 1 << 20, e) || !in_range(lists, f->tokens, -1, tokens - 1, e))
        return false;
    double need_weights = all_weights(f);
    if (weights->size[0] != frames || (double)weights->size[1] != need_weights)
        return error_set(e, STATUS_BAD_DATA, "%s: found shape [%ld,%ld], need [%ld,%.0f]",
                         ARRAY_PLACE(weights), weights->size[0], weights->size[1], frames, need_weights);
    if (!frames_reserve(f, (int)frames, e)) return false;
    memcpy(f->weight, weights->bytes, (size_t)weights->count);
    f->count = (int)frames;
    return true;
}
