/* The sections of a page, which page.c puts together. */
#ifndef REPORT_PAGE_PARTS_H
#define REPORT_PAGE_PARTS_H

#include "explain/pictures/label.h"
#include "run/page_content.h"

/* Attention: every head of every layer as a map, and large with its weights in numbers. */
void page_maps(const Page *p, FILE *out);

/* What the model answered at each step. */
void page_samples(const Page *p, FILE *out);

/* The frames, as JSON in an element that does nothing, for page.js. */
void page_data(const Page *p, FILE *out);

/* A weight as text: ".07", "1.0". */
enum { WEIGHT_TEXT = 8 };
const char *page_weight_text(char out[WEIGHT_TEXT], uint16_t weight);

/* A token's text, cut to what an axis has room for. */
Label page_label(const Page *p, int32_t token);

/* The column with the largest weight of a row: the first of them. */
long page_row_best(const PageGroup *g, long row, const uint16_t *weights);

/* page.css and page.js, line by line, ending with NULL. */
extern const char *const page_style[], *const page_script[];

#endif
