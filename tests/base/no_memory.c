/* Out of memory: every allocation that reading and writing files makes fails, once or from there
 * on. The call says STATUS_NO_MEMORY, frees what it had, and leaves the file that was there; or it
 * does without, and is right. */
#include "base/file.h"
#include "check/grading/gradcheck_show.h"
#include "failing_memory.h"
#include "folder.h"
#include "formats/safetensors.h"

static int turn; /* which call of a job this is: what the writing ones write */

/* Runs job with each of its allocations failing in turn. look(t) gets the last turn that succeeded.
 */
static void fail_each_allocation(bool (*job)(Error *e), void (*look)(int turn)) {
    for (int sticky = 0; sticky < 2; sticky++)
        for (long at = 1;; at++) {
            Error e = {0};
            turn++;
            CHECK(job(&e), "%s",
                  e.text); /* what libc allocates once and keeps is there from here on */
            long before = heap.alive;
            turn++;
            fail_at(at, sticky);
            bool ok = job(&e), all_done = heap.made < at;
            fail_at(0, false);
            CHECK(ok || (e.status == STATUS_NO_MEMORY && !all_done),
                  "allocation %ld: status %d, %s", at, e.status, e.text);
            CHECK(heap.alive == before, "allocation %ld: %ld blocks are left", at,
                  heap.alive - before);
            look(ok ? turn : turn - 1);
            if (all_done) break;
        }
}

/* ---- Jobs ---- */

static void look_at_nothing(int last) {
    (void)last;
}

static bool read_safetensors(Error *e) {
    Safetensors s;
    if (!safetensors_read(&s, "tests/fixtures/mixed.safetensors", e)) return false;
    CHECK(s.tensors == 6 && s.metadata_count == 2);
    safetensors_free(&s);
    return true;
}

static bool write_safetensors(Error *e) {
    int32_t value[] = {turn, 0, 0};
    const Metadata metadata[] = {{"kind", "lm"}, {"note", "\"quoted\""}};
    const Array tensors[] = {array_over("turn", DTYPE_I32, SCALAR, value),
                             array_over("x", DTYPE_F16, SHAPE(3), "abcdef")};
    return safetensors_write(in_folder("a"), metadata, 2, tensors, 2, e);
}

static void look_at_safetensors(int last) {
    Safetensors s;
    Error e = {0};
    int32_t value = 0;
    CHECK(safetensors_read(&s, in_folder("a"), &e), "%s", e.text);
    const Array *a = safetensors_need(&s, "turn", &e);
    CHECK(a && array_to_int32(a, &value, &e) && value == last, "found %d, want %d", value, last);
    CHECK(s.tensors == 2 && s.metadata_count == 2);
    safetensors_free(&s);
}

/* Through a link, in many writes. */
static bool print_file(Error *e) {
    char text[1024];
    File *f = file_create(in_folder("link"), e);
    if (!f) return false;
    file_write(f, text, (size_t)snprintf(text, sizeof text, "%d ", turn));
    for (int i = 0; i < 100; i++)
        file_write(f, text, (size_t)snprintf(text, sizeof text, "%0*d", 1000, turn));
    return file_commit(f, e);
}

static void look_at_print(int last) {
    char *text;
    size_t size;
    Error e = {0};
    bool ok = file_read(in_folder("a"), 0, &text, &size, &e);
    CHECK(ok && size > 100000 && atoi(text) == last && atoi(text + size - 9) == last, "want %d: %s",
          last, e.text);
    if (ok) free(text);
}

/* A report file is whole or absent: a program without memory ends with its status and leaves no
 * file. */
TEST(graders_files) {
    enum { ALL_DONE = 100 };
    CaseReport r[2] = {{.verdict = FAIL, .planned = true, .points = 1}, {.inputs = 1}};
    REPORT_SET(r[0].op, "a");
    REPORT_SET(r[1].op, "b");
    REPORT_SET(r[0].trouble, "it crashed");
    make_folder();
    for (int which = 0; which < 2; which++)
        for (long at = 1;; at++) {
            const char *path = in_folder("report");
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                Error e = {0};
                if (!freopen("/dev/null", "w", stderr)) exit(1);
                fail_at(at, false);
                ShowOptions how = {.reports = which ? path : NULL,
                                   .gradescope = which ? NULL : path,
                                   .notes = "notes"};
                bool ok = show_write(&how, r, 2, 1, &e), all_done = heap.made < at;
                fail_at(0, false);
                exit(ok && all_done ? ALL_DONE : (int)e.status);
            }
            int status = -1;
            CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status),
                  "allocation %ld: it crashed", at);
            if (!WIFEXITED(status)) break;
            char *text = NULL;
            size_t size = 0;
            Error e = {0};
            bool there = file_read(path, 0, &text, &size, &e);
            bool whole =
                there && (which ? strstr(text, "\"operation\": \"a\"") &&
                                      strstr(text, "\"operation\": \"b\"")
                                : strstr(text, "\"output\": \"notes\"") && strstr(text, "\n]}\n") &&
                                      !strstr(text, ": ,") && !strstr(text, ": }"));
            int code = WEXITSTATUS(status);
            CHECK(code == 0 || code == ALL_DONE ? whole : code == STATUS_NO_MEMORY && !there,
                  "allocation %ld: status %d, %s", at, code, there ? text : "no file");
            if (there) free(text);
            unlink(path);
            if (code == ALL_DONE || at > 1000) break;
        }
}

TEST(reading) {
    fail_each_allocation(read_safetensors, look_at_nothing);
}

TEST(writing) {
    make_folder();
    fail_each_allocation(write_safetensors, look_at_safetensors);
    CHECK(symlink("a", in_folder("link")) == 0);
    fail_each_allocation(print_file, look_at_print);
}

RUN_TESTS
