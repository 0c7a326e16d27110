#include "check/gradcheck/gradcheck.h"
#include <stdlib.h>
#include <string.h>

/* A wrong gradient in one case. */
typedef struct Wrong {
    InputReport *in;
    bool given;   /* a case of the file, not added by the checker; or all failing cases are added */
    bool settled; /* it is explained */
} Wrong;

static const Explanation *find_form(const InputReport *in, uint64_t form) {
    for (int i = 0; i < in->explanations; i++)
        if (in->explanation[i].form == form) return &in->explanation[i];
    return NULL;
}

/* Whether an explanation is believed: it fits half of the given cases. One that only says which elements are wrong must fit
 * all cases that are not explained and have more than one element. */
static bool is_believed(const Wrong *w, long n, const Explanation *x) {
    long given = 0, fits = 0, against = 0;
    for (long i = 0; i < n; i++) {
        bool here = find_form(w[i].in, x->form);
        given += w[i].given, fits += w[i].given && here;
        against += w[i].given && !w[i].settled && !here && w[i].in->coordinates > 1;
    }
    return fits && 2 * fits >= given && (x->sure || !against);
}

static const Explanation *best_of(const Wrong *w, long n) {
    const Explanation *best = NULL;
    for (long i = 0; i < n; i++)
        for (int k = 0; k < w[i].in->explanations && !w[i].settled; k++) {
            const Explanation *x = &w[i].in->explanation[k];
            if ((!best || x->pattern < best->pattern) && is_believed(w, n, x)) best = x;
        }
    return best;
}

static void agree(Wrong *w, long n) {
    bool any = false;
    for (long i = 0; i < n; i++) any |= w[i].given;
    for (long i = 0; i < n && !any; i++) w[i].given = true;
    for (const Explanation *x; (x = best_of(w, n));) {
        uint64_t form = x->form;
        for (long i = 0; i < n; i++) {
            const Explanation *here = w[i].settled ? NULL : find_form(w[i].in, form);
            if (here) report_explain_by(w[i].in, here), w[i].settled = true;
        }
    }
    for (long i = 0; i < n; i++)
        if (!w[i].settled) report_explain_by(w[i].in, NULL);
}

/* Returns the wrong gradient of that name, unless something other than a pattern explains it. */
static InputReport *find_wrong(CaseReport *r, const char *name) {
    for (int i = 0; i < r->inputs && !r->by_reference; i++) {
        InputReport *in = &r->in[i];
        if (strcmp(in->name, name) == 0 && in->wrong && (in->explanations || !in->reason[0]))
            return in;
    }
    return NULL;
}

/* ---- Gradients that are 0 in the whole case ---- */

/* A case's gradients are all 0, and nothing promises that. Not of a model's parts: values of a port, and parameters that a
 * batch may not use. */
static bool is_vacuous(const CaseReport *r) {
    long elements = 0, sloped = 0;
    for (int i = 0; i < r->inputs; i++) {
        elements += r->in[i].coordinates, sloped += r->in[i].sloped;
        if (r->in[i].doubt && r->in[i].doubt != DOUBT_FLAT) return false;
    }
    return elements && !sloped && !r->trouble[0] && r->verdict != FAIL && !r->flat && !r->like &&
           !r->by_reference;
}

/* A gradient of 0 that no output shows, as of a function that is constant on a single element. */
static bool is_unseen(const InputReport *in) {
    return in->verdict == INCONCLUSIVE && in->doubt == DOUBT_FLAT && !in->sloped;
}

bool gradcheck_is_open(const CaseReport *r) {
    bool unseen = false;
    for (int i = 0; i < r->inputs; i++) unseen |= is_unseen(&r->in[i]);
    return unseen || is_vacuous(r);
}

/* Whether a case that the checker has not added proves a gradient of that name, which is not 0. */
static bool is_decided(const CaseReport *r, long count, const char *name) {
    for (const CaseReport *one = r; one < r + count; one++)
        for (int i = 0; i < one->inputs && !one->added; i++)
            if (one->in[i].verdict == PASS && one->in[i].sloped &&
                strcmp(one->in[i].name, name) == 0)
                return true;
    return false;
}

/* A case whose gradients are all 0 cannot tell a right backward from an empty one: it is left to another case, or
 * inconclusive. */
static void judge_vacuous(const CaseReport *r, long count, CaseReport *one) {
    for (int i = 0; i < one->inputs; i++) one->untested |= is_decided(r, count, one->in[i].name);
    one->verdict = one->untested || one->added ? PASS : INCONCLUSIVE;
    for (InputReport *in = one->in; in < one->in + one->inputs; in++) {
        in->verdict = one->verdict;
        in->unclear = one->verdict == PASS ? 0 : in->coordinates;
        if (one->verdict == INCONCLUSIVE && !in->reason[0])
            REPORT_SET(
                in->reason,
                "every gradient of the case is 0. If that is meant, set .flat = true in the case");
    }
}

/* So is a gradient of 0 that no output shows. */
static void judge_unseen(const CaseReport *r, long count, CaseReport *one) {
    if (one->verdict != INCONCLUSIVE || one->trouble[0]) return;
    one->verdict = PASS;
    for (InputReport *in = one->in; in < one->in + one->inputs; in++) {
        if (is_unseen(in) && is_decided(r, count, in->name))
            in->verdict = PASS, in->unclear = 0, in->reason[0] = 0;
        if (in->verdict > one->verdict) one->verdict = in->verdict;
    }
}

/* The number of bytes of a reason before the source of a constant factor, ". 4 is the size of axis 0 of x". */
static size_t without_source(const char *reason) {
    const char *end = strstr(reason, ". ");
    return end ? (size_t)(end - reason) : strlen(reason);
}

/* Removes the source of a constant factor where the factor is the same in a case of other sizes. */
static void drop_sources(const Wrong *w, long n) {
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++) {
            const char *a = w[i].in->reason, *b = w[k].in->reason;
            size_t length = without_source(a);
            if (w[i].in->pattern != PATTERN_CONSTANT_FACTOR || strcmp(a, b) == 0) continue;
            if (length == without_source(b) && strncmp(a, b, length) == 0)
                w[i].in->reason[length] = 0;
        }
}

void gradcheck_agree(CaseReport *r, long count) {
    for (CaseReport *one = r; one < r + count; one++)
        (is_vacuous(one) ? judge_vacuous : judge_unseen)(r, count, one);
    Wrong *wrong = calloc((size_t)count + 1, sizeof *wrong);
    if (!wrong) error_no_memory("reports");
    for (long c = 0; c < count; c++)
        for (int k = 0; k < r[c].inputs; k++) {
            const char *name = r[c].in[k].name;
            bool first = find_wrong(&r[c], name);
            for (long before = 0; before < c && first; before++)
                first = !find_wrong(&r[before], name);
            long n = 0;
            for (long i = c; i < count && first; i++) {
                InputReport *in = find_wrong(&r[i], name);
                if (in) wrong[n++] = (Wrong){in, !r[i].added, false};
            }
            if (n) agree(wrong, n), drop_sources(wrong, n);
        }
    free(wrong);
    for (long c = 0; c < count; c++)
        if (r[c].judged) gradcheck_conclude(&r[c]);
}
