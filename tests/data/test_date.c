/* SPDX-License-Identifier: MIT */
/* Dates: the calendar, their text, and columns of them as times. What is said
 * about columns that cannot be read is in test_csv.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/date.h"
#include "girsanov.h"

/* --- Help --------------------------------------------------------------- */

static char path[] = "/tmp/gsv_date_XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const char *text)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, strlen(text), out), strlen(text));
    assert_int_equal(fclose(out), 0);
}

static gsv_series *read_good(const char *text, const char *time)
{
    put(text);
    gsv_series *s = gsv_series_read_named(path, time, NULL, 0, NULL);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

/* --- Calendar ----------------------------------------------------------- */

static const struct {
    int year, month, day;
    int64_t days;
} KNOWN[] = {
    {1970, 1, 1, 0},         {1969, 12, 31, -1},   {1970, 12, 31, 364},
    {2000, 2, 29, 11016},    {2000, 3, 1, 11017},  {2005, 1, 3, 12786},
    {1900, 2, 28, -25509},   {1900, 3, 1, -25508}, {1858, 11, 17, -40587},
    {1582, 10, 15, -141427}, {1, 1, 1, -719162},   {0, 3, 1, -719468},
    {0, 1, 1, -719528},      {2038, 1, 19, 24855}, {9999, 12, 31, 2932896},
};

static void date__counts_known_days(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        char text[DATE_TEXT], want[DATE_TEXT];
        assert_true(date_exists(KNOWN[i].year, KNOWN[i].month, KNOWN[i].day));
        assert_int_equal(date_days(KNOWN[i].year, KNOWN[i].month, KNOWN[i].day),
                         KNOWN[i].days);
        date_write((double)KNOWN[i].days, text);
        snprintf(want, sizeof want, "%04d-%02d-%02d", KNOWN[i].year,
                 KNOWN[i].month, KNOWN[i].day);
        assert_string_equal(text, want);
    }
}

/* Every day of ten thousand years, one after the other. */
static void date__misses_no_day(void **state)
{
    (void)state;
    int64_t expected = -719528;
    for (int year = 0; year < 10000; year++)
        for (int month = 0; month <= 13; month++)
            for (int day = 0; day <= 32; day++) {
                if (!date_exists(year, month, day)) continue;
                if (date_days(year, month, day) != expected)
                    fail_msg("%d-%d-%d", year, month, day);
                expected++;
            }
    assert_int_equal(expected, 2932897);
}

static void date__writes_what_it_reads(void **state)
{
    (void)state;
    for (int64_t day = -719528; day <= 2932896; day += 17) {
        char text[DATE_TEXT];
        struct date d;
        double time = (double)day, back;
        date_write(time, text);
        assert_true(date_read(text, strlen(text), &d));
        assert_true(date_time(&d, DATE_YEAR_FIRST, &back) && back == time);
    }
}

/* --- Text --------------------------------------------------------------- */

static void date__knows_impossible_days(void **state)
{
    (void)state;
    static const int NONE[][3] = {{2005, 2, 29}, {1900, 2, 29}, {2100, 2, 29},
                                  {2005, 2, 30}, {2005, 4, 31}, {2005, 0, 1},
                                  {2005, 13, 1}, {2005, 1, 0},  {2005, 1, 32}};
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        assert_false(date_exists(NONE[i][0], NONE[i][1], NONE[i][2]));
    assert_true(date_exists(2004, 2, 29) && date_exists(2000, 2, 29));
}

#define DAY 12786.0

static const struct {
    const char *text;
    enum date_order order;
    double time;
    const char *written; /* NULL: the day alone */
} GOOD[] = {
    {"2005-01-03", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-1-3", DATE_YEAR_FIRST, DAY, NULL},
    {"2005/01/03", DATE_YEAR_FIRST, DAY, NULL},
    {"2005.01.03", DATE_YEAR_FIRST, DAY, NULL},
    {"03/01/2005", DATE_DAY_FIRST, DAY, NULL},
    {"01/03/2005", DATE_MONTH_FIRST, DAY, NULL},
    {"3.1.2005", DATE_DAY_FIRST, DAY, NULL},
    {"03-01-2005", DATE_DAY_FIRST, DAY, NULL},
    {"2005-01-03T12:30", DATE_YEAR_FIRST, DAY + 12.5 / 24, "2005-01-03 12:30"},
    {"2005-01-03 12:30:15.25", DATE_YEAR_FIRST, DAY + 45015.25 / 86400,
     "2005-01-03 12:30:15.25"},
    {"2005-01-03  9:05:07", DATE_YEAR_FIRST, DAY + 32707. / 86400,
     "2005-01-03 09:05:07"},
    {"3/1/2005 0:00", DATE_DAY_FIRST, DAY, NULL},
    {"2005-01-02T24:00", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-01-03T00:00Z", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-01-03t00:00:00z", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-01-03T00:00-00:00", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-01-03T01:00+01:00", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-01-03 01:30 +0130", DATE_YEAR_FIRST, DAY, NULL},
    {"2005-01-03 00:00:00.5+00", DATE_YEAR_FIRST, DAY + 0.5 / 86400,
     "2005-01-03 00:00:00.5"},
    {"2005-01-02T18:30-05:30", DATE_YEAR_FIRST, DAY, NULL},
    {"1969-12-31T18:00", DATE_YEAR_FIRST, -0.25, "1969-12-31 18:00"},
    {"0000-01-01T00:00+12:00", DATE_YEAR_FIRST, -719528.5, "-001-12-31 12:00"},
    {"9999-12-31T24:00", DATE_YEAR_FIRST, 2932897, "10000-01-01"},
};

static void date__reads_every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        struct date d;
        double time = NAN;
        char written[DATE_TEXT];
        const char *text = GOOD[i].text;
        if (!date_read(text, strlen(text), &d) ||
            !date_time(&d, GOOD[i].order, &time) || time != GOOD[i].time)
            fail_msg("%s: %.17g", text, time);
        assert_true(d.year_first == (GOOD[i].order == DATE_YEAR_FIRST));
        date_write(time, written);
        assert_string_equal(written,
                            GOOD[i].written ? GOOD[i].written : "2005-01-03");
    }
}

static void date__sees_zones(void **state)
{
    (void)state;
    struct date d;
    assert_true(date_read("2005-01-03 12:30", 16, &d) && !d.zoned);
    assert_true(date_read("2005-01-03 12:30Z", 17, &d) && d.zoned);
    assert_true(date_read("2005-01-03 12:30-11", 19, &d) && d.zoned);
}

static void date__refuses_other_text(void **state)
{
    (void)state;
    static const char *const BAD[] = {
        "",
        "2005",
        "20050103",
        "2005-01",
        "2005-01-",
        "2005-01/03",
        "2005-001-03",
        "2005-01-003",
        "205-01-03",
        "12005-01-03",
        "-2005-01-03",
        "03/01/05",
        "03/01/20055",
        "3 1 2005",
        "3.1.2005.",
        "2005-Jan-03",
        "2005-01-03Z",
        "2005-01-03T",
        "2005-01-03T12",
        "2005-01-03T12:3",
        "2005-01-03T12:300",
        "2005-01-03T12:30:1",
        "2005-01-03T12:30:15.",
        "2005-01-03T12:30:15.25e5",
        "2005-01-03T12:30:15.1234567890123456789012345e5",
        "2005-01-03T12:30+1",
        "2005-01-03T12:30+01:",
        "2005-01-03T12:30+01:0",
        "2005-01-03T12:30+01:000",
        "2005-01-03T12:30ZZ",
        "2005-01-03T12:30 PM",
        "2005-01-03 T 12:30x",
    };
    struct date d;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        if (date_read(BAD[i], strlen(BAD[i]), &d)) fail_msg("%s", BAD[i]);
}

static void date__refuses_impossible_times(void **state)
{
    (void)state;
    static const char *const NONE[] = {
        "2005-02-29",       "2005-01-03T24:01",       "2005-01-03T25:00",
        "2005-01-03T12:60", "2005-01-03T23:59:60",    "2005-01-03T24:00:00.1",
        "2005-00-03",       "2005-01-03T12:30+24:00", "2005-01-03T12:30-01:60",
    };
    struct date d;
    double time;
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) {
        assert_true(date_read(NONE[i], strlen(NONE[i]), &d));
        if (date_time(&d, DATE_YEAR_FIRST, &time)) fail_msg("%s", NONE[i]);
    }
}

/* --- Columns ------------------------------------------------------------ */

#define SINCE ": time is in days since 1970-01-01"

static const struct {
    const char *text;
    double first, second;
    const char *note; /* behind "dates of column 'time' read as " */
} COLUMNS[] = {
    {"time,x\n2005-01-03,1\n2005-01-10,2\n", DAY, DAY + 7,
     "year-month-day" SINCE},
    {"time,x\n2005/01/03,1\n2005/01/10,2\n", DAY, DAY + 7,
     "year/month/day" SINCE},
    {"time,x\n03/01/2005,1\n13/01/2005,2\n", DAY, DAY + 10,
     "day/month/year" SINCE},
    {"time,x\n31/01/2005,1\n01/02/2005,2\n", DAY + 28, DAY + 29,
     "day/month/year" SINCE},
    {"time,x\n01/03/2005,1\n01/13/2005,2\n", DAY, DAY + 10,
     "month/day/year" SINCE},
    {"time,x\n03-01-2005,1\n13-01-2005,2\n", DAY, DAY + 10,
     "day-month-year" SINCE},
    {"time,x\n3.1.2005,1\n4.1.2005,2\n", DAY, DAY + 1, "day.month.year" SINCE},
    {"time,x\n1.3.2005,1\n1.13.2005,2\n", DAY, DAY + 10,
     "month.day.year" SINCE},
    {"time,x\n2005-01-03,1\n2005-01-03T12:00,2\n", DAY, DAY + 0.5,
     "year-month-day" SINCE},
    {"time,x\n3/1/2005 6:00,1\n13/1/2005 18:00:00,2\n", DAY + 0.25, DAY + 10.75,
     "day/month/year" SINCE},
    {"time,x\n2005-01-03T01:00+01:00,1\n2005-01-03T02:00Z,2\n", DAY,
     DAY + 2. / 24, "year-month-day" SINCE " UTC"},
    {"\"time\";\"x\"\r\n\" 03/01/2005 \";1\r\n \"13/01/2005\" ;2\r\n", DAY,
     DAY + 10, "day/month/year" SINCE},
    {"x\ttime\n1\t 3.1.2005 \n\n2\t13.1.2005", DAY, DAY + 10,
     "day.month.year" SINCE},
};

static void dates__become_days(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++) {
        char note[200];
        gsv_series *s = read_good(COLUMNS[i].text, NULL);
        snprintf(note, sizeof note, "dates of column 'time' read as %s",
                 COLUMNS[i].note);
        assert_int_equal(s->rows, 2);
        assert_string_equal(s->note, note);
        assert_true(s->time[0] == COLUMNS[i].first);
        assert_true(s->time[1] == COLUMNS[i].second);
        assert_true(s->value[0] == 1 && s->value[1] == 2);
        gsv_series_free(s);
    }
}

/* The row that tells is the last of many, and series are interleaved. */
static void dates__are_settled_by_the_last_row(void **state)
{
    (void)state;
    static char text[200000];
    for (int month_first = 0; month_first < 2; month_first++) {
        size_t n = (size_t)sprintf(text, "id,Date,x,y z\n");
        for (int year = 1900; year < 2000; year++)
            for (int i = 0; i < 12; i++)
                n += (size_t)sprintf(
                    text + n, "%s,%02d/%02d/%d,%d,\n", i % 2 ? "odd" : "even",
                    month_first ? i + 1 : 5, month_first ? 5 : i + 1, year, i);
        sprintf(text + n, "even,%s/2000,0,\n", month_first ? "1/31" : "31/1");
        put(text);
        gsv_series *s = gsv_series_read_named(path, "Date", NULL, 1,
                                              (const char *const[]){"x"});
        assert_non_null(s);
        assert_int_equal(s->rows, 1201);
        assert_int_equal(s->tracks, 2);
        assert_int_equal(s->start[1], 601);
        assert_true(s->time[600] == (double)date_days(2000, 1, 31));
        for (size_t i = 0; i < 1200; i++) {
            size_t at = s->start[i % 2] + i / 2;
            assert_true(s->time[at] == (double)date_days(1900 + (int)i / 12,
                                                         (int)i % 12 + 1, 5));
            assert_true(s->value[at] == (double)(i % 12));
            assert_int_equal(s->line[at], i + 2);
        }
        assert_string_equal(
            s->note, month_first
                         ? "dates of column 'Date' read as "
                           "month/day/year" SINCE "; columns ignored: y z"
                         : "dates of column 'Date' read as "
                           "day/month/year" SINCE "; columns ignored: y z");
        gsv_series_free(s);
    }
}

static void dates__survive_every_failed_allocation(void **state)
{
    (void)state;
    char text[4096];
    size_t n = (size_t)sprintf(text, "Date,x,y\n");
    for (int i = 0; i < 90; i++)
        n += (size_t)sprintf(text + n, "1.%d.%d,1,2\n", i % 12 + 1,
                             2000 + i / 12);
    put(text);
    gsv_series *s = NULL;
    for (size_t nth = 1; !s; nth++) {
        mem_fail_at(nth);
        s = gsv_series_read_named(path, "Date", NULL, 1,
                                  (const char *const[]){"y"});
        mem_fail_at(0);
        if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        assert_true(nth < 1000);
    }
    assert_true(s->time[89] == (double)date_days(2007, 6, 1));
    gsv_series_free(s);
}

/* One byte of a good file changed, lost or doubled. */
static void dates__survive_small_damage(void **state)
{
    (void)state;
    static const char *const FILES[] = {
        "time,x\n03/01/2005,1\n04/01/2005,1\n13/01/2005 12:30,2\n",
        "time,x\n2005-01-03T12:30:15.25+01:00,1\n2005-01-04 12:30Z,2\n",
        "series,time,x\na,\"1.2.2005\",1\nb,1.3.2005,2\na, 1.4.2005,3"};
    static const char BYTES[] = "0129/.-:TZ+ ,\"\n\r\xff\x01";
    for (size_t f = 0; f < sizeof FILES / sizeof *FILES; f++) {
        size_t size = strlen(FILES[f]);
        for (size_t at = 0; at < size; at++)
            for (size_t k = 0; k <= sizeof BYTES; k++) {
                char text[200];
                int head = (int)at;
                if (k == 0)
                    sprintf(text, "%.*s%s", head, FILES[f], FILES[f] + at + 1);
                else if (k == sizeof BYTES)
                    sprintf(text, "%.*s%s", head + 1, FILES[f], FILES[f] + at);
                else
                    sprintf(text, "%.*s%c%s", head, FILES[f], BYTES[k - 1],
                            FILES[f] + at + 1);
                put(text);
                gsv_series *s = gsv_series_read(path, 0, NULL);
                if (!s) assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
                gsv_series_free(s);
            }
    }
}

/* As weekly counts of an illness are published. */
static void dates__of_weeks_need_only_their_name(void **state)
{
    (void)state;
    enum { WEEKS = 522 };
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("Date,BUDAPEST,BARANYA\n", out);
    for (int i = 0; i < WEEKS; i++) {
        char day[20];
        time_t seconds = (time_t)(86400.0 * (DAY + 7 * (double)i));
        strftime(day, sizeof day, "%d/%m/%Y", gmtime(&seconds));
        fprintf(out, "%s,%d,79\n", day, 168 + i);
    }
    fclose(out);
    gsv_series *s = gsv_series_read_named(path, "Date", NULL, 0, NULL);
    if (!s) fail_msg("%s", gsv_last_error());
    assert_int_equal(s->rows, WEEKS);
    assert_int_equal(s->columns, 2);
    assert_int_equal(s->tracks, 1);
    assert_string_equal(s->name[0], "BUDAPEST");
    assert_true(s->value[0] == 168);
    for (size_t i = 0; i < s->rows; i++)
        assert_true(s->time[i] == DAY + 7 * (double)i);
    assert_string_equal(s->note,
                        "dates of column 'Date' read as day/month/year" SINCE);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(date__counts_known_days),
        cmocka_unit_test(date__misses_no_day),
        cmocka_unit_test(date__writes_what_it_reads),
        cmocka_unit_test(date__knows_impossible_days),
        cmocka_unit_test(date__reads_every_form),
        cmocka_unit_test(date__sees_zones),
        cmocka_unit_test(date__refuses_other_text),
        cmocka_unit_test(date__refuses_impossible_times),
        cmocka_unit_test(dates__become_days),
        cmocka_unit_test(dates__are_settled_by_the_last_row),
        cmocka_unit_test(dates__survive_every_failed_allocation),
        cmocka_unit_test(dates__survive_small_damage),
        cmocka_unit_test(dates__of_weeks_need_only_their_name),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
