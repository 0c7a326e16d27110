#include "base/program.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char installed_prefix[] = "tapeformer-";
static bool installed;

/* A file opened while standard input, output or error is closed would get its number, and output
 * for the user would end up in that file. So a closed one is replaced by a file that can be neither
 * read nor written. */
static void occupy_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) /* The lowest free number is fd. */
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Main keeps some arrays on the stack: up to 128 KB are in use, and a stack overflow has no
 * message. */
static bool stack_suffices(Error *e) {
    enum { NEEDED = 256 << 10 };
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= NEEDED ||
           error_set(e, STATUS_NO_MEMORY,
                     "stack: found a limit of %ju KB, need %d KB, see ulimit -s",
                     (uintmax_t)limit.rlim_cur >> 10, NEEDED >> 10);
}

bool program_start(const char *argv0, Error *e) {
    const char *slash = strrchr(argv0, '/');
    installed = strncmp(slash ? slash + 1 : argv0, installed_prefix, strlen(installed_prefix)) == 0;
    occupy_standard_files();
    return stack_suffices(e);
}

const char *program_prefix(void) {
    return installed ? installed_prefix : "";
}

const char *program_command(const char *program, char out[PROGRAM_COMMAND]) {
    snprintf(out, PROGRAM_COMMAND, "%s%s", installed ? installed_prefix : "./", program);
    return out;
}

void program_print(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool named =
            installed && !strncmp(text + i, "./", 2) && text[i + 2] >= 'a' && text[i + 2] <= 'z';
        if (named) {
            fputs(installed_prefix, stdout);
            i++;
        } else
            putchar(text[i]);
    }
}

/* Whether no character of the word has a meaning for a shell. */
static bool is_plain(const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    return *word && strspn(word, plain) == strlen(word);
}

static void print_words(FILE *out, int argc, char *const *argv) {
    for (int i = 0; i < argc; i++) {
        const char *quote = is_plain(argv[i]) ? "" : "'";
        fprintf(out, "%s%s", i ? " " : "", quote);
        for (const char *c = argv[i]; *c; c++) fputs(*c == '\'' ? "'\\''" : (char[]){*c, 0}, out);
        fputs(quote, out);
    }
}

char *shell_command(int argc, char *const *argv, Error *e) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out) print_words(out, argc, argv);
    if (out && fclose(out) == 0 && text) return text; /* closing may run out of memory */
    free(text);
    error_set(e, STATUS_NO_MEMORY, "memory: a command of %d words", argc);
    return NULL;
}
