/* What the world does wrong, as train and generate meet it: the documented status, one line on stderr that says
 * what was found and what is needed, nothing on stdout, and not a file made or changed. */
#include "base/error.h"
#include "child.h"
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>

/* A run small enough to be trained many times. */
#define SMALL      "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--quiet"
#define SMALL_COPY "copy", SMALL, "--symbols", "5", "--max-length", "4", "--held-out", "20"

/* `want` is the whole line behind "program: "; or, where it ends in "...", how it begins. */
static void check_refusal(const char *program, int status, int want_status, const char *want,
                          const char *argument) {
    size_t length = strlen(want);
    bool beginning = length > 3 && strcmp(want + length - 3, "...") == 0;
    char line[1024];
    snprintf(line, sizeof line, "%s: %.*s%s", program, (int)(beginning ? length - 3 : length), want,
             beginning ? "" : "\n");
    CHECK(status == want_status, "%s: status %d, want %d: %s", argument, status, want_status, err);
    CHECK(beginning ? !strncmp(err, line, strlen(line)) : !strcmp(err, line), "%s: found %swant  %s",
          argument, err, line);
    CHECK(lines_of(err) == 1 && err[strlen(err) - 1] == '\n', "%s: %d lines: %s", argument, lines_of(err),
          err);
    CHECK(*out == 0, "%s: printed %s", argument, out);
}

static void refuses(const char *program, int want_status, const char *want, const char *const *arguments) {
    char *before = strdup(list_folder("."));
    int status = run_program(program, arguments, (Streams){0});
    check_refusal(program, status, want_status, want, arguments[1] ? arguments[1] : arguments[0]);
    CHECK(!strcmp(list_folder("."), before), "%s: the folder was\n%sand is\n%s", want, before, listing);
    free(before);
}

#define TRAIN_REFUSES(status, want, ...)    refuses("train", status, want, ARGUMENTS(__VA_ARGS__))
#define GENERATE_REFUSES(status, want, ...) refuses("generate", status, want, ARGUMENTS(__VA_ARGS__))

/* ---- train ---- */

TEST(train_tasks_and_flags) {
    enter_folder();
    TRAIN_REFUSES(2, "found 0 operands, need copy|reverse|sort|lm, see --help", "--quiet");
    TRAIN_REFUSES(2, "task: found 'translate', need one of copy, reverse, sort, lm", "translate");
    TRAIN_REFUSES(2, "task: found '\\x1B[2Jcopy', need one of copy, reverse, sort, lm", "\x1B[2Jcopy");
    TRAIN_REFUSES(2, "task: found '', need one of copy, reverse, sort, lm", "");
    TRAIN_REFUSES(2, "\"lm\": found one operand too many, need copy|reverse|sort|lm", "copy", "lm");
    TRAIN_REFUSES(2, "--step: no such option, did you mean --steps?", "copy", "--step", "5");
    TRAIN_REFUSES(2, "--colour: no such option, see --help", "copy", "--colour");
    TRAIN_REFUSES(2, "--steps: found twice, need it once", "copy", "--steps", "5", "--steps", "5");
    TRAIN_REFUSES(2, "--run: found no value, need a text", "copy", "--run");
    TRAIN_REFUSES(2, "argument 3: byte 0: found 0xFF, a byte that UTF-8 never has, need UTF-8", "copy",
                  "--run", "\xFF");
}

/* Each number beyond both ends of its range, no number, and more than a machine word or a double holds. */
TEST(train_numbers_out_of_range) {
    static const struct {
        const char *flag, *range, *low, *high;
    } integers[] =
        {
            {"context", "[1,1048576]", "0", "1048577"},
            {"symbols", "[2,20000]", "1", "20001"},
            {"max-length", "[1,4096]", "0", "4097"},
            {"held-out", "[1,10000]", "0", "10001"},
            {"layers", "[1,1000]", "0", "1001"},
            {"heads", "[1,1048576]", "0", "1048577"},
            {"d-model", "[1,1048576]", "0", "1048577"},
            {"d-ff", "[1,1048576]", "0", "1048577"},
            {"steps", "[0,2147483647]", "-1", "2147483648"},
            {"batch", "[1,16777216]", "0", "16777217"},
            {"accumulate", "[1,1048576]", "0", "1048577"},
            {"warmup", "[0,2147483647]", "-1", "2147483648"},
            {"eval-every", "[1,2147483647]", "0", "2147483648"},
            {"checkpoint-every", "[0,2147483647]", "-1", "2147483648"},
            {"samples", "[0,1000]", "-1", "1001"},
            {"threads", "[1,256]", "0", "257"},
        },
      reals[] = {
          {"tail", "[0,1)", "-0.001", "1"},
          {"dropout", "[0,1)", "-1e-9", "1"},
          {"label-smoothing", "[0,1]", "-0.1", "1.001"},
          {"lr", "(0,inf)", "0", "1e309"},
          {"min-lr", "[0,inf)", "-1", "1e309"},
          {"beta1", "[0,1)", "-0.1", "1"},
          {"beta2", "[0,1)", "-0.1", "1"},
          {"epsilon", "[1e-20,inf)", "1e-300", "1e999"},
          {"momentum", "[0,1)", "-0.1", "1"},
          {"weight-decay", "[0,inf)", "-1e-3", "1e999"},
          {"clip", "[0,inf)", "-1", "1e999"},
      };
    enter_folder();
    char flag[32], want[160];
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        const char *values[] = {
            integers[i].low, integers[i].high, "9223372036854775808", "1.5", "1e3", "nan", ""};
        snprintf(flag, sizeof flag, "--%s", integers[i].flag);
        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            snprintf(want, sizeof want, "%s: found \"%s\", need an integer in %s", flag, values[j],
                     integers[i].range);
            TRAIN_REFUSES(2, want, "copy", flag, values[j]);
        }
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        const char *values[] = {reals[i].low, reals[i].high, "nan", "inf", "0x1", "1 ", ""};
        snprintf(flag, sizeof flag, "--%s", reals[i].flag);
        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            snprintf(want, sizeof want, "%s: found \"%s\", need a number in %s", flag, values[j],
                     reals[i].range);
            TRAIN_REFUSES(2, want, "copy", flag, values[j]);
        }
    }
    TRAIN_REFUSES(2, "--seed: found \"18446744073709551616\", need an integer in [0,2^64)", "copy", "--seed",
                  "18446744073709551616");
    TRAIN_REFUSES(2, "--norm: found \"middle\", need one of post|pre", "copy", "--norm", "middle");
}

/* Values that are each in range but cannot be together, and flags that would do nothing. */
TEST(train_contradictions) {
    enter_folder();
    TRAIN_REFUSES(2, "heads: found 3, need a divisor of d_model 128", "copy", "--heads", "3", "--d-model",
                  "128");
    TRAIN_REFUSES(2, "d_model: found 7, need an even number for sinusoidal positions", "copy", "--d-model",
                  "7", "--heads", "7");
    TRAIN_REFUSES(2, "--d-model: found 1048576, need at most 262144, or a --d-ff of its own", "copy",
                  "--d-model", "1048576");
    TRAIN_REFUSES(2, "--warmup: found 11, need at most the 10 of --steps", "copy", "--steps", "10",
                  "--warmup", "11");
    TRAIN_REFUSES(2, "--min-lr: found 0.2, need at most the 0.1 of --lr", "copy", "--lr", "0.1", "--min-lr",
                  "0.2");
    TRAIN_REFUSES(2, "--text: found the task copy, need lm", "copy", "--text", "x");
    TRAIN_REFUSES(2, "--context: found the task sort, need lm", "sort", "--context", "8");
    TRAIN_REFUSES(2, "--tail: found the task reverse, need lm", "reverse", "--tail", "0");
    write_text("text", "a text that is long enough for the context that is asked for");
    TRAIN_REFUSES(2, "--symbols: found the task lm, need copy, reverse or sort", "lm", "--text", "text",
                  "--context", "4", "--symbols", "8");
    TRAIN_REFUSES(2, "--max-length: found the task lm, need copy, reverse or sort", "lm", "--text", "text",
                  "--context", "4", "--max-length", "8");
    TRAIN_REFUSES(2, "--held-out: found the task lm, need copy, reverse or sort", "lm", "--text", "text",
                  "--context", "4", "--held-out", "8");
    TRAIN_REFUSES(2, "--beta1: found --optimizer sgd, need adamw", "copy", "--optimizer", "sgd", "--beta1",
                  "0.5");
    TRAIN_REFUSES(2, "--beta2: found --optimizer sgd, need adamw", "copy", "--optimizer", "sgd", "--beta2",
                  "0.5");
    TRAIN_REFUSES(2, "--epsilon: found --optimizer sgd, need adamw", "copy", "--optimizer", "sgd",
                  "--epsilon", "0.5");
    TRAIN_REFUSES(2, "--momentum: found --optimizer adamw, need sgd", "copy", "--momentum", "0.5");
    TRAIN_REFUSES(2, "--min-lr: found another --schedule, need cosine", "copy", "--schedule", "noam",
                  "--min-lr", "0.1");
    TRAIN_REFUSES(2, "--warmup: found --schedule constant, need noam or cosine", "copy", "--schedule",
                  "constant", "--warmup", "5");
    TRAIN_REFUSES(2, "--samples: found --quiet, need one of the two", "copy", "--quiet", "--samples", "3");
}

TEST(train_texts) {
    enter_folder();
    mkdir("folder", 0777);
    mkfifo("fifo", 0666);
    write_text("empty", "");
    write_text("mark", "\xEF\xBB\xBF");
    write_text("short", "only a few");
    write_text("tail too short", "0123456789012345678901234567890123456789");
    write_text("latin1", "caf\xE9 au lait, caf\xE9 noir");
    write_text("overlong", "abc\xC0\xAF");
    write_text("surrogate", "abc\xED\xA0\x80");
    write_text("cut", "abc\xE2\x82");
    write_bytes("nul", "abc\0def", 7);
    write_bytes("utf16",
                "\xFF\xFE"
                "a\0b\0",
                6);
    static const struct {
        const char *text;
        int status;
        const char *want;
    } cases[] = {
        {"none", 66, "none: No such file or directory"},
        {"short/none", 66, "short/none: Not a directory"},
        {"", 66, ": No such file or directory"},
        {"folder", 66, "folder: found a directory, need a regular file"},
        {"fifo", 66, "fifo: found a FIFO, need a regular file"},
        {"/dev/zero", 66, "/dev/zero: found a device, need a regular file"},
        {"empty", 65, "empty: training part: found 0 characters, need 9 (context 8 and one more)"},
        {"mark", 65, "mark: training part: found 0 characters, need 9 (context 8 and one more)"},
        {"short", 65,
         "short: held-out tail: found 1 characters, need 9 (context 8 and one more), or --context 8 --tail "
         "0"},
        {"tail too short", 65,
         "tail too short: held-out tail: found 4 characters, need 9 (context 8 and one more), or --context 8 "
         "--tail 0"},
        {"latin1", 65, "latin1: byte 3: found a character cut short, need UTF-8 text"},
        {"overlong", 65, "overlong: byte 3: found an overlong form, need UTF-8 text"},
        {"surrogate", 65, "surrogate: byte 3: found a surrogate, need UTF-8 text"},
        {"cut", 65, "cut: byte 3: found a character cut short by the end, need UTF-8 text"},
        {"nul", 65, "nul: byte 3: found a NUL, need UTF-8 text"},
        {"utf16", 65, "utf16: byte 0: found a byte that UTF-8 never has, need UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TRAIN_REFUSES(cases[i].status, cases[i].want, "lm", "--text", cases[i].text, "--context", "8");
    TRAIN_REFUSES(
        65,
        "short: training part: found 10 characters, need 11 (context 10 and one more), or --context 8 "
        "--tail 0",
        "lm", "--text", "short", "--tail", "0", "--context", "10");
    TRAIN_REFUSES(
        65,
        "short: training part: found 9 characters, need 65 (context 64 and one more), or --context 8 "
        "--tail 0",
        "lm", "--text", "short");
}

/* More than any machine has is refused before it is touched. */
TEST(train_sizes_beyond_memory) {
    enter_folder();
    write_text("text", "a text that is long enough for the context that is asked for");
    TRAIN_REFUSES(71, "memory: 16777216 x 1048576 rows of 17 tokens are more than a step can number", "copy",
                  "--batch", "16777216", "--accumulate", "1048576");
    TRAIN_REFUSES(71, "memory: the training would take ...", "copy", "--d-model", "1048576", "--d-ff",
                  "1048576");
    TRAIN_REFUSES(71, "memory: the training would take ...", "copy", "--d-model", "65536", "--layers",
                  "1000");
    TRAIN_REFUSES(71, "memory: the training would take ...", "copy", "--max-length", "4096", "--d-model",
                  "65536", "--layers", "100");
    TRAIN_REFUSES(71, "memory: the training would take ...", "copy", "--symbols", "20000", "--d-model",
                  "262144");
    TRAIN_REFUSES(71, "memory: the training would take ...", "lm", "--text", "text", "--tail", "0",
                  "--context", "50", "--d-model", "131072");
}

TEST(train_places_that_cannot_be) {
    enter_folder();
    write_text("file", "in the way");
    mkdir("metrics in the way", 0777);
    mkdir("metrics in the way/metrics.csv", 0777);
    mkdir("model in the way", 0777);
    mkdir("model in the way/model.safetensors", 0777);
    mkdir("fifo in the way", 0777);
    mkfifo("fifo in the way/model.safetensors", 0666);
    char too_long[5000] = {0};
    memset(too_long, 'x', sizeof too_long - 1);
    static const struct {
        const char *run, *want;
    } cases[] = {
        {"", "directory: found a path of 0 bytes, need 1 to 4095"},
        {"file", "file: cannot be made a directory: a file of that name is there"},
        {"file/run", "file: cannot be made a directory: a file of that name is there"},
        {"/proc/run", "/proc/run: cannot be made a directory: No such file or directory"},
        {"/proc", "/proc/model.safetensors: No such file or directory"},
        {"/proc/1/fd/run", "/proc/1/fd/run: cannot be made a directory: No such file or directory"},
        {"/dev/null", "/dev/null: cannot be made a directory: a file of that name is there"},
        {"metrics in the way", "metrics in the way/metrics.csv: found a directory, need a regular file"},
        {"model in the way",
         "model in the way: found a run, need --resume to continue it or --force to replace it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TRAIN_REFUSES(73, cases[i].want, SMALL_COPY, "--run", cases[i].run);
    TRAIN_REFUSES(73, "xxx...", SMALL_COPY, "--run", too_long);
    TRAIN_REFUSES(73, "model in the way/model.safetensors: found a directory, need a regular file",
                  SMALL_COPY, "--run", "model in the way", "--force");
    TRAIN_REFUSES(73, "fifo in the way/model.safetensors: found a FIFO, need a regular file", SMALL_COPY,
                  "--run", "fifo in the way", "--force");
}

/* A trained model is replaced only on demand, and not by a training that fails. */
TEST(train_a_run_is_not_lost) {
    enter_folder();
    CHECK(TRAIN(SMALL_COPY, "--steps", "3", "--run", "run") == 0, "%s", err);
    TRAIN_REFUSES(73, "run: found a run, need --resume to continue it or --force to replace it", SMALL_COPY,
                  "--run", "run");
    CHECK(rename("run/model.safetensors", "kept") == 0);
    TRAIN_REFUSES(73, "run: found a run, need --resume to continue it or --force to replace it", SMALL_COPY,
                  "--run", "run");
    CHECK(link("kept", "run/model.safetensors") == 0);
    int status = TRAIN(SMALL_COPY, "--steps", "3", "--run", "run", "--force", "--lr", "1e300");
    CHECK(status == STATUS_NON_FINITE && !strncmp(err, "not saved: step 1: found a weight of ", 36) &&
              strstr(err, "; the earlier run stands\ntrain: step 1: found a "),
          "status %d: %s", status, err);
    CHECK(same_files("run/model.safetensors", "kept"));
    status = TRAIN(SMALL_COPY, "--steps", "1", "--run", "run", "--force", "--lr", "1e300", "--warmup", "0");
    check_refusal("train", status, STATUS_NON_FINITE, "step 1: found a ...", "--lr 1e300");
    CHECK(same_files("run/model.safetensors", "kept"));
    CHECK(!strstr(list_folder("run"), "tmp"), "%s", listing);
    CHECK(TRAIN(SMALL_COPY, "--steps", "4", "--run", "run", "--force") == 0, "%s", err);
    CHECK(!same_files("run/model.safetensors", "kept"));
}

/* ---- generate ---- */

static void copy_with_change(const char *from, const char *to, const char *find, const char *replace) {
    size_t size = 0;
    char *bytes = read_bytes(from, &size), *at = bytes ? memmem(bytes, size, find, strlen(find)) : NULL;
    CHECK(at && strlen(find) == strlen(replace), "%s: no %s", from, find);
    if (at) memcpy(at, replace, strlen(find));
    mkdir(to, 0777);
    char path[256];
    snprintf(path, sizeof path, "%s/model.safetensors", to);
    if (bytes) write_bytes(path, bytes, size);
    free(bytes);
}

TEST(generate_models_that_cannot_be) {
    enter_folder();
    CHECK(TRAIN(SMALL_COPY, "--steps", "1", "--run", "run") == 0, "%s", err);
    GENERATE_REFUSES(2, "found 0 operands, need RUN, see --help", "--prompt", "12");
    GENERATE_REFUSES(66, "none/model.safetensors: No such file or directory", "none", "--prompt", "12");
    GENERATE_REFUSES(66, "directory: found a path of 0 bytes, need 1 to 4095", "", "--prompt", "12");
    TRAIN_REFUSES(66, "directory: found a path of 0 bytes, need 1 to 4095", "--resume", "");
    GENERATE_REFUSES(66, "run/metrics.csv/model.safetensors: Not a directory", "run/metrics.csv", "--prompt",
                     "12");
    mkdir("folder", 0777);
    GENERATE_REFUSES(66, "folder/model.safetensors: No such file or directory", "folder", "--prompt", "12");
    mkdir("folder/model.safetensors", 0777);
    GENERATE_REFUSES(66, "folder/model.safetensors: found a directory, need a regular file", "folder",
                     "--prompt", "12");

    size_t size = 0;
    char *bytes = read_bytes("run/model.safetensors", &size);
    mkdir("cut", 0777);
    size_t lengths[] = {0, 7, 8, 100, size / 2, size - 1};
    for (size_t i = 0; bytes && i < sizeof lengths / sizeof *lengths; i++) {
        write_bytes("cut/model.safetensors", bytes, lengths[i]);
        GENERATE_REFUSES(65, "cut/model.safetensors: ...", "cut", "--prompt", "12");
    }
    mkdir("damaged", 0777);
    if (bytes) bytes[size - 1] ^= 1;
    if (bytes) write_bytes("damaged/model.safetensors", bytes, size);
    GENERATE_REFUSES(65, "damaged/model.safetensors: ...", "damaged", "--prompt", "12");
    if (bytes) memset(bytes + size - sizeof(real), 0xFF, sizeof(real)); /* a NaN */
    if (bytes) write_bytes("damaged/model.safetensors", bytes, size);
    GENERATE_REFUSES(65, "damaged/model.safetensors: the file is damaged: ...", "damaged", "--prompt", "12");
    GENERATE_REFUSES(65, "damaged/model.safetensors: ...", "damaged", "--no-checksum", "--prompt", "12");
    CHECK(strstr(err, "found nan") || strstr(err, "found -nan"), "%s", err);
    free(bytes);

    static const struct {
        const char *find, *replace, *want; /* behind the path */
    } cases[] = {
        {"\"vocabulary\"", "\"vocabulari\"", "metadata: found no vocabulary, need it"},
        {"\"12345\"", "\"12344\"", "byte 4: found a duplicate character, need each once"},
        {"\"12345\"", "\"1234\" ", "metadata: vocabulary: found 4 characters, need 5"},
        {"\"begin_id\": \"5\"", "\"begin_id\": \"9\"",
         "metadata: begin_id: found 9, need a token in [5,8), not padding"},
        {"\"begin_id\": \"5\"", "\"begin_id\":\" 5\"",
         "metadata: begin_id: found  5, need a token in [5,8), not padding"},
        {"\"begin_id\": \"5\"", "\"begin_id\": \"4\"",
         "metadata: begin_id: found 4, need a token in [5,8), not padding"},
        {"\"begin_id\": \"5\"", "\"begin_id\": \"7\"",
         "metadata: begin_id: found 7, need a token in [5,8), not padding"},
        {"\"begin_id\": \"5\"", "\"begin_id\": \"6\"",
         "metadata: end_id: found 6, need another than begin_id"},
        {"\"end_id\"", "\"no_end\"", "metadata: end_id: found none, need a token in [5,8), not padding"},
        {"\"heads\": \"2\"", "\"heads\": \"3\"", "metadata: heads: found 3, need a divisor of d_model 8"},
        {"\"heads\": \"2\"", "\"heads\":\" 2\"", "metadata: heads: found \" 2\", need a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[200];
        snprintf(want, sizeof want, "changed/model.safetensors: %s", cases[i].want);
        copy_with_change("run/model.safetensors", "changed", cases[i].find, cases[i].replace);
        GENERATE_REFUSES(65, want, "changed", "--no-checksum", "--prompt", "12");
        GENERATE_REFUSES(65, "changed/model.safetensors: the file is damaged: ...", "changed", "--prompt",
                         "12");
    }
}

/* A file whose checksum is misspelt is refused unless asked for; one that has none is read, and it is said. */
TEST(generate_models_without_a_checksum) {
    enter_folder();
    CHECK(TRAIN(SMALL_COPY, "--steps", "1", "--run", "run") == 0, "%s", err);
    copy_with_change("run/model.safetensors", "changed", "\"crc32\"", "\"crc-2\"");
    GENERATE_REFUSES(65,
                     "changed/model.safetensors: the file is damaged: found no \"crc32\" before its checksum",
                     "changed", "--prompt", "12");
    CHECK(GENERATE("changed", "--no-checksum", "--prompt", "12") == 0 && lines_of(out) == 1, "%s", err);
    CHECK(!strcmp(err, "generate: changed/model.safetensors: checksum ignored\n"), "%s", err);
    copy_with_change("run/model.safetensors", "changed", "__\": {", "__\":{ ");
    CHECK(GENERATE("changed", "--prompt", "12") == 0 && lines_of(out) == 1, "%s", err);
    CHECK(
        !strcmp(err, "generate: changed/model.safetensors: found no checksum: written by another program\n"),
        "%s", err);
}

/* Weights that are numbers, but so large that nothing can be computed with them: nothing of an answer is printed. */
TEST(generate_models_that_compute_nothing) {
    if (sizeof(real) == sizeof(double)) return; /* which such weights do not overflow */
    enter_folder();
    write_text("text", "a text that is long enough for the context that is asked for");
    CHECK(TRAIN("lm", SMALL, "--text", "text", "--tail", "0", "--context", "8", "--steps", "1", "--run",
                "run") == 0,
          "%s", err);
    size_t size = 0;
    char *bytes = read_bytes("run/model.safetensors", &size);
    uint64_t header = 0;
    if (bytes) memcpy(&header, bytes, sizeof header);
    for (size_t at = 8 + header; bytes && at < size; at += sizeof(real))
        memcpy(bytes + at, &(real){(real)0.9e18}, sizeof(real));
    mkdir("large", 0777);
    if (bytes) write_bytes("large/model.safetensors", bytes, size);
    free(bytes);
    CHECK(GENERATE("large", "--no-checksum", "--prompt", "a") == 65 && !*out, "%s", out);
    CHECK(strstr(err, "generate: the model: found a score of ") && strstr(err, ", need a finite number\n"),
          "%s", err);
}

/* A folder whose path leaves no room for the name of a file in it. */
TEST(paths_without_room) {
    enter_folder();
    GENERATE_REFUSES(66, "./././...", longest_path());
    TRAIN_REFUSES(66, "./././...", "--resume", longest_path());
    TRAIN_REFUSES(73, "./././...", SMALL_COPY, "--run", longest_path());
}

TEST(generate_prompts) {
    enter_folder();
    CHECK(TRAIN(SMALL_COPY, "--steps", "1", "--run", "run") == 0, "%s", err);
    GENERATE_REFUSES(65, "--prompt: found no character, need at least one", "run", "--prompt", "");
    GENERATE_REFUSES(65,
                     "--prompt: byte 2: found 'a' (U+0061), need one of the 5 characters of the vocabulary",
                     "run", "--prompt", "12a3");
    GENERATE_REFUSES(65, "--prompt: found 6 symbols, need at most 5", "run", "--prompt", "123451");
    GENERATE_REFUSES(2, "--top-k: found --temperature 0, which is greedy, need a higher temperature", "run",
                     "--top-k", "3", "--prompt", "1");
    GENERATE_REFUSES(2, "--temperature: found \"nan\", need a number in [0,1000]", "run", "--temperature",
                     "nan");
    GENERATE_REFUSES(2, "--length: found \"0\", need an integer in [1,1000000]", "run", "--length", "0");

    /* From stdin, the lines before are answered. */
    static const struct {
        const char *text, *want;
        int answers;
    } cases[] = {
        {"12\n\n34\n", "stdin: line 2: found no character, need at least one", 1},
        {"x\n", "stdin: line 1: byte 0: found 'x' (U+0078), need one of the 5 characters of the vocabulary",
         0},
        {"1\n2\n3\xFF\n", "stdin: line 3: byte 1: found a byte that UTF-8 never has, need UTF-8 text", 2},
        {"123451", "stdin: line 1: found 6 symbols, need at most 5", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("lines", cases[i].text);
        int status = run_program("generate", ARGUMENTS("run"), (Streams){.input = "lines"});
        CHECK(lines_of(out) == cases[i].answers, "found %s", out);
        *out = 0;
        check_refusal("generate", status, STATUS_BAD_DATA, cases[i].want, cases[i].text);
    }
    int status = run_program("generate", ARGUMENTS("run"), (Streams){.input = "."});
    check_refusal("generate", status, STATUS_IO, "stdin: reading failed: Is a directory", "a directory");
}

/* ---- Standard streams ---- */

/* What is printed and lost is an error; the model, which was saved, is kept. */
TEST(output_that_is_lost) {
    enter_folder();
    const char *const sinks[] = {"/dev/full", ""};
    const char *const causes[] = {"standard output: No space left on device",
                                  "standard output: Bad file descriptor"};
    for (int i = 0; i < 2; i++) {
        Streams lost = {.output = sinks[i]};
        int status = run_program(
            "train", ARGUMENTS(SMALL_COPY, "--steps", "3", "--json", "--run", "run", "--force"), lost);
        check_refusal("train", status, STATUS_IO, causes[i], "--json");
        CHECK(GENERATE("run", "--prompt", "12") == 0 && *out, "%s", err);
        status = run_program("generate", ARGUMENTS("run", "--prompt", "12"), lost);
        check_refusal("generate", status, STATUS_IO, causes[i], "generate");
        status = run_program("train", ARGUMENTS("--help"), lost);
        check_refusal("train", status, STATUS_IO, causes[i], "--help");
        status = run_program("train", ARGUMENTS("copy", "--dry-run"), lost);
        check_refusal("train", status, STATUS_IO, causes[i], "--dry-run");
        status = run_program("train", ARGUMENTS("copy", "--nonsense"), lost);
        check_refusal("train", status, STATUS_USAGE, "--nonsense: no such option, see --help", "--nonsense");
    }
    /* Nothing to print, nothing lost. */
    CHECK(run_program("train", ARGUMENTS(SMALL_COPY, "--steps", "3", "--run", "run", "--force"),
                      (Streams){.output = "/dev/full"}) == 0,
          "%s", err);
}

/* A reader of figures that goes, as `| head -n 1` does, does not take the run with it. */
TEST(a_reader_that_goes) {
    enter_folder();
    char first[16];
    CHECK(mkfifo("pipe", 0600) == 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    FILE *to_out = tmpfile(), *to_err = tmpfile();
    pid_t child = start_program(
        "train", ARGUMENTS(SMALL_COPY, "--steps", "300", "--eval-every", "3", "--json", "--run", "run"),
        (Streams){.output = "pipe"}, to_out, to_err);
    CHECK(poll(&(struct pollfd){.fd = reader, .events = POLLIN}, 1, 50000) == 1);
    CHECK(read(reader, first, sizeof first) > 0);
    close(reader);
    int status = wait_program(child);
    slurp(to_out, out);
    slurp(to_err, err);
    CHECK(status == STATUS_IO, "status %d: %s", status, err);
    CHECK(strcmp(err, "train: standard output: Broken pipe\n") == 0, "%s", err);
    CHECK(GENERATE("run", "--prompt", "12") == 0 && *out, "%s", err);
}

/* With standard streams closed a run leaves the same files: nothing that is meant for them gets into these. */
TEST(streams_that_are_closed) {
    enter_folder();
    CHECK(run_program("train",
                      ARGUMENTS("copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4",
                                "--held-out", "20", "--steps", "5", "--run", "open", "--json"),
                      (Streams){0}) == 0,
          "%s", err);
    CHECK(run_program("train",
                      ARGUMENTS("copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4",
                                "--held-out", "20", "--steps", "5", "--run", "closed", "--json"),
                      (Streams){"", "", "", 0}) == STATUS_IO);
    CHECK(same_files("open/model.safetensors", "closed/model.safetensors"));
    size_t size = 0;
    char *csv = read_bytes("closed/metrics.csv", &size);
    CHECK(csv && lines_of(csv) == 6 && !strchr(csv, '{') && !strstr(csv, "layers"), "%s", csv ? csv : "none");
    free(csv);
    CHECK(run_program("generate", ARGUMENTS("open"), (Streams){.input = ""}) == STATUS_IO);
    CHECK(!strcmp(err, "generate: stdin: reading failed: Bad file descriptor\n") && !*out, "%s", err);
    CHECK(run_program("generate", ARGUMENTS("open", "--prompt", "1"), (Streams){"", NULL, "", 0}) == 0);
    CHECK(run_program("generate", ARGUMENTS("open", "--prompt", "?"), (Streams){.error = ""}) == 65 && !*out);
}

RUN_PROGRAM_TESTS
