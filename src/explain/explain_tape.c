/* tape: what a forward pass records. The tape lists every operation that runs, with its inputs and its
 * output. Backward walks the list from its end and frees the memory of each operation that it has passed
 * (autograd/tape.h).
 *
 * For a small model and two sequences the table shows the operations in the order in which they ran, the
 * function of src/nn that recorded each, the shape of its output, the bytes that it holds until backward
 * has passed (its output, and what it keeps for itself), and the multiply-adds of its matrix products;
 * backward needs twice as many. */
#include "autograd/op.h"
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

/* One operation. */
typedef struct Line {
    char reads[TEXT];            /* indices of the recorded operations whose output it reads */
    double bytes, multiply_adds; /* held until backward; of forward */
} Line;

static bool record(Recorded *r, Tape *t, uint64_t seed, Error *e) {
    ModelConfig c = config_seq2seq(VOCABULARY, LONGEST, PAD);
    c.encoder_layers = c.decoder_layers = 1, c.d_model = 32, c.d_ff = 64;
    *r = (Recorded){.model = model_new(&c, true, seed, e), .tape = t};
    if (!r->model || !tokens_new(&r->source, 2, TOKENS, e) || !tokens_new(&r->target, 2, TOKENS, e))
        return false;
    tokens_fill(&r->source, 2, 5, source, PAD);
    tokens_fill(&r->target, 2, 6, target_in, PAD);
    Forward f = {.tape = r->tape, .model = r->model, .source = &r->source, .target = &r->target};
    nn_loss(&f, nn_hidden(&f), target_out);
    if (tape_failed(r->tape, e)) return false;
    if (r->tape->nodes > MOST) error_bug("tape: found %ld operations, want at most %d", r->tape->nodes, MOST);
    r->count = (int)r->tape->nodes;
    for (const Node *n = r->tape->last; n; n = n->previous) r->node[n->index] = n;
    return true;
}

static void forget(Recorded *r) {
    tokens_free(&r->source), tokens_free(&r->target);
    model_free(r->model);
}

/* `row` of the map gets a 1 for each operation that is read. */
static Line line_of(const Node *n, real *row) {
    Line line = {0};
    size_t at = 0;
    for (int i = 0; i < n->inputs; i++) {
        const Node *read = n->in[i] ? n->in[i]->maker : NULL;
        if (!read) continue;
        at += (size_t)snprintf(line.reads + at, TEXT - at, "%s%ld", at ? " " : "", read->index);
        row[read->index] = 1;
    }
    /* A node lists its arrays from the last to the first, which is the output, unless it is a view. */
    if (!n->op->view) line.bytes = (double)shape_count(n->out->shape) * sizeof(real);
    for (const TapeBlock *a = n->arrays; a && (n->op->view || a->next); a = a->next)
        line.bytes += (double)a->bytes;
    if (n->op->flops) line.multiply_adds = n->op->flops(n) / 2;
    return line;
}

static const Table table = {"tape",
                            "What does a forward pass leave for backward?",
                            "forward    y = f(x, w): record f, x, w, y\n"
                            "backward   dx += (df/dx)^T dy, from the last record to the first",
                            {{"index", "#", 2, 0},
                             {"operation", "operation", 20, AS_TEXT},
                             {"recorder", "recorded by nn_", 21, AS_TEXT},
                             {"reads", "reads", 5, AS_TEXT},
                             {"shape", "shape", 7, AS_TEXT},
                             {"bytes", "bytes", 5, 0},
                             {"multiply_adds", "mul-add", 7, 0}}};

typedef struct Totals {
    double bytes, multiply_adds, linear; /* of which `linear` are of that operation */
    int recorders;
} Totals;

/* `map` [count, count] gets a row for each operation. */
static Totals show_table(const ExplainOptions *o, const Recorded *r, real *map) {
    Totals sum = {0};
    for (int i = 0; i < r->count; i++) {
        const Node *n = r->node[i];
        Line line = line_of(n, map + i * r->count);
        show_row(o, &table,
                 (Cell[]){NUMBER(i), TEXT(n->op->name), TEXT(n->recorder + strlen("nn_")), TEXT(line.reads),
                          TEXT(shape_text(n->out->shape)), NUMBER(line.bytes), NUMBER(line.multiply_adds)});
        sum.bytes += line.bytes, sum.multiply_adds += line.multiply_adds;
        if (strcmp(n->op->name, "linear") == 0) sum.linear += line.multiply_adds;
        bool seen = false;
        for (int k = 0; k < i; k++) seen = seen || strcmp(r->node[k]->recorder, n->recorder) == 0;
        sum.recorders += !seen;
    }
    return sum;
}

static bool show(const ExplainOptions *o, const Recorded *r, Error *e) {
    real map[MOST * MOST] = {0};
    show_start(
        o, &table,
        "A model of one layer on each side, width 32, 4 heads, has read two sequences of 5 and 4 tokens "
        "and computed the loss of their answers. Bytes count the output and what is kept for "
        "backward. Weights are read, but not recorded.");
    Totals sum = show_table(o, r, map);
    Picture picture = {PICTURE_MAP, "The operations that each operation reads",
                       "Most read the one before them. The marks farther left are residual connections and, "
                       "in the decoder, the encoder's output.",
                       .map = {r->count, r->count, "operation", "reads", .values = map, .high = 1}};
    return show_found(
        o, &table, &picture, 1, e,
        "%d operations, recorded by %d functions, hold %.0f bytes (the tape counts %zu, in whole cache "
        "lines); forward has %.0f multiply-adds, %.1f %% of them in linear, and backward twice as "
        "many.",
        r->count, sum.recorders, sum.bytes, tape_in_use(r->tape), sum.multiply_adds,
        100 * sum.linear / sum.multiply_adds);
}

bool explain_tape(const ExplainOptions *o, Error *e) {
    Recorded r;
    bool ok = record(&r, o->tape, o->seed, e) && show(o, &r, e);
    forget(&r);
    return ok;
}
