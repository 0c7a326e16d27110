/* Entry points of the module in single precision: the model's answer to a text of the reader's, its attention, and the
 * walk. A text is in the file `text`. */
#include "base/arena.h"
#include "decoding/decode.h"
#include "explain/walk.h"
#include "formats/json.h"
#include "web/web.h"
#include <string.h>

/* ---- Without a mask, without positions: the linker sends the core's calls here (--wrap) ---- */

static bool no_mask, no_positions;

void web_hide(bool mask, bool positions) {
    no_mask = !mask, no_positions = !positions;
}

/* Declares the operation, and the function that the linker puts in its place. */
#define OP(name, arguments, formula, section)                                                                \
    Tensor *__real_tape_##name arguments;                                                                    \
    Tensor *__wrap_tape_##name arguments;
#include "ops/ops.def"
#undef OP

Tensor *__wrap_tape_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, int heads, const Sequences *queries,
                              const Sequences *keys, bool causal, double p) {
    return __real_tape_attention(t, q, k, v, heads, queries, keys, causal && !no_mask, p);
}

Tensor *__wrap_tape_masked_fill(Tape *t, Tensor *x, const uint8_t *mask, Shape mask_shape, real value) {
    return no_mask ? x : __real_tape_masked_fill(t, x, mask, mask_shape, value);
}

Tensor *__wrap_tape_embedding(Tape *t, Tensor *E, long n, const int32_t *ids, double s, Tensor *P,
                              const int32_t *at) {
    return __real_tape_embedding(t, E, n, ids, s, no_positions ? NULL : P, no_positions ? NULL : at);
}

Tensor *__wrap_tape_rotary(Tape *t, Tensor *x, long heads, long d_k, const int32_t *at, const real *turns,
                           bool normalise) {
    if (!no_positions) return __real_tape_rotary(t, x, heads, d_k, at, turns, normalise);
    return normalise ? __real_tape_rotary(t, x, heads, d_k, NULL, NULL, true) : x;
}

/* ---- Tokens ---- */

void web_print_tokens(const char *name, const int32_t *id, long count) {
    char label[TOKEN_LABEL];
    const SavedRun *r = &session.run;
    printf(", \"%s\": [", name);
    for (long i = 0; i < count; i++) {
        int32_t token = id ? id[i] : (int32_t)i;
        if (i) putchar(',');
        json_print(stdout, token < r->tokenizer->size ? tokenizer_label(r->tokenizer, token, label)
                           : token == r->begin_id     ? "<begin>"
                           : token == r->end_id       ? "<end>"
                                                      : "<pad>");
    }
    putchar(']');
}

void web_print_decoded(const char *name, const int32_t *id, long count) {
    Arena arena = {0};
    char *text = arena_alloc(&arena, (size_t)count * TOKEN_BYTES + 1);
    tokenizer_decode(session.run.tokenizer, id, count, text);
    if (name) printf(", \"%s\": ", name);
    json_print(stdout, text);
    arena_free(&arena);
}

/* ---- A text of the reader's, and the model's answer to it, or its continuation ---- */

typedef struct Reading {
    Arena arena;        /* of the arrays */
    long count, length; /* tokens of text and answer */
    int32_t *text;      /* [count] then, of a language model, the continuation */
    int32_t *answer;    /* [length]; seq2seq: begin_id stands before it */
} Reading;

/* The answer is that of the model as it was trained. */
static bool read_text(Reading *r, const Sampler *sampler, long more) {
    const char *text = web_file_data("text");
    size_t bytes = strlen(text);
    const SavedRun *run = &session.run;
    Model *m = run->model;
    Tape *t = session.trainer.tape;
    Error *e = &web_error;
    if (!m) return error_set(e, STATUS_NO_INPUT, "found no model, need start or load first");
    long most = m->config.max_length;
    bool lm = m->config.kind == KIND_LM;
    r->text = arena_alloc(&r->arena, (bytes + (size_t)more + 1) * sizeof *r->text);
    if (!tokenizer_encode(run->tokenizer, "text", text, bytes, r->text, &r->count, e)) return false;
    if (r->count == 0 || r->count > most)
        return error_set(e, STATUS_BAD_DATA, "text: found %ld tokens, need 1 to %ld", r->count, most);
    web_hide(session.mask, session.positions);
    r->length = more, r->answer = r->text + r->count;
    if (lm) return decode_continue(t, m, sampler, r->text, r->count, more, NULL, NULL, e);
    r->answer = arena_alloc(&r->arena, (size_t)most * sizeof *r->answer);
    *r->answer++ = run->begin_id;
    return decode_answers(t, m, sampler, 1, (long[]){0, r->count}, r->text, run->begin_id, run->end_id,
                          most - 1, r->answer, &r->length, e);
}

WEB_EXPORT(void, answer, (int more, double temperature, int seed)) {
    Reading r = {0};
    Sampler sampler = {.temperature = temperature, .seed = (uint64_t)seed};
    if (read_text(&r, &sampler, more)) {
        printf("{\"count\": %ld", r.count);
        web_print_tokens("tokens", r.text, r.count), web_print_tokens("labels", r.answer, r.length);
        web_print_decoded("answer", r.answer, r.length);
        const TaskKind *kind = session.task ? task_kind(session.task->name) : NULL;
        if (kind && kind->answer) { /* the right one */
            int32_t *wanted = arena_alloc(&r.arena, (size_t)r.count * sizeof *wanted);
            kind->answer(r.text, r.count, wanted);
            web_print_decoded("wanted", wanted, r.count);
        }
        puts("}");
    }
    arena_free(&r.arena);
}

/* ---- Attention ---- */

/* With the switches of the page, whose answer was without them. */
WEB_EXPORT(void, attention, (int mask, int positions)) {
    Reading r = {0};
    Tokens source = {0}, target = {0};
    Trace trace = {0};
    Tape *t = session.trainer.tape;
    if (read_text(&r, &(Sampler){0}, 0)) {
        bool lm = session.run.model->config.kind == KIND_LM;
        const int32_t *in = lm ? r.text : r.answer - 1;
        long n = lm ? r.count : r.length + 1;
        Forward f = {t, session.run.model, lm ? NULL : &source, &target, .trace = &trace};
        if (tokens_new(&target, 1, n, &web_error) && tokens_new(&source, 1, r.count, &web_error)) {
            tokens_pack(&target, 1, (long[]){0, n}, in);
            tokens_pack(&source, 1, (long[]){0, r.count}, r.text);
            web_hide(mask, positions);
            t->training = false, t->no_grad = true;
            nn_hidden(&f);
        }
        if (trace.first && !tape_failed(t, &web_error)) {
            printf("{\"lm\": %s", lm ? "true" : "false");
            web_print_tokens("source", r.text, lm ? 0 : r.count), web_print_tokens("target", in, n);
            web_print_decoded("answer", r.answer, r.length);
            printf(", \"maps\": [");
            for (const AttentionTrace *a = trace.first; a; a = a->next) { /* [heads, rows, columns] */
                const Tensor *w = a->steps[0].weights;
                printf("{\"name\": \"%s\"", a->name);
                web_print_number("rows", w->shape.size[1]), web_print_number("columns", w->shape.size[2]);
                web_print_numbers("values", w->data, shape_count(w->shape));
                fputs(a->next ? "}, " : "}]}\n", stdout);
            }
        }
        t->no_grad = false, tape_reset(t);
    }
    tokens_free(&source), tokens_free(&target), arena_free(&r.arena);
}

/* The walk of ./explain through the model that web_save writes, a JSON object a line. */
WEB_EXPORT(void, walk, (int side, int layer, int head)) {
    WalkOptions o = {.text = web_file_data("text"), .model = "saved", .side = (Side)side, .side_given = true};
    o.layer = layer, o.head = head, o.json = true;
    web_hide(session.mask, session.positions);
    if (web_save()) explain_walk(&o, &web_error);
}
