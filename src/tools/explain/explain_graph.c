/* graph: message passing over the edges of a graph is attention with a mask, which sets the score
 * of every pair without an edge to -∞. N_i are node i and its neighbours. A layer moves what a node
 * holds by one edge, so that after k layers a node holds something of exactly the nodes within k
 * hops. h begins as the identity: column j is what has come from node j. All weights are above 0,
 * so nothing cancels. Veličković et al., arXiv:1710.10903. */
#include "explain/experiment.h"
#include <string.h>

enum { NODES = 8, EDGES = 9, LAYERS = 5 };
typedef enum Rule { MEAN, SUM, ATTENTION, RULES } Rule;

/* Node j is i or a neighbour of i. */
static bool linked(int i, int j) {
    static const char *const edge[EDGES] = {"AB", "AC", "BC", "CD", "DE", "EF", "FG", "FH", "GH"};
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
static Tensor *attend(Lab *l, Rule rule, Tensor *h, Tensor *wq, Tensor *wk) {
    static uint8_t hidden[NODES * NODES];
    Tape *t = l->tape;
    Tensor *s = tape_constant(t, SHAPE(NODES, NODES)), *size = tape_constant(t, SHAPE(NODES, 1));
    lab_want(l, true);
    for (int i = 0; i < NODES * NODES; i++) {
        hidden[i] = !linked(i / NODES, i % NODES);
        size->data[i / NODES] += !hidden[i];
    }
    if (rule == ATTENTION)
        s = tape_matmul(t, tape_matmul(t, h, wq), tape_transpose(t, tape_matmul(t, h, wk), 0, 1));
    s = tape_masked_fill(t, s, hidden, SHAPE(NODES, NODES), (real)-INFINITY);
    Tensor *mean = tape_matmul(t, tape_softmax(t, s, -1), h);
    return rule == SUM ? tape_mul(t, mean, size) : mean;
}

static void run(Lab *l) {
    static const char *const node[NODES] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    Tensor *h[RULES], *mean[LAYERS], *wq = lab_normals(l, SHAPE(NODES, NODES), 0),
                                     *wk = lab_normals(l, SHAPE(NODES, NODES), 1);
    double want[RULES][NODES * NODES] = {{0}}, worst[RULES] = {0};
    int exceptions = 0;
    for (int r = 0; r < RULES; r++) {
        h[r] = tape_constant(l->tape, SHAPE(NODES, NODES));
        lab_want(l, true);
        for (int i = 0; i < NODES * NODES; i += NODES + 1) want[r][i] = h[r]->data[i] = 1;
    }
    lab_start(l,
              "A graph of %d nodes has the edges A-B A-C B-C C-D D-E E-F F-G F-H G-H; N_i are node "
              "i and its neighbours. With equal scores attention under the mask gives the mean, "
              "and |N_i| times that the sum. The table shows errors; then the pairs of nodes "
              "within as many hops as there are layers, and those of which the first holds "
              "something of the second.",
              NODES);
    for (int layer = 0; layer < LAYERS; layer++) {
        double off[RULES] = {0};
        int within = 0, reached[RULES] = {0};
        for (int r = 0; r < RULES; r++) {
            h[r] = attend(l, (Rule)r, h[r], wq, wk);
            if (r != ATTENTION) aggregate((Rule)r, (double(*)[NODES])want[r]);
        }
        lab_want(l, true);
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
        LAB_ROW(l, NUMBER(layer + 1), NUMBER(off[MEAN]), NUMBER(off[SUM]), NUMBER(within),
                NUMBER(reached[MEAN]), NUMBER(reached[ATTENTION]));
    }
    static const char *const title[LAYERS] = {"The mean after 1 layer", "After 2 layers",
                                              [LAYERS - 1] = "After 5 layers"};
    for (int i = 0; i < LAYERS; i++) {
        Map map = {title[i], NODES, NODES, "node", "holds of", node, node, mean[i]->data, 0, 0.5};
        const char *description = "A node holds something of its neighbours and of itself.";
        if (title[i]) lab_map(l, &map, i ? NULL : description);
    }
    lab_found(l,
              "Attention with equal scores gives the neighbours' mean within %.1e and their sum "
              "within %.1e; after 1 to %d layers, with q.k too, a node holds something of the "
              "nodes within as many hops and of no others, with %d exceptions.",
              worst[MEAN], worst[SUM], LAYERS, exceptions);
}

const Experiment explain_graph = {
    "graph",
    "message passing over edges as attention with a mask",
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
     {"attention", "with q.k", 8, 0}},
    run};
