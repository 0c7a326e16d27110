#include "base/runs.h"
#include "base/append.h"
#include "base/program.h"
#include "base/utf8.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char home[] = "runs"; /* where ./train makes runs */

static bool has(const char *directory, const char *file) {
    char path[PATH_CAPACITY];
    return directory_file(path, directory, file, STATUS_NO_INPUT, &(Error){0}) &&
           access(path, F_OK) == 0;
}

/* Lists the runs in a directory, or the first of many, and returns their number; out is the last.
 */
static int list_runs(const char *directory, const char *file, char out[PATH_CAPACITY],
                     char list[ERROR_TEXT]) {
    struct dirent **entry = NULL;
    char path[PATH_CAPACITY];
    int count = scandir(directory, &entry, NULL, alphasort), runs = 0, listed = 0;
    *list = 0;
    for (int i = 0; i < count; i++) {
        bool is_run =
            entry[i]->d_name[0] != '.' &&
            directory_file(path, directory, entry[i]->d_name, STATUS_NO_INPUT, &(Error){0}) &&
            has(path, file);
        free(entry[i]);
        if (!is_run) continue;
        if (strlen(list) < ERROR_TEXT / 4) {
            text_append(list, ERROR_TEXT, "%s%s", runs ? ", " : "", ESCAPED(path));
            listed++;
        }
        strcpy(out, path);
        runs++;
    }
    if (listed < runs) text_append(list, ERROR_TEXT, " and %d more", runs - listed);
    free(entry);
    return runs;
}

bool runs_find(char out[PATH_CAPACITY], const char *name, const char *file, Error *e) {
    char list[ERROR_TEXT], other[PATH_CAPACITY], train[PROGRAM_COMMAND], makes[ERROR_TEXT] = "";
    const char *slash = strrchr(name, '/');
    struct stat found;
    if (!directory_file(out, name, file, STATUS_NO_INPUT, e)) return false; /* too long, or empty */
    strcpy(out, name);
    if (has(out, file)) return true;
    if (directory_file(out, home, name, STATUS_NO_INPUT, &(Error){0}) && has(out, file))
        return true;
    if (stat(name, &found) == 0 && S_ISREG(found.st_mode)) {
        snprintf(out, PATH_CAPACITY, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
        if (has(out, file)) return true;
        if (directory_ends_in(name, ".safetensors"))
            snprintf(makes, sizeof makes, "; beside it, %s is missing", file);
        else
            snprintf(makes, sizeof makes, "; %s %s trains on it", program_command("train", train),
                     ESCAPED(name));
    }
    const char *what = stat(name, &found) == 0 && S_ISDIR(found.st_mode) ? file : "run";
    int runs = list_runs(name, file, out, list);
    if (runs == 1) return true;
    if (runs > 1)
        return error_set(e, STATUS_NO_INPUT, "%s: found %d runs, need one: %s", ESCAPED(name), runs,
                         list);
    if (list_runs(home, file, other, list))
        return error_set(e, STATUS_NO_INPUT, "%s: found no %s, need one: %s%s", ESCAPED(name), what,
                         list, makes);
    return error_set(e, STATUS_NO_INPUT, "%s: found no %s, and none in %s%s", ESCAPED(name), what,
                     home, makes);
}
