/* A recipe as a command line. */
#include "base/shell.h"
#include "training/recipe.h"
#include <stdio.h>
#include <string.h>

/* Choices that are as the table has them for this task are left out. */
char *recipe_command(const Recipe *r, Error *e) {
    enum { PREFIX = sizeof "recipe." - 1, OPTION = 64, MOST = 2 * RECIPE_CHOICES + 5 };
    Recipe plain;
    int count = 0, same = 0, words = 0;
    char train[OPTION_TEXT], option[RECIPE_CHOICES][OPTION], *command = NULL;
    char *argv[MOST] = {(char *)options_command("train", train), (char *)r->task};
    bool ok = recipe_parse(&plain, 2, argv, e) && recipe_complete(&plain, e);
    Metadata *chosen = ok ? recipe_notes(r, false, &count, e) : NULL,
             *usual = ok ? recipe_notes(&plain, false, &same, e) : NULL;
    words = 2;
    for (int i = 0; chosen && usual && i < count; i++) {
        if (strcmp(chosen[i].value, usual[i].value) == 0) continue;
        snprintf(option[i], OPTION, "--%s", chosen[i].key + PREFIX);
        argv[words++] = option[i], argv[words++] = (char *)chosen[i].value;
    }
    if (strcmp(r->run, plain.run) != 0) argv[words++] = "--run", argv[words++] = (char *)r->run;
    argv[words++] = "--force";
    if (chosen && usual) command = shell_command(words, argv, e);
    recipe_notes_free(chosen, count);
    recipe_notes_free(usual, same);
    recipe_free(&plain);
    return command;
}
