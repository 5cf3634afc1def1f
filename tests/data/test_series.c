/* SPDX-License-Identifier: MIT */
/* Series from memory, their way to a file and back, and the numbers in it. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/number.h"
#include "girsanov.h"

static char folder[] = "/tmp/gsv_series_XXXXXX";
static const char *const FILE_NAME = "out.csv";

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

static void put_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void expect_text(const char *path, const char *text)
{
    char got[1024];
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    got[fread(got, 1, sizeof got - 1, in)] = '\0';
    fclose(in);
    assert_string_equal(got, text);
}

static size_t count_files(void)
{
    size_t n = 0;
    DIR *d = opendir(".");
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void expect_error(const gsv_series *s, const char *message)
{
    assert_null(s);
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), message);
}

/* Two tracks of two and three rows, two columns. */
static const size_t START[] = {0, 2, 5};
static const double TIME[] = {0, 1, 0.5, 0.75, 3};

static gsv_series *small(void)
{
    const double value[] = {1, NAN, 3, 0.1, 5, -6, 7, NAN, 9e300, -0.0};
    gsv_series *s = gsv_series_new(2, START, 2, NULL, TIME, value);
    assert_non_null(s);
    return s;
}

static const char SMALL[] = "series,time,x1,x2\n1,0,1,-6\n1,1,,7\n"
                            "2,0.5,3,\n2,0.75,0.1,9e+300\n2,3,5,-0\n";

/* --- From memory -------------------------------------------------------- */

static void series__copies_what_it_is_given(void **state)
{
    (void)state;
    size_t start[] = {0, 1, 3};
    double time[] = {5, 1, 2}, value[] = {10, 20, 30, 40, 50, 60};
    char a[] = "a", b[] = "b";
    const char *name[] = {a, b};
    gsv_series *s = gsv_series_new(2, start, 2, name, time, value);
    assert_non_null(s);
    memset(start, 0, sizeof start);
    memset(time, 0, sizeof time);
    memset(value, 0, sizeof value);
    a[0] = b[0] = '?';
    const size_t starts[] = {0, 1, 3}, lines[] = {0, 0, 0};
    const double times[] = {5, 1, 2}, values[] = {10, 20, 30, 40, 50, 60};
    assert_int_equal(s->rows, 3);
    assert_int_equal(s->columns, 2);
    assert_int_equal(s->tracks, 2);
    assert_memory_equal(s->start, starts, sizeof starts);
    assert_memory_equal(s->time, times, sizeof times);
    assert_memory_equal(s->value, values, sizeof values);
    assert_memory_equal(s->line, lines, sizeof lines);
    assert_string_equal(s->name[0], "a");
    assert_string_equal(s->name[1], "b");
    assert_string_equal(s->label[0], "1");
    assert_string_equal(s->label[1], "2");
    assert_string_equal(s->source, "data");
    assert_string_equal(s->note, "");
    gsv_series_free(s);
}

static void series__names_columns_by_number(void **state)
{
    (void)state;
    gsv_series *s = small();
    assert_string_equal(s->name[0], "x1");
    assert_string_equal(s->name[1], "x2");
    gsv_series_free(s);
}

static void series__may_have_times_alone(void **state)
{
    (void)state;
    gsv_series *s = gsv_series_new(2, START, 0, NULL, TIME, NULL);
    assert_non_null(s);
    assert_int_equal(s->columns, 0);
    assert_int_equal(s->rows, 5);
    gsv_series_free(s);
}

static void series__names_the_row_that_is_wrong(void **state)
{
    (void)state;
    static const struct {
        double time[3], value;
        const char *message;
    } CASES[] = {{{0, 1, 0.5},
                  0,
                  "data: time 0.5 in row 2 is not after 1 in row 1 of "
                  "series '2'; times must increase within a track; sort the "
                  "rows by time, the oldest first"},
                 {{0, 1, 1},
                  0,
                  "data: duplicate time 1 in row 2, as in row 1 of "
                  "series '2'; times must increase within a track"},
                 {{0, 1, NAN},
                  0,
                  "data: the time in row 2 of series '2' is missing; "
                  "every row needs one"},
                 {{INFINITY, 1, 2},
                  0,
                  "data: the time in row 1 is infinite; every row needs one"},
                 {{0, 1, 2},
                  -INFINITY,
                  "data: column 'x1' is infinite in row 2 of "
                  "series '2'; a missing value is NaN"}};
    const size_t start[] = {0, 1, 3};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const double value[] = {0, 0, CASES[i].value};
        expect_error(gsv_series_new(2, start, 1, NULL, CASES[i].time, value),
                     CASES[i].message);
    }
}

static void series__refuses_bad_tracks_and_names(void **state)
{
    (void)state;
    const double value[6] = {0};
    const size_t late[] = {1, 2}, hole[] = {0, 2, 2, 4};
    expect_error(gsv_series_new(0, late, 1, NULL, TIME, value),
                 "data: there are no tracks");
    expect_error(gsv_series_new(1, late, 1, NULL, TIME, value),
                 "data: the first track starts at row 1, not at 0");
    expect_error(gsv_series_new(3, hole, 1, NULL, TIME, value),
                 "data: track 2 starts at row 2 and ends at 2; every track "
                 "needs at least one row");
    const size_t one[] = {0, 2};
    const char *const twice[] = {"a", "a"}, *const none[] = {"a", ""},
                      *const taken[] = {"a", "series"};
    expect_error(gsv_series_new(1, one, 2, twice, TIME, value),
                 "data: column 'a' is named twice");
    expect_error(gsv_series_new(1, one, 2, none, TIME, value),
                 "data: column 2 needs a name");
    expect_error(gsv_series_new(1, one, 2, taken, TIME, value),
                 "data: 'series' cannot be a column of values; rename it");
}

static void series__frees_null_and_half_built(void **state)
{
    (void)state;
    gsv_series_free(NULL);
    gsv_series *s = NEW(gsv_series, 1);
    s->columns = s->tracks = 3;
    gsv_series_free(s);
    s = NEW(gsv_series, 1);
    s->columns = 2;
    s->name = NEW(char *, 2);
    s->name[0] = mem_string("x");
    gsv_series_free(s);
}

static void view__copies_no_numbers(void **state)
{
    (void)state;
    const double value[] = {1, NAN, 3, 0.1, 5, -6, 7, NAN, 9e300, -0.0};
    const char *const label[] = {"a", "b"}, *const name[] = {"p", "q"};
    gsv_series *s = gsv_series_view(2, START, NULL, 2, NULL, TIME, value);
    assert_non_null(s);
    assert_true(s->borrowed && s->time == TIME && s->value == value);
    assert_int_equal(gsv_series_write(s, FILE_NAME), 0);
    expect_text(FILE_NAME, SMALL);
    gsv_series_free(s);
    s = gsv_series_view(2, START, label, 2, name, TIME, value);
    assert_non_null(s);
    assert_string_equal(s->label[1], "b");
    assert_string_equal(s->name[0], "p");
    gsv_series_free(s);
}

/* As gsv_series_new() says it, and labels. */
static void view__checks_what_a_copy_checks(void **state)
{
    (void)state;
    const char *const same[] = {"a", "a"}, *const two[] = {"a", "b"};
    const double value[] = {1, 2, 3, 4, 5}, far[] = {1, 2, INFINITY, 4, 5};
    const double back[] = {0, 1, 0.5, 0.75, 0.75}, nan[] = {0, NAN, 1, 2, 3};
    expect_error(gsv_series_view(2, START, same, 1, NULL, TIME, value),
                 "data: tracks 1 and 2 are both labelled 'a'; give each its "
                 "own");
    expect_error(gsv_series_view(2, START, two, 1, NULL, back, value),
                 "data: duplicate time 0.75 in row 3, as in row 2 of series "
                 "'b'; times must increase within a track");
    expect_error(gsv_series_view(2, START, two, 1, NULL, TIME, far),
                 "data: column 'x1' is infinite in row 1 of series 'b'; a "
                 "missing value is NaN");
    expect_error(gsv_series_view(2, START, NULL, 1, NULL, nan, value),
                 "data: the time in row 2 is missing; every row needs one");
}

static void series__survives_every_failed_allocation(void **state)
{
    (void)state;
    enum { TRACKS = 50 };
    size_t start[TRACKS + 1];
    double time[TRACKS] = {0}, value[2 * TRACKS] = {0};
    for (size_t i = 0; i <= TRACKS; i++)
        start[i] = i;
    for (int view = 0; view < 2; view++) {
        gsv_series *s = NULL;
        for (size_t nth = 1; !s; nth++) {
            mem_fail_at(nth);
            s = view
                    ? gsv_series_view(TRACKS, start, NULL, 2, NULL, time, value)
                    : gsv_series_new(TRACKS, start, 2, NULL, time, value);
            mem_fail_at(0);
            if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
            assert_true(nth < 1000);
        }
        gsv_series_free(s);
    }
}

/* --- To a file ---------------------------------------------------------- */

static void write__gives_plain_csv(void **state)
{
    (void)state;
    gsv_series *s = small();
    assert_int_equal(gsv_series_write(s, FILE_NAME), 0);
    expect_text(FILE_NAME, SMALL);
    assert_int_equal(count_files(), 1);
    gsv_series_free(s);
}

static void write__goes_to_standard_output(void **state)
{
    (void)state;
    gsv_series *s = small();
    fflush(stdout);
    int keep = dup(STDOUT_FILENO);
    int file = open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, STDOUT_FILENO);
    int status = gsv_series_write(s, "-");
    dup2(keep, STDOUT_FILENO);
    close(file);
    close(keep);
    assert_int_equal(status, 0);
    expect_text(FILE_NAME, SMALL);
    gsv_series_free(s);
}

static void expect_same(const gsv_series *a, const gsv_series *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->tracks, b->tracks);
    assert_memory_equal(a->start, b->start, (a->tracks + 1) * sizeof(size_t));
    assert_memory_equal(a->time, b->time, a->rows * sizeof(double));
    for (size_t i = 0; i < a->rows * a->columns; i++)
        assert_true(isnan(a->value[i])
                        ? isnan(b->value[i])
                        : !memcmp(&a->value[i], &b->value[i], sizeof(double)));
    for (size_t t = 0; t < a->tracks; t++)
        assert_string_equal(a->label[t], b->label[t]);
    for (size_t c = 0; c < a->columns; c++)
        assert_string_equal(a->name[c], b->name[c]);
}

static void expect_round_trip(const gsv_series *s)
{
    assert_int_equal(gsv_series_write(s, FILE_NAME), 0);
    gsv_series *back = gsv_series_read(FILE_NAME, 0, NULL);
    if (!back) fail_msg("%s", gsv_last_error());
    expect_same(s, back);
    gsv_series_free(back);
}

static void write__reads_back_to_the_bit(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    static double time[ROWS], value[3 * ROWS];
    const size_t start[] = {0, ROWS / 3, ROWS};
    uint64_t seed = 1;
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.1 * (double)i - 17;
    for (size_t i = 0; i < 3 * ROWS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t bits = seed ^ (seed >> 29);
        memcpy(&value[i], &bits, sizeof bits);
        if (!isfinite(value[i]) || i % 7 == 0) value[i] = NAN;
        if (i % 5 == 0) value[i] = (double)(int64_t)(bits >> 50) / 100;
    }
    gsv_series *s = gsv_series_new(2, start, 3, NULL, time, value);
    assert_non_null(s);
    expect_round_trip(s);
    gsv_series_free(s);
}

static void write__quotes_labels_and_names_where_needed(void **state)
{
    (void)state;
    static const char *const HARD[] = {"a,b", "\"",      "say \"hi\"", "a\nb",
                                       "\r",  " blank ", "",           "tab\t",
                                       ";",   "NA",      "\xc3\xa9"};
    enum { N = sizeof HARD / sizeof *HARD };
    size_t start[N + 1];
    double time[N] = {0}, value[N] = {0};
    for (size_t i = 0; i <= N; i++)
        start[i] = i;
    const char *const name[] = {"a, \"b\""};
    gsv_series *s = gsv_series_new(N, start, 1, name, time, value);
    for (size_t i = 0; i < N; i++) {
        mem_free(s->label[i]);
        s->label[i] = mem_string(HARD[i]);
    }
    expect_round_trip(s);
    gsv_series_free(s);
}

static void write__keeps_links_and_modes(void **state)
{
    (void)state;
    gsv_series *s = small();
    put_text(FILE_NAME, "old");
    assert_int_equal(symlink(FILE_NAME, "link.csv"), 0);
    assert_int_equal(gsv_series_write(s, "link.csv"), 0);
    struct stat info;
    assert_int_equal(lstat("link.csv", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    unlink("link.csv");
    expect_text(FILE_NAME, SMALL);
    assert_int_equal(chmod(FILE_NAME, 0600), 0);
    assert_int_equal(gsv_series_write(s, FILE_NAME), 0);
    assert_int_equal(stat(FILE_NAME, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    gsv_series_free(s);
}

static void expect_refusal(const gsv_series *s, const char *path,
                           const char *message)
{
    assert_int_equal(gsv_series_write(s, path), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), message);
}

static void write__says_what_and_why(void **state)
{
    (void)state;
    gsv_series *s = small();
    expect_refusal(s, "no/where.csv",
                   "cannot write no/where.csv: No such file or directory");
    expect_refusal(s, "/tmp", "cannot write /tmp: Is a directory");
    if (access("/dev/full", W_OK) == 0)
        expect_refusal(s, "/dev/full",
                       "cannot write /dev/full: No space left on device");
    assert_int_equal(gsv_series_write(s, "/dev/null"), 0);
    gsv_series_free(s);
}

/* A limit on the size of files stands for a full disk. */
static void write__leaves_the_old_file_when_the_disk_is_full(void **state)
{
    (void)state;
    gsv_series *s = small();
    put_text(FILE_NAME, "old");
    struct rlimit before, tiny;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tiny = before;
    tiny.rlim_cur = 10;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    int status = gsv_series_write(s, FILE_NAME);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), "cannot write out.csv: File too "
                                          "large");
    expect_text(FILE_NAME, "old");
    assert_int_equal(count_files(), 1);
    gsv_series_free(s);
}

static void write__survives_a_failed_allocation(void **state)
{
    (void)state;
    gsv_series *s = small();
    put_text(FILE_NAME, "old");
    mem_fail_at(1);
    assert_int_equal(gsv_series_write(s, FILE_NAME), GSV_NO_MEMORY);
    mem_fail_at(0);
    expect_text(FILE_NAME, "old");
    gsv_series_free(s);
}

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* --- Numbers ------------------------------------------------------------ */

static void expect_as_strtod(const char *text)
{
    double x, y = strtod(text, NULL);
    enum number_kind kind = number_read(text, strlen(text), &x);
    if (kind != NUMBER_FINITE || memcmp(&x, &y, sizeof x) != 0)
        fail_msg("%s gives %a, not %a", text, x, y);
}

static void number__agrees_with_strtod_to_the_bit(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (int i = 0; i < 300000; i++) {
        char text[64];
        uint64_t bits = next(&seed);
        double x = ldexp((double)(bits >> 11), (int)(bits % 80) - 100);
        snprintf(text, sizeof text, "%.*g", (int)(next(&seed) % 20) + 1,
                 bits & 1 ? x : -x);
        expect_as_strtod(text);
        snprintf(text, sizeof text, "%llu.%llue%d",
                 (unsigned long long)(bits >> (bits % 60)),
                 (unsigned long long)(next(&seed) >> (bits % 61)),
                 (int)(bits % 50) - 30);
        expect_as_strtod(text);
    }
}

/* Halves of a unit in the last place, where one bit decides. */
static void number__rounds_ties_as_strtod_does(void **state)
{
    (void)state;
    static const char *const HARD[] = {
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.5",
        "900719925474099.25",
        "90071992547409.9250",
        "0.5000000000000000555",
        "4503599627370496.5",
        "4503599627370497.5",
        "1e22",
        "1e23",
        "8.5e22",
        "9999999999999999999",
        "18446744073709551616",
        "0.1",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "1e-400",
        "-0",
        "0e999999999999",
        "1.7976931348623157e308",
        "0.000000000000000000000000000000000000000000000000000001",
        "100000000000000000000000000000000000000000000000000000",
        "123456789012345678901234567890.123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof HARD / sizeof *HARD; i++)
        expect_as_strtod(HARD[i]);
    /* (2^53 + odd) / 2^k in full decimals: exact ties of 17 to 19 digits. */
    for (uint64_t m = 9007199254740993; m < 9007199254741993; m += 2) {
        char text[64];
        snprintf(text, sizeof text, "%llu.5", (unsigned long long)(m / 2));
        expect_as_strtod(text);
        snprintf(text, sizeof text, "%llu", (unsigned long long)m);
        expect_as_strtod(text);
    }
}

static void number__knows_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum number_kind kind;
    } CASES[] = {{"", NUMBER_MISSING},      {"NA", NUMBER_MISSING},
                 {"+NaN", NUMBER_MISSING},  {"INF", NUMBER_INFINITE},
                 {"-inf", NUMBER_INFINITE}, {"+Infinity", NUMBER_INFINITE},
                 {"1e400", NUMBER_HUGE},    {"-9e99999999999", NUMBER_HUGE},
                 {"infin", NUMBER_BAD},     {"-NA", NUMBER_BAD},
                 {"+", NUMBER_BAD},         {".", NUMBER_BAD},
                 {"-.", NUMBER_BAD},        {"e5", NUMBER_BAD},
                 {".e5", NUMBER_BAD},       {"1e", NUMBER_BAD},
                 {"1e+", NUMBER_BAD},       {"1.2.3", NUMBER_BAD},
                 {"--1", NUMBER_BAD},       {"0x10", NUMBER_BAD},
                 {"1f", NUMBER_BAD},        {"1 2", NUMBER_BAD},
                 {"nan()", NUMBER_BAD},     {"1_000", NUMBER_BAD},
                 {"1d5", NUMBER_BAD},       {"null", NUMBER_BAD}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double x = 0;
        enum number_kind kind =
            number_read(CASES[i].text, strlen(CASES[i].text), &x);
        if (kind != CASES[i].kind) fail_msg("'%s'", CASES[i].text);
        if (kind == NUMBER_MISSING) assert_true(isnan(x));
    }
}

static void number__writes_few_digits_that_read_back(void **state)
{
    (void)state;
    uint64_t seed = 7;
    char text[NUMBER_TEXT];
    number_write(0.1, text);
    assert_string_equal(text, "0.1");
    number_write(0.1 + 0.2, text);
    assert_string_equal(text, "0.30000000000000004");
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next(&seed);
        double x, y;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        number_write(x, text);
        assert_int_equal(number_read(text, strlen(text), &y), NUMBER_FINITE);
        assert_memory_equal(&x, &y, sizeof x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series__copies_what_it_is_given),
        cmocka_unit_test(series__names_columns_by_number),
        cmocka_unit_test(series__may_have_times_alone),
        cmocka_unit_test(series__names_the_row_that_is_wrong),
        cmocka_unit_test(series__refuses_bad_tracks_and_names),
        cmocka_unit_test(series__frees_null_and_half_built),
        cmocka_unit_test(view__copies_no_numbers),
        cmocka_unit_test(view__checks_what_a_copy_checks),
        cmocka_unit_test(series__survives_every_failed_allocation),
        cmocka_unit_test(write__gives_plain_csv),
        cmocka_unit_test(write__goes_to_standard_output),
        cmocka_unit_test(write__reads_back_to_the_bit),
        cmocka_unit_test(write__quotes_labels_and_names_where_needed),
        cmocka_unit_test(write__keeps_links_and_modes),
        cmocka_unit_test(write__says_what_and_why),
        cmocka_unit_test(write__leaves_the_old_file_when_the_disk_is_full),
        cmocka_unit_test(write__survives_a_failed_allocation),
        cmocka_unit_test(number__agrees_with_strtod_to_the_bit),
        cmocka_unit_test(number__rounds_ties_as_strtod_does),
        cmocka_unit_test(number__knows_what_is_none),
        cmocka_unit_test(number__writes_few_digits_that_read_back),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
