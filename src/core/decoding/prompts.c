#include "decoding/prompts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool prompts_open(Prompts *p, const char *path, Error *e) {
    *p = (Prompts){path ? fopen(path, "r") : stdin, path ? path : "stdin"};
    if (!p->in) return error_set(e, STATUS_NO_INPUT, "%s: %s", ESCAPED(path), strerror(errno));
    p->typed = isatty(fileno(p->in));
    return true;
}

void prompts_close(Prompts *p) {
    if (p->in && p->in != stdin) fclose(p->in);
    free(p->line);
}

bool prompts_next(Prompts *p, Error *e) {
    bool marks = p->typed && isatty(STDERR_FILENO);
    if (marks) fputs("> ", stderr);
    ssize_t bytes = getline(&p->line, &p->capacity, p->in);
    if (bytes < 0 && marks) putc('\n', stderr);
    if (bytes < 0 && ferror(p->in) && errno == EISDIR)
        return error_set(e, STATUS_NO_INPUT, "%s: found a directory, need a file",
                         ESCAPED(p->name));
    if (bytes < 0 && ferror(p->in))
        return error_set(e, STATUS_IO, "%s: reading failed: %s", ESCAPED(p->name), strerror(errno));
    if (bytes < 0) return false;
    while (bytes > 0 && strchr("\r\n", p->line[bytes - 1])) bytes--;
    size_t mark = p->count++ ? 0 : utf8_mark(p->line, (size_t)bytes);
    p->text = p->line + mark;
    p->bytes = (size_t)bytes - mark;
    snprintf(p->where, sizeof p->where, "%s: line %ld", ESCAPED(p->name), p->count);
    if (mark) fprintf(stderr, "%s: skipped a byte-order mark\n", ESCAPED(p->name));
    return true;
}
