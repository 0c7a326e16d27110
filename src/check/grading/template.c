#include "base/directory.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/grading/student_op.h"
#include "ops/ops.h"
#include <stdlib.h>
#include <string.h>

static bool begins(const char *line, const char *with) {
    return strncmp(line, with, strlen(with)) == 0;
}

/* Prints the header comment with the task in place of its derivation. Returns the text after it. */
static const char *print_task(const char *text, const char *op, FILE *out) {
    const char *end = strstr(text, "*/\n"), *derivation = strstr(text, " * Backward");
    fwrite(text, 1, (size_t)((derivation && derivation < end ? derivation : end) - text), out);
    fprintf(
        out,
        " * Write forward and backward below. Check them at the cases of this file, to which you may add,\n"
        " * and at those of the project, where your forward must give the same output:\n"
        " *\n"
        " *     ./gradcheck FILE.c\n"
        " *     ./gradcheck FILE.c --like %s\n"
        " */\n",
        op);
    return end + strlen("*/\n");
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
                "/* Computes n->out->data from n->in[i]->data. The output is contiguous. Inputs have any\n"
                " * ->stride; tensor_copy_out(n->in[0], array) copies one in the order of its ->shape, and\n"
                " * shape_count(shape) is its number of elements. n->attr points to what the operation was\n"
                " * recorded with besides tensors. node_array(n, count) is an array to save for backward.\n"
                " * node_record(n, bytes) is zeroed memory that lives as long as the tape. */\n");
        print_stub("forward", op, out);
        fprintf(out, "\n");
    }
    fprintf(
        out,
        "/* Given n->out->grad, dL/dy, adds dL/dx to n->in[i]->grad of each input. Both are contiguous.\n"
        " * The gradient of an input that takes none is NULL, and so is an optional input that is absent.\n"
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

bool template_print(const char *name, const char *headers, FILE *out, Error *e) {
    const OpEntry *entry = ops_find(name);
    char path[PATH_ROOM], *text;
    size_t size;
    if (!entry)
        return error_set(e, STATUS_USAGE, "--template: found '%s', need an operation that --list shows",
                         ESCAPED(name));
    snprintf(path, sizeof path, "%.*s/ops/%s.c", PATH_ROOM - 80, headers, name);
    if (!file_read(path, 1 << 20, &text, &size, e)) return false;
    bool marked = strstr(text, "/* exercise: begin */");
    if (marked)
        print_rest(print_task(text, name, out), entry->op, out);
    else
        error_set(e, STATUS_USAGE, "--template: %s is no exercise: no part of its file is marked as one",
                  name);
    free(text);
    return marked;
}
