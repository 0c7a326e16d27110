#include "check/child.h"
#include <stdio.h>
#include <string.h>

const char *child_text(char text[CHILD_TEXT], const ChildEnd *end, const ChildLimits *limits) {
    text[0] = 0;
    if (end->fate == CHILD_EXITED && end->number != STATUS_IO)
        snprintf(text, CHILD_TEXT, "called exit(%d) before it was done", end->number);
    else if (end->fate == CHILD_EXITED)
        snprintf(text, CHILD_TEXT, "could not send its report: it closed a descriptor that is not its own");
    else if (end->fate == CHILD_SIGNALLED)
        snprintf(text, CHILD_TEXT, "crashed: signal %d (%s)", end->number, strsignal(end->number));
    else if (end->fate == CHILD_TIMED_OUT)
        snprintf(text, CHILD_TEXT, "did not end within its time limit of %g s", limits->seconds);
    else if (end->fate == CHILD_INTERRUPTED)
        snprintf(text, CHILD_TEXT, "was not waited for: the run was asked to end");
    else if (end->fate == CHILD_NOT_BORN)
        snprintf(text, CHILD_TEXT, "could not be run: no process or no memory for it");
    return text;
}

const char *child_last_line(char *text, size_t size, const char *printed) {
    *text = 0;
    for (const char *line = printed; *line;) {
        size_t length = strcspn(line, "\n");
        if (length) snprintf(text, size, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return text;
}
