/* page.css and page.js, as make turns them into lines of C strings. */
#include "report/page_parts.h"

const char *const page_style[] = {
#include "report/page.css.inc"
    NULL,
};

const char *const page_script[] = {
#include "report/page.js.inc"
    NULL,
};
