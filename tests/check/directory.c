/* Directories are made, searched and removed; errors name the path and the cause. */
#include "base/directory.h"
#include "base/arena.h"
#include "check/directories.h"
#include "check/sandbox.h"
#include "child.h"
#include <sys/stat.h>

static char long_name[PATH_CAPACITY + 1]; /* one byte more than a path may have */

static void make_long_name(void) {
    memset(long_name, 'x', PATH_CAPACITY);
    for (int i = 200; i < PATH_CAPACITY; i += 200) long_name[i] = '/';
}

static const char *const c_files[] = {".c", NULL};

TEST(directories_are_made) {
    static const struct {
        const char *path, *want; /* NULL: it is made */
    } cases[] = {
        {"a", NULL},
        {"a", NULL},
        {"a/b/c", NULL},
        {"a//d/", NULL},
        {"./a/../e", NULL},
        {"", "directory: found a path of 0 bytes, need 1 to 4095"},
        {long_name, "directory: found a path of 4096 bytes, need 1 to 4095"},
        {"file", "file: cannot be made a directory: a file of that name is there"},
        {"file/f", "file: cannot be made a directory: a file of that name is there"},
        {"dangling/f", "dangling: cannot be made a directory: a file of that name is there"},
        {"/proc/none/f", "/proc/none: cannot be made a directory: No such file or directory"},
    };
    make_long_name();
    write_text("file", "");
    CHECK(symlink("nowhere", "dangling") == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {0};
        bool made = directory_make(cases[i].path, &e);
        CHECK(made == !cases[i].want, "%s: %s", cases[i].path, e.text);
        if (made) CHECK(access(cases[i].path, W_OK) == 0, "%s", cases[i].path);
        if (!made)
            CHECK(e.status == STATUS_CANNOT_CREATE && !strcmp(e.text, cases[i].want), "found %s",
                  e.text);
    }
}

/* In $TMPDIR where that can be used, and gone with all of its files when it is removed. */
TEST(folders_for_a_while) {
    make_long_name();
    CHECK(mkdir("tmp", 0777) == 0);
    const char *const places[][2] = {
        {"tmp", "tmp/"}, {NULL, "/tmp/"}, {"", "/tmp/"}, {long_name, "/tmp/"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[TEMPORARY_PATH], file[TEMPORARY_PATH + 8];
        Error e = {0};
        unsetenv("TMPDIR");
        if (places[i][0]) setenv("TMPDIR", places[i][0], 1);
        CHECK(directory_temporary(path, &e) && !strncmp(path, places[i][1], strlen(places[i][1])),
              "%s: %s", path, e.text);
        snprintf(file, sizeof file, "%s/file", path);
        write_text(file, "text");
        directory_remove(path);
        CHECK(access(path, F_OK) != 0, "%s is left", path);
        directory_remove(path); /* twice is as good */
    }
    char path[TEMPORARY_PATH];
    Error e = {0};
    if (!system_runs_code("/proc")) { /* so it is on most systems */
        setenv("TMPDIR", "/proc", 1);
        CHECK(directory_temporary(path, &e) && strncmp(path, "/proc", 5) != 0 &&
                  system_runs_code(path),
              "%s", e.text);
        directory_remove(path);
    }
    setenv("TMPDIR", "none", 1);
    CHECK(!directory_temporary(path, &e) && e.status == STATUS_CANNOT_CREATE &&
              !strcmp(e.text, "none: found no room for a folder"),
          "%s", e.text);
}

/* By their way, in order, links among them; what is hidden, leads away or is of another kind is
 * left out. */
TEST(files_are_found) {
    static const char *const files[] = {
        "b.c", "a.c", "sub/deep/c.c", "sub/z.c", ".hidden.c", ".git/x.c", "sub/.c", "d.h", "c"};
    static const char *const found[] = {"a.c", "b.c", "e.c", "link.c", "sub/deep/c.c", "sub/z.c"};
    enum { FOUND = sizeof found / sizeof *found };
    FileNames names, left;
    Error e = {0};
    CHECK(mkdir("empty", 0777) == 0 && directory_files("empty", c_files, &names, &left, &e) &&
          names.count == 0);
    directory_files_free(&names), directory_files_free(&left);
    CHECK(directory_make("all/sub/deep", &e) && directory_make("all/.git", &e), "%s", e.text);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "all/%s", files[i]);
        write_text(path, "");
    }
    CHECK(symlink("a.c", "all/link.c") == 0 && symlink("sub", "all/way") == 0 &&
          symlink("none", "all/e.c") == 0);
    CHECK(directory_files("all", c_files, &names, &left, &e) && names.count == FOUND, "%ld: %s",
          names.count, e.text);
    for (int i = 0; i < FOUND && i < names.count; i++)
        CHECK(!strcmp(names.name[i], found[i]), "%s", names.name[i]);
    directory_files_free(&names), directory_files_free(&left);
    CHECK(!directory_files("none", c_files, &names, &left, &e) && e.status == STATUS_NO_INPUT &&
              !strcmp(e.text, "none: No such file or directory"),
          "%s", e.text);
    directory_files_free(&names), directory_files_free(&left);
    e = (Error){0};
    make_long_name();
    CHECK(!directory_files(long_name, c_files, &names, &left, &e) && e.status == STATUS_NO_INPUT &&
              strstr(e.text, "File name too long"),
          "%s", e.text);
    directory_files_free(&names), directory_files_free(&left);
}

/* Deeper than a path can say: named among what is left out. */
TEST(a_directory_too_deep_is_reported) {
    char name[251];
    memset(name, 'x', 250);
    name[250] = 0;
    int top = open(".", O_RDONLY | O_CLOEXEC);
    CHECK(mkdir("top", 0777) == 0 && chdir("top") == 0);
    for (int i = 0; i < 17; i++) CHECK(mkdir(name, 0777) == 0 && chdir(name) == 0, "level %d", i);
    write_text("a.c", "");
    CHECK(fchdir(top) == 0);
    FileNames names, left;
    Error e = {0};
    CHECK(directory_files("top", c_files, &names, &left, &e) && names.count == 0 && left.count == 1,
          "%ld and %ld: %s", names.count, left.count, e.text);
    directory_files_free(&names), directory_files_free(&left);
    directory_remove("top");
    CHECK(access("top", F_OK) != 0, "something is left");
}

/* A directory is measured, copied by ending, and removed with what is below it; links are not
 * followed. */
TEST(directories_are_copied_and_removed) {
    static const char *const headers[] = {".h", NULL};
    Error e = {0};
    CHECK(directory_make("from/sub", &e) && directory_make("kept", &e), "%s", e.text);
    write_text("from/a.h", "a"), write_text("from/b.c", "b"), write_text("from/sub/c.h", "c"),
        write_text("kept/d", "d");
    CHECK(symlink("../kept", "from/link") == 0);
    CHECK(directory_copy("from", headers, "to", &e), "%s", e.text);
    CHECK(access("to/a.h", R_OK) == 0 && access("to/sub/c.h", R_OK) == 0 &&
          access("to/b.c", F_OK) != 0);
    size_t before = directory_bytes("from");
    write_bytes("from/sub/e", long_name, 4096), write_bytes("from/sub/f", (char[10000]){0}, 10000);
    CHECK(directory_bytes("from") == before + 4096 + 10000, "%zu", directory_bytes("from"));
    directory_remove("from");
    CHECK(access("from", F_OK) != 0 && access("kept/d", R_OK) == 0);
}

TEST(endings) {
    CHECK(directory_ends_in("a.c", ".c") && directory_ends_in("x/a.c", ".c"));
    CHECK(!directory_ends_in(".c", ".c") && !directory_ends_in("c", ".c") &&
          !directory_ends_in("a.h", ".c"));
}

/* No bytes are a page, and no page is nothing to free. tests/autograd/misuse.c asks for too many
 * bytes. */
TEST(no_bytes_are_allocated) {
    pages_free(NULL, 1);
    Error e = {0};
    void *none = pages_alloc(0, "nothing", &e);
    CHECK(none, "%s", e.text);
    pages_free(none, 0);
}

RUN_PROGRAM_TESTS
