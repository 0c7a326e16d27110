/* Labels: text from anywhere, made fit for an axis. */
#ifndef PICTURES_LABEL_H
#define PICTURES_LABEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A label's characters, each as it is shown. What has no shape gets one: a blank is an open box, the end of a line an
 * arrow; control characters, overrides of the direction of writing and bytes that are no UTF-8 are U+FFFD. */
enum { LABEL_MOST = 48 };
typedef struct Label {
    int count, columns; /* characters; columns of a terminal that they take */
    uint32_t character[LABEL_MOST];
} Label;

/* Text cut to `most` columns, at most LABEL_MOST, its last character an ellipsis where it was longer. Without
 * `unicode` all is ASCII: what is not becomes '?'. */
Label label_of(const char *text, int most, bool unicode);

/* The same of a number. */
Label label_number(long number);

/* 0, 1 or 2 columns, as terminals have it. */
int character_columns(uint32_t character);

/* Writes the label. */
void label_write(FILE *out, const Label *l);

/* The same in HTML and in SVG: <, >, &, " and ' as character references. */
void label_markup(FILE *out, const Label *l);

/* Any text, whole, in HTML and in SVG, as text or inside quotes; what those may not hold becomes U+FFFD. */
void markup_text(FILE *out, const char *text);

#endif
