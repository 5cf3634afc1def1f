/* SPDX-License-Identifier: MIT */
/* CSV files: what is read, and what is said about those that cannot be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "comma.h"
#include "girsanov.h"

/* --- Help --------------------------------------------------------------- */

static char folder[] = "/tmp/gsv_csv_XXXXXX";
static const char *const FILE_NAME = "data.csv";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink(FILE_NAME);
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void put_bytes(const char *bytes, size_t n)
{
    unlink(FILE_NAME); /* some disks are slow to cut a file short */
    FILE *out = fopen(FILE_NAME, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static gsv_series *read_text(const char *text)
{
    put_bytes(text, strlen(text));
    return gsv_series_read(FILE_NAME, 0, NULL);
}

static gsv_series *read_good(const char *text)
{
    gsv_series *s = read_text(text);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void expect_error(gsv_series *s, const char *message)
{
    assert_null(s);
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), message);
}

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* --- What is read ------------------------------------------------------- */

static void csv__reads_columns_by_name_in_any_order(void **state)
{
    (void)state;
    const char *text = "y,time,series,x\n1,0,a,2\n3,0.5,a,4\n";
    const char *const wanted[] = {"x", "y"};
    put_bytes(text, strlen(text));
    gsv_series *s = gsv_series_read(FILE_NAME, 2, wanted);
    assert_non_null(s);
    assert_int_equal(s->rows, 2);
    assert_int_equal(s->columns, 2);
    assert_int_equal(s->tracks, 1);
    assert_string_equal(s->name[0], "x");
    assert_string_equal(s->name[1], "y");
    assert_string_equal(s->label[0], "a");
    assert_string_equal(s->source, FILE_NAME);
    assert_string_equal(s->note, "");
    const double value[] = {2, 4, 1, 3};
    assert_memory_equal(s->value, value, sizeof value);
    assert_true(s->time[0] == 0 && s->time[1] == 0.5);
    gsv_series_free(s);
}

static void csv__takes_long_names_before_short_ones(void **state)
{
    (void)state;
    gsv_series *s = read_good("id,t,time,series\n7,8,0,a\n");
    assert_int_equal(s->columns, 2);
    assert_string_equal(s->name[0], "id");
    assert_string_equal(s->name[1], "t");
    assert_true(s->value[0] == 7 && s->value[1] == 8);
    gsv_series_free(s);
    s = read_good("id,t,x\nb,1,2\n");
    assert_int_equal(s->columns, 1);
    assert_string_equal(s->label[0], "b");
    gsv_series_free(s);
}

static void csv__takes_missing_cells_as_nan(void **state)
{
    (void)state;
    gsv_series *s = read_good("time,x\n0,\n1,NA\n2,na\n3,NaN\n4,nan\n5, \n"
                              "6,\"\"\n7,-nan\n8,0\n");
    assert_int_equal(s->rows, 9);
    for (size_t i = 0; i < 8; i++)
        assert_true(isnan(s->value[i]));
    assert_true(s->value[8] == 0);
    gsv_series_free(s);
}

static void csv__labels_the_only_track_1(void **state)
{
    (void)state;
    gsv_series *s = read_good("time,x\n0,1\n");
    assert_int_equal(s->tracks, 1);
    assert_string_equal(s->label[0], "1");
    gsv_series_free(s);
}

static void csv__groups_interleaved_series_stably(void **state)
{
    (void)state;
    gsv_series *s = read_good("series,time,x\nb,5,0\na,1,1\nb,6,2\n,0,3\n"
                              "a,2,4\nb,7,5\n");
    const size_t start[] = {0, 3, 5, 6}, line[] = {2, 4, 7, 3, 6, 5};
    const double time[] = {5, 6, 7, 1, 2, 0}, value[] = {0, 2, 5, 1, 4, 3};
    assert_int_equal(s->tracks, 3);
    assert_string_equal(s->label[0], "b");
    assert_string_equal(s->label[1], "a");
    assert_string_equal(s->label[2], "");
    assert_memory_equal(s->start, start, sizeof start);
    assert_memory_equal(s->line, line, sizeof line);
    assert_memory_equal(s->time, time, sizeof time);
    assert_memory_equal(s->value, value, sizeof value);
    gsv_series_free(s);
}

/* The same small table in every dress. */
static void csv__accepts_every_dress_of_a_table(void **state)
{
    (void)state;
    static const char *const DRESS[] = {
        "series,time,x\na,0,1\na,1,2.5\n",
        "series,time,x\na,0,1\na,1,2.5",
        "series,time,x\r\na,0,1\r\na,1,2.5\r\n",
        "series,time,x\ra,0,1\ra,1,2.5\r",
        "series,time,x\ra,0,1\ra,1,2.5",
        "\xef\xbb\xbfseries,time,x\na,0,1\na,1,2.5\n",
        "\n\n  \nseries,time,x\n\na,0,1\n \t\na,1,2.5\n\n",
        " series , time,\tx \n a , 0\t,1\na, 1 ,  2.5\n",
        "\"series\",\"time\",\"x\"\n\"a\",\"0\",\"1\"\n\"a\" , \"1\",\" 2.5 \"",
        "series;time;x\na;0;1\na;1;2.5\n",
        "\"series\";\"time\";\"x\"\na;0;1\na;1;2.5\n",
        "series\ttime\tx\na\t0\t1\na\t1\t2.5\n",
        "series\ttime\tx\r\n a \t 0\t1\r\n\"a\"\t1\t2.5",
        "series,time,x\na,0e0,+1\na,.1e1,25.e-1\n",
    };
    for (size_t i = 0; i < sizeof DRESS / sizeof *DRESS; i++) {
        gsv_series *s = read_good(DRESS[i]);
        assert_int_equal(s->rows, 2);
        assert_int_equal(s->columns, 1);
        assert_int_equal(s->tracks, 1);
        assert_string_equal(s->name[0], "x");
        assert_string_equal(s->label[0], "a");
        assert_true(s->time[0] == 0 && s->time[1] == 1);
        assert_true(s->value[0] == 1 && s->value[1] == 2.5);
        gsv_series_free(s);
    }
}

static void csv__keeps_quoted_labels_and_counts_their_lines(void **state)
{
    (void)state;
    gsv_series *s = read_good("series,time,x\n\"a, \"\"b\"\"\nc\",0,1\r\n"
                              "\n\" d\r\n\re\",0,1\nf\"g,0,1\n");
    assert_int_equal(s->tracks, 3);
    assert_string_equal(s->label[0], "a, \"b\"\nc");
    assert_string_equal(s->label[1], " d\r\n\re");
    assert_string_equal(s->label[2], "f\"g");
    assert_int_equal(s->line[0], 2);
    assert_int_equal(s->line[1], 5);
    assert_int_equal(s->line[2], 8);
    gsv_series_free(s);
}

static void csv__skips_unwanted_columns_unparsed(void **state)
{
    (void)state;
    const char *text = "who,time,x,,when\nBob,0,1,!,\"a\nb\"\n\x1b,1,2,3,inf\n";
    const char *const wanted[] = {"x"};
    put_bytes(text, strlen(text));
    gsv_series *s = gsv_series_read(FILE_NAME, 1, wanted);
    assert_non_null(s);
    assert_int_equal(s->columns, 1);
    assert_true(s->value[0] == 1 && s->value[1] == 2);
    assert_int_equal(s->line[1], 4);
    assert_string_equal(s->note, "columns ignored: who, (unnamed), when");
    gsv_series_free(s);
}

static void csv__passes_over_unnamed_columns(void **state)
{
    (void)state;
    gsv_series *s = read_good(",time,x,\n0,0,1,z\n1,1,2,z\n");
    assert_int_equal(s->columns, 1);
    assert_string_equal(s->note, "columns ignored: (unnamed), (unnamed)");
    gsv_series_free(s);
}

static void csv__cuts_a_long_note(void **state)
{
    (void)state;
    const char *text = "time,a,b,c,d,e,f,g,h,i,j\n0,0,0,0,0,0,0,0,0,0,0\n";
    put_bytes(text, strlen(text));
    gsv_series *s = gsv_series_read(FILE_NAME, 0, (const char *const[]){""});
    assert_non_null(s);
    assert_int_equal(s->columns, 0);
    assert_string_equal(s->note,
                        "columns ignored: a, b, c, d, e, f, g, h ... (2 more)");
    gsv_series_free(s);
}

static void csv__reads_standard_input(void **state)
{
    (void)state;
    const char *text = "time,x\n0,1\n1,z\n";
    put_bytes(text, strlen(text));
    int keep = dup(STDIN_FILENO);
    assert_non_null(freopen(FILE_NAME, "rb", stdin));
    gsv_series *s = gsv_series_read("-", 0, NULL);
    dup2(keep, STDIN_FILENO);
    close(keep);
    clearerr(stdin);
    expect_error(s, "stdin:3:2: column 'x': 'z' is not a number; write a "
                    "number, or leave the cell empty when it is missing");
}

/* Label, time and value of row i, with a quote, a doubled quote and a line
 * end that fall on every place of the buffer's edge. */
static size_t put_row(char *to, size_t i)
{
    return (size_t)sprintf(to, "\"s\"\"\r\n%zu\",%zu,%.17g\r\n", i % 3, i,
                           (double)i / 7);
}

static void csv__reads_on_behind_the_buffer_anywhere(void **state)
{
    (void)state;
    enum { ROWS = 8000, ROW = 64, PAD = 48 };
    char *text = test_malloc(ROWS * ROW + 1000);
    for (size_t pad = 0; pad < PAD; pad++) {
        size_t n = (size_t)sprintf(text, "series,time,%*sx\r\n", (int)pad, "");
        for (size_t i = 0; i < ROWS; i++)
            n += put_row(text + n, i);
        put_bytes(text, n);
        gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
        assert_non_null(s);
        assert_int_equal(s->rows, ROWS);
        assert_int_equal(s->tracks, 3);
        assert_string_equal(s->label[2], "s\"\r\n2");
        for (size_t i = 0; i < ROWS; i++) {
            size_t at = s->start[i % 3] + i / 3;
            assert_true(s->time[at] == (double)i);
            assert_true(s->value[at] == (double)i / 7);
            assert_int_equal(s->line[at], 2 + 2 * i);
        }
        gsv_series_free(s);
    }
    test_free(text);
}

static void csv__grows_for_a_long_line_up_to_a_bound(void **state)
{
    (void)state;
    enum { LONG = 3 << 20, BOUND = 1 << 26 };
    char *text = test_malloc(BOUND + 100);
    size_t n = (size_t)sprintf(text, "series,time,x\n");
    memset(text + n, 'a', BOUND + 10);
    memcpy(text + n + LONG, ",0,1\n", 5);
    put_bytes(text, n + LONG + 5);
    gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
    assert_non_null(s);
    assert_int_equal(strlen(s->label[0]), LONG);
    gsv_series_free(s);
    memset(text + n, 'a', LONG + 5);
    put_bytes(text, n + BOUND + 5);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "data.csv:2: the line is longer than 64 MiB; is a quote left "
                 "open?");
    test_free(text);
}

static void csv__keeps_apart_many_series(void **state)
{
    (void)state;
    enum { SERIES = 5000 };
    char *text = test_malloc(2 * SERIES * 32 + 100);
    size_t n = (size_t)sprintf(text, "series,time,x\n");
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < SERIES; i++)
            n += (size_t)sprintf(text + n, "s%d,%d,%d\n", i, round, i);
    put_bytes(text, n);
    gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
    assert_non_null(s);
    assert_int_equal(s->tracks, SERIES);
    for (size_t i = 0; i < SERIES; i++) {
        assert_int_equal(s->start[i], 2 * i);
        assert_true(s->value[2 * i] == (double)i &&
                    s->value[2 * i + 1] == (double)i);
    }
    gsv_series_free(s);
    test_free(text);
}

static void csv__is_deaf_to_the_locale(void **state)
{
    (void)state;
    if (!use_comma()) skip();
    gsv_series *s = read_text("time,x\n0,1.5\n1,0.12345678901234567890\n");
    int written = s ? gsv_series_write(s, FILE_NAME) : -1;
    gsv_series_free(s);
    s = gsv_series_read(FILE_NAME, 0, NULL);
    char here[32];
    snprintf(here, sizeof here, "%.1f", 1.5);
    setlocale(LC_ALL, "C");
    assert_int_equal(written, 0);
    assert_non_null(s);
    assert_true(s->value[0] == 1.5 && s->value[1] == 0.12345678901234567890);
    assert_string_equal(here, "1,5");
    gsv_series_free(s);
}

/* --- What is said ------------------------------------------------------- */

#define REMEDY "; write a number, or leave the cell empty when it is missing"
#define FINITE                                                                 \
    "; write a finite number, or leave the cell empty when it is missing"
#define APART                                                                  \
    "; times must increase, unless a column 'series' distinguishes several "   \
    "series"
#define NO_TIME                                                                \
    ":1: the header has no column 'time' or 't'; name the column of time "     \
    "(--time NAME); columns found: "
#define OR_DATE                                                                \
    " is not a number; write the time as a finite number, or as a date such "  \
    "as 2005-01-31"
#define ONE_WAY "; write all dates one way, such as 2005-01-31"
#define NO_DAY " is impossible: there is no such day"
#define NO_HOUR " is impossible: there is no such time of day"

static const struct {
    const char *file, *message; /* the message behind the file's name */
} BROKEN[] = {
    {"empty.csv", ": the file is empty; it needs a header such as 'time,x' "
                  "and rows below it"},
    {"blank.csv", ": the file is empty; it needs a header such as 'time,x' "
                  "and rows below it"},
    {"header-only.csv", ": there are no rows below the header"},
    {"no-header.csv", ":1: the header is missing: the first line contains only "
                      "numbers; add a line such as 'time,x' above it"},
    {"no-time.csv", NO_TIME "Time, x, y; did you mean 'Time'?"},
    {"spaces.csv", NO_TIME "time x y"},
    {"many-columns.csv", NO_TIME "a, b, c, d, e, f, g, h ... (2 more)"},
    {"bad-header-name.csv", NO_TIME "x\\x01\xc3\xa9, y"},
    {"no-values.csv", ":1: there is no column of values beside the time; "
                      "columns found: series, time"},
    {"duplicate-name.csv", ":1:4: the header names 'x' twice; rename one"},
    {"duplicate-time-column.csv",
     ":1:3: the header names 'time' twice; rename one"},
    {"too-few.csv", ":3: the row has 2 cells, but the header has 3"},
    {"too-many.csv", ":3: the row has 3 cells, but the header has 2"},
    {"one-cell.csv", ":2: the row has 1 cell, but the header has 2"},
    {"text.csv", ":4:3: column 'y': 'abc' is not a number" REMEDY},
    {"two-numbers.csv", ":2:2: column 'x': '1 2' is not a number" REMEDY},
    {"long-text.csv", ":2:2: column 'x': 'this cell holds a whole sentence "
                      "that go...' is not a number" REMEDY},
    {"control.csv",
     ":2:2: column 'x': 'a\\x1b[31m\\tb\\xff' is not a number" REMEDY},
    {"hex.csv", ":2:2: column 'x': '0x1F' is not a number" REMEDY},
    {"nan-junk.csv", ":2:2: column 'x': 'nan(123)' is not a number" REMEDY},
    {"bare-exponent.csv", ":2:2: column 'x': '1e' is not a number" REMEDY},
    {"infinite.csv", ":3:2: column 'x': '-Infinity' is infinite" FINITE},
    {"infinite-time.csv", ":3:1: column 'time': 'inf' is infinite; write the "
                          "time as a finite number"},
    {"huge.csv", ":2:2: column 'x': '1e999' is too large" FINITE},
    {"decimal-comma.csv", ":2:2: column 'x': '1,5' is not a number; write a "
                          "decimal point, not a comma"},
    {"date.csv", ":3:1: column 't': '2024-01-01' is not a number; write the "
                 "time as a finite number"},
    {"date-like.csv", ":2:1: column 'time': '3 Jan 2005'" OR_DATE},
    {"date-short-year.csv", ":2:1: column 'time': '03/01/05'" OR_DATE},
    {"date-two-separators.csv", ":2:1: column 'time': '2005-01/03'" OR_DATE},
    {"date-number.csv", ":3:1: column 'time': '12787' is not a date like "
                        "'2005-01-03' on line 2" ONE_WAY},
    {"date-missing.csv",
     ":3:1: column 'time': the time is missing; every row needs one"},
    {"date-infinite.csv", ":3:1: column 'time': 'inf' is not a date like "
                          "'2005-01-03' on line 2" ONE_WAY},
    {"date-separators.csv", ":3:1: column 'time': '2005/01/04' is not a date "
                            "like '2005-01-03' on line 2" ONE_WAY},
    {"date-year-last.csv", ":3:2: column 'time': '04-01-2005' is not a date "
                           "like '2005-01-03' on line 2" ONE_WAY},
    {"date-open.csv",
     ":2:2: column 'time': '03/01/2005' may have the day or the month first, "
     "and no other date decides which; write the dates as year-month-day, such "
     "as "
     "2005-01-31"},
    {"date-both-orders.csv",
     ":5:1: column 'time': '01/14/2005' has the month first, but the day is "
     "first in '13/01/2005' on line 4" ONE_WAY},
    {"date-both-orders-month.csv",
     ":3:1: column 'time': '14-01-2005' has the day first, but the month is "
     "first in '01-13-2005' on line 2" ONE_WAY},
    {"date-impossible.csv", ":3:1: column 'time': '30/02/2005'" NO_DAY},
    {"date-leap.csv", ":3:1: column 'time': '1900-02-29'" NO_DAY},
    {"date-zero.csv", ":2:1: column 'time': '03.00.2005'" NO_DAY},
    {"date-month.csv", ":2:1: column 'time': '2005-13-01'" NO_DAY},
    {"date-hour.csv", ":2:1: column 'time': '2005-01-03T24:00:01'" NO_HOUR},
    {"date-zone.csv", ":2:1: column 'time': '2005-01-03T12:30+01:60'" NO_HOUR},
    {"date-no-hour.csv", ":3:1: column 'time': '2005-01-04 1230' is not a date "
                         "like '2005-01-03 12:30' on line 2" ONE_WAY},
    {"date-some-zones.csv",
     ":3:1: column 'time': '2005-01-04T12:30' has no time zone, unlike "
     "'2005-01-03T12:30Z' on line 2" ONE_WAY},
    {"date-a-zone.csv",
     ":3:1: column 'time': '2005-01-04T12:30+01:00' has a time zone, unlike "
     "'2005-01-03T12:30' on line 2" ONE_WAY},
    {"date-backwards.csv",
     ":3:1: time 2005-01-03 on line 3 is not after "
     "2005-01-10 on line 2" APART "; sort the rows by time, the oldest first"},
    {"date-twice.csv",
     ":4:2: duplicate time 2005-01-03 12:30 on line 4, as on line 2 of series "
     "'a'; times must increase within a series"},
    {"missing-time.csv",
     ":3:1: column 'time': the time is missing; every row needs one"},
    {"backwards.csv",
     ":4:1: time 2.5 on line 4 is not after 3 on line 3" APART},
    {"duplicate-time.csv",
     ":4:1: duplicate time 3 on line 4, as on line 3" APART},
    {"backwards-in-series.csv",
     ":5:3: time 4 on line 5 is not after 5 on line 3 of series 'b'; times "
     "must increase within a series; sort the rows by time, the oldest first"},
    {"duplicate-in-series.csv",
     ":5:2: duplicate time 1 on line 5, as on line 2 of series 'a'; times "
     "must increase within a series"},
    {"open-quote.csv", ":2:1: a quote is opened here and never closed"},
    {"after-quote.csv", ":2:1: there is text after the closing quote; write a "
                        "quote inside a cell twice"},
    {"multi-line.csv", ":4:3: column 'x': 'z' is not a number" REMEDY},
    {"zero-byte.csv", ": it contains a zero byte, so it is not UTF-8 text; "
                      "save it as a plain CSV file"},
    {"utf16.csv", " is a text in UTF-16; save it as a plain CSV file in "
                  "UTF-8"},
    {"remark.csv", ":4: the line begins with '#'; comments are allowed only "
                   "above the header: remove it"},
    {"remark-for-header.csv",
     ":2: the header is missing: the first line that does not begin with '#' "
     "contains only numbers; if the header is the line above, remove its '#'"},
    {"newest-first.csv", ":3:1: time 2 on line 3 is not after 3 on line 2" APART
                         "; sort the rows by time, the oldest first"},
    {"decimal-comma-time.csv", ":3:1: column 'time': '0,5' is not a number; "
                               "write a decimal point, not a comma"},
    {"workbook.csv", " is a workbook or a zip archive; save the sheet as a "
                     "plain CSV file"},
    {"compressed.csv", " is compressed; unpack it with gunzip"},
    {"fit.csv", " is a fit; the data come after the model, as a plain CSV "
                "file"},
};

/* The same rows below any remarks; the last cell of each is bad once, to see
 * that lines are those of the file. */
static void csv__skips_remarks_above_the_header(void **state)
{
    (void)state;
    static const struct {
        const char *above;
        size_t remarks, lines;
    } CASES[] = {
        {"", 0, 0},
        {"# one\n", 1, 1},
        {"# one, \"two\n#\n", 2, 2},
        {"\xef\xbb\xbf#\r\n\r\n  # b\r\n", 2, 3},
        {"\n\n\t# a\r# b\r\r", 2, 5},
    };
    char text[300], note[120], message[200];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        snprintf(text, sizeof text, "%stime;x\n0;1\n1;2\n", CASES[i].above);
        gsv_series *s = read_good(text);
        size_t n = CASES[i].remarks;
        snprintf(note, sizeof note,
                 "%zu line%s above the header skipped, which begin%s with '#'",
                 n, n == 1 ? "" : "s", n == 1 ? "s" : "");
        if (!n) note[0] = 0;
        assert_string_equal(s->note, note);
        assert_int_equal(s->rows, 2);
        assert_int_equal(s->line[1], CASES[i].lines + 3);
        gsv_series_free(s);
        text[strlen(text) - 2] = '?';
        snprintf(message, sizeof message,
                 "data.csv:%zu:2: column 'x': '?' is not a number; write a "
                 "number, or leave the cell empty when it is missing",
                 CASES[i].lines + 3);
        expect_error(read_text(text), message);
    }
}

/* One that is longer than what is read at a time, and one that ends with it. */
static void csv__skips_remarks_of_any_length(void **state)
{
    (void)state;
    static const char ROWS[] = "\r\ntime,x\n0,1\n1,2\n";
    for (size_t n = (1 << 18) - 3; n < (1 << 18) + 3; n++) {
        char *text = malloc(3 * n);
        assert_non_null(text);
        memset(text, '#', n);
        strcpy(text + n, ROWS);
        gsv_series *s = read_good(text);
        assert_int_equal(s->rows, 2);
        assert_int_equal(s->line[0], 3);
        gsv_series_free(s);
        free(text);
    }
}

/* A label may begin so, and a column that nobody looks at. */
static void csv__keeps_rows_that_begin_as_remarks(void **state)
{
    (void)state;
    gsv_series *s = read_good("id,time,x\n#1,0,1\n#1,1,2\n\"#2\",0,1\n");
    assert_int_equal(s->rows, 3);
    assert_string_equal(s->label[1], "#2");
    gsv_series_free(s);
}

static void csv__names_line_column_and_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof BROKEN / sizeof *BROKEN; i++) {
        char path[1024], message[2048];
        snprintf(path, sizeof path, TESTS_DIR "/data/broken/%s",
                 BROKEN[i].file);
        snprintf(message, sizeof message, "%s%s", path, BROKEN[i].message);
        expect_error(gsv_series_read(path, 0, NULL), message);
    }
}

static void csv__lists_and_guesses_a_wanted_column(void **state)
{
    (void)state;
    const char *text = "time,Temp,pressure,x\n0,1,2,3\n";
    static const struct {
        const char *wanted[2], *message;
    } CASES[] = {{{"x", "temp"},
                  "data.csv:1: there is no column 'temp' of values; rename "
                  "one, here or in the model; "
                  "columns found: time, Temp, pressure, x; did you mean "
                  "'Temp'?"},
                 {{"presure", "x"},
                  "data.csv:1: there is no column 'presure' of "
                  "values; rename one, here or in the model; columns found: "
                  "time, Temp, pressure, x; "
                  "did you mean 'pressure'?"},
                 {{"y", "x"},
                  "data.csv:1: there is no column 'y' of values; rename one, "
                  "here or in the model; columns "
                  "found: time, Temp, pressure, x"},
                 {{"x", "time"},
                  "data.csv: 'time' cannot be a column of values; rename it"},
                 {{"x", "x"}, "data.csv: column 'x' is named twice"}};
    put_bytes(text, strlen(text));
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        expect_error(gsv_series_read(FILE_NAME, 2, CASES[i].wanted),
                     CASES[i].message);
    const char *short_time = "t,x\n0,3\n";
    put_bytes(short_time, strlen(short_time));
    expect_error(gsv_series_read(FILE_NAME, 1, (const char *const[]){"t"}),
                 "data.csv:1: there is no column 't' of values; rename one, "
                 "here or in the model; columns "
                 "found: t, x");
}

static gsv_series *read_named(const char *text, const char *time,
                              const char *series)
{
    put_bytes(text, strlen(text));
    return gsv_series_read_named(FILE_NAME, time, series, 0, NULL);
}

static void csv__takes_time_and_series_by_other_names(void **state)
{
    (void)state;
    static const struct {
        const char *header, *time, *series, *column, *note;
    } CASES[] = {
        {"who,when,x", "when", "who", "x", ""},
        {"series,when,x", "when", NULL, "x", ""},
        {"id,when,x", "when", NULL, "x", ""},
        {"who,time,x", NULL, "who", "x", ""},
        {"time,t,x", NULL, "time", "x", ""},
        {"series,id,x", "id", NULL, "x", ""},
        {" \"who\" ,\"when\",x", "when", "who", "x", ""},
        {"who,,x", "", "who", "x", ""},
        {"who,when,t", "when", "who", "t", ""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s\na,0,1\nb,0,2\na,1,3\n",
                 CASES[i].header);
        gsv_series *s = read_named(text, CASES[i].time, CASES[i].series);
        if (!s) fail_msg("%s", gsv_last_error());
        assert_int_equal(s->tracks, 2);
        assert_string_equal(s->label[1], "b");
        assert_int_equal(s->columns, 1);
        assert_string_equal(s->name[0], CASES[i].column);
        assert_string_equal(s->note, CASES[i].note);
        assert_true(s->time[1] == 1 && s->value[1] == 3);
        gsv_series_free(s);
    }
}

/* The names time and series are taken, even where others have the parts. */
static void csv__passes_over_time_and_series_without_their_parts(void **state)
{
    (void)state;
    gsv_series *s =
        read_named("series,time,who,when,x\nz,z,a,0,1\n", "when", "who");
    assert_non_null(s);
    assert_int_equal(s->columns, 1);
    assert_string_equal(s->label[0], "a");
    assert_string_equal(s->note, "columns ignored: series, time");
    gsv_series_free(s);
}

static void csv__lists_and_guesses_a_wanted_time_or_series(void **state)
{
    (void)state;
    const char *text = "Date,Town,x\n0,a,1\n";
    expect_error(read_named(text, "date", NULL),
                 "data.csv:1: the header has no column 'date' for the time; "
                 "columns found: Date, Town, x; did you mean 'Date'?");
    expect_error(read_named(text, "Date", "Twon"),
                 "data.csv:1: the header has no column 'Twon' for the series; "
                 "columns found: Date, Town, x; did you mean 'Town'?");
    expect_error(read_named(text, "", NULL),
                 "data.csv:1: the header has no column '' for the time; "
                 "columns found: Date, Town, x");
    expect_error(read_named(text, "x", "x"),
                 "data.csv:1: column 'x' cannot be both the time and the "
                 "series");
    expect_error(read_named("time,x\n0,1\n", NULL, "time"),
                 "data.csv:1: the header has no column 'time' or 't'; name the "
                 "column of time (--time NAME); columns found: time, x");
    expect_error(
        gsv_series_read_named("x.npy", "Date", NULL, 0, NULL),
        "x.npy: a .npy file has no column names, so the columns of time and "
        "series cannot be chosen; the first column is the time");
    expect_error(
        gsv_series_read_named("x.npy", NULL, "id", 0, NULL),
        "x.npy: a .npy file has no column names, so the columns of time and "
        "series cannot be chosen; the first column is the time");
}

static void csv__says_why_a_file_cannot_be_read(void **state)
{
    (void)state;
    expect_error(gsv_series_read("nowhere.csv", 0, NULL),
                 "cannot open nowhere.csv: No such file or directory");
    expect_error(gsv_series_read("/", 0, NULL),
                 "cannot read /: Is a directory");
    if (geteuid() == 0) return; /* root may read everything */
    put_bytes("x", 1);
    assert_int_equal(chmod(FILE_NAME, 0), 0);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "cannot open data.csv: Permission denied");
    unlink(FILE_NAME);
}

/* --- What must not crash ------------------------------------------------ */

static void csv__survives_random_bytes(void **state)
{
    (void)state;
    static const char ALPHABET[] = "time,x;t\n\n\r\"\"\t  0123456789.eE+-na,,"
                                   "series\xef\xbb\xbf\xc3\x01";
    uint64_t seed = 99;
    for (int round = 0; round < 6000; round++) {
        char text[400] = "series,time,x\n";
        size_t from = round % 3 ? strlen(text) : 0;
        size_t n = from + next(&seed) % (sizeof text - from);
        for (size_t i = from; i < n; i++)
            text[i] = round % 4 ? ALPHABET[next(&seed) % (sizeof ALPHABET - 1)]
                                : (char)next(&seed);
        put_bytes(text, n);
        gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
        if (!s) assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
        gsv_series_free(s);
    }
}

/* One byte of a good file changed, lost or doubled. */
static void csv__survives_small_damage(void **state)
{
    (void)state;
    static const char GOOD[] = "series,time,x,y\n\"a\"\"b\",0,1.5,-2e-3\n"
                               "c,0.25,,NA\r\n\"a\"\"b\",1,2,3\nc,7,1e5,.5";
    uint64_t seed = 5;
    for (size_t at = 0; at < sizeof GOOD - 1; at++)
        for (int kind = 0; kind < 40; kind++) {
            char text[sizeof GOOD + 1];
            memcpy(text, GOOD, at);
            size_t n = at;
            if (kind > 1) text[n++] = (char)(next(&seed) % 128);
            if (kind == 1) text[n++] = GOOD[at], text[n++] = GOOD[at];
            memcpy(text + n, GOOD + at + 1, sizeof GOOD - at - 2);
            n += sizeof GOOD - at - 2;
            put_bytes(text, n);
            gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
            if (!s) assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
            gsv_series_free(s);
        }
}

static void csv__survives_every_failed_allocation(void **state)
{
    (void)state;
    char text[4096];
    size_t n = (size_t)sprintf(text, "series,time,x,y,z\n");
    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(text + n, "s%d,%d,1,2,z\n", i % 40, i);
    put_bytes(text, n);
    const char *const wanted[] = {"y", "x"};
    gsv_series *s = NULL;
    for (size_t nth = 1; !s; nth++) {
        mem_fail_at(nth);
        s = gsv_series_read(FILE_NAME, 2, wanted);
        mem_fail_at(0);
        if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        assert_true(nth < 1000);
    }
    assert_int_equal(s->tracks, 40);
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv__reads_columns_by_name_in_any_order),
        cmocka_unit_test(csv__takes_long_names_before_short_ones),
        cmocka_unit_test(csv__takes_missing_cells_as_nan),
        cmocka_unit_test(csv__labels_the_only_track_1),
        cmocka_unit_test(csv__groups_interleaved_series_stably),
        cmocka_unit_test(csv__accepts_every_dress_of_a_table),
        cmocka_unit_test(csv__keeps_quoted_labels_and_counts_their_lines),
        cmocka_unit_test(csv__skips_unwanted_columns_unparsed),
        cmocka_unit_test(csv__passes_over_unnamed_columns),
        cmocka_unit_test(csv__cuts_a_long_note),
        cmocka_unit_test(csv__reads_standard_input),
        cmocka_unit_test(csv__reads_on_behind_the_buffer_anywhere),
        cmocka_unit_test(csv__grows_for_a_long_line_up_to_a_bound),
        cmocka_unit_test(csv__keeps_apart_many_series),
        cmocka_unit_test(csv__is_deaf_to_the_locale),
        cmocka_unit_test(csv__skips_remarks_above_the_header),
        cmocka_unit_test(csv__skips_remarks_of_any_length),
        cmocka_unit_test(csv__keeps_rows_that_begin_as_remarks),
        cmocka_unit_test(csv__names_line_column_and_text),
        cmocka_unit_test(csv__lists_and_guesses_a_wanted_column),
        cmocka_unit_test(csv__takes_time_and_series_by_other_names),
        cmocka_unit_test(csv__passes_over_time_and_series_without_their_parts),
        cmocka_unit_test(csv__lists_and_guesses_a_wanted_time_or_series),
        cmocka_unit_test(csv__says_why_a_file_cannot_be_read),
        cmocka_unit_test(csv__survives_random_bytes),
        cmocka_unit_test(csv__survives_small_damage),
        cmocka_unit_test(csv__survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
