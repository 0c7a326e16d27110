#include "run/progress.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bar is redrawn ten times a second; otherwise a line is printed for each tenth of the steps. */
#define REDRAW_SECONDS 0.1
enum { LINES = 10, NARROWEST_BAR = 8, WIDEST_BAR = 30, LINE = 1024 };

/* A terminal that can move its cursor. */
static bool can_redraw(void) {
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

Progress progress_start(const char *label, long total, bool quiet) {
    return (Progress){.label = label,
                      .total = total,
                      .quiet = quiet,
                      .terminal = !quiet && can_redraw(),
                      .start = clock_seconds(),
                      .shown = -1};
}

static int terminal_width(void) {
    int width = terminal_columns(stderr);
    return width < LINE ? width : LINE;
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

/* Writes the line without its bar; returns its columns. `left_out` parts are omitted. */
static int compose(char out[LINE], const Progress *p, const Report *r, bool last, int left_out) {
    double elapsed = clock_seconds() - p->start, here = (double)(r->done - p->before),
           left = here > 0 ? elapsed / here * (double)(p->total - r->done) : 0;
    char clock[32], all[32], number[32], words[LINE / 4] = "", more[LINE / 4] = "", rate[64] = "",
                                                      time[64] = "";
    if (left_out < 4) snprintf(words, sizeof words, "  %s", r->words);
    clock_text(clock, elapsed);
    clock_text(all, elapsed + left);
    if (left_out < 3) snprintf(time, sizeof time, last ? "  %s taken" : "  %s of %s", clock, all);
    if (left_out < 2 && *r->more) snprintf(more, sizeof more, "  %s", r->more);
    if (left_out < 1)
        snprintf(rate, sizeof rate, "  %s %s", short_number(number, r->rate), r->unit);
    snprintf(out, LINE, " %ld/%ld%s%s%s%s", r->done, p->total, words, more, rate, time);
    return columns_of(out);
}

static void print_line(const Progress *p, const Report *r, bool last) {
    char tail[LINE], bar[WIDEST_BAR + 4] = "", line[2 * LINE];
    if (!p->terminal) {
        compose(tail, p, r, last, 0);
        fprintf(stderr, "%s%s\n", p->label, tail);
        return;
    }
    /* The last column stays free: some terminals would begin a new line. The rate is omitted
     * before the bar. */
    int width = terminal_width() - 1, room = width - columns_of(p->label), left_out = 0;
    int used = compose(tail, p, r, last, left_out), bar_room = (int)strlen(" []") + NARROWEST_BAR;
    while (used + (left_out < 1 ? bar_room : 0) > room && left_out < 4)
        used = compose(tail, p, r, last, ++left_out);
    int cells = room - used - (int)strlen(" []");
    if (cells >= NARROWEST_BAR) {
        if (cells > WIDEST_BAR) cells = WIDEST_BAR;
        int full = p->total > 0 ? (int)((double)r->done / (double)p->total * cells) : cells;
        char *end = bar + sprintf(bar, " [");
        for (int i = 0; i < cells; i++) *end++ = i < full ? '#' : '.';
        strcpy(end, "]");
    }
    snprintf(line, sizeof line, "%s%s%s", p->label, bar, tail);
    size_t bytes = 0;
    for (int columns = 0; line[bytes]; bytes++) {
        bool starts = !utf8_continues(line[bytes]);
        if (starts && columns == width) break;
        columns += starts;
    }
    fprintf(stderr, "\r\033[K%.*s%s", (int)bytes, line, last ? "\n" : "");
    fflush(stderr);
}

bool progress_show(Progress *p, const Report *r) {
    if (p->quiet || r->done >= p->total) return false;
    double now = clock_seconds();
    if (p->terminal ? p->shown >= 0 && now - p->shown < REDRAW_SECONDS
                    : r->done * LINES < (p->lines + 1) * p->total)
        return false;
    if (!p->terminal) p->lines = r->done * LINES / p->total;
    p->shown = now;
    print_line(p, r, false);
    return true;
}

void progress_end(Progress *p, const Report *r) {
    if (!p->quiet) print_line(p, r, true);
}

void progress_clear(Progress *p) {
    if (p->terminal && p->shown >= 0) fprintf(stderr, "\r\033[K");
    p->shown = -1;
}

void progress_encoding(size_t bytes) {
    static double shown;
    double now = clock_seconds();
    if (shown == 0) shown = now;
    if (now - shown < 2) return;
    fprintf(stderr, "encoded %.0f MB of text\n", 1e-6 * (double)bytes);
    shown = now;
}
