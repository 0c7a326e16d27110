#include "check/grading/student_op.h"
#include "base/file.h"
#include "check/check_system.h"
#include "check/child.h"
#include "check/grading/directories.h"
#include "check/sandbox.h"
#include <ctype.h>
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *student_headers(char path[PATH_ROOM]) {
    system_program(path, PATH_ROOM - 32);
    for (char *slash; (slash = strrchr(path, '/'));) {
        strcpy(slash, "/src/ops/ops.h");
        bool here = access(path, R_OK) == 0;
        strcpy(slash, here ? "/src" : "");
        if (here) return path;
    }
    return strcpy(path, "src");
}

static const ChildLimits compile_limits = {.seconds = 20, .bytes = (size_t)4e9, .file_bytes = 1 << 26};

enum { ARGUMENTS = 48, CANNOT_RUN = 127 };

static const char *const all_flags[] = {
    "-std=c11",
    "-D_DEFAULT_SOURCE", /* GNU's names as well would slow <math.h> down */
    "-O1",
    "-fPIC",
    "-shared",
    "-MD",
    "-Wall",
    "-Wextra",
    "-Wno-missing-field-initializers",
    "-Wno-unused-parameter",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fdiagnostics-color=never",
    sizeof(real) == sizeof(double) ? "-DREAL_DOUBLE" : "-DREAL_FLOAT",
    NULL};
/* Otherwise a misspelt name in a teacher's cases crashes every file. */
static const char *const teachers_flags[] = {"-fno-inline", "-Werror=implicit-function-declaration", NULL};
static const char *const cases_flags[] = {"-Wno-incompatible-pointer-types", NULL};

static int add_flags(const char **argument, int n, const char *const *flags) {
    for (; *flags; flags++) argument[n++] = *flags;
    return n;
}

/* Replaces the process by the compiler. Options in $CC, as in "gcc -O3", take precedence. */
static void run_compiler(void *context, long i) {
    const StudentSource *s = context;
    const char *cc = getenv("CC");
    char *words = strdup(cc && *cc ? cc : "cc"), path[PATH_ROOM], cases[PATH_ROOM];
    const char **argument = calloc(ARGUMENTS + strlen(words), sizeof *argument), *word = strtok(words, " \t");
    int n = 0;
    (void)i;
    if (s->hidden) sandbox_hide(s->hidden);
    snprintf(path, sizeof path, "%s", s->library);
    setenv("TMPDIR", dirname(path), 1); /* for the files that a killed compiler leaves */
    for (; word && *word != '-'; word = strtok(NULL, " \t")) argument[n++] = word;
    n = add_flags(argument, n, all_flags);
    for (; word; word = strtok(NULL, " \t")) argument[n++] = word;
    n = add_flags(argument, n, system_loadable(s->kind != STUDENTS));
    if (s->kind != STUDENTS) n = add_flags(argument, n, teachers_flags);
    if (s->kind == TEACHERS_CASES) {
        snprintf(cases, sizeof cases, "%s/check/cases_only.h", s->headers);
        n = add_flags(argument, n, cases_flags);
        argument[n++] = "-include", argument[n++] = cases;
    }
    snprintf(path, sizeof path, "%s%s", s->source[0] == '-' ? "./" : "", s->source);
    const char *const files[] = {"-isystem", s->headers, path, "-o", s->library, NULL};
    add_flags(argument, n, files); /* -isystem: no warnings from the headers */
    execvp(argument[0], (char *const *)argument);
    printf("%s: cannot be run", argument[0]);
    fflush(stdout);
    _exit(CANNOT_RUN);
}

/* The first line with an error, or the first line. */
static const char *first_error(char *text) {
    char *line = strstr(text, "error:");
    if (!line) line = strstr(text, "undefined");
    while (line && line > text && line[-1] != '\n') line--;
    if (!line) line = text;
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* The lines with warnings, without the source lines below them. */
static void take_warnings(const char *printed, char *warnings) {
    for (const char *line = printed; *line;) {
        int length = (int)strcspn(line, "\n");
        const char *word = strstr(line, "warning: ");
        size_t used = strlen(warnings);
        if (word && word < line + length && used + (size_t)length + 2 < STUDENT_WARNINGS)
            sprintf(warnings + used, "%.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static void compiled(void *context, long i, const ChildEnd *end) {
    StudentSource *s = context;
    char text[CHILD_TEXT], printed[CHILD_PRINTED + 1];
    (void)i;
    strcpy(printed, end->printed);
    if (end->fate == CHILD_EXITED && end->number == 0)
        take_warnings(printed, s->warnings);
    else if (end->fate == CHILD_EXITED && end->number == CANNOT_RUN)
        error_set(&s->error, STATUS_BUG, "CC: %s", printed);
    else if (end->fate == CHILD_EXITED)
        error_set(&s->error, STATUS_NO, "does not compile: %s", first_error(printed));
    else
        error_set(&s->error, STATUS_NO, "does not compile: the compiler %s",
                  child_text(text, end, &compile_limits));
}

/* Whether the files are there. */
static bool can_be_read(StudentSource *s) {
    char header[PATH_ROOM];
    struct stat file;
    snprintf(header, sizeof header, "%.*s/ops/ops.h", PATH_ROOM - 16, s->headers);
    if (access(s->source, R_OK) != 0 || stat(s->source, &file) != 0)
        return error_set(&s->error, STATUS_NO_INPUT, "%s: cannot be read", s->source);
    if (S_ISDIR(file.st_mode))
        return error_set(&s->error, STATUS_NO_INPUT, "%s: found a folder, need a C file", s->source);
    if (S_ISREG(file.st_mode) && file.st_size == 0) return error_set(&s->error, STATUS_NO, "is empty");
    return access(header, R_OK) == 0 ||
           error_set(&s->error, STATUS_NO_INPUT, "%s: cannot be read: operations need it", header);
}

bool student_compile(StudentSource *s, const char *headers) {
    s->headers = headers, s->error = (Error){0}, s->warnings[0] = 0;
    if (can_be_read(s)) child_run_all(1, 1, &compile_limits, run_compiler, compiled, s);
    return s->error.status == STATUS_DONE;
}

/* The linker redirects malloc, calloc and realloc of a student's code to these, which report that memory
 * ran out instead of returning NULL. */
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

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static const char *after_blanks(const char *p) {
    while (isspace((unsigned char)*p)) p++;
    return p;
}

int student_names(const char *source, char (*names)[STUDENT_NAME], int most, Error *e) {
    char *text;
    size_t size;
    int count = 0;
    if (!file_read(source, 1 << 24, &text, &size, e)) return 0;
    blank_comments(text);
    for (char *p = text; (p = strstr(p, "Op")) && count < most; p++) {
        const char *name = after_blanks(p + 2);
        size_t length = 0;
        if ((p > text && is_name(p[-1])) || name == p + 2 || strncmp(name, "op_", 3) != 0) continue;
        for (name += 3; is_name(name[length]);) length++;
        if (length && length < STUDENT_NAME && *after_blanks(name + length) == '=')
            snprintf(names[count++], STUDENT_NAME, "%.*s", (int)length, name);
    }
    for (volatile char *p = text; size--;)
        *p++ = 0; /* it may be a solution, and children inherit this memory */
    free(text);
    if (!count) error_set(e, STATUS_NO, "defines no operation: found no `const Op op_NAME = {…}`");
    return count;
}

static bool is_same_file(const char *path, const char *const *others) {
    struct stat a, b;
    for (; others && *others; others++)
        if (stat(path, &a) == 0 && stat(*others, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return true;
    return false;
}

char *student_includes(const StudentSource *s, const char *headers) {
    char path[PATH_ROOM], *text, *found = NULL;
    size_t size, length = headers ? strlen(headers) : 0;
    Error e = {0};
    snprintf(path, sizeof path, "%.*s.d", (int)strlen(s->library) - 3, s->library);
    if (!file_read(path, 1 << 24, &text, &size, &e)) return NULL;
    strtok(text, " \\\n");
    for (char *word; !found && (word = strtok(NULL, " \\\n"));) {
        bool ours = length && strncmp(word, headers, length) == 0;
        if ((ours && directory_ends_in(word + length, ".c")) || is_same_file(word, s->hidden))
            found = strdup(ours ? word + length + 1 : word);
    }
    free(text);
    return found;
}

/* Sets the error of dlopen. The usual reason is a call of an operation that is not available. */
static bool cannot_be_loaded(Error *e) {
    const char *why = dlerror(), *colon = strstr(why, ": "), *symbol = strstr(why, "undefined symbol: tape_");
    if (!symbol) return error_set(e, STATUS_NO, "cannot be loaded: %s", colon ? colon + 2 : why);
    symbol = strchr(symbol, ':') + 2;
    return error_set(e, STATUS_NO, "calls %.*s: a student's file cannot call the operations of this project",
                     (int)strcspn(symbol, " ,:"), symbol);
}

bool student_load_solution(const char *library, const char *name, Error *e) {
    char symbol[STUDENT_NAME + 8];
    snprintf(symbol, sizeof symbol, "tape_%.*s", STUDENT_NAME, name);
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL), *function = handle ? dlsym(handle, symbol) : NULL;
    if (!handle) return cannot_be_loaded(e);
    if (!function)
        return error_set(e, STATUS_NO, "defines no %s that can be seen from outside, and the cases call it",
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
    if (!op) error_set(e, STATUS_NO, "defines no %s that can be seen from outside: is it static?", symbol);
    return op;
}
