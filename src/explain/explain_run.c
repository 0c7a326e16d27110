#include "explain/explain.h"
#include "explain/walk.h"
#include "run/attention_look.h"
#include "tasks/task.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHTS = 1000000 /* on a page, each at most 22 bytes */, TITLE = 128, FACTS = 32 };

/* A run that has read the text. */
typedef struct Looked {
    WalkThrough walk;
    int32_t *wanted;    /* the right answer to the source; NULL: unknown */
    const char **token; /* texts by id */
    PageExample example;
    uint8_t *weights; /* [page_weights(&example)] */
} Looked;

static bool look(Looked *l, const RunOptions *o, Error *e) {
    WalkThrough *w = &l->walk;
    WalkText *source = &w->source, *target = &w->target;
    if (!walk_read(w, &(WalkOptions){.text = o->text, .model = o->run}, e)) return false;
    const ModelConfig *c = &w->run.model->config;
    int layers = c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
    if (!walk_has_head(c, layers, o->layer, o->head, e)) return false;
    const char *name = model_notes_find(&w->run.notes, "task");
    const TaskKind *task = name ? task_kind(name) : NULL;
    if (source->count && task && task->answer) {
        l->wanted = arena_alloc(&w->arena, (size_t)source->count * sizeof *l->wanted);
        task->answer(source->id, source->count, l->wanted);
    }
    l->example.title = o->text;
    attention_groups(&l->example, c, source->id, source->count, target->id, target->count);
    l->token = attention_token_texts(w->run.tokenizer, c->vocab_size, w->run.begin_id, w->run.end_id, e);
    if (!l->token) return false;
    long count = page_weights(&l->example);
    if (count > MOST_WEIGHTS)
        return error_set(e, STATUS_BAD_DATA, "--text: found %ld weights over all heads, need at most %d",
                         count, MOST_WEIGHTS);
    l->weights = arena_alloc(&w->arena, (size_t)count);
    attention_take(&l->example, c, &w->trace, l->weights);
    return true;
}

/* ---- As a page ---- */

static bool write_page(const Looked *l, const RunOptions *o, Error *e) {
    char title[TITLE], value[FACTS][CONFIG_TEXT];
    PageFact fact[FACTS];
    const WalkText *source = &l->walk.source, *target = &l->walk.target; /* begin and the answer */
    PageAnswer answer = {target->count - 1, target->id + 1};
    PageSample sample = {"Its answer", "source", source->id, source->count, l->wanted, source->count};
    PageFrame frame = {-1, (uint8_t *[]){l->weights}, &answer};
    Page p = {.title = title,
              .status = "The tokens that each token of a sentence attends to.",
              .token = l->token,
              .examples = &l->example,
              .frames = &frame,
              .samples = &sample,
              .facts = fact,
              .example_count = 1,
              .frame_count = 1,
              .sample_count = source->count > 0};
    snprintf(title, TITLE, "Attention of %s", o->run);
    while (p.fact_count < FACTS && config_field(&l->walk.run.model->config, p.fact_count,
                                                &fact[p.fact_count].name, value[p.fact_count])) {
        page_shorten(value[p.fact_count]);
        fact[p.fact_count].value = value[p.fact_count];
        p.fact_count++;
    }
    return page_write(&p, o->html, e);
}

/* ---- As pictures ---- */

/* Writes a picture to a file of the directory --svg, or to the terminal. */
static bool show_map(const RunOptions *o, const Picture *p, const char *group, int layer, int head,
                     Error *e) {
    char name[TITLE], path[PATH_ROOM];
    if (!o->svg) {
        Terminal t = terminal_of(stdout);
        picture_draw(p, &t);
        return putchar('\n') != EOF || error_set(e, STATUS_IO, "stdout: writing failed");
    }
    snprintf(name, sizeof name, "%s-layer-%d-head-%d.svg", group, layer, head);
    return directory_file(path, o->svg, name, STATUS_CANNOT_CREATE, e) && pictures_save(p, 1, path, e);
}

/* Draws the heads of an attention, named as in a weight file. */
static bool show_attention(const Looked *l, const RunOptions *o, const AttentionTrace *a, Error *e) {
    const WalkText *source = &l->walk.source, *target = &l->walk.target;
    bool cross = strstr(a->name, "multihead_attn"), encoder = !cross && source->count && a->name[0] == 'e';
    const PageGroup *g = &l->example.group[!source->count || encoder ? 0 : 1 + cross];
    const Tensor *weights = a->steps[0].weights; /* [h, rows, columns] */
    long rows = weights->shape.size[1], columns = weights->shape.size[2];
    int layer = 1 + atoi(strstr(a->name, ".layers.") + strlen(".layers."));
    for (int head = 1; head <= weights->shape.size[0]; head++) {
        char title[TITLE];
        if ((o->layer && o->layer != layer) || (o->head && o->head != head)) continue;
        snprintf(title, TITLE, "Layer %d, head %d: %s", layer, head, g->name);
        Picture p = {PICTURE_MAP, title, NULL,
                     .map = {rows, columns, "query", "key", (encoder ? source : target)->label,
                             (encoder || cross ? source : target)->label,
                             weights->data + (head - 1) * rows * columns, 0, 1}};
        if (!show_map(o, &p, g->file_name, layer, head, e)) return false;
    }
    return true;
}

bool explain_run(const RunOptions *o, Error *e) {
    Looked l = {0};
    bool ok = look(&l, o, e);
    if (ok && o->html) ok = write_page(&l, o, e);
    if (ok && o->svg) ok = directory_make(o->svg, e);
    for (const AttentionTrace *a = l.walk.trace.first; ok && (o->svg || !o->html) && a; a = a->next)
        ok = show_attention(&l, o, a, e);
    free(l.token);
    walk_close(&l.walk);
    return ok;
}
