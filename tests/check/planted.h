/* Helpers for tests of planted mistakes: replaced text, names of diagnoses, and a table of gradcheck beside other rules. */
#ifndef TESTS_PLANTED_H
#define TESTS_PLANTED_H

#include "other_rules.h"
#include "test.h"
#include <ctype.h>

/* The end of `pattern` at the beginning of a text, or NULL. All runs of white space are equal. */
static const char *match(const char *text, const char *pattern) {
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

static void print_heading(const char *name, const char *count) {
    printf("  %-27s %7s %10s", name, count, "gradcheck");
    for (int r = 0; r < RULES; r++) printf(" %5s", rules[r].name);
    printf("\n");
}

static void print_row(const char *name, int count, const int numbers[1 + RULES]) {
    printf("  %-27s %7d %10d", name, count, numbers[0]);
    for (int r = 0; r < RULES; r++) printf(" %5d", numbers[1 + r]);
    printf("\n");
}

#endif
