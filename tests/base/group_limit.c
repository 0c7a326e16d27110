/* Memory and processors are limited by the process's control group or a parent of it, as in a
 * container. */
#include "base/arena.h"
#include "base/system.h"
#include "child.h"
#include <stdint.h>

static void put_limit(const char *folders, const char *name, const char *text) {
    char path[256] = "root";
    mkdir(path, 0777);
    for (const char *at = folders; *at; at += strcspn(at + 1, "/") + 1) {
        snprintf(path, sizeof path, "root%.*s",
                 (int)(at - folders + 1 + (long)strcspn(at + 1, "/")), folders);
        mkdir(path, 0777);
    }
    strcat(strcat(path, "/"), name);
    write_text(path, text);
}

static double memory_of(const char *groups) {
    write_text("groups", groups);
    return system_group_limit("memory.max", "groups", "root");
}

static double processors_of(const char *groups) {
    write_text("groups", groups);
    return system_group_limit("cpu.max", "groups", "root");
}

TEST(the_lowest_limit_counts) {
    put_limit("/a", "memory.max", "3000000\n");
    put_limit("/a/b", "memory.max", "max\n");
    put_limit("/a/b/c", "memory.max", "5000000\n");
    put_limit("/none", "memory.max", "");
    put_limit("/bare", "memory.max", "4000000");
    CHECK(memory_of("0::/a\n") == 3000000);
    CHECK(memory_of("0::/a/b/c\n") == 3000000);
    CHECK(memory_of("0::/\n") == (double)INFINITY);
    CHECK(memory_of("0::/none\n") == (double)INFINITY && memory_of("0::/bare\n") == 4000000);
    CHECK(memory_of("4:memory:/elsewhere/z\n0::/a/b\n") == 3000000);
    CHECK(memory_of("") == (double)INFINITY && memory_of("nonsense\n:\n") == (double)INFINITY);
    CHECK(system_group_limit("memory.max", "none", "root") == (double)INFINITY);
}

TEST(processors_are_shares_of_time) {
    const double none = (double)INFINITY;
    put_limit("/a", "cpu.max", "250000 100000\n");
    put_limit("/a/b", "cpu.max", "max 100000\n");
    put_limit("/a/b/c", "cpu.max", "800000 200000\n");
    put_limit("/half", "cpu.max", "5000 10000\n");
    CHECK(processors_of("0::/a\n") == 2.5 && processors_of("0::/a/b/c\n") == 2.5);
    CHECK(processors_of("0::/half\n") == 0.5);
    CHECK(processors_of("0::/\n") == none && processors_of("3:cpu:/a\n") == none);
    CHECK(processors_of("") == none);
}

TEST(the_machine_has_memory) {
    Error e = {0};
    double machine = system_memory();
    CHECK(machine > 1e6 && machine < 1e15, "found %g", machine);
    CHECK(pages_exist(1000, "little", &e) && !pages_exist(SIZE_MAX, "all", &e));
    CHECK(e.status == STATUS_NO_MEMORY &&
              strstr(e.text, "memory: all would take 1.84e+10 GB, this "),
          "%s", e.text);
}

RUN_PROGRAM_TESTS
