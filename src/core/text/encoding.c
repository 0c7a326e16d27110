#include "text/encoding.h"
#include "base/program.h"
#include "base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of bytes before the first that is no text: not UTF-8, or NUL. */
static size_t text_valid(const char *text, size_t length) {
    size_t valid = utf8_valid(text, length);
    const char *nul = memchr(text, 0, valid);
    return nul ? (size_t)(nul - text) : valid;
}

/* Whether the text begins with a byte-order mark of UTF-16, in either order; that of UTF-32 goes on
 * with two NUL. */
static bool is_utf16(const char *text, size_t length) {
    if (length < 2 || (memcmp(text, "\xFF\xFE", 2) != 0 && memcmp(text, "\xFE\xFF", 2) != 0))
        return false;
    return length < 4 || memcmp(text + 2, "\0\0", 2) != 0;
}

/* The operand of a command that reads the text. */
static const char *path_of(const char *where) {
    return strcmp(where, "stdin") == 0 ? "-" : where;
}

/* Formats that are known by their first bytes, and the program that prints what is in them. */
static const struct Format {
    const char *begin, *name, *printer;
} formats[] = {
    {"\x1F\x8B", "a gzip file", "zcat"},
    {"BZh", "a bzip2 file", "bzcat"},
    {"\xFD"
     "7zXZ",
     "an xz file", "xzcat"},
    {"\x28\xB5\x2F\xFD", "a zstd file", "zstdcat"},
    {"PK\x03\x04", "a zip file", NULL},
    {"%PDF-", "a PDF file", NULL},
    {"\x89PNG", "a PNG image", NULL},
    {"\xFF\xD8\xFF", "a JPEG image", NULL},
    {"GIF8", "a GIF image", NULL},
    {"\x7F"
     "ELF",
     "a program", NULL},
    {"PAR1", "a Parquet file", NULL},
    {"ARROW1", "an Arrow file", NULL},
    {"SQLite format 3", "an SQLite database", NULL},
    {"\xD0\xCF\x11\xE0", "a document of Microsoft Office", NULL},
    {"{\\rtf", "an RTF document", NULL},
    {"\x93NUMPY", "a NumPy file", NULL},
};

static const struct Format *format_of(const char *text, size_t length) {
    for (const struct Format *f = formats; f < formats + sizeof formats / sizeof *formats; f++)
        if (strlen(f->begin) <= length && memcmp(text, f->begin, strlen(f->begin)) == 0) return f;
    return NULL;
}

/* A file of another format: what it is, and how it is read if a program prints its text. */
static bool refuse_format(const char *where, const struct Format *f, const char *task, Error *e) {
    char train[PROGRAM_COMMAND], *words[] = {(char *)f->printer, (char *)path_of(where)};
    char *command = f->printer ? shell_command(2, words, &(Error){0}) : NULL;
    if (command)
        error_set(e, STATUS_BAD_DATA, "%s: found %s, need text; %s | %s %s - reads it", where,
                  f->name, command, program_command("train", train), task);
    else
        error_set(e, STATUS_BAD_DATA, "%s: found %s, need text", where, f->name);
    free(command);
    return false;
}

bool text_check(const char *where, const char *text, size_t length, const char *task, Error *e) {
    size_t offset = text_valid(text, length);
    if (offset == length) return true;
    const struct Format *format = format_of(text, length);
    if (format) return refuse_format(where, format, task, e);
    bool utf16 = is_utf16(text, length);
    char found[64], *words[] = {"iconv", "-f",    utf16 ? "UTF-16" : "ENCODING",
                                "-t",    "UTF-8", (char *)path_of(where)};
    char *command = shell_command(6, words, &(Error){0});
    snprintf(found, sizeof found, "byte %zu: found 0x%02X", offset,
             (unsigned)(unsigned char)text[offset]);
    error_set(e, STATUS_BAD_DATA,
              "%s: %s, need UTF-8 text or --tokenizer byte; %s >NEW converts it", where,
              utf16 ? "found UTF-16" : found, command ? command : "iconv");
    free(command);
    return false;
}
