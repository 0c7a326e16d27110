double f(double x, int k) { return k ? -sin(x) : (double)k / 2e-1; }
static void g(Node *n) {
    double *y = n->in[0]->grad, c = 0;
    switch (n->in[0]->shape.rank) { case 1: c = f(y[0], 1); }
    while (c++ < 2 && y) y[0] -= c, c *= 'a';
}
