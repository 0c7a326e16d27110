#include "base/terminal.h"
#include "base/system.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, MAX_COLUMNS = 1000 };

int terminal_columns(FILE *out) {
    int columns = system_columns(fileno(out));
    return columns ? columns : USUAL_COLUMNS;
}

bool terminal_unicode(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = "";
    for (int i = 2; i >= 0; i--) {
        const char *value = getenv(variables[i]);
        if (value && *value) locale = value;
    }
    return strstr(locale, "UTF-8") || strstr(locale, "utf-8") || strstr(locale, "utf8");
}

static bool has_colour(FILE *out) {
    const char *kind = getenv("TERM"), *no = getenv("NO_COLOR");
    return isatty(fileno(out)) && kind && *kind && strcmp(kind, "dumb") != 0 && !(no && *no);
}

Terminal terminal_of(FILE *out) {
    const char *wanted = getenv("COLUMNS");
    int columns = wanted ? atoi(wanted) : 0;
    if (columns < 1 || columns > MAX_COLUMNS) columns = terminal_columns(out);
    return (Terminal){out, columns - 1, has_colour(out), terminal_unicode()};
}
