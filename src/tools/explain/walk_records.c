/* The records of a walk: names, modules, axes, formulas. */
#include "explain/walk_records.h"
#include "base/append.h"
#include "ops/ops.h"
#include <stdlib.h>
#include <string.h>

const char *const axis_names[] = {[AXIS_UNKNOWN] = "",      [AXIS_SOURCE] = "source",
                                  [AXIS_TARGET] = "target", [AXIS_VOCABULARY] = "vocabulary",
                                  [AXIS_HEAD] = "head",     [AXIS_FEATURE] = "feature"};

/* ---- Names ---- */

static const TensorTrace *trace_of(const Records *r, const Tensor *x) {
    return nn_trace_name_of(&r->trace, x);
}

const Parameter *record_parameter(const Records *r, const Tensor *x, long *row) {
    const Parameters *p = &r->model->parameters;
    for (int i = 0; i < p->count; i++)
        for (int part = 0; part < PARAMETER_PARTS; part++)
            if (p->entry[i].part[part] == x) {
                *row = part ? p->entry[i].part[0]->shape.size[0] : 0;
                return &p->entry[i];
            }
    return NULL;
}

const char *record_name(const Records *r, const Tensor *x, char out[RECORD_NAME]) {
    long row;
    const Parameter *p = record_parameter(r, x, &row);
    const TensorTrace *named = trace_of(r, x);
    if (p)
        snprintf(out, RECORD_NAME, "%s", p->name);
    else if (named)
        snprintf(out, RECORD_NAME, "%s", named->name);
    else if (x->maker && x->maker->op == &op_transpose && trace_of(r, x->maker->in[0]))
        snprintf(out, RECORD_NAME, "%s^T", trace_of(r, x->maker->in[0])->name);
    else if (x->maker)
        snprintf(out, RECORD_NAME, "%s %ld", x->maker->op->name, x->maker->index);
    else
        snprintf(out, RECORD_NAME, "a constant");
    return out;
}

/* The module of a record is that of the parameter read last. */
static void set_module(const Records *r, long index) {
    Record *here = &r->of[index];
    if (index > 0) memcpy(here->module, here[-1].module, PARAMETER_NAME);
    for (int k = here->node->inputs - 1; k >= 0; k--) {
        long row;
        const Parameter *p =
            here->node->in[k] ? record_parameter(r, here->node->in[k], &row) : NULL;
        if (!p) continue;
        const char *dot = strrchr(p->name, '.');
        snprintf(here->module, PARAMETER_NAME, "%.*s", dot ? (int)(dot - p->name) : 0, p->name);
    }
}

/* ---- Axes ---- */

/* The thing that axis j of y counts, by its operand x. A view has the strides of its operand. */
static Axis axis_of_operand(const Records *r, const Node *n, const Tensor *x, int j) {
    const Tensor *y = n->out;
    Axes axes = record_axes(r, x);
    bool same = x->shape.rank == y->shape.rank;
    if (!n->op->view)
        return same && x->shape.size[j] == y->shape.size[j] ? axes.of[j] : AXIS_UNKNOWN;
    for (int i = 0; i < x->shape.rank; i++)
        if (x->stride[i] == y->stride[j] && x->shape.size[i] >= y->shape.size[j]) return axes.of[i];
    return AXIS_UNKNOWN;
}

/* The last axis is that of the last operand, as in a product of matrices, others those of the
 * first. Parameters count only features. */
static Axis axis_of_operands(const Records *r, const Node *n, int j) {
    bool last = j == n->out->shape.rank - 1;
    for (int step = 0; step < n->inputs; step++) {
        const Tensor *x = n->in[last ? n->inputs - 1 - step : step];
        long row;
        if (!x || record_parameter(r, x, &row)) continue;
        Axis axis = axis_of_operand(r, n, x, j);
        if (axis != AXIS_UNKNOWN) return axis;
    }
    return AXIS_UNKNOWN;
}

static void set_axes(const Records *r, long index) {
    const Node *n = r->of[index].node;
    const TensorTrace *named = trace_of(r, n->out);
    Axes axes = named ? named->axes : (Axes){{AXIS_UNKNOWN}};
    for (int j = 0; j < n->out->shape.rank; j++) {
        if (axes.of[j] == AXIS_UNKNOWN) axes.of[j] = axis_of_operands(r, n, j);
        const Labels *labels = &r->labels[axes.of[j]];
        if (labels->of && labels->count != n->out->shape.size[j]) axes.of[j] = AXIS_UNKNOWN;
    }
    r->of[index].axes = axes;
}

Axes record_axes(const Records *r, const Tensor *x) {
    long row;
    if (x->maker) return r->of[x->maker->index].axes;
    const TensorTrace *named = trace_of(r, x);
    if (named) return named->axes;
    bool is_parameter = record_parameter(r, x, &row);
    return is_parameter ? AXES(AXIS_FEATURE, AXIS_FEATURE) : AXES(AXIS_UNKNOWN);
}

/* ---- Rows of parameters ---- */

bool record_rows(const Records *r, const Parameter *p, const Tensor *x, long *from, long *count) {
    const Tensor *t = x;
    *from = 0;
    for (const Node *n = t->maker; n; n = t->maker) {
        const Tensor *window = t;
        for (; n && n->op->view; n = t->maker) t = n->in[0];
        if (!n || t->shape.rank != 2) return false;
        *from += (window->data - t->data) % t->shape.size[1];
        for (int k = 1; k < n->inputs; k++) {
            long row = 0;
            const Tensor *w = n->in[k];
            if (!w || record_parameter(r, w, &row) != p || w->shape.size[0] != t->shape.size[1])
                continue;
            *from += row;
            *count = shape_count(x->shape) / n->out->shape.size[0];
            return true;
        }
        if (n->inputs != 1 || !shape_equal(t->shape, n->in[0]->shape)) return false;
        t = n->in[0];
    }
    return false;
}

/* ---- Formulas and sentences ---- */

/* From the header comment of an operation's file. */
static const struct Derivation {
    const char *op;
    const char *formula[2]; /* forward, backward; lines, a condition may follow a tab */
    const char *keeps;
} derivations[] = {
#include "explain/derivations.inc"
};

/* An operation that is not of this project has none. */
static const struct Derivation *derivation_of(const Op *op) {
    static const struct Derivation none = {"", {"", ""}, ""};
    for (size_t i = 0; i < sizeof derivations / sizeof *derivations; i++)
        if (strcmp(derivations[i].op, op->name) == 0) return &derivations[i];
    return &none;
}

const char *record_keeps(const Node *n) {
    return derivation_of(n->op)->keeps;
}

const char *record_input(const Node *n, int i, char out[RECORD_INPUT]) {
    const OpEntry *op = ops_find(n->op->name);
    const char *at = op ? strstr(op->arguments, "Tensor *") : NULL;
    char name[8] = "";
    if (at && sscanf(at, "Tensor *const %7[A-Za-z]", name) == 1) { /* an array */
        snprintf(out, RECORD_INPUT, "%s_%d", name, i + 1);
        return out;
    }
    while (at && i-- > 0) at = strstr(at + 1, "Tensor *");
    if (!at || sscanf(at, "Tensor *%7[A-Za-z]", out) != 1) *out = 0;
    return out;
}

/* Whether the call has this operand or argument: "b", "act", "relu". An argument that is none,
 * false or empty is not there. */
static bool call_has(const Node *n, const char *arguments, const char *word) {
    char name[RECORD_INPUT], text[48];
    for (int k = 0; k < n->inputs; k++)
        if (n->in[k] && strcmp(record_input(n, k, name), word) == 0) return true;
    snprintf(text, sizeof text, ": \"%s\"", word);
    if (strstr(arguments, text)) return true;
    snprintf(text, sizeof text, "\"%s\": ", word);
    const char *value = strstr(arguments, text);
    if (!value) return false;
    value += strlen(text);
    return strncmp(value, "\"none\"", 6) != 0 && strncmp(value, "false", 5) != 0 &&
           strncmp(value, "[]", 2) != 0;
}

/* Whether "no act, no r" holds for the call. */
static bool condition_holds(const Node *n, const char *arguments, const char *text, size_t length) {
    char condition[80], *rest = NULL;
    snprintf(condition, sizeof condition, "%.*s", (int)length, text);
    for (char *word = strtok_r(condition, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        bool absent = strcmp(word, "no") == 0;
        if (absent) word = strtok_r(NULL, ", ", &rest);
        if (word && call_has(n, arguments, word) == absent) return false;
    }
    return true;
}

const char *record_formula(const Node *n, bool backward, char out[RECORD_FORMULA]) {
    const char *line = derivation_of(n->op)->formula[backward];
    char *arguments;
    size_t size;
    FILE *text = text_open(&arguments, &size);
    if (n->op->arguments) n->op->arguments(n, text);
    text_close(text, &arguments);
    *out = 0;
    while (*line) {
        size_t length = strcspn(line, "\n"), formula = strcspn(line, "\t\n");
        bool holds = formula == length ||
                     condition_holds(n, arguments, line + formula + 1, length - formula - 1);
        if (holds) text_append(out, RECORD_FORMULA, "%s%.*s", *out ? "\n" : "", (int)formula, line);
        line += length + (line[length] == '\n');
    }
    free(arguments);
    return out;
}

/* By name of the tensor, and then by operation; in ASCII, short enough for a line of contents. */
static const char *const sentences[][2] = {
    {"X", "A token becomes learnt numbers."},
    {"Q", "Queries say what each token looks for."},
    {"K", "Keys say what each token is found by."},
    {"V", "Values are what each token gives."},
    {"S", "S_ij: how well query i fits key j."},
    {"S'", "Scaled scores leave softmax a slope."},
    {"masked S'", "No token may see a later one."},
    {"A", "Row i: how token i spreads attention."},
    {"Z", "Values are averaged, weighted by A."},
    {"Z of all heads", "The heads stand side by side."},
    {"Y", "W^O mixes the heads."},
    {"R", "The input is kept, the result added."},
    {"N", "Each row is brought to one size."},
    {"H", "A wider layer treats each token alone."},
    {"F", "It returns to d_model numbers."},
    {"logits", "Each token gets a score to come next."},
    {"L", "The mean of -ln p of each next token."},
    {"linear", "Learnt numbers multiply each row."},
    {"rotary", "Heads are turned, or brought to one length."},
    {"swiglu", "One half of the columns gates the other."},
    {"contiguous", "Numbers are copied in their order."},
    {"concat", "Matrices are joined."},
    {"slice", "Some rows or columns are taken."},
    {"transpose", "Two axes are swapped."},
    {"reshape", "The same numbers get another shape."},
};

const char *record_sentence(const Records *r, const Node *n) {
    char name[RECORD_NAME];
    record_name(r, n->out, name);
    enum { COUNT = sizeof sentences / sizeof *sentences };
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(sentences[i][0], name) == 0) return sentences[i][1];
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(sentences[i][0], n->op->name) == 0) return sentences[i][1];
    return "";
}

/* ---- The tape ---- */

static bool take_tokens(Tokens *x, long count, const int32_t *ids, Error *e) {
    if (!tokens_new(x, 1, count, e)) return false;
    tokens_fill(x, 1, count, ids, NO_PAD);
    return true;
}

bool records_run(Records *r, Arena *arena, long source_count, const int32_t *source,
                 long target_count, const int32_t *target, const int32_t *next, Error *e) {
    Tape *t = r->tape = tape_new();
    bool is_lm = config_is_lm(&r->model->config), has_loss = false;
    Forward f = {.tape = t, .model = r->model, .target = &r->target, .trace = &r->trace};
    if (!take_tokens(&r->target, target_count, target, e)) return false;
    if (!is_lm && !take_tokens(&r->source, source_count, source, e)) return false;
    if (!is_lm) f.source = &r->source;
    t->keep = true;
    Tensor *logits = nn_logits(&f, nn_hidden(&f));
    for (long i = 0; i < target_count; i++) has_loss |= next[i] != NO_PAD;
    if (has_loss) {
        Tensor *loss = tape_cross_entropy(t, logits, next, NO_PAD, 0);
        nn_trace_name(f.trace, t, loss, "L", AXES(AXIS_UNKNOWN));
    }
    if (tape_failed(t, e)) return false;
    r->count = t->nodes;
    r->of = arena_alloc(arena, (size_t)r->count * sizeof *r->of);
    for (Node *n = t->last; n; n = n->previous) r->of[n->index].node = n;
    for (long i = 0; i < r->count; i++) {
        set_module(r, i);
        set_axes(r, i);
    }
    return true;
}

void records_close(Records *r) {
    tape_free(r->tape);
    tokens_free(&r->source);
    tokens_free(&r->target);
}

Tensor *records_loss(const Records *r) {
    Tensor *last = r->tape->last->out;
    return last->shape.rank == 0 ? last : NULL;
}

bool records_backward(Records *r, Error *e) {
    Tensor *loss = records_loss(r);
    if (!loss)
        return error_set(e, STATUS_BAD_DATA,
                         "--text: found 1 token, need at least 2: there is none to predict");
    parameters_clear_grad(&r->model->parameters);
    tape_backward(r->tape, loss);
    parameters_zero_unreached(&r->model->parameters);
    return !tape_failed(r->tape, e);
}
