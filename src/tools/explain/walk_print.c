/* Prints matrices in the width of the terminal: small ones whole, of large ones the corners. */
#include "explain/show.h"
#include "explain/walk.h"
#include "formats/json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDEST_LABEL = 12, MANY_ROWS = 16, EDGE_ROWS = 3 };

/* The layout of one matrix [rows, columns]. */
typedef struct Layout {
    const char *const *row_labels, *const *column_labels;
    long columns;
    long edge_rows, edge_columns; /* shown at either end */
    int label, cell;              /* widths of a row's label and of a number */
    int decimals;
    bool unicode;
} Layout;

const char *const *walk_labels(const WalkText *x, bool unicode) {
    for (long i = 0; x && !unicode && i < x->count; i++)
        for (const char *c = x->label[i]; *c; c++)
            if ((unsigned char)*c >= 0x80) return NULL;
    return x ? x->label : NULL;
}

static bool shown(long i, long count, long edge) {
    return i < edge || i >= count - edge;
}

/* Characters of the longest number, with sign and decimals. */
static int widest_number(const real *x, long count, int decimals) {
    double largest = 0;
    for (long i = 0; i < count; i++)
        if (isfinite(x[i])) largest = fmax(largest, fabs((double)x[i]));
    return snprintf(NULL, 0, "-%.*f", decimals, largest);
}

static Layout lay_out(const WalkOptions *o, const WalkMatrix *m, const real *x, long rows,
                      long columns) {
    Terminal t = terminal_of(stdout);
    Layout l = {walk_labels(m->rows, t.unicode), walk_labels(m->columns, t.unicode), columns,
                .unicode = t.unicode};
    l.decimals = strcmp(m->step, "tokens") == 0 ? 0 : 4;
    l.label = map_widest(l.row_labels, rows, WIDEST_LABEL, t.unicode);
    l.cell = widest_number(x, rows * columns, l.decimals);
    int widest = m->columns ? map_widest(l.column_labels, columns, WIDEST_LABEL, t.unicode) : 0;
    if (widest > l.cell) l.cell = widest;
    long fit = (t.width - l.label - 2) / (l.cell + 1);
    l.edge_rows = o->whole || rows <= MANY_ROWS ? rows : EDGE_ROWS;
    l.edge_columns = columns;
    if (!o->whole && columns > fit) { /* " ..." stands between the edges */
        long half = (t.width - l.label - 6) / (l.cell + 1) / 2;
        l.edge_columns = half > 1 ? half : 1;
    }
    return l;
}

static void print_head(const Layout *l) {
    printf("  %*s", l->label, "");
    for (long j = 0; j < l->columns; j++) {
        if (shown(j, l->columns, l->edge_columns)) {
            putchar(' ');
            label_padded(stdout, map_label(l->column_labels, j, WIDEST_LABEL, l->unicode), l->cell,
                         true);
        } else if (j == l->edge_columns) {
            printf(" ...");
        }
    }
    putchar('\n');
}

static void print_row(const Layout *l, long i, const real *x) {
    printf("  ");
    label_padded(stdout, map_label(l->row_labels, i, WIDEST_LABEL, l->unicode), l->label, false);
    for (long j = 0; j < l->columns; j++) {
        if (shown(j, l->columns, l->edge_columns))
            printf(" %*.*f", l->cell, l->decimals, (double)x[i * l->columns + j]);
        else if (j == l->edge_columns)
            printf(" ...");
    }
    putchar('\n');
}

static void print_matrix(const WalkOptions *o, const WalkMatrix *m, const real *x, long rows,
                         long columns) {
    Layout l = lay_out(o, m, x, rows, columns);
    if (columns > 1) print_head(&l);
    for (long i = 0; i < rows; i++) {
        if (shown(i, rows, l.edge_rows))
            print_row(&l, i, x);
        else if (i == l.edge_rows)
            printf("  ...\n");
    }
    putchar('\n');
}

void walk_print_numbers(const WalkOptions *o, const WalkMatrix *m) {
    print_matrix(o, m, m->value->data, m->value->shape.size[0], m->value->shape.size[1]);
}

static void print_text(const WalkOptions *o, const WalkMatrix *m) {
    Shape s = m->value->shape;
    long columns = s.rank > 1 ? s.size[s.rank - 1] : 1, rows = s.size[s.rank > 2 ? 1 : 0];
    char line[128];
    snprintf(line, sizeof line, "%s: %s, %s", m->step, m->name, shape_text(s));
    show_wrapped(line, 0);
    show_wrapped(m->formula, 2);
    if (m->purpose) show_wrapped(m->purpose, 2);
    for (long head = 0; head < (s.rank > 2 ? s.size[0] : 1); head++) {
        if (s.rank > 2) printf("  head %ld\n", head + 1);
        print_matrix(o, m, m->value->data + head * rows * columns, rows, columns);
    }
}

void walk_print_labels(const char *key, const WalkText *x) {
    printf("\"%s\": [", key);
    for (long i = 0; x && i < x->count; i++) {
        if (i) fputs(", ", stdout);
        json_print(stdout, x->label[i]);
    }
    printf("], ");
}

static void print_json(const WalkMatrix *m) {
    putchar('{');
    show_text("step", m->step);
    show_text("name", m->name);
    show_text("formula", m->formula);
    show_text("from", m->from ? m->from : "");
    walk_print_labels("rows", m->rows);
    walk_print_labels("columns", m->columns);
    show_matrix(m->value->shape, m->value->data);
    puts("}");
}

void walk_print(const WalkOptions *o, const WalkMatrix *m) {
    if (o->json)
        print_json(m);
    else
        print_text(o, m);
}

void walk_print_parameters(const WalkThrough *w, const char *key, const real *values) {
    const Parameters *p = &w->run.model->parameters;
    for (int i = 0; i < p->count; i++) {
        printf("{\"%s\": \"%s\", ", key, p->entry[i].name);
        show_matrix(p->entry[i].shape, values + p->entry[i].offset);
        puts("}");
    }
}
