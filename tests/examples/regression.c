/* Linear regression on a tape: gradient descent finds w and b of y = X w + b. */
#include <math.h>
#include <stdio.h>
#include <tapeformer.h>

enum { ROWS = 32 };

int main(void) {
    real X[ROWS * 2], y[ROWS], w[2] = {0, 0}, b[1] = {0};
    for (int i = 0; i < ROWS; i++) {
        X[2 * i] = (real)sin(i);
        X[2 * i + 1] = (real)cos(3 * i);
        y[i] = 3 * X[2 * i] - 2 * X[2 * i + 1] + (real)0.5;
    }
    Tape *t = tape_new();
    for (int step = 1; step <= 40; step++) {
        real dw[2] = {0, 0}, db[1] = {0};
        Tensor *data = tape_leaf(t, SHAPE(ROWS, 2), X, NULL),
               *wanted = tape_leaf(t, SHAPE(ROWS, 1), y, NULL);
        Tensor *weights = tape_leaf(t, SHAPE(2, 1), w, dw), *bias = tape_leaf(t, SHAPE(1), b, db);
        Tensor *found = tape_add(t, tape_matmul(t, data, weights), bias);
        Tensor *loss = tape_mean(t, tape_square(t, tape_sub(t, found, wanted)), ALL_AXES);
        tape_backward(t, loss); /* adds ∂loss/∂w to dw and ∂loss/∂b to db */
        if (step % 10 == 0) printf("step %2d  loss %.6f\n", step, (double)loss->data[0]);
        for (int j = 0; j < 2; j++) w[j] -= (real)0.3 * dw[j];
        b[0] -= (real)0.3 * db[0];
        tape_reset(t);
    }
    printf("y = %.2f x0 %+.2f x1 %+.2f\n", (double)w[0], (double)w[1], (double)b[0]);
    tape_free(t);
    return 0;
}
