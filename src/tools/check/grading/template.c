#include "base/append.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/grading/student_file.h"
#include "formats/json.h"
#include <stdlib.h>
#include <string.h>

static bool begins(const char *line, const char *with) {
    return strncmp(line, with, strlen(with)) == 0;
}

/* The task ends where the derivation in the header comment begins, or with the comment. */
static const char *end_of_task(const char *text) {
    const char *end = strstr(text, "*/\n"), *derivation = strstr(text, " * Backward");
    return derivation && derivation < end ? derivation : end;
}

/* ---- In C ---- */

/* Prints the header comment with the task in place of its derivation. Returns the text after it. */
static const char *print_task(const char *text, const char *op, FILE *out) {
    fwrite(text, 1, (size_t)(end_of_task(text) - text), out);
    fprintf(out,
            " * Write forward and backward below. Check them at the cases of this file, to which "
            "you may add,\n"
            " * and at those of the project, where your forward must give the same output:\n"
            " *\n"
            " *     ./gradcheck FILE.c\n"
            " *     ./gradcheck FILE.c --like %s\n"
            " */\n",
            op);
    return strstr(text, "*/\n") + strlen("*/\n");
}

static void print_stub(const char *function, const Op *op, FILE *out) {
    fprintf(out,
            "static void %s(Node *n) {\n"
            "    error_bug(\"%s: %s is to be written\");\n"
            "    (void)n;\n"
            "}\n",
            function, op->name, function);
}

static void print_stubs(const Op *op, FILE *out) {
    if (!op->view) {
        fprintf(out,
                "/* Computes n->out->data from n->in[i]->data. The output is contiguous. Inputs "
                "have any\n"
                " * ->stride; tensor_copy_out(n->in[0], array) copies one in the order of its "
                "->shape, and\n"
                " * shape_count(shape) is its number of elements. n->attr points to what the "
                "operation was\n"
                " * recorded with besides tensors. node_array(n, count) is an array to save for "
                "backward.\n"
                " * node_memory(n, bytes) is zeroed memory that lives as long as the tape. */\n");
        print_stub("forward", op, out);
        fprintf(out, "\n");
    }
    fprintf(out, "/* Given n->out->grad, dL/dy, adds dL/dx to n->in[i]->grad of each input. Both "
                 "are contiguous.\n"
                 " * The gradient of an input that takes none is NULL, and so is an optional input "
                 "that is absent.\n"
                 " * Changes nothing else. */\n");
    print_stub("backward", op, out);
    fprintf(out, "\n");
}

static void print_operation(const Op *op, FILE *out) {
    fprintf(out, "const Op op_%s = {\"%s\", %sbackward, CASES(cases)};\n", op->name, op->name,
            op->view ? ".view = true, .backward = " : "forward, ");
}

/* The text after the header comment. */
static void print_rest(const char *text, const Op *op, FILE *out) {
    bool hidden = false, written = false, blank = false;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        const char *word = line + strspn(line, " ");
        if (begins(word, "/* exercise: end */")) {
            hidden = false;
            continue;
        }
        if (begins(word, "/* exercise: begin */")) {
            hidden = true;
            if (!written) print_stubs(op, out);
            written = blank = true;
        }
        if (begins(line, "const Op op_")) {
            print_operation(op, out);
            line = strstr(line, "};\n") + strlen("};");
            continue;
        }
        if (hidden || (blank && *line == '\n')) continue;
        fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
        blank = *line == '\n';
    }
}

static bool print_in_c(const char *text, const Op *op, FILE *out) {
    if (!strstr(text, "/* exercise: begin */")) return false;
    print_rest(print_task(text, op->name, out), op, out);
    return true;
}

/* ---- In Python ---- */

/* Prints members of JSON as Python's parameters: ", axis"; with their values ", axis=1". */
static void print_arguments(FILE *out, const char *members, bool values) {
    Error e = {0};
    JsonString key;
    char *whole;
    size_t size;
    FILE *text = text_open(&whole, &size);
    fprintf(text, "{%s}", members);
    text_close(text, &whole);
    Json j = json_over("arguments", whole, size, &e);
    for (json_enter(&j, '{'); json_member(&j, &key);) {
        const char *value = members + j.at - 1; /* j.text is unescaped on the way */
        value += strspn(value, " ");
        json_skip(&j);
        int length = (int)(members + j.at - 1 - value);
        bool is_false = strncmp(value, "false", 5) == 0, is_true = strncmp(value, "true", 4) == 0;
        fprintf(out, ", %s", key.text);
        if (values && (is_false || is_true))
            fprintf(out, is_true ? "=True" : "=False");
        else if (values)
            fprintf(out, "=%.*s", length, value);
    }
    free(whole);
}

/* Prints the names of the inputs, with their shapes or without. */
static void print_inputs(FILE *out, const CheckCase *c, bool shapes) {
    for (const CheckInput *in = c->in; in < c->in + CHECK_INPUTS && in->name; in++) {
        const long *size = in->shape.size;
        fprintf(out, in == c->in ? "%s" : ", %s", in->name);
        if (shapes) fprintf(out, "=(");
        for (int axis = 0; axis < (shapes ? in->shape.rank : 0); axis++)
            fprintf(out, axis ? ", %ld" : "%ld", size[axis]);
        if (shapes) fprintf(out, in->shape.rank == 1 ? ",)" : ")");
    }
}

static void print_functions(const char *text, const Op *op, const PlanItem *item, FILE *out) {
    fprintf(out, "\"\"\"");
    for (const char *line = text + 3; line < end_of_task(text); line += strcspn(line, "\n") + 1) {
        const char *words = line + strspn(line, " *");
        int length = (int)strcspn(line, "\n"), skip = words > line + 3 ? 3 : (int)(words - line);
        fprintf(out, "%.*s\n", length - skip, line + skip);
    }
    fprintf(
        out,
        "Write forward, which returns y and what backward needs, and backward, which returns the "
        "gradients.\n\n"
        "    ./gradcheck FILE.py\n    ./gradcheck FILE.py --like %s\n\"\"\"\nimport numpy as np\n\n"
        "cases = [dict(",
        op->name);
    print_inputs(out, &item->c, true);
    print_arguments(out, item->arguments, true);
    fprintf(out, ")]\n\n\ndef forward(");
    print_inputs(out, &item->c, false);
    print_arguments(out, item->arguments, false);
    fprintf(
        out,
        "):\n    raise NotImplementedError(\"forward is to be written\")\n    return y, cache\n\n\n"
        "def backward(dy, cache):\n    raise NotImplementedError(\"backward is to be written\")\n");
}

static bool print_in_python(const char *text, const Op *op, FILE *out) {
    Plan p = {.like = op, .seed = 1};
    functions_add_like(&p);
    bool fits = p.items > 0;
    if (fits) print_functions(text, op, p.item, out);
    plan_free(&p);
    return fits;
}

bool template_print(const char *name, const char *language, const char *headers, FILE *out,
                    Error *e) {
    bool python = strcmp(language, "python") == 0;
    const OpEntry *entry = ops_find(name);
    char path[PATH_CAPACITY], *text;
    size_t size;
    if (!python && strcmp(language, "c") != 0)
        return error_set(e, STATUS_USAGE, "--language: found '%s', need c or python",
                         ESCAPED(language));
    if (!entry)
        return error_set(e, STATUS_USAGE,
                         "--template: found '%s', need an operation that --list shows",
                         ESCAPED(name));
    snprintf(path, sizeof path, "%.*s/core/ops/%s.c", PATH_CAPACITY - 80, headers, name);
    if (!file_read(path, 1 << 20, &text, &size, e)) return false;
    bool printed = (python ? print_in_python : print_in_c)(text, entry->op, out);
    free(text);
    return printed ||
           error_set(e, STATUS_USAGE, "--template: %s is no exercise%s", name,
                     python ? " for functions" : ": no part of its file is marked as one");
}
