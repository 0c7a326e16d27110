#include "explain/label.h"
#include "base/utf8.h"
#include <string.h>

enum { REPLACEMENT = 0xFFFD, ELLIPSIS = 0x2026, OPEN_BOX = 0x2423, RETURN = 0x21B5, TAB = 0x21E5 };

typedef struct Range {
    uint32_t first, last;
} Range;

static bool within(uint32_t c, const Range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last) return true;
    return false;
}

/* Blocks of combining marks, and of East Asian and pictorial characters: enough to align columns
 * without the full tables of Unicode. */
static const Range combining[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},
                                  {0x64B, 0x65F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
                                  {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0x302A, 0x302F},
                                  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
static const Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                             {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                             {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                             {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

static int character_columns(uint32_t c) {
    if (within(c, combining, sizeof combining / sizeof *combining)) return 0;
    return within(c, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

static bool shapeless(uint32_t c) {
    return utf8_drives_terminal(c) || c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
}

/* The character to show for c. */
static uint32_t shown(uint32_t c, bool unicode) {
    if (!unicode && c == ' ') return '_';
    if (!unicode && c == '\n') return '/';
    if (!unicode) return c > ' ' && c < 0x7F ? c : '?';
    if (c == ' ') return OPEN_BOX;
    if (c == '\n') return RETURN;
    if (c == '\t') return TAB;
    return shapeless(c) ? REPLACEMENT : c;
}

/* The first character of a text that is not empty, and its bytes. */
static uint32_t next(const char *text, size_t *bytes) {
    uint32_t c;
    int found = utf8_decode(text, strnlen(text, UTF8_MAX), &c);
    *bytes = found ? (size_t)found : 1;
    return found ? c : REPLACEMENT;
}

/* In a text of blanks alone, the blanks are shown. */
static bool only_blanks(const char *text) {
    return text[strspn(text, " \t\n")] == 0;
}

Label label_of(const char *text, int most, bool unicode) {
    Label l = {0};
    bool blank = only_blanks(text);
    if (most > LABEL_MAX) most = LABEL_MAX;
    for (size_t bytes; *text; text += bytes) {
        uint32_t c = next(text, &bytes);
        c = c == ' ' && !blank ? c : shown(c, unicode);
        int columns = character_columns(c);
        if (l.columns + columns > most || l.count == LABEL_MAX) {
            /* Room for the ellipsis. */
            while (l.count && l.columns + 1 > most)
                l.columns -= character_columns(l.character[--l.count]);
            if (l.count == LABEL_MAX) l.columns -= character_columns(l.character[--l.count]);
            l.character[l.count++] = unicode ? ELLIPSIS : '~';
            l.columns++;
            break;
        }
        l.character[l.count++] = c;
        l.columns += columns;
    }
    return l;
}

Label label_number(long number) {
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    return label_of(text, LABEL_MAX, false);
}

void label_write(FILE *out, const Label *l) {
    char bytes[UTF8_MAX];
    for (int i = 0; i < l->count; i++)
        fwrite(bytes, 1, (size_t)utf8_encode(l->character[i], bytes), out);
}

void label_padded(FILE *out, Label l, int columns, bool right) {
    int blank = columns > l.columns ? columns - l.columns : 0;
    fprintf(out, "%*s", right ? blank : 0, "");
    label_write(out, &l);
    fprintf(out, "%*s", right ? 0 : blank, "");
}
