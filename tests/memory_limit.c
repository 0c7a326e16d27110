/* How much memory there is: a container's limit, wherever above the process it stands, in both versions of control
 * groups. */
#include "base/memory_limit.h"
#include "base/arena.h"
#include "base/system.h"
#include "child.h"
#include <stdint.h>

static void put_limit(const char *folders, const char *name, const char *text) {
    char path[256] = "root";
    mkdir(path, 0777);
    for (const char *at = folders; *at; at += strcspn(at + 1, "/") + 1) {
        snprintf(path, sizeof path, "root%.*s", (int)(at - folders + 1 + (long)strcspn(at + 1, "/")),
                 folders);
        mkdir(path, 0777);
    }
    strcat(strcat(path, "/"), name);
    write_text(path, text);
}

static double limit_of(const char *groups) {
    write_text("groups", groups);
    return memory_of_groups("groups", "root");
}

static void lowest_limit_counts(void) {
    enter_folder();
    put_limit("/a", "memory.max", "3000000\n");
    put_limit("/a/b", "memory.max", "max\n");
    put_limit("/a/b/c", "memory.max", "5000000\n");
    put_limit("/memory/x", "memory.limit_in_bytes", "2000000\n");
    put_limit("/memory/x/y", "memory.limit_in_bytes", "9223372036854771712\n");
    put_limit("/memory", "memory.limit_in_bytes", "7000000\n");
    put_limit("/odd", "memory.max", "1234 apples\n");
    put_limit("/none", "memory.max", "");
    put_limit("/bare", "memory.max", "4000000");
    CHECK(limit_of("0::/a\n") == 3000000);
    CHECK(limit_of("0::/a/b/c\n") == 3000000);
    CHECK(limit_of("0::/\n") == (double)INFINITY && limit_of("0::/odd\n") == (double)INFINITY);
    CHECK(limit_of("0::/none\n") == (double)INFINITY && limit_of("0::/bare\n") == 4000000);
    CHECK(limit_of("4:memory,cpu:/x/y\n") == 2000000);
    CHECK(limit_of("9:name=systemd:/a\n4:cpu,memory:/x/y\n1:cpu:/a\n") == 2000000);
    CHECK(limit_of("4:memory:/elsewhere/z\n0::/a/b\n") == 3000000);
    CHECK(limit_of("4:memory:/elsewhere\n") == 7000000);
    CHECK(limit_of("4:memoryless:/x\n") == (double)INFINITY);
    CHECK(limit_of("") == (double)INFINITY && limit_of("nonsense\n:\n") == (double)INFINITY);
    CHECK(memory_of_groups("none", "root") == (double)INFINITY);
}

static void machine_has_memory(void) {
    Error e = {0};
    double machine = system_memory();
    CHECK(machine > 1e6 && machine < 1e15, "found %g", machine);
    CHECK(pages_exist(1000, "little", &e) && !pages_exist(SIZE_MAX, "all", &e));
    CHECK(e.status == STATUS_NO_MEMORY && strstr(e.text, "memory: all would take 1.84e+10 GB, this "), "%s",
          e.text);
}

TEST_MAIN({"the lowest limit counts", lowest_limit_counts}, {"the machine has memory", machine_has_memory})
