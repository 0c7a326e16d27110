#include "report/progress.h"
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* A terminal is redrawn ten times a second; elsewhere a line tells of every tenth of the way. */
#define REDRAW_SECONDS 0.1
enum { LINES = 10, WIDEST = 512 };

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

Progress progress_start(const char *label, long total, bool quiet) {
    return (Progress){.label = label,
                      .total = total,
                      .quiet = quiet,
                      .terminal = isatty(STDERR_FILENO),
                      .start = seconds_now(),
                      .shown = -1};
}

static int terminal_width(void) {
    struct winsize size;
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    return width < WIDEST ? width : WIDEST;
}

/* "1:05", "2:03:04" */
static const char *clock_text(char out[32], double seconds) {
    long s = (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, 32, "%ld:%02ld", s / 60, s % 60);
    return out;
}

/* "940", "12.3k", "4.56M": three digits. */
static const char *short_number(char out[32], double x) {
    static const char *const suffix[] = {"", "k", "M", "G"};
    int i = 0;
    while (x >= 999.5 && i < 3) x /= 1000, i++;
    snprintf(out, 32, i && x < 10 ? "%.2f%s" : i && x < 100 ? "%.1f%s" : "%.0f%s", x, suffix[i]);
    return out;
}

/* The line without its bar: what was done, the rate, the time left (or taken). */
static void print_line(const Progress *p, long done, double rate, const char *unit, const char *words,
                       bool last) {
    double elapsed = seconds_now() - p->start,
           left = done > 0 ? elapsed / (double)done * (double)(p->total - done) : 0;
    char time[32], number[32], tail[WIDEST], bar[WIDEST] = "";
    snprintf(tail, sizeof tail, " %ld/%ld  %s  %s %s  %s %s", done, p->total, words,
             short_number(number, rate), unit, clock_text(time, last ? elapsed : left),
             last ? "taken" : "left");
    int width = p->terminal ? terminal_width() : 0;
    int room = width - 1 - (int)strlen(p->label) - 3 - (int)strlen(tail);
    if (p->terminal && room >= 8) {
        int cells = room < 30 ? room : 30, full = p->total > 0 ? (int)(done * cells / p->total) : cells;
        snprintf(bar, sizeof bar, " [%.*s%.*s]", full, "##############################", cells - full,
                 "..............................");
    }
    char line[2 * WIDEST + 64];
    snprintf(line, sizeof line, "%s%s%s", p->label, bar, tail);
    if (p->terminal && (int)strlen(line) >= width) line[width > 1 ? width - 1 : 0] = '\0';
    if (p->terminal)
        fprintf(stderr, "\r\033[K%s%s", line, last ? "\n" : "");
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
}

void progress_show(Progress *p, long done, double rate, const char *unit, const char *words) {
    if (p->quiet) return;
    double now = seconds_now();
    if (p->terminal ? p->shown >= 0 && now - p->shown < REDRAW_SECONDS
                    : done * LINES < (p->lines + 1) * p->total)
        return;
    if (!p->terminal) p->lines = done * LINES / (p->total > 0 ? p->total : 1);
    p->shown = now;
    print_line(p, done, rate, unit, words, false);
}

void progress_end(Progress *p, long done, double rate, const char *unit, const char *words) {
    if (!p->quiet) print_line(p, done, rate, unit, words, true);
}
