/* graph: message passing over the edges of a graph is attention with a mask. N_i are node i and its neighbours:
 *
 *     mean         h_i <- 1/|N_i| Σ_(j in N_i) h_j      attention whose scores are all equal
 *     sum          h_i <- Σ_(j in N_i) h_j              |N_i| times that
 *     attention    h_i <- Σ_(j in N_i) a_ij h_j         a_i = softmax_j(q_i·k_j) over N_i
 *
 * The mask sets the score of every pair without an edge to -∞. A layer moves what a node holds by one edge, so
 * that after k layers a node holds something of exactly the nodes within k hops. h begins as the identity: column
 * j is what has come from node j. All weights are above 0, so nothing cancels. Veličković et al.,
 * arXiv:1710.10903. */
#include "base/random.h"
#include "explain/show.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

enum { NODES = 8, EDGES = 9, LAYERS = 5 };
typedef enum Rule { MEAN, SUM, ATTENTION, RULES } Rule;

static const char *const node_name[NODES] = {"A", "B", "C", "D", "E", "F", "G", "H"};
static const int edge[EDGES][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {5, 7}, {6, 7}};

typedef struct Graph {
    Tape *tape;
    int hops[NODES][NODES];
    uint8_t hidden[NODES * NODES]; /* pairs without an edge */
    Tensor *query, *key, *size;    /* W^Q, W^K; |N_i|: [NODES, 1] */
} Graph;

/* Hops between all nodes, by the shortest of all ways (Floyd & Warshall). */
static void measure(Graph *g) {
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) g->hops[i][j] = i == j ? 0 : NODES;
    for (int n = 0; n < EDGES; n++) g->hops[edge[n][0]][edge[n][1]] = g->hops[edge[n][1]][edge[n][0]] = 1;
    for (int over = 0; over < NODES; over++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; j < NODES; j++) {
                int way = g->hops[i][over] + g->hops[over][j];
                if (way < g->hops[i][j]) g->hops[i][j] = way;
            }
}

static bool open(Graph *g, uint64_t seed, Error *e) {
    Tape *t = g->tape = tape_new();
    Shape square = SHAPE(NODES, NODES);
    g->size = tape_constant(t, SHAPE(NODES, 1)), g->query = tape_constant(t, square),
    g->key = tape_constant(t, square);
    if (tape_failed(t, e)) return false;
    measure(g);
    for (int i = 0; i < NODES * NODES; i++) {
        g->hidden[i] = g->hops[i / NODES][i % NODES] > 1;
        g->size->data[i / NODES] += !g->hidden[i];
        g->query->data[i] = (real)random_normal(random_key(seed, STREAM_EXPERIMENT), (uint64_t)i) / 2;
        g->key->data[i] = (real)random_normal(random_key(seed, STREAM_EXPERIMENT + 1), (uint64_t)i) / 2;
    }
    return true;
}

static Tensor *layer(const Graph *g, Rule rule, Tensor *h) {
    Tape *t = g->tape;
    Tensor *scores = tape_constant(t, SHAPE(NODES, NODES));
    if (rule == ATTENTION)
        scores =
            tape_matmul(t, tape_matmul(t, h, g->query), tape_transpose(t, tape_matmul(t, h, g->key), 0, 1));
    Tensor *a = tape_softmax(t, tape_masked_fill(t, scores, g->hidden, scores->shape, (real)-INFINITY), -1);
    return rule == SUM ? tape_mul(t, tape_matmul(t, a, h), g->size) : tape_matmul(t, a, h);
}

/* The formula of mean or sum, by plain loops. */
static void aggregate(const Graph *g, Rule rule, double h[NODES][NODES]) {
    double out[NODES][NODES] = {{0}};
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++)
            for (int c = 0; c < NODES && g->hops[i][j] <= 1; c++)
                out[i][c] += h[j][c] / (rule == MEAN ? (double)g->size->data[i] : 1);
    memcpy(h, out, sizeof out);
}

static const Table table = {"graph",
                            {{"layers", "layers", 6, 0},
                             {"mean", "off mean", 8, AS_POWER},
                             {"sum", "off sum", 8, AS_POWER},
                             {"within", "pairs within so many hops", 25, 0},
                             {"reached", "reached", 7, 0},
                             {"attention", "with q.k", 8, 0}}};

/* What all rules come to. */
typedef struct Outcome {
    double map[LAYERS][NODES * NODES], worst[RULES]; /* h of the mean after each layer; the largest errors */
    int exceptions; /* pairs within so many hops and not reached, or the reverse */
} Outcome;

/* One layer of every rule, in a row. h and want: what nodes hold, and should. */
static bool run_row(const ExplainOptions *o, const Graph *g, int layers, Tensor *h[RULES],
                    double want[RULES][NODES][NODES], Outcome *out, Error *e) {
    double off[RULES] = {0};
    int within = 0, reached[RULES] = {0};
    for (int r = 0; r < RULES; r++) {
        h[r] = layer(g, (Rule)r, h[r]);
        if (tape_failed(g->tape, e)) return false;
        aggregate(g, (Rule)r, want[r]);
        for (int i = 0; i < NODES * NODES; i++) {
            double found = (double)h[r]->data[i];
            bool near = g->hops[i / NODES][i % NODES] <= layers;
            off[r] = fmax(off[r], fabs(found - want[r][i / NODES][i % NODES]));
            reached[r] += found > 0, out->exceptions += (found > 0) != near;
            if (r == MEAN) out->map[layers - 1][i] = found, within += near;
        }
        out->worst[r] = fmax(out->worst[r], off[r]);
    }
    show_row(o, &table,
             (Cell[]){NUMBER(layers), NUMBER(off[MEAN]), NUMBER(off[SUM]), NUMBER(within),
                      NUMBER(reached[MEAN]), NUMBER(reached[ATTENTION])});
    return true;
}

static bool run(const ExplainOptions *o, const Graph *g, Outcome *out, Error *e) {
    Tensor *h[RULES];
    double want[RULES][NODES][NODES] = {{{0}}};
    bool ok = true;
    for (int r = 0; r < RULES; r++) {
        h[r] = tape_constant(g->tape, SHAPE(NODES, NODES));
        for (int i = 0; h[r]->data && i < NODES; i++) want[r][i][i] = h[r]->data[i * NODES + i] = 1;
    }
    show_head(o, &table);
    for (int layers = 1; ok && layers <= LAYERS; layers++) ok = run_row(o, g, layers, h, want, out, e);
    return ok;
}

static bool show(const ExplainOptions *o, const Graph *g, Error *e) {
    Outcome out = {0};
    show_question(o, "Is message passing over the edges of a graph attention with a mask?",
                  "mean       h_i <- 1/|N_i| sum_(j in N_i) h_j\n"
                  "sum        h_i <- sum_(j in N_i) h_j\n"
                  "attention  h_i <- sum_j a_ij h_j,  a_i = softmax(s_i),\n"
                  "           s_ij = q_i.k_j, and -inf where j is not in N_i");
    show_say(
        o,
        "A graph of %d nodes has the edges A-B A-C B-C C-D D-E E-F F-G F-H G-H; N_i are node i and its "
        "neighbours. With equal scores attention under the mask gives the mean, and |N_i| times that the "
        "sum. "
        "The table shows errors; then the pairs of nodes within as many hops as there are layers, and those "
        "of which the first holds something of the second.",
        NODES);
    if (!run(o, g, &out, e)) return false;
    static const char *const title[] = {"The mean after 1 layer", "After 2 layers", "After 5 layers"};
    static const int after[] = {0, 1, LAYERS - 1};
    Picture pictures[3];
    for (int i = 0; i < 3; i++)
        pictures[i] = (Picture){
            PICTURE_MAP, title[i], i ? NULL : "A node holds something of its neighbours and of itself.",
            .map = {NODES, NODES, "node", "holds of", node_name, node_name, out.map[after[i]], .high = 0.5}};
    if (!show_pictures(o, pictures, 3, e)) return false;
    show_found(
        o, "graph",
        "Attention with equal scores gives the neighbours' mean within %.1e and their sum within %.1e; after "
        "1 to %d layers, with q.k too, a node holds something of the nodes within as many hops and of no "
        "others, with %d exceptions.",
        out.worst[MEAN], out.worst[SUM], LAYERS, out.exceptions);
    return true;
}

bool explain_graph(const ExplainOptions *o, Error *e) {
    Graph g = {0};
    bool ok = open(&g, o->seed, e) && show(o, &g, e);
    tape_free(g.tape);
    return ok;
}
