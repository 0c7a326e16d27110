#include "training/muon.h"
#include "base/pool.h"
#include "kernels/product.h"
#include <math.h>
#include <string.h>

enum { STEPS = 5, SQUARES = 4 };

bool muon_owns(const Parameter *p) {
    return p->shape.rank == 2 && strstr(p->name, "layers.");
}

static long smaller_side(const Parameter *p) {
    return p->shape.size[0] < p->shape.size[1] ? p->shape.size[0] : p->shape.size[1];
}

/* One thread's: SQUARES matrices of the largest smaller side. */
static long squares(const Parameters *p) {
    long most = 0;
    for (int i = 0; i < p->count; i++)
        if (muon_owns(&p->entry[i]) && smaller_side(&p->entry[i]) > most) most = smaller_side(&p->entry[i]);
    return SQUARES * most * most;
}

long muon_scratch(const Parameters *p) {
    return pool_threads() * squares(p);
}

/* Q = a I + b A + c A² */
static void polynomial(Matrix A, Matrix Q) {
    const real a = (real)3.4445, b = (real)-4.7750, c = (real)2.0315;
    long m = A.rows;
    product_nn(A, A, Q, false);
    for (long i = 0; i < m * m; i++) Q.at[i] = b * A.at[i] + c * Q.at[i];
    for (long i = 0; i < m; i++) Q.at[i * m + i] += a;
}

/* P = Q_4 Q_3 Q_2 Q_1 Q_0, of A, which is overwritten. Returns the place of P. */
static Matrix newton_schulz(Matrix A, Matrix P, Matrix Q, Matrix T) {
    polynomial(A, P);
    for (int k = 1; k < STEPS; k++) {
        Matrix last = k == 1 ? P : Q, swapped = P;
        product_nn(last, A, T, false);
        product_nn(T, last, A, false);
        polynomial(A, Q);
        product_nn(Q, P, T, false);
        P = T, T = swapped;
    }
    return P;
}

typedef struct Update {
    Parameters *p;
    real *moment, *scratch;
    double rate, decay, momentum, scale;
    long squares;
} Update;

/* Momentum, and U in the gradient's place. */
static void add_momentum(const Update *u, long begin, long count) {
    real momentum = (real)u->momentum, scale = (real)u->scale;
    real *restrict b = u->moment + begin, *restrict g = u->p->grad + begin;
    for (long i = 0; i < count; i++) {
        real gi = scale * g[i];
        b[i] = momentum * b[i] + gi;
        g[i] = gi + momentum * b[i];
    }
}

static void update_matrix(void *context, long index) {
    const Update *u = context;
    const Parameter *entry = &u->p->entry[index];
    if (!muon_owns(entry)) return;
    long rows = entry->shape.size[0], columns = entry->shape.size[1], m = smaller_side(entry);
    real *scratch = u->scratch + pool_thread_index() * u->squares;
    Matrix W = matrix_of(u->p->value + entry->offset, rows, columns), U = W, square[SQUARES];
    U.at = u->p->grad + entry->offset;
    for (int i = 0; i < SQUARES; i++) square[i] = matrix_of(scratch + i * m * m, m, m);
    add_momentum(u, entry->offset, rows * columns);
    if (rows <= columns)
        product_nt(U, U, square[0], false);
    else
        product_tn(U, U, square[0], false);
    double sum = 0; /* ‖U‖² */
    for (long i = 0; i < m; i++) sum += (double)square[0].at[i * m + i];
    double length = sqrt(sum) + 1e-7;
    for (long i = 0; i < m * m; i++) square[0].at[i] *= (real)(1 / (length * length));
    Matrix P = newton_schulz(square[0], square[1], square[2], square[3]);
    double taller = (double)rows / (double)columns, factor = u->rate * sqrt(fmax(1, taller)) / length;
    for (long i = 0; i < m * m; i++) P.at[i] *= (real)-factor;
    for (long i = 0; u->decay > 0 && i < rows * columns; i++) W.at[i] *= (real)(1 - u->rate * u->decay);
    if (rows <= columns)
        product_nn(P, U, W, true);
    else
        product_nn(U, P, W, true);
}

void muon_update(Parameters *p, real *moment, double rate, double decay, double momentum, double scale,
                 real *scratch) {
    Update u = {p, moment, scratch, rate, decay, momentum, scale, squares(p)};
    pool_for(p->count, update_matrix, &u);
}
