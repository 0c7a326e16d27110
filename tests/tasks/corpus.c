/* Corpora, the lm task, and the texts that ship. */
#include "tasks/corpus.h"
#include "folder.h"
#include "task_helpers.h"
#include <ctype.h>

/* 100 different characters, so that a window's content is its place. */
static size_t hundred(char *out) {
    char *start = out;
    for (uint32_t c = 0; c < 100; c++) out += utf8_encode(0x400 + c, out);
    return (size_t)(out - start);
}

TEST(windows_cover_the_text) {
    char text[100 * UTF8_MAX + 1];
    text[hundred(text)] = 0;
    make_folder();
    write_text(in_folder("text"), text);
    static const struct {
        long context;
        double tail;
        long training, start, windows;
    } cases[] = {{1, 0.1, 90, 90, 9},   {4, 0.1, 90, 90, 3},  {9, 0.1, 90, 90, 1},
                 {10, 0.25, 75, 75, 3}, {3, 0.5, 50, 50, 17}, {7, 0, 100, 0, 15},
                 {99, 0, 100, 0, 1}};
    for (int i = 0; i < 7; i++) {
        long context = cases[i].context;
        TaskOptions o = task_defaults();
        o.text = in_folder("text");
        o.context = context;
        o.validation = cases[i].tail;
        Task *task = opened("lm", o);
        const Corpus *c = task_text_corpus(task);
        CHECK(task->begin_id == NO_TOKEN && task->end_id == NO_TOKEN && task->pad_id == NO_TOKEN);
        CHECK(c->count == 100 && c->training == cases[i].training &&
              c->validation == cases[i].start);
        CHECK(task->held_out == cases[i].windows && task->max_T == context, "%ld", task->held_out);
        /* The targets of all held-out windows in a row are the tail from its second character on.
         */
        Batch *b = batch_for(task, 3000);
        CHECK(task_held_out_batch(task, 0, 100, b) == task->held_out);
        long targets = batch_target_tokens(b);
        CHECK(b->target_in[0] == c->validation && targets == 99 - c->validation, "%ld targets",
              targets);
        for (long t = 0; t < targets; t++) CHECK(b->target_out[t] == c->validation + 1 + t);
        /* Every training window lies in the training part, and every place is drawn. */
        long first = 1000, last = -1;
        task_training_batch(task, 1, 0, 3000, b);
        for (long r = 0; r < 3000; r++) {
            BatchRow row = batch_row(b, r);
            for (long t = 0; t < context; t++)
                CHECK(row.target_out[t] == row.target_in[t] + 1 &&
                      row.target_in[t] == row.target_in[0] + t);
            if (row.target_in[0] < first) first = row.target_in[0];
            if (row.target_out[context - 1] > last) last = row.target_out[context - 1];
        }
        CHECK(first == 0 && last == c->training - 1, "%ld to %ld", first, last);
        batch_free(b);
        task_free(task);
    }
}

/* A short text has a shorter context; where that would be less than 8, it has no tail. */
TEST(short_texts_have_less_of_both) {
    char text[100 * UTF8_MAX];
    size_t length = hundred(text);
    static const struct {
        long context;
        double tail;
        long characters, fits, held_out;
    } cases[] = {{64, 0.1, 100, 9, 10}, {64, 0.5, 100, 49, 50}, {100, 0, 100, 99, 0},
                 {64, 0.1, 15, 14, 0},  {1, 0.1, 15, 1, 2},     {4, 0.96, 100, 4, 0},
                 {4, 0.9999, 100, 4, 0}};
    for (int i = 0; i < 7; i++) {
        Error e = {0};
        TaskOptions o = {
            .tokenizer = &tokenizer_char, .context = cases[i].context, .validation = cases[i].tail};
        size_t bytes = (size_t)cases[i].characters * length / 100;
        Corpus *c = corpus_make(&(Passage){"f", text, bytes}, 1, &o, &e);
        CHECK(c && c->context == cases[i].fits, "case %d: context %ld %s", i, c ? c->context : 0,
              e.text);
        CHECK(c->validation == (cases[i].held_out ? c->count - cases[i].held_out : 0), "case %d",
              i);
        CHECK(c->characters == (cases[i].held_out ? cases[i].held_out : c->count), "case %d", i);
        corpus_free(c);
    }
}

/* Bytes that are not UTF-8 are measured in bytes, also where they happen to be characters; UTF-8 is
 * measured in characters. */
TEST(other_bytes_are_bytes) {
    static const char text[] =
        "\xFF\x80\x81 na\xC3\xAFve \xFF\xFE 0123456789 \x80\x81\x82\x83\xC3\xAF";
    for (int utf8 = 0; utf8 < 2; utf8++) {
        Error e = {0};
        TaskOptions o = {.tokenizer = &tokenizer_byte, .context = 8, .validation = 0.5};
        const char *from = utf8 ? "naïve naïve naïve ïïïï" : text;
        Corpus *c = corpus_make(&(Passage){"f", from, strlen(from)}, 1, &o, &e);
        CHECK(c, "%s", e.text);
        if (!c) return;
        CHECK(!strcmp(tokenizer_unit(c->tokenizer), utf8 ? "char" : "byte"));
        CHECK(c->written == (utf8 ? 22 : (long)sizeof text - 1), "%ld", c->written);
        CHECK(utf8 ? c->characters == 11 : c->characters == c->count - c->validation, "%ld",
              c->characters);
        corpus_free(c);
    }
}

/* Every tokenizer holds out the same characters, learns from the others alone, and counts its
 * held-out characters. Each of several texts has its own tail. */
TEST(every_tokenizer_holds_out_the_same_text) {
    static const char first[] = "aé bé aé bé aé bé ",
                      second[] = "cd cd cd cd cd cd xyz"; /* 18 and 21 characters */
    const Passage p[] = {{"f", first, sizeof first - 1}, {"g", second, sizeof second - 1}};
    for (const Choice *const *all = all_tokenizers; *all != &tokenizer_ids.choice; all++) {
        const TokenizerKind *kind = (const TokenizerKind *)*all;
        Error e = {0};
        TaskOptions o = {.tokenizer = kind,
                         .vocab_size = kind == &tokenizer_bpe ? 300 : 0,
                         .context = 1,
                         .validation = 1. / 6};
        Corpus *c = corpus_make(p, 2, &o, &e);
        CHECK(c, "%s", e.text);
        if (!c) return;
        int32_t ids[100];
        char text[100 * TOKEN_BYTES];
        for (long i = 0; i < c->count; i++) ids[i] = c->ids[i];
        tokenizer_decode(c->tokenizer, ids, c->training, text);
        CHECK(!strcmp(text, "aé bé aé bé aé cd cd cd cd cd cd"), "%s: %s", kind->choice.name, text);
        tokenizer_decode(c->tokenizer, ids + c->validation, c->count - c->validation, text);
        CHECK(!strcmp(text, "bé  xyz"), "%s: %s", kind->choice.name, text);
        CHECK(c->characters == 7, "%ld", c->characters);
        corpus_free(c);
    }
}

/* ---- The texts that ship ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum { SEQUENCE = 12 };

/* Compares the SEQUENCE words that two places begin with. */
static int by_words(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int words = 0;
    size_t i = 0;
    while (x[i] && x[i] == y[i]) {
        words += x[i++] == ' ';
        if (words == SEQUENCE) return 0;
    }
    return (unsigned char)x[i] - (unsigned char)y[i];
}

/* Keeps letters, and a space between words; writes where the words begin. */
static size_t words_of(char *text, size_t length, char **word) {
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < length; i++) {
        bool letter = isalpha((unsigned char)text[i]), begins = kept == 0 || text[kept - 1] == ' ';
        if (!letter && begins) continue;
        if (letter && begins) word[count++] = text + kept;
        text[kept++] = letter ? (char)tolower((unsigned char)text[i]) : ' ';
    }
    text[kept] = 0;
    return count;
}

/* The text that ships: no piece twice, so that none that is held out was learned; plain characters
 * that the training part has; of the sequences of 12 words of its tail, at most one in twenty is in
 * the training part; many different words. */
TEST(the_stories_are_fit_to_learn_from) {
    enum { CAPACITY = 1 << 19 };
    static char *piece[CAPACITY], *word[CAPACITY];
    size_t pieces = 0, length;
    Task *task = opened("lm", task_defaults());
    CHECK(task->questions > 500 && !strcmp(task->speakers.user, "User:") &&
              !strcmp(task->speakers.bot, "Bot:"),
          "%ld questions", task->questions);
    char *text = whole_file("data/stories.txt", &length), *copy = strdup(text);
    for (size_t i = 0; i < length; i++)
        CHECK((unsigned char)text[i] < 0x80 && memchr(text, text[i], length - length / 10));
    for (char *at = copy; at; at = strstr(at, "\n\n")) {
        if (at > copy) {
            *at = 0;
            at += 2;
        }
        piece[pieces++] = at;
    }
    CHECK(pieces > 2000, "%zu pieces", pieces);
    qsort(piece, pieces, sizeof *piece, by_text);
    for (size_t i = 1; i < pieces; i++)
        CHECK(strcmp(piece[i - 1], piece[i]), "twice: %s", piece[i]);

    size_t words = words_of(text, length, word), training = words - words / 10, common = 0;
    qsort(word, training, sizeof *word, by_words);
    for (size_t i = training; i + SEQUENCE <= words; i++)
        common += bsearch(&word[i], word, training, sizeof *word, by_words) != NULL;
    CHECK(common * 20 < words / 10, "%zu of %zu sequences are common", common, words / 10);
    free(copy);
    free(text);
    task_free(task);
}

/* The verse as it ships, without a line feed, is 0 to 14, and the whole of it is one window of
 * context 14. */
TEST(the_verse_is_ids_0_to_14_as_it_ships) {
    TaskOptions o = task_defaults();
    o.text = "data/flower.txt";
    o.context = 14;
    o.validation = 0;
    Task *task = opened("lm", o);
    Batch *b = batch_for(task, 1);
    CHECK(task->vocab_size == 15 && task->held_out == 1);
    task_training_batch(task, 0, 0, 1, b);
    for (int i = 0; i < 14; i++) CHECK(b->target_in[i] == i && b->target_out[i] == i + 1);
    batch_free(b);
    task_free(task);
}

RUN_TESTS
