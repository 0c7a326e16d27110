#include "run/page.h"
#include "base/file.h"
#include "run/page_parts.h"
#include <stdlib.h>
#include <string.h>

void page_shorten(char *text) {
    char *end, shorter[32];
    double value = strtod(text, &end);
    snprintf(shorter, sizeof shorter, "%.6g", value);
    if (end != text && !*end && strlen(shorter) < strlen(text) && strtod(shorter, NULL) == value)
        strcpy(text, shorter);
}

static void lines(const char *const *line, FILE *out) {
    for (; *line; line++) fputs(*line, out);
}

/* The content security policy forbids the browser to load anything. */
static void head(const Page *p, FILE *out) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          out);
    markup_text(out, p->title);
    fputs("</title>\n<style>\n", out);
    lines(page_style, out);
    fputs("</style>\n</head>\n<body>\n<main>\n<h1>", out);
    markup_text(out, p->title);
    fputs("</h1>\n<p class=\"faint\">", out);
    markup_text(out, p->status);
    fputs("</p>\n", out);
}

static void facts(const PageFact *fact, int count, const char *class, FILE *out) {
    fprintf(out, "<dl class=\"%s\">\n", class);
    for (int i = 0; i < count; i++) {
        fputs("<div><dt>", out);
        markup_text(out, fact[i].name);
        fputs("</dt><dd>", out);
        markup_text(out, fact[i].value);
        fputs("</dd></div>\n", out);
    }
    fputs("</dl>\n", out);
}

static void curves(const Page *p, FILE *out) {
    fputs("<section>\n<h2>Training</h2>\n<div class=\"curves\">\n", out);
    for (int i = 0; i < p->curve_count; i++) {
        fputs("<figure>\n<figcaption>", out);
        markup_text(out, p->curves[i].title);
        fputs("</figcaption>\n", out);
        picture_svg(&p->curves[i], out);
        fputs("</figure>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

static void about(const Page *p, FILE *out) {
    fputs("<section>\n", out);
    if (p->fact_count) fputs("<h2>The model</h2>\n", out);
    if (p->fact_count) facts(p->facts, p->fact_count, "facts", out);
    if (p->choice_count) fputs("<h2>Options</h2>\n", out);
    if (p->choice_count) facts(p->choices, p->choice_count, "facts", out);
    if (p->command) {
        fputs("<p>Command that repeats this run:</p>\n<pre>", out);
        markup_text(out, p->command);
        fputs("</pre>\n", out);
    }
    fputs("</section>\n", out);
}

static void write_page(const Page *p, FILE *out) {
    head(p, out);
    if (p->figure_count) facts(p->figures, p->figure_count, "figures", out);
    if (p->curve_count) curves(p, out);
    if (p->sample_count) page_samples(p, out);
    if (p->example_count) page_maps(p, out);
    about(p, out);
    fputs("</main>\n", out);
    if (p->example_count && p->frame_count > 1) {
        page_data(p, out);
        fputs("<script>\n", out);
        lines(page_script, out);
        fputs("</script>\n", out);
    }
    fputs("</body>\n</html>\n", out);
}

bool page_write(const Page *p, const char *path, Error *e) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) write_page(p, out);
    if (!out || fclose(out) != 0 || !text) { /* fclose may run out of memory without an error */
        free(text);
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for the page", path);
    }
    File *f = file_create(path, e);
    if (f) file_write(f, text, size);
    free(text);
    return f && file_commit(f, e);
}
