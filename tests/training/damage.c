/* Checkpoints that are truncated or have a flipped bit are refused. resume.c changes their
 * metadata. */
#include "run_helpers.h"
#include "training/checkpoint.h"

/* Almost the smallest model of either kind. */
#define LEAST                                                                                      \
    "--d-model", "2", "--heads", "1", "--layers", "1", "--d-ff", "1", "--batch", "1", "--steps",   \
        "3", "--quiet", "--run", "run"

static const char path[] = "run/checkpoint.safetensors";

/* Refused as bad data, in one line that names the file. */
static bool refused(void) {
    Error e = {0};
    Checkpoint c;
    bool ok = checkpoint_open(&c, "run", &e);
    checkpoint_free(&c);
    return !ok && e.status == STATUS_BAD_DATA && strncmp(e.text, path, strlen(path)) == 0;
}

/* Every change is refused; the original is accepted again. */
static void check_damage(void) {
    size_t size = 0;
    char *bytes = read_bytes(path, &size);
    CHECK(bytes && size > 8 && !refused());
    if (!bytes) return;
    uint64_t header;
    memcpy(&header, bytes, 8);
    header += 8;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < size; i++) {
        int first = i < header ? 0 : (int)(i % 8), end = i < header ? 8 : first + 1;
        for (int bit = first; bit < end; bit++) {
            char other = (char)(bytes[i] ^ 1 << bit);
            CHECK(pwrite(fd, &other, 1, (off_t)i) == 1);
            CHECK(refused(), "bit %d of byte %zu of %zu, a header of %zu", bit, i, size,
                  (size_t)header);
            CHECK(pwrite(fd, &bytes[i], 1, (off_t)i) == 1);
        }
    }
    CHECK(!refused());
    for (size_t n = size; n-- > 0;) {
        CHECK(ftruncate(fd, (off_t)n) == 0);
        CHECK(refused(), "%zu of %zu bytes", n, size);
    }
    close(fd);
    free(bytes);
}

TEST(checkpoint_of_a_text) {
    write_text("text", "abababbabaabababababababaaababab");
    MUST(TRAIN("lm", LEAST, "--text", "text", "--context", "2"));
    check_damage();
}

TEST(checkpoint_of_sequences) {
    MUST(TRAIN("copy", LEAST, "--symbols", "2", "--max-length", "1", "--held-out", "1"));
    check_damage();
}

RUN_PROGRAM_TESTS
