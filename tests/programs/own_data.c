/* Users train on data of their own, from the command line: every tokenizer, several texts, a short
 * text, pairs, several seeds. */
#include "child.h"
#include "record_lines.h"

#define SMALL                                                                                      \
    "--d-model", "32", "--heads", "2", "--layers", "1", "--quiet", "--force", "--run", "run"
#define TEXTS                                                                                      \
    "lm", "--text", "a", "b", "--context", "4", "--schedule", "constant", "--d-model", "8",        \
        "--heads", "2", "--layers", "1", "--quiet", "--force"
static const char *const tokenizers[] = {"char", "byte", "bpe"};

/* Enough steps to learn a few lines by heart. */
#define BY_HEART_STEPS (SANITIZER ? "10" : "200")

/* Writes the format `count` times, with a number from `first` on in up to three places. */
static void write_numbered(const char *path, const char *format, int first, int count) {
    FILE *f = fopen(path, "w");
    if (!f) exit(1);
    for (int i = first; i < first + count; i++) fprintf(f, format, i, i, i);
    if (fclose(f)) exit(1);
}

static const char poem[] = "无可奈何花落去，似曾相识燕归来";

/* A model that has learned the poem by heart completes its first character. Tokens are characters,
 * bytes or merges. */
TEST(the_poem_is_learned_by_heart_with_every_tokenizer) {
    static const char *const lengths[] = {"14", "42", "60"};
    static const size_t right[] = {sizeof poem - 1, sizeof poem - 1, sizeof poem - 4};
    write_text("poem", poem);
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN("lm", "--text", "poem", "--tokenizer", tokenizers[i], "--steps", BY_HEART_STEPS,
                   "--batch", "8", "--lr", "0.01", SMALL));
        MUST(GENERATE("run", "--prompt", "无", "--greedy", "--length", lengths[i]));
        CHECK(SANITIZER || !strncmp(out, poem, right[i]), "%s: %s", tokenizers[i], out);
        CHECK(SANITIZER || i != 0 || !strcmp(out + strlen(poem), "\n"), "found %s", out);
        /* The tokenizer of characters alone refuses another script. */
        CHECK((GENERATE("run", "--prompt", "Ελλάδα", "--length", "1") == 0) == (i > 0), "%s: %s",
              tokenizers[i], err);
    }
}

/* Characters fit so short a text, and the run says so. */
TEST(five_lines_train_with_a_hint) {
    write_text("five", "One line.\nAnother line.\nA third one.\nThe fourth.\nAnd the last line.\n");
    MUST(TRAIN("lm", "--text", "five", "--d-model", "8", "--heads", "2", "--steps", "2"));
    size_t size = 0;
    char *model = read_bytes("runs/lm/model.safetensors", &size),
         *page = read_bytes("runs/lm/report.html", &size);
    static const char fits[] = "text: 68 characters, 19 different; char 19 (1.00 characters a "
                               "token); 23 passes; dropout 0";
    CHECK(strstr(err, fits) && page && strstr(page, fits), "%s", err);
    free(model);
    free(page);
    CHECK(strstr(err, "five: a short text: context 64, nothing held out") &&
              strstr(err, "teaches more"),
          "%s", err);
    CHECK(strstr(err, " nats/char, ") && strstr(err, " bits/char, perplexity "), "%s", err);
    CHECK(TRAIN("lm", "--text", "five", "--d-model", "8", "--heads", "2", "--dry-run") == 0 &&
              strstr(out, "\ntext: 68 characters"),
          "%s", out);
}

/* All files after --text are learned together. A resumed run ends with the bits of an uninterrupted
 * one. */
TEST(several_texts_and_runs_that_go_on) {
    write_text("a", "the mill by the river and the miller and the mill again, the mill by the "
                    "river and the mill\n");
    write_text("b", "a bell in the tower and a bell in the hall and the bell ringer by the bell, "
                    "and the bell rang\n");
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN(TEXTS, "--tokenizer", tokenizers[i], "--steps", "6", "--run", "whole"));
        MUST(TRAIN(TEXTS, "--tokenizer", tokenizers[i], "--steps", "3", "--run", "run"));
        MUST(TRAIN("--resume", "run", "--steps", "6", "--quiet"));
        CHECK(same_files("run/model.safetensors", "whole/model.safetensors"), "%s", tokenizers[i]);
    }
    CHECK(TRAIN("lm", "--text", "a", "none", SMALL) == 66 && strstr(err, "none: No such file"),
          "%s", err);
    CHECK(TRAIN("copy", "b", SMALL) == 2, "%s", err);
}

/* A directory is its files, in the order of their names, and those below it; - is stdin. */
TEST(directories_and_stdin) {
    write_text("a", "the mill by the river and the miller and the mill again, the mill\n");
    write_text("b", "a bell in the tower and a bell in the hall and the bell ringer\n");
    CHECK(system("mkdir -p texts/below empty") == 0);
    write_text("texts/below/b", "a bell in the tower and a bell in the hall and the bell ringer\n");
    write_text("texts/a", "the mill by the river and the miller and the mill again, the mill\n");
    write_text("texts/.hidden", "\xFF");
    MUST(TRAIN("lm", "a", "b", SMALL, "--steps", "3", "--run", "whole"));
    MUST(TRAIN("lm", "texts", SMALL, "--steps", "3", "--run", "run"));
    CHECK(same_files("run/model.safetensors", "whole/model.safetensors"));
    MUST(TRAIN("lm", "a", SMALL, "--steps", "3", "--run", "whole"));
    const char *words[] = {"lm", "-", SMALL, "--steps", "3", "--run", "run", NULL};
    MUST(run_program("train", words, (Streams){.input = "a"}));
    CHECK(same_files("run/model.safetensors", "whole/model.safetensors"));
    /* A tail is held out of stdin as of a file. */
    write_numbered("long", "line %d of the text that comes from the standard input\n", 1, 60);
    MUST(TRAIN("lm", "long", SMALL, "--steps", "3", "--run", "whole"));
    words[1] = "-";
    MUST(run_program("train", words, (Streams){.input = "long"}));
    CHECK(same_files("run/model.safetensors", "whole/model.safetensors"));
    CHECK(TRAIN("--resume", "run", "--steps", "4") == 65 &&
              strstr(err, "stdin: found 0 tokens, need at least 2; the text of the run is needed "
                          "at stdin again"),
          "%s", err);
    CHECK(TRAIN("lm", "empty", SMALL) == 66 && strstr(err, "empty: found no file, need texts"),
          "%s", err);
}

/* A file after the task, or alone, is what --text or --pairs names; a run is to be continued. */
TEST(files_are_operands) {
    static const struct {
        const char *operand[3], *same[3];
    } cases[] = {{{"lm", "a.txt"}, {"lm", "--text", "a.txt"}},
                 {{"a.txt"}, {"lm", "--text", "a.txt"}},
                 {{"--text", "a.txt"}, {"lm", "--text", "a.txt"}},
                 {{"pairs", "p.tsv"}, {"pairs", "--pairs", "p.tsv"}},
                 {{"--pairs", "p.tsv"}, {"pairs", "--pairs", "p.tsv"}},
                 {{"p.tsv"}, {"pairs", "--pairs", "p.tsv"}}};
#define BRIEFLY                                                                                    \
    "--steps", "1", "--tail", "0", "--tokenizer", "char", "--d-model", "8", "--heads", "2",        \
        "--layers", "1", "--quiet", "--force", "--run"
    write_text("a.txt", "the mill by the river and the miller and the mill again\n");
    write_text("p.tsv", "a\tb\nb\ta\n");
    for (int i = 0; i < 6; i++) {
        const char *const *o = cases[i].operand, *const *s = cases[i].same;
        int status =
            o[1] ? TRAIN(o[0], o[1], BRIEFLY, "runs/one") : TRAIN(o[0], BRIEFLY, "runs/one");
        CHECK(status == 0, "%s", err);
        MUST(TRAIN(s[0], s[1], s[2], BRIEFLY, "runs/other"));
        CHECK(same_files("runs/one/model.safetensors", "runs/other/model.safetensors"), "%s", o[0]);
    }
    MUST(TRAIN("a.txt", "a.txt", BRIEFLY, "runs/one"));
    CHECK(TRAIN("pairs", "p.tsv", "p.tsv", BRIEFLY, "runs/one") == 2 &&
              strstr(err, "\"p.tsv\": found one operand too many"),
          "%s", err);
    CHECK(
        TRAIN("runs/other") == 2 &&
            strstr(err,
                   "found a run, need a task or a text; ./train --resume runs/other continues it"),
        "%s", err);
    CHECK(TRAIN("b.txt") == 66 && !strcmp(err, "train: b.txt: No such file or directory\n"), "%s",
          err);
    MUST(TRAIN("--resume", "other", "--steps", "2", "--lr", "0.001", "--quiet"));
    CHECK(TRAIN("--resume", "another") == 66 &&
              strstr(err, "another: found no run, need one: runs/one, runs/other\n"),
          "%s", err);
}

/* A file on the command line comes before one of --config and before the one that a run to continue
 * was trained on. A run to begin with may be named by its name. */
TEST(a_file_on_the_command_line_counts) {
    write_text("a.txt", "the mill by the river and the miller and the mill again\n");
    write_text("b.txt", "the mill by the river and the miller and the mill agaim\n");
    write_text("config", "text b.txt\nsteps 1\n");
    MUST(TRAIN("lm", "--text", "a.txt", BRIEFLY, "runs/one"));
    MUST(TRAIN("lm", "a.txt", "--config", "config", "--tail", "0", "--tokenizer", "char",
               "--d-model", "8", "--heads", "2", "--layers", "1", "--quiet", "--run",
               "runs/other"));
    CHECK(same_files("runs/one/model.safetensors", "runs/other/model.safetensors"));
    CHECK(TRAIN("--resume", "one", "b.txt", "--steps", "2", "--quiet") == 78 &&
              strstr(err, "text_crc32"),
          "%s", err);
    MUST(TRAIN("lm", "a.txt", "--from", "one", "--train", "*", "--steps", "1", "--tail", "0",
               "--quiet", "--run", "runs/from"));
    CHECK(TRAIN("lm", "--from", "none") == 66 &&
              strstr(err, "none: found no run, need one: runs/from, "),
          "%s", err);
    rename("a.txt", "moved");
    CHECK(
        TRAIN("--resume", "from", "--steps", "2", "--quiet") == 66 &&
            !strcmp(err,
                    "train: a.txt: No such file or directory; --text FILE says where it is now\n"),
        "%s", err);
    write_text("config", "steps 2\n");
    MUST(TRAIN("--resume", "from", "lm", "moved", "--config", "config", "--quiet"));
}

/* Lines that are learned by heart come again, each with its end, from their first characters and
 * without; a resumed run and one that begins from another go on with lines. */
TEST(lines_are_learned_by_heart) {
    static const char list[] = "ก๊าซ ธรรมชาติ\r\nЁлка\r\n\r\nnaïve x\r\n東京タワー😀";
    static const char *const line[] = {"ก๊าซ ธรรมชาติ", "Ёлка", "naïve x", "東京タワー😀"};
    static const char *const first[] = {"ก", "Ё", "na", "東"};
    write_text("list", list);
#define BY_HEART(tokenizer, run)                                                                   \
    "lm", "list", "--lines", "--tokenizer", tokenizer, "--batch", "8", "--lr", "0.01",             \
        "--d-model", "32", "--heads", "2", "--layers", "1", "--schedule", "constant", "--quiet",   \
        "--force", "--run", run
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN(BY_HEART(tokenizers[i], "run"), "--steps", BY_HEART_STEPS));
        CHECK(GENERATE("run", "--count", "20", "--temperature", "0.3") == 0 && !*err &&
                  lines_of(out) == 20,
              "%s: %s%s", tokenizers[i], out, err);
        for (const char *at = out; *at; at = next_line(at)) {
            bool found = SANITIZER;
            for (int k = 0; k < 4; k++) {
                size_t n = strlen(line[k]);
                found |= !strncmp(at, line[k], n) && at[n] == '\n';
            }
            CHECK(found, "%s: %s", tokenizers[i], at);
        }
        int beginnings = i < 3 ? 4 : 0; /* they are no words */
        for (int k = 0; k < beginnings; k++) {
            MUST(GENERATE("run", "--greedy", "--prompt", first[k]));
            CHECK(SANITIZER || (!strncmp(out, line[k], strlen(line[k])) &&
                                !strcmp(out + strlen(line[k]), "\n")),
                  "%s: %s", tokenizers[i], out);
        }
        CHECK(GENERATE("run", "--score", "list") == 0 && strstr(out, ", 4 lines\n"), "%s%s", out,
              err);
        CHECK(GENERATE("run", "--prompt", "a\nb") == 65 &&
                  strstr(err, "--prompt: found the end of a line, need the beginning of one\n"),
              "%s", err);
    }
    MUST(TRAIN(BY_HEART("char", "part"), "--steps", "5"));
    MUST(TRAIN("--resume", "part", "--steps", "10", "--quiet"));
    MUST(TRAIN(BY_HEART("char", "whole"), "--steps", "10"));
    CHECK(same_files("part/model.safetensors", "whole/model.safetensors"));
    MUST(TRAIN("lm", "list", "--lines", "--from", "whole", "--steps", "1", "--quiet", "--run",
               "from"));
    CHECK(GENERATE("from", "--greedy") == 0 && lines_of(out) == 1, "%s%s", out, err);
    CHECK(TRAIN("lm", "list", "--lines", "--newline", "unix") == 2 &&
              strstr(err, "--newline: found --lines, need one of the two\n"),
          "%s", err);
    MUST(TRAIN("lm", "list", "list", "list", "--lines", "--steps", "1", "--run", "run", "--force"));
    CHECK(!strncmp(err, "list and 2 more: left out 3 empty lines\n", 40), "%s", err);
}

TEST(pairs_of_ones_own) {
    write_numbered("pairs", "%c%c\t%c\n", 'a', 26);
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN("pairs", "--pairs", "pairs", "--tokenizer", tokenizers[i], "--steps", "3",
                   SMALL));
        MUST(GENERATE("run", "--prompt", "ab", "--length", "2"));
    }
    /* Sources are longer than any answer: a sanitizer sees a buffer that is too small. */
    write_numbered("pairs", "%d%040d\t%d\n", 0, 40);
    MUST(TRAIN("pairs", "pairs", "--tokenizer", "char", "--steps", "1", "--run", "long"));
    CHECK(strstr(err, "0000") && strstr(err, " -> "), "%s", err);
    write_text("pairs", "a\tb\nab\n");
    CHECK(TRAIN("pairs", "--pairs", "pairs", SMALL) == 65 &&
              strstr(err, "pairs: line 2: found no tab"),
          "%s", err);
}

/* A note of the run's checkpoint. The last eight that were asked for stay valid. */
static const char *note(const char *key) {
    static char values[8][100];
    static unsigned turn;
    char *value = strcpy(values[turn++ % 8], ""), quoted[64];
    size_t size = 0;
    char *checkpoint = read_bytes("run/checkpoint.safetensors", &size);
    int n = snprintf(quoted, sizeof quoted, "\"recipe.%s\": \"", key);
    const char *at = checkpoint ? memmem(checkpoint, size, quoted, (size_t)n) : NULL;
    CHECK(at && (at[n] == '"' || sscanf(at + n, "%99[0-9.:,]", value) == 1), "%s", key);
    free(checkpoint);
    return value;
}

/* The steps that --minutes chooses give the same bits with --steps, and those that a resumed run
 * adds, too. A text of numbers gains nothing by merges. */
TEST(a_run_of_minutes_is_the_run_of_its_steps) {
    write_numbered("text", "%d mills ", 0, 4000);
    MUST(TRAIN("lm", "--text", "text", "--batch", "1", "--minutes", "0.01", SMALL));
    MUST(TRAIN("--resume", "run", "--minutes", "0.005"));
    CHECK(rename("run/model.safetensors", "minutes") == 0);
    const char *resumed = note("steps");
    MUST(TRAIN("lm", "--text", "text", "--batch", "1", "--minutes", "0.01", SMALL));
    CHECK(atol(note("steps")) >= 2 && atol(resumed) >= 3, "%s steps", resumed);
    /* On a machine that became busy the time was over before these steps. */
    bool was_late = access("run/model.safetensors", F_OK) != 0 ||
                    events_in("run/run.jsonl", "step") != atol(note("steps"));
    if (was_late) return;
    CHECK(rename("run/model.safetensors", "minutes") == 0);
    MUST(TRAIN("lm", "--text", "text", "--batch", "1", "--steps", note("steps"), "--warmup",
               note("warmup"), "--eval-every", note("eval-every"), "--tokenizer", "bpe",
               "--vocab-size", note("vocab-size"), "--dropout", note("dropout"), SMALL));
    CHECK(same_files("run/model.safetensors", "minutes"), "%s steps", note("steps"));
}

/* Minutes in which the usual model would read a large text too often take a wider one; a size that
 * the user chose stays, and so do steps. A dry run says the dropout of the run, which depends on
 * the number of steps, also if minutes give that. */
TEST(many_minutes_take_a_wider_model) {
    static const struct {
        const char *time, *amount, *size, *d_model, *dropout;
    } row[] = {
        {"--minutes", "1e7", "1", "d_model 128,", "; dropout 0.2\n"},
        {"--minutes", "1e7", NULL, "d_model 256,", "; dropout 0.2\n"},
        {"--minutes", "0.001", NULL, "d_model 128,", "; dropout 0\n"},
        {"--steps", "100000000", NULL, "d_model 128,", "; dropout 0.2\n"},
    };
#define DRY "lm", "--text", "text", "--tokenizer", "char", "--dry-run", row[i].time, row[i].amount
    write_cat_text("text", 1000000);
    for (size_t i = 0; i < (SANITIZER ? 1 : sizeof row / sizeof *row); i++) {
        int status = row[i].size ? TRAIN(DRY, "--batch", row[i].size) : TRAIN(DRY);
        CHECK(status == 0 && strstr(out, row[i].d_model) && strstr(out, row[i].dropout),
              "%zu: %s%s", i, out, err);
    }
}

/* The last evaluation of --minutes takes a tenth of them, and says how much it judges;
 * --evaluate-all judges all. */
TEST(the_last_evaluation_has_its_time) {
#define SHORT                                                                                      \
    "lm", "--text", "text", "--minutes", "0.005", "--tail", "0.9", "--tokenizer", "char",          \
        "--d-model", "32", "--heads", "2", "--layers", "1", "--force", "--run", "run"
    write_cat_text("text", 300000);
    MUST(TRAIN(SHORT));
    const char *line = strstr(err, "judged ");
    CHECK(line && strstr(line, "held-out windows, evenly spread; --evaluate-all judges all\n"),
          "%s", err);
    MUST(TRAIN(SHORT, "--evaluate-all"));
    CHECK(!strstr(err, "judged "), "%s", err);
}

TEST(a_dry_run_of_a_run_to_continue) {
    MUST(TRAIN("copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--steps", "9", "--quiet",
               "--run", "run"));
    MUST(TRAIN("--resume", "run", "--steps", "1009", "--dry-run"));
    CHECK(TRAIN("--resume", "run", "--steps", "5", "--dry-run") == 2 && !*out, "%s", out);
    CHECK(!strcmp(err, "train: --steps: found 5, need at least the 9 that run has made\n"), "%s",
          err);
}

/* A text of which nothing is held out is learnt by heart, also where --tail is too short. */
TEST(a_text_without_a_tail_is_learnt_by_heart) {
    write_cat_text("text", 4000);
    MUST(TRAIN("lm", "--text", "text", "--tokenizer", "char", "--tail", "0.001", "--steps", "150",
               "--d-model", "8", "--heads", "2", "--layers", "1", "--run", "run"));
    CHECK(strstr(err, "a short --tail: context 64, nothing held out") &&
              strstr(err, "; dropout 0\n"),
          "%s", err);
    CHECK(!strcmp(note("weight-decay"), "0"), "%s", note("weight-decay"));
}

/* A warm-up is judged by the steps that --minutes sets, not by the default of --steps. */
TEST(a_warm_up_is_judged_by_the_steps_of_the_minutes) {
    CHECK(TRAIN("copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--minutes", "0.001",
                "--warmup", "1000000", "--run", "run") == 2,
          "%s", err);
    const char *most = strstr(err, "train: --warmup: found 1000000, need at most the ");
    CHECK(most && !strstr(most, " the 1000 of ") && strstr(most, " of --steps\n"), "%s", err);
}

/* A directory whose name looks like an option is another word in the commands that are suggested.
 */
TEST(a_directory_named_like_an_option) {
    MUST(TRAIN("copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--steps", "2", "--run",
               "-x"));
    CHECK(strstr(err, "for ./generate ./-x\n"), "%s", err);
    MUST(GENERATE("./-x", "--prompt", "abc"));
}

RUN_PROGRAM_TESTS
