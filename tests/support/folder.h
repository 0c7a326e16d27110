/* Files, and a folder of the test's own in $TMPDIR or /tmp. It is removed when the process that
 * made it ends or makes another. */
#pragma once

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
    if (folder_owner == getpid())
        remove_folder();
    else
        atexit(remove_folder);
    snprintf(folder, sizeof folder, "%s/tapeformer-test-XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(folder)) {
        CHECK(false, "no folder to be had: %s", folder);
        exit(1);
    }
    folder_owner = getpid();
}

/* Goes into a new folder. */
static inline void enter_folder(void) {
    make_folder();
    CHECK(chdir(folder) == 0);
}

/* The path of a name in it, in one of four buffers. */
static inline const char *in_folder(const char *name) {
    static char path[4][512];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static inline void write_bytes(const char *path, const void *bytes, size_t count) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, count, f) == count, "%s cannot be written", path);
    if (f) fclose(f);
}

static inline void write_text(const char *path, const char *text) {
    write_bytes(path, text, strlen(text));
}

/* A file's bytes, followed by a NUL; the caller frees them. NULL: no such file. */
static inline char *read_bytes(const char *path, size_t *count) {
    FILE *f = fopen(path, "rb");
    *count = 0;
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *count = (size_t)ftell(f);
    rewind(f);
    char *bytes = calloc(1, *count + 1);
    if (!bytes || fread(bytes, 1, *count, f) != *count) exit(1);
    fclose(f);
    return bytes;
}

static inline bool same_files(const char *a, const char *b) {
    size_t size[2] = {0, 0};
    char *bytes[2] = {read_bytes(a, &size[0]), read_bytes(b, &size[1])};
    bool same =
        bytes[0] && bytes[1] && size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}
