#include "base/utf8.h"
#include "check/child.h"
#include <stdio.h>
#include <string.h>

const char *child_last_line(char *text, size_t size, const char *printed) {
    *text = 0;
    for (const char *line = printed; *line;) {
        size_t length = strcspn(line, "\n");
        if (length) snprintf(text, size, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    utf8_make_printable(text, "");
    return text;
}

bool child_lacks(const char *text) {
    static const char *const words[] = {"No space left on device",
                                        "Resource temporarily unavailable",
                                        "Cannot allocate memory",
                                        "Killed signal terminated program",
                                        CHILD_LACK,
                                        "signal 9 (Killed)"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i])) return true;
    return false;
}

const char *child_text(char text[CHILD_TEXT], const ChildEnd *end, const ChildLimits *limits) {
    bool says_why =
        end->fate == CHILD_EXITED && (end->number == STATUS_BUG || end->number == STATUS_NO_MEMORY);
    child_last_line(text, CHILD_TEXT, says_why ? end->printed : "");
    if (text[0]) return text;
    switch (end->fate) {
    case CHILD_DONE: break;
    case CHILD_EXITED:
        if (end->number == STATUS_IO)
            snprintf(text, CHILD_TEXT,
                     "could not send its report: it closed a descriptor that is not its own");
        else if (end->number == STATUS_NO_MEMORY)
            snprintf(text, CHILD_TEXT, "ran out of memory");
        else
            snprintf(text, CHILD_TEXT, "called exit(%d) before it was done", end->number);
        break;
    case CHILD_SIGNALLED:
        snprintf(text, CHILD_TEXT, "crashed: signal %d (%s)", end->number, strsignal(end->number));
        break;
    case CHILD_TIMED_OUT:
        snprintf(text, CHILD_TEXT, "did not end within its time limit of %g s", limits->seconds);
        break;
    case CHILD_FULL:
        snprintf(text, CHILD_TEXT, "filled the directory that it has for temporary files");
        break;
    case CHILD_INTERRUPTED:
        snprintf(text, CHILD_TEXT, "was not waited for: the run was asked to end");
        break;
    case CHILD_NOT_BORN: snprintf(text, CHILD_TEXT, CHILD_LACK);
    }
    return text;
}
