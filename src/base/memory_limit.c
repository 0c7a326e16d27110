#include "base/memory_limit.h"
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number in the file of that name in a group's folder; INFINITY where there is none, as in "max". */
static double limit_in(const char *folder, const char *name) {
    char path[3 * PATH_MAX], text[64] = "", *end;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f) return (double)INFINITY;
    bool read = fgets(text, sizeof text, f);
    fclose(f);
    double bytes = read ? strtod(text, &end) : 0;
    return bytes > 0 && (*end == '\n' || !*end) ? bytes : (double)INFINITY;
}

/* True if `word` is one of a list with commas. */
static bool listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (!at[length] || at[length] == ',')) return true;
    return false;
}

double memory_of_groups(const char *groups, const char *root) {
    char line[PATH_MAX], folder[2 * PATH_MAX];
    double least = (double)INFINITY;
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *controllers++ = *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool second = !*controllers; /* version 2 has one tree for all controllers */
        if (!second && !listed(controllers, "memory")) continue;
        int top = snprintf(folder, sizeof folder, "%s%s", root, second ? "" : "/memory");
        snprintf(folder + top, sizeof folder - (size_t)top, "%s", path);
        for (char *slash = folder; slash; slash = strrchr(folder + top, '/')) {
            if (slash != folder) *slash = 0;
            least = fmin(least, limit_in(folder, second ? "memory.max" : "memory.limit_in_bytes"));
        }
    }
    if (f) fclose(f);
    return least;
}
