#include "decoding/decode.h"
#include "decoding/saved_run.h"
#include "explain/explain.h"
#include "run/attention_look.h"
#include "tasks/task.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHTS = 1000000 /* on a page, each about 15 bytes */, TITLE = 128, FACTS = 32 };

/* A run that has read the text. */
typedef struct Looked {
    SavedRun run;
    Tape *tape;
    int32_t *ids;          /* the text, the input of the decoder, the right answer */
    const int32_t *wanted; /* the right answer; NULL: unknown */
    long n, m;             /* tokens of the text, and of the decoder's input */
    const char **token;    /* texts by id */
    PageExample example;
    uint16_t *weights; /* [page_weights(&example)] */
} Looked;

static bool read_text(Looked *l, const char *text, Error *e) {
    const ModelConfig *c = &l->run.model->config;
    size_t bytes = strlen(text);
    if (bytes == 0) return error_set(e, STATUS_USAGE, "--text: found no character, need at least one");
    l->ids = calloc(2 * bytes + 2 * (size_t)c->max_length + 1, sizeof *l->ids);
    if (!l->ids) return error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", bytes);
    if (!tokenizer_encode(l->run.tokenizer, "--text", text, bytes, l->ids, &l->n, e)) return false;
    return l->n <= c->max_length ||
           error_set(e, STATUS_BAD_DATA, "--text: found %ld characters, need at most %d", l->n,
                     c->max_length);
}

/* A language model reads the text. A decoder reads begin and its own answer. */
static bool choose_target(Looked *l, Error *e) {
    Model *m = l->run.model;
    int32_t *read = l->ids + l->n;
    if (m->config.kind == KIND_LM) {
        attention_groups(&l->example, &m->config, NULL, 0, l->ids, l->n);
        return true;
    }
    *read = l->run.begin_id;
    if (!decode_answers(l->tape, m, &(Sampler){0}, 1, (long[]){0, l->n}, l->ids, l->run.begin_id,
                        l->run.end_id, m->config.max_length - 1, read + 1, &l->m, e))
        return false;
    const char *name = model_notes_find(&l->run.notes, "task");
    const TaskKind *task = name ? task_kind(name) : NULL;
    if (task && task->answer) {
        l->wanted = read + 1 + l->m;
        task->answer(l->ids, l->n, read + 1 + l->m);
    }
    l->m++;
    attention_groups(&l->example, &m->config, l->ids, l->n, read, l->m);
    return true;
}

static bool look(Looked *l, const RunOptions *o, Error *e) {
    if (!saved_run_open(&l->run, o->run, false, e) || !read_text(l, o->text, e)) return false;
    const ModelConfig *c = &l->run.model->config;
    int layers = c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
    if (o->layer > layers)
        return error_set(e, STATUS_USAGE, "--layer: found %ld, need at most %d", o->layer, layers);
    if (o->head > c->heads)
        return error_set(e, STATUS_USAGE, "--head: found %ld, need at most %d", o->head, c->heads);
    l->tape = tape_new();
    l->example.title = o->text;
    l->token = attention_token_texts(l->run.tokenizer, c->vocab_size, l->run.begin_id, l->run.end_id, e);
    if (!l->token || !choose_target(l, e)) return false;
    long count = page_weights(&l->example);
    if (count > MOST_WEIGHTS)
        return error_set(e, STATUS_BAD_DATA, "--text: found %ld weights over %ld characters, need at most %d",
                         count, l->n, MOST_WEIGHTS);
    l->weights = calloc((size_t)count, sizeof *l->weights);
    if (!l->weights) return error_set(e, STATUS_NO_MEMORY, "memory: %ld weights", count);
    return attention_look(&l->example, l->tape, l->run.model, l->weights, NULL, e);
}

static void close(Looked *l) {
    if (l->tape) tape_free(l->tape);
    free(l->ids);
    free(l->token);
    free(l->weights);
    saved_run_close(&l->run);
}

/* ---- As a page ---- */

static bool write_page(const Looked *l, const RunOptions *o, Error *e) {
    char title[TITLE], value[FACTS][CONFIG_TEXT];
    PageFact fact[FACTS];
    PageAnswer answer = {-1, l->m - 1, l->ids + l->n + 1};
    PageSample sample = {"Its answer", "source", l->ids, l->n, l->wanted, l->n, &answer, 1};
    PageFrame frame = {-1, (uint16_t *[]){l->weights}};
    Page p = {.title = title,
              .status = "The tokens that each token of a sentence attends to.",
              .token = l->token,
              .examples = &l->example,
              .frames = &frame,
              .samples = &sample,
              .facts = fact,
              .example_count = 1,
              .frame_count = 1,
              .sample_count = l->m > 0};
    snprintf(title, TITLE, "Attention of %s", o->run);
    while (p.fact_count < FACTS &&
           config_field(&l->run.model->config, p.fact_count, &fact[p.fact_count].name, value[p.fact_count])) {
        page_shorten(value[p.fact_count]);
        fact[p.fact_count].value = value[p.fact_count];
        p.fact_count++;
    }
    return page_write(&p, o->html, e);
}

/* ---- As pictures ---- */

/* A head's map with its arrays. Freed with free_map, also where making it fails. */
typedef struct HeadMap {
    Picture picture;
    char title[TITLE];
    const char **label; /* of rows, then of columns */
    double *values;
} HeadMap;

static void free_map(HeadMap *h) {
    free(h->label);
    free(h->values);
}

static bool make_map(HeadMap *h, const Looked *l, const PageGroup *g, int layer, int head,
                     const uint16_t *weights, Error *e) {
    *h = (HeadMap){.label = calloc((size_t)(g->rows + g->columns), sizeof *h->label),
                   .values = calloc((size_t)(g->rows * g->columns), sizeof *h->values)};
    if (!h->label || !h->values)
        return error_set(e, STATUS_NO_MEMORY, "memory: a map of %ld x %ld", g->rows, g->columns);
    for (long i = 0; i < g->rows; i++) {
        h->label[i] = l->token[g->row_tokens[i]];
        for (long j = 0; j < page_row_weights(g, i); j++)
            h->values[i * g->columns + j] = (double)*weights++ / WEIGHT_ONE;
    }
    for (long j = 0; j < g->columns; j++) h->label[g->rows + j] = l->token[g->column_tokens[j]];
    snprintf(h->title, TITLE, "Layer %d, head %d: %s", layer, head, g->name);
    h->picture = (Picture){
        PICTURE_MAP, h->title, NULL,
        .map = {g->rows, g->columns, "query", "key", h->label, h->label + g->rows, h->values, 0, 1}};
    return true;
}

/* To a file of the directory --svg, or to the terminal. */
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

static bool show_maps(const Looked *l, const RunOptions *o, Error *e) {
    const uint16_t *weights = l->weights;
    bool ok = !o->svg || directory_make(o->svg, e);
    for (int i = 0; i < l->example.groups; i++) {
        const PageGroup *g = &l->example.group[i];
        for (int layer = 1; layer <= g->layers; layer++)
            for (int head = 1; ok && head <= g->heads; head++, weights += page_map_weights(g)) {
                HeadMap h;
                if ((o->layer && o->layer != layer) || (o->head && o->head != head)) continue;
                ok = make_map(&h, l, g, layer, head, weights, e) &&
                     show_map(o, &h.picture, g->file_name, layer, head, e);
                free_map(&h);
            }
    }
    return ok;
}

bool explain_run(const RunOptions *o, Error *e) {
    Looked l = {0};
    bool ok = look(&l, o, e);
    if (ok && o->html) ok = write_page(&l, o, e);
    if (ok && (o->svg || !o->html)) ok = show_maps(&l, o, e);
    close(&l);
    return ok;
}
