#include "text/encoding.h"
#include "base/append.h"
#include "base/program.h"
#include "base/utf8.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The common letters of an encoding: bytes from `first` to `last`. In an encoding of two bytes they are first bytes, and
 * the second lies from `second` to 0xFE. */
typedef struct Encoding {
    const char *name;
    unsigned char first, last, second; /* second 0: an encoding of one byte */
    enum {
        ANYWHERE,
        ALONE,
        BESIDE
    } place;           /* among ASCII, as accents are; beside another byte from 0x80 on */
    const char *final; /* letters that only end a word; NULL: none */
} Encoding;

static const Encoding encodings[] = {
    {"ISO-8859-1", 0xC0, 0xFF, 0, ALONE},
    {"WINDOWS-1252", 0x91, 0x97, 0, ANYWHERE}, /* quotation marks and dashes */
    {"WINDOWS-1251", 0xE0, 0xFF, 0, BESIDE},   /* lower case */
    {"WINDOWS-1253", 0xDC, 0xFE, 0, BESIDE},   /* lower case */
    {"WINDOWS-1255", 0xE0, 0xFA, 0, BESIDE, "\xEA\xED\xEF\xF3\xF5"},
    {"WINDOWS-1256", 0xC7, 0xED, 0, BESIDE},
    {"KOI8-R", 0xC0, 0xDF, 0, BESIDE},         /* lower case */
    {"CP874", 0xA1, 0xED, 0, BESIDE},          /* Thai */
    {"GB18030", 0xA1, 0xD7, 0xA1, ANYWHERE},   /* signs and level 1 of GB 2312 */
    {"BIG5", 0xA4, 0xC6, 0x40, ANYWHERE},      /* level 1 */
    {"SHIFT_JIS", 0x82, 0x83, 0x40, ANYWHERE}, /* kana */
    {"EUC-JP", 0xA4, 0xA5, 0xA1, ANYWHERE},    /* kana */
    {"EUC-KR", 0xB0, 0xC8, 0xA1, ANYWHERE},    /* Hangul */
};

/* The fit of an encoding: the fourth power of the share that common letters have of all that is not ASCII, for each value
 * of their first byte. The power prefers an encoding that explains nearly all. */
static double fit(const Encoding *c, const unsigned char *text, size_t length) {
    long common = 0, all = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < 0x80) continue;
        bool after = i > 0 && text[i - 1] >= 0x80, before = i + 1 < length && text[i + 1] >= 0x80;
        bool fits = text[i] >= c->first && text[i] <= c->last;
        if (c->place == ALONE) fits &= !after && !before;
        if (c->place == BESIDE) fits &= after || before;
        if (c->final && before) fits &= !strchr(c->final, text[i]);
        if (c->second && i + 1 < length && text[i + 1] >= 0x40) { /* no second byte is less */
            i++;
            fits &= text[i] >= c->second && text[i] <= 0xFE;
        }
        common += fits, all++;
    }
    double share = all ? (double)common / (double)all : 0;
    return share * share * share * share / (c->last - c->first + 1);
}

/* Whether NUL only parts fields of a text in UTF-8. UTF-16 of Latin letters has more, of other letters also bytes that are
 * control characters or no UTF-8. */
static bool has_fields(const char *text, size_t length, size_t zeros) {
    for (size_t i = 0; i < length; i++)
        if (text[i] > 0 && text[i] < '\t') return false;
    return 3 * zeros < length && utf8_valid(text, length) == length;
}

/* UTF-32 has a mark. UTF-16 has one, or NUL in one half of the bytes of Latin letters and blanks. */
static const char *wide_encoding(const char *text, size_t length) {
    size_t zeros[2] = {0};
    if (length >= 4 && (!memcmp(text, "\xFF\xFE\0\0", 4) || !memcmp(text, "\0\0\xFE\xFF", 4)))
        return "UTF-32";
    if (length >= 2 && (!memcmp(text, "\xFF\xFE", 2) || !memcmp(text, "\xFE\xFF", 2))) return "UTF-16";
    for (size_t i = 0; i < length; i++) zeros[i % 2] += text[i] == 0;
    size_t all = zeros[0] + zeros[1];
    if (200 * all < length || all < 4 || has_fields(text, length, all)) return NULL;
    if (zeros[1] > 4 * zeros[0]) return "UTF-16LE";
    return zeros[0] > 4 * zeros[1] ? "UTF-16BE" : NULL;
}

/* Whether few bytes are lost or wrong. */
static bool is_damaged_utf8(const char *text, size_t length) {
    long whole = 0, wrong = 0;
    uint32_t symbol;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        bytes = utf8_symbol(text + at, length - at, &symbol);
        whole += bytes > 1, wrong += symbol >= NO_UTF8;
    }
    return whole > 4 * wrong;
}

const char *text_encoding(const char *text, size_t length) {
    const char *best = wide_encoding(text, length);
    double most = 0;
    if (best || memchr(text, 0, length)) return best;
    if (is_damaged_utf8(text, length)) return "UTF-8";
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        double found = fit(&encodings[i], (const unsigned char *)text, length);
        if (found > most) most = found, best = encodings[i].name;
    }
    if (best == encodings[0].name) /* bytes that are control characters there */
        for (size_t i = 0; i < length; i++)
            if ((text[i] & 0xE0) == 0x80) return encodings[1].name;
    return best;
}

size_t text_valid(const char *text, size_t length) {
    size_t valid = utf8_valid(text, length);
    const char *nul = memchr(text, 0, valid);
    return nul ? (size_t)(nul - text) : valid;
}

/* Files that hold a text in another form: their first bytes, and what reads them on standard input. */
static const struct {
    const char *first, *name, *command;
} packed[] = {
    {"\x1F\x8B", "a gzip", "gzip -d"}, {"PK\x03\x04", "a zip", "funzip"},
    {"\xFD\x37zXZ", "an xz", "xz -d"}, {"\x28\xB5\x2F\xFD", "a zstd", "zstd -d"},
    {"BZh", "a bzip2", "bzip2 -d"},    {"%PDF", "a PDF", "pdftotext - -"},
};

static bool is_packed(const char *where, const char *text, size_t length, Error *e) {
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t n = strlen(packed[i].first);
        if (n > length || memcmp(text, packed[i].first, n) != 0) continue;
        char *file = shell_command(1, (char *[]){(char *)where}, &(Error){0});
        error_set(e, STATUS_BAD_DATA, "%s: found %s file, need text: %s <%s >NEW", where, packed[i].name,
                  packed[i].command, file ? file : where);
        free(file);
        return true;
    }
    return false;
}

bool text_check(const char *where, const char *text, size_t length, Error *e) {
    size_t at = text_valid(text, length);
    if (at == length) return true;
    if (is_packed(where, text, length, e)) return false;
    const char *name = text_encoding(text, length);
    bool damaged = name && strcmp(name, "UTF-8") == 0;
    char *words[] = {"iconv", damaged ? "-c" : "iconv", "-f", (char *)name, "-t", "UTF-8", (char *)where};
    char *command = name ? shell_command(6 + damaged, words + !damaged, &(Error){0}) : NULL;
    error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, need UTF-8 text or --tokenizer byte", where,
              at, (unsigned)(unsigned char)text[at]);
    if (command)
        text_append(e->text, sizeof e->text, "; this may be %s%s: %s >NEW", damaged ? "damaged " : "", name,
                    command);
    free(command);
    return false;
}
