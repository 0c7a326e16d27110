/* Helpers for tests of planted mistakes: replaced text, and names of diagnoses. */
#pragma once

#include "check/gradcheck/report.h"
#include "test.h"
#include <ctype.h>
#include <limits.h>

/* The end of `pattern` at the beginning of a text, or NULL. All runs of white space are equal. */
static inline const char *match(const char *text, const char *pattern) {
    while (*pattern) {
        if (!isspace((unsigned char)*pattern)) {
            if (*pattern++ != *text++) return NULL;
            continue;
        }
        if (!isspace((unsigned char)*text)) return NULL;
        while (isspace((unsigned char)*pattern)) pattern++;
        while (isspace((unsigned char)*text)) text++;
    }
    return text;
}

/* Whether one of "a|b|c" is the word, which is not empty. */
static bool among(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; at && length && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == '|') && (at[length] == 0 || at[length] == '|')) return true;
    return false;
}

/* The word that says most of a failed case: its first broken property, or the pattern of a wrong
 * gradient. Some patterns break properties too, and some broken properties look like patterns: the
 * more specific one counts. */
static const char *diagnosis_of(const CaseReport *r) {
    Pattern pattern = PATTERN_UNKNOWN;
    for (int vague = 1; vague >= 0; vague--) /* of several the first that is not */
        for (int i = r->inputs - 1; i >= 0; i--) {
            Pattern found = r->in[i].pattern;
            bool is_vague = found == PATTERN_ONLY_SOMEWHERE || found == PATTERN_WRONG_SLOPE;
            if (r->in[i].verdict == FAIL && found > PATTERN_UNKNOWN && is_vague == vague)
                pattern = found;
        }
    Property property = report_broken(r);
    bool tells_little = property == PROPERTY_ANY_LAYOUT || property == PROPERTY_INSIDE_A_GRAPH ||
                        property == PROPERTY_PASSED_TWICE;
    bool tells_all = pattern == PATTERN_FORWARD_NOT_FINITE || pattern == PATTERN_NOT_A_NUMBER ||
                     pattern == PATTERN_NO_GRADIENT || pattern == PATTERN_UPSTREAM_IGNORED;
    if (property == PROPERTIES || tells_all || (tells_little && pattern != PATTERN_UNKNOWN))
        return report_pattern[pattern];
    return report_property[property].name;
}

/* Whether each of "a|b|c" is the name of a pattern, of a property, or what ends a process. */
static bool are_names(const char *words) {
    for (const char *at = words; at && *at; at += strcspn(at, "|"), at += *at == '|') {
        char word[REPORT_WORD];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
        bool known = strcmp(word, "crash") == 0;
        for (int i = 0; i < PATTERNS; i++) known |= strcmp(report_pattern[i], word) == 0;
        for (int i = 0; i < PROPERTIES; i++) known |= strcmp(report_property[i].name, word) == 0;
        if (!known) return false;
    }
    return true;
}

/* Each library runs once: optimization and warnings would cost more than they save. */
static inline void compile_quickly(void) {
    char words[PATH_MAX];
    const char *cc = getenv("CC");
    snprintf(words, sizeof words, "%s -O0 -w", cc ? cc : "cc");
    setenv("CC", words, 1);
}
