/* A program for ./gradcheck --program build/float/tests/examples/squares: y = x², as
 * src/tools/check/PROTOCOL.md says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double x[1 << 20], y[1 << 20],
    value[1 << 20]; /* the judge asks for no more numbers at once */
static long long place[3 << 20];

static long read_array(void *to, char shape[64]) {
    unsigned char start[10];
    char header[256] = "";
    long count = 1;
    if (fread(start, 10, 1, stdin) < 1 || fread(header, start[8], 1, stdin) < 1) exit(0);
    sprintf(shape, "%.*s", (int)strcspn(strchr(header, '(') + 1, ")"), strchr(header, '(') + 1);
    for (char *at = shape; *at; at += strspn(at, ", ")) count *= strtol(at, &at, 10);
    return (long)fread(to, 8, (size_t)count, stdin);
}

int main(void) {
    long runs = 0, changes = 0, count = 0;
    char line[4096], shape[64], header[160], unused[64];
    puts("{\"cases\": [{\"function\": \"squares\", \"inputs\": [{\"name\": \"x\", \"shape\": [3, "
         "5]}]}]}");
    for (fflush(stdout); fgets(line, sizeof line, stdin); fflush(stdout)) {
        if (*line == 'c') puts("ok 0");
        if (sscanf(line, "forward %ld %ld", &runs, &changes) == 2) {
            count = read_array(x, shape);
            for (long i = count; i < runs * count; i++) x[i] = x[i - count];
            if (changes) {
                read_array(place, unused);
                read_array(value, unused);
            }
            for (long i = 0; i < changes; i++)
                x[place[3 * i] * count + place[3 * i + 2]] = value[i];
            for (long i = 0; i < runs * count; i++) y[i] = x[i] * x[i];
        } else if (*line == 'b' && read_array(y, unused)) {
            for (long i = 0; i < runs * count; i++) y[i] *= 2 * x[i];
        }
        if (*line == 'c') continue;
        sprintf(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (%ld, %s), }", runs,
                shape);
        printf("ok 1\n\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0, header);
        fwrite(y, 8, (size_t)(runs * count), stdout);
    }
}
