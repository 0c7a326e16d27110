/* A corpus: texts as tokens. The end of each text, its tail, is held out.
 *
 * The ids hold the training parts of all texts and then their tails. Tails are measured in
 * characters, so that every tokenizer holds out the same text: each byte except 0x80 to 0xBF counts
 * as one. The tokenizer learns from
 * the training parts. Only char learns from the tails too.
 *
 * If a text is too short, the context is shorter; if it would be below 8 tokens, nothing is held
 * out.
 *
 * Or a corpus has lines: each, with its end, "\n", is an example. Empty lines are left out. All of
 * a share of the different lines are held out. LF, CR LF and CR end a line. The ids hold the lines
 * to train on and then those that are held out. */
#pragma once

#include "base/directory.h"
#include "base/file.h"
#include "tasks/task.h"
#include "text/tokenizer_fit.h"

enum { MAX_CONTEXT = 1 << 20 };

typedef struct Corpus {
    Tokenizer *tokenizer;
    uint16_t *ids; /* in memory, or in the mapped token file */
    FileMap map;
    long count;
    long training;   /* training part: ids 0 … training-1 */
    long validation; /* ids validation … count-1 are evaluated: those held out; 0: all */
    long characters; /* of the evaluated part; bytes, where the tokenizer is of other bytes */
    long vocab_size; /* that was asked of the tokenizer, by the options or because it fits … */
    Fit fit;         /* … the text's measurements; all 0: nothing was chosen by them */
    long written, different; /* characters of the texts, and how many of them are different */
    long context;            /* of the options, or less if the text is too short */

    Speakers speakers;     /* of the first text that has conversations */
    uint32_t checksum;     /* CRC-32 of the texts */
    bool byte_order_mark;  /* a text began with a byte-order mark, which is skipped */
    bool without_tail;     /* too short to hold out a tail */
    long carriage_returns; /* in the texts */
    char unkept[256];      /* why a large text has no token file; "": it has one */

    /* A corpus of lines has these, too. */
    int32_t line_end; /* the token */
    long *line; /* [lines + 1] line i is ids line[i] … line[i + 1] - 1, its end the last; NULL: no
                   lines */
    long lines, training_lines;   /* … the first of them */
    long empty_lines, long_lines; /* left out; with more tokens than the options' context, without
                                     which it is the longest's */
} Corpus;

/* Reads the texts of the options. Skips leading byte-order marks. The caller frees the corpus.
 * NULL: an error of file_map; STATUS_BAD_DATA if the tokenizer needs UTF-8 and a text is not, or if
 * there are fewer than two tokens; STATUS_USAGE for a vocabulary size out of range;
 * STATUS_NO_MEMORY. */
Corpus *corpus_load(const TaskOptions *o, Error *e);

/* As corpus_load, from memory. */
Corpus *corpus_make(const Passage *passage, long passages, const TaskOptions *o, Error *e);

void corpus_free(Corpus *c);

/* Adds a line to a remark if nearly all tokens of byte pairs are single bytes: the tokenizer was
 * learned from a text of another kind. */
void corpus_remark_unmerged(const Corpus *c, const char *name, char remark[REMARK]);

/* ---- Token files: token_file.c, for corpus.c ---- */

/* Writes the path of the texts' token file into out. False without an error: the texts are too
 * small for one. The directory is the options' cache, or tapeformer in XDG_CACHE_HOME or ~/.cache:
 * STATUS_CANNOT_CREATE. `checksum` is that of all texts. */
bool token_file_path(char out[PATH_CAPACITY], const Passage *text, long texts, uint32_t checksum,
                     const TaskOptions *o, Error *e);

/* Fills the corpus from a token file. False: it is to be made. */
bool token_file_read(const char *path, Corpus *c, const TaskOptions *o);

/* Ends a file that has the tokens of the corpus, with this checksum, and maps them. The file is
 * committed or abandoned. Removes all token files of its directory but the eight used last.
 * STATUS_IO, STATUS_NO_MEMORY. */
bool token_file_end(File *f, Corpus *c, uint32_t crc32, Error *e);
