/* How byte pairs split each word of the text, merge by merge (text/bpe.h). */
#include "base/append.h"
#include "explain/screen.h"
#include "explain/walk.h"
#include "text/dictionary.h"
#include <string.h>

enum { LINE = TOKEN_BYTES * (LABEL_TEXT + 1) + 1000 };

/* Appends a token, with '_' for a blank. */
static void append_token(char line[LINE], const Tokenizer *k, int32_t id) {
    enum { MAX_COLUMNS = 48 };
    char text[TOKEN_LABEL], shown[TOKEN_LABEL], label[LABEL_TEXT];
    strcpy(shown, tokenizer_label(k, id, text));
    for (char *c = shown; *c; c++)
        if (*c == ' ') *c = '_';
    label_of(label, shown, MAX_COLUMNS);
    text_append(line, LINE, "%s%s", *line ? " " : "", label);
}

/* Prints the tokens of a word after a merge has made the token `made`; -1: before the first. */
static void print_tokens(const Tour *w, int32_t made, const int32_t *id, long count) {
    const Tokenizer *k = w->run.tokenizer;
    char line[LINE] = "";
    if (w->options->json) {
        printf("{\"step\": \"merges\", \"token\": %d, \"ids\": [", (int)made);
        for (long i = 0; i < count; i++) printf("%s%d", i ? ", " : "", (int)id[i]);
        puts("]}");
        return;
    }
    if (made >= 0) {
        const Merge *m = &k->merge[made - BYTE_TOKENS];
        text_append(line, LINE, "%d =", (int)made);
        append_token(line, k, m->left);
        text_append(line, LINE, " +");
        append_token(line, k, m->right);
        text_append(line, LINE, " :");
    }
    for (long i = 0; i < count; i++) append_token(line, k, id[i]);
    print_wrapped(line, made < 0 ? 2 : 4);
}

/* Joins the two neighbours whose merge is the earliest, the first of equals. Returns their token;
 * -1: none. */
static int32_t join_earliest(const Tokenizer *k, int32_t *id, long *count) {
    int32_t made = -1;
    long at = 0;
    for (long i = 0; i + 1 < *count; i++) {
        int32_t found = bpe_joined(&k->pieces, (Merge){id[i], id[i + 1]});
        if (found < 0 || (made >= 0 && found >= made)) continue;
        made = found;
        at = i;
    }
    if (made < 0) return -1;
    id[at] = made;
    (*count)--;
    memmove(id + at + 1, id + at + 2, (size_t)(*count - at - 1) * sizeof *id);
    return made;
}

bool walk_print_merges(const Tour *w, Error *e) {
    const Tokenizer *k = w->run.tokenizer;
    Dictionary words = {0};
    if (!k || k->kind != &tokenizer_bpe)
        return error_set(e, STATUS_USAGE, "--step: found merges, need a model of byte pairs");
    if (!w->options->json) {
        printf("merges: a table of %ld\n", k->size - BYTE_TOKENS);
        print_wrapped("Each different word begins as its bytes. Of the pairs of neighbours in the "
                      "table the earliest is joined into one token, until none is left. _ is a "
                      "blank.",
                      2);
    }
    for (const char *word = w->text; *word;) {
        int32_t id[TOKEN_BYTES], made = -1;
        long count = (long)word_length(word, strlen(word)), before = words.count;
        bool is_new = dictionary_add(&words, word, (size_t)count, e) == before;
        for (long i = 0; i < count; i++) id[i] = (unsigned char)*word++;
        do {
            if (is_new) print_tokens(w, made, id, count);
            made = join_earliest(k, id, &count);
        } while (made >= 0);
    }
    dictionary_free(&words);
    return e->status == STATUS_DONE;
}
