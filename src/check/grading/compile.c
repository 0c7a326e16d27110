#include "check/grading/compile.h"
#include "base/file.h"
#include "base/utf8.h"
#include "check/child.h"
#include "check/grading/directories.h"
#include "check/sandbox.h"
#include <ctype.h>
#include <fcntl.h>
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

enum { COMPILE_NAME = 64, ARGUMENTS = 48, CANNOT_RUN = 127, MOST_WRITTEN = 1 << 26 };
static const ChildLimits compile_limits = {.seconds = 20, .bytes = (size_t)4e9, .file_bytes = MOST_WRITTEN};

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
static const char *const teachers_flags[] = {"-fno-inline", "-Werror=implicit-function-declaration", NULL};
static const char *const cases_flags[] = {"-Wno-incompatible-pointer-types", NULL};

/* Files of a folder beside the library in which the compiler works, and its ending. */
#define WORK      ".work"
#define LIBRARY   "out.so"
#define INCLUDED  "/out.d"
#define MESSAGES  "/out.txt"
#define OWN_NAMES "own_names.h"

static int add_flags(const char **argument, int n, const char *const *flags) {
    for (; *flags; flags++) argument[n++] = *flags;
    return n;
}

/* The library's path with another ending in place of ".so". */
static const char *beside(const StudentSource *s, const char *ending, char path[PATH_ROOM]) {
    snprintf(path, PATH_ROOM, "%.*s%s", (int)strlen(s->library) - 3, s->library, ending);
    return path;
}

/* Makes the folder in which the compiler works. A student's file is copied there. */
static bool prepare(StudentSource *s) {
    char path[PATH_ROOM];
    if (mkdir(beside(s, WORK, path), 0700) != 0)
        return error_set(&s->error, STATUS_CANNOT_CREATE, "%s: cannot be made", path);
    return s->kind != STUDENTS || file_copy(s->source, path, file_name(s->source), &s->error);
}

/* The compiler speaks English, in the bytes of the user's terminal, and to a file: a pipe keeps too little. What is on the
 * way to it (ccache) writes nothing elsewhere. */
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

/* Replaces the process by the compiler. Options in $CC, as in "gcc -O3", take precedence. A student's file is compiled where
 * nothing else can be read. */
static void run_compiler(void *context, long i) {
    const StudentSource *s = context;
    const char *cc = getenv("CC");
    char path[PATH_ROOM], cases[PATH_ROOM], headers[PATH_ROOM], source[PATH_ROOM];
    int programs, n = 0;
    char **word = words_of(cc && *cc ? cc : "cc", &programs);
    const char **argument = calloc(ARGUMENTS + (size_t)programs + strlen(cc ? cc : ""), sizeof *argument);
    (void)i;
    if (!realpath(s->headers, headers)) snprintf(headers, sizeof headers, "%s", s->headers);
    if (s->kind == STUDENTS)
        snprintf(source, sizeof source, "./%s", file_name(s->source));
    else if (!realpath(s->source, source))
        snprintf(source, sizeof source, "%s", s->source);
    speak_to(beside(s, WORK MESSAGES, path));
    for (int k = 0; k < programs; k++) argument[n++] = word[k];
    if (s->kind == STUDENTS) /* so far the arguments are the programs */
        sandbox_enter(beside(s, WORK, path), &(SandboxNeeds){.programs = argument, .headers = headers});
    else
        (void)!chdir(beside(s, WORK, path));
    n = add_flags(argument, n, all_flags);
    n = add_flags(argument, n, (const char *const *)word + programs);
    n = add_flags(argument, n, s->kind == STUDENTS ? students_flags : teachers_flags);
    if (s->kind == TEACHERS_CASES) {
        snprintf(cases, sizeof cases, "%.*s/check/cases_only.h", PATH_ROOM - 32, headers);
        n = add_flags(argument, n, cases_flags);
        argument[n++] = "-include", argument[n++] = cases;
    }
    if (access(OWN_NAMES, R_OK) == 0) argument[n++] = "-include", argument[n++] = OWN_NAMES;
    const char *const files[] = {"-isystem", headers, source, "-o", LIBRARY, NULL};
    add_flags(argument, n, files); /* -isystem: no warnings from the headers */
    execvp(argument[0], (char *const *)argument);
    printf("%s: cannot be run", argument[0]);
    fflush(stdout);
    _exit(CANNOT_RUN);
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

/* Whether the line begins what the compiler says of something else. */
static bool begins_another(const char *line) {
    return is_error(line) || line_has(line, ": warning:") || line_has(line, ": In function ") ||
           line_has(line, ": At top level:") || line_has(line, "In file included from") ||
           line_has(line, "compilation terminated") || line_has(line, "collect2:") ||
           line_has(line, " generated.");
}

/* The first error and what belongs to it: the files that include the line, the line itself, notes. Without one, the line
 * about an undefined name, or the first line. */
static const char *first_error(const char *text, size_t *length) {
    const char *error = text, *begin, *end;
    while (*error && !is_error(error)) error = next_line(error);
    for (const char *line = text; !*error && *line; line = next_line(line))
        if (line_has(line, "undefined")) error = line;
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

/* Appends a part of what the compiler says to the text, as far as it fits; of the source's path only its name. */
static void append_said(const StudentSource *s, const char *said, size_t length, char *text, size_t size) {
    char path[PATH_ROOM] = "";
    size_t used = strlen(text);
    if (s->kind == STUDENTS || !realpath(s->source, path))
        snprintf(path, sizeof path, "./%s", file_name(s->source));
    size_t folder = (size_t)(file_name(path) - path);
    for (const char *at = said; at < said + length && used + 1 < size;) {
        if (strncmp(at, path, strlen(path)) == 0) at += folder;
        text[used++] = *at++;
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
}

/* Why it does not compile. */
static void refuse(StudentSource *s, const char *said, size_t length) {
    snprintf(s->message, sizeof s->message, "does not compile: ");
    append_said(s, said, length, s->message, sizeof s->message);
    utf8_make_printable(s->message, "\n\t");
    error_set(&s->error, STATUS_NO, "%.*s", (int)strcspn(s->message, "\n"), s->message);
}

/* The name about which a line complains because the project's headers define it too. False: it says something else. */
static bool clashing_name(const char *line, char name[COMPILE_NAME]) {
    static const char *const clash[] = {"conflicting type", "static declaration of", "redefinition of",
                                        "redeclar"};
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

/* Writes a header that includes the project's operations with other names in place of those that clash. Returns whether
 * any does. */
static bool write_own_names(const StudentSource *s, const char *said) {
    char path[PATH_ROOM], name[COMPILE_NAME];
    bool any = false;
    FILE *out = fopen(beside(s, WORK "/" OWN_NAMES, path), "w");
    if (!out) return false;
    for (const char *line = said; *line; line = next_line(line))
        if (clashing_name(line, name)) any |= fprintf(out, "#define %s %s_of_the_project\n", name, name) > 0;
    fprintf(out, "#include \"ops/ops.h\"\n");
    for (const char *line = said; *line; line = next_line(line))
        if (clashing_name(line, name)) fprintf(out, "#undef %s\n", name);
    fclose(out);
    return any;
}

static void compiled(void *context, long i, const ChildEnd *end) {
    StudentSource *s = context;
    char text[CHILD_TEXT], path[PATH_ROOM], *said = NULL;
    size_t size, length;
    (void)i;
    if (!file_read(beside(s, WORK MESSAGES, path), MOST_WRITTEN, &said, &size, &(Error){0}))
        said = strdup(end->printed);
    if (end->fate == CHILD_EXITED && end->number == 0) {
        take_warnings(s, said);
    } else if (end->fate == CHILD_EXITED && end->number == CANNOT_RUN) {
        error_set(&s->error, STATUS_BUG, "CC: %s", said);
    } else if (end->fate == CHILD_EXITED) {
        const char *first = first_error(said, &length);
        refuse(s, first, length);
        s->clashes = write_own_names(s, said);
    } else {
        snprintf(path, sizeof path, "the compiler %s", child_text(text, end, &compile_limits));
        refuse(s, path, strlen(path));
    }
    free(said);
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
    if (!S_ISREG(file.st_mode))
        return error_set(&s->error, STATUS_NO_INPUT, "%s: found no regular file, need one", s->source);
    if (file.st_size == 0) return error_set(&s->error, STATUS_NO, "is empty");
    return access(header, R_OK) == 0 ||
           error_set(&s->error, STATUS_NO_INPUT, "%s: cannot be read: operations need it", header);
}

bool student_compile(StudentSource *s, const char *headers) {
    char path[PATH_ROOM], made[PATH_ROOM];
    *s = (StudentSource){s->source, s->library, s->kind, s->hidden, headers};
    if (can_be_read(s) && prepare(s)) child_run_all(1, 1, &compile_limits, run_compiler, compiled, s);
    if (s->clashes) {
        StudentSource again = *s;
        again.error = (Error){0};
        child_run_all(1, 1, &compile_limits, run_compiler, compiled, &again);
        if (again.error.status == STATUS_DONE) *s = again;
    }
    if (s->error.status == STATUS_DONE) {
        rename(beside(s, WORK "/" LIBRARY, made), s->library);
        rename(beside(s, WORK INCLUDED, made), beside(s, ".d", path));
    }
    directory_remove(beside(s, WORK, path));
    if (!s->message[0]) REPORT_SET(s->message, s->error.text);
    return s->error.status == STATUS_DONE;
}

static bool is_same_file(const char *path, const char *const *others) {
    uint64_t file = file_identity(path);
    for (; file && others && *others; others++)
        if (file_identity(*others) == file) return true;
    return false;
}

char *student_includes(const StudentSource *s, const char *headers) {
    char path[PATH_ROOM], *text, *found = NULL;
    size_t size, length = headers ? strlen(headers) : 0;
    Error e = {0};
    if (!file_read(beside(s, ".d", path), 1 << 24, &text, &size, &e)) return NULL;
    strtok(text, " \\\n");
    for (char *word; !found && (word = strtok(NULL, " \\\n"));) {
        bool ours = length && strncmp(word, headers, length) == 0;
        if ((ours && directory_ends_in(word + length, ".c")) || is_same_file(word, s->hidden))
            found = strdup(ours ? word + length + 1 : word);
    }
    free(text);
    return found;
}
