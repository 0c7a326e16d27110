/* The points of a results.json, summed over its tests. */
#ifndef TESTS_POINTS_H
#define TESTS_POINTS_H

#include "folder.h"

typedef struct Score {
    int tests, passed_without; /* passed_without: tests that are worth points and passed with none */
    double points, of;
} Score;

static inline Score score_of(const char *path) {
    Score s = {0};
    size_t size;
    char *text = read_bytes(path, &size);
    for (const char *at = text; at && (at = strstr(at, "\"score\": ")); at++, s.tests++) {
        double points, of;
        if (sscanf(at, "\"score\": %lf, \"max_score\": %lf", &points, &of) != 2) continue;
        s.points += points, s.of += of;
        s.passed_without += points == 0 && of > 0 && !strncmp(strstr(at, "\"status\": ") + 11, "passed", 6);
    }
    free(text);
    return s;
}

#endif
