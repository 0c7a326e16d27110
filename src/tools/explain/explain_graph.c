/* graph: message passing over the edges of a graph is attention with a mask. N_i are node i and its
 * neighbours:
 *
 *     mean         h_i <- 1/|N_i| Σ_(j in N_i) h_j      attention whose scores are all equal
 *     sum          h_i <- Σ_(j in N_i) h_j              |N_i| times that
 *     attention    h_i <- Σ_(j in N_i) a_ij h_j         a_i = softmax_j(q_i·k_j) over N_i
 *
 * The mask sets the score of every pair without an edge to -∞. A layer moves what a node holds by
 * one edge, so that after k layers a node holds something of exactly the nodes within k hops. h
 * begins as the identity: column j is what has come from node j. All weights are above 0, so
 * nothing cancels. Veličković et al., arXiv:1710.10903. */
#include "explain/fit.h"
#include "explain/show.h"
#include <math.h>
#include <string.h>

enum { NODES = 8, EDGES = 9, LAYERS = 5 };
typedef enum Rule { MEAN, SUM, ATTENTION, RULES } Rule;

static const char *const node_name[NODES] = {"A", "B", "C", "D", "E", "F", "G", "H"};
static const char *const edge[EDGES] = {"AB", "AC", "BC", "CD", "DE", "EF", "FG", "FH", "GH"};

/* Node j is i or a neighbour of i. */
static bool linked(int i, int j) {
    bool found = i == j;
    for (int n = 0; n < EDGES; n++) {
        int a = edge[n][0] - 'A', b = edge[n][1] - 'A';
        found |= (a == i && b == j) || (a == j && b == i);
    }
    return found;
}

/* Mean or sum by plain loops. From the identity the sum counts the ways of so many steps from node
 * to node: it is above 0 within as many hops. */
static void aggregate(Rule rule, double h[NODES][NODES]) {
    double out[NODES][NODES] = {{0}};
    for (int i = 0; i < NODES; i++) {
        int count = 0;
        for (int j = 0; j < NODES; j++) count += linked(i, j);
        for (int j = 0; j < NODES; j++) {
            if (!linked(i, j)) continue;
            for (int c = 0; c < NODES; c++) out[i][c] += h[j][c] / (rule == MEAN ? count : 1);
        }
    }
    memcpy(h, out, sizeof out);
}

/* The same, and the rule of attention, as attention under the mask of the edges. */
static Tensor *attend(Tape *t, Rule rule, Tensor *h, Tensor *wq, Tensor *wk) {
    static uint8_t hidden[NODES * NODES];
    Tensor *scores = tape_constant(t, SHAPE(NODES, NODES)),
           *size = tape_constant(t, SHAPE(NODES, 1));
    if (!size->data) return size;
    for (int i = 0; i < NODES * NODES; i++) {
        hidden[i] = !linked(i / NODES, i % NODES);
        size->data[i / NODES] += !hidden[i];
    }
    if (rule == ATTENTION)
        scores =
            tape_matmul(t, tape_matmul(t, h, wq), tape_transpose(t, tape_matmul(t, h, wk), 0, 1));
    Tensor *a = tape_softmax(
        t, tape_masked_fill(t, scores, hidden, SHAPE(NODES, NODES), (real)-INFINITY), -1);
    return rule == SUM ? tape_mul(t, tape_matmul(t, a, h), size) : tape_matmul(t, a, h);
}

static const Table table = {"graph",
                            "Is message passing over the edges of a graph attention with a mask?",
                            "mean       h_i <- 1/|N_i| sum_(j in N_i) h_j\n"
                            "sum        h_i <- sum_(j in N_i) h_j\n"
                            "attention  h_i <- sum_j a_ij h_j,  a_i = softmax(s_i),\n"
                            "           s_ij = q_i.k_j, and -inf where j is not in N_i",
                            {{"layers", "layers", 6, 0},
                             {"mean", "off mean", 8, AS_POWER},
                             {"sum", "off sum", 8, AS_POWER},
                             {"within", "pairs within so many hops", 25, 0},
                             {"reached", "reached", 7, 0},
                             {"attention", "with q.k", 8, 0}}};

bool explain_graph(const ExplainOptions *o, Error *e) {
    Tape *t = o->tape;
    Tensor *h[RULES], *wq = fit_normals(t, SHAPE(NODES, NODES), o->seed, 0),
                      *wk = fit_normals(t, SHAPE(NODES, NODES), o->seed, 1);
    double want[RULES][NODES * NODES] = {{0}}, worst[RULES] = {0};
    const Tensor *mean[LAYERS];
    int exceptions = 0;
    for (int r = 0; r < RULES; r++) {
        h[r] = tape_constant(t, SHAPE(NODES, NODES));
        if (tape_failed(t, e)) return false;
        for (int i = 0; i < NODES * NODES; i += NODES + 1) want[r][i] = h[r]->data[i] = 1;
    }
    show_start(
        o, &table,
        "A graph of %d nodes has the edges A-B A-C B-C C-D D-E E-F F-G F-H G-H; N_i are node i and "
        "its neighbours. With equal scores attention under the mask gives the mean, and |N_i| "
        "times "
        "that the sum. The table shows errors; then the pairs of nodes within as many hops as "
        "there "
        "are layers, and those of which the first holds something of the second.",
        NODES);
    for (int layer = 0; layer < LAYERS; layer++) {
        double off[RULES] = {0};
        int within = 0, reached[RULES] = {0};
        for (int r = 0; r < RULES; r++) {
            h[r] = attend(t, (Rule)r, h[r], wq, wk);
            if (r != ATTENTION) aggregate((Rule)r, (double(*)[NODES])want[r]);
        }
        if (tape_failed(t, e)) return false;
        for (int i = 0; i < RULES * NODES * NODES; i++) {
            int r = i % RULES, n = i / RULES;
            double found = (double)h[r]->data[n];
            bool near = want[SUM][n] > 0;
            if (r != ATTENTION) off[r] = fmax(off[r], fabs(found - want[r][n]));
            worst[r] = fmax(worst[r], off[r]);
            within += r == MEAN && near;
            reached[r] += found > 0;
            exceptions += (found > 0) != near;
        }
        mean[layer] = h[MEAN];
        show_row(o, &table,
                 (Cell[]){NUMBER(layer + 1), NUMBER(off[MEAN]), NUMBER(off[SUM]), NUMBER(within),
                          NUMBER(reached[MEAN]), NUMBER(reached[ATTENTION])});
    }
    static const char *const title[] = {"The mean after 1 layer", "After 2 layers",
                                        "After 5 layers"};
    static const int after[] = {0, 1, LAYERS - 1};
    Map maps[3];
    for (int i = 0; i < 3; i++)
        maps[i] = (Map){title[i],
                        i ? NULL : "A node holds something of its neighbours and of itself.",
                        NODES,
                        NODES,
                        "node",
                        "holds of",
                        node_name,
                        node_name,
                        mean[after[i]]->data,
                        .high = 0.5};
    return show_found(
        o, &table, maps, 3,
        "Attention with equal scores gives the neighbours' mean within %.1e and their sum "
        "within %.1e; after 1 to %d layers, with q.k too, a node holds something of the nodes "
        "within as many hops and of no others, with %d exceptions.",
        worst[MEAN], worst[SUM], LAYERS, exceptions);
}
