/* The data of page.js: the axes of all examples and the weights of all frames, as JSON.
 *
 * A weight is two digits of base 64. The JSON is in a script element of a type that browsers do not run.
 * Characters with a meaning in HTML are written as \uXXXX, so that no text can end that element. */
#include "run/page_parts.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void json_label(const Label *l, FILE *out) {
    fputc('"', out);
    for (int i = 0; i < l->count; i++) {
        uint32_t c = l->character[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (plain)
            fputc((int)c, out);
        else if (c < 0x10000)
            fprintf(out, "\\u%04X", (unsigned)c);
        else
            fprintf(out, "\\u%04X\\u%04X", 0xD800 + (unsigned)(c - 0x10000) / 0x400,
                    0xDC00 + (unsigned)(c & 0x3FF));
    }
    fputc('"', out);
}

static void json_tokens(const Page *p, const char *name, const int32_t *ids, long count, FILE *out) {
    fprintf(out, ",\"%s\":[", name);
    for (long i = 0; i < count; i++) {
        Label l = page_label(p, ids[i]);
        if (i) fputc(',', out);
        json_label(&l, out);
    }
    fputc(']', out);
}

static void json_example(const Page *p, const PageExample *x, FILE *out) {
    fputc('[', out);
    for (int i = 0; i < x->groups; i++) {
        const PageGroup *g = &x->group[i];
        fprintf(out, "%s{\"maps\":%d,\"causal\":%s", i ? "," : "", g->layers * g->heads,
                g->causal ? "true" : "false");
        json_tokens(p, "rows", g->row_tokens, g->rows, out);
        json_tokens(p, "columns", g->column_tokens, g->columns, out);
        fputc('}', out);
    }
    fputs("]", out);
}

static void json_weights(const uint16_t *weights, long count, FILE *out) {
    fputc('"', out);
    for (long i = 0; i < count; i++) {
        putc(digits[weights[i] / 64], out);
        putc(digits[weights[i] % 64], out);
    }
    fputc('"', out);
}

void page_data(const Page *p, FILE *out) {
    fputs("<script type=\"application/json\" id=\"data\">\n{\"examples\":[", out);
    for (int i = 0; i < p->example_count; i++) {
        if (i) fputs(",\n", out);
        json_example(p, &p->examples[i], out);
    }
    fputs("],\n\"frames\":[", out);
    for (int f = 0; f < p->frame_count; f++) {
        fprintf(out, "%s{\"step\":%ld,\"maps\":[", f ? ",\n" : "", p->frames[f].step);
        for (int i = 0; i < p->example_count; i++) {
            if (i) fputc(',', out);
            json_weights(p->frames[f].weights[i], page_weights(&p->examples[i]), out);
        }
        fputs("]}", out);
    }
    fputs("]}\n</script>\n", out);
}
