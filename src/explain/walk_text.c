/* Sentences as tokens: characters or words, numbered in order of their first appearance in the vocabulary. */
#include "base/utf8.h"
#include "explain/walk.h"
#include "text/dictionary.h"
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n\r\v\f", unknown[] = "[UNK]";

/* Makes room for `count` tokens whose labels take `bytes`, without their NULs. */
static bool make_room(WalkText *x, long count, size_t bytes, Error *e) {
    size_t n = (size_t)count;
    *x = (WalkText){.id = calloc(n + 1, sizeof *x->id),
                    .label = calloc(n + 1, sizeof *x->label),
                    .memory = calloc(1, bytes + n + 1)};
    return (x->id && x->label && x->memory) || error_set(e, STATUS_NO_MEMORY, "memory: %ld tokens", count);
}

void walk_text_free(WalkText *x) {
    free(x->id);
    free(x->label);
    free(x->memory);
    *x = (WalkText){0};
}

/* Appends a token, its label `bytes` bytes of text, written to `at`. Returns the end of the label. */
static char *append(WalkText *x, char *at, int32_t id, const char *text, size_t bytes) {
    memcpy(at, text, bytes);
    at[bytes] = 0;
    x->id[x->count] = id;
    x->label[x->count++] = at;
    return at + bytes + 1;
}

/* The bytes of the next word; *at moves to it. */
static size_t next_word(const char **at) {
    *at += strspn(*at, blanks);
    return strcspn(*at, blanks);
}

bool walk_words(WalkText *x, const char *text, const char *vocabulary, int *size, Error *e) {
    const char *where = vocabulary ? "--vocabulary" : "--text", *at = vocabulary ? vocabulary : text;
    Dictionary words = {0};
    bool ok = make_room(x, (long)strlen(text), strlen(text), e);
    if (ok && !next_word(&at))
        ok = error_set(e, STATUS_BAD_DATA, "%s: found no word, need at least one", where);
    for (size_t n; ok && (n = next_word(&at)); at += n)
        if (n != strlen(unknown) || memcmp(at, unknown, n) != 0) ok = dictionary_add(&words, at, n, e) >= 0;
    at = text;
    char *end = x->memory;
    for (size_t n; ok && (n = next_word(&at)); at += n) {
        int32_t id = 1 + (int32_t)dictionary_find(&words, at, n);
        end = append(x, end, id, at, n);
        if (!id) x->label[x->count - 1] = unknown;
    }
    *size = 1 + (int)words.count;
    dictionary_free(&words);
    return ok && (x->count || error_set(e, STATUS_BAD_DATA, "--text: found no word, need at least one"));
}

bool walk_ids(WalkText *x, const SavedRun *r, const int32_t *id, long count, Error *e) {
    if (!make_room(x, count, (size_t)count * TOKEN_LABEL, e)) return false;
    char *end = x->memory, text[TOKEN_LABEL];
    for (long i = 0; i < count; i++) {
        bool begins = r->model && r->model->config.kind == KIND_SEQ2SEQ && id[i] == r->begin_id;
        const char *label = begins ? "<begin>" : tokenizer_label(r->tokenizer, id[i], text);
        end = append(x, end, id[i], label, strlen(label));
    }
    return true;
}

bool walk_characters(WalkText *x, const SavedRun *r, const char *text, Error *e) {
    size_t bytes = strlen(text);
    long count;
    if (bytes == 0) return error_set(e, STATUS_BAD_DATA, "--text: found no character, need at least one");
    int32_t *id = calloc(bytes, sizeof *id);
    bool ok = id || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", bytes);
    ok = ok && tokenizer_encode(r->tokenizer, "--text", text, bytes, id, &count, e) &&
         walk_ids(x, r, id, count, e);
    free(id);
    return ok;
}
