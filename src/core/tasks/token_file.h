/* Token files. The tokens of a large text are kept in a file and mapped: a second start does not
 * encode the text again, and the tokens take no memory of the process.
 *
 * The name of a file tells the texts, by length and checksum, and the options that the tokens
 * depend on. A file has the tokens, two bytes each, the tokenizer's string, and the corpus without
 * its pointers. It is made as a whole or not at all (base/file.h). Any file may be removed. */
#pragma once

#include "base/directory.h"
#include "base/file.h"
#include "tasks/corpus.h"

/* Writes the path of the texts' token file into out; false: the texts are too small for one, or
 * there is no directory. The directory is the options' cache, or tapeformer in XDG_CACHE_HOME or
 * ~/.cache. `checksum` is that of all texts. */
bool token_file_path(char out[PATH_CAPACITY], const Passage *text, long texts, uint32_t checksum,
                     const TaskOptions *o);

/* Fills the corpus from a token file. False, with or without an error: it is to be made. */
bool token_file_read(const char *path, Corpus *c, Error *e);

/* Ends a file that has the tokens of the corpus, and maps them. The file is committed or abandoned.
 * STATUS_IO, STATUS_NO_MEMORY. */
bool token_file_end(File *f, Corpus *c, Error *e);
