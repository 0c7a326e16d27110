/* A small page, made without a model. */
#pragma once

#include "base/file.h"
#include "run/run_page.h"
#include "test.h"
#include <string.h>

static const char *const HARMLESS[] = {"a", "b", "花", " ", "\n"};
static const char *const HOSTILE[] = {"</script><img onerror=alert(1)>", "<b>", "\"'&", "-->", "]]>"};

enum {
    SAMPLE_TOKENS = 5,
    SAMPLE_FRAMES = 3,
    SAMPLE_EXAMPLES = 2,
    SAMPLE_MAPS = SAMPLE_EXAMPLES * GROUPS * 2 * 3
};

typedef struct SamplePage {
    Page page;
    Frames frames;
    RunTables tables;
    Safetensors notes;
    Metadata note[4];
    double step[SAMPLE_FRAMES], loss[SAMPLE_FRAMES];
} SamplePage;

static inline void sample_weights(Frames *f, int frame) {
    Group group[GROUPS];
    uint8_t *weight = f->weight + frame * f->weights;
    for (int i = 0; i < frames_lists(f, LIST_TARGET, EXAMPLES); i++)
        for (int g = 0, groups = frames_groups(f, i, group); g < groups; g++)
            for (long row = 0; row < 6 * group[g].rows.count; row++) {
                long n = frames_row_weights(&group[g], row % group[g].rows.count);
                memset(weight, 0, (size_t)n);
                weight[frame < n ? frame : n - 1] = 100;
                weight += n;
            }
}

/* Makes a page of 2 examples of a model with 2 + 2 layers of 3 heads at 3 steps. In frame f every row gives all its weight to
 * column f, or in a causal group to the last one it has if that comes before. To be freed with frames_free. */
static inline void sample_page(SamplePage *s, const char *const *token) {
    static const int32_t ids[] = {0, 1, 2, 3, 4}, wrong[] = {0, 2, 2};
    Error e = {0};
    Frames *f = &s->frames;
    memset(s, 0, sizeof *s);
    CHECK(frames_new(f, &(ModelConfig){.encoder_layers = 2, .decoder_layers = 2, .heads = 3}, SAMPLE_TOKENS,
                     SAMPLE_TOKENS, &e));
    for (int i = 0; i < 2 * EXAMPLES; i++)
        if (i % EXAMPLES < SAMPLE_EXAMPLES) frames_set(f, LIST_SOURCE + i, ids, SAMPLE_TOKENS);
    frames_set(f, LIST_GIVEN, ids, SAMPLE_TOKENS), frames_set(f, LIST_WANTED, ids, SAMPLE_TOKENS);
    CHECK(frames_reserve(f, SAMPLE_FRAMES, &e), "%s", e.text);
    for (int k = 0; k < SAMPLE_FRAMES; k++) {
        frames_begin(f, 100 * (k + 1));
        frames_set(f, frames_answer(k, 0), k ? ids : wrong, k ? SAMPLE_TOKENS : 3);
        sample_weights(f, k);
        s->step[k] = k, s->loss[k] = 3 - k;
    }
    s->note[0] = (Metadata){NOTE_COMMAND, "./train copy"};
    s->note[1] = (Metadata){"recipe.text", token[0]};
    s->note[2] = (Metadata){"task", token[0]};
    s->note[3] = (Metadata){NOTE_TEXT, token[1]};
    s->notes = (Safetensors){.path = "notes", .metadata = s->note, .metadata_count = 4};
    s->tables.metrics =
        (Csv){.rows = SAMPLE_FRAMES, .columns = 2, .name = {"step", "val_loss"}, .value = s->step};
    s->page = (Page){"run", &s->notes, &s->tables, f, token};
}
