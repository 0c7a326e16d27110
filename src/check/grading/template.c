#include "check/grading/template.h"
#include "base/utf8.h"
#include "check/gradcheck/check_run.h"
#include "check/grading/op_source.h"
#include <string.h>

enum { MOST_PARAMETERS = 16, PARAMETER = 64, EXAMPLES = 3 };

/* What the operation is recorded with, behind the tape. */
typedef struct Parameters {
    int count;
    struct Parameter {
        char type[PARAMETER], name[PARAMETER], behind[8]; /* const int32_t *, ids, ""; behind: of an array */
        bool tensor;                                      /* one, or an array of them */
    } each[MOST_PARAMETERS];
    bool others;               /* some are no tensors */
    bool array;                /* the tensors are an array, x, of `count` */
    char first[PARAMETER + 4]; /* the first tensor */
} Parameters;

static Parameters parameters_of(const OpEntry *entry) {
    static const char separator[] = ", ";
    Parameters p = {0};
    const char *at = entry->arguments + strlen("(Tape *t");
    while (strncmp(at, separator, strlen(separator)) == 0 && p.count < MOST_PARAMETERS) {
        struct Parameter *one = &p.each[p.count++];
        at += strlen(separator);
        int length = (int)strcspn(at, ",)[");
        int name = length;
        while (name > 0 && at[name - 1] != ' ' && at[name - 1] != '*') name--;
        snprintf(one->type, PARAMETER, "%.*s", name, at);
        snprintf(one->name, PARAMETER, "%.*s", length - name, at + name);
        at += length;
        snprintf(one->behind, sizeof one->behind, "%.*s", (int)strcspn(at, ",)"), at);
        at += strlen(one->behind);
        one->tensor = strncmp(one->type, "Tensor", 6) == 0;
        p.array |= one->tensor && one->behind[0];
        if (one->tensor && !p.first[0])
            snprintf(p.first, sizeof p.first, "%s%s", one->name, one->behind[0] ? "[0]" : "");
    }
    for (int i = 0; i < p.count; i++) p.others |= !p.each[i].tensor;
    return p;
}

/* Runs forward of the operation's case number i. The tape is to be freed. */
static const Tensor *run_case(const Op *op, int i, CheckRun *run, CheckPoint *point, Arena *arena) {
    *run = (CheckRun){.op = op->name, .c = &op->cases[i], .point = point, .tape = tape_new()};
    point_draw(point, arena, NULL, op->name, run->c, 1, POINT_DRAWN, 0);
    point_ready(point, 0);
    return check_run_forward(run);
}

/* ---- The functions to be written ---- */

static void print_task(FILE *out, const OpSource *s) {
    const char *op = s->entry->op->name;
    op_source_task(s, out);
    fprintf(out,
            " * To be written: forward and backward. They are checked by\n"
            " *     ./gradcheck FILE.c%*s  at the cases below, to which you may add\n"
            " *     ./gradcheck FILE.c --like %s  at the project's, whose forward it has to have\n"
            " */\n"
            "#include \"ops/ops.h\"\n",
            (int)strlen(" --like ") + (int)strlen(op), "", op);
    if (strstr(s->text, "#include \"ops/dropout_mask.h\""))
        fprintf(out, "#include \"ops/dropout_mask.h\" /* m = dropout_mask(n, p), and m_i = "
                     "dropout_factor(&m, i) */\n");
    fprintf(out, "#include <math.h>\n\n");
}

static void print_arguments(FILE *out, const Parameters *p) {
    bool points = false;
    if (!p->others) return;
    for (int i = 0; i < p->count; i++) points |= !p->each[i].tensor && strchr(p->each[i].type, '*');
    fprintf(
        out, "/* What it is recorded with beside tensors.%s */\ntypedef struct Arguments {\n",
        points ? " What is pointed to may be gone when backward runs:\n * node_record(n, bytes) keeps a copy."
               : "");
    for (int i = 0; i < p->count; i++)
        if (!p->each[i].tensor)
            fprintf(out, "    %s%s%s;\n", p->each[i].type, p->each[i].name, p->each[i].behind);
    fprintf(out, "} Arguments;\n\n");
}

/* Whether some case records the operation without this input. */
static bool may_be_absent(const Op *op, int input) {
    Arena arena = {0};
    bool absent = false;
    for (int i = 0; i < op->n_cases; i++) {
        CheckPoint point;
        CheckRun run;
        run_case(op, i, &run, &point, &arena);
        for (const Node *n = run.tape->last; n; n = n->previous) absent |= n->op == op && !n->in[input];
        tape_free(run.tape);
    }
    arena_free(&arena);
    return absent;
}

static void print_forward(FILE *out, const Op *op, const Parameters *p) {
    fprintf(
        out,
        "/* Computes n->out->data, which is contiguous, from the inputs, whose strides may be any:\n *\n");
    for (int i = 0, input = 0; i < p->count && !p->array; i++)
        if (p->each[i].tensor)
            fprintf(out, " *     n->in[%d] is %s: its ->shape, ->data and ->stride%s\n", input,
                    p->each[i].name, may_be_absent(op, input) ? "; NULL where there is none" : ""),
                input++;
    if (p->array)
        fprintf(out, " *     n->in[0] … n->in[n->inputs - 1]: each its ->shape, ->data and ->stride\n");
    if (p->others) fprintf(out, " *     n->attr points to its Arguments\n");
    fprintf(
        out,
        " *\n"
        " * tensor_copy_out(n->in[0], array) gives its values in the order of its shape; "
        "shape_count(shape) is their number;\n"
        " * node_array(n, count) is an array to save for backward, node_record(n, bytes) zeroed memory that "
        "lives as long as the\n"
        " * tape. */\n"
        "static void forward(Node *n) {\n"
        "    error_bug(\"%s: forward is to be written\");\n"
        "    (void)n;\n"
        "}\n\n",
        op->name);
}

static void print_backward(FILE *out, const char *op) {
    fprintf(out,
            "/* Given n->out->grad, dL/dy, adds dL/dx to n->in[i]->grad of each input, which is contiguous; "
            "an input that takes no\n"
            " * gradient has NULL there. Changes nothing else. */\n"
            "static void backward(Node *n) {\n"
            "    error_bug(\"%s: backward is to be written\");\n"
            "    (void)n;\n"
            "}\n\n",
            op);
}

/* ---- The function that records it ---- */

/* Cases whose output has another shape than the first input. Returns how many. */
static int print_examples(FILE *out, const OpSource *s) {
    const Op *op = s->entry->op;
    Arena arena = {0};
    int printed = 0;
    for (int i = 0; i < op->n_cases && printed < EXAMPLES; i++) {
        const CheckInput *in = op->cases[i].in;
        CheckPoint point;
        CheckRun run;
        Shape y = run_case(op, i, &run, &point, &arena)->shape;
        tape_free(run.tape);
        if (!op_source_has_case(s, i) || shape_equal(y, in[0].shape)) continue;
        if (!printed++) fprintf(out, " The shape of y is to be written:\n *\n");
        fprintf(out, " *     %s:", op->cases[i].name);
        for (int k = 0; k < CHECK_INPUTS && in[k].name; k++)
            fprintf(out, "%s %s %s", k ? "," : "", in[k].name, shape_text(in[k].shape));
        fprintf(out, " give %s\n", shape_text(y));
    }
    arena_free(&arena);
    return printed;
}

static void print_list(FILE *out, const Parameters *p, bool tensors) {
    const char *comma = "";
    for (int i = 0; i < p->count; i++)
        if (p->each[i].tensor == tensors) fprintf(out, "%s%s", comma, p->each[i].name), comma = ", ";
}

static void print_recorder(FILE *out, const OpSource *s, const Parameters *p) {
    const char *op = s->entry->op->name;
    fprintf(out, "extern const Op op_%s;\n\n/* Records it.", op);
    bool other = print_examples(out, s) > 0;
    fprintf(out, " */\nTensor *tape_%s%s {\n", op, s->entry->arguments);
    fprintf(out, "    Shape y = %s->shape;%s\n", p->first, other ? " /* is to be written */" : "");
    fprintf(out, "    Node *node = tape_node(t, &op_%s, y, ", op);
    fprintf(out, p->array ? "count, " : "INPUTS(");
    print_list(out, p, true);
    fprintf(out, p->array ? ");\n" : "));\n");
    if (p->others) {
        fprintf(out, "    *(Arguments *)node_attr(node, sizeof(Arguments)) = (Arguments){");
        print_list(out, p, false);
        fprintf(out, "};\n");
    }
    fprintf(out, "    return tape_record(node);\n}\n");
}

bool template_print(const char *name, const char *headers, FILE *out, Error *e) {
    OpSource s;
    const OpEntry *entry = ops_find(name);
    if (!entry)
        return error_set(e, STATUS_USAGE, "--template: found '%s', need an operation that --list shows",
                         ESCAPED(name));
    Parameters p = parameters_of(entry);
    bool there = op_source_read(&s, entry, headers, e);
    if (there) {
        print_task(out, &s);
        print_arguments(out, &p);
        print_forward(out, entry->op, &p);
        print_backward(out, name);
        print_recorder(out, &s, &p);
        op_source_print_cases(&s, out);
        fprintf(out, "\nconst Op op_%s = {\"%s\", forward, backward, CASES(cases)};\n", name, name);
    }
    op_source_free(&s);
    return there;
}
