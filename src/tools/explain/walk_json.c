/* The walk as JSON: walk_records.h describes it. */
#include "explain/walk_records.h"
#include "formats/json.h"
#include <math.h>
#include <stdio.h>

static void print_number(double x) {
    printf(isfinite(x) ? "%.17g" : "null", x);
}

static void show_text(const char *key, const char *text) {
    printf("\"%s\": ", key);
    json_print(stdout, text);
    fputs(", ", stdout);
}

static void print_shape(Shape s) {
    printf("\"shape\": [");
    for (int i = 0; i < s.rank; i++) printf("%s%ld", i ? "," : "", s.size[i]);
    printf("], ");
}

static void print_axes(Axes axes, int rank) {
    printf("\"axes\": [");
    for (int i = 0; i < rank; i++) printf("%s\"%s\"", i ? ", " : "", axis_names[axes.of[i]]);
    printf("], ");
}

/* `"key": [1, 2]`, of a tensor with any strides; values NULL: its own. */
static void print_values(const char *key, const Tensor *x, const real *values) {
    long count = shape_count(x->shape);
    Arena arena = {0};
    if (!values) {
        real *copy = arena_alloc(&arena, (size_t)count * sizeof *copy);
        tensor_copy_out(x, copy);
        values = copy;
    }
    printf("\"%s\": [", key);
    for (long i = 0; i < count; i++) {
        if (i) putchar(',');
        print_number((double)values[i]);
    }
    putchar(']');
    arena_free(&arena);
}

/* ---- The model ---- */

static void print_labels(const char *key, const Labels *x, const char *end) {
    printf("\"%s\": [", key);
    for (long i = 0; i < x->count; i++) {
        if (i) printf(", ");
        json_print(stdout, x->of[i]);
    }
    printf("]%s", end);
}

void records_json_head(const Records *r, bool backward) {
    const Tensor *loss = records_loss(r);
    ConfigField field;
    printf("{\"walk\": \"%s\", \"records\": %ld, \"loss\": ", backward ? "backward" : "forward",
           r->count);
    print_number(loss ? (double)*loss->data : NAN);
    printf(", \"model\": {");
    for (int i = 0; config_field(&r->model->config, i, &field); i++) {
        printf("%s\"%s\": ", i ? ", " : "", field.key);
        json_print(stdout, field.value);
    }
    printf("}, \"labels\": {");
    print_labels("source", &r->labels[AXIS_SOURCE], ", ");
    print_labels("target", &r->labels[AXIS_TARGET], ", ");
    print_labels("vocabulary", &r->labels[AXIS_VOCABULARY], "}}\n");
}

static void print_rows(void *is_later, const char *name, long from, long count, long heads) {
    bool *later = is_later;
    printf("%s{\"makes\": \"%s\", \"from\": %ld, \"count\": %ld, \"heads\": %ld}",
           *later ? ", " : "", name, from, count, heads);
    *later = true;
}

void records_json_parameters(const Records *r, bool backward) {
    const Parameters *all = &r->model->parameters;
    for (int i = 0; i < all->count; i++) {
        const Parameter *p = &all->entry[i];
        const real *values = (backward ? all->grad : all->value) + p->offset;
        bool is_later = false;
        printf("{");
        show_text("parameter", p->name);
        print_shape(p->shape);
        print_axes(record_axes(r, p->part[0]), p->shape.rank);
        printf("\"rows\": [");
        record_rows(r, p, print_rows, &is_later);
        printf("], ");
        print_values(backward ? "gradient" : "values", &(Tensor){.shape = p->shape}, values);
        puts("}");
    }
}

/* ---- A record ---- */

static void print_operand(const Records *r, const Node *n, int k) {
    const Tensor *x = n->in[k];
    char name[RECORD_NAME], input[BACKWARD_INPUT];
    long row = 0;
    const Parameter *p = record_parameter(r, x, &row);
    show_text("input", backward_input(n, k, input));
    show_text("name", record_name(r, x, name));
    if (p) {
        show_text("parameter", p->name);
        printf("\"row\": %ld, ", row);
    } else if (x->maker) {
        printf("\"record\": %ld, ", x->maker->index);
    } else {
        print_values("values", x, NULL);
        printf(", ");
    }
    print_shape(x->shape);
}

static void print_operands(const Records *r, const Node *n) {
    const char *comma = "";
    printf("\"operands\": [");
    for (int k = 0; k < n->inputs; k++) {
        if (!n->in[k]) continue;
        printf("%s{", comma);
        print_operand(r, n, k);
        printf("\"operand\": %d}", k);
        comma = ", ";
    }
    printf("], ");
}

/* The gradients that the operation adds to its operands. */
static void print_additions(const Records *r, Node *n) {
    const char *comma = "";
    printf(", \"adds\": [");
    for (int k = 0; k < n->inputs; k++) {
        if (!backward_reaches(n, k)) continue;
        Arena arena = {0};
        long visited, parts = record_parts(r, n->in[k], n->index, &visited);
        printf("%s{\"operand\": %d, \"part\": %ld, \"parts\": %ld, ", comma, k, visited, parts);
        print_values("values", n->in[k], backward_part(&arena, n, k));
        putchar('}');
        comma = ", ";
        arena_free(&arena);
    }
    putchar(']');
}

void record_json(const Records *r, long index, bool backward) {
    Node *n = r->of[index].node;
    const Derivation *d = backward_derivation(n->op);
    char name[RECORD_NAME], formula[RECORD_FORMULA];
    printf("{\"record\": %ld, \"operation\": \"%s\", \"view\": %s, ", index, n->op->name,
           n->op->view ? "true" : "false");
    show_text("module", r->of[index].module);
    show_text("name", record_name(r, n->out, name));
    show_text("sentence", record_sentence(r, n));
    printf("\"arguments\": {");
    if (n->op->arguments) n->op->arguments(n, stdout);
    printf("}, ");
    show_text("formula", record_formula(n, false, formula));
    show_text("backward", record_formula(n, true, formula));
    show_text("keeps", d ? d->keeps : "");
    print_operands(r, n);
    print_shape(n->out->shape);
    print_axes(r->of[index].axes, n->out->shape.rank);
    if (backward) {
        print_values("gradient", n->out, n->out->grad);
        print_additions(r, n);
    } else {
        print_values("values", n->out, NULL);
    }
    puts("}");
}

/* ---- A cell ---- */

void record_json_cell(const Records *r, long index, long element) {
    Node *n = r->of[index].node;
    Arena arena = {0};
    ForwardSum s = forward_sum(&arena, n, element);
    printf("{\"cell\": %ld, \"record\": %ld, \"value\": ", element, index);
    print_number((double)s.value);
    printf(", \"rest\": ");
    print_number((double)s.rest);
    printf(", \"terms\": [");
    for (long i = 0; i < s.count; i++) {
        ForwardTerm t = s.term[i];
        printf("%s[%d, %ld, %.17g, %.17g]", i ? ", " : "", t.operand, t.element, (double)t.value,
               (double)t.slope);
    }
    puts("]}");
    arena_free(&arena);
}

void record_json_difference(const Records *r, long index, long element) {
    Node *n = r->of[index].node;
    Sweep s = backward_difference(n, element);
    printf("{\"cell\": %ld, \"record\": %ld, \"gradient\": %.17g, \"difference\": ", element, index,
           (double)n->out->grad[element]);
    print_number(s.value);
    printf(", \"error\": ");
    print_number(s.error);
    puts("}");
}

void record_json_addition(const Records *r, long index, int operand, long element) {
    Node *n = r->of[index].node;
    Arena arena = {0};
    long count;
    const real *added = backward_part(&arena, n, operand);
    const BackwardTerm *term = backward_terms(&arena, n, operand, element, &count);
    const Node *end = backward_end(n, operand, element);
    printf("{\"cell\": %ld, \"record\": %ld, \"operand\": %d, \"added\": %.17g, \"terms\": [",
           element, index, operand, (double)added[element]);
    for (long i = 0; i < count; i++)
        printf("%s[%ld, %.17g, %.17g]", i ? ", " : "", term[i].at, (double)term[i].dy,
               (double)term[i].slope);
    putchar(']');
    if (end)
        printf(", \"end\": %ld, \"zero\": \"%s\"", end->index,
               record_zero(r, end, n->in[operand], element));
    puts("}");
    arena_free(&arena);
}
