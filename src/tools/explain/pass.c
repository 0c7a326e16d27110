/* The pass of a model over a text: tokens, a random model or a run's, and forward. */
#include "decoding/decode.h"
#include "explain/walk.h"
#include "text/dictionary.h"
#include <string.h>

/* ---- Texts ---- */

static WalkText text_for(Tour *w, size_t tokens) {
    return (WalkText){.id = arena_alloc(&w->arena, (tokens + 1) * sizeof(int32_t)),
                      .labels = {0, arena_alloc(&w->arena, (tokens + 1) * sizeof(char *))}};
}

static void add_token(WalkText *x, int32_t id, const char *label) {
    x->id[x->labels.count] = id;
    x->labels.of[x->labels.count++] = label;
}

static const char *label_in(Tour *w, int32_t id) {
    return saved_run_label(&w->run, id, arena_alloc(&w->arena, TOKEN_LABEL));
}

static bool is_empty(const char *kind, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "--text: found no %s, need at least one", kind);
}

/* Splits the text at blanks; words are numbered in the order of their first appearance. *size is
 * the number of ids. */
static bool read_words(Tour *w, int *size, Error *e) {
    static const char blanks[] = " \t\n\r\v\f";
    Dictionary words = {0};
    size_t length;
    w->source = text_for(w, strlen(w->text));
    for (const char *at = w->text + strspn(w->text, blanks); *at; at += strspn(at, blanks)) {
        length = strcspn(at, blanks);
        if (dictionary_add(&words, at, length, e) < 0) break;
        char *label = memcpy(arena_alloc(&w->arena, length + 1), at, length);
        add_token(&w->source, (int32_t)dictionary_find(&words, at, length), label);
        at += length;
    }
    *size = (int)words.count;
    dictionary_free(&words);
    return e->status == STATUS_DONE && (*size || is_empty("word", e));
}

static WalkText text_of(Tour *w, const int32_t *id, long count) {
    WalkText x = text_for(w, (size_t)count);
    for (long i = 0; i < count; i++) add_token(&x, id[i], label_in(w, id[i]));
    return x;
}

/* Splits the text with the tokenizer. A model of lines reads the token of their end first. */
static bool read_tokens(Tour *w, WalkText *x, long max, Error *e) {
    size_t bytes = strlen(w->text);
    long count;
    bool is_line = w->run.lines != NULL;
    int32_t *id = arena_alloc(&w->arena, (bytes + 1) * sizeof *id);
    id[0] = w->run.begin_id;
    if (bytes == 0) return is_empty("character", e);
    if (!tokenizer_encode(w->run.tokenizer, "--text", w->text, bytes, id + is_line, &count, e))
        return false;
    *x = text_of(w, id, is_line + count);
    return x->labels.count <= max ||
           error_set(e, STATUS_BAD_DATA, "--text: found %ld tokens, need at most %ld",
                     x->labels.count, max);
}

/* ---- Models ---- */

/* A random model, d_model 32, 4 heads of d_k 8, reads the text as source and target. */
static bool open_random(Tour *w, Error *e) {
    enum { MAX_TOKENS = 1000 }; /* n² scores a head */
    const WalkOptions *o = w->options;
    int size;
    w->run.begin_id = w->run.end_id = NO_PAD;
    if (o->modern || o->characters) {
        const TokenizerKind *kind = o->modern ? &tokenizer_bpe : &tokenizer_char;
        Passage all = {"--text", w->text, strlen(w->text)};
        if (!*w->text) return is_empty("character", e);
        w->run.tokenizer = tokenizer_learn(kind, 0, &all, 1, e);
        if (!w->run.tokenizer || !read_tokens(w, &w->source, MAX_TOKENS, e)) return false;
        size = (int)w->run.tokenizer->size;
    } else if (!read_words(w, &size, e)) {
        return false;
    }
    long n = w->source.labels.count;
    if (n > MAX_TOKENS)
        return error_set(e, STATUS_BAD_DATA, "--text: found %ld tokens, need at most %d", n,
                         MAX_TOKENS);
    w->target = w->source;
    ModelConfig c = config_seq2seq(size < 2 ? 2 : size, (int)n, NO_PAD);
    c.d_model = 32;
    c.d_ff = 128;
    if (o->modern) {
        config_set_preset(&c, PRESET_MODERN);
        c.norm = NORM_POST;
        c.norm_kind = &norm_rms;
        c.activation = &activation_swiglu;
        c.init_output = 0;
    }
    w->run.model = model_new(&c, true, o->seed, e);
    return w->run.model != NULL;
}

/* The target of an encoder-decoder is begin and the model's own answer. */
static bool open_run(Tour *w, Error *e) {
    SavedRun *r = &w->run;
    if (!saved_run_open(r, w->options->run, true, e)) return false;
    const ModelConfig *c = &r->model->config;
    if (config_is_lm(c)) return read_tokens(w, &w->target, c->max_length, e);
    if (!read_tokens(w, &w->source, c->max_length, e)) return false;
    long max = c->max_length - 1, length, start[] = {0, w->source.labels.count};
    int32_t *out = arena_alloc(&w->arena, ((size_t)max + 1) * sizeof *out);
    Sampler greedy = {.tokenizer = r->tokenizer};
    out[0] = r->begin_id;
    Tape *t = tape_new();
    bool ok = decode_answers(t, r->model, &greedy, 1, start, w->source.id, r->begin_id, r->end_id,
                             max, out + 1, &length, e);
    tape_free(t);
    if (ok) w->target = text_of(w, out, length + 1);
    return ok;
}

/* ---- Forward ---- */

/* Labels of all ids: those of the text, and the tokenizer's. */
static Labels label_vocabulary(Tour *w) {
    long size = w->run.model->config.vocab_size;
    Labels x = {size, arena_alloc(&w->arena, (size_t)size * sizeof *x.of)};
    for (int32_t i = 0; i < size; i++) x.of[i] = w->run.tokenizer ? label_in(w, i) : "";
    for (long i = 0; i < w->target.labels.count; i++)
        x.of[w->target.id[i]] = w->target.labels.of[i];
    return x;
}

bool walk_run(Tour *w, Error *e) {
    const WalkOptions *o = w->options;
    w->text = o->modern ? "low lower lowest slow slower slowest" : "I was myself";
    if (o->characters) w->text = "无可奈何花落去，似曾相识燕归来";
    if (o->text) w->text = o->text;
    if (o->run ? !open_run(w, e) : !open_random(w, e)) return false;
    long count = w->target.labels.count;
    int32_t *next = arena_alloc(&w->arena, (size_t)count * sizeof *next);
    memcpy(next, w->target.id + 1, (size_t)(count - 1) * sizeof *next);
    next[count - 1] = w->run.end_id;
    w->records = (Records){.model = w->run.model,
                           .labels = {[AXIS_SOURCE] = w->source.labels,
                                      [AXIS_TARGET] = w->target.labels,
                                      [AXIS_VOCABULARY] = label_vocabulary(w)}};
    return records_run(&w->records, &w->arena, w->source.labels.count, w->source.id, count,
                       w->target.id, next, e);
}
