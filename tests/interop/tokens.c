/* tokens RUN: for each line of hexadecimal digits on stdin, the ids of the text that they stand for,
 * for tests/interop/hf.py. */
#include "decoding/saved_run.h"
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 4096 };

static void encode(const SavedRun *run, const char *digits) {
    char text[MAX_TEXT];
    int32_t ids[MAX_TEXT];
    size_t n = 0;
    unsigned byte;
    for (; n < MAX_TEXT && sscanf(digits + 2 * n, "%2x", &byte) == 1; n++) text[n] = (char)byte;
    Error e = {0};
    long count;
    if (!tokenizer_encode(run->tokenizer, "text", text, n, ids, &count, &e)) {
        puts(e.text);
        return;
    }
    for (long i = 0; i < count; i++) printf("%d ", (int)ids[i]);
    putchar('\n');
}

int main(int argc, char **argv) {
    SavedRun run;
    Error e = {0};
    char line[2 * MAX_TEXT + 2];
    if (argc != 2 || !saved_run_open(&run, argv[1], false, &e)) {
        fprintf(stderr, "tokens: %s\n", e.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) encode(&run, line);
    saved_run_close(&run);
    return 0;
}
