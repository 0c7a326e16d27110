#include "base/arena.h"
#include "check/gradcheck/check_properties.h"
#include "check/grading/gradcheck_show.h"
#include <stdlib.h>
#include <string.h>

typedef struct Parts {
    Part *part;
    long count, capacity;
    size_t text; /* bytes of the one that is being printed */
    bool
        unearned; /* the operation at hand is wrong, or nothing is proved of it: vacuous cases have no points */
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

/* The number of equal shares of a planned case: gradients, its output if compared, and the properties. */
static int shares(const CaseReport *r) {
    return r->wanted + r->like + 1;
}

static const InputReport *input_called(const CaseReport *r, const char *name) {
    for (int i = 0; i < r->inputs; i++)
        if (strcmp(r->in[i].name, name) == 0) return &r->in[i];
    return NULL;
}

/* ---- Vacuous cases: no gradient has an element that is not 0, so that a backward that does nothing is
 * right ---- */

static bool is_vacuous(const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++)
        if (r->in[i].sloped) return false;
    return r->planned;
}

/* Whether a gradient or output of these cases is wrong, or none that is not vacuous is proved. */
static bool is_unproved(const CaseReport *r, long count) {
    bool any = false, all = true;
    for (long i = 0; i < count; i++)
        for (int k = 0; r[i].planned && k < r[i].wanted; k++) {
            const InputReport *in = input_called(&r[i], r[i].want[k]);
            Verdict found = in ? in->verdict : r[i].verdict;
            if (found == FAIL || r[i].broken[PROPERTY_FORWARD][0]) return true;
            any |= found == PASS && !is_vacuous(&r[i]), all &= found == PASS;
        }
    return !any && !all;
}

/* Gives a part its points; those of a vacuous case have to be earned elsewhere. */
static void score(const Parts *all, Part *p, const CaseReport *r, FILE *text) {
    if (p->verdict == PASS && all->unearned && is_vacuous(r)) {
        p->verdict = INCONCLUSIVE;
        fprintf(
            text,
            "Nothing is proved where no gradient has a slope. This counts if the other cases are right.\n");
    }
    p->score = p->verdict == PASS ? p->points : 0;
}

/* ---- Of a case ---- */

/* The explanation of one gradient, or of the whole case. */
static void explain(FILE *text, const CaseReport *r, const InputReport *in, Verdict verdict) {
    CaseReport part = *r;
    part.verdict = verdict;
    part.inputs = in != NULL;
    if (in) part.in[0] = *in, part.trouble[0] = 0;
    if (in || verdict != PASS || r->trouble[0]) gradcheck_explain(text, &part);
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
    score(all, p, r, text);
    explain(text, r, in, p->verdict);
    finish(p, text);
}

static void add_output(Parts *all, const CaseReport *r, double points) {
    FILE *text;
    Part *p = add(all, r, &text);
    const char *why = r->broken[PROPERTY_FORWARD];
    snprintf(p->name, sizeof p->name, "%s: y", r->name);
    p->points = points;
    p->verdict = why[0] ? FAIL : r->properties > PROPERTY_FORWARD ? PASS : r->verdict;
    if (!why[0] && p->verdict != PASS) why = r->trouble;
    score(all, p, r, text);
    fprintf(text, "%s%s%s\n", gradcheck_verdict_text(p->verdict), why[0] ? ": " : "", why);
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
static double right_part(const Parts *all, const CaseReport *r) {
    int right = 0;
    if (all->unearned && is_vacuous(r)) return 0;
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
        double right = right_part(all, &r[i]);
        if (verdict == PASS) p->score += points * right;
        if (verdict == PASS && right < 1 && failing++ < SHOWN)
            fprintf(text, "%s: holds, and counts as far as its gradients are right: %.3g of its points\n",
                    r[i].name, right);
        if (verdict > p->verdict) p->verdict = verdict;
        if (verdict != PASS && failing++ < SHOWN)
            fprintf(text, "%s %s: %s%s\n", gradcheck_verdict_text(verdict), r[i].name,
                    (int)which < r[i].properties ? "" : "not checked: ",
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
    Parts all = {0};
    for (long first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(r[end].op, r[first].op) == 0; end++) continue;
        all.unearned = is_unproved(r + first, end - first);
        for (long i = first; i < end; i++) add_case(&all, &r[i]);
        add_properties(&all, r + first, end - first);
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
