/* SPDX-License-Identifier: MIT */
/* NumPy arrays: every dtype, order and version, and damaged files. */
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
#include "girsanov.h"

static char folder[] = "/tmp/gsv_npy_XXXXXX";
static const char *const FILE_NAME = "data.npy";

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

static void put_bytes(const void *bytes, size_t n)
{
    unlink(FILE_NAME); /* some disks are slow to cut a file short */
    FILE *out = fopen(FILE_NAME, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

/* Appends the bytes of a number in the order that the dtype asks for. */
static size_t put_number(unsigned char *to, const char *dtype, double x)
{
    uint64_t bits = 0;
    size_t size = (size_t)(dtype[2] - '0');
    float narrow = (float)x;
    if (dtype[1] == 'f' && size == 8) memcpy(&bits, &x, 8);
    if (dtype[1] == 'f' && size == 4) {
        uint32_t half;
        memcpy(&half, &narrow, 4);
        bits = half;
    }
    if (dtype[1] == 'i') bits = (uint64_t)(int64_t)x;
    for (size_t i = 0; i < size; i++)
        to[dtype[0] == '<' ? i : size - 1 - i] =
            (unsigned char)(bits >> (8 * i));
    return size;
}

/* A file of the given version, header text and little-endian doubles. */
static size_t make(unsigned char *to, int version, const char *header)
{
    size_t length = strlen(header), n = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)version;
    to[7] = 0;
    for (size_t i = 8; i < n; i++)
        to[i] = (unsigned char)(length >> (8 * (i - 8)));
    memcpy(to + n, header, length);
    return n + length;
}

static gsv_series *read_made(const char *header, size_t count, const double *x)
{
    unsigned char bytes[4096];
    size_t n = make(bytes, 1, header);
    for (size_t i = 0; i < count; i++)
        n += put_number(bytes + n, "<f8", x[i]);
    put_bytes(bytes, n);
    return gsv_series_read(FILE_NAME, 0, NULL);
}

static void expect_error(gsv_series *s, const char *message)
{
    assert_null(s);
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), message);
}

/* Two tracks of three rows, two columns: element (t, r, i). */
static double sample(size_t t, size_t r, size_t i)
{
    return i ? (double)(100 * t + 10 * r + i) - 50 : (double)(r + t);
}

static void expect_sample(const gsv_series *s, size_t tracks)
{
    if (!s) fail_msg("%s", gsv_last_error());
    assert_int_equal(s->tracks, tracks);
    assert_int_equal(s->rows, 3 * tracks);
    assert_int_equal(s->columns, 2);
    assert_string_equal(s->name[1], "x2");
    assert_string_equal(s->label[0], "1");
    for (size_t t = 0; t < tracks; t++) {
        assert_int_equal(s->start[t], 3 * t);
        for (size_t r = 0; r < 3; r++) {
            assert_true(s->time[3 * t + r] == sample(t, r, 0));
            assert_true(s->value[3 * t + r] == sample(t, r, 1));
            assert_true(s->value[s->rows + 3 * t + r] == sample(t, r, 2));
        }
    }
}

static size_t put_sample(unsigned char *to, const char *dtype, bool fortran,
                         size_t tracks)
{
    size_t n = 0;
    for (size_t k = 0; k < 9 * tracks; k++) {
        size_t t = fortran ? k % tracks : k / 9;
        size_t r = fortran ? k / tracks % 3 : k / 3 % 3;
        size_t i = fortran ? k / tracks / 3 : k % 3;
        n += put_number(to + n, dtype, sample(t, r, i));
    }
    return n;
}

/* --- What is read ------------------------------------------------------- */

static void npy__reads_every_dtype_order_shape_and_version(void **state)
{
    (void)state;
    static const char *const DTYPE[] = {"<f8", ">f8", "<f4", ">f4",
                                        "<i4", ">i4", "<i8", ">i8"};
    for (unsigned i = 0; i < 8 * 2 * 2 * 3; i++) {
        const char *dtype = DTYPE[i % 8];
        bool fortran = i / 8 % 2;
        size_t tracks = 1 + i / 16 % 2;
        char header[200];
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': %s, 'shape': (%s3, 3), }  "
                 "  \n",
                 dtype, fortran ? "True" : "False", tracks == 2 ? "2, " : "");
        unsigned char bytes[1024];
        size_t n = make(bytes, 1 + (int)(i / 32), header);
        n += put_sample(bytes + n, dtype, fortran, tracks);
        put_bytes(bytes, n);
        gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
        expect_sample(s, tracks);
        assert_string_equal(s->source, FILE_NAME);
        gsv_series_free(s);
    }
}

static void npy__takes_nan_as_missing_and_names_in_order(void **state)
{
    (void)state;
    const double x[] = {0, 1, NAN, 1, NAN, 4};
    gsv_series_free(
        read_made("{'shape':(2,3),'fortran_order':False,'descr':'<f8'}", 6, x));
    const char *const name[] = {"b", "a"};
    gsv_series *s = gsv_series_read(FILE_NAME, 2, name);
    assert_non_null(s);
    assert_string_equal(s->name[0], "b");
    assert_string_equal(s->name[1], "a");
    assert_true(isnan(s->value[1]) && isnan(s->value[2]));
    assert_true(s->value[0] == 1 && s->value[3] == 4);
    gsv_series_free(s);
}

/* --- What is said ------------------------------------------------------- */

#define F8(shape)                                                              \
    "{'descr': '<f8', 'fortran_order': False, 'shape': " shape ", }\n"
#define AXES "; it must be (rows, 1 + n) or (tracks, rows, 1 + n), time first"
#define AS_F8 " cannot be read; save the array with .astype('<f8')"
#define TYPE(type)                                                             \
    "{'descr': " type ", 'fortran_order': False, 'shape': (1, 2)}"

static void npy__says_what_is_wrong_with_a_header(void **state)
{
    (void)state;
    static const struct {
        const char *header, *message; /* behind "data.npy: " */
    } CASES[] = {
        {F8("(4,)"), "the array has 1 axis" AXES},
        {F8("()"), "the array has 0 axes" AXES},
        {F8("(1, 1, 2, 2)"), "the array has 4 axes" AXES},
        {F8("(0, 4)"), "the array has no rows"},
        {F8("(0, 2, 2)"), "the array has no rows"},
        {F8("(4, 1)"), "the last axis is 1 long; it must hold the time and at "
                       "least one value"},
        {F8("(4, 0)"), "the last axis is 0 long; it must hold the time and at "
                       "least one value"},
        {F8("(3, 2)"), "the header announces 48 bytes of numbers, but the file "
                       "has 32; was it truncated?"},
        {F8("(1, 2)"), "the header announces 16 bytes of numbers, but the file "
                       "has 32; was it truncated?"},
        {F8("(1000000000000, 2)"),
         "the header announces 16000000000000 bytes of numbers, but the file "
         "has 32; was it truncated?"},
        {F8("(4294967296, 4294967296)"),
         "the shape in the header is too large"},
        {F8("(1, 99999999999999999999999)"),
         "the shape in the header is too large"},
        {F8("(-2, 2)"), "the .npy header is damaged near '-2, 2), }\\n'"},
        {F8("(2 2)"), "the .npy header is damaged near '2), }\\n'"},
        {TYPE("'|O'"), "numbers of type '|O'" AS_F8},
        {TYPE("'<c16'"), "numbers of type '<c16'" AS_F8},
        {TYPE("'<U8'"), "numbers of type '<U8'" AS_F8},
        {TYPE("[('a', '<f8')]"), "numbers of type [('a', '<f8')]" AS_F8},
        {TYPE("17"), "the .npy header is damaged near '17, 'fortran_order': "
                     "False, 'shape': (1,...'"},
        {"", "the .npy header is damaged near ''"},
        {"{", "the .npy header is damaged near ''"},
        {"{}", "the .npy header is damaged near '{}'"},
        {"{'descr': '<f8", "the .npy header is damaged near ''<f8'"},
        {"{'descr': '<f8' 'shape': (2, 2)}",
         "the .npy header is damaged near ''shape': (2, 2)}'"},
        {"{'descr': '<f8', 'shape': (2, 2)}",
         "the .npy header is damaged near '{'descr': '<f8', 'shape': (2, "
         "2)}'"},
        {"{'what': 1}", "the .npy header is damaged near ''what': 1}'"},
        {"{'fortran_order': Maybe}",
         "the .npy header is damaged near 'Maybe}'"},
    };
    const double x[] = {0, 1, 1, 1};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char message[512];
        snprintf(message, sizeof message, "data.npy: %s", CASES[i].message);
        expect_error(read_made(CASES[i].header, 4, x), message);
    }
}

static void npy__says_what_is_wrong_with_a_file(void **state)
{
    (void)state;
    put_bytes("", 0);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "data.npy: 0 bytes are too few for a .npy file");
    put_bytes("time,x\n0,1\n1,2\n", 15);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "data.npy: this is not a .npy file; save it with numpy.save");
    put_bytes("\x93NUMPY\x07\x02zzzzzzzz", 16);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "data.npy: version 7.2 of the .npy format is unknown");
    put_bytes("\x93NUMPY\x01\0\xff\0zz", 12);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "data.npy: the .npy header of 255 bytes is too long, or the "
                 "file is truncated");
    put_bytes("\x93NUMPY\x02\0\xff\xff\xff\xffzz", 14);
    expect_error(gsv_series_read(FILE_NAME, 0, NULL),
                 "data.npy: the .npy header of 4294967295 bytes is too long, "
                 "or the file is truncated");
    expect_error(gsv_series_read("nowhere.npy", 0, NULL),
                 "cannot open nowhere.npy: No such file or directory");
    assert_int_equal(mkdir("folder.npy", 0777), 0);
    gsv_series *s = gsv_series_read("folder.npy", 0, NULL);
    rmdir("folder.npy");
    expect_error(s, "cannot read folder.npy: it is not a regular file");
}

static void npy__names_both_counts_of_columns(void **state)
{
    (void)state;
    const double x[] = {0, 1, 1, 1};
    gsv_series_free(read_made(F8("(2, 2)"), 4, x));
    const char *const name[] = {"a", "b"};
    expect_error(gsv_series_read(FILE_NAME, 2, name),
                 "data.npy: the last axis is 2 long, but the time and 2 "
                 "columns were requested: a, b");
}

static void npy__names_the_rows_of_bad_times(void **state)
{
    (void)state;
    const double back[] = {0, 1, 3, 1, 2, 1};
    expect_error(read_made(F8("(3, 2)"), 6, back),
                 "data.npy: time 2 in row 3 is not after 3 in row 2; times "
                 "must increase within a track");
    const double same[] = {0, 1, 1, 1, 5, 1, 5, 1};
    expect_error(read_made(F8("(2, 2, 2)"), 8, same),
                 "data.npy: duplicate time 5 in row 2, as in row 1 of series "
                 "'2'; times must increase within a track");
    const double hole[] = {0, 1, NAN, 1};
    expect_error(read_made(F8("(2, 2)"), 4, hole),
                 "data.npy: the time in row 2 is missing; every row needs one");
    const double endless[] = {0, INFINITY, 1, 1};
    expect_error(read_made(F8("(2, 2)"), 4, endless),
                 "data.npy: column 'x1' is infinite in row 1; a missing value "
                 "is NaN");
}

/* --- What must not crash ------------------------------------------------ */

static void npy__survives_damage(void **state)
{
    (void)state;
    unsigned char good[1024], bytes[1024];
    uint64_t seed = 3;
    size_t n = make(good, 1, F8("(2, 3, 3)"));
    n += put_sample(good + n, "<f8", false, 2);
    for (int round = 0; round < 6000; round++) {
        memcpy(bytes, good, n);
        for (int hits = 1 + round % 3; hits > 0; hits--) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[(seed >> 40) % (round % 2 ? 90 : n)] =
                (unsigned char)(seed >> 32);
        }
        put_bytes(bytes, round % 5 ? n : (seed >> 20) % n);
        gsv_series *s = gsv_series_read(FILE_NAME, 0, NULL);
        if (!s) assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
        gsv_series_free(s);
    }
}

static void npy__survives_every_failed_allocation(void **state)
{
    (void)state;
    unsigned char bytes[1024];
    size_t n = make(bytes, 2, F8("(2, 3, 3)"));
    n += put_sample(bytes + n, "<f8", false, 2);
    put_bytes(bytes, n);
    gsv_series *s = NULL;
    for (size_t nth = 1; !s; nth++) {
        mem_fail_at(nth);
        s = gsv_series_read(FILE_NAME, 0, NULL);
        mem_fail_at(0);
        if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        assert_true(nth < 1000);
    }
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy__reads_every_dtype_order_shape_and_version),
        cmocka_unit_test(npy__takes_nan_as_missing_and_names_in_order),
        cmocka_unit_test(npy__says_what_is_wrong_with_a_header),
        cmocka_unit_test(npy__says_what_is_wrong_with_a_file),
        cmocka_unit_test(npy__names_both_counts_of_columns),
        cmocka_unit_test(npy__names_the_rows_of_bad_times),
        cmocka_unit_test(npy__survives_damage),
        cmocka_unit_test(npy__survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
