/* Texts as files hold them: their lines, and which lines are held out. */
#pragma once

#include "base/file.h"
#include "text/tokenizer.h"

/* Text files in memory, without the byte-order marks that they begin with. */
typedef struct Texts {
    Passage *text; /* [count] */
    long count;
    bool byte_order_mark; /* a file began with one */
    char *paths;
    FileMap *map; /* [count] */
} Texts;

/* Reads the files at `paths`, a path on each line: those of texts_files. unix_newlines: makes each
 * CR LF and each CR alone an LF. To be closed, also after failure: an error of texts_files or
 * file_map, STATUS_NO_MEMORY. */
bool texts_open(Texts *t, const char *paths, bool unix_newlines, Error *e);
void texts_close(Texts *t);

/* The files at `paths`, a path on each line: those of a directory by their names, without those
 * that begin with a point. The caller frees the list, a path on each line. NULL: STATUS_NO_INPUT,
 * STATUS_NO_MEMORY. */
char *texts_files(const char *paths, Error *e);

/* The name of the first file at `paths`, and how many more there are. Returns out. The macro: in
 * memory as ESCAPED has. */
enum { TEXTS_NAME = ESCAPED_TEXT + 30 };
const char *texts_name(char out[TEXTS_NAME], const char *paths);
#define TEXTS_NAMED(paths) texts_name((char[TEXTS_NAME]){0}, paths)

/* The lines of texts whose line ends are LF, each without it, in their order; the caller frees
 * them. NULL: STATUS_NO_MEMORY. */
Passage *texts_lines(const Passage *text, long texts, long *lines, Error *e);

/* An item and its rank in an order that depends on a seed: equal items have one rank. */
typedef struct Side {
    uint64_t rank;
    long item;
} Side;

/* Sorts items by their ranks. Before the call, `rank` is a number that equal items share; the call
 * makes it a hash of this number and the seed. The first *held_out items are to be held out: all
 * items of a share of the different numbers, of at least one number if the share is not 0.
 * STATUS_BAD_DATA: no other number is left; `where` and `what` name the items. */
bool sides_choose(Side *side, long count, uint64_t seed, double share, const char *where,
                  const char *what, long *held_out, Error *e);
