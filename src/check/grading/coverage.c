#include "check/grading/coverage.h"
#include <stdio.h>

void coverage_look(Coverage *c, const CaseReport *r) {
    REPORT_SET(c->op, r->op);
    c->runs |= r->inputs > 0;
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        if (shape_count(in->shape) == 0) continue;
        for (int axis = 0; axis < in->shape.rank; axis++) c->one |= in->shape.size[axis] == 1;
        c->one |= in->shape.rank == 0;
        c->elements |= in->coordinates > 0;
        c->smooth |= in->kinks + in->flat < in->alone;
        c->slope |= in->sloped > 0;
        if (i) continue; /* the shape of the first input stands for all */
        if (!c->any) c->first = in->shape;
        c->sizes |= !shape_equal(in->shape, c->first);
        c->any = true;
    }
}

bool coverage_says(Coverage *c, bool strict, CaseReport *r) {
    const struct {
        bool tested;
        const char *not_so;
    } aspect[] = {{c->elements, " no element has a gradient;"},
                  {c->smooth || !c->elements, " all points lie on kinks, or where the output is saturated;"},
                  {c->slope || !c->elements, " the slope is 0 everywhere;"},
                  {c->sizes, " all inputs have one shape;"},
                  {c->one, " no axis has size 1;"}};
    bool any = false, nothing = !c->elements;
    *r = (CaseReport){.verdict = strict || nothing ? INCONCLUSIVE : PASS};
    REPORT_SET(r->op, c->op);
    REPORT_SET(r->name, "coverage");
    size_t at = (size_t)snprintf(r->trouble, REPORT_TEXT, "not tested:");
    for (size_t i = 0; c->runs && i < sizeof aspect / sizeof *aspect; i++) {
        if (aspect[i].tested) continue;
        at += (size_t)snprintf(r->trouble + at, REPORT_TEXT - at, "%s", aspect[i].not_so);
        any = true;
    }
    r->trouble[at - any] = 0;
    *c = (Coverage){0};
    return any;
}
