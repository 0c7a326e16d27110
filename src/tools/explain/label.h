/* Labels: text of any origin, made safe to show and cut to its room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Characters as they are shown. A blank alone becomes an open box, a line feed an arrow. Control
 * characters, overrides of the direction of writing, and bytes that are not UTF-8 become U+FFFD. */
enum { LABEL_MAX = 48 };
typedef struct Label {
    int count, columns; /* characters; their columns on a terminal */
    uint32_t character[LABEL_MAX];
} Label;

/* Text cut to `most` columns, at most LABEL_MAX; an ellipsis ends a text that was longer. Without
 * `unicode` the label is ASCII, with '?' for other characters. */
Label label_of(const char *text, int most, bool unicode);

/* The same of a number. */
Label label_number(long number);

/* Writes the label; label_padded fills it with blanks to so many columns, at its left if
 * `right`. */
void label_write(FILE *out, const Label *l);
void label_padded(FILE *out, Label l, int columns, bool right);
