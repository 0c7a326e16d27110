#include "check/gradcheck/check_gradients.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum numbers of an array and rows of a table that are printed; rows of a table that has
 * more. */
enum { MAX_NUMBERS = 12, MAX_ROWS = 14, FEW_ROWS = 6 };

static void add_array(FILE *t, const char *name, Shape s, const real *v) {
    long count = shape_count(s);
    fprintf(t, "%.32s %s =", name, shape_text(s));
    for (long i = 0; i < count && i < MAX_NUMBERS; i++) fprintf(t, " %.6g", (double)v[i]);
    fprintf(t, count > MAX_NUMBERS ? " …\n" : "\n");
}

/* The digits of numbers that agree; the number of digits that shows a difference. */
enum { EQUAL_DIGITS = 6 };
static int digits_of(const Entry *e) {
    double size = fmax(fabs(e->analytic), fabs(e->numeric)), off = fabs(e->analytic - e->numeric);
    return off > 0 && isfinite(off) ? (int)fmin(fmax(4, 2 - floor(log10(off / size))), 12) : 4;
}

static void add_row(FILE *t, const char *element, const char *output, const Entry *e) {
    bool known = isfinite(e->numeric) && isfinite(e->estimate);
    bool depends = fabs(e->numeric) > 16 * e->estimate, number = isfinite(e->analytic);
    double right = depends ? e->numeric : 0;
    int digits =
        e->state == ENTRY_WRONG ? report_digits(e->analytic, right, digits_of(e)) : EQUAL_DIGITS;
    fprintf(t, "%-10s %-10s yours %-*.*g", element, output, digits + 6, digits,
            number || isinf(e->analytic) ? e->analytic : (double)NAN);
    if (known) fprintf(t, "  right %-*.*g", digits + 6, digits, right);
    if (known && depends && number) fprintf(t, "  ratio %.*g", digits, e->analytic / e->numeric);
    if (e->state == ENTRY_WRONG && (!known || depends || !number)) fprintf(t, "  WRONG");
    if (e->state == ENTRY_WRONG && known && !depends && number)
        fprintf(t, "  %s does not depend on this element", *output ? "this output" : "the output");
    fprintf(t, "\n");
}

/* Adds the rows of one cotangent that are `wrong`, as many as there is room for; entries that are 0
 * on both sides have no row. Returns the number of all such rows. */
static long add_rows(FILE *t, const Gradients *g, const Entries *e, const PointInput *in, long q,
                     bool wrong, long room) {
    char x[INDEX_TEXT], y[INDEX_TEXT + 8] = "", of[INDEX_TEXT];
    const Result *r = &g->run->result;
    if (q > 0) report_output_text(of, r->part, r->parts, q - 1);
    if (q > 0) snprintf(y, sizeof y, "for %s", of);
    long rows = 0;
    for (long j = 0; j < e->coordinates; j++) {
        const Entry *entry = &e->entry[q * e->coordinates + j];
        bool zero = entry->analytic == 0 && !(fabs(entry->numeric) > 16 * entry->estimate);
        if ((entry->state == ENTRY_WRONG) != wrong || zero || rows++ >= room) continue;
        add_row(t, gradcheck_element_text(x, in->name, in->shape, check_entries_element(e, j)), y,
                entry);
    }
    return rows;
}

static void add_table(FILE *t, const Gradients *g, const Entries *e, const PointInput *in,
                      long first, long end) {
    long all = 0;
    for (long q = first; q < end; q++)
        for (int wrong = 0; wrong < 2; wrong++) all += add_rows(NULL, g, e, in, q, wrong, 0);
    bool many = all > MAX_ROWS;
    long left = many ? FEW_ROWS : MAX_ROWS;
    for (int wrong = 1; wrong >= 0; wrong--)
        for (long q = first; q < end; q++) {
            long rows = add_rows(t, g, e, in, q, wrong, left);
            left -= rows < left ? rows : left;
        }
    if (many) fprintf(t, "and %ld more\n", all - FEW_ROWS);
}

/* The number of numbers of the point and its output. */
static long size_of(const Gradients *g) {
    const CheckPoint *p = g->run->point;
    long size = g->outputs;
    for (int k = 0; k < p->inputs; k++) size += p->in[k].same_as < 0 ? p->in[k].count : 0;
    return size;
}

bool counterexample_write(const Gradients *g, int k, const char *how, InputReport *report) {
    const CheckPoint *p = g->run->point;
    const Entries *e = &g->element[k];
    char *text = NULL;
    size_t length;
    long size = size_of(g);
    if (!e->coordinates || e->place || (report->full_size && size >= report->full_size))
        return false;
    FILE *t = open_memstream(&text, &length);
    if (!t) error_no_memory("a report");
    if (*how) fprintf(t, "the same with %s:\n", how);
    for (int i = 0; i < p->inputs; i++)
        if (p->in[i].same_as >= 0)
            fprintf(t, "%.24s is %.24s\n", p->in[i].name, p->in[p->in[i].same_as].name);
        else
            add_array(t, p->in[i].name, p->in[i].shape, p->in[i].value);
    const Result *r = &g->run->result;
    const real *dy = g->cotangent;
    for (int i = 0; i == 0 || i < r->parts; dy += shape_count(r->part[i++])) {
        char name[REPORT_WORD] = "upstream gradient";
        if (r->parts > 1) snprintf(name, sizeof name, "upstream gradient of y%d", i);
        add_array(t, name, r->part[i], dy);
    }
    fprintf(t, "%s, for this upstream gradient:\n", report->name);
    add_table(t, g, e, &p->in[k], 0, 1);
    if (g->whole && g->outputs > 1) {
        fprintf(t, "for an upstream gradient of 1 at one output and 0 at all others:\n");
        add_table(t, g, e, &p->in[k], 1, e->cotangents);
    }
    if (fclose(t) != 0 || !text) error_no_memory("a report");
    REPORT_SET(report->full, text);
    free(text);
    report->full_size = size;
    return true;
}

long counterexample_next_size(const CheckCase *c, long above) {
    long next = 0;
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++)
        for (int axis = 0; axis < c->in[k].shape.rank; axis++) {
            long size = c->in[k].shape.size[axis];
            if (size > above && (!next || size < next)) next = size;
        }
    return next;
}
