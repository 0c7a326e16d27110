/* Readers of the files that the run of a folder leaves: lines of JSON and results.json. */
#pragma once

#include "child.h"

/* Whether a printed line contains these strings. */
static inline bool has_line(const char *one, const char *two, const char *three) {
    for (const char *line = out; *line; line += strcspn(line, "\n") + 1) {
        char *copy = strndup(line, strcspn(line, "\n"));
        bool has = strstr(copy, one) && strstr(copy, two) && strstr(copy, three);
        free(copy);
        if (has) return true;
    }
    return false;
}

/* The points of a results.json, summed over its tests. */

typedef struct Score {
    int tests,
        passed_without; /* passed_without: tests that are worth points and passed with none */
    double points, of;
} Score;

/* Counts the tests whose line contains `part`. */
static inline Score score_of_part(const char *path, const char *part) {
    Score s = {0};
    size_t size;
    char *text = read_bytes(path, &size), *rest = text;
    for (char *line; rest && (line = strtok_r(rest, "\n", &rest));) {
        double points, of;
        const char *at = strstr(line, "\"score\": ");
        if (!at || !strstr(line, part)) continue;
        s.tests++;
        if (sscanf(at, "\"score\": %lf, \"max_score\": %lf", &points, &of) != 2) continue;
        s.points += points, s.of += of;
        s.passed_without += points == 0 && of > 0 && strstr(at, "\"status\": \"passed");
    }
    free(text);
    return s;
}

static inline Score score_of(const char *path) {
    return score_of_part(path, "");
}
