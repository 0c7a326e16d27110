#include "base/file.h"
#include "base/utf8.h"
#include "check/child.h"
#include "check/directories.h"
#include "check/grading/student_file.h"
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

enum { COMPILE_NAME = 64, CANNOT_RUN = 127, MAX_WRITTEN = 1 << 26, MIN_WRITTEN = 1 << 20 };

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

/* Words separated by blanks. GNU's names besides -D_DEFAULT_SOURCE would slow <math.h> down.
 * --wrap takes the program's __wrap_malloc, …. A misspelt name in a teacher's cases would crash
 * every file. */
static const char all_flags[] =
    "-std=c11 -D_DEFAULT_SOURCE -O1 -fPIC -shared -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc "
    "-MD -Wall -Wextra -Wno-missing-field-initializers -Wno-unused-parameter -ffp-contract=fast "
    "-fno-math-errno -fno-trapping-math -fdiagnostics-color=never ";
static const char *const flags_of[] = {
    [STUDENTS] = "-Wl,-Bsymbolic",
    [TEACHERS] = "-fno-inline -Werror=implicit-function-declaration",
    [TEACHERS_CASES] = ("-fno-inline -Werror=implicit-function-declaration "
                        "-Wno-incompatible-pointer-types")};

/* Files of a folder beside the library in which the compiler works, and its ending. */
#define WORK      ".work"
#define LIBRARY   "out.so"
#define INCLUDED  "/out.d"
#define MESSAGES  "/out.txt"
#define OWN_NAMES "own_names.h"
#define SUBMITTED "submission.c"

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

/* Adds the words of a text to a list that ends with NULL. */
static void add_words(const char **list, const char *text) {
    while (*list) list++;
    for (char *word = strtok(strdup(text), " \t"); word; word = strtok(NULL, " \t")) *list++ = word;
}

/* Adds an option and its argument. */
static void add_pair(const char **list, const char *option, const char *argument) {
    while (*list) list++;
    list[0] = option;
    list[1] = strdup(argument);
}

static bool is_option(const char *word) {
    return word[0] == '-';
}

/* Replaces the process by the compiler. $CC has programs and then options, as in "ccache gcc -O3",
 * which take precedence. A student's file is compiled where nothing else can be read. */
static void run_compiler(void *context, long i) {
    enum { WORDS = 512 };
    static const char *argument[WORDS], *given[WORDS];
    static const char *const rooms[] = {"", "/core", "/tools"};
    const StudentSource *s = context;
    const char *cc = getenv("CC"), **option = given;
    char path[PATH_CAPACITY], headers[PATH_CAPACITY], source[PATH_CAPACITY] = "./" SUBMITTED;
    (void)i;
    if (!realpath(s->headers, headers)) snprintf(headers, sizeof headers, "%s", s->headers);
    if (s->kind != STUDENTS && !realpath(s->source, source))
        snprintf(source, sizeof source, "%s", s->source);
    speak_to(beside(s, WORK MESSAGES, path));
    add_words(given, cc && strspn(cc, " \t") < strlen(cc) ? cc : "cc");
    for (; *option && !is_option(*option); option++) argument[option - given] = *option;
    if (s->kind == STUDENTS) /* so far the arguments are the programs */
        sandbox_enter(beside(s, WORK, path),
                      &(SandboxNeeds){.programs = argument, .headers = headers});
    else
        (void)!chdir(beside(s, WORK, path));
    add_words(argument, all_flags);
    add_words(argument, sizeof(real) == sizeof(double) ? "-DREAL_DOUBLE" : "-DREAL_FLOAT");
    for (; *option; option++) add_words(argument, *option);
    add_words(argument, flags_of[s->kind]);
    if (s->kind == TEACHERS_CASES) {
        snprintf(path, sizeof path, "%.*s/tools/check/cases_only.h", PATH_CAPACITY - 32, headers);
        add_pair(argument, "-include", path);
    }
    if (access(OWN_NAMES, R_OK) == 0) add_pair(argument, "-include", OWN_NAMES);
    for (int k = 0; k < 3; k++) { /* -isystem: no warnings from the headers */
        snprintf(path, sizeof path, "%.*s%s", PATH_CAPACITY - 8, headers, rooms[k]);
        add_pair(argument, "-isystem", path);
    }
    add_pair(argument, source, "-o");
    add_words(argument, LIBRARY);
    child_become_family((char *const *)argument, CANNOT_RUN);
}

/* ---- What the compiler says ---- */

static const char *next_line(const char *line) {
    size_t length = strcspn(line, "\n");
    return line + length + (line[length] == '\n');
}

/* Whether the line has one of these words, up to a NULL, before its end. */
static bool line_has(const char *line, const char *const *words) {
    const char *end = line + strcspn(line, "\n");
    for (; *words; words++) {
        const char *at = strstr(line, *words);
        if (at && at < end) return true;
    }
    return false;
}

static const char *const an_error[] = {": error:", ": fatal error:", NULL},
                         *const a_warning[] = {"warning: ", NULL},
                         *const undefined[] = {"undefined", NULL};
/* These words begin something else than the rest of an error. */
static const char *const another[] = {": error:",        ": fatal error:",
                                      ": warning:",      ": In function ",
                                      ": At top level:", "In file included from",
                                      "collect2:",       "compilation terminated",
                                      " generated.",     NULL};

/* The first line with one of these words; the end of the text if none has. */
static const char *first_line(const char *text, const char *const *words) {
    while (*text && (!line_has(text, words) || strncmp(text, "collect2:", 9) == 0))
        text = next_line(text);
    return text;
}

/* The first error and what belongs to it: the files that include the line, the line itself, notes.
 * Without one, the line about an undefined name, or the first line. */
static const char *first_error(const char *text, size_t *length) {
    const char *error = first_line(text, an_error), *begin = NULL, *end;
    if (!*error) error = first_line(text, undefined);
    if (!*error) error = text;
    for (const char *line = text; line < error; line = next_line(line)) {
        if (begin && strncmp(line, "   ", 3) == 0) continue;
        bool leads = strncmp(line, "In file included from", 21) == 0;
        begin = leads ? line : NULL;
    }
    if (!begin) begin = error;
    end = next_line(error);
    while (*end && !line_has(end, another)) end = next_line(end);
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
        if (line_has(line, a_warning) && strlen(s->warnings) + length + 1 < sizeof s->warnings)
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
                                        "redefinition of", "redeclar", NULL};
    if (!line_has(line, an_error) || !line_has(line, clash)) return false;
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
