/* Text from a run that tapeformer-train left: ./text runs/lm "Once" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tapeformer.h>

static bool emit(void *tokenizer, long sequence, int32_t id) {
    (void)sequence;
    char token[TOKEN_BYTES + 1];
    tokenizer_decode(tokenizer, &id, 1, token);
    return fputs(token, stdout) >= 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: text RUN PROMPT\n");
        return 2;
    }
    enum { MORE = 60 };
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", argv[1]);
    Error e = {0};
    Notes notes = {0};
    Model *m = model_load(path, false, &notes, &e);
    const char *vocabulary = m ? model_notes_find(&notes, "vocabulary") : NULL;
    Tokenizer *k = vocabulary ? tokenizer_parse(path, vocabulary, &e) : NULL;
    int32_t *ids = calloc(strlen(argv[2]) + MORE, sizeof *ids);
    Tape *t = tape_new();
    Sampler sampler = {.temperature = 0.8, .seed = 1, .tokenizer = k};
    long n = 0;
    bool ok = k && ids && tokenizer_encode(k, "prompt", argv[2], strlen(argv[2]), ids, &n, &e);
    if (ok) fputs(argv[2], stdout);
    ok = ok && decode_continue(t, m, &sampler, ids, n, MORE, emit, k, &e);
    puts("");
    if (!ok) fprintf(stderr, "%s\n", e.text);
    tape_free(t);
    tokenizer_free(k);
    model_notes_free(&notes);
    model_free(m);
    free(ids);
    return ok ? 0 : 1;
}
