/* .npy files: NumPy's own are read and written exactly; everything else is refused with what is wrong with
 * it. */
#include "check/npy.h"
#include "base/file.h"
#include "expect_bug.h"
#include "folder.h"
#include <fcntl.h>
#include <inttypes.h>

/* ---- NumPy's files, from tests/fixtures/make_files.py ---- */

typedef struct Golden {
    const char *name;
    Dtype dtype;
    int rank;
    long size[ARRAY_RANK];
    bool plain; /* version 1, little-endian, row-major: as npy_write does it */
} Golden;

static const Golden golden[] = {
    {"f4_2x3", DTYPE_F32, 2, {2, 3}, true},
    {"f8_3x4", DTYPE_F64, 2, {3, 4}, true},
    {"f4_big_endian_2x3", DTYPE_F32, 2, {2, 3}, false},
    {"f8_big_endian_5", DTYPE_F64, 1, {5}, false},
    {"f8_fortran_3x4", DTYPE_F64, 2, {3, 4}, false},
    {"i4_fortran_2x3x4", DTYPE_I32, 3, {2, 3, 4}, false},
    {"i2_big_endian_fortran_4x3", DTYPE_I16, 2, {4, 3}, false},
    {"f8_scalar", DTYPE_F64, 0, {0}, true},
    {"f4_0x5", DTYPE_F32, 2, {0, 5}, true},
    {"f2_7", DTYPE_F16, 1, {7}, true},
    {"b1_7", DTYPE_BOOL, 1, {7}, true},
    {"u1_7", DTYPE_U8, 1, {7}, true},
    {"i1_7", DTYPE_I8, 1, {7}, true},
    {"u2_7", DTYPE_U16, 1, {7}, true},
    {"i8_1x7", DTYPE_I64, 2, {1, 7}, true},
    {"u8_big_endian_7", DTYPE_U64, 1, {7}, false},
    {"u4_2x1x1x1x1x1x1x2", DTYPE_U32, 8, {2, 1, 1, 1, 1, 1, 1, 2}, true},
#if LONG_MAX > 0x7fffffff
    {"i1_long_shape", DTYPE_I8, 3, {1000000000, 0, 1000000000}, true},
#endif
    {"f4_version_2", DTYPE_F32, 2, {2, 3}, false},
    {"f4_version_3", DTYPE_F32, 2, {2, 3}, false},
};
enum { GOLDEN = sizeof golden / sizeof *golden };

static const char *fixture(const Golden *g) {
    static char path[128];
    snprintf(path, sizeof path, "tests/fixtures/%s.npy", g->name);
    return path;
}

/* The value that make_files.py put into element i. */
static double golden_value(Dtype d, long i) {
    if (d == DTYPE_BOOL) return i % 3 == 0;
    return d >= DTYPE_F16 ? (double)i / 2 - 1 : (double)i;
}

TEST(reads_numpys_files) {
    for (int g = 0; g < GOLDEN; g++) {
        Array a;
        Error e = {0};
        bool ok = npy_read(&a, fixture(&golden[g]), &e);
        CHECK(ok, "%s", e.text);
        if (!ok) continue;
        long count = 1;
        CHECK(a.dtype == golden[g].dtype && a.rank == golden[g].rank, "%s", golden[g].name);
        for (int i = 0; i < a.rank; i++) {
            CHECK(a.size[i] == golden[g].size[i], "%s", golden[g].name);
            count *= golden[g].size[i];
        }
        CHECK(a.count == count, "%s: found %ld", golden[g].name, a.count);

        double as_double[24];
        real as_real[24];
        int32_t as_int32[24];
        array_to_double(&a, as_double);
        CHECK(array_to_real(&a, as_real, &e));
        CHECK(array_check_finite(&a, &e));
        bool integers = a.dtype < DTYPE_F16;
        CHECK(array_to_int32(&a, as_int32, &e) == integers, "%s", e.text);
        for (long i = 0; i < count; i++) {
            double want = golden_value(a.dtype, i);
            CHECK(as_double[i] == want && (double)as_real[i] == want, "%s: element %ld", golden[g].name, i);
            if (integers) CHECK(as_int32[i] == (int32_t)want, "element %ld", i);
        }
        array_free(&a);
    }
}

/* A file read and written again is, byte for byte, what numpy.save made. */
TEST(writes_numpys_files) {
    for (int g = 0; g < GOLDEN; g++) {
        if (!golden[g].plain) continue;
        Array a;
        Error e = {0};
        char *want, *found;
        size_t want_size, found_size;
        bool ok = npy_read(&a, fixture(&golden[g]), &e) && npy_write(&a, in_folder("a.npy"), &e) &&
                  file_read(fixture(&golden[g]), 0, &want, &want_size, &e) &&
                  file_read(in_folder("a.npy"), 0, &found, &found_size, &e);
        CHECK(ok, "%s", e.text);
        if (!ok) continue;
        CHECK(found_size == want_size && memcmp(found, want, want_size) == 0, "%s", golden[g].name);
        free(want), free(found), array_free(&a);
    }
    Error e = {0};
    float x[6] = {1, 2, 3, 4, 5, 6};
    Array a = array_over(NULL, DTYPE_F32, SHAPE(2, 3), x);
    CHECK(!npy_write(&a, "/nowhere/a.npy", &e) && e.status == STATUS_CANNOT_CREATE);
}

/* ---- Files made here ---- */

/* A file in memory, in a block of exactly its size, so that a read beyond it is noticed by a sanitizer. */
typedef struct Bytes {
    char *data;
    size_t size;
} Bytes;

static Bytes npy_bytes(int major, int minor, const char *header, size_t header_size, size_t elements) {
    size_t start = major == 1 ? 10 : 12;
    Bytes b = {malloc(start + header_size + elements), start + header_size + elements};
    memcpy(b.data, "\x93NUMPY", 6);
    b.data[6] = (char)major, b.data[7] = (char)minor;
    for (size_t i = 8; i < start; i++) b.data[i] = (char)(header_size >> 8 * (i - 8));
    memcpy(b.data + start, header, header_size);
    for (size_t i = 0; i < elements; i++) b.data[start + header_size + i] = (char)i;
    return b;
}

/* Reads the bytes, which are freed; the message, or "" if they are an array. */
static const char *message(Bytes b) {
    static char text[ERROR_TEXT];
    Error e = {0};
    Array a;
    memset(&a, 0xAA, sizeof a);
    bool ok = npy_parse(&a, "t", b.data, b.size, &e);
    CHECK(ok == (e.status == STATUS_DONE), "status %d", e.status);
    CHECK(ok || (e.status == STATUS_BAD_DATA && !a.owned && !a.bytes && !a.rank), "status %d", e.status);
    strcpy(text, e.text);
    array_free(&a);
    return text;
}

static const char *header_message(const char *header, size_t elements) {
    return message(npy_bytes(1, 0, header, strlen(header), elements));
}

#define OPEN "{'descr': '<f4', 'fortran_order': False, 'shape': "

TEST(refuses_malformed_headers) {
    static const struct {
        const char *header, *want;
    } cases[] = {
        {OPEN "3}\n", "byte 50: found '3', need an array"},
        {OPEN "(True,)}\n", "t: found 12 bytes of elements, need 4"},
        {OPEN "(-1,)}\n", "byte 51: found '-', need a number of digits only"},
        {OPEN "(3,4 5)}\n", "byte 55: found '5', need a comma or ]"},
        {OPEN "(9223372036854775808,)}\n", "found size 9223372036854775808, need one below " LONG_BOUND},
        {OPEN "(18446744073709551616,)}\n", "need a number below 2^64"},
#if LONG_MAX > 0x7fffffff
        {OPEN "(4294967296, 4294967296)}\n", "t: header: found a shape of more than 2^63 bytes"},
        {OPEN "(1152921504606846976,)}\n", "t: found 12 bytes of elements, need 4611686018427387904"},
#endif
        {OPEN "(1,1,1,1,1,1,1,1,1)}\n", "found more than 8 axes"},
        {OPEN "(3,)", "byte 54: found the end, need a comma or }"},
        {OPEN "(3,)}x\n", "byte 55: found 'x', need nothing more"},
        {OPEN "(3,), 'x': 1}\n", "found key 'x', need 'descr', 'fortran_order' and 'shape' once"},
        {OPEN "(3,), 'shape': (3,)}\n", "found key 'shape', need 'descr', 'fortran_order' and 'shape' once"},
        {"{'descr': '<f4', 'fortran_order': False}\n", "found no key 'shape'"},
        {"{'descr': '<f4', 'shape': (3,)}\n", "found no key 'fortran_order'"},
        {"{}\n", "found no key 'descr'"},
        {"\n", "found the end, need an object"},
        {"{'descr' '<f4'}\n", "byte 9: found '\"', need a colon"},
        {"{'fortran_order': 'True'}\n", "byte 18: found '\"', need a number of digits only"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}\n",
         "found type '|O', pickled object arrays, need"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (3,)}\n",
         "found type '<U5', need one like '<f4'"},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (3,)}\n", "found type 'f4', need one like '<f4'"},
        {"{'descr': '<\x1B[2J', 'fortran_order': False, 'shape': (3,)}\n", "found control character 0x1B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = header_message(cases[i].header, 12);
        CHECK(strstr(found, cases[i].want), "%s  found %s\n  want  %s", cases[i].header, found,
              cases[i].want);
    }
    static const char nul[] = OPEN "(3,)}\0 \n";
    CHECK(strstr(message(npy_bytes(1, 0, nul, sizeof nul - 1, 12)),
                 "byte 55: found byte 0x00, need nothing more"));
}

/* Arrays of bytes or of one axis have one order. */
TEST(orders_may_say_nothing) {
    Error e = {0};
    Array a;
    const char header[] = "{'descr': '>u1', 'fortran_order': True, 'shape': (3,)}\n";
    Bytes b = npy_bytes(1, 0, header, sizeof header - 1, 3);
    CHECK(npy_parse(&a, "t", b.data, b.size, &e) && a.dtype == DTYPE_U8 && a.rank == 1 && a.count == 3, "%s",
          e.text);
    for (int i = 0; i < 3; i++) CHECK(((const unsigned char *)a.bytes)[i] == i, "element %d", i);
    array_free(&a);
}

TEST(refuses_other_beginnings) {
    static const char header[] = OPEN "(3,)}\n";
    const size_t n = sizeof header - 1;
    static const int versions[][2] = {{0, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 0}, {255, 255}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char want[100];
        snprintf(want, sizeof want, "t: found format version %d.%d, need 1.0, 2.0 or 3.0", versions[i][0],
                 versions[i][1]);
        const char *found = message(npy_bytes(versions[i][0], versions[i][1], header, n, 12));
        CHECK(strcmp(found, want) == 0, "found %s, want %s", found, want);
    }
    for (int flip = 0; flip < 6; flip++) {
        Bytes b = npy_bytes(1, 0, header, n, 12);
        b.data[flip] ^= 1;
        CHECK(strcmp(message(b), "t: found no \\x93NUMPY at its start: not a .npy file") == 0);
    }

    CHECK(strstr(message(npy_bytes(1, 0, "", 0, 0)), "found the end, need an object"));
    CHECK(strstr(message(npy_bytes(2, 0, "", 0, 0)), "found the end, need an object"));
    Bytes cut = npy_bytes(2, 0, "", 0, 0);
    cut.size--;
    CHECK(strcmp(message(cut), "t: found 11 bytes, need a header") == 0);

    /* Lengths that the file does not have, and a true one above the limit: none is allocated. */
    static const uint32_t lengths[] = {56 + 12 + 1, 10001, 0x7FFFFFFF, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        Bytes b = npy_bytes(2, 0, header, n, 12);
        for (int byte = 0; byte < 4; byte++) b.data[8 + byte] = (char)(lengths[i] >> 8 * byte);
        char want[100];
        snprintf(want, sizeof want, "t: found a header of %u bytes, need at most 68", (unsigned)lengths[i]);
        const char *found = message(b);
        CHECK(strcmp(found, want) == 0, "found %s, want %s", found, want);
    }
    char *blank = malloc(10001);
    memset(blank, ' ', 10001);
    memcpy(blank, header, n - 1);
    blank[10000] = '\n';
    CHECK(strcmp(message(npy_bytes(2, 0, blank, 10001, 12)),
                 "t: found a header of 10001 bytes, need at most 10000") == 0);
    blank[9999] = '\n';
    CHECK(*message(npy_bytes(2, 0, blank, 10000, 12)) == 0);
    free(blank);
}

TEST(accepts_every_spelling) {
    static const char *const headers[] = {
        OPEN "(3,)}\n",
        OPEN "(3,), }          \n",
        OPEN "( 3 , )\t}\n",
        OPEN "(3, 1)}\n",
        OPEN "(3, 1,)}\n",
        "{'shape': (1, 3), 'fortran_order': True, 'descr': '<f4'}\n",
        "  {\"fortran_order\":False,\"shape\":(3,),\"descr\":\">f4\"}\n",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,3)}\n",
        "{'descr': '<u1', 'fortran_order': False, 'shape': (12,)}\n",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *found = header_message(headers[i], 12);
        CHECK(*found == 0, "%s: %s", headers[i], found);
    }
    CHECK(*header_message("{'descr': '<f8', 'fortran_order': False, 'shape': ()}\n", 8) == 0);
    CHECK(*header_message(OPEN "(0, 500000000)}\n", 0) == 0);
}

/* Each golden file, cut at every length, and with bytes too many. */
TEST(refuses_every_truncation) {
    for (int g = 0; g < GOLDEN; g++) {
        char *data;
        size_t size;
        Error e = {0};
        CHECK(file_read(fixture(&golden[g]), 0, &data, &size, &e), "%s", e.text);
        for (size_t n = 0; n <= size + 2; n++) {
            Bytes b = {malloc(n ? n : 1), n};
            memset(b.data, 0, n);
            memcpy(b.data, data, n < size ? n : size);
            CHECK((*message(b) == 0) == (n == size), "%s: %zu of %zu bytes", golden[g].name, n, size);
        }
        free(data);
    }
}

/* A golden file with any one bit of its header flipped is refused, or is an array of as many bytes that can be
 * converted. */
TEST(survives_every_flipped_bit) {
    int refused = 0, accepted = 0;
    for (int g = 0; g < GOLDEN; g++) {
        char *data;
        size_t size;
        Error e = {0};
        CHECK(file_read(fixture(&golden[g]), 0, &data, &size, &e), "%s", e.text);
        for (size_t bit = 0; bit < 8 * 128; bit++) {
            Bytes b = {malloc(size), size};
            memcpy(b.data, data, size);
            b.data[bit / 8] ^= (char)(1 << bit % 8);
            Array a;
            Error error = {0};
            if (!npy_parse(&a, "t", b.data, b.size, &error)) {
                CHECK(error.status == STATUS_BAD_DATA && *error.text, "%s: bit %zu", golden[g].name, bit);
                refused++;
                continue;
            }
            accepted++;
            CHECK((size_t)a.count * dtype_size(a.dtype) == size - 128, "%s: bit %zu", golden[g].name, bit);
            double values[256];
            CHECK(a.count <= 256);
            array_to_double(&a, values);
            array_free(&a);
        }
        free(data);
    }
    CHECK(accepted > 10 && refused > 19000, "%d accepted, %d refused", accepted, refused);
}

/* Missing files and files that are not regular. */
TEST(refuses_other_files) {
    Array a;
    Error e = {0};
    CHECK(!npy_read(&a, folder, &e) && e.status == STATUS_NO_INPUT);
    e = (Error){0};
    CHECK(!npy_read(&a, in_folder("none"), &e) && e.status == STATUS_NO_INPUT && !a.owned);
    array_free(&a);
    EXPECT_BUG("npy: NumPy has no type BF16",
               npy_write(&(Array){.dtype = DTYPE_BF16, .rank = 0, .count = 1, .bytes = "xx"}, "x", &e));
}

RUN_TESTS_AFTER(make_folder)
