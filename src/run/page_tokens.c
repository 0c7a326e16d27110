/* The texts of tokens on a page. */
#include "base/append.h"
#include "base/utf8.h"
#include "run/run_page.h"
#include <string.h>

enum { PIECE_TOKENS = 8, PIECE = 4096 /* bytes of a piece, with an escape for each of its own */ };

/* Bytes that the last character of a text lacks, if `lacks` were missing before it. */
static int lacking(const char *text, int lacks) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (lacks && utf8_continues(*text))
            lacks--;
        else
            lacks = (c >= 0xC0) + (c >= 0xE0) + (c >= 0xF0);
    }
    return lacks;
}

long page_piece(const char *const *token, List ids) {
    long n = 1;
    int lacks = lacking(token[*ids.id], 0);
    while (n < ids.count && n < PIECE_TOKENS && lacks && utf8_continues(*token[ids.id[n]]))
        lacks = lacking(token[ids.id[n++]], lacks);
    return n;
}

/* The text of tokens as UTF-8, with \xNN for bytes that are no characters. */
static const char *piece_text(const char *const *token, List ids, char out[PIECE]) {
    char bytes[PIECE / 4] = "", *end = out;
    uint32_t symbol;
    for (long i = 0; i < ids.count; i++) text_append(bytes, sizeof bytes, "%s", token[ids.id[i]]);
    for (size_t at = 0, size, length = strlen(bytes); at < length; at += size) {
        size = utf8_symbol(bytes + at, length - at, &symbol);
        end += symbol < NO_UTF8 ? sprintf(end, "%.*s", (int)size, bytes + at)
                                : sprintf(end, "\\x%02X", (unsigned char)bytes[at]);
    }
    *end = 0;
    return out;
}

static void text_markup(const char *text, FILE *out) {
    for (const char *end; *text; text = end) {
        char line[PIECE];
        end = text + strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        markup_text(out, line);
        if (*end) end++, fputs("↵\n", out);
    }
}

void page_text(const char *const *token, List ids, FILE *out) {
    char text[PIECE];
    for (long n; ids.count > 0; ids = list_from(ids, n)) {
        n = page_piece(token, ids);
        text_markup(piece_text(token, (List){ids.id, n}, text), out);
    }
}

void page_line(const char *const *token, List ids, FILE *out) {
    char text[PIECE];
    for (long n; ids.count > 0; ids = list_from(ids, n)) {
        n = page_piece(token, ids);
        piece_text(token, (List){ids.id, n}, text);
        for (char *at = text; (at = strpbrk(at, "\n\t"));) *at = ' ';
        markup_text(out, text);
    }
}

int page_label(const char *const *token, List ids, int most, FILE *out) {
    char text[PIECE];
    Label l = label_of(piece_text(token, ids, text), most, true);
    if (out) label_markup(out, &l);
    return l.columns;
}
