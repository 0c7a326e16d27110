#include "check/gradcheck/job.h"
#include <stdlib.h>

/* Makes room for `count` elements in memory that keeps nothing. */
static void *room_for(void *old, size_t *room, long count, size_t size) {
    size_t bytes = ((size_t)count + 1) * size;
    if (bytes <= *room) return old;
    free(old);
    old = malloc(bytes);
    if (!old) error_no_memory("the results of %ld runs", count);
    *room = bytes;
    return old;
}

void result_for_outputs(Result *r, long runs, long outputs) {
    r->y = room_for(r->y, &r->y_room, runs * outputs, sizeof *r->y);
    r->branches = room_for(r->branches, &r->branches_room, runs, sizeof *r->branches);
}

void result_for_gradients(Result *r, long runs, long gradients) {
    r->grad = room_for(r->grad, &r->grad_room, runs * gradients, sizeof *r->grad);
}

void result_free(Result *r) {
    free(r->y);
    free(r->branches);
    free(r->grad);
    *r = (Result){0};
}

int job_backwards(const Job *j) {
    if (!j->dy) return 0;
    return j->backwards ? j->backwards : 1;
}
