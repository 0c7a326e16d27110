/* A right operation that is spoilt in one place, and the change that is said of it, which has to make the file pass. */
#ifndef TESTS_SPOILT_H
#define TESTS_SPOILT_H

#include "base/file.h"
#include "child.h"
#include "formats/json.h"

/* However much else the machine does. */
#define PATIENT        "--time-limit", "60"
#define GRADCHECK(...) run_program("gradcheck", ARGUMENTS(__VA_ARGS__), (Streams){0})

/* `what` is said of it; NULL: whatever it is. */
typedef struct Mistake {
    const char *right, *wrong, *what;
} Mistake;

/* How many of a table's rows one is planted after: `make test` has no time for all. */
static inline int each_row(int usual) {
    return getenv("ALL") ? 1 : usual;
}

static char *right_text;

/* The text with one place replaced, from malloc; NULL: it is not there. */
static inline char *replaced(const char *text, const char *at, const char *by, size_t length) {
    if (!at) return NULL;
    size_t before = (size_t)(at - text);
    char *new = malloc(strlen(text) + strlen(by) + 1);
    sprintf(new, "%.*s%s%s", (int)before, text, by, at + length);
    return new;
}

/* The beginning of a line of a text, from 1. */
static inline const char *line_of(const char *text, long line) {
    while (--line > 0 && text) text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    return text;
}

typedef struct Said {
    uint64_t line;
    char what[256], is[256], becomes[256];
} Said;

static inline void take(char to[256], Json *j) {
    JsonString text = {0};
    if (json_string(j, &text)) snprintf(to, 256, "%s", text.text);
}

/* The first repair in JSON lines; false: there is none. */
static inline bool read_repair(char *lines, Said *said) {
    static const char key[] = "\"repair\": ";
    char *at = strstr(lines, key);
    Error e = {0};
    JsonString member;
    *said = (Said){0};
    if (!at) return false;
    at += strlen(key);
    Json j = json_over("repair", at, strlen(at), &e);
    CHECK(json_enter(&j, '{'));
    while (json_member(&j, &member))
        if (strcmp(member.text, "line") == 0)
            json_natural(&j, &said->line);
        else if (strcmp(member.text, "what") == 0)
            take(said->what, &j);
        else
            take(strcmp(member.text, "is") == 0 ? said->is : said->becomes, &j);
    CHECK(!e.text[0], "%s", e.text);
    return true;
}

static inline void read_right(const char *path) {
    Error e = {0};
    size_t size;
    CHECK(file_read(path, 0, &right_text, &size, &e), "%s", e.text);
}

/* The first place of a text's that says the same, however it is spaced, and what is behind it; NULL: none does. */
static inline const char *place_of(const char *text, const char *is, const char **behind) {
    static const char blanks[] = " \n";
    for (; *text; text++) {
        const char *at = text, *want = is;
        while (*want && *at == *want) {
            at++, want++;
            at += strspn(at, blanks), want += strspn(want, blanks);
        }
        if (!*want) {
            *behind = at;
            return text;
        }
    }
    return NULL;
}

/* The text with a change made, from malloc, whose places, if there are several far from each other, are joined by an ellipsis;
 * NULL: it has no such place from the line on. */
static inline char *changed(const char *text, const Said *said) {
    static const char joint[] = "; … ";
    const char *from = line_of(text, (long)said->line), *is = said->is, *becomes = said->becomes, *behind;
    if (!from) return NULL;
    size_t offset = (size_t)(from - text);
    char *new = strdup(text);
    while (new &&*is) {
        const char *is_end = strstr(is, joint), *becomes_end = strstr(becomes, joint);
        char *one = strndup(is, is_end ? (size_t)(is_end - is) : strlen(is)),
             *other = strndup(becomes, becomes_end ? (size_t)(becomes_end - becomes) : strlen(becomes));
        const char *at = place_of(new + offset, one, &behind);
        char *next = at ? replaced(new, at, other, (size_t)(behind - at)) : NULL;
        if (at) offset = (size_t)(at - new) + strlen(other);
        free(new), free(one), free(other);
        new = next;
        is = is_end ? is_end + strlen(joint) : "";
        becomes = becomes_end ? becomes_end + strlen(joint) : "";
    }
    return new;
}

/* What is said of a mistake makes the file right. */
static inline void check_change(const Mistake *m) {
    const char *behind = strstr(right_text, "static void backward"),
               *in_forward = strstr(right_text, m->right);
    const char *at = strstr(behind, m->right) ? strstr(behind, m->right) : in_forward;
    char *wrong = replaced(right_text, at, m->wrong, strlen(m->right));
    Said said;
    CHECK(wrong, "no '%s'", m->right);
    if (!wrong) return;
    write_text("op.c", wrong);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1, "%s", m->wrong);
    bool found = read_repair(out, &said);
    CHECK(found, "'%s' for '%s': nothing is said", m->wrong, m->right);
    if (!found) return;
    if (m->what) CHECK(strcmp(said.what, m->what) == 0, "'%s' for '%s': %s", m->wrong, m->right, said.what);
    char *mended = changed(wrong, &said);
    CHECK(mended, "line %d has no '%s'", (int)said.line, said.is);
    if (mended) write_text("op.c", mended);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 0, "'%s' for '%s': '%s'", m->wrong, m->right, said.becomes);
    free(wrong);
    free(mended);
}

#endif
