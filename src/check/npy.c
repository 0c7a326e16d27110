/* The .npy format (numpy.lib.format, versions 1 to 3):
 *
 *     "\x93NUMPY", version (2 bytes), length of the header (2 bytes; 4 from version 2 on)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   blanks, and a newline
 *     the elements
 *
 * The header is a Python literal. It is read as JSON, after its quotes, brackets, booleans and last commas
 * are changed to those of JSON. Its keys are the three above. */
#include "check/npy.h"
#include "base/file.h"
#include "base/utf8.h"
#include "formats/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 10000 }; /* as in NumPy */

/* ---- The header ---- */

static const struct {
    const char *name; /* after the byte order */
    Dtype dtype;
} types[] = {
    {"b1", DTYPE_BOOL}, {"u1", DTYPE_U8},  {"i1", DTYPE_I8},  {"u2", DTYPE_U16},
    {"i2", DTYPE_I16},  {"u4", DTYPE_U32}, {"i4", DTYPE_I32}, {"u8", DTYPE_U64},
    {"i8", DTYPE_I64},  {"f2", DTYPE_F16}, {"f4", DTYPE_F32}, {"f8", DTYPE_F64},
};
enum { TYPES = sizeof types / sizeof *types };

/* Changes a Python literal to JSON of the same length. */
static void python_to_json(char *text) {
    for (char *c = text; *c; c++) {
        if (*c == '\'') *c = '"';
        if (*c == '(') *c = '[';
        if (*c == ')') *c = ']';
        if (*c == ',' && strchr(")}", c[1 + strspn(c + 1, " \t")])) *c = ' ';
        if (strncmp(c, "True", 4) == 0) memcpy(c, "1   ", 4);
        if (strncmp(c, "False", 5) == 0) memcpy(c, "0    ", 5);
    }
}

static bool read_type(Json *j, Dtype *dtype, bool *swapped) {
    JsonString s;
    if (!json_string(j, &s)) return false;
    for (int i = 0; i < TYPES; i++) {
        bool one_byte = dtype_size(types[i].dtype) == 1;
        if (!*s.text || !strchr(one_byte ? "|<>" : "<>", *s.text) || strcmp(s.text + 1, types[i].name) != 0)
            continue;
        *dtype = types[i].dtype;
        *swapped = *s.text == '>' && !one_byte;
        return true;
    }
    bool pickled = strcmp(s.text, "|O") == 0 || strcmp(s.text, "O") == 0;
    return json_fail(j, "found type '%s'%s, need one like '<f4', '>f8', '<i4', '|u1'", ESCAPED(s.text),
                     pickled ? ", pickled object arrays" : "");
}

static bool read_shape(Json *j, Array *a) {
    uint64_t size;
    for (json_enter(j, '['); json_element(j); a->size[a->rank++] = (long)size) {
        if (a->rank == ARRAY_RANK) return json_fail(j, "found more than %d axes", ARRAY_RANK);
        if (!json_natural(j, &size)) return false;
        if (size > LONG_MAX)
            return json_fail(j, "found size %ju, need one below " LONG_BOUND, (uintmax_t)size);
    }
    return !j->failed;
}

static bool read_header(Array *a, char *text, size_t length, bool *swapped, bool *fortran, Error *e) {
    char where[ARRAY_WHERE];
    int types_read = 0, orders = 0, shapes = 0;
    uint64_t order = 0;
    JsonString key;
    snprintf(where, sizeof where, "%s: header", a->file);
    python_to_json(text);
    Json j = json_over(where, text, length, e);
    for (json_enter(&j, '{'); json_member(&j, &key);) {
        if (strcmp(key.text, "descr") == 0 && !types_read++)
            read_type(&j, &a->dtype, swapped);
        else if (strcmp(key.text, "fortran_order") == 0 && !orders++)
            json_natural(&j, &order);
        else if (strcmp(key.text, "shape") == 0 && !shapes++)
            read_shape(&j, a);
        else
            json_fail(&j, "found key '%s', need 'descr', 'fortran_order' and 'shape' once",
                      ESCAPED(key.text));
    }
    *fortran = order;
    return json_end(&j) && ((types_read && orders && shapes) || json_fail(&j, "found no key '%s'",
                                                                          !types_read ? "descr"
                                                                          : !orders   ? "fortran_order"
                                                                                      : "shape"));
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

enum { SHORT_START = 10, LONG_START = 12 }; /* bytes before the header: version 1, and later ones */

/* How an array is stored, besides its type and shape. */
typedef struct Storage {
    size_t start; /* of the elements */
    bool swapped, fortran;
} Storage;

/* The length of the header, from the first bytes of a file. */
static size_t header_length(const unsigned char *u) {
    size_t length = u[8] | (size_t)u[9] << 8;
    if (u[6] > 1) length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    return length;
}

/* Reads all before the elements, whose number is then known. */
static bool parse_start(Array *a, const char *path, const char *data, size_t size, Storage *s, Error *e) {
    static const char magic[] = "\x93NUMPY";
    const unsigned char *u = (const unsigned char *)data;
    if (size < 10 || memcmp(data, magic, 6) != 0)
        return error_set(e, STATUS_BAD_DATA, "%s: found no \\x93NUMPY at its start: not a .npy file", path);
    if (u[6] < 1 || u[6] > 3 || u[7] != 0)
        return error_set(e, STATUS_BAD_DATA, "%s: found format version %d.%d, need 1.0, 2.0 or 3.0", path,
                         u[6], u[7]);
    size_t start = u[6] == 1 ? 10 : 12;
    if (size < start) return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes, need a header", path, size);
    size_t length = header_length(u);
    if (length > MAX_HEADER || length > size - start)
        return error_set(e, STATUS_BAD_DATA, "%s: found a header of %zu bytes, need at most %zu", path,
                         length, size - start < MAX_HEADER ? size - start : (size_t)MAX_HEADER);

    char header[MAX_HEADER + 1] = {0};
    memcpy(header, data + start, length);
    s->start = start + length;
    return read_header(a, header, length, &s->swapped, &s->fortran, e) &&
           (shape_fits(a->rank, a->size, dtype_size(a->dtype), &a->count) ||
            error_set(e, STATUS_BAD_DATA, "%s: header: found a shape of more than " LONG_BOUND " bytes",
                      path));
}

static bool parse(Array *a, const char *path, char *data, size_t size, Error *e) {
    Storage s = {0};
    if (!parse_start(a, path, data, size, &s, e)) return false;
    size_t bytes = (size_t)a->count * dtype_size(a->dtype), found = size - s.start;
    if (found != bytes)
        return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes of elements, need %zu", path, found, bytes);

    char *elements = data + s.start;
    if (s.swapped) swap_bytes(elements, a->count, dtype_size(a->dtype));
    a->bytes = elements;
    a->owned = data;
    if (!s.fortran || a->rank < 2) return true;

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

bool npy_receive(Array *a, const char *path, size_t most, NpySource *more, void *context, Error *e) {
    char start[LONG_START + MAX_HEADER];
    Storage s = {0};
    *a = (Array){.file = path};
    bool whole = more(context, start, SHORT_START);
    size_t first = whole && start[6] > 1 ? LONG_START : SHORT_START;
    whole = whole && more(context, start + SHORT_START, first - SHORT_START);
    size_t length = whole ? header_length((const unsigned char *)start) : 0;
    size_t size = first + (length < MAX_HEADER ? length : MAX_HEADER);
    whole = whole && more(context, start + first, size - first);
    if (!whole) return error_set(e, STATUS_BAD_DATA, "%s: found its end", path);
    if (!parse_start(a, path, start, size, &s, e)) return false;
    size_t bytes = (size_t)a->count * dtype_size(a->dtype);
    char *all = bytes <= most ? malloc(size + bytes) : NULL;
    if (!all)
        return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes of elements, need at most %zu", path, bytes,
                         most);
    memcpy(all, start, size);
    if (more(context, all + size, bytes)) return npy_parse(a, path, all, size + bytes, e);
    free(all);
    return error_set(e, STATUS_BAD_DATA, "%s: found its end", path);
}

void npy_start(const Array *a, char all[NPY_START]) {
    int type = 0;
    while (type < TYPES && types[type].dtype != a->dtype) type++;
    if (type == TYPES) error_bug("npy: NumPy has no type %s", dtype_name(a->dtype));

    /* NumPy pads the header to a multiple of 64 bytes and leaves room for the first size to grow. At most 8
     * axes, whose sizes have at most 26 digits together since their bytes fit in a long, always take 128. */
    enum { LENGTH = NPY_START - SHORT_START };
    char sizes[48] = "";
    for (int i = 0, n = 0; i < a->rank; i++) n += sprintf(sizes + n, i ? ", %ld" : "%ld", a->size[i]);
    int n = sprintf(all, "\x93NUMPY\1%c%c%c{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }", 0,
                    LENGTH, 0, dtype_size(a->dtype) == 1 ? '|' : '<', types[type].name, sizes,
                    a->rank == 1 ? "," : "");
    memset(all + n, ' ', (size_t)(NPY_START - 1 - n));
    all[NPY_START - 1] = '\n';
}

bool npy_write(const Array *a, const char *path, Error *e) {
    char start[NPY_START];
    npy_start(a, start);
    File *f = file_create(path, e);
    if (!f) return false;
    file_write(f, start, NPY_START);
    file_write(f, a->bytes, (size_t)a->count * dtype_size(a->dtype));
    return file_commit(f, e);
}
