/* A program for ./gradcheck --program build/float/tests/examples/product: y = a b of each element, as src/check/PROTOCOL.md says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Numbers {
    long count;
    char shape[64]; /* "3, 5," */
    double *x;
} Numbers;

static Numbers read_array(void) {
    unsigned char start[10];
    char header[256] = "";
    Numbers a = {.count = 1};
    if (fread(start, 1, 10, stdin) < 10 || fread(header, 1, start[8], stdin) < start[8]) exit(0);
    sscanf(strchr(header, '(') + 1, "%63[0-9, ]", a.shape);
    for (char *at = a.shape; *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
        if (strpbrk(at, "0123456789")) a.count *= strtol(at, NULL, 10);
    a.x = malloc(8 * (size_t)a.count + 8);
    if (fread(a.x, 8, (size_t)a.count, stdin) < (size_t)a.count) exit(0);
    return a;
}

static void send_array(long runs, const char *shape, const double *x, long count) {
    char header[119] = "";
    sprintf(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (%ld, %s), }", runs, shape);
    printf("\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0, header);
    fwrite(x, 8, (size_t)count, stdout);
}

int main(void) {
    Numbers in[2] = {0}, all[2] = {0};
    long runs = 0, changes;
    char line[4096];
    puts("{\"cases\": [{\"function\": \"product\", \"inputs\": "
         "[{\"name\": \"a\", \"shape\": [3, 5]}, {\"name\": \"b\", \"shape\": [3, 5]}]}]}");
    for (fflush(stdout); fgets(line, sizeof line, stdin); fflush(stdout)) {
        if (*line == 'c') {
            puts("ok 0");
        } else if (sscanf(line, "forward %ld %ld", &runs, &changes) == 2) {
            for (int k = 0; k < 2; k++) {
                in[k] = read_array(), all[k].count = runs * in[k].count;
                all[k].x = malloc(8 * (size_t)all[k].count + 8);
                for (long i = 0; i < all[k].count; i++) all[k].x[i] = in[k].x[i % in[k].count];
            }
            const long long *place = changes ? (long long *)(void *)read_array().x : NULL;
            const double *value = changes ? read_array().x : NULL;
            for (long i = 0; i < changes; i++)
                all[place[3 * i + 1]].x[place[3 * i] * in[0].count + place[3 * i + 2]] = value[i];
            double *y = malloc(8 * (size_t)all[0].count + 8);
            for (long i = 0; i < all[0].count; i++) y[i] = all[0].x[i] * all[1].x[i];
            puts("ok 1");
            send_array(runs, in[0].shape, y, all[0].count);
        } else {
            const double *dy = read_array().x;
            double *da = malloc(8 * (size_t)all[0].count + 8), *db = malloc(8 * (size_t)all[0].count + 8);
            for (long i = 0; i < all[0].count; i++) da[i] = dy[i] * all[1].x[i], db[i] = dy[i] * all[0].x[i];
            puts("ok 2");
            send_array(runs, in[0].shape, da, all[0].count);
            send_array(runs, in[0].shape, db, all[0].count);
        }
    }
    return 0;
}
