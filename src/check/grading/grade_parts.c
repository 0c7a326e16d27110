#include "check/grading/grade_parts.h"
#include "base/arena.h"
#include "check/gradcheck/check_properties.h"
#include "check/gradcheck/gradcheck_text.h"
#include <stdlib.h>
#include <string.h>

typedef struct Parts {
    const CaseReport *report; /* all of them */
    long reports;
    Part *part;
    long count, capacity;
    size_t text; /* bytes of the one that is being printed */
} Parts;

/* A new part. The text printed to *text becomes its text when that is closed. */
static Part *add(Parts *all, const CaseReport *r, FILE **text) {
    all->part = array_grown(all->part, all->count, &all->capacity, sizeof *all->part);
    Part *p = &all->part[all->count++];
    *p = (Part){.op = r->op};
    *text = open_memstream(&p->text, &all->text);
    if (!*text) error_no_memory("a part of a report");
    return p;
}

static void finish(const Part *p, FILE *text) {
    /* fclose may run out of memory without an error. */
    if (fclose(text) != 0 || !p->text) error_no_memory("a part of a report");
}

static void score(Part *p) {
    p->score = p->verdict == PASS ? p->points : 0;
}

/* The number of equal shares of a planned case: gradients, its output if compared, and the properties. */
static int shares(const CaseReport *r) {
    return r->wanted + r->like + 1;
}

/* ---- Of a case ---- */

static const InputReport *input_called(const CaseReport *r, const char *name) {
    for (int i = 0; i < r->inputs; i++)
        if (strcmp(r->in[i].name, name) == 0) return &r->in[i];
    return NULL;
}

/* The explanation of one gradient, or of the whole case. */
static void explain(const Parts *all, FILE *text, const CaseReport *r, const InputReport *in,
                    Verdict verdict) {
    CaseReport part = *r;
    part.verdict = verdict;
    part.inputs = in != NULL;
    if (in) part.in[0] = *in, part.trouble[0] = 0;
    if (in || verdict != PASS || r->trouble[0]) gradcheck_explain(text, &part, all->report, all->reports);
    if (verdict == PASS && in) fprintf(text, "PASS, worst relative error %.1e\n", in->error);
    if (verdict == PASS && !in) fprintf(text, "PASS\n");
}

/* `in` is NULL if the gradient was not judged or does not exist. */
static void add_gradient(Parts *all, const CaseReport *r, const char *name, const InputReport *in,
                         double points) {
    FILE *text;
    Part *p = add(all, r, &text);
    snprintf(p->name, sizeof p->name, "%s%s%s", r->name, *name ? ": " : "", name);
    p->points = points;
    p->verdict = in ? in->verdict : r->verdict;
    score(p);
    explain(all, text, r, in, p->verdict);
    finish(p, text);
}

static void add_output(Parts *all, const CaseReport *r, double points) {
    FILE *text;
    Part *p = add(all, r, &text);
    const char *how = r->broken[PROPERTY_FORWARD];
    snprintf(p->name, sizeof p->name, "%s: y", r->name);
    p->points = points;
    p->verdict = how[0] ? FAIL : r->properties > PROPERTY_FORWARD ? PASS : r->verdict;
    fprintf(text, "%s%s%s\n", gradcheck_verdict_text(p->verdict), p->verdict == PASS ? "" : ": ",
            p->verdict == PASS ? ""
            : how[0]           ? how
                               : r->trouble);
    score(p);
    finish(p, text);
}

static void add_case(Parts *all, const CaseReport *r) {
    if (!r->planned) {
        for (int i = 0; i < r->inputs; i++) add_gradient(all, r, r->in[i].name, &r->in[i], 1);
        if (r->trouble[0] || !r->inputs) add_gradient(all, r, "", NULL, 1);
        return;
    }
    if (r->like) add_output(all, r, r->points / shares(r));
    for (int i = 0; i < r->wanted; i++)
        add_gradient(all, r, r->want[i], input_called(r, r->want[i]), r->points / shares(r));
}

/* ---- Of an operation ---- */

/* The verdict on a property of the case, if known. */
static Verdict verdict_on(const CaseReport *r, Property which) {
    if ((int)which < r->properties) return r->broken[which][0] ? FAIL : PASS;
    return r->verdict;
}

/* The fraction of its gradients that pass. A property scores this fraction of its points, because a
 * backward that does nothing has all properties. */
static double right_part(const CaseReport *r) {
    int right = 0;
    for (int i = 0; i < r->wanted; i++) {
        const InputReport *in = input_called(r, r->want[i]);
        right += in && in->verdict == PASS;
    }
    return r->wanted ? (double)right / r->wanted : 1;
}

static void add_property(Parts *all, const CaseReport *r, long count, Property which) {
    enum { SHOWN = 3 };
    FILE *text;
    Part *p = add(all, r, &text);
    int failing = 0;
    snprintf(p->name, sizeof p->name, "property %s", check_property_name(which));
    fprintf(text, "%s\n", check_property_meaning(which));
    for (long i = 0; i < count; i++) {
        double points = r[i].points / shares(&r[i]) / (PROPERTIES - 1);
        Verdict verdict = r[i].planned ? verdict_on(&r[i], which) : PASS;
        if (!r[i].planned) continue;
        p->points += points;
        double right = right_part(&r[i]);
        if (verdict == PASS) p->score += points * right;
        if (verdict == PASS && right < 1 && failing++ < SHOWN)
            fprintf(text, "%s: holds, and counts as far as its gradients are right: %.3g of its points\n",
                    r[i].name, right);
        if (verdict > p->verdict) p->verdict = verdict;
        if (verdict != PASS && failing++ < SHOWN)
            fprintf(text, "%s %s: %s%s\n", gradcheck_verdict_text(verdict), r[i].name,
                    (int)which < r[i].properties ? "" : "not looked at: ",
                    (int)which < r[i].properties ? r[i].broken[which] : r[i].trouble);
    }
    if (failing > SHOWN) fprintf(text, "and in %d other cases\n", failing - SHOWN);
    if (p->verdict == PASS && p->points > 0 && p->score == 0) p->verdict = INCONCLUSIVE;
    finish(p, text);
}

static void add_properties(Parts *all, const CaseReport *r, long count) {
    bool planned = false;
    for (long i = 0; i < count; i++) planned |= r[i].planned;
    for (int k = PROPERTY_FORWARD + 1; planned && k < PROPERTIES; k++)
        add_property(all, r, count, (Property)k);
}

Part *grade_parts(const CaseReport *r, long count, long *parts) {
    Parts all = {.report = r, .reports = count};
    for (long i = 0, first = 0; i < count; i++) {
        add_case(&all, &r[i]);
        if (i + 1 < count && strcmp(r[i + 1].op, r[first].op) == 0) continue;
        add_properties(&all, r + first, i + 1 - first);
        first = i + 1;
    }
    *parts = all.count;
    return all.part;
}

void grade_parts_free(Part *part, long parts) {
    for (long i = 0; i < parts; i++) free(part[i].text);
    free(part);
}

double grade_points(const CaseReport *r, long count, double *of) {
    long parts;
    double points = 0;
    Part *part = grade_parts(r, count, &parts);
    *of = 0;
    for (long i = 0; i < parts; i++) points += part[i].score, *of += part[i].points;
    grade_parts_free(part, parts);
    return points;
}
