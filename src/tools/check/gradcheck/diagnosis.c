#include "base/append.h"
#include "check/gradcheck/patterns.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Returns a number that is equal for reasons that differ only in indices and numbers; numbers of axes count. */
static uint64_t form_of(const char *text) {
    const uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3; /* FNV-1a, 64 bits */
    uint64_t form = basis;
    for (const char *at = text; *at; at++) {
        bool number = isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]));
        bool of_an_axis = at - text >= 5 && strncmp(at - 5, "axis ", 5) == 0;
        unsigned char c = (unsigned char)*at;
        if (*at == '[' && isdigit((unsigned char)at[1])) {
            at += strcspn(at, "]");
            continue;
        }
        if (number && !of_an_axis) {
            char *end;
            strtod(at, &end);
            at = end - 1, c = 0;
        }
        form = (form ^ c) * prime;
    }
    return form;
}

/* Sets the explanations of input k's report; the first gives its pattern and reason. */
static void diagnose(const Gradients *g, int k, InputReport *report) {
    static const struct {
        Pattern pattern;
        bool (*explains)(Suspect *s);
        PatternNeeds needs;
        bool sure;
    } tried[] = {
#define PATTERN(constant, name)
#define TRIED(constant, name, function, needs, sure)                                               \
    {PATTERN_##constant, pattern_##function, needs, sure},
#include "check/gradcheck/patterns.def"
    };
    char reason[REPORT_TEXT];
    Suspect s = pattern_suspect(g, k);
    bool sure = false;
    const PatternNeeds known = pattern_known(&s);
    report->explanations = 0;
    s.reason = reason;
    if (known > SAMPLE) wrong_map(&s, report->map, sizeof report->map);
    for (size_t i = 0; i < sizeof tried / sizeof *tried && report->explanations < EXPLANATIONS;
         i++) {
        if ((sure && !tried[i].sure) || tried[i].needs > known || !tried[i].explains(&s)) continue;
        Explanation *x = &report->explanation[report->explanations++];
        *x = (Explanation){.pattern = tried[i].pattern, .sure = tried[i].sure};
        x->form = form_of(
            x->sure ? reason : report_pattern[x->pattern]); /* where may differ between cases */
        REPORT_SET(x->reason, reason);
        sure |= x->sure;
    }
    report_explain_by(report, report->explanations ? report->explanation : NULL);
}

/* Why an inconclusive gradient is neither proved nor refuted. */
static void say_doubt(const Gradients *g, int k, InputReport *r) {
    Suspect s = pattern_suspect(g, k);
    s.reason = r->reason;
    if (pattern_forward(&s)) {
        text_append(r->reason, REPORT_TEXT,
                    ". Do the values lie in its domain? A case's low and high give their range");
        return;
    }
    if (r->doubt == DOUBT_NOISE && r->digits)
        snprintf(r->reason, sizeof r->reason,
                 "forward rounds to about %d digits, too few to prove the gradient. Is a number "
                 "kept in float?",
                 r->digits);
    else
        REPORT_SET(r->reason, report_doubt[r->doubt]);
}

void gradcheck_diagnose(const Gradients *g, CaseReport *report) {
    for (int k = 0, i = 0; k < g->run->point->inputs && i < report->inputs; k++) {
        if (!g->element[k].entry) continue;
        InputReport *r = &report->in[i++];
        if (r->verdict == INCONCLUSIVE && !r->reason[0]) say_doubt(g, k, r);
        if (r->verdict != FAIL || !r->wrong) continue;
        counterexample_write(g, k, "", r);
        if (!r->reason[0]) diagnose(g, k, r);
    }
}
