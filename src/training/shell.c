#include "training/shell.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether no character of the word has a meaning for a shell. */
static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    return *word && strspn(word, plain) == strlen(word);
}

char *shell_command(int argc, char *const *argv, Error *e) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < argc; i++) {
        const char *quote = is_plain(argv[i]) ? "" : "'";
        fprintf(out, "%s%s", i ? " " : "", quote);
        for (const char *c = argv[i]; *c; c++) fputs(*c == '\'' ? "'\\''" : (char[]){*c, 0}, out);
        fputs(quote, out);
    }
    if (out && fclose(out) == 0 && text) return text; /* closing may run out of memory */
    free(text);
    error_set(e, STATUS_NO_MEMORY, "memory: a command of %d words", argc);
    return NULL;
}
