/* dates: a date as people write it, "the 3rd of March 2021" -> "2021-03-03".
 * Dates are of the years 1900 to 2099. All forms of one date are on the same side, training or held
 * out. */
#include "base/random.h"
#include "tasks/written_task.h"
#include <stdio.h>

enum { FIRST_YEAR = 1900, YEARS = 200 };

/* %d day, %o ordinal, %M month, %m its first three letters, %n its number, %y year, %w weekday; %D,
 * %N two digits. */
static const char *const forms[] = {
    "the %o of %M %y", "the %o of %M, %y",   "%M %d, %y",     "%M %o, %y", "%d %M %y",
    "%o %M %y",        "%w, %d %M %y",       "%w, %M %d, %y", "%d %m %y",  "%m %d, %y",
    "%d-%m-%y",        "%d.%n.%y",           "%D.%N.%y",      "%D/%N/%y",  "%y/%N/%D",
    "%y %m %d",        "%w the %o of %M %y",
};
enum { FORMS = sizeof forms / sizeof *forms };

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};

static int days_of(int month, int year) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* 0: Sunday. Sakamoto's rule. */
static int weekday(int day, int month, int year) {
    static const int shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    year -= month < 3;
    return (year + year / 4 - year / 100 + year / 400 + shift[month - 1] + day) % 7;
}

static const char *ordinal(int day) {
    static const char *const ending[] = {"th", "st", "nd", "rd"};
    return day / 10 == 1 || day % 10 > 3 ? "th" : ending[day % 10];
}

static int write_field(char field, int day, int month, int year, char *out) {
    switch (field) {
    case 'd': return sprintf(out, "%d", day);
    case 'D': return sprintf(out, "%02d", day);
    case 'o': return sprintf(out, "%d%s", day, ordinal(day));
    case 'M': return sprintf(out, "%s", months[month - 1]);
    case 'm': return sprintf(out, "%.3s", months[month - 1]);
    case 'n': return sprintf(out, "%d", month);
    case 'N': return sprintf(out, "%02d", month);
    case 'y': return sprintf(out, "%d", year);
    default: return sprintf(out, "%s", weekdays[weekday(day, month, year)]);
    }
}

static uint64_t draw(uint64_t key, long max, char *source, char *target) {
    (void)max;
    int year = FIRST_YEAR + (int)random_below(key, 0, YEARS),
        month = 1 + (int)random_below(key, 1, 12);
    int day = 1 + (int)random_below(key, 2, days_of(month, year));
    for (const char *at = forms[random_below(key, 3, FORMS)]; *at; at++)
        if (*at == '%')
            source += write_field(*++at, day, month, year, source);
        else
            *source++ = *at;
    *source = 0;
    sprintf(target, "%04d-%02d-%02d", year, month, day);
    return (uint64_t)((year * 12 + month) * 31 + day);
}

bool task_dates_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    static const char longest[] = "Wednesday the 23rd of September 2099";
    Writing w = {draw, "0123456789 ,-./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 0,
                 sizeof longest - 1, 10};
    return task_written_open(out, kind, &w, o, e);
}
