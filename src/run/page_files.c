/* page.css and page.js, which make converts to lines of C strings. */
#include "run/page_parts.h"

const char *const page_style[] = {
#include "run/page.css.inc"
    NULL,
};

const char *const page_script[] = {
#include "run/page.js.inc"
    NULL,
};
