#include "explain/explain.h"
#include "explain/walk.h"
#include "run/run_page.h"
#include "tasks/task.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHTS = 1000000 /* on a page, each at most 22 bytes */, TITLE = 128 };

/* A run that has read the text. */
typedef struct Looked {
    WalkThrough walk;
    int32_t *wanted; /* the right answer to the source; NULL: unknown */
    Frames frames;   /* one */
} Looked;

/* Makes the frame of the text, whose step is unknown: its attention, and the answer, if it has one. */
static bool make_frame(Looked *l, const ModelConfig *c, Error *e) {
    const WalkText *source = &l->walk.source, *target = &l->walk.target; /* begin and the answer */
    Frames *f = &l->frames;
    long width = source->count > target->count ? source->count : target->count;
    if (!frames_new(f, c, width, width, e)) return false;
    frames_set(f, LIST_SOURCE, source->id, source->count);
    frames_set(f, LIST_TARGET, target->id, target->count);
    if (source->count) frames_set(f, LIST_GIVEN, source->id, source->count);
    if (l->wanted) frames_set(f, LIST_WANTED, l->wanted, source->count);
    double weights = frames_example_weights(f, 0);
    if (weights > MOST_WEIGHTS)
        return error_set(e, STATUS_BAD_DATA, "--text: found %.0f weights over all heads, need at most %d",
                         weights, MOST_WEIGHTS);
    if (!frames_reserve(f, 1, e)) return false;
    frames_begin(f, -1);
    if (source->count) frames_set(f, frames_answer(0, 0), target->id + 1, target->count - 1);
    frames_take(f, 0, &l->walk.trace, f->weight);
    return true;
}

static bool look(Looked *l, const RunOptions *o, Error *e) {
    WalkThrough *w = &l->walk;
    WalkText *source = &w->source;
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
    return make_frame(l, c, e);
}

/* ---- As a page ---- */

/* Writes the page of the run with the text in place of the frames of its training. A model without frames has only the
 * notes of its own file. */
static bool write_page(const Looked *l, const RunOptions *o, Error *e) {
    char path[PATH_ROOM];
    Safetensors run = {0};
    const Notes *own = &l->walk.run.notes;
    bool known = directory_file(path, o->run, "frames.safetensors", STATUS_NO_INPUT, &(Error){0}) &&
                 safetensors_read(&run, path, &(Error){0});
    const Safetensors notes = {.path = o->run, .metadata = own->entry, .metadata_count = own->count};
    bool ok = page_of_frames(known ? &run : &notes, &l->frames, o->run, o->html, e);
    safetensors_free(&run);
    return ok;
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
    Group group[GROUPS];
    const Group *g = &group[!source->count || encoder ? 0 : 1 + cross];
    frames_groups(&l->frames, 0, group);
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
    if (!o->text) return page_of_run(o->run, o->html, e);
    bool ok = look(&l, o, e);
    if (ok && o->html) ok = write_page(&l, o, e);
    if (ok && o->svg) ok = directory_make(o->svg, e);
    for (const AttentionTrace *a = l.walk.trace.first; ok && (o->svg || !o->html) && a; a = a->next)
        ok = show_attention(&l, o, a, e);
    frames_free(&l.frames);
    walk_close(&l.walk);
    return ok;
}
