/* The texts of tokens on a page: neighbouring tokens that share a character are one piece, which is shown as one. `token` holds
 * the bytes of each id. */
#ifndef RUN_PAGE_TOKENS_H
#define RUN_PAGE_TOKENS_H

#include <stdint.h>
#include <stdio.h>

/* The tokens of the piece that begins the ids: one, and those that go on with its last character. */
long page_piece(const char *const *token, const int32_t *ids, long count);

/* Writes the text of tokens. A newline is shown as an arrow and also breaks the line. */
void page_text(const char *const *token, const int32_t *ids, long count, FILE *out);

/* Writes it as one line. */
void page_line(const char *const *token, const int32_t *ids, long count, FILE *out);

/* Writes the label of a piece, cut to `most` columns; `out` may be NULL. Returns its columns. */
int page_label(const char *const *token, const int32_t *ids, long n, int most, FILE *out);

#endif
