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

/* Scores a part of a case. False: the points of a vacuous case have to be earned elsewhere, and are
 * not. */
static bool score(const Parts *all, Part *p, const CaseReport *r) {
    bool unearned = all->unearned && r->inputs && is_vacuous(r) && p->verdict != FAIL;
    if (unearned) {
        p->verdict = INCONCLUSIVE;
        fprintf(all->text, "Nothing is proved where every gradient is 0. This counts if the other "
                           "cases are right.\n");
    }
    p->score = p->verdict == PASS ? p->points : 0;
    return !unearned;
}

/* ---- Of a case ---- */

/* Adds one gradient, or (name "") the whole case. `in` is NULL if it was not judged or does not
 * exist. */
static void add_gradient(Parts *all, const CaseReport *r, const char *name, const InputReport *in,
                         double points) {
    Part *p = add(all, r, points, in ? in->verdict : r->verdict);
    CaseReport alone = *r;
    snprintf(p->name, sizeof p->name, "%s%s%s", r->name, *name ? ": " : "", name);
    bool earned = score(all, p, r);
    alone.verdict = p->verdict;
    alone.inputs = in != NULL;
    if (in) alone.in[0] = *in;
    if (in) alone.trouble[0] = 0;
    if (earned && (in || p->verdict != PASS || r->trouble[0])) gradcheck_explain(all->text, &alone);
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

/* The fraction of its gradients that pass. Its properties score this fraction of their points,
 * because a backward that does nothing has all properties. */
static double right_part(const CaseReport *r) {
    int right = 0;
    for (int i = 0; i < r->wanted; i++) {
        const InputReport *in = input_called(r, r->want[i]);
        right += in && in->verdict == PASS;
    }
    return r->wanted ? (double)right / r->wanted : 1;
}

/* Whether a property is broken or was not checked, and is to have points: the student's process
 * tells that it is read-only. */
static bool costs_points(const CaseReport *r, int k) {
    if (k >= r->properties) return r->verdict != PASS;
    return r->broken[k][0] && k != PROPERTY_READ_ONLY;
}

/* Adds the properties of a case: one that is broken costs the points of all. */
static void add_properties(Parts *all, const CaseReport *r, double points) {
    enum { FIRST = PROPERTY_FORWARD + 1 };
    Part *p = add(all, r, points, PASS);
    double right = right_part(r);
    char held[PROPERTIES * REPORT_WORD] = "";
    snprintf(p->name, sizeof p->name, "%s: properties", r->name);
    for (int k = FIRST; k < PROPERTIES; k++) {
        const struct PropertyWords *words = &report_property[k];
        bool checked = k < r->properties, costs = costs_points(r, k);
        if (r->functions && !words->of_functions) continue;
        if (costs) p->verdict = checked ? FAIL : r->verdict;
        if (!checked && costs) {
            fprintf(all->text, "%s: the properties %s%s%sare not checked: %s\n",
                    gradcheck_verdict_text(r->verdict), k > FIRST ? "from '" : "",
                    k > FIRST ? words->name : "", k > FIRST ? "' on " : "", r->trouble);
            break;
        }
        if (checked && r->broken[k][0])
            fprintf(all->text, "FAIL%s: the property '%s' (%s) does not hold: %s\n",
                    costs ? "" : ", without points", words->name, words->meaning, r->broken[k]);
        else if (checked)
            text_append(held, sizeof held, "%s%s", *held ? ", " : "", words->name);
    }
    if (*held) fprintf(all->text, "These hold: %s\n", held);
    bool hold = p->verdict == PASS;
    score(all, p, r);
    p->score *= right;
    if (hold && p->verdict == PASS && right < 1)
        fprintf(all->text, "They count as far as the gradients are right: %.3g\n", right);
    if (hold && right == 0) p->verdict = INCONCLUSIVE;
    text_close(all->text, &p->text);
}

static void add_case(Parts *all, const CaseReport *r) {
    double share = r->points / (r->like + r->wanted + 1);
    if (!r->planned) {
        for (int i = 0; i < r->inputs; i++) add_gradient(all, r, r->in[i].name, &r->in[i], 1);
        if (r->trouble[0] || !r->inputs) add_gradient(all, r, "", NULL, 1);
        return;
    }
    if (r->like) add_output(all, r, share);
    for (int i = 0; i < r->wanted; i++)
        add_gradient(all, r, r->want[i], input_called(r, r->want[i]), share);
    add_properties(all, r, share);
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
        end = first + 1;
        while (end < count && strcmp(r[end].op, r[first].op) == 0) end++;
        all.unearned = is_unproved(r + first, end - first);
        for (long i = first; i < end; i++) add_case(&all, &r[i]);
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
