#include "base/group_limit.h"
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line of a file in a group's directory; empty if there is none. */
static const char *line_of(const char *folder, const char *name, char text[64]) {
    char path[3 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    text[0] = 0;
    if (!f) return text;
    if (!fgets(text, 64, f)) text[0] = 0;
    fclose(f);
    text[strcspn(text, "\n")] = 0;
    return text;
}

/* The number in a text; INFINITY if it is no limit, as "max" or -1. */
static double limit_of(const char *text) {
    char *end;
    double limit = strtod(text, &end);
    return limit > 0 && !*end ? limit : (double)INFINITY;
}

/* A controller: its name, and its limit in a directory of version 1 or 2. */
typedef struct Controller {
    const char *name;
    double (*allows)(const char *folder, bool second);
} Controller;

static double memory_in(const char *folder, bool second) {
    char text[64];
    return limit_of(line_of(folder, second ? "memory.max" : "memory.limit_in_bytes", text));
}

/* Processor time per period, in microseconds: "TIME PERIOD", or in two files. */
static double processors_in(const char *folder, bool second) {
    char text[64], other[64];
    const char *period = other;
    line_of(folder, second ? "cpu.max" : "cpu.cfs_quota_us", text);
    char *blank = strchr(text, ' ');
    if (blank) *blank++ = 0;
    if (second)
        period = blank ? blank : "";
    else
        line_of(folder, "cpu.cfs_period_us", other);
    double share = limit_of(text) / limit_of(period);
    return share > 0 ? share : (double)INFINITY;
}

/* True if `word` is in a list with commas. */
static bool listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (!at[length] || at[length] == ',')) return true;
    return false;
}

static double least_of(const Controller *c, const char *groups, const char *root) {
    char line[PATH_MAX], folder[2 * PATH_MAX];
    double least = (double)INFINITY;
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *controllers++ = *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool second = !*controllers; /* version 2 has one tree for all controllers */
        if (!second && !listed(controllers, c->name)) continue;
        int top = snprintf(folder, sizeof folder, "%s%s%s", root, second ? "" : "/", second ? "" : c->name);
        snprintf(folder + top, sizeof folder - (size_t)top, "%s", path);
        for (char *slash = folder; slash; slash = strrchr(folder + top, '/')) {
            if (slash != folder) *slash = 0;
            least = fmin(least, c->allows(folder, second));
        }
    }
    if (f) fclose(f);
    return least;
}

double memory_of_groups(const char *groups, const char *root) {
    return least_of(&(Controller){"memory", memory_in}, groups, root);
}

double processors_of_groups(const char *groups, const char *root) {
    return least_of(&(Controller){"cpu", processors_in}, groups, root);
}
