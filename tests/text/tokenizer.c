/* Tokenizers: ids in order of first appearance, and text that comes back as it went in. */
#include "base/random.h"
#include "task_helpers.h"

static const char poem[] = "无可奈何花落去，似曾相识燕归来";

TEST(the_poems_characters_are_ids_0_to_14) {
    Error e = {0};
    Tokenizer *k = tokenizer_learn("poem", poem, strlen(poem), &e);
    CHECK(k && k->size == 15, "%s", e.text);
    int32_t ids[sizeof poem];
    long count;
    CHECK(tokenizer_encode(k, "poem", poem, strlen(poem), ids, &count, &e), "%s", e.text);
    CHECK(count == 15, "%ld", count);
    for (int i = 0; i < 15; i++) CHECK(ids[i] == i, "character %d has id %d", i, (int)ids[i]);
    CHECK(k->character[7] == 0xFF0C, "id 7 is U+%04X, want the comma", (unsigned)k->character[7]);
    tokenizer_free(k);
}

/* Ids follow the first appearance, not the code point. */
TEST(ids_follow_first_appearance) {
    Error e = {0};
    Tokenizer *k = tokenizer_learn("text", "banana cab", 10, &e);
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

/* Random text of n characters, from all of Unicode or, where narrow, from 40 code points of each byte length.
 */
static size_t random_text(uint64_t key, long n, bool narrow, char *out) {
    static const uint32_t first[] = {1, 0x80, 0x800, 0x10000}, last[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
    char *start = out;
    for (long i = 0; i < n; i++) {
        long bytes = random_below(key, (uint64_t)(2 * i), 4);
        long span = narrow ? 40 : (long)(last[bytes] - first[bytes]) + 1;
        uint32_t c = first[bytes] + (uint32_t)random_below(key, (uint64_t)(2 * i + 1), span);
        if (c >= 0xD800 && c <= 0xDFFF) c = 0xFFFD; /* no surrogates in UTF-8 */
        out += utf8_encode(c, out);
    }
    *out = 0;
    return (size_t)(out - start);
}

TEST(decode_undoes_encode_on_random_text) {
    enum { MOST = 200 };
    char text[MOST * UTF8_MAX + 1], back[MOST * UTF8_MAX + 1];
    int32_t ids[MOST * UTF8_MAX];
    for (int round = 0; round < 400; round++) {
        uint64_t key = random_key(3, (uint64_t)round);
        long n = round % (MOST + 1), count = -1;
        size_t length = random_text(key, n, round % 2, text);
        Error e = {0};
        Tokenizer *k = tokenizer_learn("text", text, length, &e);
        CHECK(k && tokenizer_encode(k, "text", text, length, ids, &count, &e), "%s", e.text);
        CHECK(count == n, "%ld characters, want %ld", count, n);
        CHECK(tokenizer_decode(k, ids, count, back) == length && !memcmp(back, text, length + 1));
        for (long i = 0; i < n; i++) CHECK(ids[i] >= 0 && ids[i] < k->size);
        tokenizer_free(k);
    }
}

/* The string is the whole tokenizer: parsed again it encodes to the same ids. */
TEST(the_vocabulary_survives_as_a_string) {
    enum { LENGTH = 3000 };
    static char text[LENGTH * UTF8_MAX + 1];
    static int32_t ids[LENGTH * UTF8_MAX], again[LENGTH * UTF8_MAX];
    Error e = {0};
    long count = 0, count_again = 0;
    size_t length = random_text(random_key(4, 0), LENGTH, true, text);
    Tokenizer *k = tokenizer_learn("text", text, length, &e);
    char *string = tokenizer_string(k, &e), *string_again;
    CHECK(k->size == 160, "%ld", k->size);
    Tokenizer *parsed = tokenizer_parse("string", string, &e);
    CHECK(parsed && parsed->size == k->size, "%s", e.text);
    string_again = tokenizer_string(parsed, &e);
    CHECK(!strcmp(string, string_again));
    CHECK(tokenizer_encode(k, "text", text, length, ids, &count, &e));
    CHECK(tokenizer_encode(parsed, "text", text, length, again, &count_again, &e));
    CHECK(count == LENGTH && count_again == LENGTH && !memcmp(ids, again, LENGTH * sizeof *ids));
    free(string), free(string_again), tokenizer_free(k), tokenizer_free(parsed);
}

TEST(the_tokenizer_names_character_and_byte_of_what_it_refuses) {
    static const struct {
        const char *prompt;
        size_t length;
        const char *want;
    } prompts[] = {
        {"aé語b", 7, "prompt: byte 3: found '語' (U+8A9E), need one of the 5 characters of the vocabulary"},
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
        CHECK(!tokenizer_encode(k, "prompt", prompts[i].prompt, prompts[i].length, ids, &count, &e));
        CHECK_ERROR(e, STATUS_BAD_DATA, prompts[i].want);
    }
    tokenizer_free(k);

    e = (Error){0};
    CHECK(!tokenizer_learn("f.txt", "é\0b", 4, &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "f.txt: byte 2: found a NUL, need UTF-8 text");
    e = (Error){0};
    CHECK(!tokenizer_parse("vocabulary", "aéé", &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "vocabulary: byte 3: found a duplicate character, need each once");
    e = (Error){0};
    CHECK(!tokenizer_parse("vocabulary", "", &e));
    CHECK_ERROR(e, STATUS_BAD_DATA, "vocabulary: found an empty vocabulary, need a character");
}

/* Whatever a model says can be printed: special tokens and nonsense read as U+FFFD. */
TEST(any_ids_can_be_printed) {
    Error e = {0};
    Tokenizer *k = tokenizer_parse("vocabulary", "ab", &e);
    char out[5 * UTF8_MAX + 1];
    CHECK(tokenizer_decode(k, (int32_t[]){0, 2, 1, -1, INT32_MAX}, 5, out) == 11);
    CHECK(!strcmp(out, "a\uFFFDb\uFFFD\uFFFD"), "%s", out);
    tokenizer_free(k);
}

RUN_TESTS
