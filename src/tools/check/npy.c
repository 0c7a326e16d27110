/* The .npy format (numpy.lib.format), version 1:
 *
 *     "\x93NUMPY", 1, 0, length of the header (2 bytes, low byte first)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   blanks, and a newline
 *     the elements */
#include "base/append.h"
#include "base/utf8.h"
#include "check/messages.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEFORE_HEADER = 10, MAX_HEADER = 10000 /* as in NumPy */ };

static const char *const types[DTYPES] = {
    [DTYPE_F32] = "<f4", [DTYPE_F64] = "<f8", [DTYPE_I64] = "<i8"};

/* The text after 'key': in the header. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), "\"': ") : "";
}

/* Reads the sizes of "(3, 4)". */
static bool read_shape(Array *a, const char *text, Error *e) {
    char *end;
    bool ok = *text++ == '(';
    while (ok) {
        text += strspn(text, ", ");
        if (*text == ')') break;
        if (a->rank == ARRAY_RANK)
            return error_set(e, STATUS_BAD_DATA, "%s: found more than %d axes", a->file,
                             ARRAY_RANK);
        a->size[a->rank++] = strtol(text, &end, 10);
        ok = end > text && a->size[a->rank - 1] >= 0;
        text = end;
    }
    return ok ||
           error_set(e, STATUS_BAD_DATA, "%s: found no shape like (3, 4) in its header", a->file);
}

static bool read_header(Array *a, char *header, Error *e) {
    const char *type = value_of(header, "descr");
    int length = (int)strcspn(type, "'\"");
    while (a->dtype < DTYPES && (!types[a->dtype] || strncmp(type, types[a->dtype], 3) != 0))
        a->dtype++;
    if (a->dtype == DTYPES) {
        utf8_make_printable(header, "");
        return error_set(e, STATUS_BAD_DATA,
                         "%s: found numbers of type '%.*s', need '<f8', '<f4' or '<i8'", a->file,
                         length < 16 ? length : 16, type);
    }
    if (strncmp(value_of(header, "fortran_order"), "False", 5) != 0)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: found another order of its elements, need 'fortran_order': False",
                         a->file);
    return read_shape(a, value_of(header, "shape"), e);
}

static bool has_ended(const char *what, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "%s: found its end", what);
}

bool npy_receive(Array *a, const char *what, long most, NpySource *more, void *context, Error *e) {
    unsigned char start[BEFORE_HEADER];
    char header[MAX_HEADER + 1];
    *a = (Array){.file = what};
    if (!more(context, start, sizeof start)) return has_ended(what, e);
    size_t length = start[8] | (size_t)start[9] << 8;
    if (memcmp(start, "\x93NUMPY\x01", 8) != 0 || length > MAX_HEADER)
        return error_set(e, STATUS_BAD_DATA, "%s: found no .npy array of version 1.0", what);
    if (!more(context, header, length)) return has_ended(what, e);
    header[length] = 0;
    if (!read_header(a, header, e)) return false;
    size_t size = dtype_size(a->dtype);
    if (!shape_fits(a->rank, a->size, size, &a->count) || a->count > most)
        return error_set(e, STATUS_BAD_DATA, "%s: found more than %ld elements", what, most);
    a->bytes = a->owned = malloc((size_t)a->count * size + 1);
    if (!a->owned) error_no_memory("%s of %ld numbers", what, a->count);
    if (more(context, a->owned, (size_t)a->count * size)) return true;
    array_free(a);
    return has_ended(what, e);
}

void npy_start(const Array *a, char start[NPY_START]) {
    /* NumPy pads the header to a multiple of 64 bytes and leaves room for the first size to grow.
     * At most 8 axes, whose sizes have at most 26 digits together since their bytes fit in a long,
     * always take 128. */
    char sizes[48] = "";
    for (int i = 0; i < a->rank; i++)
        text_append(sizes, sizeof sizes, i ? ", %ld" : "%ld", a->size[i]);
    int n = sprintf(
        start, "\x93NUMPY\1%c%c%c{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }", 0,
        NPY_START - BEFORE_HEADER, 0, types[a->dtype], sizes, a->rank == 1 ? "," : "");
    memset(start + n, ' ', (size_t)(NPY_START - 1 - n));
    start[NPY_START - 1] = '\n';
}
