/* Numbers that say nothing: a forward or a gradient that is not finite, and a gradient of 0. */
#include "base/append.h"
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>

/* Elements that are tried, and elements that are named. */
enum { TRIED = 256, NAMED = 3 };

/* Names the elements without which output i would be finite: each is changed alone. "": none is
 * known. */
static void name_causes(const Comparison *m, long i, char *text, size_t size) {
    const double plain = 0.7; /* in the domain of most functions */
    const CheckPoint *p = m->point;
    CheckRun *run = m->g->run;
    JobChange tried[TRIED];
    char name[INDEX_TEXT];
    long count = 0, named = 0;
    for (int k = 0; k < p->inputs; k++)
        for (long j = 0; j < p->in[k].stored; j++) {
            if (p->in[k].same_as >= 0 || count == TRIED) break;
            tried[count++] = (JobChange){k, j, plain};
            check_run_ask(run);
            check_run_change(run, k, j, plain);
        }
    check_run_all(run, NULL);
    text[0] = 0;
    for (long at = 0; at < count; at++) {
        const PointInput *in = &p->in[tried[at].input];
        long j = tried[at].element;
        if (!isfinite(check_run_output(run, at)[i]) || named == NAMED) continue;
        text_append(text, size, "%s%s = %.6g", named++ ? ", " : ", where ",
                    gradcheck_element_text(name, in->name, in->shape, j), (double)in->value[j]);
    }
}

bool compare_forward(Comparison *m) {
    char name[INDEX_TEXT], more[32] = "", where[REPORT_TEXT / 2];
    long first = -1, count = 0;
    for (long i = m->e->outputs - 1; i >= 0; i--)
        if (!isfinite(m->y[i])) {
            first = i;
            count++;
        }
    if (!count) return false;
    name_causes(m, first, where, sizeof where);
    if (count > 1) snprintf(more, sizeof more, " (and %ld more)", count - 1);
    double value =
        isnan(m->y[first]) ? (double)NAN : (double)m->y[first]; /* a NaN's sign says nothing */
    return compare_say(m, "forward gives %g at %s%s%s", value, compare_output_text(m, name, first),
                       more, where);
}

bool compare_none(Comparison *m) {
    for (long i = 0; i < m->entries; i++)
        if (m->yours[i] != 0) return false;
    return compare_say(m, "no gradient arrives: it is 0 everywhere");
}

bool compare_not_a_number(Comparison *m) {
    long bad = 0;
    for (long j = 0; j < m->elements; j++) {
        bool finite = true;
        for (long q = 0; q < m->rows; q++) finite &= isfinite(m->yours[q * m->elements + j]);
        bad += !finite;
    }
    return bad && compare_say(m,
                              "%ld of %ld elements are not finite: 0/0, an overflow, infinity - "
                              "infinity, or a number read from beside an array, where the checker "
                              "puts NaN",
                              bad, m->elements);
}
