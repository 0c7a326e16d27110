/* Decoding as a user meets it: the options of generate print the right text and agree with one
 * another. */
#include "base/utf8.h"
#include "child.h"
#include "record_lines.h"

#define SMALL                                                                                      \
    "--d-model", "16", "--heads", "2", "--layers", "1", "--schedule", "constant", "--quiet", "--run"
#define TEXT                                                                                       \
    "the cat sat on the mat, and the rat sat on the cat; the mat was red and the hat was flat.\n"

static void train_text(const char *tokenizer) {
    enter_folder();
    write_text("text", TEXT TEXT TEXT TEXT);
    MUST(TRAIN("lm", "--text", "text", "--tokenizer", tokenizer, "--context", "12", "--steps", "30",
               "--lr", "0.01", SMALL, "run"));
}

static void train_copy(void) {
    enter_folder();
    MUST(TRAIN("copy", "--symbols", "5", "--max-length", "5", "--held-out", "20", "--steps", "40",
               SMALL, "run"));
}

/* Runs generate with these options. Returns its output, to be freed. */
static char *printed(const char *const *arguments) {
    CHECK(run_program("generate", arguments, (Streams){0}) == 0 && !*err, "%s", err);
    return strdup(out);
}
#define PRINTED(...) printed(ARGUMENTS("run", __VA_ARGS__))

/* Texts drawn together are those of as many seeds, one by one, in the same order. */
TEST(count_gives_the_texts_of_several_seeds) {
    for (int lm = 0; lm < 2; lm++) {
        char want[4000] = "", seed[] = "5";
        if (lm)
            train_text("bpe");
        else
            train_copy();
        const char *prompt = lm ? "the" : "1234";
        for (; *seed < '8'; ++*seed) {
            char *one =
                PRINTED("--prompt", prompt, "--length", "20", "--temperature", "2", "--seed", seed);
            if (*want && lm) strcat(want, "---\n");
            strcat(want, one);
            free(one);
        }
        char *all = PRINTED("--prompt", prompt, "--length", "20", "--temperature", "2", "--seed",
                            "5", "--count", "3");
        CHECK(!strcmp(all, want), "%s is not %s", all, want);
        free(all);
    }
}

/* The text ends before the stop text, wherever that begins and ends among tokens, for draws and
 * beams. */
TEST(the_stop_text_ends_a_text) {
    static const char *const stops[] = {"t", "at", "e c", "the ", "never"};
    train_text("bpe");
    for (int i = 0; i < 10; i++) {
        const char *way = i < 5 ? "--temperature" : "--beam", *value = i < 5 ? "0.5" : "1";
        char *whole = PRINTED("--prompt", "the", "--length", "40", way, value);
        char *part =
            PRINTED("--prompt", "the", "--length", "40", way, value, "--stop", stops[i % 5]);
        char *at = strstr(whole + 3, stops[i % 5]);
        if (at) strcpy(at, "\n");
        CHECK(!strcmp(part, whole), "%s, --stop '%s': %s, want %s", way, stops[i % 5], part, whole);
        free(whole);
        free(part);
    }
}

TEST(a_beam_of_one_prints_the_greedy_text) {
    for (int lm = 0; lm < 2; lm++) {
        if (lm)
            train_text("byte");
        else
            train_copy();
        const char *prompt = lm ? "the" : "1234";
        char *greedy = PRINTED("--prompt", prompt, "--length", "30", "--greedy");
        char *beam =
            PRINTED("--prompt", prompt, "--length", "30", "--beam", "1", "--length-penalty", "2");
        CHECK(!strcmp(greedy, beam), "%s and %s", greedy, beam);
        char *best = PRINTED("--prompt", prompt, "--length", "30", "--beam", "4", "--n-best", "3");
        double last = 0;
        for (const char *line = best; *line; line = next_line(line))
            if (!lm || line == best || !strncmp(line - 4, "---\n", 4)) {
                double score = strtod(line, NULL);
                CHECK(score < 0 && (last == 0 || score <= last), "%s", best);
                last = score;
            }
        free(greedy);
        free(beam);
        free(best);
    }
}

/* A space at a prompt's end belongs to the next word's token. */
TEST(a_prompt_that_ends_with_a_space) {
    train_text("bpe");
    char *with = PRINTED("--prompt", "the cat ", "--length", "5", "--greedy"),
         *without = PRINTED("--prompt", "the cat", "--length", "5", "--greedy");
    CHECK(!strcmp(with, without), "%s is not %s", with, without);
    free(with);
    free(without);
}

/* A model of conversations answers a user's lines as its text does, over a pipe a line each, with
 * the labels of the text; training says how many held-out answers are right. What does not fit
 * into the context is forgotten. */
TEST(a_conversation_has_the_form_of_the_text) {
    enter_folder();
    char text[128 * 20] = "", *end = text;
    uint32_t x = 1;
    for (int i = 0; i < 128; i++) {
        x = x * 1103515245 + 12345;
        end = stpcpy(end, x >> 16 & 1 ? "Ann: red\nBo: blue\n\n" : "Ann: one\nBo: two\n\n");
    }
    write_text("text", text);
    write_text("said",
               "red\none\n\none\nred\nred\none\nred\none\none one one one one one one one\n");
    MUST(TRAIN("lm", "--text", "text", "--tokenizer", "char", "--context", "32", "--steps", "150",
               "--dropout", "0", "--lr", "0.01", "--d-model", "16", "--heads", "2", "--layers", "1",
               "--run", "run"));
    CHECK(strstr(err, "greedy decoding: 100.00 % of "), "%s", err);
    MUST(run_program("generate", ARGUMENTS("run", "--chat"), (Streams){.input = "said"}));
    CHECK(!strncmp(out, "blue\ntwo\ntwo\nblue\nblue\ntwo\nblue\ntwo\n", 37) &&
              !strcmp(err, "generate: stdin: found a line of 40 tokens, need at most 16\n"),
          "%s%s", out, err);
    CHECK(GENERATE("run", "--chat", "--user", "Ann:\n") == 2 && strstr(err, "found a long label"),
          "%s", err);
    train_text("char");
    CHECK(GENERATE("run", "--chat") == 2 &&
              !strcmp(err, "generate: --chat: the run's text has no conversations, need --user and "
                           "--bot\n"),
          "%s", err);
}

/* A run may be named by its name in runs/, a file in it, or a folder with no other run; an error
 * names the runs there are. */
TEST(runs_are_found_by_what_a_user_types) {
    static const struct {
        const char *typed, *error;
    } cases[] = {
        {"runs/one", NULL},
        {"one", NULL},
        {"runs", NULL},
        {"runs/one/model.safetensors", NULL},
        {"runs/one/checkpoint.safetensors", NULL},
        {"runs/one/report.html", NULL},
        {"on", "generate: on: found no run, need one: runs/one\n"},
        {"text", "generate: text: found no run, need one: runs/one; ./train text trains on it\n"},
        {"runs", "generate: runs: found 2 runs, need one: runs/one, runs/two\n"},
        {"two", NULL},
        {"empty", "generate: empty: found no model.safetensors, need one: runs/one, runs/two\n"},
    };
    write_text("text", TEXT);
    mkdir("empty", 0777);
    MUST(TRAIN("copy", "--symbols", "5", "--steps", "1", SMALL, "runs/one"));
    char want[200] = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == 8) MUST(TRAIN("copy", "--symbols", "5", "--steps", "1", SMALL, "runs/two"));
        int status = GENERATE(cases[i].typed, "--prompt", "12");
        if (!*want) snprintf(want, sizeof want, "%.199s", out);
        if (cases[i].error)
            CHECK(status == 66 && !strcmp(err, cases[i].error), "%s: %s", cases[i].typed, err);
        else
            CHECK(status == 0 && !strcmp(out, want), "%s: %s%s", cases[i].typed, out, err);
    }
    for (int i = 0; i < 99; i++) { /* more than a message lists */
        char model[60];
        snprintf(model, sizeof model, "runs/run %02d", i);
        mkdir(model, 0777);
        write_text(strcat(model, "/model.safetensors"), "");
    }
    CHECK(GENERATE("three") == 66 && strstr(err, "need one: runs/one, runs/run 00, ") &&
              strstr(err, " more\n"),
          "%s", err);
    /* A model's file may lie anywhere; a checkpoint alone is no model. */
    rename("runs/one/model.safetensors", "moved.safetensors");
    MUST(GENERATE("moved.safetensors", "--prompt", "12"));
    CHECK(!strcmp(out, want), "%s%s", out, err);
    rename("runs/one/checkpoint.safetensors", "checkpoint.safetensors");
    CHECK(GENERATE("checkpoint.safetensors") == 66 &&
              strstr(err, "; beside it, model.safetensors is missing\n"),
          "%s", err);
}

/* Without a prompt a text begins as the lines of the training text do, also in a text of one line.
 * Texts are drawn; more than one needs no other option, greedy decoding is an option, and answers
 * are greedy unless an option draws. */
TEST(texts_begin_by_themselves) {
    static const struct {
        const char *text, *tokenizer, *begins;
    } cases[] = {
        {"ab\nab\nab\nab\nab\nab\nab\nab\nab\nab\n", "char", "ab\n"},
        {"ab\n\nab\n\nab\n\nab\n\nab\n\nab\n\nab\n\nab\n\n", "bpe", "ab\n\n"},
        {"abcabcabcabcabcabcabcabcabcabcabcabc", "byte", "bca"}}; /* after the first token */
    for (int i = 0; i < 3; i++) {
        write_text("text", cases[i].text);
        MUST(TRAIN("lm", "--text", "text", "--tokenizer", cases[i].tokenizer, "--context", "6",
                   "--tail", "0", "--steps", "80", "--lr", "0.01", "--force", SMALL, "run"));
        CHECK(GENERATE("run", "--greedy", "--length", "6") == 0 &&
                  !strncmp(out, cases[i].begins, strlen(cases[i].begins)),
              "%s: %s%s", cases[i].tokenizer, out, err);
    }
    train_text("char");
    char *drawn = PRINTED("--count", "5", "--length", "9"),
         *same = PRINTED("--temperature", "0.8", "--count", "5", "--length", "9");
    char *greedy = PRINTED("--greedy", "--length", "40"),
         *cold = PRINTED("--temperature", "0", "--length", "40");
    char *one = PRINTED("--length", "40");
    CHECK(!strcmp(drawn, same) && count_of(drawn, "---\n") == 4, "%s", drawn);
    CHECK(!strcmp(greedy, cold) && strcmp(greedy, one) != 0, "%s", greedy);
    free(drawn);
    free(same);
    free(greedy);
    free(cold);
    free(one);
    train_copy();
    greedy = PRINTED("--prompt", "1234", "--greedy");
    one = PRINTED("--prompt", "1234");
    drawn = PRINTED("--prompt", "1234", "--count", "20");
    CHECK(!strcmp(greedy, one) && lines_of(drawn) == 20 && strncmp(drawn, one, strlen(one)) != 0,
          "%s", drawn);
    free(drawn);
    free(greedy);
    free(one);
}

/* Only whole characters are written; a text may end inside one. */
TEST(characters_are_written_whole) {
    write_text("text", "水水水水水水水水水水水水水水水水水水水水");
    MUST(TRAIN("lm", "--text", "text", "--tokenizer", "byte", "--context", "6", "--tail", "0",
               "--steps", "60", "--lr", "0.01", SMALL, "run"));
    static const char *const want[] = {"水\n", "水\n", "水水\n", "水水\n", "水水\n"};
    for (int i = 0; i < 5; i++) {
        char length[] = {(char)('1' + i), 0},
             *text = PRINTED("--prompt", "水", "--greedy", "--length", length);
        CHECK(!strcmp(text, want[i]), "%d bytes: %s", i + 1, text);
        free(text);
    }
    write_text("pairs", "é\t水水\nü\t水水\nö\t水水水\nä\t水水水\n");
    for (int i = 0; i < 3; i++) { /* samples of trainings that learned little */
        static const char *const task[] = {"lm", "lm", "pairs"}, *const file[] = {"text", "pairs",
                                                                                  "pairs"};
        MUST(TRAIN(task[i], file[i], "--tokenizer", "byte", i == 1 ? "--lines" : "--seed=2",
                   "--steps", "20", "--d-model", "16", "--heads", "2", "--layers", "1", "--tail",
                   "0.5", "--run", "run2", "--force"));
        CHECK(utf8_check("samples", err, strlen(err), &(Error){0}), "%s", err);
        CHECK(
            run_program("generate",
                        i < 2 ? ARGUMENTS("run2") : ARGUMENTS("run2", "--score", "pairs", "--show"),
                        (Streams){0}) == 0 &&
                utf8_check("answers", out, strlen(out), &(Error){0}),
            "%s", out);
    }
}

/* A text's escape sequences reach files and pipes. A terminal gets U+FFFD for the character that
 * begins one, from generate as from the sample of a training. */
TEST(control_characters_reach_no_terminal) {
    enter_folder();
    write_text("text", "a\x1B[31mb\na\x1B[31mb\na\x1B[31mb\na\x1B[31mb\n");
    int shown, terminal = open_terminal(80, &shown);
    CHECK(run_program("train",
                      ARGUMENTS("lm", "--text", "text", "--tokenizer", "char", "--tail", "0",
                                "--context", "8", "--steps", "60", "--lr", "0.01", "--d-model",
                                "16", "--heads", "2", "--layers", "1", "--run", "run"),
                      (Streams){.terminal = shown}) == 0);
    MUST(run_program("generate", ARGUMENTS("run", "--prompt", "a\x1B", "--length", "9"),
                     (Streams){.output = ptsname(terminal)}));
    close(shown);
    read_terminal(terminal, out);
    char *sample = strstr(out, "a sample"), *end = strstr(out, "report: ");
    CHECK(sample && end && !memchr(sample, 0x1B, (size_t)(end - sample)) &&
              strstr(sample, "\xEF\xBF\xBD[31mb"),
          "%s", out);
    CHECK(end && strstr(end, "a\xEF\xBF\xBD[31mb\r\n") && !strchr(end, 0x1B), "%s", end);
    CHECK(GENERATE("run", "--prompt", "a\x1B", "--length", "4") == 0 && !strcmp(out, "a\x1B[31m\n"),
          "%s", out);
}

/* At a terminal the model begins, a line continues what was said, an empty one lets the model go
 * on, and an invalid one changes nothing. */
TEST(a_conversation_remembers) {
    train_text("char");
    int other, terminal = open_terminal(80, &other);
    static const char typed[] = "the c\n\nZ\nand\n\004"; /* Ctrl-D at the end */
    CHECK(write(terminal, typed, strlen(typed)) == (ssize_t)strlen(typed));
    MUST(run_program("generate", ARGUMENTS("run", "--length", "20"),
                     (Streams){.input = ptsname(terminal)}));
    static const char *const lines[] = {"", "\nthe c", "", "\nand"};
    char *said = strdup(out), text[200] = "\n", want[400] = ""; /* a text begins as a line begins */
    CHECK(lines_of(err) == 2 && strstr(err, "line 3: byte 0: found 'Z'"), "%s", err);
    for (int i = 0; i < 4; i++) {
        size_t before = strlen(text);
        strcat(text, lines[i]);
        char *whole = PRINTED("--prompt", text, "--length", "20");
        snprintf(text, sizeof text, "%.*s", (int)strlen(whole) - 1, whole);
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s\n",
                 text + before + (*lines[i] != 0));
        free(whole);
    }
    CHECK(!strcmp(said, want), "%s, want %s", said, want);
    free(said);
    /* Without a conversation each line is a prompt, and an invalid one is no end either. */
    CHECK(write(terminal, "Z\nthe c\n\004", 9) == 9);
    MUST(run_program("generate", ARGUMENTS("run", "--beam", "1"),
                     (Streams){.input = ptsname(terminal)}));
    CHECK(lines_of(out) == 1 && strstr(err, "line 1: byte 0: found 'Z'"), "%s%s", out, err);
    close(other);
    close(terminal);
}

/* The probabilities of all tokens, where there are few, sum to 1; the greedy token comes first,
 * with a star and a bar. */
TEST(probabilities_are_shown) {
    train_copy();
    char *shown = PRINTED("--prompt", "12", "--show-probabilities", "--length", "1");
    double sum = 0;
    for (const char *line = shown; *line; line = next_line(line)) sum += strtod(line + 1, NULL);
    CHECK(fabs(sum - 100) < 0.1 && lines_of(shown) == 6, "%s",
          shown); /* five symbols and the end */
    CHECK(*shown == '*' && strstr(shown, "\"1\"\n") && strstr(shown, "[end]\n") &&
              strstr(shown, "█"),
          "%s", shown);
    free(shown);
    shown = PRINTED("--prompt", "12", "--show-probabilities", "--temperature", "2", "--top-k", "3",
                    "--seed", "4");
    CHECK(lines_of(shown) % 4 == 3 && strstr(shown, "* "), "%s", shown);
    free(shown);
}

/* Whether the text has a token that is no text: begin and padding are U+FFFD. */
static bool has_special_tokens(const char *text) {
    return strstr(text, "\xEF\xBF\xBD");
}

/* Label smoothing gives begin and padding probability: neither is ever written. Different tokens
 * that write the same text are one of the best texts. */
TEST(only_text_is_written) {
    train_copy();
    char *drawn = PRINTED("--prompt", "12", "--temperature", "3", "--count", "200");
    char *best = PRINTED("--prompt", "12", "--beam", "8", "--n-best", "8");
    CHECK(!has_special_tokens(drawn) && !has_special_tokens(best), "%s%s", drawn, best);
    free(drawn);
    free(best);

    train_text("bpe");
    best = PRINTED("--prompt", "the", "--beam", "300", "--n-best", "300", "--length", "3", "--stop",
                   "\n");
    char *texts[300];
    int count = 0;
    for (char *line = best; *line; line = (char *)next_line(line)) {
        if (strncmp(line, "the", 3) != 0) continue;
        texts[count++] = line;
        for (int i = 0; i + 1 < count; i++)
            CHECK(strcspn(line, "\n") != strcspn(texts[i], "\n") ||
                      strncmp(line, texts[i], strcspn(line, "\n")) != 0,
                  "twice: %.*s", (int)strcspn(line, "\n"), line);
    }
    CHECK(count > 200, "%s", best);
    free(best);
}

/* The score of the part that was held out is the loss that training printed. */
TEST(scores_are_the_losses_of_training) {
    char text[721];
    for (int i = 0; i < 720; i++) text[i] = "abcd"[i * i % 7 % 4];
    text[720] = 0;
    write_text("text", text);
    write_text("tail", text + 648); /* the last tenth: 7 windows of 9 tokens, and a shorter one */
    for (int i = 0; i < 2; i++) {
        MUST(TRAIN("lm", "--text", "text", "--context", "9", "--tokenizer", i ? "bpe" : "char",
                   i ? "--vocab-size" : "--threads", i ? "258" : "1", "--tail", "0.1", "--steps",
                   "30", "--json", "--force", SMALL, "run"));
        const char *last = last_event(out, "evaluation");
        double nats = number(last, "val_nats_per_char"), bits = number(last, "val_bits_per_char");
        char *found = PRINTED("--score", "tail"), *second = strchr(found, ',');
        CHECK(fabs(strtod(found, NULL) - nats) < 6e-5 && second &&
                  fabs(strtod(second + 1, NULL) - bits) < 6e-5 &&
                  (i || strstr(found, "; 71 characters, 71 tokens\n")),
              "%s, want %g and %g", found, nats, bits);
        free(found);
    }

    /* A line that is cut has the characters of the tokens that are judged. */
    write_text("list", "a\nb\nab\nthe the the the cat\n");
    MUST(TRAIN("lm", "--text", "list", "--lines", "--tail", "0", "--tokenizer", "bpe", "--context",
               "5", "--steps", "2", "--json", SMALL, "cut"));
    double cut_nats = number(last_event(out, "evaluation"), "val_nats_per_char");
    CHECK(GENERATE("cut", "--score", "list") == 0 && fabs(strtod(out, NULL) - cut_nats) < 6e-5,
          "%s, want %g", out, cut_nats);

    write_text("pairs", "ab\tb\nba\ta\nabc\tc\nc\tcc\n");
    MUST(TRAIN("pairs", "--pairs", "pairs", "--tail", "0", "--steps", "5", "--json", SMALL, "two"));
    double want = number(last_event(out, "evaluation"), "val_loss");
    MUST(GENERATE("two", "--score", "pairs"));
    const char *at = strstr(out, "perplexity ");
    CHECK(at && fabs(strtod(at + 11, NULL) - exp(want)) < 0.006 &&
              strstr(out, " 9 tokens, 4 pairs, "),
          "%s, want %g", out, exp(want));
}

/* A text is scored as it is trained on: without its byte-order mark, with line ends as the run has
 * them; several are one. */
TEST(scores_read_a_text_as_training_does) {
    write_text("unix", TEXT TEXT);
    write_text(
        "dos",
        "\xEF\xBB\xBFthe cat sat on the mat, and the rat sat on the cat;\r\nthe mat was red.\r\n");
    write_text("same", "the cat sat on the mat, and the rat sat on the cat;\nthe mat was red.\n");
    MUST(TRAIN("lm", "--text", "unix", "--newline", "unix", "--tokenizer", "char", "--context", "8",
               "--steps", "9", SMALL, "run"));
    char *one = PRINTED("--score", "same"), *two = PRINTED("--score", "same", "unix");
    CHECK(GENERATE("run", "--score", "dos") == 0 && !strcmp(out, one) &&
              !strcmp(err, "dos: skipped a byte-order mark\n"),
          "%s%s", out, err);
    CHECK(strstr(one, "; 68 characters, 68 tokens\n") &&
              strstr(two, "; 247 characters, 247 tokens\n"),
          "%s%s", one, two);
    free(one);
    free(two);
    train_text("bpe");
    write_text("wide", "the \xFF\xFE cat");
    CHECK(GENERATE("run", "--score", "wide") == 65 &&
              strstr(err, "wide: byte 4: found 0xFF, need UTF-8 text"),
          "%s%s", out, err);
}

/* The losses of a line's tokens add up to the line's, and those of all lines to the text's. A
 * terminal shows the same in colours. */
TEST(losses_of_tokens_are_shown) {
    train_text("bpe");
    char *shown = PRINTED("--score", "text", "--show"), *line = shown;
    double all = 0, characters = 0;
    int tokens = 0;
    for (int i = 0; i < 4; i++) {
        const char *end = next_line(line) - 1, *loss = end;
        double nats = 0, length = (double)(strlen(TEXT) - (i ? 0 : strcspn(line, " {")));
        for (const char *at = line; at < end; at++) {
            if (*at != '{') continue;
            nats += strtod(at + 1, NULL);
            tokens++;
        }
        while (loss[-1] != ' ') loss--;
        CHECK_NEAR(strtod(loss, NULL), nats / length, 0.003);
        all += nats;
        characters += length;
        line = (char *)next_line(line);
    }
    CHECK_NEAR(strtod(line, NULL), all / characters, 0.001);
    int other, terminal = open_terminal(80, &other);
    setenv("TERM", "xterm", 1);
    MUST(run_program("generate", ARGUMENTS("run", "--score", "text", "--show"),
                     (Streams){.output = ptsname(terminal)}));
    close(other);
    read_terminal(terminal, out);
    CHECK(count_of(out, "\x1B[30;48;5;") == tokens + 1 && !strchr(out, '{'), "%s", out);
    free(shown);
}

/* The share of pairs that greedy decoding answers exactly, and the others one by one. */
TEST(scores_of_pairs_count_exact_answers) {
    char *answer[4], wrong[4][80] = {{0}};
    int exact = 0;
    train_copy();
    write_text("prompts", "1\n2\n3512\n12\n");
    MUST(run_program("generate", ARGUMENTS("run"), (Streams){.input = "prompts"}));
    char pairs[200], *at = out;
    for (int i = 0; i < 4; i++) {
        answer[i] = strndup(at, strcspn(at, "\n"));
        at += strcspn(at, "\n") + 1;
    }
    static const char *const source[] = {"1", "2", "3512", "12"};
    int used = 0;
    for (int i = 0; i < 4; i++) { /* two of four are right */
        const char *target = i % 2 ? answer[i] : "5";
        used += sprintf(pairs + used, "%s\t%s\n", source[i], target);
        bool right = !strcmp(target, answer[i]);
        exact += right;
        if (!right) sprintf(wrong[i], "%s -> %s   need %s\n", source[i], answer[i], target);
    }
    write_text("pairs", pairs);
    char *found = PRINTED("--score", "pairs", "--show"), want[60];
    snprintf(want, sizeof want, ", 4 pairs, %.2f %% answered exactly\n", 25.0 * exact);
    CHECK(strstr(found, want) && lines_of(found) == 5 - exact, "%s, want %s", found, want);
    for (int i = 0; i < 4; i++) CHECK(strstr(found, wrong[i]), "%s, want %s", found, wrong[i]);
    for (int i = 0; i < 4; i++) free(answer[i]);
    free(found);
}

RUN_PROGRAM_TESTS
