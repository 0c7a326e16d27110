/* The test program of one's own that README shows: its text and its command are taken from README as they stand, and
 * built and run outside the tree; once as it is, once with a wrong gradient, once by way of gradcheck_op. */
#include "child.h"

/* What stands between two marks of a text, copied out; fails the test where it is missing. */
static char *between(const char *text, const char *begin, const char *end, const char *inside) {
    for (const char *at = text; (at = strstr(at, begin)); at++) {
        const char *from = at + strlen(begin), *to = strstr(from, end);
        if (!to) break;
        char *found = strndup(from, (size_t)(to - from));
        if (strstr(found, inside)) return found;
        free(found);
    }
    CHECK(false, "README.md: found no %.5s with '%s' in it", begin, inside);
    exit(1);
}

/* Puts `to` in the place of the one `from` in *text, which is allocated. */
static void replace(char **text, const char *from, const char *to) {
    char *at = strstr(*text, from), *replaced;
    CHECK(at && !strstr(at + 1, from), "README.md: found '%s' not once", from);
    if (!at || asprintf(&replaced, "%.*s%s%s", (int)(at - *text), *text, to, at + strlen(from)) < 0) exit(1);
    free(*text);
    *text = replaced;
}

static char *program, *command;

/* A folder in which README's paths lead to this build. */
static void take_from_readme(void) {
    char readme[PATH_MAX + 32], source[PATH_MAX + 32];
    snprintf(readme, sizeof readme, "%s/../../README.md", program_folder);
    snprintf(source, sizeof source, "%s/../../src", program_folder);
    size_t size = 0;
    char *text = read_bytes(readme, &size);
    CHECK(text, "%s cannot be read", readme);
    if (!text) exit(1);
    program = between(text, "```c\n", "```", "gradcheck_function");
    command = between(text, "\n$ cc ", "\n", "my_test.c");
    free(text);
    if (sizeof(real) == sizeof(float)) replace(&command, "-DREAL_DOUBLE", "");
    enter_folder();
    CHECK(symlink(source, "src") == 0 && mkdir("build", 0777) == 0 &&
          symlink(program_folder, "build/double") == 0);
}

/* Builds and runs the program as README says. */
static int build_and_run(void) {
    char line[1024];
    const char *cc = getenv("CC"), *flags = "";
#ifdef SANITIZED
    flags = "-fsanitize=address,undefined ";
#elif defined COVERAGE
    flags = "--coverage ";
#endif
    snprintf(line, sizeof line, "{ %s %s%s; } >out 2>err", cc && *cc ? cc : "cc", flags, command);
    write_text("my_test.c", program);
    int status = system(line);
    size_t size;
    char *printed = read_bytes("out", &size), *complaints = read_bytes("err", &size);
    snprintf(out, sizeof out, "%s", printed ? printed : "");
    snprintf(err, sizeof err, "%s", complaints ? complaints : "");
    free(printed), free(complaints);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void right_gradient_passes(void) {
    take_from_readme();
    int status = build_and_run();
    CHECK(status == 0, "status %d: %s%s", status, out, err);
    CHECK(strstr(out, "PASS\n") && !strstr(out, "FAIL"), "%s", out);
    CHECK(!*err, "the compiler warns: %s", err);
}

static void wrong_gradient_fails_and_is_named(void) {
    take_from_readme();
    replace(&program, "+= 3 *", "+= 2 *");
    int status = build_and_run();
    CHECK(status == 2, "status %d: %s%s", status, out, err);
    CHECK(strstr(out, "FAIL") && strstr(out, "constant factor 0.666"), "%s", out);
}

/* The other function of the interface: an operation with check cases of its own. */
static void operation_with_cases_passes_and_fails(void) {
    take_from_readme();
    replace(&program, "static const Op cube = {\"cube\", forward, backward};", "extern const Op cube;");
    replace(&program, "int main(void) {",
            "static const CheckCase table[] = {{\"matrix\", f, {{\"x\", DIMS(2, 3)}}}};\n"
            "const Op cube = {\"cube\", forward, backward, CASES(table)};\n\nint main(void) {");
    replace(&program,
            "gradcheck_function(\"softmax of cubes\", f, (CheckInput[]){{\"x\", DIMS(3, 5)}, {0}}, ",
            "gradcheck_op(&cube, ");
    int status = build_and_run();
    CHECK(status == 0 && strstr(out, "cube/matrix"), "status %d: %s%s", status, out, err);
    replace(&program, "+= 3 *", "-= 3 *");
    status = build_and_run();
    CHECK(status == 2 && strstr(out, "FAIL"), "status %d: %s%s", status, out, err);
}

PROGRAM_TEST_MAIN({"README's test program passes", right_gradient_passes},
                  {"with a wrong gradient it fails, and says by which factor",
                   wrong_gradient_fails_and_is_named},
                  {"gradcheck_op serves as well", operation_with_cases_passes_and_fails})
