#include "grading/coverage.h"
#include <stdio.h>
#include <string.h>

typedef struct Coverage {
    bool elements, smooth, one,
        sizes; /* there is a case with elements, off kinks and saturation, of size 1, of another shape */
    Shape first;
    bool any;
} Coverage;

static void look(Coverage *c, const CheckItem *item, const CaseReport *r) {
    for (int k = 0; k < CHECK_INPUTS && item->c.in[k].name; k++) {
        Shape s = item->c.in[k].shape;
        for (int axis = 0; axis < s.rank; axis++) c->one |= s.size[axis] == 1;
        c->one |= s.rank == 0;
        if (k) continue;
        if (!c->any) c->first = s;
        c->sizes |= !shape_equal(s, c->first);
        c->any = true;
    }
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        c->elements |= in->coordinates > 0;
        c->smooth |= in->kinks + in->flat < in->alone;
    }
}

static bool says_something(const Coverage *c, char text[REPORT_TEXT]) {
    snprintf(text, REPORT_TEXT, "hardly tested by its own cases:%s%s%s%s",
             c->elements ? "" : " no element has a gradient;",
             c->smooth || !c->elements ? "" : " all points lie on kinks, or where the output is saturated;",
             c->sizes ? "" : " all inputs have one shape;", c->one ? "" : " no axis has size 1;");
    size_t length = strlen(text);
    bool any = text[length - 1] == ';';
    if (any) text[length - 1] = 0;
    return any;
}

void coverage_report(const CheckPlan *p, const CaseReport *report, bool strict,
                     void (*sink)(void *context, const CaseReport *r), void *context) {
    for (long i = 0, end; i < p->items; i = end) {
        Coverage c = {0};
        bool runs = false;
        for (end = i; end < p->items && strcmp(p->item[end].op, p->item[i].op) == 0; end++) {
            runs |= p->item[end].index >= 0;
            look(&c, &p->item[end], &report[end]);
        }
        CaseReport r = {.verdict = strict ? INCONCLUSIVE : PASS};
        if (!runs || !says_something(&c, r.trouble)) continue;
        snprintf(r.op, sizeof r.op, "%s", p->item[i].op);
        snprintf(r.name, sizeof r.name, "coverage");
        sink(context, &r);
    }
}
