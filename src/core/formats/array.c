/* Arrays of files: types, and conversion of elements. */
#include "formats/array.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the byte order of files");

static const struct {
    const char *name;
    size_t size;
} dtypes[DTYPES] = {
    [DTYPE_I32] = {"I32", 4},   [DTYPE_I64] = {"I64", 8}, [DTYPE_F16] = {"F16", 2},
    [DTYPE_BF16] = {"BF16", 2}, [DTYPE_F32] = {"F32", 4}, [DTYPE_F64] = {"F64", 8},
};

size_t dtype_size(Dtype d) {
    if ((int)d < 0 || d >= DTYPES) error_bug("dtype_size: type %d, want one of Dtype", (int)d);
    return dtypes[d].size;
}

const char *dtype_name(Dtype d) {
    if ((int)d < 0 || d >= DTYPES) error_bug("dtype_name: type %d, want one of Dtype", (int)d);
    return dtypes[d].name;
}

Array array_over(const char *name, Dtype d, Shape s, const void *bytes) {
    Array a = {.name = name, .dtype = d, .rank = s.rank, .bytes = bytes};
    if (s.rank < 0 || s.rank > MAX_RANK || !shape_fits(s.rank, s.size, dtype_size(d), &a.count))
        error_bug("array_over: %s %s", name ? name : "an array", shape_text(s));
    if (a.count) WANT(bytes);
    for (int i = 0; i < s.rank; i++) a.size[i] = s.size[i];
    return a;
}

void array_free(Array *a) {
    WANT(a);
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
    WANT(a);
    WANT(s);
    if (a->rank > MAX_RANK)
        return error_set(e, STATUS_BAD_DATA, "%s: found %d axes, need at most %d", ARRAY_PLACE(a),
                         a->rank, MAX_RANK);
    *s = (Shape){.rank = a->rank};
    for (int i = 0; i < a->rank; i++) s->size[i] = a->size[i];
    return true;
}

bool array_expect_shape(const Array *a, Shape want, Error *e) {
    Shape found;
    if (!array_shape(a, &found, e)) return false;
    return shape_equal(found, want) ||
           error_set(e, STATUS_BAD_DATA, "%s: found shape %s, need %s", ARRAY_PLACE(a),
                     shape_text(found), shape_text(want));
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

/* The element may be unaligned. */
static double element_as_double(const Array *a, long i) {
    union {
        uint64_t bits;
        float f32;
        double f64;
    } x = {0};
    size_t size = dtype_size(a->dtype);
    memcpy(&x, (const char *)a->bytes + (size_t)i * size, size);
    switch (a->dtype) {
    case DTYPE_I32: return (int32_t)x.bits;
    case DTYPE_I64: return (double)(int64_t)x.bits;
    case DTYPE_F16: return from_half(x.bits);
    case DTYPE_BF16: x.bits <<= 16; return (double)x.f32; /* the upper half of a float */
    case DTYPE_F32: return (double)x.f32;
    case DTYPE_F64: return x.f64;
    default: return (double)x.bits;
    }
}

void array_to_double(const Array *a, double *out) {
    WANT(a);
    if (a->count) WANT(out);
    for (long i = 0; i < a->count; i++) out[i] = element_as_double(a, i);
}

bool array_to_real(const Array *a, real *out, Error *e) {
    WANT(a);
    if (a->count) WANT(out);
    if (a->dtype == DTYPE_REAL) {
        if (a->count) memcpy(out, a->bytes, (size_t)a->count * sizeof *out);
        return true;
    }
    for (long i = 0; i < a->count; i++) {
        double x = element_as_double(a, i);
        out[i] = (real)x;
        if (isinf(out[i]) && !isinf(x))
            return error_set(e, STATUS_BAD_DATA, "%s: element %ld: found %g, need at most %g",
                             ARRAY_PLACE(a), i, x, (double)REAL_MAX);
    }
    return true;
}

bool array_to_int32(const Array *a, int32_t *out, Error *e) {
    WANT(a);
    if (a->count) WANT(out);
    if (a->dtype >= DTYPE_F16)
        return error_set(e, STATUS_BAD_DATA, "%s: found numbers of type %s, need integers",
                         ARRAY_PLACE(a), dtype_name(a->dtype));
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
    if (a->dtype < DTYPE_F16) return true;
    for (long i = 0; i < a->count; i++) {
        double x = element_as_double(a, i);
        if (!isfinite(x))
            return error_set(e, STATUS_BAD_DATA, "%s: element %ld: found %g, need a finite number",
                             ARRAY_PLACE(a), i, x);
    }
    return true;
}
