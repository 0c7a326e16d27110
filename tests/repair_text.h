/* A C file that a test has in hand, taken apart (src/repair), and the changes that are listed of it. */
#ifndef TESTS_REPAIR_TEXT_H
#define TESTS_REPAIR_TEXT_H

#include "repair/edits.h"
#include "test.h"

static Arena arena;
static CSource source;
static Edits edits;
static char text[1 << 14];

static inline void read_text(const char *op) {
    CHECK(c_source_read(&source, text, op, &arena), "too large");
    edits_read(&edits, &source);
}

static inline void forget(void) {
    edits_free(&edits);
    c_source_free(&source);
    arena_free(&arena);
    arena = (Arena){0};
}

/* One in which these lines stand, the first of them in line 23, in two loops of backward, and a forward that saves something. */
enum { LINES = 23 };
static inline void read_lines(const char *lines) {
    snprintf(text, sizeof text,
             "#include \"ops/ops.h\"\n"
             "typedef struct Pair { double re, im; } Pair;\n"
             "typedef struct Attr { double scale, *saved; long width, height; } Attr;\n"
             "static double own(double c, long k) { double i = c; return i * k; }\n"
             "static double part(Pair *m) { return m->re; }\n"
             "static inline void forward(Node *n) {\n"
             "    Attr *m = n->attr;\n"
             "    double *y = n->out->data;\n"
             "    m->scale = 2;\n"
             "    y[0] = m->scale;\n"
             "    n->out->data[1] = m->width;\n"
             "    m->width = 1;\n"
             "}\n"
             "static inline void backward(Node *n) {\n"
             "    Attr *m = n->attr;\n"
             "    long N = n->in[0]->shape.size[0];\n"
             "    const double *x = n->in[0]->data, *dy = n->out->grad;\n"
             "    double *dx = n->in[0]->grad, *h = m->saved, a = 2, b = 3, sum = 0;\n"
             "    sum = b;\n"
             "    Pair p = {1, 2}, q = {3, 4};\n"
             "    for (long i = 0; i < N; i++)\n"
             "        for (long j = N - 1; j >= 0; j--) {\n"
             "            %s\n"
             "        }\n"
             "}\n",
             lines);
    read_text("lines");
}

static inline const char *original(const Edit *e) {
    return edits_tokens(&edits, e->part[0].begin, e->part[0].end);
}

/* The number of the edit of these lines that makes `becomes` of `is`, or of any such edit where that is NULL; -1: there is none. */
static inline int find_edit(EditKind kind, const char *is, const char *becomes) {
    for (int i = 0; i < edits.edits; i++) {
        const Edit *e = &edits.edit[i];
        bool here =
            source.token[e->part[0].begin].line >= LINES && e->kind == kind && strcmp(original(e), is) == 0;
        if (here && (!becomes || strcmp(e->part[0].text, becomes) == 0)) return i;
    }
    return -1;
}

/* The number of the value or target with this text in a pool, from 1; NULL: 0. */
static inline int number_of(const Value *const *value, int values, const char *name) {
    for (int i = 0; name && i < values; i++)
        if (strcmp(value[i]->text, name) == 0) return i + 1;
    CHECK(!name, "no value '%s'", name);
    return name != NULL;
}

#endif
