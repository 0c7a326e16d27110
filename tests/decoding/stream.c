/* Text that leaves while its tokens come, against what may leave by definition, found by trying. */
#include "decoding/stream.h"
#include "base/random.h"
#include "test.h"

enum { TOKENS = 60, CAPACITY = TOKENS * TOKEN_BYTES };

static Tokenizer *tokenizer(const char *string) {
    Error e = {0};
    Tokenizer *k = tokenizer_parse("test", string, &e);
    CHECK(k, "%s", e.text);
    return k;
}

/* Bytes of a text that may leave: none that the stop text, or one that may still come, has, and no
 * part of a character that one to three more bytes would complete. */
static size_t may_leave(const char *text, size_t n, const char *stop, bool *stopped) {
    size_t at = n, length = strlen(stop);
    *stopped = false;
    for (size_t i = 0; i < n; i++) {
        if (!length || at < n) break;
        size_t left = n - i < length ? n - i : length;
        if (memcmp(text + i, stop, left) == 0) {
            at = i;
            *stopped = left == length;
        }
    }
    if (*stopped) return at;
    for (size_t k = 1; k < UTF8_MAX && k <= at; k++)
        for (size_t more = 1; k + more <= UTF8_MAX; more++) {
            char whole[UTF8_MAX] = {0};
            uint32_t character;
            memcpy(whole, text + at - k, k);
            for (int rest = 0x80; rest < 0xC0; rest++) {
                memset(whole + k, rest, more);
                if (utf8_decode(whole, k + more, &character) == (int)(k + more)) return at - k;
            }
        }
    return at;
}

/* Random tokens, among them parts of é, 水 and 🙂, bytes that are no UTF-8, and tokens of several
 * bytes. */
static void check_stream(const Tokenizer *k, const char *stop, uint64_t seed) {
    static const unsigned char bytes[] = {'a',  'b',  'a',  'b',  0xC3, 0xA9, 0xE6, 0xB0,
                                          0xB4, 0xF0, 0x9F, 0x99, 0x82, 0xFF, 0,    'a'};
    char *out = NULL, text[CAPACITY] = {0};
    size_t written = 0, n = 0, want = 0;
    bool stopped = false;
    FILE *file = open_memstream(&out, &written);
    Stream s = {k, *stop ? stop : NULL, file};
    uint64_t key = random_key(seed, 0);
    for (uint64_t i = 0; i < TOKENS; i++) {
        if (stopped) break;
        long draw = random_below(key, i, 24);
        int32_t id = draw < 16 ? bytes[draw] : (int32_t)random_below(key, 1000 + i, k->size);
        if (i > 0 && draw % 3 == 0 && bytes[draw % 16] >= 0xC0) id = bytes[draw % 16];
        n += tokenizer_decode(k, &id, 1, text + n);
        bool on = stream_take(&s, id);
        want = may_leave(text, n, stop, &stopped);
        fflush(file);
        CHECK(on == !stopped, "seed %lu, token %lu", (unsigned long)seed, (unsigned long)i);
        CHECK(written == want && !memcmp(out, text, want),
              "seed %lu, token %lu: %zu bytes, want %zu", (unsigned long)seed, (unsigned long)i,
              written, want);
    }
    stream_end(&s);
    fclose(file);
    bool ignored;
    if (!stopped) want = may_leave(text, n, "", &ignored);
    CHECK(written == want && !memcmp(out, text, want), "seed %lu: %zu bytes, want %zu",
          (unsigned long)seed, written, want);
    free(out);
}

TEST(bytes_leave_as_soon_as_they_may) {
    static const char *const stops[] = {"", "a", "ab", "aab", "abab", "ababb", "é", "水a", "b🙂"};
    Tokenizer *byte = tokenizer("tokenizer byte\n");
    Tokenizer *bpe = tokenizer("tokenizer bpe\n97 98\n256 97\n98 195\n169 97\n230 176\n256 256\n");
    for (uint64_t seed = 0; seed < 400; seed++)
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            check_stream(byte, stops[i], seed);
            check_stream(bpe, stops[i], seed);
        }
    tokenizer_free(byte);
    tokenizer_free(bpe);
}

RUN_TESTS
