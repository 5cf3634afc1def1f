/* SPDX-License-Identifier: MIT */
#include "data/date.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/number.h"

enum { DAY_SECONDS = 86400 };

/* --- Calendar ----------------------------------------------------------- */

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int month_days(int year, int month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return DAYS[month - 1] + (month == 2 && is_leap(year));
}

/* From 1970-01-01 to the year's first day. 400 years, which are 146097 days,
 * keep the divisions positive. */
static int64_t year_days(int year)
{
    int64_t y = (int64_t)year - 1 + 400;
    return 365 * y + y / 4 - y / 100 + y / 400 - 146097 - 719162;
}

bool date_exists(int year, int month, int day)
{
    return year >= 0 && month >= 1 && month <= 12 && day >= 1 &&
           day <= month_days(year, month);
}

int64_t date_days(int year, int month, int day)
{
    int64_t days = year_days(year) + day - 1;
    for (int m = 1; m < month; m++)
        days += month_days(year, m);
    return days;
}

bool date_time(const struct date *d, enum date_order order, double *time)
{
    static const struct {
        size_t year, month, day;
    } AT[] = {[DATE_DAY_FIRST] = {2, 1, 0},
              [DATE_MONTH_FIRST] = {2, 0, 1},
              [DATE_YEAR_FIRST] = {0, 1, 2}};
    int year = d->part[AT[order].year], month = d->part[AT[order].month],
        day = d->part[AT[order].day];
    if (isnan(d->seconds) || !date_exists(year, month, day)) return false;
    double midnight = (double)(DAY_SECONDS * date_days(year, month, day));
    *time = (midnight + d->seconds) / DAY_SECONDS;
    return true;
}

/* --- Reading ------------------------------------------------------------ */

struct cursor {
    const char *p, *end;
};

/* Takes one of the characters, and says which; 0 when there is none. */
static char take(struct cursor *c, const char *any)
{
    return c->p < c->end && strchr(any, *c->p) ? *c->p++ : '\0';
}

/* Takes digits up to a number of them, and says how many there were. */
static int take_digits(struct cursor *c, int most, int *x)
{
    int n = 0;
    for (*x = 0; n < most && c->p < c->end && *c->p >= '0' && *c->p <= '9'; n++)
        *x = 10 * *x + (*c->p++ - '0');
    return n;
}

/* Z, +01, +0100 or +01:00: the seconds by which the clock is ahead. */
static bool take_zone(struct cursor *c, bool *zoned, double *ahead)
{
    *ahead = 0;
    while (take(c, " "))
        continue;
    *zoned = c->p < c->end;
    if (!*zoned || take(c, "Zz")) return true;
    char sign = take(c, "+-");
    int hours, minutes = 0;
    if (!sign || take_digits(c, 2, &hours) != 2) return false;
    bool more = take(c, ":") || c->p < c->end;
    if (more && take_digits(c, 2, &minutes) != 2) return false;
    int seconds = 3600 * hours + 60 * minutes;
    *ahead = sign == '-' ? -seconds : seconds;
    if (hours > 23 || minutes > 59) *ahead = NAN;
    return true;
}

/* The seconds with their fraction, where there are any. */
static bool take_seconds(struct cursor *c, double *seconds)
{
    *seconds = 0;
    if (!take(c, ":")) return true;
    const char *from = c->p;
    int whole, digit;
    if (take_digits(c, 2, &whole) != 2) return false;
    if (take(c, ".")) {
        if (!take_digits(c, 1, &digit)) return false;
        while (take_digits(c, 1, &digit))
            continue;
    }
    return number_read(from, (size_t)(c->p - from), seconds) == NUMBER_FINITE;
}

/* 24:00 is the end of a day; leap seconds are in no day of 86400. */
static bool take_clock(struct cursor *c, struct date *d)
{
    int hours, minutes;
    double seconds, ahead;
    if (!take_digits(c, 2, &hours) || !take(c, ":")) return false;
    if (take_digits(c, 2, &minutes) != 2 || !take_seconds(c, &seconds))
        return false;
    if (!take_zone(c, &d->zoned, &ahead)) return false;
    d->seconds = 3600 * hours + 60 * minutes + seconds;
    if (minutes > 59 || seconds >= 60 || d->seconds > DAY_SECONDS)
        d->seconds = NAN;
    d->seconds -= ahead;
    return true;
}

bool date_read(const char *s, size_t n, struct date *d)
{
    struct cursor c = {s, s + n};
    *d = (struct date){0};
    int digits = take_digits(&c, 4, &d->part[0]);
    d->year_first = digits == 4;
    if (!digits || digits == 3) return false;
    d->separator = take(&c, "-/.");
    const char again[] = {d->separator, '\0'};
    if (!d->separator || !take_digits(&c, 2, &d->part[1]) || !take(&c, again))
        return false;
    digits = take_digits(&c, d->year_first ? 2 : 4, &d->part[2]);
    if (d->year_first ? !digits : digits != 4) return false;
    if (c.p == c.end) return true;
    if (!take(&c, "Tt ")) return false;
    while (take(&c, " "))
        continue;
    return take_clock(&c, d) && c.p == c.end;
}

/* --- Writing ------------------------------------------------------------ */

static void write_clock(int64_t micros, char *text, size_t size)
{
    int seconds = (int)(micros / 1000000), rest = (int)(micros % 1000000);
    int n =
        snprintf(text, size, " %02d:%02d", seconds / 3600, seconds / 60 % 60);
    if (seconds % 60 || rest)
        n += snprintf(text + n, size - (size_t)n, ":%02d", seconds % 60);
    if (!rest) return;
    n += snprintf(text + n, size - (size_t)n, ".%06d", rest);
    while (text[n - 1] == '0')
        text[--n] = '\0';
}

void date_write(double time, char text[static DATE_TEXT])
{
    const int64_t day_micros = (int64_t)DAY_SECONDS * 1000000;
    int64_t micros = llround(time * (double)day_micros);
    int64_t day = micros / day_micros - (micros % day_micros < 0);
    micros -= day * day_micros;
    int year = 1970 + (int)(day / 366), month = 1;
    while (year_days(year) > day)
        year--;
    while (year_days(year + 1) <= day)
        year++;
    day -= year_days(year);
    for (; day >= month_days(year, month); month++)
        day -= month_days(year, month);
    int n =
        snprintf(text, DATE_TEXT, "%04d-%02d-%02d", year, month, (int)day + 1);
    if (micros) write_clock(micros, text + n, DATE_TEXT - (size_t)n);
}
