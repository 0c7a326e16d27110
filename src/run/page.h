/* The parts of a page, which is one HTML file without references to others. Texts are UTF-8 and are escaped. */
#pragma once

#include "pictures/picture.h"

/* Everything up to the title and the line below it; everything after the sections. */
void page_begin(const char *title, const char *status, FILE *out);
void page_end(FILE *out);

/* Writes the text between two pieces of HTML. */
void page_element(const char *begin, const char *text, const char *end, FILE *out);

/* A name and its value, in a list that the caller begins and ends. */
void page_fact(const char *name, const char *value, FILE *out);

/* The section of the training curves, with a note on all of them, or NULL. */
void page_curves(const Picture *curve, int count, const char *note, FILE *out);

/* The script of the slider. */
void page_script(FILE *out);
