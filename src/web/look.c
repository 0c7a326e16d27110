/* Entry points of the module in single precision: the model's answer to a text of the reader's, its attention, and the
 * walk. */
#include "decoding/decode.h"
#include "explain/walk.h"
#include "web/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text of the reader's, and the model's answer to it, or the continuation of it. */
typedef struct Reading {
    long count, length; /* tokens of text and answer */
    int32_t *text;      /* [count] then, of a language model, the continuation */
    int32_t *answer;    /* [length], after begin_id */
    bool ended;         /* the answer did not reach the limit */
} Reading;

static bool encode(const Session *s, Reading *r, long more, Error *e) {
    const char *text = web_file_data("text");
    size_t bytes = strlen(text);
    long most = s->run.model->config.max_length;
    *r = (Reading){.text = calloc(bytes + (size_t)more + 1, sizeof *r->text)};
    if (!r->text) return error_set(e, STATUS_NO_MEMORY, "memory: a text of %zu bytes", bytes);
    if (!tokenizer_encode(s->run.tokenizer, "text", text, bytes, r->text, &r->count, e)) return false;
    if (r->count == 0) return error_set(e, STATUS_BAD_DATA, "text: found no character, need at least one");
    return r->count <= most ||
           error_set(e, STATUS_BAD_DATA, "text: found %ld tokens, need at most %ld", r->count, most);
}

/* Reads the file `text`. The model answers with the switches of the session. */
static bool read_text(Session *s, Reading *r, const Sampler *sampler, long more, Error *e) {
    Model *m = s->run.model;
    Tape *t = s->trainer.tape;
    if (!encode(s, r, more, e)) return false;
    web_hide(s->mask, s->positions);
    r->length = more;
    if (m->config.kind == KIND_LM)
        return decode_continue(t, m, sampler, r->text, r->count, more, NULL, NULL, e);
    long most = m->config.max_length - 1;
    r->answer = calloc((size_t)most + 1, sizeof *r->answer);
    if (!r->answer) return error_set(e, STATUS_NO_MEMORY, "memory: an answer of %ld tokens", most);
    *r->answer++ = s->run.begin_id;
    bool ok = decode_answers(t, m, sampler, 1, (long[]){0, r->count}, r->text, s->run.begin_id, s->run.end_id,
                             most, r->answer, &r->length, e);
    r->ended = r->length < most;
    return ok;
}

static void forget(Reading *r) {
    free(r->text);
    if (r->answer) free(r->answer - 1);
}

/* The right answer, of tasks that can tell. */
static bool print_wanted(const Session *s, const Reading *r, Error *e) {
    const TaskKind *kind = s->task ? task_kind(s->task->name) : NULL;
    if (!kind || !kind->answer) return true;
    int32_t *wanted = calloc((size_t)r->count, sizeof *wanted);
    if (!wanted) return error_set(e, STATUS_NO_MEMORY, "memory: an answer");
    kind->answer(r->text, r->count, wanted);
    bool ok = web_print_decoded(s, "wanted", wanted, r->count, e);
    free(wanted);
    return ok;
}

WEB_EXPORT(void, answer, (int more, double temperature, int seed)) {
    Error e = {0};
    Session *s = &session;
    Reading r = {0};
    Sampler sampler = {.temperature = temperature, .seed = (uint64_t)seed};
    bool lm = web_has_model(&e) && s->run.model->config.kind == KIND_LM;
    if (s->run.model && read_text(s, &r, &sampler, lm ? more : 0, &e)) {
        const int32_t *answer = lm ? r.text + r.count : r.answer;
        printf("{\"ended\": %s", r.ended ? "true" : "false");
        web_print_tokens(s, "tokens", r.text, r.count), web_print_tokens(s, "labels", answer, r.length);
        if (web_print_decoded(s, "answer", answer, r.length, &e) && print_wanted(s, &r, &e)) puts("}");
    }
    forget(&r);
    web_end(&e);
}

static void print_numbers(const char *name, const real *x, long count) {
    printf(", \"%s\": [", name);
    for (long i = 0; i < count; i++) printf(i ? ",%.9g" : "%.9g", (double)x[i]);
    putchar(']');
}

static void print_maps(const Trace *trace, bool lm) {
    printf(", \"maps\": [");
    for (const AttentionTrace *a = trace->first; a; a = a->next) {
        const Tensor *w = a->steps[0].weights;
        long n = w->shape.size[1], m = w->shape.size[2];
        bool cross = strstr(a->name, "multihead_attn"), decoder = lm || strncmp(a->name, "decoder", 7) == 0;
        int layer = atoi(strchr(strchr(a->name, '.') + 1, '.') + 1);
        for (long h = 0; h < w->shape.size[0]; h++) {
            printf("%s{\"kind\": \"%s\", \"layer\": %d, \"head\": %ld, \"rows\": %ld, \"columns\": %ld",
                   a == trace->first && h == 0 ? "" : ", ",
                   cross     ? "cross"
                   : decoder ? "decoder"
                             : "encoder",
                   layer, h, n, m);
            print_numbers("values", w->data + h * n * m, n * m);
            putchar('}');
        }
    }
    putchar(']');
}

static bool look(Session *s, Reading *r, bool mask, bool positions, Error *e) {
    Model *m = s->run.model;
    Tape *t = s->trainer.tape;
    bool lm = m->config.kind == KIND_LM;
    Tokens source = {0}, target = {0};
    Trace trace = {0};
    const int32_t *in = lm ? r->text : r->answer - 1;
    long n = lm ? r->count : r->length + 1;
    bool ok = tokens_new(&target, 1, n, e) && (lm || tokens_new(&source, 1, r->count, e));
    if (ok) {
        Forward f = {
            .tape = t, .model = m, .source = lm ? NULL : &source, .target = &target, .trace = &trace};
        tokens_pack(&target, 1, (long[]){0, n}, in);
        if (!lm) tokens_pack(&source, 1, (long[]){0, r->count}, r->text);
        web_hide(mask, positions);
        t->training = false, t->no_grad = true;
        nn_hidden(&f);
        ok = !tape_failed(t, e);
    }
    if (ok) {
        printf("{\"lm\": %s", lm ? "true" : "false");
        web_print_tokens(s, "source", r->text, lm ? 0 : r->count), web_print_tokens(s, "target", in, n);
        print_maps(&trace, lm);
        ok = lm || web_print_decoded(s, "answer", r->answer, r->length, e);
        puts("}");
    }
    t->no_grad = false;
    tape_reset(t);
    tokens_free(&source), tokens_free(&target);
    return ok;
}

WEB_EXPORT(void, attention, (int mask, int positions)) {
    Error e = {0};
    Reading r = {0};
    if (web_has_model(&e) && read_text(&session, &r, &(Sampler){0}, 0, &e))
        look(&session, &r, mask, positions, &e);
    forget(&r);
    web_end(&e);
}

/* ---- Following: the walk of ./explain, a JSON object a line, of the saved model ---- */

WEB_EXPORT(void, walk, (int side, int layer, int head)) {
    Error e = {0};
    WalkOptions o = {.text = web_file_data("text"),
                     .model = "saved",
                     .side = (Side)side,
                     .side_given = true,
                     .layer = layer,
                     .head = head,
                     .json = true};
    web_hide(session.mask, session.positions);
    if (web_save_model(&e)) explain_walk(&o, &e);
    web_end(&e);
}
