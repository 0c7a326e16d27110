/* The .npy format (numpy.lib.format, versions 1 to 3):
 *
 *     "\x93NUMPY", version (2 bytes), length of the header (2 bytes; 4 from version 2 on)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   blanks, and a newline
 *     the elements
 *
 * The header is a Python literal. NumPy accepts whatever Python reads: negative sizes, True as a size, bytes
 * after the last element. This reader accepts the three keys and their values only. */
#include "check/npy.h"
#include "base/file.h"
#include "base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 10000 }; /* as in NumPy */

/* ---- The header ---- */

typedef struct Header {
    const char *path;
    const char *start, *at, *end; /* of its text */
    Error *error;

    bool has_descr, has_order, has_shape;
    bool swapped, fortran;
    Array *array;
} Header;

/* Fails at the current position. */
static bool need(Header *h, const char *what) {
    char next[17] = "";
    size_t n = (size_t)(h->end - h->at) < 16 ? (size_t)(h->end - h->at) : 16;
    memcpy(next, h->at, n);
    next[strcspn(next, "\n")] = 0;
    return error_set(h->error, STATUS_BAD_DATA, "%s: header, character %td: found \"%s\", need %s", h->path,
                     h->at - h->start, ESCAPED(next), what);
}

static void skip_blanks(Header *h) {
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\t')) h->at++;
}

/* Consumes the word if it comes next, after blanks. */
static bool take(Header *h, const char *word) {
    skip_blanks(h);
    size_t n = strlen(word);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0) return false;
    h->at += n;
    return true;
}

/* Reads a string in single or double quotes, without backslashes. */
static bool read_string(Header *h, char out[16], const char *what) {
    const char *from = h->at;
    char quote = h->at < h->end ? *h->at : 0;
    if (quote != '\'' && quote != '"') return need(h, what);
    const char *last = memchr(from + 1, quote, (size_t)(h->end - from - 1));
    if (!last || last - from > 16 || memchr(from, '\\', (size_t)(last - from))) return need(h, what);
    memcpy(out, from + 1, (size_t)(last - from - 1));
    out[last - from - 1] = 0;
    h->at = last + 1;
    return true;
}

static const struct {
    const char *name; /* after the byte order */
    Dtype dtype;
} types[] = {
    {"b1", DTYPE_BOOL}, {"u1", DTYPE_U8},  {"i1", DTYPE_I8},  {"u2", DTYPE_U16},
    {"i2", DTYPE_I16},  {"u4", DTYPE_U32}, {"i4", DTYPE_I32}, {"u8", DTYPE_U64},
    {"i8", DTYPE_I64},  {"f2", DTYPE_F16}, {"f4", DTYPE_F32}, {"f8", DTYPE_F64},
};
enum { TYPES = sizeof types / sizeof *types };

static bool read_descr(Header *h) {
    static const char wanted[] = "a type like '<f4', '>f8', '<i4', '|u1'";
    char descr[16];
    skip_blanks(h);
    Header before = *h;
    if (!read_string(h, descr, wanted)) return false;
    if (strcmp(descr, "|O") == 0 || strcmp(descr, "O") == 0)
        return error_set(h->error, STATUS_BAD_DATA, "%s: pickled object arrays refused, need numbers",
                         h->path);
    for (int i = 0; i < TYPES; i++) {
        bool one_byte = dtype_size(types[i].dtype) == 1;
        if (!*descr || !strchr(one_byte ? "|<>" : "<>", *descr) || strcmp(descr + 1, types[i].name) != 0)
            continue;
        h->array->dtype = types[i].dtype;
        h->swapped = *descr == '>' && !one_byte;
        return true;
    }
    h->at = before.at;
    return need(h, wanted);
}

static bool read_order(Header *h) {
    h->fortran = take(h, "True");
    return h->fortran || take(h, "False") || need(h, "True or False");
}

static bool read_size(Header *h, long *size) {
    const char *from = h->at;
    long n = 0;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *h->at - '0', &n)) {
            h->at = from;
            return need(h, "a size below " LONG_BOUND);
        }
    if (h->at > from && (*from != '0' || h->at == from + 1)) {
        *size = n;
        return true;
    }
    h->at = from;
    return need(h, "a size: digits only");
}

static bool read_shape(Header *h) {
    static const char wanted[] = "a shape like (), (3,) or (3, 4)";
    Array *a = h->array;
    if (!take(h, "(")) return need(h, wanted);
    while (!take(h, ")")) {
        if (a->rank == ARRAY_RANK)
            return error_set(h->error, STATUS_BAD_DATA, "%s: header: found more than %d axes", h->path,
                             ARRAY_RANK);
        if (!read_size(h, &a->size[a->rank])) return false;
        a->rank++;
        bool comma = take(h, ",");
        if (!comma && a->rank == 1) return need(h, "a comma, as in (3,)"); /* (3) is a number, not a tuple */
        if (comma) continue;
        return take(h, ")") || need(h, "a comma or a bracket");
    }
    return true;
}

/* Reads one `'key': value`. */
static bool read_item(Header *h) {
    static const char wanted[] = "one of the keys 'descr', 'fortran_order' and 'shape'";
    char key[16];
    skip_blanks(h);
    const char *from = h->at;
    if (!read_string(h, key, wanted)) return false;
    bool descr = strcmp(key, "descr") == 0, order = strcmp(key, "fortran_order") == 0;
    bool *seen = descr                       ? &h->has_descr
                 : order                     ? &h->has_order
                 : strcmp(key, "shape") == 0 ? &h->has_shape
                                             : NULL;
    if (!seen || *seen) {
        h->at = from;
        return need(h, seen ? "each key once" : wanted);
    }
    *seen = true;
    if (!take(h, ":")) return need(h, "a colon");
    return descr ? read_descr(h) : order ? read_order(h) : read_shape(h);
}

static bool read_header(Header *h) {
    if (h->at == h->end || h->end[-1] != '\n')
        return error_set(h->error, STATUS_BAD_DATA, "%s: header: found no newline at its end", h->path);
    h->end--;
    if (!take(h, "{")) return need(h, "{");
    while (!take(h, "}")) {
        if (!read_item(h)) return false;
        if (take(h, ",")) continue;
        if (!take(h, "}")) return need(h, "a comma or }");
        break;
    }
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return need(h, !h->has_descr   ? "'descr' before it"
                       : !h->has_order ? "'fortran_order' before it"
                                       : "'shape' before it");
    skip_blanks(h);
    return h->at == h->end || need(h, "blanks up to the newline");
}

/* ---- The elements ---- */

/* Copies elements whose first index runs fastest to an array whose last index does. */
static void to_row_major(const Array *a, const char *from, char *to) {
    size_t size = dtype_size(a->dtype);
    long index[ARRAY_RANK] = {0}, stride[ARRAY_RANK], at = 0;
    for (int i = 0; i < a->rank; i++) stride[i] = i ? stride[i - 1] * a->size[i - 1] : 1;
    for (long n = 0; n < a->count; n++, to += size) {
        memcpy(to, from + (size_t)at * size, size);
        for (int i = a->rank - 1; i >= 0; i--) {
            at += stride[i];
            if (++index[i] < a->size[i]) break;
            at -= stride[i] * index[i];
            index[i] = 0;
        }
    }
}

/* ---- Reading and writing ---- */

/* Reverses the bytes of each of `count` elements. */
static void swap_bytes(char *element, long count, size_t size) {
    for (; count; count--, element += size)
        for (size_t i = 0; i < size / 2; i++) {
            char byte = element[i];
            element[i] = element[size - 1 - i];
            element[size - 1 - i] = byte;
        }
}

static bool parse(Array *a, const char *path, char *data, size_t size, Error *e) {
    static const char magic[] = "\x93NUMPY";
    const unsigned char *u = (const unsigned char *)data;
    if (size < 10 || memcmp(data, magic, 6) != 0)
        return error_set(e, STATUS_BAD_DATA, "%s: found no \\x93NUMPY at its start: not a .npy file", path);
    if (u[6] < 1 || u[6] > 3 || u[7] != 0)
        return error_set(e, STATUS_BAD_DATA, "%s: found format version %d.%d, need 1.0, 2.0 or 3.0", path,
                         u[6], u[7]);
    size_t start = u[6] == 1 ? 10 : 12;
    if (size < start) return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes, need a header", path, size);
    size_t length = u[8] | (size_t)u[9] << 8;
    if (u[6] > 1) length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (length > MAX_HEADER || length > size - start)
        return error_set(e, STATUS_BAD_DATA, "%s: found a header of %zu bytes, need at most %zu", path,
                         length, size - start < MAX_HEADER ? size - start : (size_t)MAX_HEADER);

    Header h = {.path = path,
                .start = data + start,
                .at = data + start,
                .end = data + start + length,
                .error = e,
                .array = a};
    if (!read_header(&h)) return false;
    if (!shape_fits(a->rank, a->size, dtype_size(a->dtype), &a->count))
        return error_set(e, STATUS_BAD_DATA, "%s: header: found a shape of more than " LONG_BOUND " bytes",
                         path);
    size_t bytes = (size_t)a->count * dtype_size(a->dtype), found = size - start - length;
    if (found != bytes)
        return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes of elements, need %zu", path, found, bytes);

    char *elements = data + start + length;
    if (h.swapped) swap_bytes(elements, a->count, dtype_size(a->dtype));
    a->bytes = elements;
    a->owned = data;
    if (!h.fortran || a->rank < 2) return true;

    char *row_major = malloc(bytes + 1);
    if (!row_major) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its %zu bytes", path, bytes);
    to_row_major(a, elements, row_major);
    free(data);
    a->bytes = a->owned = row_major;
    return true;
}

bool npy_parse(Array *a, const char *path, char *data, size_t size, Error *e) {
    *a = (Array){.file = path};
    if (parse(a, path, data, size, e)) return true;
    free(data);
    *a = (Array){0};
    return false;
}

bool npy_read(Array *a, const char *path, Error *e) {
    char *data;
    size_t size;
    *a = (Array){0};
    return file_read(path, 0, &data, &size, e) && npy_parse(a, path, data, size, e);
}

bool npy_write(const Array *a, const char *path, Error *e) {
    int type = 0;
    while (type < TYPES && types[type].dtype != a->dtype) type++;
    if (type == TYPES) error_bug("npy_write: %s: NumPy has no type %s", path, dtype_name(a->dtype));

    /* NumPy pads the header to a multiple of 64 bytes and leaves room for the first size to grow. At most 8
     * axes, whose sizes have at most 26 digits together since their bytes fit in a long, always take 128. */
    enum { ALL = 128, BEFORE = 10, LENGTH = ALL - BEFORE };
    char sizes[48] = "", all[ALL + 1];
    for (int i = 0, n = 0; i < a->rank; i++) n += sprintf(sizes + n, i ? ", %ld" : "%ld", a->size[i]);
    int n = sprintf(all, "\x93NUMPY\1%c%c%c{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }", 0,
                    LENGTH, 0, dtype_size(a->dtype) == 1 ? '|' : '<', types[type].name, sizes,
                    a->rank == 1 ? "," : "");
    sprintf(all + n, "%*s\n", ALL - 1 - n, "");

    File *f = file_create(path, e);
    if (!f) return false;
    file_write(f, all, ALL);
    file_write(f, a->bytes, (size_t)a->count * dtype_size(a->dtype));
    return file_commit(f, e);
}
