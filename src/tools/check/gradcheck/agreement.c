#include "check/gradcheck/comparison.h"
#include "check/gradcheck/gradcheck.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A wrong gradient in one case. */
typedef struct Wrong {
    const CaseReport *report;
    InputReport *in;
    bool given;   /* a case of the file, not added by the checker; or all failing cases are added */
    bool settled; /* it is explained */
} Wrong;

static const Explanation *find_form(const InputReport *in, uint64_t form) {
    for (int i = 0; i < in->explanations; i++)
        if (in->explanation[i].form == form) return &in->explanation[i];
    return NULL;
}

/* Whether an explanation is believed: it fits half of the given cases. One that only says which
 * elements are wrong must fit all cases that are not explained and have more than one element. */
static bool is_believed(const Wrong *w, long n, const Explanation *x) {
    long given = 0, fits = 0, against = 0;
    for (long i = 0; i < n; i++) {
        if (!w[i].given) continue;
        bool here = find_form(w[i].in, x->form);
        given++;
        fits += here;
        against += !w[i].settled && !here && w[i].in->coordinates > 1;
    }
    return fits && 2 * fits >= given && (x->sure || !against);
}

static const Explanation *best_of(const Wrong *w, long n) {
    const Explanation *best = NULL;
    for (long i = 0; i < n; i++)
        for (int k = 0; k < w[i].in->explanations; k++) {
            const Explanation *x = &w[i].in->explanation[k];
            if (w[i].settled) break;
            if ((!best || x->pattern < best->pattern) && is_believed(w, n, x)) best = x;
        }
    return best;
}

static void agree(Wrong *w, long n) {
    bool any = false;
    for (long i = 0; i < n; i++) any |= w[i].given;
    if (!any)
        for (long i = 0; i < n; i++) w[i].given = true;
    const Explanation *best = best_of(w, n);
    while (best) {
        uint64_t form = best->form;
        for (long i = 0; i < n; i++) {
            const Explanation *here = w[i].settled ? NULL : find_form(w[i].in, form);
            if (!here) continue;
            report_explain_by(w[i].in, here);
            w[i].settled = true;
        }
        best = best_of(w, n);
    }
    for (long i = 0; i < n; i++)
        if (!w[i].settled) report_explain_by(w[i].in, NULL);
}

/* Returns the wrong gradient of that name, unless something other than a pattern explains it. */
static InputReport *find_wrong(CaseReport *r, const char *name) {
    if (r->by_reference) return NULL;
    for (int i = 0; i < r->inputs; i++) {
        InputReport *in = &r->in[i];
        if (strcmp(in->name, name) == 0 && in->wrong && (in->explanations || !in->reason[0]))
            return in;
    }
    return NULL;
}

/* ---- Gradients that are 0 in the whole case ---- */

/* A case's gradients are all 0, and nothing promises that. Not of a model's parts: values of a
 * port, and parameters that a batch may not use. */
static bool is_vacuous(const CaseReport *r) {
    long elements = 0, sloped = 0;
    for (int i = 0; i < r->inputs; i++) {
        elements += r->in[i].coordinates;
        sloped += r->in[i].sloped;
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
        for (int i = 0; i < one->inputs; i++) {
            const InputReport *in = &one->in[i];
            bool proves = !one->added && in->verdict == PASS && in->sloped;
            if (proves && strcmp(in->name, name) == 0) return true;
        }
    return false;
}

/* A case whose gradients are all 0 cannot tell a right backward from an empty one: it is left to
 * another case, or inconclusive. */
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
        if (is_unseen(in) && is_decided(r, count, in->name)) {
            in->verdict = PASS;
            in->unclear = 0;
            in->reason[0] = 0;
        }
        if (in->verdict > one->verdict) one->verdict = in->verdict;
    }
}

/* ---- Where a factor comes from ---- */

/* A factor that is a multiple of a function of a size n. */
static const char *const size_text[] = {"n",        "1/n",       "√n",        "1/√n",
                                        "n - 1",    "1/(n - 1)", "(n - 1)/n", "n/(n - 1)",
                                        "√(n - 1)", "1/√(n - 1)"};
enum { FUNCTIONS = sizeof size_text / sizeof *size_text };
static double of_size(int which, double n) {
    const double of[FUNCTIONS] = {n,           1 / n,          sqrt(n),     1 / sqrt(n),
                                  n - 1,       1 / (n - 1),    (n - 1) / n, n / (n - 1),
                                  sqrt(n - 1), 1 / sqrt(n - 1)};
    return of[which];
}

static bool is_same(double a, double b) {
    return fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b));
}

/* A size: of an axis of a shape, or (axis = rank) the number of its elements. 0: there is none. */
static long size_at(const CaseReport *r, int which, int axis) {
    Shape s = r->shape[which].shape;
    if (!r->shape[which].name[0] || axis > s.rank) return 0;
    if (axis < s.rank) return s.size[s.rank - 1 - axis];
    return s.rank > 1 ? shape_count(s) : 0;
}

/* Whether all factors are the same multiple of a function of one size. Where sizes do not differ,
 * n, 1/n and roots that are not whole are evidence alone. */
static bool follows_size(const Wrong *w, long n, int which, int axis, int function,
                         double *multiple) {
    long first = size_at(w[0].report, which, axis);
    bool differ = false;
    *multiple = w[0].in->factor / of_size(function, (double)first);
    for (long i = 0; i < n; i++) {
        long size = size_at(w[i].report, which, axis);
        if (size < 2) return false;
        double predicted = *multiple * of_size(function, (double)size);
        if (!is_same(w[i].in->factor, predicted)) return false;
        differ |= size != first;
    }
    double k = fabs(w[0].in->factor), whole = k < 1 ? 1 / k : k;
    bool plain = function < 4 && is_same(fabs(*multiple), 1) && whole > 1.5;
    return differ || (plain && (function < 2 ? first > 2 : !is_same(whole, round(whole))));
}

/* Sets the reasons of a gradient that is a multiple of the right one in all n cases to words of the
 * size from which the factors follow. */
static bool say_size(Wrong *w, long n) {
    double multiple;
    for (int function = 0; function < FUNCTIONS; function++)
        for (int which = 0; which < REPORT_INPUTS; which++)
            for (int axis = 0; axis <= MAX_RANK; axis++) {
                if (!follows_size(w, n, which, axis, function, &multiple)) continue;
                const NamedShape *s = &w[0].report->shape[which];
                char what[REPORT_NAME], times[REPORT_WORD] = "";
                if (axis < s->shape.rank)
                    snprintf(what, sizeof what, "the size of axis %d of %s",
                             s->shape.rank - 1 - axis, s->name);
                else
                    snprintf(what, sizeof what, "the number of elements of %s", s->name);
                if (!is_same(multiple, 1)) snprintf(times, sizeof times, "%.6g times ", multiple);
                for (long i = 0; i < n; i++)
                    snprintf(w[i].in->reason, REPORT_TEXT,
                             "every element is multiplied by %.6g: it is %s%s, where n = %ld is %s",
                             w[i].in->factor, times, size_text[function],
                             size_at(w[i].report, which, axis), what);
                return true;
            }
    return false;
}

static bool are_sizes_other(const CaseReport *a, const CaseReport *b) {
    bool other = false;
    for (int i = 0; i < REPORT_INPUTS; i++)
        other |= !shape_equal(a->shape[i].shape, b->shape[i].shape);
    return other;
}

/* Says of the factors of one gradient in all its cases whether they are constant, or follow from a
 * size. A factor that is seen at one size is not called constant. */
static void explain_factors(Wrong *w, long n) {
    bool same = true, sizes_differ = false;
    long count = 0;
    for (long i = 0; i < n; i++) {
        if (w[i].in->pattern != PATTERN_CONSTANT_FACTOR || is_same(w[i].in->factor, -1)) continue;
        same &= count == 0 || is_same(w[i].in->factor, w[0].in->factor);
        sizes_differ |= count && are_sizes_other(w[i].report, w[0].report);
        w[count++] = w[i];
    }
    if (!count || say_size(w, count)) return;
    for (long i = 0; i < count; i++) {
        char number[REPORT_WORD];
        compare_number_text(number, w[i].in->factor);
        snprintf(w[i].in->reason, REPORT_TEXT, "every element is multiplied by %s%s%s",
                 same && sizes_differ ? "the constant factor " : "", number,
                 same ? "" : ", a factor that differs between sizes");
    }
}

/* Explains the wrong gradients of that name, of which report `first` is the first. */
static void agree_on(CaseReport *r, long count, long first, const char *name) {
    Wrong *wrong = calloc((size_t)count, sizeof *wrong);
    if (!wrong) error_no_memory("reports");
    long n = 0;
    for (long i = 0; i < count; i++) {
        InputReport *in = find_wrong(&r[i], name);
        if (in) wrong[n++] = (Wrong){&r[i], in, !r[i].added, false};
    }
    if (n && wrong[0].report == &r[first]) {
        agree(wrong, n);
        explain_factors(wrong, n);
    }
    free(wrong);
}

void gradcheck_agree(CaseReport *r, long count) {
    for (CaseReport *one = r; one < r + count; one++)
        (is_vacuous(one) ? judge_vacuous : judge_unseen)(r, count, one);
    for (long c = 0; c < count; c++)
        for (int k = 0; k < r[c].inputs; k++) agree_on(r, count, c, r[c].in[k].name);
    for (long c = 0; c < count; c++)
        if (r[c].judged) gradcheck_conclude(&r[c]);
}
