#include "base/append.h"
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

/* Whether an explanation is believed: it fits half of the given cases, and each that is as wrong as
 * one that it fits, could test it and has no sure explanation; a condition on values also fits the
 * cases that the checker added. */
static bool is_believed(const Wrong *w, long n, const Explanation *x) {
    long given = 0, fits = 0, smallest = 0;
    for (long i = 0; i < n; i++) {
        long wrong = w[i].in->wrong;
        given += w[i].given;
        if (!w[i].given || !find_form(w[i].in, x->form)) continue;
        if (fits++ == 0 || wrong < smallest) smallest = wrong;
    }
    for (long i = 0; i < n; i++) {
        const InputReport *in = w[i].in;
        bool condition =
            x->pattern == PATTERN_ONLY_WHERE && in->coordinates - in->wrong >= smallest;
        bool tested = (w[i].given || condition) && in->wrong >= smallest && in->known >= x->needs;
        bool other = w[i].settled || (in->explanations && in->explanation[0].sure);
        if (tested && !other && !find_form(in, x->form)) return false;
    }
    return fits && 2 * fits >= given;
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
                "every gradient of the case is 0. If that is meant, say so in the case: flat=True "
                "in Python, .flat = true in C");
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

static bool is_same(double a, double b) {
    return fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b));
}

/* The sizes of a case, by number: of an axis of a shape, from the last on, or of all its elements;
 * less 1 or not. 0: there is none. */
enum { AXES = MAX_RANK + 1, SIZES = REPORT_INPUTS * AXES * 2 };
static long size_at(const CaseReport *r, int k) {
    const NamedShape *of = &r->shape[k / 2 / AXES];
    int axis = k / 2 % AXES, rank = of->shape.rank;
    if (!of->name[0] || axis > rank || (axis == rank && rank < 2)) return 0;
    long size = axis < rank ? of->shape.size[rank - 1 - axis] : shape_count(of->shape);
    return size < 2 ? 0 : size - k % 2;
}

static void add_size(char text[REPORT_TEXT], const CaseReport *r, const char *letter, int k) {
    const NamedShape *of = &r->shape[k / 2 / AXES];
    int axis = of->shape.rank - 1 - k / 2 % AXES;
    text_append(text, REPORT_TEXT, "%s = %ld is %s", letter, size_at(r, k),
                k % 2 ? "one less than " : "");
    if (axis >= 0)
        text_append(text, REPORT_TEXT, "the size of axis %d of %s", axis, of->name);
    else
        text_append(text, REPORT_TEXT, "the number of elements of %s", of->name);
}

/* Functions of a size n, or of two. A whole factor is evidence of n and 1/n at one size, a root that
 * is not whole of √n and 1/√n; others show between sizes. */
static const struct SizeFunction {
    const char *text;
    double power, power_of_m;
} functions[] = {{"n", 1, 0}, {"1/n", -1, 0}, {"√n", 0.5, 0}, {"1/√n", -0.5, 0}, {"n/m", 1, -1}};
enum { QUOTIENT = 4 };

/* Whether all factors are the same multiple of a function of sizes; a quotient has no multiple. At
 * one size this may be by chance: *differ is false. */
static bool follows_size(const Wrong *w, long n, int function, int a, int b, double *multiple,
                         bool *differ) {
    double k = fabs(w[0].in->factor), whole = k < 1 ? 1 / k : k, at_first = 0;
    *differ = false;
    for (long i = 0; i < n; i++) {
        long size = size_at(w[i].report, a), other = size_at(w[i].report, b);
        if (!size || !other) return false;
        double f = pow((double)size, functions[function].power) *
                   pow((double)other, functions[function].power_of_m);
        if (i == 0) *multiple = function == QUOTIENT ? 1 : w[0].in->factor / f;
        if (i == 0) at_first = f;
        if (!is_same(w[i].in->factor, *multiple * f)) return false;
        *differ |= !is_same(f, at_first);
    }
    bool plain = function < QUOTIENT && a % 2 == 0 && is_same(fabs(*multiple), 1) && whole > 1.5;
    bool root = functions[function].power != round(functions[function].power);
    return *differ || (plain && (root ? !is_same(whole, round(whole)) : whole > 2.5));
}

/* Sets the reasons of a gradient that is a multiple of the right one in all n cases to words of the
 * sizes from which the factors follow. */
static bool say_size(Wrong *w, long n) {
    double multiple;
    bool sure;
    for (int k = 0; k < QUOTIENT * SIZES + SIZES * SIZES; k++) {
        bool one = k < QUOTIENT * SIZES;
        int function = one ? k / SIZES : QUOTIENT;
        int a = k % SIZES, b = one ? a : k / SIZES - QUOTIENT;
        if (!follows_size(w, n, function, a, b, &multiple, &sure)) continue;
        for (long i = 0; i < n; i++) {
            char *text = w[i].in->reason, times[REPORT_WORD] = "";
            if (!is_same(multiple, 1)) snprintf(times, sizeof times, "%.6g times ", multiple);
            snprintf(text, REPORT_TEXT, "every element is multiplied by %.6g: %s %s%s, where ",
                     w[i].in->factor, sure ? "it is" : "is it", times, functions[function].text);
            add_size(text, w[i].report, "n", a);
            if (!one) add_size(text, w[i].report, " and m", b);
            if (!sure) text_append(text, REPORT_TEXT, "?");
        }
        return true;
    }
    return false;
}

/* Says of the factors of one gradient in all its cases whether they are constant, or follow from
 * sizes. A factor that is seen at one size is not called constant. */
static void explain_factors(Wrong *w, long n) {
    enum { CONSTANT, OF_SIZES, OF_VALUES } kind = CONSTANT;
    static const char *const words[] = {
        "", ", a factor that differs between sizes",
        ", a factor that differs between cases of one size: it depends on the values"};
    bool sizes_differ = false;
    long count = 0;
    for (long i = 0; i < n; i++) {
        bool other_sizes = false;
        if (w[i].in->pattern != PATTERN_CONSTANT_FACTOR || is_same(w[i].in->factor, -1)) continue;
        w[count++] = w[i];
        const CaseReport *one = w[count - 1].report, *first = w[0].report;
        for (int k = 0; k < REPORT_INPUTS; k++)
            other_sizes |= !shape_equal(one->shape[k].shape, first->shape[k].shape);
        sizes_differ |= other_sizes;
        if (kind == OF_VALUES || is_same(w[count - 1].in->factor, w[0].in->factor)) continue;
        kind = other_sizes ? OF_SIZES : OF_VALUES;
    }
    if (!count || say_size(w, count)) return;
    for (long i = 0; i < count; i++) {
        char number[REPORT_WORD];
        compare_number_text(number, w[i].in->factor);
        snprintf(w[i].in->reason, REPORT_TEXT, "every element is multiplied by %s%s%s",
                 kind == CONSTANT && sizes_differ ? "the constant factor " : "", number,
                 words[kind]);
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
