/* The step `merges`: how byte pairs split each word of the text, merge by merge (text/bpe.h). */
#include "base/terminal.h"
#include "explain/show.h"
#include "explain/walk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_BOX = 0x2423 }; /* a label of blanks alone */

/* Writes a token; its blanks become '_', so that they do not look like gaps between tokens. */
static void write_token(FILE *out, const Tokenizer *k, int32_t id, bool unicode) {
    char text[TOKEN_LABEL];
    Label l = label_of(tokenizer_label(k, id, text), LABEL_MAX, unicode);
    for (int i = 0; i < l.count; i++)
        if (l.character[i] == ' ' || l.character[i] == OPEN_BOX) l.character[i] = '_';
    label_write(out, &l);
}

/* Prints one row: the merge that joined two tokens, -1 before the first, and the tokens of the word now. */
static void show_state(const WalkOptions *o, const Tokenizer *k, int32_t made, const int32_t *id,
                       long count) {
    if (o->json) {
        printf("{\"step\": \"merges\", \"token\": %d, \"ids\": [", (int)made);
        for (long i = 0; i < count; i++) printf("%s%d", i ? ", " : "", (int)id[i]);
        puts("]}");
        return;
    }
    char *line = NULL;
    size_t size;
    bool unicode = terminal_of(stdout).unicode;
    FILE *out = open_memstream(&line, &size);
    if (out && made >= 0) {
        const Merge *m = &k->merge[made - BYTE_TOKENS];
        fprintf(out, "%d = ", (int)made);
        write_token(out, k, m->left, unicode);
        fputs(" + ", out);
        write_token(out, k, m->right, unicode);
        fputs(" :", out);
    }
    for (long i = 0; out && i < count; i++) putc(' ', out), write_token(out, k, id[i], unicode);
    if (!out || fclose(out) != 0 || !line) error_no_memory("a line of %ld tokens", count);
    show_wrapped(line + strspn(line, " "), made < 0 ? 2 : 4);
    free(line);
}

/* Joins the two neighbours whose merge is the earliest, the first of equals. Returns their token; -1: none. */
static int32_t join_earliest(const Tokenizer *k, int32_t *id, long *count) {
    int32_t made = -1, found;
    long at = 0;
    for (long i = 0; i + 1 < *count; i++) {
        found = bpe_joined(&k->pieces, (Merge){id[i], id[i + 1]});
        if (found >= 0 && (made < 0 || found < made)) made = found, at = i;
    }
    if (made < 0) return -1;
    id[at] = made, (*count)--;
    memmove(id + at + 1, id + at + 2, (size_t)(*count - at - 1) * sizeof *id);
    return made;
}

bool walk_print_merges(const WalkThrough *w, Error *e) {
    const WalkOptions *o = w->options;
    const Tokenizer *k = w->run.tokenizer;
    Dictionary words = {0};
    bool ok = true;
    if (!o->json) {
        printf("merges: a table of %ld\n", k->size - BYTE_TOKENS);
        show_wrapped(
            "Each different word begins as its bytes. Of the pairs of "
            "neighbours in the table the earliest is "
            "joined into one token, until none is left. _ is a blank.",
            2);
    }
    for (size_t at = 0, length = strlen(o->text), n; ok && at < length; at += n) {
        n = word_length(o->text + at, length - at);
        long before = words.count, number = dictionary_add(&words, o->text + at, n, e);
        ok = number >= 0;
        if (!ok || number < before) continue;
        int32_t id[TOKEN_BYTES], made = -1;
        long count = (long)n;
        for (long i = 0; i < count; i++) id[i] = (unsigned char)o->text[at + (size_t)i];
        do show_state(o, k, made, id, count);
        while ((made = join_earliest(k, id, &count)) >= 0);
    }
    if (!o->json) putchar('\n');
    dictionary_free(&words);
    return ok;
}
