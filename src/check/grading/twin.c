#include "check/grading/twin.h"
#include "check/gradcheck/check_system.h"
#include "check/gradcheck/child.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 32, CANNOT_RUN = 127 };

/* A day: the twin's work takes as long as it takes. */
static const ChildLimits limits = {.seconds = 86400};

typedef struct Twin {
    char path[PATH_MAX];
    const char *name;
    const char *const *arguments;
    Error *error;
} Twin;

/* FOLDER/gradcheck: of FOLDER = …/double the twin is …/float/gradcheck, of an installed …/bin it is
 * …/libexec/tapeformer/float/gradcheck, else FOLDER/build/float/gradcheck. */
static bool find(Twin *t, Error *e) {
    char self[PATH_MAX];
    char *name = system_program(self, sizeof self) ? strrchr(self, '/') : NULL;
    if (!name)
        return error_set(e, STATUS_NO_INPUT,
                         "gradcheck: found no path of its own, need it to find the float twin");
    *name++ = 0;
    t->name = name;
    const char *folder = strrchr(self, '/');
    bool built = folder && strcmp(folder, "/double") == 0, installed = folder && strcmp(folder, "/bin") == 0;
    int length = built || installed ? (int)(folder - self) : (int)strlen(self);
    const char *below = built ? "" : installed ? "/libexec/tapeformer" : "/build";
    if (snprintf(t->path, sizeof t->path, "%.*s%s/float/%s", length, self, below, name) >=
        (int)sizeof t->path)
        return error_set(e, STATUS_NO_INPUT, "%s: the path is too long", self);
    if (access(t->path, X_OK) == 0) return true;
    return error_set(e, STATUS_NO_INPUT,
                     "%s: found no such program, need it for the float side: `make %s` builds it", t->path,
                     name);
}

static void become_twin(void *context, long i) {
    const Twin *t = context;
    char *argv[ARGUMENTS + 2] = {(char *)t->path};
    for (int n = 0; n < ARGUMENTS && t->arguments[n]; n++) argv[n + 1] = (char *)t->arguments[n];
    (void)i;
    execv(t->path, argv);
    _exit(CANNOT_RUN);
}

/* The last line of its output is its error: `gradcheck: TEXT`. */
static void take_end(void *context, long i, const ChildEnd *end) {
    const Twin *t = context;
    char how[CHILD_TEXT], line[ERROR_TEXT];
    (void)i;
    if (end->fate == CHILD_EXITED && end->number == STATUS_DONE) return;
    const char *colon = strstr(child_last_line(line, sizeof line, end->printed), ": ");
    if (end->fate == CHILD_EXITED && end->number != CANNOT_RUN && colon)
        error_set(t->error, (Status)end->number, "%s", colon + 2);
    else
        error_set(t->error, STATUS_NO_INPUT, "%s: %s", t->path,
                  end->fate == CHILD_EXITED ? "cannot be run" : child_text(how, end, &limits));
}

bool twin_run(const char *const *arguments, Error *e) {
    Twin t = {.arguments = arguments, .error = e};
    if (!find(&t, e)) return false;
    child_run_all(1, 1, &limits, become_twin, take_end, &t);
    return e->status == STATUS_DONE;
}
