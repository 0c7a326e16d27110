#include "check/grading/compile.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/child.h"
#include "check/directories.h"
#include "check/sandbox.h"
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *student_headers(char path[PATH_CAPACITY]) {
    system_program(path, PATH_CAPACITY - 32);
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        strcpy(slash, "/src/core/ops/ops.h");
        bool here = access(path, R_OK) == 0;
        strcpy(slash, here ? "/src" : "");
        if (here) return path;
    }
    return strcpy(path, "src");
}

enum {
    COMPILE_NAME = 64,
    ARGUMENTS = 48,
    CANNOT_RUN = 127,
    MAX_WRITTEN = 1 << 26,
    MIN_WRITTEN = 1 << 20
};

/* A compiler may write a small part of what is free, because others work beside it. */
static ChildLimits compile_limits(const char *library) {
    enum { PARTS = 32 };
    char folder[PATH_CAPACITY];
    snprintf(folder, sizeof folder, "%.*s", (int)(file_name(library) - library), library);
    size_t part = directory_free_bytes(*folder ? folder : ".") / PARTS;
    if (part < MIN_WRITTEN) part = MIN_WRITTEN;
    if (part > MAX_WRITTEN) part = MAX_WRITTEN;
    return (ChildLimits){.seconds = 20, .bytes = (size_t)4e9, .file_bytes = part};
}

static const char *const all_flags[] = {
    "-std=c11",
    "-D_DEFAULT_SOURCE", /* GNU's names as well would slow <math.h> down */
    "-O1",
    "-fPIC",
    "-shared",
    "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc", /* the program's __wrap_malloc, … */
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
static const char *const students_flags[] = {"-Wl,-Bsymbolic", NULL};
/* Otherwise a misspelt name in a teacher's cases crashes every file. */
static const char *const teachers_flags[] = {"-fno-inline", "-Werror=implicit-function-declaration",
                                             NULL};
static const char *const cases_flags[] = {"-Wno-incompatible-pointer-types", NULL};

/* Files of a folder beside the library in which the compiler works, and its ending. */
#define WORK      ".work"
#define LIBRARY   "out.so"
#define INCLUDED  "/out.d"
#define MESSAGES  "/out.txt"
#define OWN_NAMES "own_names.h"
#define SUBMITTED "submission.c"

static int add_flags(const char **argument, int n, const char *const *flags) {
    for (; *flags; flags++) argument[n++] = *flags;
    return n;
}

/* The library's path with another ending in place of ".so". */
static const char *beside(const StudentSource *s, const char *ending, char path[PATH_CAPACITY]) {
    snprintf(path, PATH_CAPACITY, "%.*s%s", (int)strlen(s->library) - 3, s->library, ending);
    return path;
}

/* Makes the folder in which the compiler works. A student's file is copied there. */
static bool prepare(StudentSource *s) {
    char path[PATH_CAPACITY];
    if (mkdir(beside(s, WORK, path), 0700) != 0)
        return error_set(&s->error, STATUS_CANNOT_CREATE, "%s: cannot be made", path);
    return s->kind != STUDENTS || file_copy(s->source, NULL, path, SUBMITTED, &s->error);
}

/* The compiler speaks English, in the bytes of the user's terminal, and to a file: a pipe keeps too
 * little. What is on the way to it (ccache) writes nothing elsewhere. */
static void speak_to(const char *path) {
    unsetenv("LC_ALL");
    unsetenv("LANGUAGE");
    setenv("LC_MESSAGES", "C", 1);
    setenv("TMPDIR", ".", 1);
    setenv("CCACHE_DISABLE", "1", 1);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
}

/* The words of $CC: the programs, then the options. */
static char **words_of(const char *cc, int *programs) {
    char *words = strdup(cc), **word = calloc(strlen(cc) + 2, sizeof *word);
    int n = 0;
    *programs = 0;
    for (char *at = strtok(words, " \t"); at; at = strtok(NULL, " \t")) word[n++] = at;
    while (word[*programs] && word[*programs][0] != '-') ++*programs;
    return word;
}

/* Replaces the process by the compiler. Options in $CC, as in "gcc -O3", take precedence. A
 * student's file is compiled where nothing else can be read. */
static void run_compiler(void *context, long i) {
    const StudentSource *s = context;
    const char *cc = getenv("CC");
    char path[PATH_CAPACITY], cases[PATH_CAPACITY], headers[PATH_CAPACITY], source[PATH_CAPACITY];
    int programs, n = 0;
    char **word = words_of(cc && *cc ? cc : "cc", &programs);
    const char **argument =
        calloc(ARGUMENTS + (size_t)programs + strlen(cc ? cc : ""), sizeof *argument);
    (void)i;
    if (!realpath(s->headers, headers)) snprintf(headers, sizeof headers, "%s", s->headers);
    if (s->kind == STUDENTS)
        snprintf(source, sizeof source, "./%s", SUBMITTED);
    else if (!realpath(s->source, source))
        snprintf(source, sizeof source, "%s", s->source);
    speak_to(beside(s, WORK MESSAGES, path));
    for (int k = 0; k < programs; k++) argument[n++] = word[k];
    if (s->kind == STUDENTS) /* so far the arguments are the programs */
        sandbox_enter(beside(s, WORK, path),
                      &(SandboxNeeds){.programs = argument, .headers = headers});
    else
        (void)!chdir(beside(s, WORK, path));
    n = add_flags(argument, n, all_flags);
    n = add_flags(argument, n, (const char *const *)word + programs);
    n = add_flags(argument, n, s->kind == STUDENTS ? students_flags : teachers_flags);
    if (s->kind == TEACHERS_CASES) {
        snprintf(cases, sizeof cases, "%.*s/tools/check/cases_only.h", PATH_CAPACITY - 32, headers);
        n = add_flags(argument, n, cases_flags);
        n = add_flags(argument, n, (const char *const[]){"-include", cases, NULL});
    }
    if (access(OWN_NAMES, R_OK) == 0)
        n = add_flags(argument, n, (const char *const[]){"-include", OWN_NAMES, NULL});
    const char *const rooms[] = {"", "/core", "/tools"};
    char room[3][PATH_CAPACITY];
    for (int k = 0; k < 3; k++) {
        snprintf(room[k], PATH_CAPACITY, "%.*s%s", PATH_CAPACITY - 8, headers, rooms[k]);
        /* -isystem: no warnings from the headers */
        n = add_flags(argument, n, (const char *const[]){"-isystem", room[k], NULL});
    }
    add_flags(argument, n, (const char *const[]){source, "-o", LIBRARY, NULL});
    child_become_family((char *const *)argument, CANNOT_RUN);
}

/* ---- What the compiler says ---- */

static const char *next_line(const char *line) {
    size_t length = strcspn(line, "\n");
    return line + length + (line[length] == '\n');
}

/* Whether the line has the word before its end. */
static bool line_has(const char *line, const char *word) {
    const char *at = strstr(line, word);
    return at && at < line + strcspn(line, "\n");
}

static bool is_error(const char *line) {
    return (line_has(line, ": error:") || line_has(line, ": fatal error:")) &&
           strncmp(line, "collect2:", 9) != 0;
}

static bool is_undefined(const char *line) {
    return line_has(line, "undefined");
}

/* The first line that fits; "" if none does. */
static const char *first_line(const char *text, bool (*fits)(const char *line)) {
    while (*text && !fits(text)) text = next_line(text);
    return text;
}

/* Whether the line begins what the compiler says of something else. */
static bool begins_another(const char *line) {
    return is_error(line) || line_has(line, ": warning:") || line_has(line, ": In function ") ||
           line_has(line, ": At top level:") || line_has(line, "In file included from") ||
           line_has(line, "compilation terminated") || line_has(line, "collect2:") ||
           line_has(line, " generated.");
}

/* The first error and what belongs to it: the files that include the line, the line itself, notes.
 * Without one, the line about an undefined name, or the first line. */
static const char *first_error(const char *text, size_t *length) {
    const char *error = first_line(text, is_error), *begin, *end;
    if (!*error) error = first_line(text, is_undefined);
    if (!*error) error = text;
    begin = error;
    for (const char *line = text; line < error; line = next_line(line)) {
        bool leads = line_has(line, "In file included from"),
             goes_on = strncmp(line, "   ", 3) == 0 && line_has(line, " from ");
        if (leads && begin == error) begin = line;
        if (!leads && !goes_on) begin = error;
    }
    end = next_line(error);
    while (*end && !begins_another(end)) end = next_line(end);
    while (end > begin && end[-1] == '\n') end--;
    *length = (size_t)(end - begin);
    return begin;
}

/* Appends a part of what the compiler says to the text, as far as it fits; instead of the source's
 * path its name. */
static void append_said(const StudentSource *s, const char *said, size_t length, char *text,
                        size_t size) {
    char path[PATH_CAPACITY] = "./" SUBMITTED;
    const char *name = s->name ? s->name : file_name(s->source);
    size_t used = strlen(text);
    if (s->kind != STUDENTS && !realpath(s->source, path))
        snprintf(path, sizeof path, "%s", s->source);
    for (const char *at = said; at < said + length;) {
        if (used + 1 >= size) break;
        if (strncmp(at, path, strlen(path)) == 0) {
            used += (size_t)snprintf(text + used, size - used, "%s", name);
            if (used >= size) used = size - 1;
            at += strlen(path);
        } else {
            text[used++] = *at++;
        }
    }
    text[used] = 0;
}

/* Keeps the lines with warnings, without the source lines below them. */
static void take_warnings(StudentSource *s, const char *said) {
    for (const char *line = said; *line; line = next_line(line)) {
        size_t length = (size_t)(next_line(line) - line);
        if (line_has(line, "warning: ") && strlen(s->warnings) + length + 1 < sizeof s->warnings)
            append_said(s, line, length, s->warnings, sizeof s->warnings);
    }
    utf8_make_printable(s->warnings, "\n\t");
}

/* Why it does not compile. */
static void refuse(StudentSource *s, const char *said, size_t length) {
    snprintf(s->message, sizeof s->message, "does not compile: ");
    append_said(s, said, length, s->message, sizeof s->message);
    utf8_make_printable(s->message, "\n\t");
    error_set(&s->error, STATUS_NO, "%.*s", (int)strcspn(s->message, "\n"), s->message);
}

/* The name about which a line complains because the project's headers define it too. False: it says
 * something else. */
static bool clashing_name(const char *line, char name[COMPILE_NAME]) {
    static const char *const clash[] = {"conflicting type", "static declaration of",
                                        "redefinition of", "redeclar"};
    bool clashes = false;
    for (size_t i = 0; i < sizeof clash / sizeof *clash; i++) clashes |= line_has(line, clash[i]);
    if (!is_error(line) || !clashes) return false;
    const char *quoted = strpbrk(strstr(line, " error:"), "'\xE2\n");
    quoted += *quoted == '\xE2' ? 3 : 1; /* ' or ‘ */
    quoted += strncmp(quoted, "struct ", 7) == 0 ? 7 : 0;
    size_t length = 0;
    while (isalnum((unsigned char)quoted[length]) || quoted[length] == '_') length++;
    snprintf(name, COMPILE_NAME, "%.*s", (int)length, quoted);
    return length > 0 && length < COMPILE_NAME;
}

/* Writes a header that includes the project's operations with other names in place of those that
 * clash. Returns whether any does. */
static bool write_own_names(const StudentSource *s, const char *said) {
    char path[PATH_CAPACITY], name[COMPILE_NAME];
    bool any = false;
    FILE *out = fopen(beside(s, WORK "/" OWN_NAMES, path), "w");
    if (!out) return false;
    for (const char *line = said; *line; line = next_line(line))
        if (clashing_name(line, name))
            any |= fprintf(out, "#define %s %s_of_the_project\n", name, name) > 0;
    fprintf(out, "#include \"ops/ops.h\"\n");
    for (const char *line = said; *line; line = next_line(line))
        if (clashing_name(line, name)) fprintf(out, "#undef %s\n", name);
    fclose(out);
    return any;
}

/* Whether the machine failed, and not the file: it killed the compiler, or had no memory or space
 * for it. */
static bool is_lack(const ChildEnd *end, const char *said) {
    bool killed = end->fate == CHILD_SIGNALLED && end->number == SIGKILL;
    return killed || end->fate == CHILD_NOT_BORN || child_lacks(said) ||
           (end->fate == CHILD_EXITED && end->number && !*said);
}

static void compiled(void *context, long i, const ChildEnd *end) {
    StudentSource *s = context;
    const ChildLimits limits = compile_limits(s->library);
    char text[CHILD_TEXT], path[PATH_CAPACITY], *said = NULL;
    size_t size, length;
    (void)i;
    if (!file_read(beside(s, WORK MESSAGES, path), MAX_WRITTEN, &said, &size, &(Error){0}))
        said = strdup(end->printed);
    if (end->fate == CHILD_EXITED && end->number == 0) {
        take_warnings(s, said);
    } else if (end->fate == CHILD_EXITED && end->number == CANNOT_RUN) {
        error_set(&s->error, STATUS_UNAVAILABLE, "CC: %s", said);
    } else if (is_lack(end, said)) {
        const char *first = first_error(said, &length);
        error_set(&s->error, STATUS_NO_MEMORY,
                  "the machine lacks memory, processes or disk space%s%.*s", length ? ": " : "",
                  (int)length, first);
    } else if (end->fate == CHILD_EXITED) {
        const char *first = first_error(said, &length);
        refuse(s, first, length);
        s->clashes = write_own_names(s, said);
    } else {
        snprintf(path, sizeof path, "the compiler %s", child_text(text, end, &limits));
        refuse(s, path, strlen(path));
    }
    free(said);
}

/* ---- What the compiler has read ---- */

/* Takes the next path of a list in the form of make, in which a backslash or another dollar sign
 * stands before some characters. */
static const char *next_path(const char *at, char path[PATH_CAPACITY]) {
    size_t used = 0;
    while (isspace((unsigned char)*at) || (at[0] == '\\' && at[1] == '\n')) at++;
    while (*at && !isspace((unsigned char)*at) && used < PATH_CAPACITY - 1) {
        if (at[0] == '\\' && at[1] == '\n') break;
        bool quoted =
            (at[0] == '\\' && (at[1] == ' ' || at[1] == '#')) || (at[0] == '$' && at[1] == '$');
        at += quoted;
        path[used++] = *at++;
    }
    path[used] = 0;
    return at;
}

static bool is_same_file(const char *path, const char *const *others) {
    uint64_t file = file_identity(path);
    for (; others && *others; others++)
        if (file && file_identity(*others) == file) return true;
    return false;
}

/* Refuses a source that includes what it may not. The real paths decide, so no spelling of a path
 * helps. */
static void judge_included(StudentSource *s) {
    char path[PATH_CAPACITY], word[PATH_CAPACITY], whole[2 * PATH_CAPACITY], found[PATH_CAPACITY],
        project[PATH_CAPACITY] = "";
    char *text;
    size_t size;
    if (!file_read(beside(s, WORK INCLUDED, path), MAX_WRITTEN, &text, &size, &(Error){0})) return;
    if (s->project && !realpath(s->project, project)) *project = 0;
    size_t length = strlen(project);
    const char *at = text + strcspn(text, ":");
    for (at = next_path(at + (*at == ':'), word); *word; at = next_path(at, word)) {
        snprintf(whole, sizeof whole, "%s/%s", beside(s, WORK, path), word);
        if (!realpath(*word == '/' ? word : whole, found)) continue;
        bool ours = length && strncmp(found, project, length) == 0 && found[length] == '/';
        if (!ours && !is_same_file(found, s->hidden)) continue;
        error_set(&s->error, STATUS_NO, "is no solution: it includes %s",
                  ours ? found + length + 1 : found);
        break;
    }
    free(text);
}

/* Whether the files are there. */
static bool can_be_read(StudentSource *s) {
    char header[PATH_CAPACITY];
    struct stat file;
    snprintf(header, sizeof header, "%.*s/core/ops/ops.h", PATH_CAPACITY - 16, s->headers);
    if (access(s->source, R_OK) != 0 || stat(s->source, &file) != 0)
        return error_set(&s->error, STATUS_NO_INPUT, "%s: cannot be read", s->source);
    if (!S_ISREG(file.st_mode))
        return error_set(&s->error, STATUS_NO_INPUT, "%s: found %s, need a regular file", s->source,
                         S_ISDIR(file.st_mode) ? "a folder" : "something else");
    if (file.st_size == 0) return error_set(&s->error, STATUS_NO, "is empty");
    return access(header, R_OK) == 0 ||
           error_set(&s->error, STATUS_NO_INPUT, "%s: cannot be read: operations need it", header);
}

bool student_compile(StudentSource *s, const char *headers) {
    const ChildLimits limits = compile_limits(s->library);
    char path[PATH_CAPACITY], made[PATH_CAPACITY];
    *s = (StudentSource){s->source, s->library, s->name, s->kind, s->hidden, s->project, headers};
    if (can_be_read(s) && prepare(s)) child_run_all(1, 1, &limits, run_compiler, compiled, s);
    if (s->clashes) {
        StudentSource again = *s;
        again.error = (Error){0};
        child_run_all(1, 1, &limits, run_compiler, compiled, &again);
        if (again.error.status == STATUS_DONE) *s = again;
    }
    if (s->error.status == STATUS_DONE) {
        judge_included(s);
        rename(beside(s, WORK "/" LIBRARY, made), s->library);
    }
    directory_remove(beside(s, WORK, path));
    if (!s->message[0]) REPORT_SET(s->message, s->error.text);
    return s->error.status == STATUS_DONE;
}
