/* Arrays of files: types, and conversion of elements. */
#include "formats/array.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the byte order of files");

typedef enum Kind { BOOLEAN, UNSIGNED, SIGNED, FLOAT } Kind;

static const struct {
    const char *name;
    size_t size;
    Kind kind;
} dtypes[DTYPES] = {
    [DTYPE_BOOL] = {"BOOL", 1, BOOLEAN}, [DTYPE_U8] = {"U8", 1, UNSIGNED},
    [DTYPE_I8] = {"I8", 1, SIGNED},      [DTYPE_U16] = {"U16", 2, UNSIGNED},
    [DTYPE_I16] = {"I16", 2, SIGNED},    [DTYPE_U32] = {"U32", 4, UNSIGNED},
    [DTYPE_I32] = {"I32", 4, SIGNED},    [DTYPE_U64] = {"U64", 8, UNSIGNED},
    [DTYPE_I64] = {"I64", 8, SIGNED},    [DTYPE_F16] = {"F16", 2, FLOAT},
    [DTYPE_BF16] = {"BF16", 2, FLOAT},   [DTYPE_F32] = {"F32", 4, FLOAT},
    [DTYPE_F64] = {"F64", 8, FLOAT},
};

size_t dtype_size(Dtype d) {
    return dtypes[d].size;
}

const char *dtype_name(Dtype d) {
    return dtypes[d].name;
}

Array array_over(const char *name, Dtype d, Shape s, const void *bytes) {
    Array a = {.name = name, .dtype = d, .rank = s.rank, .bytes = bytes};
    if (s.rank < 0 || s.rank > MAX_RANK || !shape_fits(s.rank, s.size, dtype_size(d), &a.count))
        error_bug("array_over: %s %s", name, shape_text(s));
    for (int i = 0; i < s.rank; i++) a.size[i] = s.size[i];
    return a;
}

void array_free(Array *a) {
    free(a->owned);
    *a = (Array){0};
}

const char *array_where(const Array *a, char out[ARRAY_WHERE]) {
    enum { LONGEST = ARRAY_WHERE - ESCAPED_TEXT - 8 }; /* of a path, whose end is shown */
    const char *file = a->file ? a->file : "array";
    size_t length = strlen(file);
    bool cut = length > LONGEST;
    snprintf(out, ARRAY_WHERE, "%s%s%s%s", cut ? "..." : "", cut ? file + length - LONGEST : file,
             a->name ? ": " : "", a->name ? ESCAPED(a->name) : "");
    return out;
}

bool array_shape(const Array *a, Shape *s, Error *e) {
    if (a->rank > MAX_RANK)
        return error_set(e, STATUS_BAD_DATA, "%s: found %d axes, need at most %d", ARRAY_PLACE(a), a->rank,
                         MAX_RANK);
    *s = (Shape){.rank = a->rank};
    for (int i = 0; i < a->rank; i++) s->size[i] = a->size[i];
    return true;
}

bool array_expect_shape(const Array *a, Shape want, Error *e) {
    Shape found;
    if (!array_shape(a, &found, e)) return false;
    return shape_equal(found, want) || error_set(e, STATUS_BAD_DATA, "%s: found shape %s, need %s",
                                                 ARRAY_PLACE(a), shape_text(found), shape_text(want));
}

/* The bytes of an element, which may be unaligned, as the low bits of a number. */
static uint64_t element_bits(const Array *a, long i) {
    size_t size = dtypes[a->dtype].size;
    uint64_t bits = 0;
    memcpy(&bits, (const char *)a->bytes + (size_t)i * size, size);
    return bits;
}

static int64_t sign_extended(uint64_t bits, size_t size) {
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return (int64_t)((bits ^ sign) - sign);
}

/* IEEE 754 half precision: 1 bit of sign, 5 of exponent, 10 of fraction. */
static double from_half(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double magnitude = ldexp(fraction, -24);
    if (exponent == 31)
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent)
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

static double from_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return (double)x;
}

static double from_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double element_as_double(const Array *a, long i) {
    uint64_t bits = element_bits(a, i);
    switch (a->dtype) {
    case DTYPE_F16: return from_half(bits);
    case DTYPE_BF16: return from_float(bits << 16); /* the upper half of a float */
    case DTYPE_F32: return from_float(bits);
    case DTYPE_F64: return from_double(bits);
    default: break;
    }
    if (dtypes[a->dtype].kind == SIGNED) return (double)sign_extended(bits, dtypes[a->dtype].size);
    return dtypes[a->dtype].kind == BOOLEAN ? bits != 0 : (double)bits;
}

void array_to_double(const Array *a, double *out) {
    for (long i = 0; i < a->count; i++) out[i] = element_as_double(a, i);
}

bool array_to_real(const Array *a, real *out, Error *e) {
    if (a->dtype == DTYPE_REAL) {
        if (a->count) memcpy(out, a->bytes, (size_t)a->count * sizeof *out);
        return true;
    }
    for (long i = 0; i < a->count; i++) {
        double x = element_as_double(a, i);
        out[i] = (real)x;
        if (isinf(out[i]) && !isinf(x))
            return error_set(e, STATUS_BAD_DATA, "%s: element %ld: found %g, need at most %g", ARRAY_PLACE(a),
                             i, x, (double)REAL_MAX);
    }
    return true;
}

bool array_to_int32(const Array *a, int32_t *out, Error *e) {
    if (dtypes[a->dtype].kind == FLOAT)
        return error_set(e, STATUS_BAD_DATA, "%s: found numbers of type %s, need integers", ARRAY_PLACE(a),
                         dtype_name(a->dtype));
    for (long i = 0; i < a->count; i++) {
        double x = element_as_double(a, i); /* rounds only integers out of range */
        if (x < INT32_MIN || x > INT32_MAX)
            return error_set(e, STATUS_BAD_DATA, "%s: element %ld: found %.0f, need one in [%d,%d]",
                             ARRAY_PLACE(a), i, x, (int)INT32_MIN, (int)INT32_MAX);
        out[i] = (int32_t)x;
    }
    return true;
}

bool array_check_finite(const Array *a, Error *e) {
    for (long i = 0; dtypes[a->dtype].kind == FLOAT && i < a->count; i++) {
        double x = element_as_double(a, i);
        if (!isfinite(x))
            return error_set(e, STATUS_BAD_DATA, "%s: element %ld: found %g, need a finite number",
                             ARRAY_PLACE(a), i, x);
    }
    return true;
}
