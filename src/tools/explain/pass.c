#include "explain/pass.h"
#include "decoding/decode.h"
#include "text/dictionary.h"
#include <string.h>

/* ---- Texts ---- */

static PassText text_for(Pass *p, size_t tokens) {
    return (PassText){.id = arena_alloc(&p->arena, (tokens + 1) * sizeof(int32_t)),
                      .labels = {0, arena_alloc(&p->arena, (tokens + 1) * sizeof(char *))}};
}

static void add_token(PassText *x, int32_t id, const char *label) {
    x->labels.of[x->labels.count++] = label;
    x->id[x->count++] = id;
}

/* Splits the text at blanks; words are numbered in the order of their first appearance. *size is
 * the number of ids. */
static bool read_words(Pass *p, PassText *x, int *size, Error *e) {
    static const char blanks[] = " \t\n\r\v\f";
    Dictionary words = {0};
    bool ok = true;
    *x = text_for(p, strlen(p->text));
    const char *at = p->text + strspn(p->text, blanks);
    while (ok && *at) {
        size_t length = strcspn(at, blanks);
        ok = dictionary_add(&words, at, length, e) >= 0;
        char *label = memcpy(arena_alloc(&p->arena, length + 1), at, length);
        add_token(x, (int32_t)dictionary_find(&words, at, length), label);
        at += length + strspn(at + length, blanks);
    }
    *size = (int)words.count;
    dictionary_free(&words);
    if (!ok) return false;
    return x->count || error_set(e, STATUS_BAD_DATA, "--text: found no word, need at least one");
}

static PassText text_of(Pass *p, const int32_t *id, long count) {
    PassText x = text_for(p, (size_t)count);
    for (long i = 0; i < count; i++)
        add_token(&x, id[i], saved_run_label(&p->run, id[i], arena_alloc(&p->arena, TOKEN_LABEL)));
    return x;
}

/* Splits the text with the tokenizer. A model of lines reads the token of their end first. */
static bool read_tokens(Pass *p, PassText *x, Error *e) {
    size_t bytes = strlen(p->text);
    long count;
    if (bytes == 0)
        return error_set(e, STATUS_BAD_DATA, "--text: found no character, need at least one");
    bool is_line = p->run.lines != NULL;
    int32_t *id = arena_alloc(&p->arena, (bytes + 1) * sizeof *id);
    id[0] = p->run.begin_id;
    if (!tokenizer_encode(p->run.tokenizer, "--text", p->text, bytes, id + is_line, &count, e))
        return false;
    *x = text_of(p, id, is_line + count);
    return true;
}

/* ---- A random model ---- */

/* d_model 32, 4 heads of d_k 8, positions for the text. */
static bool make_model(Pass *p, const PassOptions *o, int vocabulary, Error *e) {
    enum { MAX_TOKENS = 1000 }; /* n² scores a head */
    long n = p->source.count;
    if (n > MAX_TOKENS)
        return error_set(e, STATUS_BAD_DATA, "--text: found %ld tokens, need at most %d", n,
                         MAX_TOKENS);
    ModelConfig c = config_seq2seq(vocabulary < 2 ? 2 : vocabulary, (int)n, NO_PAD);
    c.d_model = 32;
    c.d_ff = 128;
    if (o->modern) {
        config_set_preset(&c, PRESET_MODERN);
        c.norm = NORM_POST;
        c.norm_kind = &norm_rms;
        c.activation = &activation_swiglu;
        c.init_output = 0;
    }
    p->run.model = model_new(&c, true, o->seed, e);
    return p->run.model != NULL;
}

/* The text is both source and target. */
static bool open_random(Pass *p, const PassOptions *o, Error *e) {
    int size;
    p->run.begin_id = p->run.end_id = NO_PAD;
    if (o->modern || o->characters) {
        const TokenizerKind *kind = o->modern ? &tokenizer_bpe : &tokenizer_char;
        Passage all = {"--text", p->text, strlen(p->text)};
        if (!*p->text)
            return error_set(e, STATUS_BAD_DATA, "--text: found no character, need at least one");
        p->run.tokenizer = tokenizer_learn(kind, 0, &all, 1, e);
        if (!p->run.tokenizer || !read_tokens(p, &p->source, e)) return false;
        size = (int)p->run.tokenizer->size;
    } else if (!read_words(p, &p->source, &size, e)) {
        return false;
    }
    p->target = p->source;
    return make_model(p, o, size, e);
}

/* ---- A run ---- */

/* The target of an encoder-decoder is begin and the model's own answer. */
static bool answer(Pass *p, Error *e) {
    const SavedRun *r = &p->run;
    long max = r->model->config.max_length - 1, length;
    int32_t *out = arena_alloc(&p->arena, ((size_t)max + 1) * sizeof *out);
    Sampler greedy = {.tokenizer = r->tokenizer};
    out[0] = r->begin_id;
    Tape *t = tape_new();
    bool ok = decode_answers(t, r->model, &greedy, 1, (long[]){0, p->source.count}, p->source.id,
                             r->begin_id, r->end_id, max, out + 1, &length, e);
    tape_free(t);
    if (ok) p->target = text_of(p, out, length + 1);
    return ok;
}

static bool open_run(Pass *p, const PassOptions *o, Error *e) {
    if (!saved_run_open(&p->run, o->run, true, e)) return false;
    const ModelConfig *c = &p->run.model->config;
    PassText *read = config_is_lm(c) ? &p->target : &p->source;
    if (!read_tokens(p, read, e)) return false;
    if (read->count > c->max_length)
        return error_set(e, STATUS_BAD_DATA, "--text: found %ld tokens, need at most %d",
                         read->count, c->max_length);
    return config_is_lm(c) || answer(p, e);
}

/* ---- Forward ---- */

/* Labels of all ids: those of the text, and the tokenizer's. */
static Labels label_vocabulary(Pass *p) {
    long size = p->run.model->config.vocab_size;
    Labels x = {size, arena_alloc(&p->arena, (size_t)size * sizeof *x.of)};
    for (int32_t i = 0; i < size; i++)
        x.of[i] = p->run.tokenizer
                      ? saved_run_label(&p->run, i, arena_alloc(&p->arena, TOKEN_LABEL))
                      : "";
    for (long i = 0; i < p->target.count; i++) x.of[p->target.id[i]] = p->target.labels.of[i];
    return x;
}

static bool run_forward(Pass *p, Error *e) {
    const PassText *x = &p->target;
    int32_t *next = arena_alloc(&p->arena, (size_t)x->count * sizeof *next);
    memcpy(next, x->id + 1, (size_t)(x->count - 1) * sizeof *next);
    next[x->count - 1] = p->run.end_id;
    p->records = (Records){.model = p->run.model,
                           .labels = {[AXIS_SOURCE] = p->source.labels,
                                      [AXIS_TARGET] = x->labels,
                                      [AXIS_VOCABULARY] = label_vocabulary(p)}};
    return records_run(&p->records, &p->arena, p->source.count, p->source.id, x->count, x->id, next,
                       e);
}

bool walk_open(Pass *p, const PassOptions *o, Error *e) {
    const char *sentence = o->modern ? "low lower lowest slow slower slowest" : "I was myself";
    if (o->characters) sentence = "无可奈何花落去，似曾相识燕归来";
    *p = (Pass){.text = o->text ? o->text : sentence};
    bool ok = o->run ? open_run(p, o, e) : open_random(p, o, e);
    return ok && run_forward(p, e);
}

void walk_close(Pass *p) {
    records_close(&p->records);
    saved_run_close(&p->run);
    arena_free(&p->arena);
}
