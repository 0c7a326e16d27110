/* Text as tokens. Kinds of tokens:
 *
 *     char   a token is a character of UTF-8
 *     byte   a token is a byte
 *     bpe    a token is a byte or the result of a merge: text/bpe.h
 *     ids    a token is its own number
 *
 * byte learns from any bytes, the others from UTF-8 without NUL. byte and bpe encode any bytes.
 * Decoding returns the encoded bytes; of ids, each number and one blank.
 *
 * A string describes a tokenizer completely; a model's file stores it as metadata. tokenizer_string
 * writes it and tokenizer_parse reads it. For char it is each character once, in the order of ids.
 * Any other string begins with the line `tokenizer KIND`, which has a letter twice and so is no
 * such vocabulary; the file of the kind says what follows.
 *
 * An error in a text is `WHERE: byte N: …`: WHERE is the caller's name of the text, N counts bytes
 * from 0. */
#pragma once

#include "base/choice.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include <stdio.h>

enum { MAX_VOCABULARY = 1 << 16 };

typedef struct TokenizerKind TokenizerKind;

typedef struct Tokenizer {
    const TokenizerKind *kind;
    long size;  /* ids are 0 … size-1 */
    bool utf8;  /* all that it writes is to be UTF-8 */
    char *text; /* token id is text[start[id]] … text[start[id + 1] - 1], 1 to TOKEN_BYTES bytes */
    uint32_t *start;   /* [size + 1] */
    Dictionary pieces; /* char: the tokens; bpe: the merges, for bpe_joined */
    Merge *merge;      /* bpe: [size - BYTE_TOKENS] */
} Tokenizer;

typedef struct Passage {
    const char *where; /* for messages */
    const char *text;
    size_t length;
} Passage;

/* A kind: the file tokenizer_NAME.c, and its name in ALL_TOKENIZERS. */
struct TokenizerKind {
    Choice choice;
    bool any_bytes; /* learns from any bytes */
    bool reads_all; /* learns from the part of a text that is held out, too */

    /* Bytes of the piece that a text begins with, which no token crosses; length is not 0. */
    size_t (*piece)(const char *text, size_t length);

    /* Fill a tokenizer that has its kind: from texts, or from the string after its first line. */
    bool (*learn)(Tokenizer *k, long size, const Passage *passage, long passages, Error *e);
    bool (*parse)(Tokenizer *k, const char *where, const char *string, Error *e);
    /* Writes what parse reads. */
    void (*write)(const Tokenizer *k, FILE *out);
    /* tokenizer_encode_part up to the byte `end`; adds to *count. */
    bool (*encode)(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                   long *count, Error *e);
};

#define ALL_TOKENIZERS(KIND) KIND(char) KIND(byte) KIND(bpe) KIND(ids)
#define TOKENIZER_OF(name)   extern const TokenizerKind tokenizer_##name;
ALL_TOKENIZERS(TOKENIZER_OF)
extern const Choice *const all_tokenizers[]; /* in this order; NULL ends them */

/* False with STATUS_BAD_DATA where a text is not UTF-8, as text_check of text/encoding.h. */
bool passages_check(const Passage *passage, long passages, Error *e);

/* Learns a tokenizer from texts; the caller frees it. Ids of char are in order of first appearance.
 * bpe learns from the first 64 MB; `size` is its maximum number of tokens, 0 for the default; the
 * other kinds ignore it. NULL: STATUS_USAGE for a size out of range, STATUS_BAD_DATA for a text
 * that is not UTF-8, STATUS_NO_MEMORY. */
Tokenizer *tokenizer_learn(const TokenizerKind *kind, long size, const Passage *passage,
                           long passages, Error *e);

/* The tokenizer that a string holds; the caller frees it. NULL: STATUS_BAD_DATA, or
 * STATUS_NO_MEMORY. */
Tokenizer *tokenizer_parse(const char *where, const char *string, Error *e);

/* Writes that string, NUL-terminated; the caller frees it. NULL: STATUS_NO_MEMORY. */
char *tokenizer_string(const Tokenizer *k, Error *e);

void tokenizer_free(Tokenizer *k);

/* Writes the ids of text into ids, which has memory for `length` of them (no token is shorter than
 * a byte), and their number into *count. STATUS_BAD_DATA: invalid UTF-8, or a character without an
 * id. */
bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length,
                      int32_t *ids, long *count, Error *e);

/* The same for a part of a long passage. The part begins at byte *at, where a word begins, and ends
 * with the word that holds byte *at + bytes - 1, or with the passage. Sets *at to its end. ids has
 * memory for bytes + TOKEN_BYTES ids. */
bool tokenizer_encode_part(const Tokenizer *k, const Passage *p, size_t *at, size_t bytes,
                           int32_t *ids, long *count, Error *e);

/* Writes the bytes of ids and a NUL into out, which has memory for TOKEN_BYTES * count + 1 bytes;
 * returns the bytes before the NUL. An id without a token (begin, end, padding) becomes U+FFFD. */
size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out);

/* The unit of a text's length: "char", or "byte" where a tokenizer of bytes has learned from bytes
 * that are not UTF-8. */
const char *tokenizer_unit(const Tokenizer *k);

/* The bytes of the unit that a text begins with, and a number of its own in *symbol, below NO_UTF8
 * + 256. length is not 0. */
size_t tokenizer_symbol(const Tokenizer *k, const char *text, size_t length, uint32_t *symbol);

/* The units of a token. */
size_t tokenizer_characters(const Tokenizer *k, int32_t id);

/* The bytes of a character that the text of ids[0 … n) leaves unfinished: writes them into out, if
 * that is not NULL, and returns their number. */
size_t tokenizer_unfinished(const Tokenizer *k, const int32_t *ids, long n, char out[UTF8_MAX]);

/* Whether the token may follow a text that leaves these bytes unfinished: it stands for text, and
 * the text stays UTF-8 if it must. */
bool tokenizer_may_follow(const Tokenizer *k, const char *begun, size_t bytes, int32_t id);

/* Writes a token as printable UTF-8. A byte that is not a character of its own becomes \xNN.
 * Returns out. */
enum { TOKEN_LABEL = 4 * TOKEN_BYTES + 1 };
const char *tokenizer_label(const Tokenizer *k, int32_t id, char out[TOKEN_LABEL]);

/* ---- For the files of kinds ---- */

/* Counts the pieces of texts, of their first `max` bytes. */
bool pieces_count(const TokenizerKind *kind, const Passage *p, long passages, size_t max,
                  Dictionary *found, Error *e);

/* Allocates the tokens of an empty tokenizer. STATUS_NO_MEMORY. */
bool tokenizer_allocate(Tokenizer *k, long size, size_t bytes, const char *where, Error *e);

/* The same, and the first tokens are the bytes. */
bool tokenizer_allocate_bytes(Tokenizer *k, long size, size_t bytes, const char *where, Error *e);

/* STATUS_BAD_DATA for a line of a string. */
bool tokenizer_bad_line(const char *where, long line, const char *need, Error *e);
