#include "base/group_limit.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The limit in a file: "LIMIT", or "TIME PERIOD"; INFINITY if there is none, as in "max". */
static double limit_in(const char *path) {
    double limit = 0, period = 1;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lf %lf", &limit, &period) < 1) limit = 0;
    if (f) fclose(f);
    return limit > 0 && period > 0 ? limit / period : (double)INFINITY;
}

static double least_of(const char *name, const char *groups, const char *root) {
    char line[PATH_MAX], path[3 * PATH_MAX];
    double least = (double)INFINITY;
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::/", 4) != 0) continue;
        line[strcspn(line, "\n")] = 0;
        for (char *end = line + strlen(line); end; end = strrchr(line + 3, '/')) {
            *end = 0;
            snprintf(path, sizeof path, "%s%s/%s", root, line + 3, name);
            least = fmin(least, limit_in(path));
        }
    }
    if (f) fclose(f);
    return least;
}

double memory_of_groups(const char *groups, const char *root) {
    return least_of("memory.max", groups, root);
}

double processors_of_groups(const char *groups, const char *root) {
    return least_of("cpu.max", groups, root);
}
