#include "check/gradcheck/agreement.h"
#include "check/gradcheck/contrast.h"
#include "check/gradcheck/diagnosis.h"
#include "check/gradcheck/gradcheck.h"
#include <stdlib.h>
#include <string.h>

/* A gradient in one of the cases in which it is wrong. */
typedef struct Wrong {
    InputReport *in;
    bool given;   /* the case is one that somebody wrote, or all that fail were added */
    bool settled; /* it is explained */
} Wrong;

static const Explanation *find_form(const InputReport *in, uint64_t form) {
    for (int i = 0; i < in->explanations; i++)
        if (in->explanation[i].form == form) return &in->explanation[i];
    return NULL;
}

/* In how many cases that are not settled an explanation fits. */
typedef struct Support {
    long given, all;
    long settled;    /* given ones that are, and that it would have fitted as well */
    bool everywhere; /* in each given one that is large enough to show it */
} Support;

static Support support_of(const Wrong *w, long n, const Explanation *x) {
    enum { LARGE = 5 };
    Support s = {.everywhere = true};
    for (long i = 0; i < n; i++) {
        bool fits = find_form(w[i].in, x->form);
        s.settled += w[i].settled && w[i].given && fits;
        if (w[i].settled) continue;
        s.all += fits, s.given += fits && w[i].given;
        s.everywhere &= fits || !w[i].given || w[i].in->wrong == 1 || w[i].in->coordinates < LARGE;
    }
    return s;
}

/* What accounts for every number is believed where it does so in half of the given cases, those that are settled among them;
 * what was only seen, if it is seen in all that are open and large enough, and in half of these. */
static bool is_believed(const Wrong *w, long n, const Explanation *x, Support s) {
    long open = 0, given = 0;
    for (long i = 0; i < n; i++) given += w[i].given, open += w[i].given && !w[i].settled;
    bool half = x->sure ? 2 * (s.given + s.settled) >= given : 2 * s.given >= open;
    return s.given > 0 && half && (x->sure || s.everywhere);
}

/* Of those that are believed the first in the order of patterns; of several of one pattern, as sizes that a factor may come from,
 * the one that fits most cases. right: in another case the gradient is right, for all its sizes. NULL: there is none. */
static const Explanation *best_of(const Wrong *w, long n, bool right) {
    const Explanation *best = NULL;
    long most = 0;
    for (long i = 0; i < n; i++)
        for (int k = 0; k < w[i].in->explanations && !w[i].settled; k++) {
            const Explanation *x = &w[i].in->explanation[k];
            Support s = support_of(w, n, x);
            if (x->weak || (right && x->of_sizes) || (best && x->order > best->order) ||
                !is_believed(w, n, x, s))
                continue;
            if (best && x->order == best->order && s.given * n + s.all <= most) continue;
            best = x, most = s.given * n + s.all;
        }
    return best;
}

static void settle(Wrong *w, long n, const Explanation *x) {
    uint64_t form = x->form;
    for (long i = 0; i < n; i++) {
        const Explanation *here = w[i].settled ? NULL : find_form(w[i].in, form);
        if (!here) continue;
        gradcheck_explain_by(w[i].in, here);
        w[i].settled = true;
    }
}

static void agree(Wrong *w, long n, bool right) {
    const Explanation *x;
    bool any = false;
    for (long i = 0; i < n; i++) any |= w[i].given;
    for (long i = 0; i < n && !any; i++) w[i].given = true;
    while ((x = best_of(w, n, right))) settle(w, n, x);
    for (long i = 0; i < n; i++)
        if (!w[i].settled) gradcheck_explain_by(w[i].in, NULL);
}

/* A wrong gradient, or none. What is explained by something else than a pattern stays as it is. */
static InputReport *find_wrong(CaseReport *r, const char *name) {
    for (int i = 0; i < r->inputs && !r->by_reference; i++) {
        InputReport *in = &r->in[i];
        if (strcmp(in->name, name) == 0 && in->wrong && (in->explanations || !in->reason[0])) return in;
    }
    return NULL;
}

static bool is_right_in_any(const CaseReport *r, long count, const char *name) {
    for (long c = 0; c < count; c++)
        if (!r[c].added && gradcheck_finding(&r[c], name) == FOUND_RIGHT) return true;
    return false;
}

void gradcheck_agree(CaseReport *r, long count) {
    Wrong *wrong = calloc((size_t)count + 1, sizeof *wrong);
    if (!wrong) error_no_memory("reports");
    for (long c = 0; c < count; c++)
        for (int k = 0; k < r[c].inputs; k++) {
            const char *name = r[c].in[k].name;
            bool first = find_wrong(&r[c], name);
            for (long before = 0; before < c && first; before++) first = !find_wrong(&r[before], name);
            long n = 0;
            for (long i = c; i < count && first; i++) {
                InputReport *in = find_wrong(&r[i], name);
                if (in) wrong[n++] = (Wrong){in, !r[i].added, false};
            }
            if (n) agree(wrong, n, is_right_in_any(r, count, name));
        }
    free(wrong);
    for (long c = 0; c < count; c++)
        if (r[c].judged) gradcheck_conclude(&r[c]);
}
