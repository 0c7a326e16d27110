#include "pictures/picture.h"
#include "base/file.h"
#include <math.h>
#include <stdlib.h>

void picture_draw(const Picture *p, const Terminal *t) {
    draw_line(p->title, 0, t);
    if (p->kind == PICTURE_MAP)
        draw_map(&p->map, t);
    else
        draw_chart(&p->chart, t);
}

static Size size_of(const Picture *p) {
    return p->kind == PICTURE_MAP ? svg_map_size(&p->map) : svg_chart_size(&p->chart);
}

/* An element `down` pixels below the top of its parent. */
static void write_svg(const Picture *p, double down, FILE *out) {
    Size size = size_of(p);
    fprintf(out,
            "<svg role=\"img\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "fill=\"currentColor\" font-family=\"system-ui, sans-serif\" font-size=\"%d\">\n<title>",
            down, size.width, size.height, size.width, size.height, SVG_TEXT);
    markup_text(out, p->title);
    fputs("</title>\n<desc>", out);
    markup_text(out, p->description ? p->description : p->title);
    fputs("</desc>\n", out);
    if (p->kind == PICTURE_MAP)
        svg_map(&p->map, out);
    else
        svg_chart(&p->chart, out);
    fputs("</svg>\n", out);
}

void picture_svg(const Picture *p, FILE *out) {
    write_svg(p, 0, out);
}

/* In a page the surroundings set the colours. A file of its own needs these. */
static const char colours_of_file[] =
    "<style>svg{color:#1b1d21;background:#fff}@media(prefers-color-scheme:dark){svg{color:#e4e6ea;background:"
    "#16181c}.shade{stroke:#6cb4ff}}</style>\n";

enum { HEADING = 2 * SVG_LINE, MARGIN = 12 };

typedef struct Pictures {
    const Picture *picture;
    long count;
} Pictures;

/* Each picture below its title. */
static void write_file(FILE *out, const void *pictures) {
    const Picture *p = ((const Pictures *)pictures)->picture;
    long count = ((const Pictures *)pictures)->count;
    Size all = {0};
    for (long i = 0; i < count; i++) {
        Size one = size_of(&p[i]);
        double title = label_of(p[i].title, LABEL_MOST, true).columns * SVG_LETTER;
        all.width = fmax(all.width, fmax(one.width, title));
        all.height += HEADING + one.height;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"%d 0 %.0f "
            "%.0f\" fill=\"currentColor\" font-family=\"system-ui, sans-serif\" font-size=\"%d\">\n%s",
            all.width + 2 * MARGIN, all.height + MARGIN, -MARGIN, all.width + 2 * MARGIN, all.height + MARGIN,
            SVG_TEXT, colours_of_file);
    double down = 0;
    for (long i = 0; i < count; i++) {
        Label title = label_of(p[i].title, LABEL_MOST, true);
        svg_text(out, 0, down + SVG_LINE + 4, " font-weight=\"bold\"", title);
        write_svg(&p[i], down + HEADING, out);
        down += HEADING + size_of(&p[i]).height;
    }
    fputs("</svg>\n", out);
}

bool pictures_save(const Picture *p, long count, const char *path, Error *e) {
    return file_print(path, write_file, &(Pictures){p, count}, e);
}
