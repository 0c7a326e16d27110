/* UTF-8 against the grammar of RFC 3629, section 4, written out as a table, over every sequence
 * that matters.
 */
#include "base/utf8.h"
#include "expect_bug.h"

typedef struct Range {
    unsigned char low, high;
} Range;

/* UTF8-1 to UTF8-4 of the RFC's ABNF: what each byte of a character may be. */
static const struct {
    int bytes;
    Range range[UTF8_MAX];
} grammar[] = {
    {1, {{0x00, 0x7F}}},
    {2, {{0xC2, 0xDF}, {0x80, 0xBF}}},
    {3, {{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}},
    {3, {{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {3, {{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}},
    {3, {{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
    {4, {{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}},
};

/* Bytes of the character that the grammar sees at the start of s, or 0. */
static int by_grammar(const unsigned char *s, size_t length) {
    for (size_t g = 0; g < sizeof grammar / sizeof *grammar; g++) {
        int i = 0;
        while (i < grammar[g].bytes && (size_t)i < length && s[i] >= grammar[g].range[i].low &&
               s[i] <= grammar[g].range[i].high)
            i++;
        if (i == grammar[g].bytes) return i;
    }
    return 0;
}

/* Bytes that some character of the grammar goes on with, and none ends at. */
static bool is_begun(const unsigned char *s, size_t length) {
    for (size_t g = 0; g < sizeof grammar / sizeof *grammar; g++) {
        size_t i = 0;
        while (i < length && s[i] >= grammar[g].range[i].low && s[i] <= grammar[g].range[i].high)
            i++;
        if (i == length && i < (size_t)grammar[g].bytes) return true;
    }
    return false;
}

/* The end of s that begins a character. */
static size_t unfinished(const unsigned char *s, size_t length) {
    for (size_t back = 1; back < UTF8_MAX && back <= length; back++)
        if (is_begun(s + length - back, back)) return back;
    return 0;
}

/* Every pair of first bytes, followed by every pair out of the ends of the ranges, cut at every
 * length. */
TEST(follows_the_grammar) {
    static const unsigned char ends[] = {0x00, 0x7F, 0x80, 0x8F, 0x90,
                                         0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    const size_t n = sizeof ends;
    for (unsigned pair = 0; pair < 0x10000; pair += SANITIZER ? 7 : 1)
        for (size_t i = 0; i < n * n; i++) {
            unsigned char s[] = {(unsigned char)(pair >> 8), (unsigned char)pair, ends[i / n],
                                 ends[i % n]};
            for (size_t length = 0; length <= sizeof s; length++) {
                uint32_t c;
                int want = by_grammar(s, length), found = utf8_decode((char *)s, length, &c);
                CHECK(found == want, "%02X %02X %02X %02X cut at %zu: found %d, want %d", s[0],
                      s[1], s[2], s[3], length, found, want);
                CHECK(utf8_unfinished((char *)s, length) == unfinished(s, length),
                      "%02X %02X %02X %02X cut at %zu", s[0], s[1], s[2], s[3], length);
            }
        }
}

/* All 1,112,064 characters, in order, come back, and their bytes are in the same order (a property
 * of UTF-8 that a wrong encoder and decoder in league would break). */
TEST(every_character_comes_back) {
    char last[UTF8_MAX + 1] = "", bytes[UTF8_MAX + 1];
    long characters = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        int n = utf8_encode(c, bytes);
        uint32_t back = ~c;
        CHECK(utf8_decode(bytes, (size_t)n, &back) == n && back == c, "U+%04X came back as U+%04X",
              c, back);
        CHECK(by_grammar((unsigned char *)bytes, (size_t)n) == n, "U+%04X", c);
        bytes[n] = 0;
        CHECK(c == 0 || strcmp(last, bytes) < 0, "U+%04X", c);
        strcpy(last, bytes);
        characters++;
    }
    CHECK(characters == 1112064, "found %ld", characters);
    CHECK(utf8_encode(0x20AC, bytes) == 3 &&
          memcmp(bytes, "\xE2\x82\xAC", 3) == 0); /* €, from the RFC */
}

TEST(encoding_a_non_character_is_a_bug) {
    char out[UTF8_MAX];
    EXPECT_BUG("utf8_encode: U+D800 is no character", utf8_encode(0xD800, out));
    EXPECT_BUG("utf8_encode: U+DFFF is no character", utf8_encode(0xDFFF, out));
    EXPECT_BUG("utf8_encode: U+110000 is no character", utf8_encode(0x110000, out));
}

/* The message names the first byte that is wrong. */
TEST(names_the_byte) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"abc\x80", "t: byte 3: found 0x80, need UTF-8"},
        {"\xC3\xA9\xED\xA0\x80", "t: byte 2: found 0xED, need UTF-8"},
        {"ab\xE2\x82", "t: byte 2: found 0xE2, need UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {0};
        CHECK(!utf8_check("t", cases[i].text, strlen(cases[i].text), &e));
        CHECK(e.status == STATUS_BAD_DATA);
        CHECK(strcmp(e.text, cases[i].want) == 0, "found \"%s\", want \"%s\"", e.text,
              cases[i].want);
    }
    Error e = {0};
    CHECK(utf8_check("t", "na\xC3\xAFve \xF0\x9F\x99\x82", 11, &e) && e.status == STATUS_DONE);
    CHECK(utf8_check("t", "", 0, &e));
    CHECK(!utf8_check("t", "a\xE2\x82\xAC", 3,
                      &(Error){0}));       /* the byte after the end does not count */
    CHECK(utf8_check("t", "a\0b", 3, &e)); /* NUL is a character */
    CHECK(utf8_count("na\xC3\xAFve \xF0\x9F\x99\x82", 11) == 7);
}

/* Nothing that drives a terminal gets through, and 64 bytes are enough. */
TEST(escapes_names) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"embedding.weight", "embedding.weight"},
        {"caf\xC3\xA9", "caf\xC3\xA9"},
        {"a\x1B[2Jb\n\x7F", "a\\x1B[2Jb\\x0A\\x7F"},
        {"\xC2\x9B", "\\xC2\\x9B"},          /* CSI in one character */
        {"\xE2\x80\xAE", "\\xE2\\x80\\xAE"}, /* right-to-left override */
        {"\xFF\xC3", "\\xFF\\xC3"},
        {"\xFF"
         "a\xE2\x82z",
         "\\xFFa\\xE2\\x82z"},
        {"", ""},
    };
    char out[ESCAPED_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(strcmp(utf8_escape(out, cases[i].text), cases[i].want) == 0,
              "found \"%s\", want \"%s\"", out, cases[i].want);

    /* Controls (C0, DEL, C1), separators and directions (Unicode 15, sections 23.1 and 23.2), and
     * no others.
     */
    static const uint32_t hidden[][2] = {
        {0x01, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C},        {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2066, 0x2069}, {UINT32_MAX, UINT32_MAX}};
    int range = 0;
    for (uint32_t c = 1; c < 0x2100; c++) {
        char text[UTF8_MAX + 1] = "";
        utf8_encode(c, text);
        if (c > hidden[range][1]) range++;
        CHECK((strcmp(utf8_escape(out, text), text) != 0) == (c >= hidden[range][0]), "U+%04X: %s",
              c, out);
    }

    char name[101] = "", want[ESCAPED_TEXT] = "";
    memset(name, 1, 100);
    for (int i = 0; i < 64; i++) strcat(want, "\\x01");
    strcat(want, "...");
    CHECK(strcmp(utf8_escape(out, name), want) == 0, "found \"%s\"", out);
    memset(name, 'a', 100);
    memcpy(name + 62, "\xE2\x82\xAC", 3); /* a character across the limit is not cut in two */
    CHECK(strlen(utf8_escape(out, name)) == 62 + 3, "found \"%s\"", out);
}

/* The first error stays; a text is one line however it is put together, and keeps its two ends. */
TEST(keeps_the_first_error) {
    Error e = {0};
    CHECK(!error_set(&e, STATUS_IO, "%s: %d", "a\nb\x7F", 5));
    CHECK(!error_set(&e, STATUS_USAGE, "later"));
    CHECK(e.status == STATUS_IO && strcmp(e.text, "a?b?: 5") == 0, "found \"%s\"", e.text);

    for (size_t n = ERROR_TEXT - 20; n < 9000; n++) {
        if (n > ERROR_TEXT + 20) n += 999;
        char path[10001] = "";
        memset(path, 'p', n);
        Error cut = {0};
        error_set(&cut, STATUS_NO_INPUT, "%s: gone", path);
        CHECK(strlen(cut.text) == (n + 6 < ERROR_TEXT ? n + 6 : ERROR_TEXT - 1),
              "%zu: found %zu bytes", n, strlen(cut.text));
        if (n < 8000)
            CHECK(strcmp(cut.text + strlen(cut.text) - 6, ": gone") == 0, "found \"%s\"", cut.text);
        CHECK(cut.text[0] == 'p');
    }
}

/* A text that another program wrote, in place: what would drive a terminal, and what is no
 * character, are question marks. */
TEST(makes_printable) {
    static const struct {
        const char *text, *want;
    } cases[] = {{"plain text", "plain text"},
                 {"caf\xC3\xA9 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xF0\x9F\x98\x80"},
                 {"a\x1B[2J\tb\n\x7F", "a?[2J?b\n?"},
                 {"\xC2\x9B\xC2\xA0", "??\xC2\xA0"},
                 {"\xFF\xC3", "??"},
                 {"\xE2\x82z", "??z"},
                 {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        strcpy(text, cases[i].text);
        utf8_make_printable(text, "\n");
        CHECK(strcmp(text, cases[i].want) == 0, "found \"%s\", want \"%s\"", text, cases[i].want);
    }
}

RUN_TESTS
