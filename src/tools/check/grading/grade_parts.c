#include "base/append.h"
#include "base/arena.h"
#include "check/grading/gradcheck_show.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Parts {
    Part *part;
    long count, capacity;
    FILE *text;  /* of the last part, while it is printed */
    size_t size; /* of that text */
    /* The operation at hand is wrong, or nothing is proved of it: vacuous cases have no points. */
    bool unearned;
} Parts;

/* Adds a part. What is printed to all->text until text_close is its text. */
static Part *add(Parts *all, const CaseReport *r, double points, Verdict verdict) {
    all->part = array_grown(all->part, all->count, &all->capacity, sizeof *all->part);
    Part *p = &all->part[all->count++];
    *p = (Part){.op = r->op, .points = points, .verdict = verdict};
    all->text = text_open(&p->text, &all->size);
    return p;
}

/* The number of equal shares of a planned case: gradients, its output if compared, and the
 * properties. */
static int shares(const CaseReport *r) {
    return r->wanted + r->like + 1;
}

static const InputReport *input_called(const CaseReport *r, const char *name) {
    for (int i = 0; i < r->inputs; i++)
        if (strcmp(r->in[i].name, name) == 0) return &r->in[i];
    return NULL;
}

/* ---- Vacuous cases: no gradient has an element that is not 0, so that a backward that does
 * nothing is right ---- */

static bool is_vacuous(const CaseReport *r) {
    for (int i = 0; i < r->inputs; i++)
        if (r->in[i].sloped) return false;
    return r->planned;
}

/* Whether a gradient or output of these cases is wrong, or none that is not vacuous is proved. */
static bool is_unproved(const CaseReport *r, long count) {
    bool any = false, all = true;
    for (long i = 0; i < count; i++)
        for (int k = 0; k < (r[i].planned ? r[i].wanted : 0); k++) {
            const InputReport *in = input_called(&r[i], r[i].want[k]);
            Verdict found = in ? in->verdict : r[i].verdict;
            if (found == FAIL || r[i].broken[PROPERTY_FORWARD][0]) return true;
            any |= found == PASS && !is_vacuous(&r[i]);
            all &= found == PASS;
        }
    return !any && !all;
}

/* Scores a part of a case. The points of a vacuous case have to be earned elsewhere. */
static void score(const Parts *all, Part *p, const CaseReport *r) {
    if (p->verdict == PASS && all->unearned && is_vacuous(r)) {
        p->verdict = INCONCLUSIVE;
        fprintf(
            all->text,
            "Nothing is proved where no gradient has a slope. This counts if the other cases are "
            "right.\n");
    }
    p->score = p->verdict == PASS ? p->points : 0;
}

/* ---- Of a case ---- */

/* Adds one gradient, or (name "") the whole case. `in` is NULL if it was not judged or does not
 * exist. */
static void add_gradient(Parts *all, const CaseReport *r, const char *name, const InputReport *in,
                         double points) {
    Part *p = add(all, r, points, in ? in->verdict : r->verdict);
    CaseReport alone = *r;
    snprintf(p->name, sizeof p->name, "%s%s%s", r->name, *name ? ": " : "", name);
    score(all, p, r);
    alone.verdict = p->verdict;
    alone.inputs = in != NULL;
    if (in) alone.in[0] = *in;
    if (in) alone.trouble[0] = 0;
    if (in || p->verdict != PASS || r->trouble[0]) gradcheck_explain(all->text, &alone);
    if (p->verdict == PASS && in)
        fprintf(all->text, "PASS, worst relative error %.1e\n", in->error);
    if (p->verdict == PASS && !in) fprintf(all->text, "PASS\n");
    text_close(all->text, &p->text);
}

static void add_output(Parts *all, const CaseReport *r, double points) {
    const char *why = r->broken[PROPERTY_FORWARD];
    Verdict found = r->properties > PROPERTY_FORWARD ? PASS : r->verdict;
    Part *p = add(all, r, points, why[0] ? FAIL : found);
    if (!why[0] && p->verdict != PASS) why = r->trouble;
    snprintf(p->name, sizeof p->name, "%s: y", r->name);
    score(all, p, r);
    fprintf(all->text, "%s%s%s\n", gradcheck_verdict_text(p->verdict), why[0] ? ": " : "", why);
    text_close(all->text, &p->text);
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

/* Whether a property has points: it is checked, and not told by the student's process. */
static bool has_points(const CaseReport *r, int property) {
    bool checked = !r->functions || report_property[property].of_functions;
    return checked && property != PROPERTY_READ_ONLY;
}

static int properties_with_points(const CaseReport *r) {
    int count = 0;
    for (int k = PROPERTY_FORWARD + 1; k < PROPERTIES; k++) count += has_points(r, k);
    return count;
}

static void add_property(Parts *all, const CaseReport *r, long count, Property which) {
    enum { SHOWN = 3 };
    Part *p = add(all, r, 0, PASS);
    int failing = 0;
    snprintf(p->name, sizeof p->name, "property %s", report_property[which].name);
    fprintf(all->text, "%s\n", report_property[which].meaning);
    for (const CaseReport *end = r + count; r < end; r++) {
        if (!r->planned) continue;
        double right = right_part(all, r), points = 0;
        if (has_points(r, (int)which)) points = r->points / shares(r) / properties_with_points(r);
        Verdict verdict = verdict_on(r, which);
        bool checked = (int)which < r->properties;
        p->points += points;
        if (verdict == PASS) p->score += points * right;
        if (verdict > p->verdict) p->verdict = verdict;
        if ((verdict == PASS && right == 1) || failing++ >= SHOWN) continue;
        if (verdict == PASS)
            fprintf(all->text,
                    "%s: holds, and counts as far as its gradients are right: %.3g of its points\n",
                    r->name, right);
        else
            fprintf(all->text, "%s %s: %s%s\n", gradcheck_verdict_text(verdict), r->name,
                    checked ? "" : "not checked: ", checked ? r->broken[which] : r->trouble);
    }
    if (failing > SHOWN) fprintf(all->text, "and in %d other cases\n", failing - SHOWN);
    if (p->verdict == PASS && p->points > 0 && p->score == 0) p->verdict = INCONCLUSIVE;
    text_close(all->text, &p->text);
}

/* Rounds the points of all parts so that their sums are exact: each is a multiple of a power of
 * two, and the last has what is left of the whole. */
static void round_points(Part *part, long parts) {
    enum { FRACTIONS = 1024 };
    double whole = 0, given = 0;
    for (long i = 0; i < parts; i++) {
        Part *p = &part[i];
        double kept = p->points > 0 ? p->score / p->points : 0;
        whole += p->points;
        double up_to_here = fabs(whole - round(whole)) < 1e-9 ? round(whole) : whole;
        if (i + 1 < parts) up_to_here = round(up_to_here * FRACTIONS) / FRACTIONS;
        p->points = up_to_here - given;
        given = up_to_here;
        bool all = kept > 1 - 1e-9;
        p->score = all ? p->points : floor(kept * p->points * FRACTIONS) / FRACTIONS;
    }
}

Part *grade_parts(const CaseReport *r, long count, long *parts) {
    Parts all = {0};
    for (long first = 0, end; first < count; first = end) {
        bool planned = r[first].planned;
        for (end = first + 1; end < count && strcmp(r[end].op, r[first].op) == 0; end++)
            planned |= r[end].planned;
        all.unearned = is_unproved(r + first, end - first);
        for (long i = first; i < end; i++) add_case(&all, &r[i]);
        for (int k = PROPERTY_FORWARD + 1; k < PROPERTIES; k++)
            if (planned && (!r[first].functions || report_property[k].of_functions))
                add_property(&all, r + first, end - first, (Property)k);
    }
    round_points(all.part, all.count);
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
    for (long i = 0; i < parts; i++) {
        points += part[i].score;
        *of += part[i].points;
    }
    grade_parts_free(part, parts);
    return points;
}
