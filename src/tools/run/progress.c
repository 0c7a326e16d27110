#include "run/progress.h"
#include "base/append.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bar is redrawn ten times a second; otherwise a line is printed for each tenth of the steps. */
#define REDRAW_SECONDS 0.1
enum { LINES = 10, NARROWEST_BAR = 8, WIDEST_BAR = 30, FRAME = 3, LINE = 512 };

/* A terminal that can move its cursor. */
static bool can_redraw(void) {
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

Progress progress_start(const char *label, const char *unit, long total, bool quiet) {
    return (Progress){.label = label,
                      .unit = unit,
                      .total = total,
                      .quiet = quiet,
                      .terminal = !quiet && can_redraw(),
                      .start = clock_seconds(),
                      .shown = -1};
}

static int columns_of(const char *text) {
    return (int)utf8_count(text, strlen(text));
}

const char *clock_text(char out[32], double seconds) {
    long s = (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, 32, "%ld:%02ld", s / 60, s % 60);
    return out;
}

const char *number_text(char out[NUMBER_TEXT], long number) {
    char digits[NUMBER_TEXT], *end = out;
    int count = snprintf(digits, sizeof digits, "%ld", number);
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0 && digits[i - 1] != '-') *end++ = ',';
        *end++ = digits[i];
    }
    *end = 0;
    return out;
}

/* "940", "12.3k", "4.56M": three digits. */
static const char *short_number(char out[32], double x) {
    static const char *const suffix[] = {"", "k", "M", "G"};
    int i = 0;
    while (x >= 999.5 && i < 3) {
        x /= 1000;
        i++;
    }
    int decimals = i && x < 99.95;
    if (i && x < 9.995) decimals = 2;
    snprintf(out, 32, "%.*f%s", decimals, x, suffix[i]);
    return out;
}

/* Writes the line without its bar, and without the first parts that are dropped where it is too
 * long: rate, more, time, words. Returns its columns. */
enum { PARTS = 4 };
static int compose(char out[LINE], const Progress *p, bool is_last, int dropped) {
    static const int order[PARTS] = {3, 1, 0, 2}; /* in which each is dropped */
    double elapsed = clock_seconds() - p->start, here = (double)(p->done - p->before);
    double left = here > 0 ? elapsed / here * (double)(p->total - p->done) : 0;
    char clock[32], all[32], rate[64], time[70];
    const char *part[PARTS] = {p->words, p->more, rate, time};
    clock_text(clock, elapsed);
    clock_text(all, elapsed + left);
    snprintf(rate, sizeof rate, "%s %s", short_number((char[32]){0}, p->rate), p->unit);
    snprintf(time, sizeof time, is_last ? "%s taken" : "%s of %s", clock, all);
    snprintf(out, LINE, " %ld/%ld", p->done, p->total);
    for (int i = 0; i < PARTS; i++)
        if (order[i] >= dropped && *part[i]) text_append(out, LINE, "  %s", part[i]);
    return columns_of(out);
}

/* Writes a bar of `cells` cells at most, if it is not too narrow. */
static void draw_bar(char out[WIDEST_BAR + FRAME + 1], const Progress *p, int cells) {
    *out = 0;
    if (cells < NARROWEST_BAR) return;
    if (cells > WIDEST_BAR) cells = WIDEST_BAR;
    int full = p->total > 0 ? (int)((double)p->done / (double)p->total * cells) : cells;
    char *end = out + sprintf(out, " [");
    for (int i = 0; i < cells; i++) *end++ = i < full ? '#' : '.';
    strcpy(end, "]");
}

static void print_line(const Progress *p, bool is_last) {
    char tail[LINE], bar[WIDEST_BAR + FRAME + 1], line[2 * LINE];
    int dropped = 0, used = compose(tail, p, is_last, dropped);
    if (!p->terminal) {
        fprintf(stderr, "%s%s\n", p->label, tail);
        return;
    }
    /* The last column stays free: some terminals would begin a new line. The rate is dropped before
     * the bar. */
    int width = terminal_columns(stderr) - 1, columns = width - columns_of(p->label);
    while (used + (dropped ? 0 : FRAME + NARROWEST_BAR) > columns && dropped < PARTS)
        used = compose(tail, p, is_last, ++dropped);
    draw_bar(bar, p, columns - used - FRAME);
    snprintf(line, sizeof line, "%s%s%s", p->label, bar, tail);
    size_t bytes = utf8_prefix(line, strlen(line), (size_t)(width > 0 ? width : 0));
    fprintf(stderr, "\r\033[K%.*s%s", (int)bytes, line, is_last ? "\n" : "");
    fflush(stderr);
}

bool progress_show(Progress *p) {
    if (p->quiet || p->done >= p->total) return false;
    double now = clock_seconds();
    bool is_due = p->done * LINES >= (p->lines + 1) * p->total;
    if (p->terminal) is_due = p->shown < 0 || now - p->shown >= REDRAW_SECONDS;
    if (!is_due) return false;
    if (!p->terminal) p->lines = p->done * LINES / p->total;
    p->shown = now;
    print_line(p, false);
    return true;
}

void progress_show_late(Progress *p, long done) {
    enum { SECONDS = 2 };
    double seconds = clock_seconds() - p->start;
    p->done = done;
    p->rate = (double)done / seconds;
    if (seconds > SECONDS) progress_show(p);
}

void progress_end(Progress *p) {
    if (!p->quiet) print_line(p, true);
}

void progress_clear(Progress *p) {
    if (p->terminal && p->shown >= 0) fprintf(stderr, "\r\033[K");
    p->shown = -1;
}

void progress_keep(Progress *p) {
    char line[LINE];
    int columns = terminal_columns(stderr) - 1;
    progress_clear(p);
    snprintf(line, sizeof line, "  %s  %s", p->words, p->more);
    if (p->terminal) fprintf(stderr, "%.*s\n", columns > 0 ? columns : 0, line);
}

void progress_encoding(size_t done, size_t all) {
    enum { MEGABYTE = 1000000 };
    static Progress bar;
    if (bar.start == 0)
        bar = progress_start("tokens of the text", "MB/s", (long)(all / MEGABYTE), false);
    if (done + 2 * MEGABYTE > all)
        progress_clear(&bar);
    else
        progress_show_late(&bar, (long)(done / MEGABYTE));
}
