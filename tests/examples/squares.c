/* A program for ./gradcheck --program build/float/tests/examples/squares: y = x², as src/check/PROTOCOL.md says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *read_array(long *count, char shape[64]) {
    unsigned char start[10];
    char header[256] = "";
    if (fread(start, 10, 1, stdin) < 1 || fread(header, start[8], 1, stdin) < 1) exit(0);
    sprintf(shape, "%.63s", strchr(header, '(') + 1);
    shape[strcspn(shape, ")")] = 0;
    *count = 1;
    for (char *at = shape; *at; at += strspn(at, ", ")) *count *= strtol(at, &at, 10);
    double *x = malloc(8 * (size_t)*count + 8);
    if (fread(x, 8, (size_t)*count, stdin) < (size_t)*count) exit(0);
    return x;
}

static void answer(long runs, const char *shape, const double *x, long count) {
    char header[119];
    sprintf(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (%ld, %s), }", runs, shape);
    printf("ok 1\n\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0, header);
    fwrite(x, 8, (size_t)count, stdout);
}

int main(void) {
    long runs = 0, changes, count = 0, unused;
    char line[4096], shape[64], unused_shape[64];
    double *x = NULL, *result = NULL;
    puts("{\"cases\": [{\"function\": \"squares\", \"inputs\": [{\"name\": \"x\", \"shape\": [3, 5]}]}]}");
    for (fflush(stdout); fgets(line, sizeof line, stdin); fflush(stdout)) {
        if (*line == 'c') puts("ok 0");
        if (sscanf(line, "forward %ld %ld", &runs, &changes) == 2) {
            double *point = read_array(&count, shape);
            x = realloc(x, 8 * (size_t)(runs * count) + 8),
            result = realloc(result, 8 * (size_t)(runs * count) + 8);
            for (long i = 0; i < runs * count; i++) x[i] = point[i % count];
            const long long *place = changes ? (void *)read_array(&unused, unused_shape) : NULL;
            const double *value = changes ? read_array(&unused, unused_shape) : NULL;
            for (long i = 0; i < changes; i++) x[place[3 * i] * count + place[3 * i + 2]] = value[i];
            for (long i = 0; i < runs * count; i++) result[i] = x[i] * x[i];
            answer(runs, shape, result, runs * count);
        }
        if (*line == 'b') {
            const double *dy = read_array(&unused, unused_shape);
            for (long i = 0; i < runs * count; i++) result[i] = 2 * x[i] * dy[i];
            answer(runs, shape, result, runs * count);
        }
    }
    return 0;
}
