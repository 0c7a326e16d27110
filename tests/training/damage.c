/* Checkpoints that are truncated, have a flipped bit, or, without a checksum, impossible metadata, are
 * refused. */
#include "formats/bytes.h"
#include "run_helpers.h"
#include "training/checkpoint.h"

/* Almost the smallest model of either kind. */
#define LEAST                                                                                                \
    "--d-model", "2", "--heads", "1", "--layers", "1", "--d-ff", "1", "--batch", "1", "--steps", "3",        \
        "--quiet", "--run", "run"

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
    size_t header = 8 + (size_t)bytes_number(bytes);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < size; i++)
        for (int bit = i < header ? 0 : (int)(i % 8), end = i < header ? 8 : bit + 1; bit < end; bit++) {
            char other = (char)(bytes[i] ^ 1 << bit);
            CHECK(pwrite(fd, &other, 1, (off_t)i) == 1);
            CHECK(refused(), "bit %d of byte %zu of %zu, a header of %zu", bit, i, size, header);
            CHECK(pwrite(fd, &bytes[i], 1, (off_t)i) == 1);
        }
    CHECK(!refused());
    for (size_t n = size; n-- > 0;) {
        CHECK(ftruncate(fd, (off_t)n) == 0);
        CHECK(refused(), "%zu of %zu bytes", n, size);
    }
    close(fd);
    free(bytes);
}

static void text_model(void) {
    enter_folder();
    write_text("text", "abababbabaabababababababaaababab");
    CHECK(TRAIN("lm", LEAST, "--text", "text", "--context", "2") == 0, "%s", err);
    check_damage();
}

static void sequence_model(void) {
    enter_folder();
    CHECK(TRAIN("copy", LEAST, "--symbols", "2", "--max-length", "1", "--held-out", "1") == 0, "%s", err);
    check_damage();
}

/* Replaces the first occurrence of a text by another of the same length. */
static void change(char *bytes, size_t size, const char *find, const char *replace) {
    size_t n = strlen(find);
    char *at = memmem(bytes, size, find, n);
    CHECK(at && strlen(replace) == n, "%s", find);
    if (at) memcpy(at, replace, n);
}

/* A change to a checkpoint, and the message and status of ./train. */
static const struct Change {
    const char *find, *replace, *want;
    int status;
} changes[] = {
    {"run.step\": \"3", "run.step\": \"x", "metadata: run.step: found x, need a number", 65},
    {"run.step\": \"3", "run.step\":\"-3", "metadata: run.step: found -3, need a number", 65},
    {"run.step", "run.stop", "metadata: run.step: found none, need a number", 65},
    {"run.best_step\": \"", "run.best_step\":\"x", "metadata: run.best_step: found x", 65},
    {"recipe.lr\": \"0.002", "recipe.lr\": \"fast!",
     "metadata: recipe.lr: found \"fast!\", need a number in (0,inf)", 65},
    {"recipe.lr", "recipe.lx", "metadata: found no recipe.lr, need it", 65},
    {"\"task", "\"tusk", "metadata: found no task, need it", 65},
    {"precision\": \"", "precision\":\"x", "text or program differ: precision: found ", 78},
    {"text_crc32\": \"", "text_crc32\":\"x", "text or program differ: text_crc32: found ", 78},
    {"\"vocabulary\": \"ab", "\"vocabulary\": \"ac", "text or program differ: vocabulary: found ab, need ac",
     78},
    {"moment1.norm.bias", "moment3.norm.bias", "found no tensor \"moment1.norm.bias\"", 65},
    {"[2, 2]", "[4, 1]", "found shape [4,1], need [2,2]", 65},
    {sizeof(real) == 4 ? "\"F32" : "\"F64", sizeof(real) == 4 ? "\"I32" : "\"I64",
     sizeof(real) == 4 ? "found I32, need F32" : "found I64, need F64", 65},
};

static void expect_said(const char *bytes, size_t size, const char *want, int want_status) {
    write_bytes(path, bytes, size);
    int status = TRAIN("--resume", "run", "--steps", "4", "--quiet");
    CHECK(status == want_status && lines_of(err) == (status != 0) && strstr(err, want), "status %d: %s",
          status, err);
}

static void strange_checkpoints(void) {
    enter_folder();
    write_text("text", "abababbabaabababababababaaababab");
    CHECK(TRAIN("lm", LEAST, "--text", "text", "--context", "2") == 0, "%s", err);
    size_t size = 0;
    char *bytes = read_bytes(path, &size), *changed = malloc(size);
    change(bytes, size, "{\"__metadata__\": {\"crc32\": \"", "{\"__metadata__\" : {\"crc32\":\"");
    expect_said(bytes, size, "", 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        memcpy(changed, bytes, size);
        change(changed, size, changes[i].find, changes[i].replace);
        expect_said(changed, size, changes[i].want, changes[i].status);
    }
    memcpy(changed, bytes, size);
    memset(changed + size - sizeof(real), 0xFF, sizeof(real));
    expect_said(changed, size, "nan, need a finite number", 65);
    free(bytes), free(changed);
}

PROGRAM_TEST_MAIN({"strange checkpoints", strange_checkpoints}, {"checkpoint of a text", text_model},
                  {"checkpoint of sequences", sequence_model})
