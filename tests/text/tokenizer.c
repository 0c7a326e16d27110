/* Tokenizers: ids in order of first appearance, and text that comes back as it went in. */
#include "base/random.h"
#include "task_helpers.h"

static const char poem[] = "无可奈何花落去，似曾相识燕归来";

/* Ids follow the first appearance, not the code point. */
TEST(ids_follow_first_appearance) {
    Error e = {0};
    Tokenizer *k = learned(&tokenizer_char, 0, "banana cab", 10);
    static const int32_t want[] = {0, 1, 2, 1, 2, 1, 3, 4, 1, 0};
    int32_t ids[10];
    long count;
    CHECK(tokenizer_encode(k, "text", "banana cab", 10, ids, &count, &e) && count == 10);
    CHECK(!memcmp(ids, want, sizeof want));
    char *string = tokenizer_string(k, &e);
    CHECK(!strcmp(string, "ban c"), "%s", string);
    free(string);
    tokenizer_free(k);
}

TEST(the_tokenizer_names_refused_characters_and_their_bytes) {
    static const struct {
        const char *prompt;
        size_t length;
        const char *want;
    } prompts[] = {
        {"aé語b", 7,
         "prompt: byte 3: found '語' (U+8A9E), need one of the 5 characters of the vocabulary"},
        {"abc\033[2J", 7,
         "prompt: byte 3: found '\\x1B' (U+001B), need one of the 5 characters of the vocabulary"},
        {"ab\xC3", 3, "prompt: byte 2: found 0xC3, need UTF-8 text"},
    };
    int32_t ids[16];
    long count;
    Error e = {0};
    Tokenizer *k = tokenizer_parse("vocabulary", "abc é", &e);
    CHECK(tokenizer_encode(k, "prompt", "", 0, ids, &count, &e) && count == 0, "%s", e.text);
    for (int i = 0; i < 3; i++) {
        e = (Error){0};
        CHECK(
            !tokenizer_encode(k, "prompt", prompts[i].prompt, prompts[i].length, ids, &count, &e));
        CHECK_ERROR(e, STATUS_BAD_DATA, prompts[i].want);
    }
    tokenizer_free(k);

    e = (Error){0};
    CHECK(!tokenizer_parse("vocabulary", "aéé", &e));
    CHECK_ERROR(e, STATUS_BAD_DATA,
                "vocabulary: byte 3: found a duplicate character, need each once");
    e = (Error){0};
    CHECK(!tokenizer_parse("vocabulary", "", &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "vocabulary: found an empty vocabulary, need a character");
}

/* All ids can be printed: special tokens and ids without a meaning read as U+FFFD. */
TEST(any_ids_can_be_printed) {
    Error e = {0};
    Tokenizer *k = tokenizer_parse("vocabulary", "ab", &e);
    char out[5 * TOKEN_BYTES + 1];
    CHECK(tokenizer_decode(k, (int32_t[]){0, 2, 1, -1, INT32_MAX}, 5, out) == 11);
    CHECK(!strcmp(out, "a\uFFFDb\uFFFD\uFFFD"), "%s", out);
    tokenizer_free(k);
}

/* ---- Other tokens ---- */

/* Ids and texts of the tokens of a text, one after another. */
static const char *tokens_of(const Tokenizer *k, const char *text) {
    static char out[4096];
    char label[TOKEN_LABEL], *end = out;
    int32_t ids[1000];
    long count;
    Error e = {0};
    CHECK(tokenizer_encode(k, "text", text, strlen(text), ids, &count, &e), "%s", e.text);
    for (long i = 0; i < count; i++)
        end += sprintf(end, "%d:%s|", (int)ids[i], tokenizer_label(k, ids[i], label));
    return out;
}

/* The rule in text/words.h gives these words. Bars end them. */
TEST(words_by_hand) {
    static const char *const cases[] = {
        "The| cat|'s| 12| mice|,| don|'t| I|'ll|?!| '|tis|",
        "a|  | b|\n\n| c|\t|d|  |",
        " |",
        "x|1|y|22|_|z|",
        "«été»| Ελλάδα|",
        "无可奈何花落去，似曾相识燕归来|",
        "'s|'|abc|'|",
        "0123456789012345678901234567890123456789012345678901234567890123|456|",
        /* 61 letters and 2 characters of 2 bytes: a word of 64 bytes would end inside the second.
         */
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé|é|",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256] = "", found[512] = "";
        for (const char *at = cases[i]; *at; at++)
            if (*at != '|') strncat(text, at, 1);
        size_t length = strlen(text);
        for (size_t at = 0, n; at < length; at += n) {
            n = word_length(text + at, length - at);
            strncat(found, text + at, n);
            strcat(found, "|");
        }
        CHECK(!strcmp(found, cases[i]), "%s", found);
    }
}

TEST(the_poem_by_every_tokenizer) {
    static const long size[] = {15, 256, 0}, count[] = {15, 45, 0};
    for (int kind = 0; all_tokenizers[kind] != &tokenizer_ids.choice; kind++) {
        Error e = {0};
        Tokenizer *k = learned((const TokenizerKind *)all_tokenizers[kind], 0, poem, strlen(poem));
        int32_t ids[sizeof poem];
        char back[sizeof poem * TOKEN_BYTES];
        long n;
        CHECK(tokenizer_encode(k, "poem", poem, strlen(poem), ids, &n, &e), "%s", e.text);
        if (size[kind])
            CHECK(k->size == size[kind] && n == count[kind], "%ld ids, %ld tokens", k->size, n);
        for (int i = 0; i < n; i++)
            CHECK(k->kind != &tokenizer_char || ids[i] == i, "character %d: %d", i, (int)ids[i]);
        CHECK(n <= 45 && tokenizer_decode(k, ids, n, back) == strlen(poem) && !strcmp(back, poem),
              "%s", back);
        tokenizer_free(k);
    }
}

/* A text of numbers is these ids; others are refused. */
TEST(ids_are_numbers) {
    static const char text[] = "7 0\n12\t 3";
    Error e = {0};
    Tokenizer *k = learned(&tokenizer_ids, 0, text, strlen(text));
    CHECK(k->size == 13, "%ld", k->size);
    CHECK(!strcmp(tokens_of(k, text), "7:7 |0:0 |12:12 |3:3 |"), "%s", tokens_of(k, text));
    static const char *const wrong[] = {"13", "1 -2", "5 x", "99999999999999999999", "4.5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int32_t ids[32];
        long count;
        CHECK(!tokenizer_encode(k, "prompt", wrong[i], strlen(wrong[i]), ids, &count, &e));
        CHECK(e.status == STATUS_BAD_DATA, "%s: %s", wrong[i], e.text);
    }
    e = (Error){0};
    CHECK(!tokenizer_encode(k, "prompt", "5 x", 3, (int32_t[3]){0}, &(long){0}, &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "prompt: byte 2: found 'x', need numbers below 65536");
    tokenizer_free(k);
}

/* The string of every kind makes the same tokenizer; a vocabulary as older files have it is one of
 * characters. */
TEST(strings_of_every_kind) {
    static const char text[] = "the mill, the miller\n无可 and the mill",
                      twice[] = "无可奈何，无可无不可";
    static const struct {
        const TokenizerKind *kind;
        long size;
        const char *begins, *text;
    } cases[] = {{&tokenizer_char, 0, "the mil,r\n", text},
                 {&tokenizer_byte, 0, "tokenizer byte\nutf-8\n", text},
                 {&tokenizer_bpe, 260, "tokenizer bpe\n32 109\n104 101\n105 108\n116 257\n", text},
                 {&tokenizer_bpe, 262,
                  "tokenizer bpe\n143 175\n151 160\n229 256\n230 257\n259 258\n", twice},
                 {&tokenizer_ids, 0, "tokenizer ids\n78\n", "1 77 0"},
                 {&tokenizer_byte, 0, "tokenizer byte\n", "caf\xE9"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {0};
        Tokenizer *k = learned(cases[i].kind, cases[i].size, cases[i].text, strlen(cases[i].text));
        char *string = tokenizer_string(k, &e);
        CHECK(!strncmp(string, cases[i].begins, strlen(cases[i].begins)), "%s", string);
        Tokenizer *again = tokenizer_parse("f", string, &e);
        CHECK(again && again->kind == k->kind && again->size == k->size && again->utf8 == k->utf8,
              "%s", e.text);
        if (again) {
            char first[4096];
            strcpy(first, tokens_of(k, cases[i].text));
            CHECK(!strcmp(first, tokens_of(again, cases[i].text)), "%s", first);
        }
        free(string);
        tokenizer_free(k);
        tokenizer_free(again);
    }
}

TEST(strings_that_hold_no_tokenizer) {
    static const char *const wrong[][2] = {
        {"tokenizer byte\nx", "f: vocabulary: line 2: found another, need utf-8 or no line"},
        {"tokenizer bpe\n0 256\n",
         "f: vocabulary: line 2: found another, need the ids of two earlier tokens"},
        {"tokenizer bpe\n1 2\n3 4",
         "f: vocabulary: line 3: found another, need the ids of two earlier tokens"},
        {"tokenizer bpe\n1 2\n1 2\n",
         "f: vocabulary: line 3: found another, need a new pair of at most 64 bytes"},
        {"tokenizer bpe\n0 0\n256 256\n257 257\n258 258\n259 259\n260 260\n261 261\n",
         "f: vocabulary: line 8: found another, need a new pair of at most 64 bytes"},
        {"tokenizer bpe\n01 2\n",
         "f: vocabulary: line 2: found another, need the ids of two earlier tokens"},
        {"tokenizer bpe\n无\n",
         "f: vocabulary: line 2: found another, need the ids of two earlier tokens"},
        {"tokenizer ids\n0\n", "f: vocabulary: line 2: found another, need the number of ids"},
        {"tokenizer ids\n65537\n", "f: vocabulary: line 2: found another, need the number of ids"},
        {"tokenizer ids\n5 \n", "f: vocabulary: line 2: found another, need the number of ids"},
        {"tokenizer xyz\n", "f: byte 7: found a duplicate character, need each once"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error e = {0};
        CHECK(!tokenizer_parse("f", wrong[i][0], &e), "%s", wrong[i][0]);
        CHECK_ERROR(e, STATUS_BAD_DATA, wrong[i][1]);
    }
    static const long sizes[] = {255, 70000};
    for (int i = 0; i < 2; i++) {
        Error e = {0};
        CHECK(!tokenizer_learn(&tokenizer_bpe, sizes[i], &(Passage){"f", "ab", 2}, 1, &e));
        CHECK(e.status == STATUS_USAGE, "%s", e.text);
    }
}

RUN_TESTS
