#include "check/message.h"
#include "check/npy.h"
#include <stdlib.h>
#include <string.h>

void message_put(Message *m, const void *bytes, size_t size) {
    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size) + 4096;
        m->bytes = realloc(m->bytes, m->room);
        if (!m->bytes) error_no_memory("a message of %zu bytes", m->size + size);
    }
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

void message_array(Message *m, Dtype dtype, long runs, Shape s, const void *bytes) {
    Array a = array_over(NULL, dtype, s, bytes);
    char start[NPY_START];
    if (runs) {
        memmove(a.size + 1, a.size, sizeof a.size - sizeof *a.size);
        a.size[0] = runs, a.rank++, a.count *= runs;
    }
    npy_start(&a, start);
    message_put(m, start, sizeof start);
    message_put(m, bytes, (size_t)a.count * dtype_size(dtype));
}

void message_reals(Message *m, long runs, Shape s, const real *x) {
    long count = shape_count(s) * (runs ? runs : 1);
    double *wide = malloc(((size_t)count + 1) * sizeof *wide);
    if (!wide) error_no_memory("an array of %ld numbers", count);
    for (long i = 0; i < count; i++) wide[i] = (double)x[i];
    message_array(m, DTYPE_F64, runs, s, wide);
    free(wide);
}
