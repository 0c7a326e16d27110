/* Tokens, model and forward pass of a walk. */
#include "decoding/decode.h"
#include "explain/walk.h"
#include <stdio.h>
#include <string.h>

const char *const walk_sentence = "无可奈何花落去，似曾相识燕归来";
const char *const walk_words_sentence = "I was myself";
const char *const walk_modern_sentence = "low lower lowest slow slower slowest";

enum { MAX_TOKENS = 1000 }; /* n² scores a head */

/* Random weights: d_model 32, 4 heads of d_k 8, positions for the sentence. */
static bool make_model(WalkThrough *w, int vocabulary, Error *e) {
    long n = w->source.count;
    if (n > MAX_TOKENS)
        return error_set(e, STATUS_BAD_DATA, "--text: found %ld tokens, need at most %d", n,
                         MAX_TOKENS);
    ModelConfig c = config_seq2seq(vocabulary < 2 ? 2 : vocabulary, (int)n, NO_PAD);
    c.d_model = 32, c.d_ff = 128;
    if (w->options->modern) {
        config_set_preset(&c, PRESET_MODERN);
        c.norm = NORM_POST, c.norm_kind = &norm_rms, c.activation = &activation_swiglu,
        c.init_output = 0;
    }
    w->run.model = model_new(&c, w->options->backward, w->options->seed, e);
    return w->run.model != NULL;
}

/* The sentence is both source and target. */
static bool open_random(WalkThrough *w, Error *e) {
    const WalkOptions *o = w->options;
    const char *vocabulary = o->vocabulary ? o->vocabulary : o->text;
    const char *where = o->vocabulary ? "--vocabulary" : "--text";
    int size;
    w->run.begin_id = w->run.end_id = NO_PAD;
    if (o->words && !walk_words(w, &w->source, &size, e)) return false;
    if (!o->words) {
        if (!*vocabulary)
            return error_set(e, STATUS_BAD_DATA, "%s: found no character, need at least one",
                             where);
        w->run.tokenizer = tokenizer_learn(o->modern ? &tokenizer_bpe : &tokenizer_char, 0,
                                           &(Passage){where, vocabulary, strlen(vocabulary)}, 1, e);
        if (!w->run.tokenizer || !walk_characters(w, &w->source, e)) return false;
        size = (int)w->run.tokenizer->size;
    }
    w->target = w->source;
    return make_model(w, size, e);
}

static bool fits(const WalkText *x, const ModelConfig *c, Error *e) {
    return x->count <= c->max_length ||
           error_set(e, STATUS_BAD_DATA, "--text: found %ld tokens, need at most %d", x->count,
                     c->max_length);
}

/* The target is begin and the answer: that of the options, or the model's own. */
static bool answer(WalkThrough *w, Error *e) {
    const SavedRun *r = &w->run;
    const char *given = w->options->answer;
    long most = r->model->config.max_length - 1, length = 0;
    int32_t *out =
        arena_alloc(&w->arena, ((size_t)most + 1 + (given ? strlen(given) : 0)) * sizeof *out);
    out[0] = r->begin_id;
    Sampler greedy = {.tokenizer = r->tokenizer};
    if (given) {
        if (!tokenizer_encode(r->tokenizer, "answer", given, strlen(given), out + 1, &length, e))
            return false;
        if (length > most)
            return error_set(e, STATUS_BAD_DATA, "answer: found %ld tokens, need at most %ld",
                             length, most);
    } else if (!decode_answers(w->tape, r->model, &greedy, 1, (long[]){0, w->source.count},
                               w->source.id, r->begin_id, r->end_id, most, out + 1, &length, e)) {
        return false;
    }
    w->target = walk_ids(w, out, length + 1);
    return true;
}

/* Gives the run's model gradients. */
static bool want_gradients(WalkThrough *w, Error *e) {
    Model *loaded = w->run.model, *m = model_new(&loaded->config, true, 0, e);
    if (!m) return false;
    memcpy(m->parameters.value, loaded->parameters.value,
           (size_t)m->parameters.size * sizeof(real));
    model_free(loaded);
    w->run.model = m;
    return true;
}

static bool open_run(WalkThrough *w, Error *e) {
    if (!saved_run_open(&w->run, w->options->model, e)) return false;
    if (w->options->backward && !want_gradients(w, e)) return false;
    bool lm = config_is_lm(&w->run.model->config);
    WalkText *read = lm ? &w->target : &w->source;
    return walk_characters(w, read, e) && fits(read, &w->run.model->config, e) &&
           (lm || answer(w, e));
}

bool walk_has_head(const ModelConfig *c, int layers, long layer, long head, Error *e) {
    if (layer > layers)
        return error_set(e, STATUS_USAGE, "--layer: found %ld, need at most %d", layer, layers);
    return head <= c->heads ||
           error_set(e, STATUS_USAGE, "--head: found %ld, need at most %d", head, c->heads);
}

bool walk_choose(WalkThrough *w, Error *e) {
    const WalkOptions *o = w->options;
    const ModelConfig *c = &w->run.model->config;
    bool lm = config_is_lm(c);
    w->side = lm && !o->side_given ? SIDE_DECODER : o->side;
    if (lm && w->side != SIDE_DECODER)
        return error_set(e, STATUS_USAGE,
                         "--side: found another, need decoder: a language model has no other side");
    int layers = w->side == SIDE_ENCODER || lm ? c->encoder_layers : c->decoder_layers;
    if (!walk_has_head(c, layers, o->layer, o->head, e)) return false;
    snprintf(w->layer, sizeof w->layer, "%s.layers.%ld.",
             w->side == SIDE_ENCODER || lm ? "encoder" : "decoder", o->layer - 1);
    char name[PARAMETER_NAME];
    snprintf(name, sizeof name, "%.40s%s", w->layer,
             w->side == SIDE_CROSS ? "multihead_attn" : "self_attn");
    w->queries = w->side == SIDE_ENCODER ? &w->source : &w->target;
    w->keys = w->side == SIDE_DECODER ? &w->target : &w->source;
    w->end = w->tape->last;
    w->attention = nn_trace_find(&w->trace, name);
    return true;
}

static bool tokens_of(Tokens *tokens, const WalkText *x, Error *e) {
    if (!tokens_new(tokens, 1, x->count, e)) return false;
    tokens_fill(tokens, 1, x->count, x->id, NO_PAD);
    return true;
}

/* The loss of every token's prediction of the next; the last has none to predict. */
static bool record_loss(WalkThrough *w, const Forward *f, Tensor *hidden, Error *e) {
    const WalkText *x = &w->target;
    int32_t *next = arena_alloc(&w->arena, (size_t)x->count * sizeof *next);
    for (long i = 0; i < x->count; i++) next[i] = i + 1 < x->count ? x->id[i + 1] : w->run.end_id;
    if (x->count < 2 && next[0] == NO_PAD)
        return error_set(e, STATUS_BAD_DATA,
                         "--text: found 1 token, need at least 2: there is none to predict");
    w->logits = nn_logits(f, hidden);
    Tensor *loss = tape_cross_entropy(w->tape, w->logits, next, NO_PAD, 0);
    nn_trace_name(f, loss, "L", AXES(AXIS_UNKNOWN));
    return true;
}

static bool run_forward(WalkThrough *w, Error *e) {
    bool lm = config_is_lm(&w->run.model->config);
    Forward f = {w->tape, w->run.model, lm ? NULL : &w->source_tokens, &w->target_tokens,
                 .trace = &w->trace};
    if (!tokens_of(&w->target_tokens, &w->target, e) ||
        (!lm && !tokens_of(&w->source_tokens, &w->source, e)))
        return false;
    Tensor *hidden = nn_hidden(&f);
    return (!w->options->backward || record_loss(w, &f, hidden, e)) && !tape_failed(w->tape, e);
}

bool walk_read(WalkThrough *w, const WalkOptions *o, Error *e) {
    *w = (WalkThrough){.options = o, .tape = tape_new()};
    w->tape->no_grad = !o->backward;
    w->tape->keep = o->backward;
    return (o->model ? open_run(w, e) : open_random(w, e)) && run_forward(w, e);
}

void walk_close(WalkThrough *w) {
    tape_free(w->tape);
    tokens_free(&w->source_tokens);
    tokens_free(&w->target_tokens);
    saved_run_close(&w->run);
    arena_free(&w->arena);
}
