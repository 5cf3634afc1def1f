/* SPDX-License-Identifier: MIT */
/* Dates as text, and the days between them: the proleptic Gregorian calendar
 * of ISO 8601, where day 0 is 1970-01-01 and every day has 86400 seconds. */
#ifndef DATA_DATE_H
#define DATA_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What 03/01/2005 means is open until some other date tells. */
enum date_order {
    DATE_OPEN,
    DATE_DAY_FIRST,
    DATE_MONTH_FIRST,
    DATE_YEAR_FIRST
};

/* A date as it is written; whether there is such a day, date_time() says. */
struct date {
    int part[3];     /* its numbers, in the order of the text              */
    char separator;  /* between them: one of - / .                         */
    bool year_first; /* the first number has four digits, else the last    */
    bool zoned;      /* a Z or +01:00 follows the time of day              */
    double seconds;  /* from midnight, less the zone; NaN when impossible  */
};

/* Reads all n characters of s as 2005-01-03, 3.1.2005 or the like, with or
 * without 12:30, 12:30:15.25 and a time zone after it. s as for number_read().
 */
bool date_read(const char *s, size_t n, struct date *d);

/* The time in days since 1970-01-01; false when there is no such day or time
 * of day in this order. */
bool date_time(const struct date *d, enum date_order order, double *time);

bool date_exists(int year, int month, int day);
int64_t date_days(int year, int month, int day);

/* Such as 2005-01-03 or 2005-01-03 12:30:15.25, to a microsecond. The time is
 * within the years 0 to 9999, or a day off. */
enum { DATE_TEXT = 40 };
void date_write(double time, char text[static DATE_TEXT]);

#endif
