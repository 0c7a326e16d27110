/* JSON: the grammar of RFC 8259, accepted and refused case by case, and what strings and numbers
 * mean. */
#include "formats/json.h"
#include "base/utf8.h"
#include "expect_bug.h"

/* Whether the text, given a block of exactly its size, is one JSON value; the message is left in
 * `text`. */
static char text[ERROR_TEXT];

static bool is_json(const char *bytes, size_t length) {
    char *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    Error e = {0};
    Json j = json_over("t", copy, length, &e);
    bool skipped = json_skip(&j);
    CHECK(skipped == !j.failed);
    bool ok = json_end(&j);
    CHECK(ok == (e.status == STATUS_DONE) && (ok || e.status == STATUS_BAD_DATA), "status %d",
          e.status);
    free(copy);
    strcpy(text, e.text);
    return ok;
}

TEST(accepts_the_grammar) {
    static const char *const cases[] = {
        "{}",
        "0",
        "-0",
        "10",
        "1.5",
        "-0.0e-0",
        "1E5",
        "123456789012345678901234567890",
        "1e999",
        "\"\"",
        " [ ] ",
        "\t\r\n{\t}\r\n",
        "[ 1 , 2 ]",
        "{ \"a\" : 1 , \"b\" : [ { } ] }",
        "{\"\":0}",
        "{\"a\":1,\"a\":2}",
        "[null,true,false]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\ud800\\udc00\\ud7ff\\ue000\"",
        "\"\\u0041\\u00e9\\u20AC\\ud834\\uDD1E\\u0000\\uFFFF\\uDBFF\\uDFFF\"",
        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E\xF4\x8F\xBF\xBF\"",
        "\"\x7F\"",
        "[\"a\",1.0e3,{\"b\":null}]"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(is_json(cases[i], strlen(cases[i])), "%s: %s", cases[i], text);
}

TEST(refuses_the_rest) {
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"", "t: byte 0: found the end, need a value"},
        {"[", "t: byte 1: found the end, need a value"},
        {"[1", "t: byte 2: found the end, need a comma or ]"},
        {"[1,", "t: byte 3: found the end, need a value"},
        {"[1,]", "t: byte 3: found ']', need a value"},
        {"[,1]", "t: byte 1: found ',', need a value"},
        {"[1 2]", "t: byte 3: found '2', need a comma or ]"},
        {"[1}", "t: byte 2: found '}', need a comma or ]"},
        {"[]]", "t: byte 2: found ']', need nothing more"},
        {"{", "t: byte 1: found the end, need a string"},
        {"{\"a\"}", "t: byte 4: found '}', need a colon"},
        {"{\"a\":}", "t: byte 5: found '}', need a value"},
        {"{\"a\":1,}", "t: byte 7: found '}', need a string"},
        {"{\"a\":1]", "t: byte 6: found ']', need a comma or }"},
        {"{\"a\" 1}", "t: byte 5: found '1', need a colon"},
        {"{a:1}", "t: byte 1: found 'a', need a string"},
        {"{\"a\":1}x", "t: byte 7: found 'x', need nothing more"},
        {"1 \x7F", "t: byte 2: found byte 0x7F, need nothing more"},
        {"\xEF\xBB\xBF{}", "t: byte 0: found byte 0xEF, need a value"},
        {"NaN", "t: byte 0: found 'N', need a value"},
        {"\"", "t: byte 1: found the end, need a closing quote"},
        {"\"a", "t: byte 2: found the end, need a closing quote"},
        {"\"\\", "t: byte 2: found the end, need a JSON escape"},
        {"\"\\x41\"", "t: byte 2: found 'x', need a JSON escape"},
        {"\"\\u12\"", "t: byte 5: found '\"', need a hexadecimal digit"},
        {"\"\\u123g\"", "t: byte 6: found 'g', need a hexadecimal digit"},
        {"\"\\ud800\"", "t: byte 7: found the first half of a surrogate pair alone"},
        {"\"\\ud800\\u0041\"", "t: byte 13: found the first half of a surrogate pair alone"},
        {"\"\\ud800\\u", "t: byte 9: found the end, need a hexadecimal digit"},
        {"\"\\udbff\\ue000\"", "t: byte 13: found the first half of a surrogate pair alone"},
        {"\"\\udc00\"", "t: byte 7: found the second half of a surrogate pair alone"},
        {"\"\n\"", "t: byte 1: found control character 0x0A in a string"},
        {"\"\x1F\"", "t: byte 1: found control character 0x1F in a string"},
        {"\"\xC0\x80\"", "t: byte 1: found byte 0xC0, need UTF-8"},
        {"\"\xFF\"", "t: byte 1: found byte 0xFF, need UTF-8"},
        {"\"\xC3", "t: byte 1: found byte 0xC3, need UTF-8"},
        {"[\x0B]", "t: byte 1: found byte 0x0B, need a value"},
        {"\xC2\xA0[]", "t: byte 0: found byte 0xC2, need a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(!is_json(cases[i].json, strlen(cases[i].json)), "%s", cases[i].json);
        CHECK(strcmp(text, cases[i].want) == 0, "%s: found %s, want %s", cases[i].json, text,
              cases[i].want);
        char copy[32];
        Error e = {0};
        JsonString s;
        strcpy(copy, cases[i].json);
        Json j = json_over("t", copy, strlen(copy), &e);
        CHECK(json_string(&j, &s) == !j.failed, "%s", cases[i].json);
    }
    CHECK(!is_json("\"\\u 123\"", 8) &&
              strcmp(text, "t: byte 3: found byte 0x20, need a hexadecimal digit") == 0,
          "%s", text);
    /* NULs are bytes like others, and none of them is allowed. */
    static const char *const nuls[] = {"\0", "[\0]", "{}\0", "\"\0\""};
    static const size_t lengths[] = {1, 3, 3, 3};
    for (int i = 0; i < 4; i++) CHECK(!is_json(nuls[i], lengths[i]), "%d", i);
}

TEST(limits_depth) {
    char deep[2 * JSON_DEPTH + 2];
    memset(deep, '[', JSON_DEPTH);
    memset(deep + JSON_DEPTH, ']', JSON_DEPTH);
    CHECK(is_json(deep, 2 * JSON_DEPTH), "%s", text);
    memset(deep, '[', JSON_DEPTH + 1);
    CHECK(!is_json(deep, sizeof deep) &&
              strcmp(text, "t: byte 64: found '[', need less depth") == 0,
          "%s", text);
}

/* The string that the JSON of one means. */
static JsonString decoded(char *json, size_t length) {
    Error e = {0};
    JsonString s = {0};
    Json j = json_over("t", json, length, &e);
    CHECK(json_string(&j, &s) && json_end(&j), "%s", e.text);
    return s;
}

TEST(decodes_strings) {
    char json[] =
        "\"A\\u0041\\u00E9\xC3\xA9\\u20ac\\ud834\\udd1E\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000z\"";
    static const char want[] = "AA\xC3\xA9\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E\"\\/\b\f\n\r\t\0z";
    JsonString s = decoded(json, sizeof json - 1);
    CHECK(s.length == sizeof want - 1 && memcmp(s.text, want, sizeof want) == 0, "found %zu bytes",
          s.length);
}

/* Every character, printed as JSON, comes back, and print lets no control character through. */
TEST(prints_the_values_that_it_reads) {
    for (uint32_t c = 1; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 0x3FB) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        char plain[16] = "a";
        size_t n = 1 + (size_t)utf8_encode(c, plain + 1);
        plain[n++] = 'z';
        plain[n] = 0;
        char *json = NULL;
        size_t size;
        FILE *f = open_memstream(&json, &size);
        json_print(f, plain);
        fclose(f);
        for (size_t i = 0; i < size; i++)
            CHECK((unsigned char)json[i] >= ' ' && json[i] != 0x7F, "U+%04X", c);
        JsonString s = decoded(json, size);
        CHECK(s.length == n && memcmp(s.text, plain, n) == 0, "U+%04X", c);
        free(json);
    }
    char *json = NULL;
    size_t size;
    FILE *f = open_memstream(&json, &size);
    json_print(f, "a\xFF\xC3z \x01\x1F\x7F\"\\/\b\f\n\r\t");
    fclose(f);
    CHECK(strcmp(json,
                 "\"a\xEF\xBF\xBD\xEF\xBF\xBDz \\u0001\\u001F\\u007F\\\"\\\\/\\b\\f\\n\\r\\t\"") ==
              0,
          "%s", json);
    free(json);
}

TEST(reads_natural_numbers) {
    static const struct {
        const char *json;
        uint64_t value;
        const char *want; /* NULL: it is one */
    } cases[] = {
        {"0", 0, NULL},
        {" 42 ", 42, NULL},
        {"18446744073709551615", UINT64_MAX, NULL},
        {"18446744073709551616", 0, "t: byte 0: found '1', need a number below 2^64"},
        {"123456789012345678901234567890", 0, "t: byte 0: found '1', need a number below 2^64"},
        {"-1", 0, "t: byte 0: found '-', need a number of digits only"},
        {"1.0", 1, "t: byte 1: found '.', need nothing more"},
        {"", 0, "t: byte 0: found the end, need a number of digits only"},
        {"1x", 1, "t: byte 1: found 'x', need nothing more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[40];
        Error e = {0};
        uint64_t value = 0;
        strcpy(json, cases[i].json);
        Json j = json_over("t", json, strlen(json), &e);
        json_natural(&j, &value);
        CHECK(json_end(&j) == !cases[i].want, "%s", cases[i].json);
        CHECK(value == cases[i].value, "%s", cases[i].json);
        CHECK(strcmp(e.text, cases[i].want ? cases[i].want : "") == 0, "found %s", e.text);
    }
}

/* A value of another kind than the walk expects is an error, and is not skipped. */
TEST(a_walk_expects_kinds_of_values) {
    static const struct {
        char open;
        const char *json, *want;
    } cases[] = {
        {'{', "[]", "t: byte 0: found '[', need an object"},
        {'[', "{}", "t: byte 0: found '{', need an array"},
        {'{', "\"{\"", "t: byte 0: found '\"', need an object"},
        {'[', "", "t: byte 0: found the end, need an array"},
        {'[', " 1", "t: byte 1: found '1', need an array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[8];
        Error e = {0};
        strcpy(json, cases[i].json);
        Json j = json_over("t", json, strlen(json), &e);
        CHECK(!json_enter(&j, cases[i].open) && !json_end(&j) && j.depth == 0);
        CHECK(strcmp(e.text, cases[i].want) == 0, "found %s, want %s", e.text, cases[i].want);
    }
    char json[] = "12";
    Error e = {0};
    JsonString s;
    Json j = json_over("t", json, 2, &e);
    CHECK(!json_string(&j, &s) && strcmp(e.text, "t: byte 0: found '1', need a string") == 0, "%s",
          e.text);
}

/* A walk that goes on after a failure does nothing: the first message stays, no call succeeds. */
TEST(the_first_error_stays) {
    char json[] = "[1, x, \"s\", {}, 2]";
    Error e = {0};
    uint64_t n = 0;
    JsonString s;
    Json j = json_over("t", json, sizeof json - 1, &e);
    CHECK(json_enter(&j, '[') && json_element(&j) && json_natural(&j, &n) && json_element(&j));
    CHECK(!json_natural(&j, &n));
    CHECK(!json_element(&j) && !json_string(&j, &s) && !json_enter(&j, '{') &&
          !json_member(&j, &s) && !json_skip(&j) && !json_natural(&j, &n) &&
          !json_fail(&j, "later") && !json_end(&j));
    CHECK(n == 1 && strcmp(e.text, "t: byte 4: found 'x', need a number of digits only") == 0, "%s",
          e.text);
}

TEST(wrong_walks_are_bugs) {
    char json[] = "[[]]";
    Error e = {0};
    JsonString key;
    Json j = json_over("t", json, 4, &e);
    EXPECT_BUG("json: t: no [ is open", json_element(&j));
    json_enter(&j, '[');
    EXPECT_BUG("json: t: no { is open", json_member(&j, &key));
    EXPECT_BUG("json: t: a bracket is still open", json_end(&j));
}

RUN_TESTS
