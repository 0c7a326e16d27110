/* Prints matrices in the width of the terminal: small ones whole, of large ones the corners. */
#include "explain/pictures/terminal.h"
#include "explain/show.h"
#include "explain/walk.h"
#include "formats/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST_LABEL = 12, MANY_ROWS = 16, EDGE_ROWS = 3 };

/* The layout of one matrix [rows, columns]. */
typedef struct Layout {
    long columns;
    long edge_rows, edge_columns; /* shown at either end */
    int label, cell;              /* widths of a row's name and of a number */
    int decimals;
    bool unicode;
} Layout;

bool walk_readable(const WalkText *x, bool unicode) {
    for (long i = 0; i < x->count && !unicode; i++)
        for (const char *c = x->label[i]; *c; c++)
            if ((unsigned char)*c >= 0x80) return false;
    return true;
}

static Label name_of(const Layout *l, const WalkText *x, long i) {
    return x && walk_readable(x, l->unicode) ? label_of(x->label[i], WIDEST_LABEL, l->unicode)
                                             : label_number(i);
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

static Layout lay_out(const WalkOptions *o, const WalkMatrix *m, const real *x, long rows, long columns) {
    Terminal t = terminal_of(stdout);
    Layout l = {.columns = columns, .decimals = 4, .unicode = t.unicode};
    if (strcmp(m->step, "tokens") == 0) l.decimals = 0;
    l.cell = widest_number(x, rows * columns, l.decimals);
    for (long i = 0; i < rows; i++) {
        int width = name_of(&l, m->rows, i).columns;
        l.label = width > l.label ? width : l.label;
    }
    for (long j = 0; j < columns && m->columns; j++) {
        int width = name_of(&l, m->columns, j).columns;
        l.cell = width > l.cell ? width : l.cell;
    }
    long fit = (t.width - l.label - 2) / (l.cell + 1);
    l.edge_rows = o->whole || rows <= MANY_ROWS ? rows : EDGE_ROWS;
    l.edge_columns = o->whole || columns <= fit ? columns
                     : fit > 2                  ? (t.width - l.label - 6) / (l.cell + 1) / 2
                                                : 1;
    if (l.edge_columns < 1) l.edge_columns = 1;
    return l;
}

static void print_label(const Label *label, int width, bool right) {
    printf("%*s", right ? width - label->columns : 0, "");
    label_write(stdout, label);
    printf("%*s", right ? 0 : width - label->columns, "");
}

static void print_head(const Layout *l, const WalkText *columns) {
    printf("  %*s", l->label, "");
    for (long j = 0; j < l->columns; j++) {
        if (shown(j, l->columns, l->edge_columns)) {
            Label label = name_of(l, columns, j);
            putchar(' ');
            print_label(&label, l->cell, true);
        } else if (j == l->edge_columns) {
            printf(" ...");
        }
    }
    putchar('\n');
}

static void print_row(const Layout *l, const WalkText *rows, long i, const real *x) {
    Label label = name_of(l, rows, i);
    printf("  ");
    print_label(&label, l->label, false);
    for (long j = 0; j < l->columns; j++) {
        if (shown(j, l->columns, l->edge_columns))
            printf(" %*.*f", l->cell, l->decimals, (double)x[i * l->columns + j]);
        else if (j == l->edge_columns)
            printf(" ...");
    }
    putchar('\n');
}

static void print_matrix(const WalkOptions *o, const WalkMatrix *m, const real *x, long rows, long columns) {
    Layout l = lay_out(o, m, x, rows, columns);
    if (columns > 1) print_head(&l, m->columns);
    for (long i = 0; i < rows; i++) {
        if (shown(i, rows, l.edge_rows))
            print_row(&l, m->rows, i, x);
        else if (i == l.edge_rows)
            printf("  ...\n");
    }
    putchar('\n');
}

static void print_text(const WalkOptions *o, const WalkMatrix *m, const real *x) {
    Shape s = m->value->shape;
    long columns = s.rank > 1 ? s.size[s.rank - 1] : 1, rows = s.size[s.rank > 2 ? 1 : 0];
    char line[128];
    snprintf(line, sizeof line, "%s: %s, %s", m->step, m->name, shape_text(s));
    show_wrapped(line, 0);
    show_wrapped(m->formula, 2);
    if (m->purpose) show_wrapped(m->purpose, 2);
    for (long head = 0; head < (s.rank > 2 ? s.size[0] : 1); head++) {
        if (s.rank > 2) printf("  head %ld\n", head + 1);
        print_matrix(o, m, x + head * rows * columns, rows, columns);
    }
}

static void json_numbers(Shape s, const real *x) {
    printf("\"shape\": [");
    for (int i = 0; i < s.rank; i++) printf("%s%ld", i ? ", " : "", s.size[i]);
    printf("], \"values\": [");
    for (long i = 0; i < shape_count(s); i++)
        printf(isfinite(x[i]) ? "%s%.17g" : "%snull", i ? ", " : "", (double)x[i]);
    printf("]}\n");
}

static void print_json(const WalkMatrix *m, const real *x) {
    const char *const texts[] = {m->step, m->name, m->formula}, *const keys[] = {"step", "name", "formula"};
    for (int i = 0; i < 3; i++) {
        printf("%s\"%s\": ", i ? ", " : "{", keys[i]);
        json_print(stdout, texts[i]);
    }
    printf(", \"rows\": [");
    for (long i = 0; m->rows && i < m->rows->count; i++) {
        fputs(i ? ", " : "", stdout);
        json_print(stdout, m->rows->label[i]);
    }
    printf("], ");
    json_numbers(m->value->shape, x);
}

bool walk_print(const WalkOptions *o, const WalkMatrix *m, Error *e) {
    long count = shape_count(m->value->shape);
    real *x = malloc((size_t)count * sizeof *x);
    if (!x) return error_set(e, STATUS_NO_MEMORY, "memory: %ld numbers to print", count);
    tensor_copy_out(m->value, x);
    if (o->json)
        print_json(m, x);
    else
        print_text(o, m, x);
    free(x);
    return true;
}

void walk_print_weights(const WalkThrough *w) {
    const Parameters *p = &w->run.model->parameters;
    for (int i = 0; i < p->count; i++) {
        printf("{\"weight\": \"%s\", ", p->entry[i].name);
        json_numbers(p->entry[i].shape, p->value + p->entry[i].offset);
    }
}
