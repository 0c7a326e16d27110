/* Sentences as tokens: characters or words, numbered in order of their first appearance in the vocabulary. */
#include "base/utf8.h"
#include "explain/walk.h"
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

/* Splits a text into words, all with id 0. Fails if it has none. */
static bool split(WalkText *x, const char *where, const char *text, Error *e) {
    if (!make_room(x, (long)strlen(text), strlen(text), e)) return false;
    char *end = x->memory;
    for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
        size_t bytes = strcspn(at, blanks);
        end = append(x, end, 0, at, bytes);
        at += bytes;
    }
    return x->count > 0 || error_set(e, STATUS_BAD_DATA, "%s: found no word, need at least one", where);
}

/* The first of the first `count` words of x that is `word`; -1: none. */
static long find(const WalkText *x, long count, const char *word) {
    for (long i = 0; i < count; i++)
        if (strcmp(x->label[i], word) == 0) return i;
    return -1;
}

bool walk_words(WalkText *x, const char *text, const char *vocabulary, int *size, Error *e) {
    WalkText all = {0};
    bool ok = split(&all, vocabulary ? "--vocabulary" : "--text", vocabulary ? vocabulary : text, e) &&
              split(x, "--text", text, e);
    int next = 1; /* 0 is always [UNK] */
    for (long i = 0; ok && i < all.count; i++) {
        long before = find(&all, i, all.label[i]);
        bool is_unknown = strcmp(all.label[i], unknown) == 0;
        all.id[i] = is_unknown ? 0 : before >= 0 ? all.id[before] : next++;
    }
    for (long i = 0; ok && i < x->count; i++) {
        long known = find(&all, all.count, x->label[i]);
        x->id[i] = known >= 0 ? all.id[known] : 0;
        if (known < 0) x->label[i] = unknown;
    }
    *size = next;
    walk_text_free(&all);
    return ok;
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
