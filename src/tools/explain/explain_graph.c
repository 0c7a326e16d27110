/* graph: message passing over the edges of a graph is attention with a mask, which sets the score
 * of every pair without an edge to -∞. N_i are node i and its neighbours. A layer moves what a node
 * holds by one edge, so that after k layers a node holds something of exactly the nodes within k
 * hops. h begins as the identity: column j is what has come from node j. All weights are above 0,
 * so nothing cancels. Veličković et al., arXiv:1710.10903. */
#include "explain/experiment.h"

enum { NODES = 8, EDGES = 9, LAYERS = 5, PAIRS = NODES * NODES };
enum { MEAN, SUM, ATTENTION, RULES };

static const char *const edge[EDGES] = {"AB", "AC", "BC", "CD", "DE", "EF", "FG", "FH", "GH"};

/* A graph as constants of the tape. */
typedef struct Graph {
    uint8_t hidden[PAIRS];
    Tensor *links, *size; /* [NODES, NODES]: 1 where j is in N_i; [NODES, 1]: |N_i| */
    Tensor *identity, *wq, *wk;
} Graph;

static void open(Lab *l, Graph *g) {
    g->links = tape_constant(l->tape, SHAPE(NODES, NODES));
    g->identity = tape_constant(l->tape, SHAPE(NODES, NODES));
    g->wq = lab_random(l, SHAPE(NODES, NODES));
    g->wk = lab_random(l, SHAPE(NODES, NODES));
    lab_want(l, true);
    for (int i = 0; i < PAIRS; i += NODES + 1) g->identity->data[i] = g->links->data[i] = 1;
    for (int n = 0; n < EDGES; n++) {
        int a = edge[n][0] - 'A', b = edge[n][1] - 'A';
        g->links->data[a * NODES + b] = g->links->data[b * NODES + a] = 1;
    }
    for (int i = 0; i < PAIRS; i++) g->hidden[i] = g->links->data[i] == 0;
    g->size = tape_sum(l->tape, g->links, -1);
}

/* Attention under the mask of the edges, with equal scores for mean and sum. */
static Tensor *attend(Lab *l, const Graph *g, int rule, Tensor *h) {
    Tape *t = l->tape;
    Tensor *s = tape_constant(t, SHAPE(NODES, NODES));
    if (rule == ATTENTION) s = lab_linear(l, tape_matmul(t, h, g->wq), tape_matmul(t, h, g->wk));
    s = tape_masked_fill(t, s, g->hidden, SHAPE(NODES, NODES), (real)-INFINITY);
    Tensor *mean = tape_matmul(t, tape_softmax(t, s, -1), h);
    return rule == SUM ? tape_mul(t, mean, g->size) : mean;
}

static void run(Lab *l) {
    static const char *const node[NODES] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    static const char *const title[LAYERS] = {"The mean after 1 layer", "After 2 layers",
                                              [LAYERS - 1] = "After 5 layers"};
    static Graph g;
    Tensor *mean[LAYERS];
    double worst[RULES] = {0};
    int exceptions = 0;
    open(l, &g);
    Tensor *h[RULES] = {g.identity, g.identity, g.identity}, *sum = g.identity, *want;
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
        sum = tape_matmul(l->tape, g.links, sum); /* it counts the ways from node to node */
        want = tape_div(l->tape, tape_matmul(l->tape, g.links, layer ? mean[layer - 1] : h[MEAN]),
                        g.size);
        for (int r = 0; r < RULES; r++) h[r] = attend(l, &g, r, h[r]);
        lab_want(l, true);
        for (int i = 0; i < PAIRS; i++) {
            bool near = sum->data[i] > 0;
            within += near;
            off[MEAN] = fmax(off[MEAN], fabs((double)(h[MEAN]->data[i] - want->data[i])));
            off[SUM] = fmax(off[SUM], fabs((double)(h[SUM]->data[i] - sum->data[i])));
            for (int r = 0; r < RULES; r++) {
                reached[r] += h[r]->data[i] > 0;
                exceptions += (h[r]->data[i] > 0) != near;
            }
        }
        for (int r = 0; r < RULES; r++) worst[r] = fmax(worst[r], off[r]);
        mean[layer] = h[MEAN];
        LAB_ROW(l, NUMBER(layer + 1), NUMBER(off[MEAN]), NUMBER(off[SUM]), NUMBER(within),
                NUMBER(reached[MEAN]), NUMBER(reached[ATTENTION]));
    }
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
