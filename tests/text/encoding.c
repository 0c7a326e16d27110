/* Bytes that are text, and what a user reads about those that are not. */
#include "text/encoding.h"
#include "test.h"
#include <string.h>

#define BYTES(text)    text, sizeof text - 1
#define CONVERTS(from) ", need UTF-8 text or --tokenizer byte; iconv -f " from " -t UTF-8 "

/* UTF-16 is named by its mark; of other bytes the place of the first that is no text. The command
 * can be pasted, whatever the name is. */
TEST(bytes_that_are_no_text) {
    static const struct {
        const char *where, *text;
        size_t length;
        const char *want;
    } cases[] = {
        {"f", BYTES("\xFF\xFEt\0h\0"), "f: found UTF-16" CONVERTS("UTF-16") "f >NEW converts it"},
        {"f", BYTES("\xFE\xFF\0t\0h"), "f: found UTF-16" CONVERTS("UTF-16") "f >NEW converts it"},
        {"f", BYTES("\xFF\xFE"), "f: found UTF-16" CONVERTS("UTF-16") "f >NEW converts it"},
        {"f", BYTES("\xFF\xFE\0\0t\0\0\0"),
         "f: byte 0: found 0xFF" CONVERTS("ENCODING") "f >NEW converts it"},
        {"f", BYTES("\xFF"), "f: byte 0: found 0xFF" CONVERTS("ENCODING") "f >NEW converts it"},
        {"it's", BYTES("na\xEFve"),
         "it's: byte 2: found 0xEF" CONVERTS("ENCODING") "'it'\\''s' >NEW converts it"},
        {"a b", BYTES("a\0b"),
         "a b: byte 1: found 0x00" CONVERTS("ENCODING") "'a b' >NEW converts it"},
        {"f", BYTES("Wind, Füß\xC3"),
         "f: byte 11: found 0xC3" CONVERTS("ENCODING") "f >NEW converts it"},
        {"a.gz", BYTES("\x1F\x8B\x08\0"),
         "a.gz: found a gzip file, need text; zcat a.gz | ./train pairs - reads it"},
        {"f", BYTES("\x28\xB5\x2F\xFD\0"),
         "f: found a zstd file, need text; zstdcat f | ./train lm - reads it"},
        {"f", BYTES("%PDF-1.7\n%\xE2\xE3"), "f: found a PDF file, need text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {0};
        CHECK(!text_check(cases[i].where, cases[i].text, cases[i].length, i % 2 ? "lm" : "pairs",
                          &e) &&
                  e.status == STATUS_BAD_DATA && !strcmp(e.text, cases[i].want),
              "found %s, want %s", e.text, cases[i].want);
    }
}

TEST(text_is_text) {
    Error e = {0};
    CHECK(text_check("f", BYTES("\xEF\xBB\xBFWind, Füße, 无可奈何, \n\t"), "lm", &e), "%s", e.text);
    CHECK(text_check("f", "", 0, "lm", &e), "%s", e.text);
}

RUN_TESTS
