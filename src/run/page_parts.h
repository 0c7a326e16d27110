/* The sections of a page. */
#ifndef RUN_PAGE_PARTS_H
#define RUN_PAGE_PARTS_H

#include "explain/pictures/label.h"
#include "run/page_content.h"

/* Attention: a map for each head of each layer, with its weights as numbers. */
void page_maps(const Page *p, FILE *out);

/* The model's answers at each step. */
void page_samples(const Page *p, FILE *out);

/* The frames as JSON, for page.js. */
void page_data(const Page *p, FILE *out);

/* A weight as text: ".07", "1.0". */
enum { WEIGHT_TEXT = 8 };
const char *page_weight_text(char out[WEIGHT_TEXT], uint16_t weight);

/* A token's text, cut to fit an axis. */
Label page_label(const Page *p, int32_t token);

/* The first column with the largest weight of a row. */
long page_row_best(const PageGroup *g, long row, const uint16_t *weights);

/* The lines of page.css and page.js, ending with NULL. */
extern const char *const page_style[], *const page_script[];

#endif
