/* Numbers that are not finite: of forward, and of the gradient alone. */
#include "base/append.h"
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Elements that are tried, and elements that are named. */
enum { TRIED = 256, NAMED = 3 };

/* Names the elements without which output i would be finite: each is changed alone. "": none is known. */
static void name_causes(const Suspect *s, long i, char *text, size_t size) {
    const double plain = 0.7; /* in the domain of most functions */
    const CheckPoint *p = s->point;
    CheckRun *run = s->g->run;
    char name[INDEX_TEXT];
    long asked = 0, run_at = 0, named = 0;
    for (int k = 0; k < p->inputs; k++)
        for (long j = 0; p->in[k].same_as < 0 && j < p->in[k].stored && asked < TRIED; j++) {
            asked = check_run_ask(run) + 1;
            check_run_change(run, k, j, plain);
        }
    check_run_all(run, NULL);
    text[0] = 0;
    for (int k = 0; k < p->inputs; k++)
        for (long j = 0; p->in[k].same_as < 0 && j < p->in[k].stored && run_at < asked; j++) {
            if (!isfinite(check_run_output(run, run_at++)[i]) || named == NAMED) continue;
            const char *before = named++ ? ", " : ", where ";
            text_append(text, size, "%s%s = %.6g", before,
                        gradcheck_element_text(name, p->in[k].name, p->in[k].shape, j),
                        (double)p->in[k].value[j]);
        }
}

bool pattern_forward(Suspect *s) {
    char name[INDEX_TEXT], more[32] = "", where[REPORT_TEXT / 2];
    long first = -1, count = 0;
    for (long i = s->outputs - 1; i >= 0; i--)
        if (!isfinite(s->y[i])) first = i, count++;
    if (!count) return false;
    name_causes(s, first, where, sizeof where);
    if (count > 1) snprintf(more, sizeof more, " (and %ld more)", count - 1);
    double value =
        isnan(s->y[first]) ? (double)NAN : (double)s->y[first]; /* a NaN's sign says nothing */
    return pattern_say(s, "forward gives %g at %s%s%s", value,
                       gradcheck_element_text(name, "y", s->y_shape, first), more, where);
}

bool pattern_not_a_number(Suspect *s) {
    long bad = 0;
    for (long j = 0; j < s->n; j++) {
        bool finite = true;
        for (long q = 0; q < s->rows; q++) finite &= isfinite(s->analytic[q * s->n + j]);
        bad += !finite;
    }
    return bad &&
           pattern_say(
               s,
               "%ld of %ld elements are not finite: 0/0, an overflow, infinity - infinity, or a "
               "number read from beside an array, where the checker puts NaN",
               bad, s->n);
}
