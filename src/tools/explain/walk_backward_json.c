/* The walk backward as JSON, for other programs: the page of src/tools/web, tests. */
#include "explain/show.h"
#include "explain/walk_backward.h"
#include "explain/walk_records.h"
#include "formats/json.h"
#include <math.h>
#include <stdio.h>

/* The gradient of x: labels, shape, values. */
static void json_gradient(const Backward *b, const Tensor *x, const real *values) {
    walk_print_labels("rows", walk_backward_tokens(b, x, false));
    walk_print_labels("columns", walk_backward_tokens(b, x, true));
    show_matrix(x->shape, values);
}

void walk_backward_json_terms(const BackwardTerm *term, long count) {
    printf("\"terms\": [");
    for (long i = 0; i < count; i++)
        printf("%s[%ld, %.17g, %.17g]", i ? ", " : "", term[i].at, (double)term[i].dy,
               (double)term[i].slope);
    putchar(']');
}

void walk_backward_json(const Backward *b, long i, bool shown) {
    const Node *n = b->node[i];
    const Derivation *d = backward_derivation(n->op);
    char name[BACKWARD_NAME];
    printf("{\"backward\": %ld, \"operation\": \"%s\", \"view\": %s, \"place\": \"%s\", ", i,
           n->op->name, n->op->view ? "true" : "false", b->place[i]);
    show_text("name", walk_backward_name(b, n->out, name));
    printf("\"reads\": [");
    for (int k = 0, listed = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        if (listed++) fputs(", ", stdout);
        json_print(stdout, walk_backward_name(b, n->in[k], name));
    }
    if (!shown) {
        puts("]}");
        return;
    }
    printf("], ");
    char formula[RECORD_FORMULA], back[RECORD_FORMULA], both[2 * RECORD_FORMULA];
    snprintf(both, sizeof both, "%s\n%s", record_formula(n, false, formula),
             record_formula(n, true, back));
    show_text("formula", both);
    show_text("keeps", d ? d->keeps : "");
    json_gradient(b, n->out, n->out->grad);
    printf(", \"adds\": [");
    for (int k = 0, listed = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        const real *part = backward_part(&b->w->arena, b->node[i], k);
        const BackwardTerm *term = NULL;
        long cell, terms, visited, parts = walk_backward_parts(b, n->in[k], i, &visited);
        fputs(listed++ ? ", {" : "{", stdout);
        show_text("to", walk_backward_name(b, n->in[k], name));
        printf("\"part\": %ld, \"parts\": %ld, ", visited, parts);
        json_gradient(b, n->in[k], part);
        if (b->row >= 0) term = walk_backward_terms(b, i, k, part, &cell, &terms);
        if (term) printf(", \"cell\": %ld, ", cell), walk_backward_json_terms(term, terms);
        putchar('}');
    }
    putchar(']');
    long cell =
        n->op->view || b->w->options->operands ? -1 : walk_backward_cell(b, n->out, n->out->grad);
    if (cell >= 0 && isfinite(n->out->data[cell])) {
        Sweep s = backward_difference(b->node[i], cell);
        printf(", \"at\": %ld, \"difference\": %.17g, \"error\": %.3g", cell, s.value, s.error);
    }
    puts("}");
}
