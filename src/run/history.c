#include "run/history.h"

static void halve(History *h) {
    for (long i = 0; i < h->count / 2; i++) {
        h->x[i] = (h->x[2 * i] + h->x[2 * i + 1]) / 2;
        h->y[i] = (h->y[2 * i] + h->y[2 * i + 1]) / 2;
    }
    h->count /= 2;
    h->merged *= 2;
    h->last = h->merged;
}

void history_add(History *h, double x, double y) {
    if (!h->merged) h->merged = h->last = 1;
    if (h->count == HISTORY_ROOM && h->last == h->merged) halve(h);
    if (h->count == 0 || h->last == h->merged) {
        h->x[h->count] = x;
        h->y[h->count] = y;
        h->count++;
        h->last = 1;
        return;
    }
    long i = h->count - 1;
    h->last++;
    h->x[i] += (x - h->x[i]) / (double)h->last;
    h->y[i] += (y - h->y[i]) / (double)h->last;
}
