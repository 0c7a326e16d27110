/* Timing and printing of figures. */
#include "base/clock.h"
#include "bench/bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(void (*run)(void *context), void *context, long times) {
    double start = clock_seconds();
    for (long i = 0; i < times; i++) run(context);
    return (clock_seconds() - start) / (double)times;
}

Timing bench_time(void (*run)(void *context), void *context, double seconds, int least) {
    enum { WARM_UP = 5, MAX_SAMPLES = 100000 };
    const double resolution = 20e-6; /* some hundred times the clock's */
    static double sample[MAX_SAMPLES];
    time_of(run, context, WARM_UP);
    double once = time_of(run, context, 1);
    long together = once < resolution ? (long)(resolution / once) + 1 : 1, count = 0;
    double end = clock_seconds() + seconds;
    while (count < MAX_SAMPLES && (count < least || clock_seconds() < end))
        sample[count++] = time_of(run, context, together);
    qsort(sample, (size_t)count, sizeof *sample, ascending);
    return (Timing){sample[0], sample[count / 2], count * together};
}

static void print_json(const Figure *f, int count) {
    const char *before = "{";
    for (int i = 0; i < count; i++) {
        if (isnan(f[i].value)) continue;
        printf("%s\"%s\": ", before, f[i].name);
        before = ", ";
        if (f[i].text)
            printf("\"%s\"", f[i].text);
        else
            printf("%.*f", f[i].digits, f[i].value);
    }
    printf("}\n");
}

/* A column is as wide as its name, and at least 10 characters. */
static void print_row(const Figure *f, int count) {
    static const char *last;
    if (last != f[1].name)
        for (int i = 0; i < count; i++)
            printf("%*s%s", f[i].text ? -20 : 10, f[i].name, i + 1 < count ? " " : "\n");
    last = f[1].name;
    for (int i = 0; i < count; i++) {
        int width = (int)strlen(f[i].name);
        if (width < 10) width = 10;
        if (f[i].text)
            printf("%-20s", f[i].text);
        else if (isnan(f[i].value))
            printf("%*s", width, "-");
        else
            printf("%*.*f", width, f[i].digits, f[i].value);
        printf(i + 1 < count ? " " : "\n");
    }
}

void bench_print(const BenchOptions *o, const Figure *figure, int count) {
    if (o->json)
        print_json(figure, count);
    else
        print_row(figure, count);
    fflush(stdout);
}
