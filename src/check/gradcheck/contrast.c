#include "check/gradcheck/contrast.h"
#include <stdio.h>
#include <string.h>

GradientFinding gradcheck_finding(const CaseReport *r, const char *name) {
    for (int i = 0; i < r->inputs; i++) {
        const InputReport *in = &r->in[i];
        if (strcmp(in->name, name) != 0) continue;
        if (in->verdict == FAIL && in->wrong) return FOUND_WRONG;
        if (in->verdict == PASS && in->sloped > in->flat) return FOUND_RIGHT;
    }
    return FOUND_NOTHING;
}

/* 'a', 'b' and 2 others: the names of the cases that are found so. */
static void list(char *text, size_t size, const CaseReport *r, long count, const CaseReport *at,
                 const char *name, GradientFinding found, long cases) {
    enum { NAMED = 3 };
    long named = 0;
    text[0] = 0;
    for (const CaseReport *c = r; c < r + count && named < NAMED; c++) {
        if (c->added || strcmp(c->op, at->op) != 0 || gradcheck_finding(c, name) != found) continue;
        size_t used = strlen(text);
        const char *comma = named == 0 ? "" : named == cases - 1 ? " and " : ", ";
        snprintf(text + used, size - used, "%s'%.20s'", comma, c->name);
        named++;
    }
    size_t used = strlen(text);
    if (cases > NAMED) snprintf(text + used, size - used, " and %ld more", cases - NAMED);
}

/* An added case in which an axis has size 1 instead of more. */
static const char *size_one(const CaseReport *c) {
    const char *how = strstr(c->name, ", size 1 for ");
    return c->added && how ? how + strlen(", size 1 for ") : NULL;
}

bool gradcheck_contrast(const CaseReport *r, long count, const CaseReport *at, const InputReport *in,
                        char text[REPORT_TEXT]) {
    const char *name = in->name;
    enum { LIST = 92 };
    long right = 0, wrong = 0;
    const char *one = NULL;
    char good[LIST], bad[LIST];
    if (!in->wrong || at->by_reference) return false;
    for (const CaseReport *c = r; c < r + count; c++) {
        if (strcmp(c->op, at->op) != 0) continue;
        GradientFinding found = gradcheck_finding(c, name);
        right += !c->added && found == FOUND_RIGHT;
        wrong += !c->added && found == FOUND_WRONG;
        if (found == FOUND_RIGHT && !one) one = size_one(c);
    }
    if (right && wrong) {
        list(good, sizeof good, r, count, at, name, FOUND_RIGHT, right);
        list(bad, sizeof bad, r, count, at, name, FOUND_WRONG, wrong);
        snprintf(text, REPORT_TEXT, "right in %s, wrong in %s: does backward follow what %s?", good, bad,
                 wrong == 1 ? "is different there" : "these have in common");
        return true;
    }
    if (in->reason[0]) one = NULL;
    if (wrong && one) snprintf(text, REPORT_TEXT, "right where what has size %s here has size 1", one);
    return wrong && one;
}

static bool is_wrong_in_any(const CaseReport *r, long count, const CaseReport *at, const char *name) {
    for (long i = 0; i < count; i++)
        if (strcmp(r[i].op, at->op) == 0 && gradcheck_finding(&r[i], name) == FOUND_WRONG) return true;
    return false;
}

void gradcheck_right_beside(const CaseReport *r, long count, const CaseReport *at, char text[REPORT_TEXT]) {
    const char *name[REPORT_INPUTS];
    int names = 0;
    text[0] = 0;
    for (int i = 0; i < at->inputs && !at->by_reference; i++)
        if (gradcheck_finding(at, at->in[i].name) == FOUND_RIGHT &&
            !is_wrong_in_any(r, count, at, at->in[i].name))
            name[names++] = at->in[i].name;
    for (int i = 0; i < names; i++) {
        size_t used = strlen(text);
        snprintf(text + used, REPORT_TEXT - used, "%s%.16s",
                 i == 0           ? "; "
                 : i + 1 == names ? " and "
                                  : ", ",
                 name[i]);
    }
    size_t used = strlen(text);
    if (names)
        snprintf(text + used, REPORT_TEXT - used, " %s right, and so is what backward computes for %s",
                 names > 1 ? "are" : "is", names > 1 ? "them" : "it");
}
