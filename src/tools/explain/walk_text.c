/* Sentences as tokens: characters or words, numbered in order of their first appearance in the vocabulary. */
#include "explain/walk.h"
#include "text/dictionary.h"
#include <string.h>

static const char blanks[] = " \t\n\r\v\f", unknown[] = "[UNK]";

static WalkText room_for(WalkThrough *w, size_t tokens) {
    return (WalkText){.id = arena_alloc(&w->arena, (tokens + 1) * sizeof(int32_t)),
                      .label = arena_alloc(&w->arena, (tokens + 1) * sizeof(char *))};
}

/* The bytes of the next word; *at moves to it. */
static size_t next_word(const char **at) {
    *at += strspn(*at, blanks);
    return strcspn(*at, blanks);
}

bool walk_words(WalkThrough *w, WalkText *x, int *size, Error *e) {
    const WalkOptions *o = w->options;
    const char *where = o->vocabulary ? "--vocabulary" : "--text",
               *at = o->vocabulary ? o->vocabulary : o->text;
    Dictionary words = {0};
    bool ok = next_word(&at) ||
              error_set(e, STATUS_BAD_DATA, "%s: found no word, need at least one", where);
    for (size_t n; ok && (n = next_word(&at)); at += n)
        if (n != strlen(unknown) || memcmp(at, unknown, n) != 0)
            ok = dictionary_add(&words, at, n, e) >= 0;
    at = o->text;
    *x = room_for(w, strlen(o->text));
    for (size_t n; ok && (n = next_word(&at)); at += n) {
        int32_t id = 1 + (int32_t)dictionary_find(&words, at, n);
        x->id[x->count] = id;
        x->label[x->count++] = id ? memcpy(arena_alloc(&w->arena, n + 1), at, n) : unknown;
    }
    *size = 1 + (int)words.count;
    dictionary_free(&words);
    return ok &&
           (x->count || error_set(e, STATUS_BAD_DATA, "--text: found no word, need at least one"));
}

WalkText walk_ids(WalkThrough *w, const int32_t *id, long count) {
    WalkText x = room_for(w, (size_t)count);
    for (; x.count < count; x.count++) {
        x.id[x.count] = id[x.count];
        x.label[x.count] =
            saved_run_label(&w->run, id[x.count], arena_alloc(&w->arena, TOKEN_LABEL));
    }
    return x;
}

bool walk_characters(WalkThrough *w, WalkText *x, Error *e) {
    const char *text = w->options->text;
    size_t bytes = strlen(text);
    long count;
    if (bytes == 0)
        return error_set(e, STATUS_BAD_DATA, "--text: found no character, need at least one");
    bool line = w->run.lines != NULL; /* the token of its end begins it */
    int32_t *id = arena_alloc(&w->arena, (bytes + 1) * sizeof *id);
    id[0] = w->run.begin_id;
    if (!tokenizer_encode(w->run.tokenizer, "--text", text, bytes, id + line, &count, e))
        return false;
    *x = walk_ids(w, id, line + count);
    return true;
}
