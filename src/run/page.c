#include "run/page.h"

/* The lines of page.css and page.js, which make converts to C strings. */
static const char *const style[] = {
#include "run/page.css.inc"
    NULL,
};
static const char *const script[] = {
#include "run/page.js.inc"
    NULL,
};

static void lines(const char *const *line, FILE *out) {
    for (; *line; line++) fputs(*line, out);
}

void page_element(const char *begin, const char *text, const char *end, FILE *out) {
    fputs(begin, out);
    markup_text(out, text);
    fputs(end, out);
}

/* The content security policy forbids the browser to load anything. */
void page_begin(const char *title, const char *status, FILE *out) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          out);
    page_element("<title>", title, "</title>\n<style>\n", out);
    lines(style, out);
    page_element("</style>\n</head>\n<body>\n<main>\n<h1>", title, "</h1>\n", out);
    page_element("<p class=\"faint\">", status, "</p>\n", out);
}

void page_end(FILE *out) {
    fputs("</main>\n</body>\n</html>\n", out);
}

void page_fact(const char *name, const char *value, FILE *out) {
    page_element("<div><dt>", name, "</dt>", out);
    page_element("<dd>", value, "</dd></div>\n", out);
}

void page_curves(const Picture *curve, int count, const char *note, FILE *out) {
    if (count == 0) return;
    fputs("<section>\n<h2>Training</h2>\n", out);
    if (note) page_element("<p class=\"faint\">", note, "</p>\n", out);
    fputs("<div class=\"curves\">\n", out);
    for (int i = 0; i < count; i++) {
        page_element("<figure>\n<figcaption>", curve[i].title, "</figcaption>\n", out);
        picture_svg(&curve[i], out);
        fputs("</figure>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

void page_script(FILE *out) {
    fputs("<script>\n", out);
    lines(script, out);
    fputs("</script>\n", out);
}
