#include "check/gradcheck/check_forward.h"
#include "check/gradcheck/check_entry.h"
#include "check/gradcheck/check_noise.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdio.h>

/* The last node has the same place on both tapes, so that dropout is the same. */
static Shape shape_of_both(CheckRun *run, CheckRun *reference, Shape *want) {
    point_ready(run->point, 0);
    point_ready(reference->point, 0);
    Shape found = check_run_forward(run)->shape;
    reference->first = 0;
    check_run_forward(reference);
    reference->first = run->nodes - reference->nodes;
    if (reference->first) check_run_forward(reference);
    *want = reference->y->shape;
    return found;
}

bool check_forward(CheckRun *run, CheckRun *reference, Arena *arena, char text[REPORT_TEXT]) {
    Shape want, found = shape_of_both(run, reference, &want);
    char at[INDEX_TEXT];
    if (!shape_equal(want, found)) {
        snprintf(text, REPORT_TEXT, "the output has shape %s, need %s", shape_text(found), shape_text(want));
        return false;
    }
    Noise own, other;
    long count = shape_count(want);
    check_noise(&own, run, -1, count, arena);
    check_noise(&other, reference, -1, count, arena);
    double largest = rounding_largest(other.here, count), u = (double)REAL_EPSILON;
    for (long i = 0; i < count; i++) {
        double y = (double)own.here[i], need = (double)other.here[i];
        double terms = largest + fmax(own.change[i], other.change[i]) / u;
        double room = fmax(CHECK_SHARP * fabs(need), rounding_room(ROUNDINGS_OF_A_RUN, u, terms));
        if (rounding_same(y, need, room)) continue;
        snprintf(text, REPORT_TEXT, "the forward is another function: y%s is %.9g, need %.9g",
                 want.rank ? gradcheck_index_text(at, want, i) : "", y, need);
        break;
    }
    return true;
}
