#include "run/shell.h"
#include "base/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether no character of the word has a meaning for a shell. */
static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    return *word && strspn(word, plain) == strlen(word);
}

char *shell_command(int argc, char *const *argv, Error *e) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < argc; i++) {
        const char *quote = is_plain(argv[i]) ? "" : "'";
        fprintf(out, "%s%s", i ? " " : "", quote);
        for (const char *c = argv[i]; *c; c++) fputs(*c == '\'' ? "'\\''" : (char[]){*c, 0}, out);
        fputs(quote, out);
    }
    if (out && fclose(out) == 0 && text) return text; /* closing may run out of memory */
    free(text);
    error_set(e, STATUS_NO_MEMORY, "memory: a command of %d words", argc);
    return NULL;
}

char *train_config_command(const TrainConfig *r, Error *e) {
    enum { PREFIX = sizeof "recipe." - 1, OPTION = 64, MOST = 2 * TRAIN_SETTINGS + 5 };
    TrainConfig plain;
    int count = 0, same = 0, words = 0;
    char train[PROGRAM_COMMAND], option[TRAIN_SETTINGS][OPTION], *command = NULL;
    char *argv[MOST] = {(char *)program_command("train", train), (char *)r->task};
    bool ok = train_config_parse(&plain, 2, argv, e) && train_config_complete(&plain, e);
    Metadata *chosen = ok ? train_config_notes(r, false, &count, e) : NULL,
             *usual = ok ? train_config_notes(&plain, false, &same, e) : NULL;
    words = 2;
    for (int i = 0; chosen && usual && i < count; i++) {
        if (strcmp(chosen[i].value, usual[i].value) == 0) continue;
        snprintf(option[i], OPTION, "--%s", chosen[i].key + PREFIX);
        argv[words++] = option[i], argv[words++] = (char *)chosen[i].value;
    }
    if (strcmp(r->run, plain.run) != 0) argv[words++] = "--run", argv[words++] = (char *)r->run;
    argv[words++] = "--force";
    if (chosen && usual) command = shell_command(words, argv, e);
    train_config_notes_free(chosen, count);
    train_config_notes_free(usual, same);
    train_config_free(&plain);
    return command;
}
