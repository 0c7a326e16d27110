/* A student's file as it is handed in: by itself, with the header of tests/check/students in its
 * text. */
#pragma once

#include "folder.h"

/* Writes the text to a file in the place of its line `#include "…student.h"`. `tree`: the source
 * tree. */
static inline void write_with_header(FILE *to, const char *tree, const char *text) {
    char path[4200];
    size_t size;
    snprintf(path, sizeof path, "%s/tests/check/students/student.h", tree);
    char *header = read_bytes(path, &size);
    const char *line = strstr(text, "student.h\"\n");
    CHECK(header, "%s", path);
    if (line) {
        const char *end = strchr(line, '\n');
        while (line > text && line[-1] != '\n') line--;
        fprintf(to, "%.*s%s%s", (int)(line - text), text, header ? header : "", end);
    } else {
        fputs(text, to);
    }
    free(header);
}

static inline void write_student(const char *to, const char *tree, const char *text) {
    FILE *f = fopen(to, "w");
    CHECK(f, "%s", to);
    if (!f) return;
    write_with_header(f, tree, text);
    fclose(f);
}

/* The same for a file of tests/check/students. */
static inline void hand_in(const char *to, const char *tree, const char *name) {
    char path[4200];
    size_t size;
    snprintf(path, sizeof path, "%s/tests/check/students/%s.c", tree, name);
    char *text = read_bytes(path, &size);
    CHECK(text, "%s", path);
    if (text) write_student(to, tree, text);
    free(text);
}
