/* Text as tokens, in one of four ways:
 *
 *     char   a token is a character of UTF-8
 *     byte   a token is a byte
 *     bpe    a token is a byte or the result of a merge: text/bpe.h
 *     word   a token is a word: text/words.h
 *
 * byte and bpe take any bytes; char and word take UTF-8 without NUL. Decoding returns the encoded bytes, except for
 * [UNK], id 0, which replaces characters and words outside the vocabulary. word always has [UNK], char if a vocabulary
 * size was given.
 *
 * A string describes a tokenizer completely; a model's file stores it as metadata. tokenizer_string writes it and
 * tokenizer_parse reads it. For char without [UNK] it is each character once, in the order of ids. Any other string
 * begins with the line `tokenizer KIND`, which has a letter twice and so is no such vocabulary. Then follows a line for
 * each merge of bpe, the two ids `LEFT RIGHT`, or for each token of char and word, `BYTES TEXT`: its length and itself.
 *
 * An error in a text is `WHERE: byte N: …`: WHERE is the caller's name of the text, N counts bytes from 0. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe.h"

typedef enum TokenizerKind { TOKENIZER_CHAR, TOKENIZER_BYTE, TOKENIZER_BPE, TOKENIZER_WORD } TokenizerKind;

enum { MAX_VOCABULARY = 1 << 16, DEFAULT_BPE_TOKENS = 1024, DEFAULT_WORD_TOKENS = 8192 };

typedef struct Tokenizer {
    TokenizerKind kind;
    long size;         /* ids are 0 … size-1 */
    bool unknown;      /* id 0 is [UNK] */
    char *text;        /* token id is text[start[id]] … text[start[id + 1] - 1], 1 to TOKEN_BYTES bytes */
    uint32_t *start;   /* [size + 1] */
    Dictionary pieces; /* char, word: the tokens after [UNK]; bpe: the merges, for bpe_joined */
    Merge *merge;      /* bpe: [size - BYTE_TOKENS] */
} Tokenizer;

typedef struct Passage {
    const char *where; /* for messages */
    const char *text;
    size_t length;
} Passage;

/* Learns a tokenizer from texts; the caller frees it. `size` is the number of tokens at most: fewer where the texts have
 * fewer, 0 for the default, which of char is every character. Ids of char and word are in order of first appearance;
 * where not all find room, the most frequent ones do, in that order, and of equals the earlier. bpe learns from the first
 * 64 MB. NULL: STATUS_USAGE for a size out of range, STATUS_BAD_DATA for a text that is not UTF-8, STATUS_NO_MEMORY. */
Tokenizer *tokenizer_learn(TokenizerKind kind, long size, const Passage *passage, long passages, Error *e);

/* The tokenizer that a string holds; the caller frees it. NULL: STATUS_BAD_DATA, or STATUS_NO_MEMORY. */
Tokenizer *tokenizer_parse(const char *where, const char *string, Error *e);

/* Writes that string, NUL-terminated; the caller frees it. NULL: STATUS_NO_MEMORY. */
char *tokenizer_string(const Tokenizer *k, Error *e);

void tokenizer_free(Tokenizer *k);

/* "char", "byte", "bpe", "word". */
const char *tokenizer_name(TokenizerKind kind);

/* Bytes of the piece that a text begins with: a byte, a character or a word. length is not 0. */
size_t tokenizer_piece(TokenizerKind kind, const char *text, size_t length);

/* Whether the n bytes from `at` on, of characters that begin there, are UTF-8 without NUL. STATUS_BAD_DATA. */
bool tokenizer_check_piece(const Passage *p, size_t at, size_t n, Error *e);

/* Writes the ids of text into ids, which has room for `length` of them (no token is shorter than a byte), and their
 * number into *count. STATUS_BAD_DATA: invalid UTF-8, or a character without an id. */
bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length, int32_t *ids,
                      long *count, Error *e);

/* The same for a part of a long passage: from byte *at, where a word begins, to the end of the word that holds byte
 * *at + bytes - 1, or the passage's end. Moves *at there. ids has room for bytes + TOKEN_BYTES. */
bool tokenizer_encode_part(const Tokenizer *k, const Passage *p, size_t *at, size_t bytes, int32_t *ids,
                           long *count, Error *e);

/* Writes the bytes of ids and a NUL into out, which has room for TOKEN_BYTES * count + 1 bytes; returns the bytes
 * before the NUL. An id without a token (begin, end, padding) becomes U+FFFD. */
size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out);

/* Whether the token stands for text of its own. [UNK] does not, unless there is no other token. */
static inline bool tokenizer_is_text(const Tokenizer *k, int32_t id) {
    return id >= (k->unknown && k->size > 1) && id < k->size;
}

/* Writes a token for a reader to look at: UTF-8, with \xNN for bytes that are no character of their own, and nothing
 * else. Returns out. */
enum { TOKEN_LABEL = 4 * TOKEN_BYTES + 1 };
const char *tokenizer_label(const Tokenizer *k, int32_t id, char out[TOKEN_LABEL]);

#endif
