/* A folder of the test's own in $TMPDIR, or in /tmp; removed when its process ends, and not when one that it has forked
 * does. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include "test.h"

static char folder[128];

static pid_t folder_owner;

static inline void remove_folder(void) {
    char command[sizeof folder + 16];
    if (getpid() != folder_owner) return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) printf("  %s is left behind\n", folder);
}

static inline void make_folder(void) {
    const char *where = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tapeformer-test-XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(folder)) {
        CHECK(false, "no folder to be had: %s", folder);
        exit(1);
    }
    folder_owner = getpid();
    atexit(remove_folder);
}

/* The path of a name in it, in one of four buffers. */
static inline const char *in_folder(const char *name) {
    static char path[4][512];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

#endif
