/* .safetensors files: files of the format's own library are read, written tensors come back, and
 * any other file is refused with the place and the reason. */
#include "formats/safetensors.h"
#include "base/crc32.h"
#include "expect_bug.h"
#include "folder.h"
#include "test.h"

/* ---- Files of the format's own library, from tests/fixtures/make_files.py ---- */

/* The value that make_files.py put into element i. */
static void check_values(const Array *a) {
    double values[16];
    CHECK(a->count <= 16);
    array_to_double(a, values);
    for (long i = 0; i < a->count; i++) {
        double want = a->dtype >= DTYPE_F16 ? (double)i / 2 - 1 : (double)i;
        CHECK(values[i] == want, "%s: element %ld: found %g, want %g", a->name, i, values[i], want);
    }
}

TEST(reads_the_librarys_files) {
    static const struct {
        const char *name;
        Dtype dtype;
        Shape shape;
    } want[] = {
        {"bias", DTYPE_F64, DIMS(3)}, {"empty", DTYPE_F32, DIMS(0, 4)},
        {"half", DTYPE_F16, DIMS(5)}, {"ids", DTYPE_I32, DIMS(2, 2)},
        {"step", DTYPE_I64, {0}},     {"weight", DTYPE_F32, DIMS(2, 3)},
    };
    enum { TENSORS = sizeof want / sizeof *want };
    Safetensors s;
    Error e = {0};
    CHECK(safetensors_read(&s, "tests/fixtures/mixed.safetensors", &e), "%s", e.text);
    CHECK(s.tensors == TENSORS && s.metadata_count == 2, "found %d, %d", s.tensors,
          s.metadata_count);
    for (int i = 0; i < s.tensors && i < TENSORS; i++) {
        const Array *a = safetensors_need(&s, want[i].name, &e);
        CHECK(a == &s.tensor[i], "%s", want[i].name); /* they are in the order of their names */
        CHECK(a && a->dtype == want[i].dtype && array_expect_shape(a, want[i].shape, &e), "%s",
              e.text);
        if (a) check_values(a);
    }
    CHECK(strcmp(safetensors_metadata(&s, "kind"), "lm") == 0);
    CHECK(strcmp(safetensors_metadata(&s, "note"), "caf\xC3\xA9 \"quoted\"\n") == 0);
    CHECK(!safetensors_metadata(&s, "heads") && !safetensors_find(&s, "weigh"));
    CHECK(!safetensors_need(&s, "head.weight", &e) && e.status == STATUS_BAD_DATA);
    CHECK(strcmp(e.text, "tests/fixtures/mixed.safetensors: found no tensor \"head.weight\"") == 0,
          "%s", e.text);
    safetensors_free(&s);

    e = (Error){0};
    CHECK(safetensors_read(&s, "tests/fixtures/nothing.safetensors", &e) && s.tensors == 0 &&
          !s.metadata_count);
    CHECK(!safetensors_find(&s, "x") && !safetensors_metadata(&s, "x"));
    safetensors_free(&s);
    CHECK(safetensors_read(&s, "tests/fixtures/bfloat16.safetensors", &e) && s.tensors == 1);
    CHECK(s.tensor[0].dtype == DTYPE_BF16 && s.tensor[0].count == 5);
    check_values(&s.tensor[0]);
    safetensors_free(&s);
}

/* ---- Writing ---- */

static const char numbers[] =
    "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37";

static const Metadata metadata[] = {{"kind", "lm"},
                                    {"", "an empty key"},
                                    {"empty", ""},
                                    {"vocabulary", " \t\n\r\"\\/\x01\x7F\xC3\xA9\xF0\x9F\x99\x82"}};
enum { METADATA = sizeof metadata / sizeof *metadata };

enum { ARRAYS = 7 };
static void make_arrays(Array a[ARRAYS]) {
    a[0] = array_over("mask", DTYPE_I32, SHAPE(3), numbers);
    a[1] = array_over("w \"\n\xC3\xA9\\", DTYPE_F32, SHAPE(1, 5), numbers + 1);
    a[2] = array_over("half", DTYPE_BF16, SHAPE(3), numbers + 2);
    a[3] = array_over("moment", DTYPE_F64, SHAPE(2, 2), numbers);
    a[4] = array_over("empty", DTYPE_F64, SHAPE(0, 7), NULL);
    a[5] = array_over("ids", DTYPE_I32, SHAPE(2, 1, 1, 1, 1, 1), numbers + 3);
    a[6] = array_over("step", DTYPE_I64, SCALAR, numbers + 4);
}

/* True if s holds exactly these tensors. */
static bool same_tensors(const Safetensors *s, const Array *want, int count) {
    bool same = s->tensors == count;
    for (int i = 0; i < count; i++) {
        if (!same) break;
        const Array *a = safetensors_find(s, want[i].name);
        same = a && a->dtype == want[i].dtype && a->rank == want[i].rank &&
               a->count == want[i].count &&
               memcmp(a->size, want[i].size, (size_t)a->rank * sizeof *a->size) == 0 &&
               (!a->count ||
                memcmp(a->bytes, want[i].bytes, (size_t)a->count * dtype_size(a->dtype)) == 0);
    }
    return same;
}

TEST(written_tensors_come_back) {
    const char *path = in_folder("a.safetensors");
    Array a[ARRAYS];
    Safetensors s;
    Error e = {0};
    make_arrays(a);
    CHECK(safetensors_write(path, metadata, METADATA, a, ARRAYS, &e), "%s", e.text);
    CHECK(safetensors_read(&s, path, &e), "%s", e.text);
    CHECK(same_tensors(&s, a, ARRAYS) && s.metadata_count == METADATA);
    for (int i = 0; i < METADATA; i++) {
        const char *value = safetensors_metadata(&s, metadata[i].key);
        CHECK(value && strcmp(value, metadata[i].value) == 0, "%s: found %s", metadata[i].key,
              value ? value : "none");
    }
    uint64_t header;
    memcpy(&header, s.data, 8);
    CHECK(header % 8 == 0, "found a header of %d bytes", (int)header);
    for (int i = 0; i < s.tensors; i++) {
        size_t at = (size_t)((const char *)s.tensor[i].bytes - s.data);
        CHECK(at % dtype_size(s.tensor[i].dtype) == 0, "%s lies at byte %zu", s.tensor[i].name, at);
    }

    /* Tensors can be written over the file that they were read from, and give the same file. */
    size_t size_before, size_after;
    Metadata in_order[METADATA];
    for (int i = 0; i < METADATA; i++) in_order[i] = s.metadata[i];
    CHECK(safetensors_write(path, in_order, METADATA, s.tensor, s.tensors, &e), "%s", e.text);
    char *before = read_bytes(path, &size_before);
    safetensors_free(&s);
    CHECK(safetensors_read(&s, path, &e) && same_tensors(&s, a, ARRAYS), "%s", e.text);
    CHECK(safetensors_write(path, s.metadata, s.metadata_count, s.tensor, s.tensors, &e), "%s",
          e.text);
    char *after = read_bytes(path, &size_after);
    CHECK(size_before == size_after && memcmp(before, after, size_after) == 0);
    free(before);
    free(after);
    safetensors_free(&s);

    CHECK(safetensors_write(path, NULL, 0, NULL, 0, &e) && safetensors_read(&s, path, &e), "%s",
          e.text);
    CHECK(s.tensors == 0 && s.metadata_count == 0);
    safetensors_free(&s);
    CHECK(!safetensors_write("/nowhere/a", NULL, 0, NULL, 0, &e) &&
          e.status == STATUS_CANNOT_CREATE);
    e = (Error){0};
    memset(&s, 0xAA, sizeof s);
    CHECK(!safetensors_read(&s, folder, &e) && e.status == STATUS_NO_INPUT && !s.data);
    safetensors_free(&s);
}

/* ---- Files made here ---- */

/* Reads a file of this header and as many bytes of data, in a block of exactly its size. Returns
 * the message,
 * "" if it was read. `claim` is the length of the header that the file says it has. */
static const char *message_of(uint64_t claim, const char *header, size_t length, size_t data) {
    static char text[ERROR_TEXT];
    char *file = malloc(8 + length + data);
    memcpy(file, &(uint64_t){claim}, 8);
    memcpy(file + 8, header, length);
    memset(file + 8 + length, 1, data);
    Error e = {0};
    Safetensors s;
    bool ok = safetensors_parse(&s, "t", file, 8 + length + data, &e);
    CHECK(ok ? e.status == STATUS_DONE : e.status == STATUS_BAD_DATA && !s.data && !s.tensor,
          "status %d", e.status);
    safetensors_free(&s);
    strcpy(text, e.text);
    return text;
}

/* In headers of tests ' stands for ". */
static const char *message(const char *header, size_t data) {
    char *json = strdup(header);
    for (char *at = strchr(json, '\''); at; at = strchr(at, '\'')) *at = '"';
    const char *text = message_of(strlen(json), json, strlen(json), data);
    free(json);
    return text;
}

#define F32(name, shape, from, to)                                                                 \
    "'" name "':{'dtype':'F32','shape':" shape ",'data_offsets':[" #from "," #to "]}"

TEST(refuses_malformed_headers) {
    static const struct {
        const char *header;
        size_t data;
        const char *want;
    } cases[] = {
        /* Objects. */
        {"", 0, "byte 0: found the end, need an object"},
        {"[]", 0, "byte 0: found '[', need an object"},
        {"{}x", 0, "byte 2: found 'x', need nothing more"},
        {"{}", 1, "found 1 bytes after the last tensor's data"},

        /* Names and keys. */
        {"{" F32("", "[1]", 0, 4) "}", 4, "byte 4: found a tensor without a name"},
        {"{" F32("a\\u0000", "[1]", 0, 4) "}", 4, "byte 11: found U+0000 in a string"},
        {"{" F32("a", "[1]", 0, 4) "," F32("a", "[1]", 4, 8) "}", 8,
         "header: found duplicate key \"a\""},
        {"{" F32("a", "[1]", 0, 4) "," F32("b", "[1]", 4, 8) "," F32("a", "[1]", 0, 4) "}", 8,
         "header: found duplicate key \"a\""},
        {"{" F32("\\u001b[2J", "[0]", 0, 0) "," F32("\\u001b[2J", "[0]", 0, 0) "}", 0,
         "header: found duplicate key \"\\x1B[2J\""},
        {"{'a':{'dtype':'F32','dtype':'F32','shape':[1],'data_offsets':[0,4]}}", 4,
         "byte 28: found duplicate key \"dtype\""},
        {"{'a':{'dtype':'F32','shape':[1],'sh\\u0061pe':[1],'data_offsets':[0,4]}}", 4,
         "byte 45: found duplicate key \"shape\""},
        {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4],'x':0}}", 4,
         "byte 57: found key \"x\", need dtype, shape and data_offsets"},
        {"{'a':{'shape':[1],'data_offsets':[0,4]}}", 4, "byte 39: found a tensor without dtype"},

        /* Types. */
        {"{'a':{'dtype':'F31','shape':[1],'data_offsets':[0,4]}}", 4,
         "byte 19: found type \"F31\", need I32, I64, F16, BF16, F32 or F64"},
        {"{'a':{'dtype':'BOOL','shape':[1],'data_offsets':[0,1]}}", 1,
         "byte 20: found type \"BOOL\", need I32, I64, F16, BF16, F32 or F64"},
        {"{'a':{'dtype':'F32\\u0000','shape':[1],'data_offsets':[0,4]}}", 4,
         "byte 25: found U+0000 in a string"},
        {"{'a':{'dtype':32,'shape':[1],'data_offsets':[0,4]}}", 4,
         "byte 14: found '3', need a string"},

        /* Numbers. */
        {"{" F32("a", "[-1]", 0, 4) "}", 4, "byte 29: found '-', need a number of digits only"},
        {"{" F32("a", "[123456789012345678901234567890]", 0, 4) "}", 4,
         "byte 29: found '1', need a number below 2^64"},
        {"{" F32("a", "1", 0, 4) "}", 4, "byte 28: found '1', need an array"},

        /* Shapes. */
        {"{" F32("a", "[9223372036854775808]", 0, 4) "}", 4,
         "byte 48: found size 9223372036854775808, need one below " LONG_BOUND},
#if LONG_MAX > 0x7fffffff
        {"{" F32("a", "[4194305,4194305,211106198978564]", 0, 16) "}", 16,
         "byte 84: found a shape of more than 2^63 bytes"},
        {"{" F32("a", "[0,4611686018427387904,4]", 0, 0) "}", 0,
         "byte 75: found a shape of more than 2^63 bytes"},
        {"{" F32("a", "[4611686018427387904]", 0, 0) "}", 0,
         "byte 71: found a shape of more than 2^63 bytes"},
        {"{'a':{'dtype':'F16','shape':[4611686018427387903],'data_offsets':[0,0]}}", 0,
         "byte 71: found 0 bytes of data, need 9223372036854775806 for type and shape"},
#else
        {"{" F32("a", "[65536,65536]", 0, 16) "}", 16,
         "byte 64: found a shape of more than 2^31 bytes"},
        {"{" F32("a", "[0,1073741824,4]", 0, 0) "}", 0,
         "byte 66: found a shape of more than 2^31 bytes"},
        {"{'a':{'dtype':'F16','shape':[1073741823],'data_offsets':[0,0]}}", 0,
         "byte 62: found 0 bytes of data, need 2147483646 for type and shape"},
#endif
        {"{" F32("a", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "byte 45: found more than 8 axes"},

        /* Places. */
        {"{" F32("a", "[2]", 0, 4) "}", 4,
         "byte 53: found 4 bytes of data, need 8 for type and shape"},
        {"{" F32("a", "[1]", 4, 0) "}", 4,
         "byte 53: found data from 4 to 0, need a range in the file's 4"},
        {"{" F32("a", "[1]", 0, 4) "}", 3,
         "byte 53: found data from 0 to 4, need a range in the file's 3"},
        {"{" F32("a", "[1]", 18446744073709551612, 0) "}", 4,
         "byte 72: found data from 18446744073709551612 to 0, need a range in the file's 4"},
        {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[0]}}", 4,
         "byte 50: found fewer than two offsets"},
        {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4,4]}}", 4,
         "byte 52: found more than two offsets"},
        {"{" F32("a", "[1]", 0, 4) "," F32("b", "[1]", 8, 12) "}", 12,
         "b: found its data at 8, need it at 4, the end of the last tensor's"},
        {"{" F32("a", "[2]", 0, 8) "," F32("b", "[1]", 4, 8) "}", 8,
         "b: found its data at 4, need it at 8, the end of the last tensor's"},
        {"{" F32("a", "[1]", 4, 8) "}", 8,
         "a: found its data at 4, need it at 0, the end of the last tensor's"},
        {"{" F32("a", "[1]", 0, 4) "," F32("b", "[0]", 2, 2) "}", 4,
         "b: found its data at 2, need it at 4, the end of the last tensor's"},
        {"{" F32("a", "[1]", 0, 4) "}", 5, "found 1 bytes after the last tensor's data"},

        /* Metadata. */
        {"{'__metadata__':[]}", 0, "byte 16: found '[', need an object"},
        {"{'__metadata__':{'a':1}}", 0, "byte 21: found '1', need a string"},
        {"{'__metadata__':{'a':'1','a':'1'}}", 0, "header: found duplicate key \"a\""},
        {"{'__metadata__':{},'__metadata__':{}}", 0,
         "byte 34: found duplicate key \"__metadata__\""},
        {"{" F32("__metadata__", "[1]", 0, 4) "}", 4, "byte 39: found '[', need a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = message(cases[i].header, cases[i].data), *want = cases[i].want;
        char line[300];
        snprintf(line, sizeof line, "t: %s%s", strncmp(want, "byte", 4) ? "" : "header: ", want);
        CHECK(strcmp(found, line) == 0, "%s\n  found %s\n  want  %s", cases[i].header, found, line);
    }
    static const char padded[] = "{}\0\0\0\0\0\0"; /* seen in the wild */
    CHECK(strcmp(message_of(8, padded, 8, 0),
                 "t: header: byte 2: found byte 0x00, need nothing more") == 0);

    char *deep = malloc(100001);
    memset(deep, '[', 100001);
    memcpy(deep, "{\"a\":", 5);
    CHECK(strcmp(message_of(100001, deep, 100001, 0),
                 "t: header: byte 5: found '[', need an object") == 0);
    free(deep);
}

/* Lengths that the file does not have, whatever they are, are never allocated. */
TEST(refuses_wrong_lengths) {
    Error e = {0};
    Safetensors s;
    for (size_t n = 0; n < 8; n++) {
        char want[64];
        snprintf(want, sizeof want, "t: found %zu bytes, need at least 8", n);
        e = (Error){0};
        CHECK(!safetensors_parse(&s, "t", calloc(1, n + 1), n, &e) && strcmp(e.text, want) == 0,
              "%s", e.text);
    }
    static const uint64_t claims[] = {
        3, (uint64_t)1 << 31, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        char want[100];
        snprintf(want, sizeof want, "t: found a header of %llu bytes, need at most 2",
                 (unsigned long long)claims[i]);
        const char *found = message_of(claims[i], "{}", 2, 0);
        CHECK(strcmp(found, want) == 0, "%s", found);
    }
    CHECK(strcmp(message_of(0, "{}", 2, 0), "t: header: byte 0: found the end, need an object") ==
          0);
    CHECK(strcmp(message_of(1, "{}", 2, 0), "t: header: byte 1: found the end, need a string") ==
          0);
}

TEST(accepts_every_valid_header) {
    static const struct {
        const char *header;
        size_t data;
    } cases[] = {
        {"{}", 0},
        {" \t\r\n{ } \n", 0},
        {"{'__metadata__':{}}", 0},
        {"{'__metadata__':{'crc32':'nonsense'}}", 0}, /* only ours means something by it */
        {"{" F32("a", "[]", 0, 4) "}", 4},
        {"{" F32("a", "[0]", 0, 0) "," F32("b", "[0,3]", 0, 0) "," F32("c", "[1]", 0, 4) "," F32(
             "d", "[0]", 4, 4) "}",
         4},
        {"{" F32("b", "[1]", 4, 8) "," F32("a", "[1]", 0, 4) ",'__metadata__':{'k':'v'}}", 8},
        {"{" F32("a", "[1]", 8, 12) "," F32("b", "[1]", 4, 8) "," F32("c", "[1]", 0, 4) "}", 12},
        {"{'a':{'data_offsets':[0,4],'shape':[1],'dtype':'F32'}}", 4},
        {"{ 'a' : { 'dtype' : 'F16' , 'shape' : [ 1 , 1 ] , 'data_offsets' : [ 0 , 2 ] } , "
         "'b':{'dtype':'F64','shape':[1],'data_offsets':[2,10]}}",
         10}, /* an unaligned double */
        {"{" F32("a", "[1,1,1,1,1,1,1,1]", 0, 4) "}", 4},
        {"{" F32("\\u00e9\xC3\xA9 \\/", "[1]", 0, 4) "}", 4},
        /* That begins as our own do, and is none of them. */
        {"{'__metadata__': {'title': 'Language'}, " F32("a", "[1]", 0, 4) "}", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = message(cases[i].header, cases[i].data);
        CHECK(*found == 0, "%s: %s", cases[i].header, found);
    }
}

/* Many tensors, their names in no order: the lists grow, and each is found. */
TEST(finds_each_of_many) {
    enum { MANY = 1000 };
    static char names[MANY][16];
    static int32_t values[MANY];
    static Array a[MANY];
    static Metadata m[MANY];
    for (int i = 0; i < MANY; i++) {
        values[i] = i;
        snprintf(names[i], sizeof names[i], "n%d", i * 7919 % 10007);
        a[i] = array_over(names[i], DTYPE_I32, SCALAR, &values[i]);
        m[i] = (Metadata){names[i], names[MANY - 1 - i]};
    }
    Error e = {0};
    Safetensors s;
    CHECK(safetensors_write(in_folder("a"), m, MANY, a, MANY, &e) &&
              safetensors_read(&s, in_folder("a"), &e),
          "%s", e.text);
    for (int i = 0; i < MANY; i++) {
        const Array *found = safetensors_find(&s, names[i]);
        const char *value = safetensors_metadata(&s, names[i]);
        int32_t x = -1;
        CHECK(found && array_to_int32(found, &x, &e) && x == i, "%s: found %d", names[i], x);
        CHECK(value && strcmp(value, names[MANY - 1 - i]) == 0, "%s", names[i]);
    }
    safetensors_free(&s);
}

/* ---- Damage ---- */

/* Any one bit of a file of ours flipped: it is refused. */
TEST(notices_every_flipped_bit) {
    Array a[ARRAYS];
    Error e = {0};
    make_arrays(a);
    CHECK(safetensors_write(in_folder("ours"), metadata, METADATA, a, ARRAYS, &e), "%s", e.text);
    size_t size;
    char *whole = read_bytes(in_folder("ours"), &size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        char *flipped = malloc(size);
        memcpy(flipped, whole, size);
        flipped[bit / 8] ^= (char)(1 << bit % 8);
        Safetensors s;
        Error error = {0};
        CHECK(!safetensors_parse(&s, "t", flipped, size, &error), "bit %zu of byte %zu", bit % 8,
              bit / 8);
        CHECK(error.status == STATUS_BAD_DATA && *error.text, "bit %zu", bit);
        safetensors_free(&s);
    }
    free(whole);
}

TEST(names_the_damage) {
    Error e = {0};
    Array a = array_over("x", DTYPE_F16, SHAPE(3), "abcdef");
    CHECK(safetensors_write(in_folder("a"), NULL, 0, &a, 1, &e));
    size_t size;
    Safetensors s;
    char *whole = read_bytes(in_folder("a"), &size), need[16], want[100];
    memcpy(need, whole + 36, 8);
    need[8] = 0;
    memcpy(whole + 36, "\x1B[2JXXXX", 8);
    CHECK(!safetensors_parse(&s, "t", whole, size, &e));
    snprintf(want, sizeof want, "t: the file is damaged: found checksum \\x1B[2JXXXX, need %s",
             need);
    CHECK(strcmp(e.text, want) == 0, "found %s, want %s", e.text, want);
}

/* ---- The checksum ---- */

/* The check value of the catalogues, and any split gives the whole's. */
TEST(the_checksum_is_CRC_32) {
    static const char text[] = "The quick brown fox jumps over the lazy dog";
    CHECK(crc32_update(0, "123456789", 9) == 0xCBF43926 && crc32_update(0, NULL, 0) == 0);
    for (size_t split = 0; split < sizeof text; split++)
        CHECK(crc32_update(crc32_update(0, text, split), text + split, sizeof text - 1 - split) ==
                  0x414FA339,
              "split at %zu", split);
}

TEST(wrong_names_are_bugs) {
    Error e = {0};
    Array a[3] = {array_over("x", DTYPE_F16, SCALAR, "1"), array_over("y", DTYPE_F16, SCALAR, "2"),
                  array_over("x", DTYPE_F16, SCALAR, "3")};
    Metadata m[3] = {{"k", "1"}, {"l", "2"}, {"k", "3"}};
#define WRITE(n_metadata, n) safetensors_write("/nowhere/x", m, n_metadata, a, n, &e)
    EXPECT_BUG("safetensors_write: tensor \"x\" is taken", WRITE(0, 3));
    EXPECT_BUG("safetensors_write: metadata key \"k\" is taken", WRITE(3, 1));
    m[0].key = "crc32";
    EXPECT_BUG("safetensors_write: metadata key \"crc32\" is taken", WRITE(1, 1));
    m[0].key = "\xFF";
    EXPECT_BUG("safetensors_write: byte 0: found 0xFF, need UTF-8", WRITE(1, 1));
    m[0] = (Metadata){"k", "a\x80"};
    EXPECT_BUG("safetensors_write: byte 1: found 0x80, need UTF-8", WRITE(1, 1));
    m[0].value = "1";
    a[0].name = "\xFF";
    EXPECT_BUG("safetensors_write: byte 0: found 0xFF, need UTF-8", WRITE(0, 1));
    a[0].name = "__metadata__";
    EXPECT_BUG("safetensors_write: tensor \"__metadata__\" is taken", WRITE(0, 1));
    a[0].name = "";
    EXPECT_BUG("safetensors_write: tensor 0 has no name", WRITE(0, 1));
    a[0].name = NULL;
    EXPECT_BUG("safetensors_write: tensor 0 has no name", WRITE(0, 1));
#undef WRITE
}

RUN_TESTS_AFTER(make_folder)
