/* generate: lets a trained model answer (sequence to sequence) or go on writing (language model).
 *
 *     ./generate runs/lm --prompt "The mill"
 *     echo ABC | ./generate runs/copy */
#include "base/directory.h"
#include "base/options.h"
#include "decoding/decode.h"
#include "nn/model_file.h"
#include "text/tokenizer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Settings {
    const char *prompt;
    long length, top_k;
    double temperature;
    bool length_given;
} s = {.length = 400};

static const Option table[] = {
    {"Input"},
    {"prompt", "TEXT", NULL, "what to answer or to continue", "each line of stdin", .text = &s.prompt},
    {"Decoding"},
    {"length", "N", "[1,1000000]", "characters to write; of an answer, the most",
     "400; of an answer as many as the model can number", .integer = &s.length, .given = &s.length_given},
    {"temperature", "X", "[0,1000]", "of the softmax; 0: always the likeliest", .real = &s.temperature},
    {"top-k", "N", "[0,16777216]", "choose among the k likeliest; 0: among all", .integer = &s.top_k},
    {0},
};

/* A trained model and what else its file says. */
typedef struct Run {
    Model *model;
    Notes notes;
    Tokenizer *tokenizer;
    long begin_id, end_id;
    Tape *tape;
    Sampler sampler;
} Run;

static void run_close(Run *r) {
    tape_free(r->tape);
    tokenizer_free(r->tokenizer);
    model_notes_free(&r->notes);
    model_free(r->model);
}

/* An id that the file says in its notes. */
static bool read_id(const Run *r, const char *path, const char *key, long *id, Error *e) {
    const char *text = model_notes_find(&r->notes, key);
    char *end;
    errno = 0;
    *id = text ? strtol(text, &end, 10) : 0;
    if (!text || !*text || *end || errno || *id < 0 || *id >= r->model->config.vocab_size)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: %s: found %s, need a token in [0,%d)", path, key,
                         text ? "something else" : "none", r->model->config.vocab_size);
    return true;
}

static bool run_open(Run *r, const char *directory, uint64_t seed, Error *e) {
    char path[PATH_ROOM];
    if (!directory_file(path, directory, "model.safetensors", STATUS_NO_INPUT, e)) return false;
    r->model = model_load(path, false, &r->notes, e);
    if (!r->model) return false;
    const char *vocabulary = model_notes_find(&r->notes, "vocabulary");
    if (!vocabulary) return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no vocabulary, need it", path);
    r->tokenizer = tokenizer_parse(path, vocabulary, e);
    if (!r->tokenizer) return false;
    if (r->tokenizer->size > r->model->config.vocab_size)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: metadata: vocabulary: found %ld characters, need at most %d", path,
                         r->tokenizer->size, r->model->config.vocab_size);
    r->tape = tape_new();
    r->sampler = (Sampler){.temperature = s.temperature, .top_k = s.top_k, .seed = seed};
    return r->model->config.kind == KIND_LM ||
           (read_id(r, path, "begin_id", &r->begin_id, e) && read_id(r, path, "end_id", &r->end_id, e));
}

/* Writes a character of the text as soon as it is decoded. */
static bool emit(void *context, int32_t id) {
    char text[UTF8_MAX + 1];
    tokenizer_decode(context, &id, 1, text);
    fputs(text, stdout);
    return stdout_flush();
}

/* The prompt and what the model makes of it, on stdout. */
static bool write_on(const Run *r, int32_t *ids, long n, Error *e) {
    for (long i = 0; i < n; i++) emit(r->tokenizer, ids[i]);
    bool ok = decode_continue(r->tape, r->model, &r->sampler, ids, n, s.length, emit, r->tokenizer, e);
    putchar('\n');
    return ok;
}

static bool answer(const Run *r, const int32_t *ids, long n, const char *where, Error *e) {
    const ModelConfig *c = &r->model->config;
    long most = s.length_given && s.length < c->max_length ? s.length : c->max_length, length;
    if (n > c->max_length)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld symbols, need at most %d", where, n,
                         c->max_length);
    int32_t *out = calloc((size_t)most, sizeof *out);
    char *text = malloc(UTF8_MAX * (size_t)most + 1);
    bool ok = (out && text) || error_set(e, STATUS_NO_MEMORY, "memory: an answer of %ld symbols", most);
    ok = ok && decode_answers(r->tape, r->model, &r->sampler, 1, n, ids, (int32_t)r->begin_id,
                              (int32_t)r->end_id, most, out, &length, e);
    if (ok) {
        tokenizer_decode(r->tokenizer, out, length, text);
        puts(text);
    }
    free(out), free(text);
    return ok;
}

static bool respond(const Run *r, const char *text, size_t bytes, const char *where, Error *e) {
    if (bytes == 0) return error_set(e, STATUS_BAD_DATA, "%s: found no character, need at least one", where);
    size_t room = bytes + (size_t)s.length;
    int32_t *ids = calloc(room, sizeof *ids);
    long n;
    bool ok = ids || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", room);
    ok = ok && tokenizer_encode(r->tokenizer, where, text, bytes, ids, &n, e);
    if (ok) ok = r->model->config.kind == KIND_LM ? write_on(r, ids, n, e) : answer(r, ids, n, where, e);
    free(ids);
    return ok;
}

/* Every line of stdin is a prompt. What cannot be answered ends it, unless somebody types who can try again. */
static bool respond_to_lines(const Run *r, Error *e) {
    char *line = NULL, where[64];
    size_t room = 0;
    bool ok = true, typed = isatty(STDIN_FILENO);
    if (typed) fprintf(stderr, "each line is a prompt; Ctrl-D ends\n");
    for (long number = 1; ok; number++) {
        ssize_t bytes = getline(&line, &room, stdin);
        if (bytes < 0) break;
        while (bytes > 0 && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r')) bytes--;
        snprintf(where, sizeof where, "stdin: line %ld", number);
        ok = respond(r, line, (size_t)bytes, where, e);
        if (typed && e->status == STATUS_BAD_DATA) {
            fprintf(stderr, "%s\n", e->text);
            *e = (Error){0}, ok = true;
        }
        if (!stdout_flush()) break;
    }
    if (ok && ferror(stdin)) ok = error_set(e, STATUS_IO, "stdin: reading failed: %s", strerror(errno));
    free(line);
    return ok;
}

int main(int argc, char **argv) {
    Error e = {0};
    Options options = {
        "generate", "RUN",      "Decodes with the model in the directory RUN, as ./train left it.",
        table,      .least = 1, .most = 1,
        .seed = 1};
    bool ok = options_parse(&options, argc, argv, &e);
    if (ok && s.top_k && s.temperature == 0)
        ok = error_set(&e, STATUS_USAGE,
                       "--top-k: found --temperature 0, which takes the likeliest, need a higher one");
    if (ok) {
        Run r = {0};
        if (run_open(&r, options.operand[0], options.seed, &e)) {
            if (s.prompt)
                respond(&r, s.prompt, strlen(s.prompt), "--prompt", &e);
            else
                respond_to_lines(&r, &e);
        }
        run_close(&r);
    }
    return options_exit(options.program, &e);
}
