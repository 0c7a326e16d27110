#include "base/file.h"
#include "check/grading/compile.h"
#include <dlfcn.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The linker redirects malloc, calloc and realloc of a student's code to these, which report that
 * memory ran out instead of returning NULL. */
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

static void *checked(void *p, size_t bytes) {
    if (p || !bytes) return p;
    fprintf(stderr, "\nran out of memory: asked for %zu bytes more than its limit allows\n", bytes);
    _exit(STATUS_NO_MEMORY);
}

void *__wrap_malloc(size_t bytes) {
    return checked(malloc(bytes), bytes);
}

void *__wrap_calloc(size_t count, size_t size) {
    return checked(calloc(count, size), count * size);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return checked(realloc(old, bytes), bytes);
}

/* Replaces comments and the contents of strings by blanks. */
static void blank_comments(char *text) {
    for (char *p = text; *p; p++) {
        char quote = *p;
        if (quote == '"' || quote == '\'') {
            for (p++; *p && *p != quote && *p != '\n'; p++) {
                if (*p == '\\' && p[1]) *p++ = ' ';
                *p = ' ';
            }
            if (!*p) return;
        } else if (p[0] == '/' && p[1] == '*') {
            char *end = strstr(p + 2, "*/");
            size_t length = end ? (size_t)(end + 2 - p) : strlen(p);
            memset(p, ' ', length);
            p += length - 1;
        } else if (p[0] == '/' && p[1] == '/') {
            size_t length = strcspn(p, "\n");
            memset(p, ' ', length);
            p += length - 1;
        }
    }
}

int student_names(const char *source, char (*names)[STUDENT_NAME], int max, Error *e) {
    static const char form[] = "(^|[^A-Za-z0-9_])Op[[:space:]]+op_([A-Za-z0-9_]+)[[:space:]]*=";
    char *text;
    size_t size;
    int count = 0;
    regex_t regex;
    regmatch_t found[3];
    if (!file_read(source, 1 << 24, &text, &size, e)) return 0;
    if (regcomp(&regex, form, REG_EXTENDED) != 0) error_no_memory("a regular expression");
    blank_comments(text);
    for (const char *at = text; count < max; at += found[0].rm_eo) {
        if (regexec(&regex, at, 3, found, 0) != 0) break;
        int length = (int)(found[2].rm_eo - found[2].rm_so);
        if (length < STUDENT_NAME)
            snprintf(names[count++], STUDENT_NAME, "%.*s", length, at + found[2].rm_so);
    }
    regfree(&regex);
    for (volatile char *p = text; size--;)
        *p++ = 0; /* it may be a solution, and children inherit this memory */
    free(text);
    if (!count) error_set(e, STATUS_NO, "defines no operation: found no `const Op op_NAME = {…}`");
    return count;
}

/* Sets the error of dlopen. The usual reason is a call of an operation that is not available. */
static bool cannot_be_loaded(Error *e) {
    const char *why = dlerror(), *colon = strstr(why, ": "),
               *symbol = strstr(why, "undefined symbol: tape_");
    if (!symbol) return error_set(e, STATUS_NO, "cannot be loaded: %s", colon ? colon + 2 : why);
    symbol = strchr(symbol, ':') + 2;
    return error_set(e, STATUS_NO,
                     "calls %.*s: a student's file cannot call the operations of this project",
                     (int)strcspn(symbol, " ,:"), symbol);
}

bool student_load_solution(const char *library, const char *name, Error *e) {
    char symbol[STUDENT_NAME + 8];
    snprintf(symbol, sizeof symbol, "tape_%.*s", STUDENT_NAME, name);
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL),
         *function = handle ? dlsym(handle, symbol) : NULL;
    if (!handle) return cannot_be_loaded(e);
    if (!function)
        return error_set(e, STATUS_NO,
                         "defines no %s that can be seen from outside, and the cases call it",
                         symbol);
    return true;
}

const Op *student_load(const char *library, const char *name, bool lazily, Error *e) {
    char symbol[STUDENT_NAME + 3];
    snprintf(symbol, sizeof symbol, "op_%s", name);
    void *handle = dlopen(library, (lazily ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
    if (!handle) {
        cannot_be_loaded(e);
        return NULL;
    }
    const Op *op = dlsym(handle, symbol);
    if (!op)
        error_set(e, STATUS_NO, "defines no %s that can be seen from outside: is it static?",
                  symbol);
    return op;
}
