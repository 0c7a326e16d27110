/* Arrays of files: the conversion of every type, its limits, and shapes. */
#include "formats/array.h"
#include "expect_bug.h"
#include <float.h>

static Array over(Dtype d, long count, const void *bytes) {
    Array a = array_over("x\x1B", d, SHAPE(count), bytes);
    a.file = "f";
    return a;
}

TEST(refuses_integers_out_of_range) {
    static const int64_t i64[] = {0, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1};
    static const int64_t low[] = {INT64_MIN};
    int32_t as_int32[4];
    Error e = {0};
    Array a = over(DTYPE_I64, 3, i64);
    CHECK(array_to_int32(&a, as_int32, &e) && as_int32[1] == INT32_MAX && as_int32[2] == INT32_MIN);
    a = over(DTYPE_I64, 4, i64);
    CHECK(!array_to_int32(&a, as_int32, &e));
    CHECK(strcmp(e.text,
                 "f: x\\x1B: element 3: found 2147483648, need one in [-2147483648,2147483647]") ==
              0,
          "%s", e.text);
    e = (Error){0};
    a = over(DTYPE_I64, 1, low);
    CHECK(!array_to_int32(&a, as_int32, &e) && e.status == STATUS_BAD_DATA);
    e = (Error){0};
    static const int32_t negative[] = {-1, INT32_MIN, 127};
    a = over(DTYPE_I32, 3, negative);
    CHECK(array_to_int32(&a, as_int32, &e) && as_int32[0] == -1 && as_int32[1] == INT32_MIN &&
          as_int32[2] == 127);
    static const float one[] = {1};
    a = over(DTYPE_F32, 1, one);
    CHECK(!array_to_int32(&a, as_int32, &e));
    CHECK(strcmp(e.text, "f: x\\x1B: found numbers of type F32, need integers") == 0, "%s", e.text);
}

/* All 65,536 half-precision numbers against the definition, and bfloat16 against the upper half of
 * a float.
 */
TEST(converts_half_precision) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t x = (uint16_t)bits;
        double half, bfloat;
        Array a = over(DTYPE_F16, 1, &x), b = over(DTYPE_BF16, 1, &x);
        array_to_double(&a, &half);
        array_to_double(&b, &bfloat);

        int exponent = bits >> 10 & 31;
        double fraction = (bits & 1023) / 1024.0, sign = bits >> 15 ? -1 : 1;
        double want = exponent ? sign * (1 + fraction) * pow(2, exponent - 15)
                               : sign * fraction * pow(2, -14);
        if (exponent == 31)
            CHECK(fraction > 0 ? isnan(half) : half == sign * (double)INFINITY, "0x%04X", bits);
        else
            CHECK(half == want && signbit(half) == signbit(sign), "0x%04X: found %g, want %g", bits,
                  half, want);

        uint32_t wide = bits << 16;
        float upper;
        memcpy(&upper, &wide, 4);
        CHECK(isnan(upper) ? isnan(bfloat) : bfloat == (double)upper, "0x%04X: found %g", bits,
              bfloat);
    }
}

/* A value too large for a float is refused if real is float. A value that is not finite is kept,
 * and found. */
TEST(converts_numbers) {
    static const double x[] = {1, -1e-300, (double)FLT_MAX, 1e39},
                        odd[] = {0, -(double)INFINITY, (double)NAN};
    real out[4];
    Error e = {0};
    Array a = over(DTYPE_F64, 3, x);
    CHECK(array_to_real(&a, out, &e) && out[0] == 1 && (double)out[2] == (double)FLT_MAX);
    a = over(DTYPE_F64, 4, x);
    bool fits = sizeof(real) == sizeof(double);
    CHECK(array_to_real(&a, out, &e) == fits);
    CHECK(fits ||
              strcmp(e.text, "f: x\\x1B: element 3: found 1e+39, need at most 3.40282e+38") == 0,
          "%s", e.text);
    CHECK(array_check_finite(&a, &(Error){0}));

    static const int32_t i32[] = {-1, INT32_MIN, INT32_MAX};
    static const int64_t i64[] = {-1, INT64_MIN, -4611686018427387904};
    double values[3];
    a = over(DTYPE_I32, 3, i32);
    array_to_double(&a, values);
    CHECK(values[0] == -1 && values[1] == INT32_MIN && values[2] == INT32_MAX);
    a = over(DTYPE_I64, 3, i64);
    array_to_double(&a, values);
    CHECK(values[0] == -1 && values[1] == -0x1p63 && values[2] == -0x1p62);
    CHECK(array_to_real(&a, out, &e) && out[0] == -1 && (double)out[1] == -0x1p63);

    e = (Error){0};
    a = over(DTYPE_F64, 3, odd);
    CHECK(array_to_real(&a, out, &e) && isinf(out[1]) && out[1] < 0 && isnan(out[2]));
    CHECK(!array_check_finite(&a, &e));
    CHECK(strcmp(e.text, "f: x\\x1B: element 1: found -inf, need a finite number") == 0, "%s",
          e.text);
    static const uint16_t half[] = {0x7BFF, 0x7C01};
    e = (Error){0};
    a = over(DTYPE_F16, 2, half);
    CHECK(!array_check_finite(&a, &e) && strstr(e.text, "element 1: found "), "%s", e.text);
}

TEST(checks_shapes) {
    static const int32_t bytes[6] = {0};
    Array a = over(DTYPE_I32, 6, bytes);
    Shape s;
    Error e = {0};
    CHECK(array_shape(&a, &s, &e) && s.rank == 1 && s.size[0] == 6);
    CHECK(array_expect_shape(&a, SHAPE(6), &e));
    CHECK(!array_expect_shape(&a, SHAPE(2, 3), &e));
    CHECK(strcmp(e.text, "f: x\\x1B: found shape [6], need [2,3]") == 0, "%s", e.text);
    e = (Error){0};
    a.rank = 6;
    for (int i = 0; i < 7; i++) a.size[i] = i + 1;
    CHECK(array_expect_shape(&a, SHAPE(1, 2, 3, 4, 5, 6), &e), "%s", e.text);
    a.rank = 7;
    CHECK(!array_expect_shape(&a, SHAPE(1), &e));
    CHECK(strcmp(e.text, "f: x\\x1B: found 7 axes, need at most 6") == 0, "%s", e.text);

    char path[1000], where[ARRAY_WHERE]; /* of a long path, the end is shown */
    memset(path, 'p', 999);
    memcpy(path + 990, "/end.npy", 9);
    a.file = path;
    array_where(&a, where);
    CHECK(strncmp(where, "...p", 4) == 0 && strstr(where, "/end.npy: x\\x1B"), "%s", where);
    char name[101]; /* and of the name as much as escaped shows */
    memset(name, 1, 100);
    name[100] = 0;
    a.name = name;
    array_where(&a, where);
    CHECK(strcmp(where + strlen(where) - 7, "\\x01...") == 0 && strstr(where, "/end.npy: \\x01"),
          "%s", where);
}

TEST(arrays_over_memory) {
    EXPECT_BUG("array_over: x [1073741824,1073741824,4]",
               array_over("x", DTYPE_F64, SHAPE(1L << 30, 1L << 30, 4), NULL));
}

RUN_TESTS
