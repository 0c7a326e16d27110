#include "grading/template.h"
#include "base/utf8.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

/* The names of the tensors that the operation is recorded with; returns how many, 0 where there are other arguments. */
static int tensor_names(const OpEntry *entry, char name[MAX_INPUTS][32]) {
    static const char tensor[] = ", Tensor *";
    int count = 0;
    for (const char *at = entry->arguments + strlen("(Tape *t"); *at == ',';
         at += strcspn(at + 1, ",)") + 1) {
        if (strncmp(at, tensor, strlen(tensor)) != 0 || count == MAX_INPUTS) return 0;
        const char *begin = at + strlen(tensor);
        snprintf(name[count++], sizeof name[0], "%.*s", (int)strcspn(begin, ",)"), begin);
    }
    return count;
}

static void print_functions(FILE *out, const OpEntry *entry, int count, char name[MAX_INPUTS][32]) {
    const char *op = entry->op->name;
    fprintf(out,
            "/* %s: %s\n"
            " *\n"
            " * To be written: forward and backward. They are checked by\n"
            " *     ./gradcheck FILE.c                  at the cases below, to which you may add\n"
            " *     ./gradcheck FILE.c --like %s        at the project's, whose forward it has to have\n"
            " */\n"
            "#include \"ops/ops.h\"\n"
            "#include <math.h>\n\n",
            op, entry->formula, op);
    fprintf(
        out,
        "/* Computes n->out->data, which is contiguous, from the inputs, whose strides may be any:\n *\n");
    for (int i = 0; i < count; i++)
        fprintf(out, " *     n->in[%d] is %s: its ->shape, ->data and ->stride\n", i, name[i]);
    fprintf(out,
            " *\n"
            " * tensor_copy_out(n->in[0], array) gives its values in the order of its shape; "
            "shape_count(shape) is their number;\n"
            " * node_record(n, bytes) is zeroed memory that lives as long as the tape. */\n"
            "static void forward(Node *n) {\n"
            "    error_bug(\"%s: forward is to be written\");\n"
            "    (void)n;\n"
            "}\n\n"
            "/* Given n->out->grad, dL/dy, adds dL/dx to n->in[i]->grad of each input, which is contiguous; "
            "an input that takes no\n"
            " * gradient has NULL there. Changes nothing else. */\n"
            "static void backward(Node *n) {\n"
            "    error_bug(\"%s: backward is to be written\");\n"
            "    (void)n;\n"
            "}\n\n",
            op, op);
    fprintf(out,
            "extern const Op op_%s;\n\n/* Records it. The shape is that of y: %s's, or another. */\nTensor "
            "*tape_%s%s {\n",
            op, name[0], op, entry->arguments);
    fprintf(out, "    return tape_record(tape_node(t, &op_%s, %s->shape, INPUTS(", op, name[0]);
    for (int i = 0; i < count; i++) fprintf(out, i ? ", %s" : "%s", name[i]);
    fprintf(out, ")));\n}\n\n");
}

static void print_number(FILE *out, double x) {
    if (isfinite(x))
        fprintf(out, "%.17g", x);
    else
        fprintf(out, isnan(x) ? "NAN" : x > 0 ? "INFINITY" : "-INFINITY");
}

static void print_field(FILE *out, const char *name, double x) {
    if (x == 0) return;
    fprintf(out, ", .%s = ", name);
    print_number(out, x);
}

static void print_input(FILE *out, const CheckInput *in, int which_case, int k) {
    static const char *const layout[] = {"CONTIGUOUS", "TRANSPOSED", "STEPPED", "REPEATED"};
    fprintf(out, "{\"%s\"", in->name);
    if (in->shape.rank) fprintf(out, ", DIMS(");
    for (int axis = 0; axis < in->shape.rank; axis++)
        fprintf(out, axis ? ", %ld" : "%ld", in->shape.size[axis]);
    if (in->shape.rank) fprintf(out, ")");
    print_field(out, "low", in->low);
    print_field(out, "high", in->high);
    print_field(out, "away_from", in->away_from);
    print_field(out, "margin", in->margin);
    if (in->distinct) fprintf(out, ", .distinct = true");
    if (in->values) fprintf(out, ", .values = values_%d_%d", which_case, k);
    if (in->layout != CONTIGUOUS) fprintf(out, ", .layout = %s", layout[in->layout]);
    if (in->same_as) fprintf(out, ", .same_as = %d", in->same_as);
    if (in->constant) fprintf(out, ", .constant = true");
    fprintf(out, "}");
}

static void print_values(FILE *out, const CheckCase *c, int which_case) {
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
        if (!c->in[k].values) continue;
        fprintf(out, "static const double values_%d_%d[] = {", which_case, k);
        for (long i = 0; i < shape_count(c->in[k].shape); i++) {
            fprintf(out, i ? ", " : "");
            print_number(out, c->in[k].values[i]);
        }
        fprintf(out, "};\n");
    }
}

/* Those that do no more than record the operation on their inputs, as the first does. */
static bool is_plain(const Op *op, int i) {
    return op->cases[i].build == op->cases[0].build;
}

static void print_cases(FILE *out, const Op *op, int count) {
    fprintf(out, "BUILD_CASE(build, tape_%s(t", op->name);
    for (int i = 0; i < count; i++) fprintf(out, ", x[%d]", i);
    fprintf(out, "))\n\n");
    for (int i = 0; i < op->n_cases; i++)
        if (is_plain(op, i)) print_values(out, &op->cases[i], i);
    fprintf(out, "/* Inputs by name, shape and what values they have, if not random ones of [-2, 2]. "
                 "*/\nstatic const CheckCase cases[] = {\n");
    for (int i = 0; i < op->n_cases; i++) {
        const CheckCase *c = &op->cases[i];
        if (!is_plain(op, i)) continue;
        fprintf(out, "    {\"%s\", build, {", c->name);
        for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
            fprintf(out, k ? ", " : "");
            print_input(out, &c->in[k], i, k);
        }
        fprintf(out, "}%s%s},\n", c->kinks ? ", .kinks = true" : "", c->flat ? ", .flat = true" : "");
    }
    fprintf(out, "};\n\nconst Op op_%s = {\"%s\", forward, backward, CASES(cases)};\n", op->name, op->name);
}

bool template_print(const char *name, FILE *out, Error *e) {
    char tensor[MAX_INPUTS][32], shown[ESCAPED_TEXT];
    const OpEntry *entry = ops_find(name);
    if (!entry)
        return error_set(e, STATUS_USAGE, "--template: found '%s', need an operation that --list shows",
                         utf8_escape(shown, name));
    int count = tensor_names(entry, tensor);
    if (!count)
        return error_set(e, STATUS_USAGE, "--template: found %s%s, need an operation of tensors alone", name,
                         entry->arguments);
    print_functions(out, entry, count, tensor);
    print_cases(out, entry->op, count);
    return true;
}
