#include "check/student_program.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void program_run(void *where, CheckRun *run, const Job *j, Result *r) {
    Program *p = where;
    p->run = run;
    p->runner(p, j, r);
}

static struct {
    char *bytes;
    size_t size, room;
} message;

void program_put(const void *bytes, size_t size) {
    if (message.size + size > message.room) {
        message.room = 2 * (message.size + size) + 4096;
        message.bytes = realloc(message.bytes, message.room);
        if (!message.bytes) error_no_memory("a message of %zu bytes", message.size + size);
    }
    memcpy(message.bytes + message.size, bytes, size);
    message.size += size;
}

void program_send(void) {
    child_send(message.bytes, message.size);
    message.size = 0;
}

bool program_take(void *program, void *to, size_t size) {
    Program *p = program;
    bool sent = !message.size || child_tell(p->child, message.bytes, message.size, &p->end);
    message.size = 0;
    if (sent && child_hear(p->child, to, size, &p->end)) return true;
    if (p->lost) p->lost(p->context, &p->end, p->run);
    return false;
}

void program_refuse(Program *p, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->lost(p->context, &(ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, text}, p->run);
}

void program_expect_outputs(Program *p, const Job *j, long found) {
    if (j->dy && found != j->outputs)
        program_refuse(p, "the output has %ld elements at one point and %ld at another", j->outputs, found);
    if (found > JOB_OUTPUTS) program_refuse(p, "an output of %ld elements is too large to be checked", found);
}
