/* tape: what a forward pass leaves behind. Every operation that runs is written down, with what it read and what it made;
 * backward walks the list from its end, and gives the memory of each operation free when it has passed (autograd/tape.h).
 *
 * Shown of a small model and two sequences: the operations in the order in which they ran, the function of src/nn that
 * recorded each, its output's shape, the bytes that it holds until backward has passed (output, and what it keeps for
 * itself), and the multiply-adds of its matrix products, of which backward needs twice as many. */
#include "autograd/op.h"
#include "base/file.h"
#include "explain/show.h"
#include "nn/nn.h"
#include <string.h>

enum { PAD, VOCABULARY = 16, LONGEST = 6, TOKENS = 2 * LONGEST, TEXT = 128, MOST = 64 };

static const int32_t source[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, PAD},        /* 5 tokens, and 4 */
    target_in[] = {14, 9, 5, 1, 4, 1, 14, 5, 6, 2, 9, PAD};              /* begin, and the answer */
static const int32_t target_out[] = {9, 5, 1, 4, 1, 15, 5, 6, 2, 9, 15}; /* the answer, and the end */

typedef struct Recorded {
    Model *model;
    Tokens source, target;
    Tape *tape;
    const Node *node[MOST]; /* in the order of recording */
    int count;
} Recorded;

/* What is said of one operation. */
typedef struct Line {
    int reads[MAX_INPUTS], count; /* the recorded operations whose output it reads */
    char read[TEXT], weights[TEXT], label[TEXT];
    double output, kept, multiply_adds; /* bytes, bytes, of forward */
} Line;

static bool record(Recorded *r, uint64_t seed, Error *e) {
    ModelConfig c = config_seq2seq(VOCABULARY, LONGEST, PAD);
    c.encoder_layers = c.decoder_layers = 1, c.d_model = 32, c.d_ff = 64;
    *r = (Recorded){.model = model_new(&c, true, seed, e), .tape = tape_new()};
    if (!r->model || !tokens_new(&r->source, 2, TOKENS, e) || !tokens_new(&r->target, 2, TOKENS, e))
        return false;
    tokens_fill(&r->source, TOKENS_PACKED, 2, 5, source, PAD);
    tokens_fill(&r->target, TOKENS_PACKED, 2, 6, target_in, PAD);
    Forward f = {.tape = r->tape, .model = r->model, .source = &r->source, .target = &r->target};
    nn_loss(&f, nn_hidden(&f), target_out);
    if (tape_failed(r->tape, e)) return false;
    if (r->tape->nodes > MOST) error_bug("tape: found %ld operations, want at most %d", r->tape->nodes, MOST);
    r->count = (int)r->tape->nodes;
    for (const Node *n = r->tape->last; n; n = n->previous) r->node[n->index] = n;
    return true;
}

static void forget(Recorded *r) {
    tape_free(r->tape);
    tokens_free(&r->source), tokens_free(&r->target);
    model_free(r->model);
}

/* The name in a weight file of a leaf, or NULL. */
static const char *weight_name(const Parameters *p, const Tensor *leaf) {
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < PARAMETER_PARTS; k++)
            if (p->entry[i].part[k] == leaf) return p->entry[i].name;
    return NULL;
}

static void append(char text[TEXT], const char *between, const char *more) {
    size_t at = strlen(text);
    snprintf(text + at, TEXT - at, "%s%s", at ? between : "", more);
}

/* Arrays of a node are listed from the last; the first is the output, unless that lies in what is read. */
static void count_bytes(const Node *n, Line *line) {
    line->output = n->op->view ? 0 : (double)shape_count(n->out->shape) * sizeof(real);
    for (const TapeBlock *a = n->arrays; a && (n->op->view || a->next); a = a->next)
        line->kept += (double)a->bytes;
}

static Line line_of(const Recorded *r, const Node *n) {
    Line line = {0};
    char number[16];
    for (int i = 0; i < n->inputs; i++) {
        const Tensor *x = n->in[i];
        const char *weight = x && !x->maker ? weight_name(&r->model->parameters, x) : NULL;
        if (weight) append(line.weights, ", ", weight);
        if (!x || !x->maker) continue;
        snprintf(number, sizeof number, "%ld", x->maker->index);
        append(line.read, " ", number);
        line.reads[line.count++] = (int)x->maker->index;
    }
    count_bytes(n, &line);
    if (n->op->flops) line.multiply_adds = n->op->flops(n) / 2;
    snprintf(line.label, TEXT, "%ld %s %s", n->index, n->op->name, shape_text(n->out->shape));
    return line;
}

static const Column columns[] = {{"index", "#", 2, 0},
                                 {"operation", "operation", 20, AS_TEXT},
                                 {"recorder", "recorded by", 18, AS_TEXT},
                                 {"reads", "reads", 5, AS_TEXT},
                                 {"shape", "shape", 8, AS_TEXT},
                                 {"bytes", "bytes", 6, 0},
                                 {"multiply_adds", "mul-adds", 8, 0}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- For Graphviz ---- */

static bool save_dot(const Recorded *r, const Line *lines, const char *path, Error *e) {
    File *f = file_create(path, e);
    if (!f) return false;
    file_print(f, "digraph tape {\n    node [shape=box, fontname=\"sans-serif\"]\n");
    for (int i = 0; i < r->count; i++)
        file_print(f, "    n%d [label=\"%s\\n%s%s%s\"]\n", i, lines[i].label, r->node[i]->recorder,
                   *lines[i].weights ? "\\n" : "", lines[i].weights);
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < lines[i].count; k++) file_print(f, "    n%d -> n%d\n", lines[i].reads[k], i);
    file_print(f, "}\n");
    return file_commit(f, e);
}

/* ---- All ---- */

typedef struct Totals {
    double bytes, multiply_adds, linear; /* of which `linear` are of that operation */
    int recorders;
} Totals;

static Totals show_table(const ExplainOptions *o, const Recorded *r, Line *lines) {
    Totals sum = {0};
    show_head(o, columns, COLUMNS);
    for (int i = 0; i < r->count; i++) {
        const Node *n = r->node[i];
        Line *line = &lines[i];
        *line = line_of(r, n);
        show_row(o, "tape", columns, COLUMNS,
                 (Cell[]){NUMBER(i), TEXT(n->op->name), TEXT(n->recorder), TEXT(line->read),
                          TEXT(shape_text(n->out->shape)), NUMBER(line->output + line->kept),
                          NUMBER(line->multiply_adds)});
        sum.bytes += line->output + line->kept, sum.multiply_adds += line->multiply_adds;
        if (strcmp(n->op->name, "linear") == 0) sum.linear += line->multiply_adds;
        bool seen = false;
        for (int k = 0; k < i; k++) seen = seen || strcmp(r->node[k]->recorder, n->recorder) == 0;
        sum.recorders += !seen;
    }
    return sum;
}

static bool show(const ExplainOptions *o, const Recorded *r, Error *e) {
    Line lines[MOST];
    GraphStep steps[MOST];
    show_say(o, "One forward pass of a model of one layer on each side, width 32, 4 heads, over two "
                "sequences of 5 and 4 tokens, and the loss of their answers: what the tape has written down. "
                "Bytes are the output's and of what is kept for backward; weights that are read are not "
                "recorded.");
    Totals sum = show_table(o, r, lines);
    for (int i = 0; i < r->count; i++) steps[i] = (GraphStep){lines[i].label, lines[i].count, lines[i].reads};
    Picture picture = {PICTURE_GRAPH, "The tape: who reads whom",
                       "Operations from the first to the last, and lines from each to those that read it.",
                       .graph = {steps, r->count}};
    if (!show_pictures(o, &picture, 1, e) || (o->dot && !save_dot(r, lines, o->dot, e))) return false;
    show_found(o, "tape",
               "%d operations, recorded by %d functions, hold %.0f bytes; the tape counts %zu, in whole "
               "cache lines. Forward has %.0f multiply-adds, %.1f %% of them in linear; backward, from %d "
               "to 0, twice as many.",
               r->count, sum.recorders, sum.bytes, tape_in_use(r->tape), sum.multiply_adds,
               100 * sum.linear / sum.multiply_adds, r->count - 1);
    return true;
}

bool explain_tape(const ExplainOptions *o, Error *e) {
    Recorded r;
    bool ok = record(&r, o->seed, e) && show(o, &r, e);
    forget(&r);
    return ok;
}
