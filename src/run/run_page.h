/* The page of a run: figures, curves, answers, attention, options. It is complete without JavaScript, which adds a slider for
 * earlier steps. */
#pragma once

#include "run/frames.h"
#include "run/run_curves.h"

/* Writes the page of DIRECTORY/metrics.csv, steps.csv and frames.safetensors to a file. A table that does not exist has no
 * charts. It fails as file_read, safetensors_read and file_print do; STATUS_BAD_DATA: the notes do not fit the frames. */
bool page_of_run(const char *directory, const char *path, Error *e);

/* The same with other frames: NULL: those of the file that has the notes. */
bool page_of_frames(const Safetensors *notes, const Frames *frames, const char *directory, const char *path,
                    Error *e);

/* ---- The sections: page_answers.c, page_maps.c ---- */

/* The content of a page. */
typedef struct Page {
    const char *directory;
    const Safetensors *notes;
    const RunTables *tables;
    const Frames *frames;
    const char *const *token; /* bytes by id; a character may take several tokens */
} Page;

/* Writes the page. It fails as file_print does. */
bool page_write(const Page *p, const char *path, Error *e);

/* Whether the model is a language model. */
bool page_is_of_text(const Page *p);

/* A section each, if there is something to show. */
void page_answers(const Page *p, FILE *out);
void page_maps(const Page *p, FILE *out);

/* The weights of all frames, for page.js. */
void page_data(const Page *p, FILE *out);

/* ---- Tokens: page_tokens.c ---- */

/* Neighbouring tokens that share a character are one piece, which is shown as one. The tokens of the first piece. */
long page_piece(const char *const *token, List ids);

/* The ids from `from` on. */
static inline List list_from(List ids, long from) {
    return (List){ids.id + from, ids.count - from};
}

/* Writes the text of tokens. A newline is shown as an arrow and also breaks the line. */
void page_text(const char *const *token, List ids, FILE *out);

/* Writes it as one line. */
void page_line(const char *const *token, List ids, FILE *out);

/* Writes the label of a piece, cut to `most` columns; `out` may be NULL. Returns its columns. */
int page_label(const char *const *token, List ids, int most, FILE *out);

/* ---- Several runs: run_compare.c ---- */

/* Writes DIRECTORY/compare.html: the losses of 2 to TRAIN_COMPARED runs, given by their directories, in one chart, and their
 * results and the options in which they differ in one table. It fails as page_of_run does. */
bool run_compare(char *const *run, int count, const char *directory, Error *e);
