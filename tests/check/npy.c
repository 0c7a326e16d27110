/* Arrays in .npy form: NumPy's own are taken and written exactly; everything else is
 * refused with what is wrong with it. tests/fuzz changes them. */
#include "base/file.h"
#include "check/messages.h"
#include "test.h"

/* A stream of bytes in memory. */
typedef struct Bytes {
    const char *at;
    size_t left;
} Bytes;

static bool more(void *context, void *to, size_t size) {
    Bytes *b = context;
    if (size > b->left) return false;
    memcpy(to, b->at, size);
    b->at += size, b->left -= size;
    return true;
}

enum { MAX = 1000 };

/* Files of NumPy, from tests/fixtures/make_files.py: element i is i/2 - 1, as an
 * integer i. */
static const struct {
    const char *name, *refused; /* NULL: it is taken */
    Dtype dtype;
    int rank;
    long size[2];
} golden[] = {
    {"f4_2x3", NULL, DTYPE_F32, 2, {2, 3}},
    {"f8_3x4", NULL, DTYPE_F64, 2, {3, 4}},
    {"f8_scalar", NULL, DTYPE_F64, 0, {0}},
    {"f4_0x5", NULL, DTYPE_F32, 2, {0, 5}},
    {"f4_big_endian_2x3", "t: found numbers of type '>f4', need '<f8', '<f4' or '<i8'"},
    {"i8_1x7", NULL, DTYPE_I64, 2, {1, 7}},
    {"f8_fortran_3x4", "t: found another order of its elements, need 'fortran_order': False"},
    {"f4_version_2", "t: found no .npy array of version 1.0"},
};
enum { GOLDEN = sizeof golden / sizeof *golden };

static void read_golden(int g, char **data, size_t *size) {
    char path[128];
    Error e = {0};
    snprintf(path, sizeof path, "tests/fixtures/%s.npy", golden[g].name);
    CHECK(file_read(path, 0, data, size, &e), "%s", e.text);
}

TEST(takes_and_writes_numpys_arrays) {
    for (int g = 0; g < GOLDEN; g++) {
        char *data, start[NPY_START];
        size_t size;
        Array a;
        Error e = {0};
        read_golden(g, &data, &size);
        Bytes b = {data, size};
        bool taken = npy_receive(&a, "t", MAX, more, &b, &e);
        CHECK(taken == !golden[g].refused && (taken || !strcmp(e.text, golden[g].refused)),
              "%s: %s", golden[g].name, e.text);
        if (taken) {
            double value[12];
            CHECK(a.dtype == golden[g].dtype && a.rank == golden[g].rank && b.left == 0);
            for (int i = 0; i < a.rank; i++)
                CHECK(a.size[i] == golden[g].size[i], "%s", golden[g].name);
            array_to_double(&a, value);
            for (long i = 0; i < a.count; i++) {
                double want = a.dtype == DTYPE_I64 ? (double)i : (double)i / 2 - 1;
                CHECK(value[i] == want, "%s", golden[g].name);
            }
            npy_start(&a, start);
            CHECK(memcmp(start, data, NPY_START) == 0, "%s: written otherwise", golden[g].name);
            array_free(&a);
        }
        /* Cut anywhere, it is refused. */
        for (size_t n = 0; taken && n < size; n++) {
            e = (Error){0};
            CHECK(!npy_receive(&a, "t", MAX, more, &(Bytes){data, n}, &e) &&
                      e.status == STATUS_BAD_DATA && !a.owned,
                  "%s: %zu of %zu bytes", golden[g].name, n, size);
        }
        free(data);
    }
}

#define OPEN "{'descr': '<f8', 'fortran_order': False, 'shape': "

TEST(headers_of_other_programs) {
    static const struct {
        const char *header, *says; /* "": it is taken, with one element */
    } cases[] = {
        {OPEN "(1,)}\n", ""},
        {OPEN "( 1 , 1 )}\n", ""},
        {OPEN "()}\n", ""},
        {"{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"<f8\"}\n", ""},
        {OPEN "3}\n", "found no shape like (3, 4)"},
        {OPEN "(-1,)}\n", "found no shape like (3, 4)"},
        {OPEN "(1,", "found no shape like (3, 4)"},
        {OPEN "(1 2)}\n", "found its end"},
        {OPEN "(x)}\n", "found no shape like (3, 4)"},
        {OPEN "(9223372036854775808,)}\n", "found more than 1000 elements"},
        {OPEN "(4294967296, 4294967296)}\n", "found more than 1000 elements"},
        {OPEN "(1001,)}\n", "found more than 1000 elements"},
        {OPEN "(1,1,1,1,1,1,1,1,1)}\n", "found more than 8 axes"},
        {"{'descr': '<f8', 'fortran_order': False}\n", "found no shape like (3, 4)"},
        {"{'descr': '<f8', 'shape': (1,)}\n", "found another order of its elements"},
        {"{'descr': '<\x1B[2J', 'shape': (1,)}\n", "found numbers of type '<?[2J'"},
        {"\n", "found numbers of type ''"},
        {"", "found numbers of type ''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[200] = "\x93NUMPY\1";
        size_t length = strlen(cases[i].header);
        Array a;
        Error e = {0};
        bytes[8] = (char)length;
        memcpy(bytes + 10, cases[i].header, length);
        npy_receive(&a, "t", MAX, more, &(Bytes){bytes, 10 + length + 8}, &e);
        CHECK(*cases[i].says ? strstr(e.text, cases[i].says) != NULL : a.owned && a.count == 1,
              "%s: %s", cases[i].header, e.text);
        array_free(&a);
    }
}

RUN_TESTS
