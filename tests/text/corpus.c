/* Corpora, their entropies, the lm task, and the texts that ship. */
#include "text/corpus.h"
#include "base/random.h"
#include "folder.h"
#include "task_helpers.h"
#include "tasks/text_task.h"

static void check_entropies(const uint16_t *ids, long count, long V, double unigram, double bigram,
                            double tolerance) {
    Error e = {0};
    double found[2];
    CHECK(corpus_entropies(ids, count, V, &found[0], &found[1], &e), "%s", e.text);
    CHECK_NEAR(found[0], unigram, tolerance);
    CHECK_NEAR(found[1], bigram, tolerance);
}

/* Values from the definition, worked out by hand or in closed form. */
TEST(entropies_by_hand) {
    /* a b a b: half and half, and each decides the next: log 2 and 0. */
    static const uint16_t abab[] = {0, 1, 0, 1};
    check_entropies(abab, 4, 2, 0.69314718055994531, 0, 1e-15);
    /* a a b a b: p(a) = 3/5. Pairs aa ab ba ab: three after a, of which 1/3 a and 2/3 b, and one after b. */
    static const uint16_t aabab[] = {0, 0, 1, 0, 1};
    check_entropies(aabab, 5, 2, 0.67301166700925644, 0.4773856262211097, 1e-15);
    /* abracadabra: a 5, b 2, r 2, c 1, d 1 of 11. Pairs: after a b·2 c d, after b r·2, after r a·2, after c
     * a, d a: 4/10 · 3/2 log 2. */
    static const uint16_t abracadabra[] = {0, 1, 2, 0, 3, 0, 4, 0, 1, 2, 0};
    check_entropies(abracadabra, 11, 5, 1.4142790651247086, 0.41588830833596718, 1e-15);
    check_entropies(abab, 0, 2, 0, 0, 0);
    check_entropies(abab, 1, 2, 0, 0, 0);
}

/* A de Bruijn sequence of order 2 has every pair once: both entropies are log V. A random text against tables
 * counted the plain way. */
TEST(entropies_in_closed_form_and_by_plain_counting) {
    enum { V = 12, N = 5000 };
    uint16_t ids[N];
    long count = 0;
    for (uint16_t a = 0; a < V; a++) {
        ids[count++] = a;
        for (uint16_t b = (uint16_t)(a + 1); b < V; b++) ids[count++] = a, ids[count++] = b;
    }
    ids[count++] = 0; /* as often as the others, but for the last */
    double others = (double)V / (V * V + 1), first = (double)(V + 1) / (V * V + 1);
    check_entropies(ids, V * V + 1, V, -first * log(first) - (V - 1) * others * log(others), log(V), 1e-14);

    uint64_t key = random_key(8, 0);
    static double n[V + 1], pairs[V][V], from[V];
    ids[0] = 0;
    for (int i = 1; i < N; i++) { /* a walk of short steps, so that the two differ */
        ids[i] = (uint16_t)((ids[i - 1] + random_below(key, (uint64_t)i, 1 + i % 5)) % V);
        pairs[ids[i - 1]][ids[i]]++, from[ids[i - 1]]++;
    }
    for (int i = 0; i < N; i++) n[ids[i]]++;
    double unigram = 0, bigram = 0;
    for (int a = 0; a < V; a++) {
        unigram -= n[a] / N * log(n[a] / N);
        for (int b = 0; b < V; b++)
            if (pairs[a][b] > 0) bigram -= pairs[a][b] / (N - 1) * log(pairs[a][b] / from[a]);
    }
    check_entropies(ids, N, V + 1, unigram, bigram, 1e-12); /* one id never occurs */
    CHECK(bigram < unigram - 0.3);
}

/* 100 different characters, so that a window's content is its place. */
static size_t hundred(char *out) {
    char *start = out;
    for (uint32_t c = 0; c < 100; c++) out += utf8_encode(0x400 + c, out);
    return (size_t)(out - start);
}

TEST(windows_cover_the_text) {
    char text[100 * UTF8_MAX];
    size_t length = hundred(text);
    static const struct {
        long context;
        double tail;
        long training, start, windows;
    } cases[] = {{1, 0.1, 90, 90, 9},  {4, 0.1, 90, 90, 2}, {9, 0.1, 90, 90, 1}, {10, 0.25, 75, 75, 2},
                 {3, 0.5, 50, 50, 16}, {7, 0, 100, 0, 14},  {99, 0, 100, 0, 1}};
    for (int i = 0; i < 7; i++) {
        Error e = {0};
        long context = cases[i].context;
        CorpusOptions o = {.context = context, .validation = cases[i].tail};
        Corpus *c = corpus_make(&(Passage){"text", text, length}, 1, &o, &e);
        CHECK(c, "%s", e.text);
        if (!c) return;
        CHECK(c->count == 100 && c->training == cases[i].training && c->validation == cases[i].start);
        CHECK(corpus_held_out_windows(c) == cases[i].windows, "%ld", corpus_held_out_windows(c));
        /* Held out: the targets of all windows in a row are the tail from its second character on. */
        long next = c->validation;
        for (long w = 0; w < corpus_held_out_windows(c); w++, next--)
            for (long t = 0; t <= context; t++) CHECK(c->ids[corpus_held_out_window(c, w) + t] == next++);
        CHECK(next < 100 && 100 - 1 - next < context, "%ld characters are left over", 100 - 1 - next);
        /* Training: every window lies in the training part, and every place is drawn. */
        long first = 1000, last = -1;
        for (uint64_t step = 0; step < 100; step++)
            for (long r = 0; r < 30; r++) {
                int32_t window[101];
                corpus_copy(c, corpus_training_window(c, random_key(1, 2), step, r), context + 1, window);
                for (long t = 0; t < context; t++) CHECK(window[t + 1] == window[t] + 1);
                if (window[0] < first) first = window[0];
                if (window[context] > last) last = window[context];
            }
        CHECK(first == 0 && last == c->training - 1, "%ld to %ld", first, last);
        corpus_free(c);
    }
}

TEST(a_corpus_refuses_short_and_broken_text) {
    char text[100 * UTF8_MAX];
    size_t length = hundred(text);
    static const struct {
        long context;
        double tail;
        const char *text;
    } wrong[] = {
        {0, 0.1, "lm: context: found 0, need 1 to 1048576"},
        {1048577, 0.1, "lm: context: found 1048577, need 1 to 1048576"},
        {4, 1, "lm: held-out tail: found 1, need a part from 0 to less than 1"},
        {4, -0.1, "lm: held-out tail: found -0.1, need a part from 0 to less than 1"},
        {4, NAN, "lm: held-out tail: found nan, need a part from 0 to less than 1"},
    };
    for (int i = 0; i < 5; i++) {
        Error e = {0};
        CorpusOptions o = {.context = wrong[i].context, .validation = wrong[i].tail};
        CHECK(!corpus_make(&(Passage){"f", text, length}, 1, &o, &e), "case %d", i);
        CHECK_ERROR(e, STATUS_USAGE, wrong[i].text);
    }
    Error e = {0};
    CorpusOptions o = {.context = 1, .validation = 0.1};
    CHECK(!corpus_make(&(Passage){"f", "", 0}, 1, &o, &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "f: found 0 tokens, need at least 2");
    e = (Error){0};
    CHECK(!corpus_make(&(Passage){"f", "abcdef\xFF", 7}, 1, &o, &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "f: byte 6: found 0xFF, need UTF-8 text");
    e = (Error){0},
    o.vocab_size = 3; /* learns from the training part; the tail is named by its place in the text */
    CHECK(!corpus_make(&(Passage){"f", "abcdefghijklmnopqrs\xFF", 20}, 1, &o, &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "f: byte 19: found 0xFF, need UTF-8 text");
}

/* A short text has a shorter context; where that would be less than 8, it has no tail. */
TEST(short_texts_have_less_of_both) {
    char text[100 * UTF8_MAX];
    size_t length = hundred(text);
    static const struct {
        long context;
        double tail;
        long characters, fits, held_out;
    } cases[] = {{64, 0.1, 100, 9, 10}, {64, 0.5, 100, 49, 50}, {100, 0, 100, 99, 0},  {64, 0.1, 15, 14, 0},
                 {1, 0.1, 15, 1, 2},    {4, 0.96, 100, 4, 0},   {4, 0.9999, 100, 4, 0}};
    for (int i = 0; i < 7; i++) {
        Error e = {0};
        CorpusOptions o = {.context = cases[i].context, .validation = cases[i].tail};
        size_t bytes = (size_t)cases[i].characters * length / 100;
        Corpus *c = corpus_make(&(Passage){"f", text, bytes}, 1, &o, &e);
        CHECK(c && c->context == cases[i].fits, "case %d: context %ld %s", i, c ? c->context : 0, e.text);
        CHECK(c->validation == (cases[i].held_out ? c->count - cases[i].held_out : 0), "case %d", i);
        CHECK(c->characters == (cases[i].held_out ? cases[i].held_out : c->count), "case %d", i);
        corpus_free(c);
    }
}

/* Every tokenizer holds out the same characters, learns from the others alone, and knows how many it judges by. Of
 * several texts each has its tail. */
TEST(every_tokenizer_holds_out_the_same_text) {
    static const char first[] = "aé bé aé bé aé bé ",
                      second[] = "cd cd cd cd cd cd xyz"; /* 18 and 21 characters */
    const Passage p[] = {{"f", first, sizeof first - 1}, {"g", second, sizeof second - 1}};
    for (int kind = TOKENIZER_CHAR; kind <= TOKENIZER_WORD; kind++) {
        Error e = {0};
        CorpusOptions o = {.tokenizer = kind,
                           .vocab_size = kind == TOKENIZER_BPE ? 300 : 0,
                           .context = 1,
                           .validation = 1. / 6};
        Corpus *c = corpus_make(p, 2, &o, &e);
        CHECK(c, "%s", e.text);
        if (!c) return;
        int32_t ids[100];
        char text[100 * TOKEN_BYTES];
        corpus_copy(c, 0, c->count, ids);
        tokenizer_decode(c->tokenizer, ids, c->training, text);
        CHECK(!strcmp(text, "aé bé aé bé aé cd cd cd cd cd cd"), "%s: %s", tokenizer_name(c->tokenizer->kind),
              text);
        tokenizer_decode(c->tokenizer, ids + c->validation, c->count - c->validation, text);
        CHECK(!strcmp(text, "bé  xyz") != (kind == TOKENIZER_WORD), "%s: %s",
              tokenizer_name(c->tokenizer->kind), text);
        CHECK(c->characters == 7 && (c->unknown > 0) == (kind == TOKENIZER_WORD), "%ld", c->characters);
        corpus_free(c);
    }
}

/* From a file: a byte-order mark is no character, and what is wrong with the file is said with its path. */
TEST(a_corpus_from_a_file) {
    make_folder();
    const char *path = in_folder("text");
    write_text(path, "\xEF\xBB\xBF"
                     "ein Wort, ein Satz");
    Error e = {0};
    Corpus *c = corpus_load(path, &(CorpusOptions){.context = 2, .validation = 0.2}, &e);
    CHECK(c && c->count == 18 && c->training == 14 && c->ids[0] == 0 && c->tokenizer->text[0] == 'e', "%s",
          e.text);
    corpus_free(c);
    /* A carriage return is part of a line's end where a newline follows it, and else a character. */
    write_text(path, "a\rb\r\nc\r\r\nd\r");
    for (int unix_newlines = 0; unix_newlines < 2; unix_newlines++) {
        e = (Error){0};
        CorpusOptions o = {.context = 2, .unix_newlines = unix_newlines};
        c = corpus_load(path, &o, &e);
        CHECK(c && c->count == 11 - 2 * unix_newlines && c->carriage_returns == 5 - 2 * unix_newlines, "%s",
              e.text);
        corpus_free(c);
    }
    unlink(path);
    e = (Error){0};
    CHECK(!corpus_load(path, &(CorpusOptions){.context = 4}, &e) && e.status == STATUS_NO_INPUT &&
              strstr(e.text, path),
          "%s", e.text);
}

/* ---- lm, and the texts that ship ---- */

TEST(lm_rows_are_windows_shifted_by_one) {
    Task *task = opened("lm", task_defaults());
    const Corpus *c = task_text_corpus(task);
    CHECK(c && task->vocab_size == c->tokenizer->size && task->max_S == 0 && task->max_T == 64);
    CHECK(task->begin_id == NO_TOKEN && task->end_id == NO_TOKEN && task->pad_id == NO_TOKEN);
    CHECK(c->training == c->count * 9 / 10, "%ld of %ld", c->training, c->count);
    CHECK(task->held_out == (c->count - c->training - 1) / 64);
    Batch *b = batch_for(task, 12);
    for (uint64_t step = 0; step < 50; step++) {
        task_training_batch(task, step, 0, 12, b);
        CHECK(b->rows == 12 && batch_target_tokens(b) == 12 * 64);
        for (long r = 0; r < 12; r++) {
            BatchRow row = batch_row(b, r);
            const int32_t *in = row.target_in, *out = row.target_out;
            CHECK(row.S == 0 && row.T == 64);
            CHECK(!memcmp(in + 1, out, 63 * sizeof *in) && out[63] >= 0 && out[63] < task->vocab_size);
        }
    }
    CHECK(task_held_out_batch(task, 1, 2, b) == 2);
    for (long i = 0; i < 128; i++) {
        CHECK(b->target_in[i] == c->ids[c->training + 64 + i]);
        CHECK(b->target_out[i] == c->ids[c->training + 65 + i]);
    }
    batch_free(b), task_free(task);
    task = opened("copy", task_defaults());
    CHECK(!task_text_corpus(task));
    task_free(task);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The chronicle: at least 60 KB, characters of the tail all known from the training part, no paragraph twice.
 */
TEST(the_chronicle_is_fit_to_learn_from) {
    Task *task = opened("lm", task_defaults());
    const Corpus *c = task_text_corpus(task);
    CHECK(c->count >= 60 * 1024, "%ld", c->count);
    CHECK(task->vocab_size == 58, "data/README.md says 58, found %ld", task->vocab_size);
    static char known[128];
    for (long i = 0; i < c->training; i++) known[c->ids[i]] = 1;
    for (long i = c->training; i < c->count; i++) CHECK(known[c->ids[i]]);

    char *paragraph[1000];
    size_t count = 0, length;
    char *text = whole_file("data/chronicle.txt", &length), *at = text;
    for (size_t i = 0; i < length; i++) CHECK((unsigned char)text[i] < 0x80);
    for (char *end; count < 1000 && (end = strstr(at, "\n\n")); at = end + 2)
        *end = 0, paragraph[count++] = at;
    CHECK(count > 100 && count < 1000, "%zu paragraphs", count);
    qsort(paragraph, count, sizeof *paragraph, by_text);
    for (size_t i = 1; i < count; i++)
        CHECK(strcmp(paragraph[i - 1], paragraph[i]), "twice: %s", paragraph[i]);
    free(text);

    check_entropies(c->ids, c->count, task->vocab_size, 2.986, 2.145,
                    0.001); /* as ten lines of Python count */
    task_free(task);
}

/* The verse as it ships, without a line feed, is 0 to 14, and the whole of it is one window of context 14. */
TEST(the_verse_is_ids_0_to_14_as_it_ships) {
    TaskOptions o = task_defaults();
    o.text = "data/flower.txt", o.context = 14, o.validation = 0;
    Task *task = opened("lm", o);
    Batch *b = batch_for(task, 1);
    CHECK(task->vocab_size == 15 && task->held_out == 1);
    task_training_batch(task, 0, 0, 1, b);
    for (int i = 0; i < 14; i++) CHECK(b->target_in[i] == i && b->target_out[i] == i + 1);
    batch_free(b), task_free(task);
}

RUN_TESTS
