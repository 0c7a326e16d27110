/* Bad input of train and generate gives the documented status, one line on stderr that says what
 * was found and what is needed, and nothing on stdout. No file is made or changed. */
#include "base/error.h"
#include "child.h"
#include "record_lines.h"
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>

/* A run small enough to be trained many times. */
#define SMALL      "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--quiet"
#define SMALL_COPY "copy", SMALL, "--symbols", "5", "--max-length", "4", "--held-out", "20"
#define SMALL_WORDS                                                                                \
    "train copy --d-model 8 --heads 2 --layers 1 --batch 4 --quiet --symbols 5 --max-length 4 "    \
    "--held-out "                                                                                  \
    "20 "

/* `want` is the whole line after "program: "; or, where it ends in "...", how it begins. */
static void check_refusal(const char *program, int status, int want_status, const char *want,
                          const char *command) {
    size_t length = strlen(want);
    bool beginning = length > 3 && strcmp(want + length - 3, "...") == 0;
    char line[1024];
    snprintf(line, sizeof line, "%s: %.*s%s", program, (int)(beginning ? length - 3 : length), want,
             beginning ? "" : "\n");
    CHECK(status == want_status, "%s: status %d, want %d: %s", command, status, want_status, err);
    CHECK(beginning ? !strncmp(err, line, strlen(line)) : !strcmp(err, line),
          "%s: found %swant  %s", command, err, line);
    CHECK(lines_of(err) == 1 && err[strlen(err) - 1] == '\n', "%s: %d lines: %s", command,
          lines_of(err), err);
    CHECK(*out == 0, "%s: printed %s", command, out);
}

/* A program and its arguments with blanks between them, '' for one without a character. */
static void refuses(const char *command, int want_status, const char *want) {
    char *before = strdup(list_folder(".")), *copy = strdup(command),
         *words[MAX_ARGUMENTS] = {NULL};
    int count = 0;
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[count++] = strcmp(word, "''") ? word : (char *)"";
    int status = run_program(words[0], (const char *const *)words + 1, (Streams){0});
    check_refusal(words[0], status, want_status, want, command);
    CHECK(!strcmp(list_folder("."), before), "%s: the folder was\n%sand is\n%s", want, before,
          listing);
    free(before);
    free(copy);
}

typedef struct Refusal {
    const char *command;
    int status;
    const char *want;
} Refusal;

#define REFUSES(...)                                                                               \
    for (size_t i_ = 0; i_ < sizeof((const Refusal[]){__VA_ARGS__}) / sizeof(Refusal); i_++)       \
    refuse(&((const Refusal[]){__VA_ARGS__})[i_])

static void refuse(const Refusal *r) {
    refuses(r->command, r->status, r->want);
}

/* ---- train ---- */

TEST(train_tasks_and_flags) {
    REFUSES(
        {"train --quiet", 2, "found 0 operands, need copy|reverse|sort|add|pairs|lm, see --help"},
        {"train \x1B[2Jcopy", 2,
         "task: found '\\x1B[2Jcopy', need one of copy, reverse, sort, add, pairs, lm"},
        {"train ''", 2, "task: found '', need one of copy, reverse, sort, add, pairs, lm"},
        {"train LM text", 2, "task: found 'LM', need one of copy, reverse, sort, add, pairs, lm"},
        {"train copy lm", 2,
         "\"lm\": found one operand too many, need copy|reverse|sort|add|pairs|lm"},
        {"train lm -", 65, "stdin: found 0 tokens, need at least 2"},
        {"train lm --block_size 35", 2, "--block-size: no such option, see --help all"});
}

/* Both sides of each option's range. base/options.c reads numbers in other ways. */
TEST(train_numbers_out_of_range) {
    static const struct {
        const char *flag, *range, *low, *high;
    } options[] = {
        {"context", "an integer in [1,1048576]", "0", "1048577"},
        {"symbols", "an integer in [2,20000]", "1", "20001"},
        {"max-length", "an integer in [1,4096]", "0", "4097"},
        {"held-out", "an integer in [1,10000]", "0", "10001"},
        {"layers", "an integer in [1,1000]", "0", "1001"},
        {"heads", "an integer in [1,1048576]", "0", "1048577"},
        {"d-model", "an integer in [1,1048576]", "0", "1048577"},
        {"d-ff", "an integer in [1,1048576]", "0", "1048577"},
        {"steps", "an integer in [0,2147483647]", "-1", "2147483648"},
        {"batch", "an integer in [1,16777216]", "0", "16777217"},
        {"accumulate", "an integer in [1,1048576]", "0", "1048577"},
        {"warmup", "an integer in [0,2147483647]", "-1", "2147483648"},
        {"eval-every", "an integer in [1,2147483647]", "0", "2147483648"},
        {"checkpoint-every", "an integer in [0,2147483647]", "-1", "2147483648"},
        {"tail", "a number in [0,1)", "-0.001", "1"},
        {"dropout", "a number in [0,1)", "-1e-9", "1"},
        {"label-smoothing", "a number in [0,1]", "-0.1", "1.001"},
        {"lr", "a number in (0,inf)", "0", "1e309"},
        {"min-lr", "a number in [0,inf)", "-1", "1e309"},
        {"beta1", "a number in [0,1)", "-0.1", "1"},
        {"beta2", "a number in [0,1)", "-0.1", "1"},
        {"weight-decay", "a number in [0,inf)", "-1e-3", "1e999"},
        {"clip", "a number in [0,inf)", "-1", "1e999"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int high = 0; high < 2; high++) {
            const char *value = high ? options[i].high : options[i].low;
            char command[64], want[160];
            snprintf(command, sizeof command, "train copy --%s %s", options[i].flag, value);
            snprintf(want, sizeof want, "--%s: found \"%s\", need %s", options[i].flag, value,
                     options[i].range);
            refuses(command, 2, want);
        }
}

/* Values that are each in range but exclude each other, and flags without effect. */
TEST(train_contradictions) {
#define LM "train lm --text text --context 4 "
    write_text("text", "a text that is long enough for the context that is asked for");
    REFUSES(
        {"train copy --heads 3 --d-model 128", 2, "heads: found 3, need a divisor of d_model 128"},
        {"train copy --d-model 7 --heads 7", 2,
         "d_model: found 7, need an even number for sinusoidal positions"},
        {"train copy --d-model 1048576", 2,
         "--d-model: found 1048576, need at most 262144, or a --d-ff of its own"},
        {"train copy --steps 10 --warmup 11", 2,
         "--warmup: found 11, need at most the 10 of --steps"},
        {"train copy --lr 0.1 --min-lr 0.2", 2,
         "--min-lr: found 0.2, need at most the 0.1 of --lr"},
        {"train copy --text x", 2, "--text: found the task copy, need lm"},
        {"train sort --context 8", 2, "--context: found the task sort, need lm"},
        {"train reverse --tail 0", 2, "--tail: found the task reverse, need pairs or lm"},
        {LM "--symbols 8", 2, "--symbols: found the task lm, need copy, reverse or sort"},
        {LM "--max-length 8", 2, "--max-length: found the task lm, need copy, reverse or sort"},
        {LM "--held-out 8", 2, "--held-out: found the task lm, need copy, reverse, sort or add"},
        {"train copy --optimizer sgd --beta1 0.5", 2,
         "--beta1: found --optimizer sgd, need adamw or muon"},
        {"train copy --optimizer sgd --beta2 0.5", 2,
         "--beta2: found --optimizer sgd, need adamw or muon"},
        {"train copy --schedule noam --min-lr 0.1", 2,
         "--min-lr: found --schedule noam, need cosine or linear"},
        {"train copy --schedule constant --warmup 5", 2,
         "--warmup: found --schedule constant, need noam, cosine or linear"},
        {LM "--tokenizer byte --vocab-size 100", 2,
         "--vocab-size: found --tokenizer byte, need bpe"},
        {"train copy --vocab-size 100", 2, "--vocab-size: found the task copy, need pairs or lm"},
        {"train copy --minutes 1 --steps 5", 2, "--minutes: found --steps, need one of the two"});
}

/* base/file.c reads other kinds of files, base/utf8.c other bytes, tasks/corpus.c other lengths. */
TEST(train_texts) {
    mkfifo("fifo", 0666);
    mkdir("empty", 0777);
    write_text("mark", "\xEF\xBB\xBF");
    write_text("letter", "a");
    write_text("latin1", "caf\xE9 au lait, caf\xE9 noir");
    REFUSES(
        {"train lm --run run", 66, "data/stories.txt: not in this directory, need --text FILE"},
        {"train pairs --run run", 66, "data/pairs.tsv: not in this directory, need --pairs FILE"},
        {"train lm --text none", 66, "none: No such file or directory"},
        {"train lm --text letter/none", 66, "letter/none: Not a directory"},
        {"train lm --text ''", 66, ": No such file or directory"},
        {"train lm --text empty", 66, "empty: found no file, need texts"},
        {"train lm letter a\nb", 2, "\"a\\x0Ab\": found a line break, need a name without one"},
        {"train lm --text fifo", 66, "fifo: found a FIFO, need a regular file"},
        {"train lm --text mark", 65, "mark: found 0 tokens, need at least 2"},
        {"train lm --text letter", 65, "letter: found 1 token, need at least 2"},
        {"train lm --text latin1", 65,
         "latin1: byte 3: found 0xE9, need UTF-8 text or --tokenizer byte; iconv -f ENCODING -t "
         "UTF-8 latin1 "
         ">NEW converts it"});
}

/* More than any machine has is refused before it is touched. */
TEST(train_sizes_beyond_memory) {
    static const char too_much[] = "memory: the training would take ...";
    write_text("text", "a text that is long enough for the context that is asked for");
    REFUSES({"train copy --batch 16777216 --accumulate 1048576", 71,
             "memory: 16777216 x 1048576 rows of 17 tokens are more than a step can number"},
            {"train copy --d-model 1048576 --d-ff 1048576", 71, too_much},
            {"train copy --d-model 65536 --layers 1000", 71, too_much},
            {"train copy --max-length 4096 --d-model 65536 --layers 100", 71, too_much},
            {"train copy --symbols 20000 --d-model 262144", 71, too_much},
            {"train lm --text text --tail 0 --context 50 --d-model 131072", 71, too_much});
}

TEST(train_places_that_cannot_be) {
    write_text("file", "in the way");
    mkdir("metrics", 0777);
    mkdir("metrics/run.jsonl", 0777);
    mkdir("model", 0777);
    mkdir("model/model.safetensors", 0777);
    mkdir("fifo", 0777);
    mkfifo("fifo/model.safetensors", 0666);
    mkdir("figures", 0777);
    mkfifo("figures/run.jsonl", 0666); /* is not waited for */
    char too_long[5000] = SMALL_WORDS "--run ";
    memset(too_long + strlen(too_long), 'x', 4500);
    refuses(too_long, 73, "xxx...");
    REFUSES(
        {SMALL_WORDS "--run ''", 73, "directory: found a path of 0 bytes, need 1 to 4095"},
        {SMALL_WORDS "--run file", 73,
         "file: cannot be made a directory: a file of that name is there"},
        {SMALL_WORDS "--run file/run", 73,
         "file: cannot be made a directory: a file of that name is there"},
        {SMALL_WORDS "--run /proc/run", 73,
         "/proc/run: cannot be made a directory: No such file or directory"},
        {SMALL_WORDS "--run /proc", 73, "/proc/model.safetensors: No such file or directory"},
        {SMALL_WORDS "--run /proc/1/fd/run", 73,
         "/proc/1/fd/run: cannot be made a directory: No such file or directory"},
        {SMALL_WORDS "--run figures", 73, "figures/run.jsonl: found a FIFO, need a regular file"},
        {SMALL_WORDS "--run metrics", 73,
         "metrics/run.jsonl: found a directory, need a regular file"},
        {SMALL_WORDS "--run model", 73,
         "model: found a run, need --resume to continue it or --force to replace it"},
        {SMALL_WORDS "--run model --force", 73,
         "model/model.safetensors: found a directory, need a regular file"},
        {SMALL_WORDS "--run fifo --force", 73,
         "fifo/model.safetensors: found a FIFO, need a regular file"});
}

/* A trained model is replaced only on demand, and not by a training that fails. */
TEST(train_a_run_is_not_lost) {
    static const char stands[] =
        "run: found a run, need --resume to continue it or --force to replace it";
    MUST(TRAIN(SMALL_COPY, "--steps", "3", "--run", "run"));
    refuses(SMALL_WORDS "--run run", 73, stands);
    CHECK(rename("run/model.safetensors", "kept") == 0);
    refuses(SMALL_WORDS "--run run", 73, stands);
    CHECK(link("kept", "run/model.safetensors") == 0);
    int status = TRAIN(SMALL_COPY, "--steps", "3", "--run", "run", "--force", "--lr", "1e300");
    CHECK(status == STATUS_NON_FINITE &&
              !strncmp(err, "not saved: step 1: found a weight of ", 36) &&
              strstr(err, "; the earlier run stands\ntrain: step 1: found a "),
          "status %d: %s", status, err);
    CHECK(same_files("run/model.safetensors", "kept"));
    status = TRAIN(SMALL_COPY, "--steps", "1", "--run", "run", "--force", "--lr", "1e300",
                   "--warmup", "0");
    check_refusal("train", status, STATUS_NON_FINITE, "step 1: found a ...", "--lr 1e300");
    CHECK(same_files("run/model.safetensors", "kept"));
    CHECK(!strstr(list_folder("run"), "tmp"), "%s", listing);
    MUST(TRAIN(SMALL_COPY, "--steps", "4", "--run", "run", "--force"));
    CHECK(!same_files("run/model.safetensors", "kept"));
}

/* ---- generate ---- */

static void copy_with_change(const char *from, const char *to, const char *find,
                             const char *replace) {
    size_t size = 0;
    char *bytes = read_bytes(from, &size),
         *at = bytes ? memmem(bytes, size, find, strlen(find)) : NULL;
    CHECK(at && strlen(find) == strlen(replace), "%s: no %s", from, find);
    if (at) memcpy(at, replace, strlen(find));
    mkdir(to, 0777);
    char path[256];
    snprintf(path, sizeof path, "%s/model.safetensors", to);
    if (bytes) write_bytes(path, bytes, size);
    free(bytes);
}

/* A model that begins as no file of ours does has no checksum. */
static void remove_checksum(const char *run) {
    char path[64];
    snprintf(path, sizeof path, "%s/model.safetensors", run);
    copy_with_change(path, run, "__\": {", "__\":{ ");
}

TEST(generate_models_that_cannot_be) {
    MUST(TRAIN(SMALL_COPY, "--steps", "1", "--run", "run"));
    mkdir("folder", 0777);
    mkdir("folder/model.safetensors", 0777);
    REFUSES({"generate --prompt 12", 2, "found 0 operands, need RUN, see --help"},
            {"generate none --prompt 12", 66, "none: found no run, and none in runs"},
            {"generate '' --prompt 12", 66, "directory: found a path of 0 bytes, need 1 to 4095"},
            {"train --resume ''", 66, "directory: found a path of 0 bytes, need 1 to 4095"},
            {"generate folder --prompt 12", 66,
             "folder/model.safetensors: found a directory, need a regular file"});

    size_t size = 0;
    char *bytes = read_bytes("run/model.safetensors", &size);
    if (!bytes) exit(1);
    mkdir("damaged", 0777);
    size_t lengths[] = {0, 7, 8, 100, size / 2, size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_bytes("damaged/model.safetensors", bytes, lengths[i]);
        refuses("generate damaged --prompt 12", 65, "damaged/model.safetensors: ...");
    }
    memset(bytes + size - sizeof(real), 0xFF, sizeof(real)); /* a NaN */
    write_bytes("damaged/model.safetensors", bytes, size);
    refuses("generate damaged --prompt 12", 65,
            "damaged/model.safetensors: the file is damaged: ...");
    remove_checksum("damaged");
    refuses("generate damaged --prompt 12", 65, "damaged/model.safetensors: ...");
    CHECK(strstr(err, "found nan") || strstr(err, "found -nan"), "%s", err);
    free(bytes);

    static const struct {
        const char *find, *replace, *want; /* after the path */
    } cases[] = {
        {"\"vocabulary\"", "\"vocabulari\"", "metadata: found no vocabulary, need it"},
        {"\"12345\"", "\"12344\"", "byte 4: found a duplicate character, need each once"},
        {"\"12345\"", "\"1234\" ", "metadata: vocabulary: found a size of 4, need 5"},
        {"begin_id\": \"5", "begin_id\": \"9",
         "metadata: begin_id: found 9, need a token in [5,8), not padding"},
        {"begin_id\": \"5", "begin_id\":\" 5",
         "metadata: begin_id: found  5, need a token in [5,8), not padding"},
        {"begin_id\": \"5", "begin_id\": \"4",
         "metadata: begin_id: found 4, need a token in [5,8), not padding"},
        {"begin_id\": \"5", "begin_id\": \"7",
         "metadata: begin_id: found 7, need a token in [5,8), not padding"},
        {"begin_id\": \"5", "begin_id\": \"6",
         "metadata: end_id: found 6, need another than begin_id"},
        {"\"end_id\"", "\"no_end\"",
         "metadata: end_id: found none, need a token in [5,8), not padding"},
        {"\"heads\": \"2\"", "\"heads\": \"3\"",
         "metadata: heads: found 3, need a divisor of d_model 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[200];
        snprintf(want, sizeof want, "changed/model.safetensors: %s", cases[i].want);
        copy_with_change("run/model.safetensors", "changed", cases[i].find, cases[i].replace);
        refuses("generate changed --prompt 12", 65,
                "changed/model.safetensors: the file is damaged: ...");
        remove_checksum("changed");
        refuses("generate changed --prompt 12", 65, want);
    }
}

/* The token that begins and ends a line is one of the vocabulary, "\n" and a to d. */
TEST(generate_models_of_damaged_lines) {
    static const char *const cases[][3] = {
        {"begin_id\": \"1", "begin_id\": \"5",
         "begin_id: found 5, need a token in [0,5), not padding"},
        {"begin_id\": \"1", "begin_id\": \"0", "end_id: found 1, need that of begin_id"},
        {"\"end_id\"", "\"no_end\"", "end_id: found none, need a token in [0,5), not padding"},
    };
    write_text("lines", "a\nab\nabc\nabcd\n");
    MUST(TRAIN("lm", SMALL, "lines", "--lines", "--tail", "0", "--tokenizer", "char", "--steps",
               "1", "--run", "run"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[200];
        snprintf(want, sizeof want, "changed/model.safetensors: metadata: %s", cases[i][2]);
        copy_with_change("run/model.safetensors", "changed", cases[i][0], cases[i][1]);
        remove_checksum("changed");
        refuses("generate changed", 65, want);
    }
}

/* A file with a misspelt checksum is refused. A file without a checksum is read with a remark. */
TEST(generate_models_without_a_checksum) {
    MUST(TRAIN(SMALL_COPY, "--steps", "1", "--run", "run"));
    copy_with_change("run/model.safetensors", "changed", "\"crc32\"", "\"crc-2\"");
    refuses(
        "generate changed --prompt 12", 65,
        "changed/model.safetensors: the file is damaged: found no \"crc32\" before its checksum");
    copy_with_change("run/model.safetensors", "changed", "__\": {", "__\":{ ");
    CHECK(GENERATE("changed", "--prompt", "12") == 0 && lines_of(out) == 1 && !*err, "%s", err);
}

/* Weights that are numbers, but so large that nothing can be computed with them: nothing of an
 * answer is printed. */
TEST(generate_models_that_compute_nothing) {
    if (sizeof(real) == sizeof(double)) return; /* which such weights do not overflow */
    write_text("text", "a text that is long enough for the context that is asked for");
    MUST(TRAIN("lm", SMALL, "--text", "text", "--tail", "0", "--context", "8", "--steps", "1",
               "--run", "run"));
    size_t size = 0;
    char *bytes = read_bytes("run/model.safetensors", &size);
    uint64_t header = 0;
    if (!bytes) exit(1);
    memcpy(&header, bytes, sizeof header);
    for (size_t at = 8 + header; at < size; at += sizeof(real))
        memcpy(bytes + at, &(real){(real)0.9e18}, sizeof(real));
    mkdir("large", 0777);
    write_bytes("large/model.safetensors", bytes, size);
    free(bytes);
    remove_checksum("large");
    CHECK(GENERATE("large", "--prompt", "a") == 65 && !*out, "%s", out);
    CHECK(strstr(err, "generate: the model: found a score of ") &&
              strstr(err, ", need a finite number\n"),
          "%s", err);
}

/* A folder whose path leaves no room for the name of a file in it. */
TEST(paths_without_room) {
    static const char *const commands[] = {"generate ", "train --resume ", SMALL_WORDS "--run "};
    char command[PATH_MAX + 200];
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command, "%s%s", commands[i], longest_path());
        refuses(command, i < 2 ? 66 : 73, "./././...");
    }
}

TEST(generate_prompts) {
    MUST(TRAIN(SMALL_COPY, "--steps", "1", "--run", "run"));
    REFUSES(
        {"generate run --prompt ''", 65, "--prompt: found no character, need at least one"},
        {"generate run --prompt 12a3", 65,
         "--prompt: byte 2: found 'a' (U+0061), need one of the 5 characters of the vocabulary"},
        {"generate run --prompt 123451", 65, "--prompt: found 6 symbols, need at most 5"},
        {"generate run --greedy --top-k 3 --prompt 1", 2,
         "--top-k: found greedy decoding, need one of the two"},
        {"generate run --length 0", 2, "--length: found \"0\", need an integer in [1,1000000]"},
        {"generate run --score none", 66, "none: No such file or directory"},
        {"generate run --score run/run.jsonl", 65,
         "run/run.jsonl: line 1: found no tab, need a source, a tab and a target"});

    /* Options that contradict each other, or have no effect. */
    REFUSES(
        {"generate run --prompt 1 --score x", 2, "--prompt: found --score, need one of the two"},
        {"generate run --beam 2 --score x", 2, "--beam: found --score, need one of the two"},
        {"generate run --beam 2 --temperature 1", 2,
         "--temperature: found --beam, need one of the two"},
        {"generate run --beam 2 --repetition-penalty 2", 2,
         "--repetition-penalty: found --beam, need one of the two"},
        {"generate run --beam 2 --count 3", 2, "--count: found --beam, need one of the two"},
        {"generate run --beam 2 --show-probabilities", 2,
         "--show-probabilities: found --beam, need one of the two"},
        {"generate run --n-best 2", 2, "--n-best: found no --beam, need it"},
        {"generate run --length-penalty 1", 2, "--length-penalty: found no --beam, need it"},
        {"generate run --beam 2 --n-best 3", 2,
         "--n-best: found more than --beam, need at most as many"},
        {"generate run --temperature 0 --count 2", 2,
         "--count: found greedy decoding, need one of the two"},
        {"generate run --greedy --top-p 0.5", 2,
         "--top-p: found greedy decoding, need one of the two"},
        {"generate run --greedy --min-p 0.5", 2,
         "--min-p: found greedy decoding, need one of the two"},
        {"generate run --temperature 1 --count 2 --show-probabilities", 2,
         "--count: found --show-probabilities, need one of the two"},
        {"generate run --top-p 0", 2, "--top-p: found \"0\", need a number in (0,1]"},
        {"generate run --stop ''", 2,
         "--stop: found no character or too many, need 1 to 512 bytes"});

    /* From stdin, the other lines are answered. */
    static const struct {
        const char *text, *want;
        int answers;
    } cases[] = {
        {"12\n\n34\n", "stdin: line 2: found no character, need at least one", 2},
        {"x\n",
         "stdin: line 1: byte 0: found 'x' (U+0078), need one of the 5 characters of the "
         "vocabulary",
         0},
        {"1\n2\xFF\n3\n4\n", "stdin: line 2: byte 1: found 0xFF, need UTF-8", 3},
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
    check_refusal("generate", status, STATUS_NO_INPUT, "stdin: found a directory, need a file",
                  "a directory");
}

/* ---- Standard streams ---- */

/* Output that cannot be written is an error. The saved model is kept. */
TEST(output_that_is_lost) {
    const char *const sinks[] = {"/dev/full", ""};
    const char *const causes[] = {"standard output: No space left on device",
                                  "standard output: Bad file descriptor"};
    for (int i = 0; i < 2; i++) {
        Streams lost = {.output = sinks[i]};
        const struct {
            const char *program, *const *arguments;
        } talking[] = {
            {"train", ARGUMENTS(SMALL_COPY, "--steps", "3", "--json", "--run", "run", "--force")},
            {"generate", ARGUMENTS("run", "--prompt", "12")},
            {"train", ARGUMENTS("--help")},
            {"train", ARGUMENTS(SMALL_COPY, "--dry-run")},
        };
        for (int k = 0; k < 4; k++) {
            int status = run_program(talking[k].program, talking[k].arguments, lost);
            check_refusal(talking[k].program, status, STATUS_IO, causes[i],
                          talking[k].arguments[0]);
        }
        CHECK(GENERATE("run", "--prompt", "12") == 0 && *out, "%s", err);
        int status = run_program("train", ARGUMENTS("copy", "--nonsense"), lost);
        check_refusal("train", status, STATUS_USAGE, "--nonsense: no such option, see --help all",
                      "--nonsense");
    }
    /* Nothing to print, nothing lost. */
    MUST(run_program("train", ARGUMENTS(SMALL_COPY, "--steps", "3", "--run", "run", "--force"),
                     (Streams){.output = "/dev/full"}));
}

/* A reader of figures that goes, as `| head -n 1` does, does not take the run with it. */
TEST(a_reader_that_goes) {
    char first[16];
    CHECK(mkfifo("pipe", 0600) == 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    Child child = start_program(
        "train",
        ARGUMENTS(SMALL_COPY, "--steps", "300", "--eval-every", "3", "--json", "--run", "run"),
        (Streams){.output = "pipe"});
    CHECK(poll(&(struct pollfd){.fd = reader, .events = POLLIN}, 1, 50000) == 1);
    CHECK(read(reader, first, sizeof first) > 0);
    close(reader);
    int status = end_program(child);
    CHECK(status == STATUS_IO, "status %d: %s", status, err);
    CHECK(strcmp(err, "train: standard output: Broken pipe\n") == 0, "%s", err);
    CHECK(GENERATE("run", "--prompt", "12") == 0 && *out, "%s", err);
}

/* With standard streams closed a run leaves the same files: nothing that is meant for them gets
 * into these. */
TEST(streams_that_are_closed) {
#define TALKING                                                                                    \
    "copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--held-out", "20"
    MUST(TRAIN(TALKING, "--steps", "5", "--run", "open", "--json"));
    CHECK(run_program("train", ARGUMENTS(TALKING, "--steps", "5", "--run", "closed", "--json"),
                      (Streams){"", "", "", 0}) == STATUS_IO);
    CHECK(same_files("open/model.safetensors", "closed/model.safetensors"));
    size_t size = 0;
    char *record = read_bytes("closed/run.jsonl", &size);
    const char *line = record ? record : "";
    while (*line == '{') line = next_line(line);
    CHECK(record && !*line && count_events(record, "step") == 5, "%s", line);
    free(record);
    CHECK(run_program("generate", ARGUMENTS("open"), (Streams){.input = ""}) == STATUS_IO);
    CHECK(!strcmp(err, "generate: stdin: reading failed: Bad file descriptor\n") && !*out, "%s",
          err);
    CHECK(run_program("generate", ARGUMENTS("open", "--prompt", "1"), (Streams){"", NULL, "", 0}) ==
          0);
    CHECK(run_program("generate", ARGUMENTS("open", "--prompt", "?"), (Streams){.error = ""}) ==
              65 &&
          !*out);
}

RUN_PROGRAM_TESTS
