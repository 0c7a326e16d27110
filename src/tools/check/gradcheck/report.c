#include "check/gradcheck/report.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const report_doubt[] = {
    [DOUBT_NONE] = "",
    [DOUBT_FLAT] =
        ("the gradient is too small beside the output to be proved. If the function is meant to be "
         "saturated here, say so in the case: flat=True in Python, .flat = true in C"),
    [DOUBT_KINK] = "a kink is crossed at every usable step",
    [DOUBT_NOISE] = "the numeric derivative does not converge: the output is noisy or not smooth",
};

const struct PropertyWords report_property[PROPERTIES] = {
#define PROPERTY(constant, name, meaning, functions, function) {name, meaning, functions},
#include "check/gradcheck/properties.def"
};

const char *const report_pattern[PATTERNS] = {
#define PATTERN(constant, name) name,
#include "check/gradcheck/patterns.def"
};

void report_set(char *to, size_t size, const char *from) {
    static const char cut[] = "…";
    size_t at = size - sizeof cut;
    if ((size_t)snprintf(to, size, "%s", from) < size) return;
    while (at && utf8_continues(to[at])) at--;
    strcpy(to + at, cut);
}

Property report_broken(const CaseReport *r) {
    int first = 0;
    while (first < PROPERTIES && !r->broken[first][0]) first++;
    return (Property)first;
}

void report_explain_by(InputReport *r, const Explanation *x) {
    r->pattern = x ? x->pattern : PATTERN_UNKNOWN;
    REPORT_SET(r->reason, x ? x->reason : "");
    r->form = x ? x->form : 0;
    r->factor = x ? x->factor : 0;
}

void report_explain_better(InputReport *r, const InputReport *smaller) {
    const Explanation *own = r->explanations ? r->explanation : NULL, *x = smaller->explanation;
    if (!smaller->explanations || !x->sure || (own && own->sure)) return;
    if (x->needs <= r->known) return;
    r->explanations = smaller->explanations;
    memcpy(r->explanation, x, sizeof r->explanation);
    report_explain_by(r, x);
}

const char *gradcheck_verdict_text(Verdict v) {
    return (const char *[]){"PASS", "INCONCLUSIVE", "FAIL"}[v];
}

const char *gradcheck_index_text(char text[INDEX_TEXT], Shape s, long i) {
    long index[MAX_RANK];
    char *p = text;
    for (int axis = s.rank - 1; axis >= 0; axis--) {
        index[axis] = i % s.size[axis];
        i /= s.size[axis];
    }
    for (int axis = 0; axis < s.rank; axis++) p += sprintf(p, axis ? ",%ld" : "[%ld", index[axis]);
    strcpy(p, s.rank ? "]" : "");
    return text;
}

const char *gradcheck_element_text(char text[INDEX_TEXT], const char *name, Shape s, long i) {
    char at[INDEX_TEXT];
    snprintf(text, INDEX_TEXT, "%.40s%.80s", name, gradcheck_index_text(at, s, i));
    return text;
}

const char *report_output_text(char text[INDEX_TEXT], const Shape *part, int parts, long i) {
    char name[REPORT_WORD] = "y";
    int k = 0;
    for (; k + 1 < parts && i >= shape_count(part[k]); k++) i -= shape_count(part[k]);
    if (parts > 1) snprintf(name, sizeof name, "y%d", k);
    return gradcheck_element_text(text, name, part[k], i);
}

int report_digits(double a, double b, int least) {
    enum { MAX = 17 };
    char one[32], other[32];
    int digits = least;
    for (bool same = a != b && !isnan(a) && !isnan(b); same && digits < MAX; digits += same) {
        snprintf(one, sizeof one, "%.*g", digits, a);
        snprintf(other, sizeof other, "%.*g", digits, b);
        same = strcmp(one, other) == 0;
    }
    return digits;
}
