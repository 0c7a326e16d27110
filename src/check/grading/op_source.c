#include "check/grading/op_source.h"
#include "base/directory.h"
#include "base/file.h"
#include "check/grading/student_op.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 64 };
static const char build_case[] = "BUILD_CASE(";

/* ---- Parts ---- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment, if one stands here, and the white space around it. */
static const char *skip_comments(const char *at) {
    for (;; at++) {
        at += strspn(at, " \n");
        if (strncmp(at, "/*", 2) != 0) return at;
        const char *end = strstr(at, "*/");
        if (!end) return at;
        at = end + 1;
    }
}

static bool begins(const char *part, const char *with) {
    part = skip_comments(part);
    return strncmp(part, with, strlen(with)) == 0;
}

/* Whether a part ends with this line's end. The inside of a function is indented. */
static bool ends_part(const char *end) {
    return (end[1] == '\n' && !isspace((unsigned char)end[2])) ||
           (end[-1] == ')' && strncmp(end + 1, build_case, strlen(build_case)) == 0);
}

static void divide(OpSource *s) {
    for (char *at = s->text; at && *at && s->parts < SOURCE_PARTS;) {
        s->part[s->parts++] = at;
        while ((at = strchr(at, '\n')) && !ends_part(at)) at++;
        if (at) *at = 0, at += 1 + (at[1] == '\n');
    }
    for (int i = 0; i < s->parts; i++)
        if (begins(s->part[i], "static const CheckCase cases[]")) s->cases = s->part[i];
}

bool op_source_read(OpSource *s, const OpEntry *entry, const char *headers, Error *e) {
    char path[PATH_ROOM];
    size_t size;
    *s = (OpSource){.entry = entry};
    snprintf(path, sizeof path, "%s/ops/%s.c", headers, entry->op->name);
    if (!file_read(path, 1 << 20, &s->text, &size, e)) return false;
    divide(s);
    return s->cases ||
           error_set(e, STATUS_BAD_DATA, "%s: found no table `static const CheckCase cases[]`", path);
}

void op_source_free(OpSource *s) {
    free(s->text);
}

void op_source_task(const OpSource *s, FILE *out) {
    const char *end = strstr(s->text, " * Backward");
    if (!end) end = strstr(s->text, "*/");
    fwrite(s->text, 1, end ? (size_t)(end - s->text) : 0, out);
}

/* ---- What a part is made of ---- */

/* The next word outside of strings from *at on, which moves behind it; NULL at the end. */
static const char *next_word(const char **at, char word[WORD]) {
    for (bool quoted = false; **at && (quoted || !is_word(**at)); (*at)++) quoted ^= **at == '"';
    const char *begin = *at;
    while (is_word(**at)) (*at)++;
    snprintf(word, WORD, "%.*s", (int)(*at - begin), begin);
    return *at > begin ? begin : NULL;
}

/* Whether the part, a declaration, declares the word. */
static bool declares(const char *part, const char *word) {
    bool inside = begins(part, "enum ");
    int depth = 0;
    size_t length = strlen(word);
    if (begins(part, build_case)) {
        const char *name = skip_comments(part) + strlen(build_case);
        return strncmp(name, word, length) == 0 && name[length] == ',';
    }
    if (!inside && !begins(part, "static ")) return false;
    for (const char *at = skip_comments(part); *at; at++) {
        depth += (*at == '{') - (*at == '}');
        if (depth > inside || is_word(at[-1]) || strncmp(at, word, length) != 0 || is_word(at[length]))
            continue;
        const char *behind = at + length + strspn(at + length, " ");
        if (strchr(inside ? "=,}" : "[=(", *behind)) return true;
        if (!inside && *behind == ')') return false;
    }
    return false;
}

static int declaration_of(const OpSource *s, const char *word) {
    for (int i = 0; i < s->parts; i++)
        if (declares(s->part[i], word)) return i;
    return -1;
}

/* Another operation, recorded by the function of that name, that a student's code does not find. */
static bool is_hidden(const OpSource *s, const char *word) {
    for (int i = 0; strncmp(word, "tape_", 5) == 0 && i < ops_count; i++)
        if (strcmp(word + 5, ops_all[i].op->name) == 0 && &ops_all[i] != s->entry)
            return !student_finds(word);
    return false;
}

/* Marks the part that declares the word and all that it is made of. False: hidden operations are among it. */
static bool mark(const OpSource *s, const char *word, bool marked[SOURCE_PARTS]) {
    char inner[WORD];
    int i = declaration_of(s, word);
    if (i < 0 || marked[i] || s->part[i] == s->cases) return !is_hidden(s, word);
    marked[i] = true;
    bool all = true;
    for (const char *at = skip_comments(s->part[i]); next_word(&at, inner);)
        all = mark(s, inner, marked) && all;
    return all;
}

/* ---- Rows of the case table ---- */

/* The end of the braces that begin here. */
static const char *end_of_braces(const char *at) {
    int depth = 0;
    do {
        if (*at == '"')
            for (at++; *at && *at != '"';) at++;
        depth += (*at == '{') - (*at == '}');
    } while (*at++ && depth);
    return at;
}

static const char *row_of(const OpSource *s, int i) {
    const char *row = strchr(strchr(s->cases, '{') + 1, '{');
    while (row && i-- > 0) row = strchr(end_of_braces(row), '{');
    return row;
}

/* Marks what the case is made of. */
static bool mark_case(const OpSource *s, int i, bool marked[SOURCE_PARTS]) {
    char word[WORD];
    bool all = true;
    const char *row = row_of(s, i), *end = row ? end_of_braces(row) : NULL;
    if (!row) return false;
    for (const char *at = row; next_word(&at, word) && at < end;) all = mark(s, word, marked) && all;
    return all;
}

bool op_source_has_case(const OpSource *s, int i) {
    bool marked[SOURCE_PARTS] = {false};
    return mark_case(s, i, marked);
}

void op_source_print_cases(const OpSource *s, FILE *out) {
    bool marked[SOURCE_PARTS] = {false};
    for (int i = 0; i < s->entry->op->n_cases; i++)
        if (op_source_has_case(s, i)) mark_case(s, i, marked);
    bool before = false; /* the last one printed is a BUILD_CASE */
    for (int i = 0; i < s->parts; i++) {
        if (!marked[i]) continue;
        bool build = begins(s->part[i], build_case);
        fprintf(out, "%s%s\n", build && before ? "" : "\n", s->part[i]);
        before = build;
    }
    fprintf(out, "\n/* Inputs by name, shape and what values they have, if not random ones of [-2, 2]; "
                 ".kinks = true where "
                 "points lie on\n"
                 " * kinks or ties on purpose, .flat = true where the output is saturated there. */\n"
                 "static const CheckCase cases[] = {\n");
    for (int i = 0; i < s->entry->op->n_cases; i++) {
        const char *row = row_of(s, i);
        if (op_source_has_case(s, i)) fprintf(out, "    %.*s,\n", (int)(end_of_braces(row) - row), row);
    }
    fprintf(out, "};\n");
}

const OpEntry *op_source_hidden(const OpSource *s, int *at) {
    char word[WORD];
    while (*at < ops_count) {
        const OpEntry *other = &ops_all[(*at)++];
        snprintf(word, sizeof word, "tape_%.*s", WORD - 6, other->op->name);
        if (!is_hidden(s, word)) continue;
        for (int i = 0; i < s->parts; i++) {
            char inner[WORD];
            for (const char *text = skip_comments(s->part[i]); next_word(&text, inner);)
                if (strcmp(inner, word) == 0) return other;
        }
    }
    return NULL;
}
