/* The walk as JSON: walk_records.h describes it. */
#include "explain/walk_records.h"
#include "formats/json.h"
#include <math.h>

static void print_shape(Shape s, Axes axes) {
    printf(", \"shape\": [");
    for (int i = 0; i < s.rank; i++) printf("%s%ld", i ? "," : "", s.size[i]);
    printf("], \"axes\": [");
    for (int i = 0; i < s.rank; i++) printf("%s\"%s\"", i ? ", " : "", axis_names[axes.of[i]]);
    putchar(']');
}

/* The values of a tensor with any strides, or where they are. */
static void print_values(const Records *r, const Tensor *x) {
    Arena arena = {0};
    if (r->print_place) {
        r->print_place(x);
        return;
    }
    long count = shape_count(x->shape);
    real *copy = arena_alloc(&arena, (size_t)count * sizeof *copy);
    tensor_copy_out(x, copy);
    json_reals(stdout, "values", copy, count);
    arena_free(&arena);
}

/* ---- The model ---- */

void records_json_head(const Records *r, bool backward) {
    const Tensor *loss = records_loss(r);
    ConfigField field;
    printf("{\"walk\": \"%s\", \"records\": %ld", backward ? "backward" : "forward", r->count);
    json_number(stdout, "loss", loss ? (double)*loss->data : NAN);
    printf(", \"model\": {");
    for (int i = 0; config_field(&r->model->config, i, &field); i++) {
        printf("%s\"%s\": ", i ? ", " : "", field.key);
        json_print(stdout, field.value);
    }
    printf("}, \"labels\": {");
    for (Axis axis = AXIS_SOURCE; axis <= AXIS_VOCABULARY; axis++) {
        printf("%s\"%s\": [", axis == AXIS_SOURCE ? "" : ", ", axis_names[axis]);
        for (long i = 0; i < r->labels[axis].count; i++) {
            if (i) printf(", ");
            json_print(stdout, r->labels[axis].of[i]);
        }
        putchar(']');
    }
    puts("}}");
}

void records_json_parameters(const Records *r, bool backward) {
    const Parameters *all = &r->model->parameters;
    for (int i = 0; i < all->count; i++) {
        const Parameter *p = &all->entry[i];
        const char *comma = "";
        printf("{\"parameter\": \"%s\"", p->name);
        print_shape(p->shape, record_axes(r, p->part[0]));
        printf(", \"rows\": [");
        for (const TensorTrace *t = r->trace.tensors; t; t = t->next) {
            long from, count, heads = t->x->shape.rank > 2 ? t->x->shape.size[0] : 1;
            if (!record_rows(r, p, t->x, &from, &count)) continue;
            printf("%s{\"makes\": \"%s\", \"from\": %ld, \"count\": %ld, \"heads\": %ld}", comma,
                   t->name, from, count, heads);
            comma = ", ";
        }
        putchar(']');
        if (backward)
            json_reals(stdout, "gradient", all->grad + p->offset, shape_count(p->shape));
        else
            json_reals(stdout, "values", all->value + p->offset, shape_count(p->shape));
        puts("}");
    }
}

/* ---- A record ---- */

static void print_operands(const Records *r, const Node *n) {
    const char *comma = "";
    printf(", \"operands\": [");
    for (int k = 0; k < n->inputs; k++) {
        const Tensor *x = n->in[k];
        char name[RECORD_NAME], input[RECORD_INPUT];
        long row = 0;
        if (!x) continue;
        const Parameter *p = record_parameter(r, x, &row);
        printf("%s{\"operand\": %d", comma, k);
        json_text(stdout, "input", record_input(n, k, input));
        json_text(stdout, "name", record_name(r, x, name));
        if (p) printf(", \"parameter\": \"%s\", \"row\": %ld", p->name, row);
        if (x->maker) printf(", \"record\": %ld", x->maker->index);
        if (!x->maker && (!p || r->print_place)) print_values(r, x);
        print_shape(x->shape, record_axes(r, x));
        putchar('}');
        comma = ", ";
    }
    putchar(']');
}

/* The gradients that the operation adds to its operands. */
static void print_additions(const Records *r, Node *n) {
    const char *comma = "";
    printf(", \"adds\": [");
    for (int k = 0; k < n->inputs; k++) {
        if (!record_adds(n, k)) continue;
        Arena arena = {0};
        long visited, parts = record_parts(r, n->in[k], n->index, &visited);
        printf("%s{\"operand\": %d, \"part\": %ld, \"parts\": %ld", comma, k, visited, parts);
        json_reals(stdout, "values", record_part(&arena, n, k), shape_count(n->in[k]->shape));
        putchar('}');
        comma = ", ";
        arena_free(&arena);
    }
    putchar(']');
}

void record_json(const Records *r, long index, bool backward) {
    Node *n = r->of[index].node;
    char name[RECORD_NAME], formula[RECORD_FORMULA];
    printf("{\"record\": %ld, \"operation\": \"%s\", \"view\": %s", index, n->op->name,
           n->op->view ? "true" : "false");
    json_text(stdout, "module", r->of[index].module);
    json_text(stdout, "name", record_name(r, n->out, name));
    json_text(stdout, "sentence", record_sentence(r, n));
    printf(", \"arguments\": {");
    if (n->op->arguments) n->op->arguments(n, stdout);
    putchar('}');
    json_text(stdout, "formula", record_formula(n, false, formula));
    json_text(stdout, "backward", record_formula(n, true, formula));
    json_text(stdout, "keeps", record_keeps(n));
    print_operands(r, n);
    print_shape(n->out->shape, r->of[index].axes);
    if (backward) {
        json_reals(stdout, "gradient", n->out->grad, shape_count(n->out->shape));
        print_additions(r, n);
    } else {
        print_values(r, n->out);
    }
    puts("}");
}

/* ---- A cell ---- */

void record_json_sum(const Records *r, long index, int operand, long cell) {
    Node *n = r->of[index].node;
    bool is_forward = operand < 0;
    Arena arena = {0};
    Sum s = record_sum(&arena, n, operand, cell);
    printf("{\"cell\": %ld, \"record\": %ld", cell, index);
    if (!is_forward) printf(", \"operand\": %d", operand);
    json_number(stdout, is_forward ? "value" : "added", s.value);
    if (is_forward) json_number(stdout, "rest", s.rest);
    printf(", \"terms\": [");
    for (long i = 0; i < s.count; i++) {
        Term t = s.term[i];
        printf(i ? ", [" : "[");
        if (is_forward) printf("%d, ", t.operand);
        printf("%ld, %.17g, %.17g]", t.element, t.value, t.slope);
    }
    putchar(']');
    if (s.end)
        printf(", \"end\": %ld, \"zero\": \"%s\"", s.end->index,
               record_zero(r, s.end, n->in[operand], cell));
    puts("}");
    arena_free(&arena);
}

void record_json_difference(const Records *r, long index, long cell) {
    Node *n = r->of[index].node;
    Sweep s = record_difference(n, cell);
    printf("{\"cell\": %ld, \"record\": %ld", cell, index);
    json_number(stdout, "gradient", (double)n->out->grad[cell]);
    json_number(stdout, "difference", s.value);
    json_number(stdout, "error", s.error);
    puts("}");
}
