/* generate: decodes with a trained model: answers to sequences, or the continuation of a text.
 *
 *     ./generate runs/lm --prompt "The mill"
 *     echo ABC | ./generate runs/copy */
#include "base/options.h"
#include "decoding/decode.h"
#include "decoding/saved_run.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct Settings {
    const char *prompt;
    long length, top_k, slide;
    double temperature;
    bool length_given, no_checksum;
} s = {.length = 400};

static const Option table[] = {
    {"Input"},
    {"prompt", "TEXT", NULL, "text to answer or to continue", "each line of stdin", .text = &s.prompt},
    {"no-checksum", NULL, NULL, "read the model even if its checksum is wrong", .flag = &s.no_checksum},
    {"Decoding"},
    {"length", "N", "[1,1000000]", "characters to write; maximum length of an answer",
     "400; answers: the model's maximum", .integer = &s.length, .given = &s.length_given},
    {"temperature", "X", "[0,1000]", "temperature of the softmax; 0: greedy", .real = &s.temperature},
    {"top-k", "N", "[0,16777216]", "draw from the k likeliest tokens; 0: from all", .integer = &s.top_k},
    {"slide", "N", "[1,16777216]", "tokens by which the window slides when a text exceeds the context", "1",
     .integer = &s.slide},
    {0},
};

/* An open run, ready to decode. */
typedef struct Run {
    SavedRun saved;
    Tape *tape;
    Sampler sampler;
} Run;

static void run_close(Run *r) {
    tape_free(r->tape);
    saved_run_close(&r->saved);
}

static bool run_open(Run *r, const char *directory, uint64_t seed, Error *e) {
    if (!saved_run_open(&r->saved, directory, s.no_checksum, e)) return false;
    r->tape = tape_new();
    r->sampler = (Sampler){.temperature = s.temperature, .top_k = s.top_k, .seed = seed, .slide = s.slide};
    if (!r->saved.notes.checksum)
        fprintf(stderr, "generate: %s: %s\n", r->saved.path,
                s.no_checksum ? "checksum ignored" : "found no checksum: written by another program");
    return true;
}

/* The text being written. */
typedef struct Text {
    const Tokenizer *tokenizer;
    const int32_t *prompt;
    long prompt_length; /* 0 once the prompt is written */
} Text;

/* Writes a token as soon as it is decoded, and the prompt before the first one. */
static bool emit(void *context, int32_t id) {
    Text *text = context;
    char token[TOKEN_BYTES + 1];
    for (long i = 0; i < text->prompt_length; i++)
        fwrite(token, 1, tokenizer_decode(text->tokenizer, text->prompt + i, 1, token), stdout);
    text->prompt_length = 0;
    fwrite(token, 1, tokenizer_decode(text->tokenizer, &id, 1, token), stdout);
    return stdout_flush();
}

/* Writes the prompt and its continuation to stdout. */
static bool write_on(const Run *r, int32_t *ids, long n, Error *e) {
    Text text = {r->saved.tokenizer, ids, n};
    bool ok = decode_continue(r->tape, r->saved.model, &r->sampler, ids, n, s.length, emit, &text, e);
    if (!text.prompt_length) putchar('\n');
    return ok;
}

static bool answer(const Run *r, const int32_t *ids, long n, const char *where, Error *e) {
    const ModelConfig *c = &r->saved.model->config;
    long most = s.length_given && s.length < c->max_length ? s.length : c->max_length, length;
    if (n > c->max_length)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld symbols, need at most %d", where, n,
                         c->max_length);
    int32_t *out = calloc((size_t)most, sizeof *out);
    char *text = malloc(TOKEN_BYTES * (size_t)most + 1);
    bool ok = (out && text) || error_set(e, STATUS_NO_MEMORY, "memory: an answer of %ld symbols", most);
    ok = ok && decode_answers(r->tape, r->saved.model, &r->sampler, 1, (long[]){0, n}, ids, r->saved.begin_id,
                              r->saved.end_id, most, out, &length, e);
    if (ok) {
        tokenizer_decode(r->saved.tokenizer, out, length, text);
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
    ok = ok && tokenizer_encode(r->saved.tokenizer, where, text, bytes, ids, &n, e);
    if (ok)
        ok = r->saved.model->config.kind == KIND_LM ? write_on(r, ids, n, e) : answer(r, ids, n, where, e);
    free(ids);
    return ok;
}

/* Every line of stdin is a prompt. An invalid line ends the program, or on a terminal is reported. */
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
        "generate", "RUN",      "Decodes with the model that ./train saved in the directory RUN.",
        table,      .least = 1, .most = 1};
    bool ok = options_parse(&options, argc, argv, &e);
    if (ok && s.top_k && s.temperature == 0)
        ok = error_set(&e, STATUS_USAGE,
                       "--top-k: found --temperature 0, which is greedy, need a higher temperature");
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
