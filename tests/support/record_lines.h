/* The lines of a record, run.jsonl or the output of --json. */
#pragma once

#include "child.h"
#include "json_lines.h"

/* The first line of that event from `text` on, or NULL. */
static inline const char *find_event(const char *text, const char *event) {
    char begin[64];
    snprintf(begin, sizeof begin, "{\"event\": \"%s\"", event);
    while (*text && strncmp(text, begin, strlen(begin)) != 0) text = next_line(text);
    return *text ? text : NULL;
}

/* The last one: of all evaluations, that of the end. */
static inline const char *last_event(const char *text, const char *event) {
    const char *last = "", *line = find_event(text, event);
    for (; line; line = find_event(next_line(line), event)) last = line;
    return last;
}

static inline int count_events(const char *text, const char *event) {
    int count = 0;
    const char *line = find_event(text, event);
    for (; line; line = find_event(next_line(line), event)) count++;
    return count;
}

/* The same of a file; -1: there is none. */
static inline int events_in(const char *path, const char *event) {
    size_t size;
    char *text = read_bytes(path, &size);
    int count = text ? count_events(text, event) : -1;
    free(text);
    return count;
}

/* The steps of a file's events, "2 4 6 ". */
static inline const char *steps_of(const char *path, const char *event) {
    static char steps[4096];
    size_t size, used = 0;
    char *text = read_bytes(path, &size);
    *steps = 0;
    const char *line = find_event(text ? text : "", event);
    while (line && used < sizeof steps - 24) {
        used += (size_t)sprintf(steps + used, "%.0f ", number(line, "step"));
        line = find_event(next_line(line), event);
    }
    free(text);
    return steps;
}
