/* The walk backward as JSON, for other programs: the page of src/web, tests. */
#include "explain/show.h"
#include "explain/walk_backward.h"
#include "formats/json.h"
#include <stdio.h>

static void json_labels(const char *key, const WalkText *x) {
    printf("\"%s\": [", key);
    for (long i = 0; x && i < x->count; i++) {
        if (i) fputs(", ", stdout);
        json_print(stdout, x->label[i]);
    }
    printf("], ");
}

static void json_matrix(const Tensor *x, const real *values) {
    printf("\"shape\": [");
    for (int i = 0; i < x->shape.rank; i++) printf("%s%ld", i ? ", " : "", x->shape.size[i]);
    printf("], ");
    show_values(values, shape_count(x->shape));
}

static void json_text(const char *key, const char *text) {
    printf("\"%s\": ", key);
    json_print(stdout, text);
}

static void json_terms(const Backward *b, long i, int k, const real *values) {
    Node *n = b->node[i];
    long cell = walk_backward_cell(b, n->in[k], values), count = shape_count(n->out->shape);
    if (b->row < 0 || cell < 0 || count > BACKWARD_MOST_TERMS) return;
    BackwardTerm *term = arena_alloc(&b->w->arena, ((size_t)count + 1) * sizeof *term);
    long terms = backward_terms(n, k, cell, term);
    printf(", \"cell\": %ld, \"terms\": [", cell);
    for (long j = 0; j < terms; j++)
        printf("%s[%ld, %.17g, %.17g]", j ? ", " : "", term[j].at, (double)term[j].dy, (double)term[j].slope);
    putchar(']');
}

void walk_backward_json(const Backward *b, long i) {
    const Node *n = b->node[i];
    const Derivation *d = backward_derivation(n->op);
    char name[BACKWARD_NAME];
    printf("{\"backward\": %ld, \"operation\": \"%s\", \"view\": %s, \"place\": \"%s\", ", i, n->op->name,
           n->op->view ? "true" : "false", b->place[i]);
    json_text("name", walk_backward_name(b, n->out, name));
    printf(", \"reads\": [");
    for (int k = 0, listed = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        if (listed++) fputs(", ", stdout);
        json_print(stdout, walk_backward_name(b, n->in[k], name));
    }
    printf("], ");
    json_text("formula", d ? d->formula : "");
    fputs(", ", stdout);
    json_text("keeps", d ? d->keeps : "");
    fputs(", ", stdout);
    json_labels("rows", walk_backward_tokens(b, n->out, b->place[i], false));
    json_labels("columns", walk_backward_tokens(b, n->out, b->place[i], true));
    json_matrix(n->out, n->out->grad);
    printf(", \"adds\": [");
    for (int k = 0, listed = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        Tensor *x = n->in[k];
        long visited, parts = walk_backward_parts(b, x, i, &visited);
        real *part = arena_alloc(&b->w->arena, ((size_t)shape_count(x->shape) + 1) * sizeof *part);
        backward_part(b->node[i], k, part);
        printf("%s{", listed++ ? ", " : "");
        json_text("to", walk_backward_name(b, x, name));
        printf(", \"part\": %ld, \"parts\": %ld, ", visited, parts);
        json_labels("rows", walk_backward_tokens(b, x, b->place[i], false));
        json_labels("columns", walk_backward_tokens(b, x, b->place[i], true));
        json_matrix(x, part);
        json_terms(b, i, k, part);
        putchar('}');
    }
    putchar(']');
    bool differs = !n->op->view && !b->w->options->operands;
    long cell = !differs ? -1 : walk_backward_cell(b, n->out, n->out->grad);
    if (cell >= 0) {
        Sweep s = backward_difference(b->node[i], cell);
        printf(", \"at\": %ld, \"difference\": %.17g, \"error\": %.3g", cell, s.value, s.error);
    }
    puts("}");
}

void walk_backward_json_gradients(const Backward *b) {
    const Parameters *p = &b->w->run.model->parameters;
    for (int i = 0; i < p->count; i++) {
        Tensor x = {.shape = p->entry[i].shape};
        printf("{\"gradient\": \"%s\", ", p->entry[i].name);
        json_matrix(&x, p->grad + p->entry[i].offset);
        puts("}");
    }
}
