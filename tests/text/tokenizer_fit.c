/* The tokens chosen for texts that are made: letters at random gain nothing by merges, words that
 * come again do. */
#include "text/tokenizer_fit.h"
#include "base/random.h"
#include "task_helpers.h"

enum { BYTES = 300000 };

static void check(const char *name, const char *text, double tokens, const TokenizerKind *want,
                  long size) {
    Error e = {0};
    const TokenizerKind *kind = NULL;
    long found = 0;
    Fit f = {0};
    CHECK(tokenizer_measure(&(Passage){name, text, strlen(text)}, 1, &f, &e), "%s", e.text);
    tokenizer_fit(&f, tokens, &kind, &found);
    CHECK(kind == want && found == size, "%s: %s %ld, want %s %ld", name, kind->choice.name, found,
          want->choice.name, size);
}

/* `letters` letters, each as often; a space after every eighth on average. */
static char *random_letters(long letters) {
    char *text = malloc(BYTES + 1);
    if (!text) exit(1);
    for (uint64_t i = 0; i < BYTES; i++)
        text[i] = random_below(random_key(5, 0), i, 8)
                      ? (char)('a' + random_below(random_key(5, 1), i, letters))
                      : ' ';
    text[BYTES] = 0;
    return text;
}

TEST(characters_where_letters_follow_each_other_at_random) {
    char *few = random_letters(4), *many = random_letters(26);
    check("4 letters", few, 1e6, &tokenizer_char, 0);
    check("26 letters", many, 1e6, &tokenizer_char, 0);
    free(few);
    free(many);
}

/* Words of a random language of 2,000, the n-th as often as 1/n. The more often the text is read,
 * the fewer tokens. */
TEST(byte_pairs_where_words_come_again) {
    char *letters = random_letters(26), *text = malloc(BYTES + 20), *end = text;
    if (!text) exit(1);
    for (uint64_t i = 0; end < text + BYTES; i++) {
        long rank = (long)exp(7.6 * (double)random_uniform(random_key(6, 0), i));
        end += sprintf(end, "%.*s ", (int)(3 + rank % 7), letters + 10 * rank);
    }
    for (char *c = text; c < end; c++)
        if (*c == ' ' && c + 1 < end && c[1] == ' ') *c = 'x';
    double characters = (double)(end - text);
    check("read 20 times", text, 20 * characters / 4, &tokenizer_bpe, 1024);
    check("read half", text, 0.5 * characters / 4, &tokenizer_bpe, 4096);
    /* The caller's choice stays. */
    const TokenizerKind *kind = &tokenizer_char;
    long size = 0;
    tokenizer_fit(&(Fit){0}, 1e6, &kind, &size);
    CHECK(kind == &tokenizer_char && size == 0);
    free(letters);
    free(text);
}

/* Nothing, one letter, and less than a token for each merge. */
TEST(texts_that_say_little) {
    check("nothing", "", 1e6, &tokenizer_char, 0);
    check("fifteen bytes", "th é无🙂\r\n", 1e6, &tokenizer_char, 0);
    check("one letter", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1e6, &tokenizer_char, 0);
    check("a word", "word", 0, &tokenizer_char, 0);
}

RUN_TESTS
