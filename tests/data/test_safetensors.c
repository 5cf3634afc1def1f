/* SPDX-License-Identifier: MIT */
/* Tensors to a file and back to the bit, and strangers' files. */
#include <dirent.h>
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

#include <jansson.h>

#include "base/memory.h"
#include "data/safetensors.h"
#include "girsanov.h"

static char folder[] = "/tmp/gsv_safetensors_XXXXXX";
static const char *const FILE_NAME = "a.fit";

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

static size_t get_bytes(unsigned char *bytes, size_t room)
{
    FILE *in = fopen(FILE_NAME, "rb");
    assert_non_null(in);
    size_t n = fread(bytes, 1, room, in);
    fclose(in);
    assert_true(n < room);
    return n;
}

static size_t put_length(unsigned char *to, uint64_t length)
{
    for (size_t i = 0; i < 8; i++)
        to[i] = (unsigned char)(length >> (8 * i));
    return 8;
}

/* Reads a file with this header and n bytes of data. */
static int read_made(struct tensors *t, const char *header, const void *data,
                     size_t n)
{
    unsigned char bytes[20000];
    size_t length = strlen(header), used = put_length(bytes, length);
    assert_true(used + length + n <= sizeof bytes);
    memcpy(bytes + used, header, length);
    if (n) memcpy(bytes + used + length, data, n);
    put_bytes(bytes, used + length + n);
    return safetensors_read(t, FILE_NAME);
}

static void expect_error(int status, const struct tensors *t,
                         const char *message)
{
    assert_int_equal(status, GSV_BAD_INPUT);
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), message);
    assert_null(t->tensor);
    assert_null(t->note);
}

/* Every rank, an empty tensor, names and texts that JSON must escape. */
static struct tensors sample(void)
{
    static const double VALUE[] = {0.1,       -0.0,     5e-324,   -1e308,
                                   -INFINITY, INFINITY, 1.0 / 3., 7};
    static const size_t SHAPES[][TENSOR_RANKS] = {
        {0}, {3}, {2, 3}, {1, 2, 2}, {2, 1, 2, 2}, {2, 0}};
    static const size_t RANKS[] = {0, 1, 2, 3, 4, 2};
    static const char *const NAMES[] = {"",         "s",      "drift.W1",
                                        "\"\\\n\t", "\u03b8", "empty"};
    double value[8];
    memcpy(value, VALUE, sizeof value);
    uint64_t nan = UINT64_C(0xfff8000000abcdef);
    memcpy(&value[2], &nan, sizeof nan);
    struct tensors t = {0};
    assert_int_equal(tensors_note(&t, "format", "girsanov"), 0);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(tensors_add(&t, NAMES[i], RANKS[i], SHAPES[i], value),
                         0);
    assert_int_equal(tensors_note(&t, "z \x01", "state x\n\"\xc3\xa9\"\r\\"),
                     0);
    assert_int_equal(tensors_note(&t, "a", ""), 0);
    return t;
}

static void expect_same(const struct tensors *a, const struct tensors *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->notes, b->notes);
    for (size_t i = 0; i < a->count; i++) {
        const struct tensor *x = &a->tensor[i], *y = &b->tensor[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->count, y->count);
        assert_memory_equal(x->shape, y->shape, sizeof x->shape);
        if (x->count)
            assert_memory_equal(x->value, y->value, x->count * sizeof(double));
    }
    for (size_t i = 0; i < a->notes; i++) {
        assert_string_equal(a->note[i].key, b->note[i].key);
        assert_string_equal(a->note[i].text, b->note[i].text);
    }
}

/* --- What is kept ------------------------------------------------------- */

static void tensors__are_copied_and_found(void **state)
{
    (void)state;
    char name[] = "x", text[] = "one";
    size_t shape[] = {2};
    double value[] = {1, 2};
    struct tensors t = {0};
    assert_null(tensors_find(&t, "x"));
    assert_null(tensors_text(&t, "x"));
    assert_int_equal(tensors_add(&t, name, 1, shape, value), 0);
    assert_int_equal(tensors_add(&t, "y", 0, NULL, value), 0);
    assert_int_equal(tensors_note(&t, name, text), 0);
    name[0] = text[0] = '?';
    shape[0] = 0;
    value[0] = 9;
    const struct tensor *x = tensors_find(&t, "x");
    assert_non_null(x);
    assert_true(x->rank == 1 && x->shape[0] == 2 && x->count == 2);
    assert_true(x->value[0] == 1 && x->value[1] == 2);
    assert_int_equal(tensors_find(&t, "y")->count, 1);
    assert_string_equal(tensors_text(&t, "x"), "one");
    assert_null(tensors_find(&t, "z"));
    tensors_free(&t);
    tensors_free(&t);
    tensors_free(NULL);
    assert_null(t.tensor);
}

static void tensors__refuse_what_is_not_utf8(void **state)
{
    (void)state;
    struct tensors t = {0};
    const double one = 1;
    expect_error(tensors_note(&t, "text", "caf\xe9"), &t,
                 "'caf\\xe9' is not UTF-8 text, so it cannot be kept in a fit");
    expect_error(tensors_note(&t, "\xff", "text"), &t,
                 "'\\xff' is not UTF-8 text, so it cannot be kept in a fit");
    expect_error(tensors_add(&t, "\xc3", 0, NULL, &one), &t,
                 "'\\xc3' is not UTF-8 text, so it cannot be kept in a fit");
}

static void write__reads_back_to_the_bit(void **state)
{
    (void)state;
    struct tensors t = sample(), back;
    assert_int_equal(safetensors_write(&t, FILE_NAME), 0);
    if (safetensors_read(&back, FILE_NAME)) fail_msg("%s", gsv_last_error());
    expect_same(&t, &back);
    tensors_free(&back);
    tensors_free(&t);
    /* Nothing at all is a file, too. */
    assert_int_equal(safetensors_write(&t, FILE_NAME), 0);
    assert_int_equal(safetensors_read(&back, FILE_NAME), 0);
    expect_same(&t, &back);
    tensors_free(&back);
}

static void write__gives_the_format_to_the_byte(void **state)
{
    (void)state;
    static const char HEADER[] =
        "{\"__metadata__\":{\"key\":\"v\"},"
        "\"x\":{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[0,16]},"
        "\"y\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[16,24]}}"
        "      ";
    const double value[] = {1, -2, 3};
    struct tensors t = {0};
    assert_int_equal(tensors_add(&t, "x", 2, (size_t[]){2, 1}, value), 0);
    assert_int_equal(tensors_add(&t, "y", 0, NULL, value + 2), 0);
    assert_int_equal(tensors_note(&t, "key", "v"), 0);
    assert_int_equal(safetensors_write(&t, FILE_NAME), 0);
    tensors_free(&t);
    unsigned char bytes[1000];
    size_t n = get_bytes(bytes, sizeof bytes), length = strlen(HEADER);
    assert_int_equal(length % 8, 0);
    assert_int_equal(n, 8 + length + sizeof value);
    assert_int_equal(bytes[0] + 256 * bytes[1], length);
    assert_memory_equal(bytes + 2, "\0\0\0\0\0\0", 6);
    assert_memory_equal(bytes + 8, HEADER, length);
    assert_memory_equal(bytes + 8 + length, value, sizeof value);
    assert_true(safetensors_begins(bytes, 9));
}

static void begins__tells_a_fit_from_a_text(void **state)
{
    (void)state;
    static const unsigned char GOOD[] = {2, 0, 0, 0, 0, 0, 0, 0, '{'};
    static const char TEXT[] = "state x\n{dx = -x dt + dW\n";
    unsigned char bytes[9];
    assert_true(safetensors_begins(GOOD, 9));
    assert_false(safetensors_begins(GOOD, 8));
    assert_false(safetensors_begins(GOOD, 0));
    assert_false(safetensors_begins((const unsigned char *)TEXT, 9));
    for (size_t i = 0; i < 9; i++) {
        memcpy(bytes, GOOD, 9);
        bytes[i] = i ? 0xff : 1;
        assert_true(safetensors_begins(bytes, 9) == (i == 1));
    }
}

/* --- What is read ------------------------------------------------------- */

static void read__changes_other_dtypes_to_double(void **state)
{
    (void)state;
    static const char HEADER[] =
        "{\"f\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[16,28]},"
        "\"i\":{\"data_offsets\":[28,36],\"shape\":[2,1],\"dtype\":\"I32\"},"
        " \"l\" : {\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16],"
        "\"more\":[{}]}}\n ";
    const int64_t l[] = {-3, INT64_MIN};
    const float f[] = {0.1f, -INFINITY, NAN};
    const int32_t i[] = {INT32_MAX, -7};
    unsigned char data[36];
    memcpy(data, l, 16);
    memcpy(data + 16, f, 12);
    memcpy(data + 28, i, 8);
    struct tensors t;
    if (read_made(&t, HEADER, data, sizeof data))
        fail_msg("%s", gsv_last_error());
    assert_int_equal(t.count, 3);
    assert_int_equal(t.notes, 0);
    const double *x = tensors_find(&t, "l")->value;
    assert_true(x[0] == -3 && x[1] == -0x1p63);
    x = tensors_find(&t, "f")->value;
    assert_true(x[0] == (double)0.1f && x[1] == -INFINITY && isnan(x[2]));
    x = tensors_find(&t, "i")->value;
    assert_true(x[0] == 2147483647 && x[1] == -7);
    assert_string_equal(t.tensor[0].name, "l");
    tensors_free(&t);
}

static void read__takes_empty_tensors_anywhere(void **state)
{
    (void)state;
    static const char HEADER[] =
        "{\"d\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]},"
        "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
        "\"a\":{\"dtype\":\"F64\",\"shape\":[0,5],\"data_offsets\":[0,0]},"
        "\"c\":{\"dtype\":\"F64\",\"shape\":[5,0],\"data_offsets\":[8,8]}}";
    const double value = 4;
    struct tensors t;
    if (read_made(&t, HEADER, &value, 8)) fail_msg("%s", gsv_last_error());
    assert_int_equal(t.count, 4);
    const char *const order[] = {"a", "b", "d", "c"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(t.tensor[i].name, order[i]);
    assert_true(t.tensor[1].value[0] == 4);
    tensors_free(&t);
}

/* --- What is said ------------------------------------------------------- */

#define ONE(info) "{\"a\":{" info "}}"
#define DTYPE "\"dtype\":\"F64\","
#define SHAPE "\"shape\":[2],"
#define OFFSETS "\"data_offsets\":[0,16]"
#define TWO(first, second)                                                     \
    "{\"a\":{" DTYPE SHAPE "\"data_offsets\":" first "},"                      \
    "\"b\":{" DTYPE SHAPE "\"data_offsets\":" second "}}"
#define NO_OFFSETS "tensor 'a' has no data_offsets [begin, end]"
#define ABSURD "tensor 'a' has an axis whose length is too large or not a count"
#define EVERY_BYTE "; every byte must belong to one tensor"

/* There are 16 bytes of data behind every header. */
static const struct {
    const char *header, *message; /* behind "a.fit is not a fit: " */
} CASES[] = {
    {"{}", "it has 26 bytes, but its header describes only 10; copy it again"},
    {"{\"a\":1}", "tensor 'a' has no dtype"},
    {"{\"a\":[]}", "tensor 'a' has no dtype"},
    {"{\"a\":null}", "tensor 'a' has no dtype"},
    {ONE(SHAPE OFFSETS), "tensor 'a' has no dtype"},
    {ONE("\"dtype\":8," SHAPE OFFSETS), "tensor 'a' has no dtype"},
    {ONE("\"dtype\":\"BF16\"," SHAPE OFFSETS),
     "tensor 'a' has dtype BF16, which cannot be read; save it as F64"},
    {ONE("\"dtype\":\"f64\"," SHAPE OFFSETS),
     "tensor 'a' has dtype f64, which cannot be read; save it as F64"},
    {ONE(DTYPE OFFSETS), "tensor 'a' has no shape"},
    {ONE(DTYPE "\"shape\":2," OFFSETS), "tensor 'a' has no shape"},
    {ONE(DTYPE "\"shape\":{}," OFFSETS), "tensor 'a' has no shape"},
    {ONE(DTYPE "\"shape\":[-2]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[-1,-2]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[2.0]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[\"2\"]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[null]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[9223372036854775807]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[4294967296,4294967296]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[2147483648,1073741824,2]," OFFSETS), ABSURD},
    {ONE(DTYPE "\"shape\":[1,1,2,1,1]," OFFSETS),
     "tensor 'a' has 5 axes; at most 4 can be read"},
    {ONE(DTYPE "\"shape\":[2]"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":16"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":[16]"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":[0,8,16]"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":[0,16.0]"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":[-16,0]"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":[\"0\",16]"), NO_OFFSETS},
    {ONE(DTYPE SHAPE "\"data_offsets\":[16,0]"),
     "tensor 'a' has data_offsets that run backwards"},
    {ONE(DTYPE SHAPE "\"data_offsets\":[0,8]"),
     "tensor 'a' takes 16 bytes by its shape and dtype, but 8 by its "
     "data_offsets"},
    {ONE("\"dtype\":\"F32\"," SHAPE OFFSETS),
     "tensor 'a' takes 8 bytes by its shape and dtype, but 16 by its "
     "data_offsets"},
    {ONE(DTYPE "\"shape\":[1000000000000000]," OFFSETS),
     "tensor 'a' takes 8000000000000000 bytes by its shape and dtype, but 16 "
     "by its data_offsets"},
    {ONE(DTYPE SHAPE "\"data_offsets\":[8,24]"),
     "tensor 'a' begins at byte 8 of the data, where byte 0 is "
     "next" EVERY_BYTE},
    {ONE(DTYPE SHAPE "\"data_offsets\":[9223372036854775791,"
                     "9223372036854775807]"),
     "tensor 'a' begins at byte 9223372036854775791 of the data, where byte 0 "
     "is next" EVERY_BYTE},
    {TWO("[0,16]", "[0,16]"), "tensor 'b' begins at byte 0 of the data, where "
                              "byte 16 is next" EVERY_BYTE},
    {TWO("[0,16]", "[8,24]"), "tensor 'b' begins at byte 8 of the data, where "
                              "byte 16 is next" EVERY_BYTE},
    {TWO("[24,40]", "[0,16]"), "tensor 'a' begins at byte 24 of the data, "
                               "where byte 16 is next" EVERY_BYTE},
    {TWO("[16,32]", "[0,16]"),
     "the file is truncated: it has 134 bytes, but its header describes 150; "
     "copy it again"},
    {ONE(DTYPE "\"shape\":[1],\"data_offsets\":[0,8]"),
     "it has 78 bytes, but its header describes only 70; copy it again"},
    {ONE(DTYPE "\"shape\":[1000000000000],\"data_offsets\":[0,8000000000000]"),
     "the file is truncated: it has 102 bytes, but its header describes "
     "8000000000086; copy it again"},
    {"{\"__metadata__\":[],\"a\":{" DTYPE SHAPE OFFSETS "}}",
     "its __metadata__ are not texts"},
    {"{\"__metadata__\":\"x\",\"a\":{" DTYPE SHAPE OFFSETS "}}",
     "its __metadata__ are not texts"},
    {"{\"__metadata__\":{\"k\":\"v\",\"n\":1},\"a\":{" DTYPE SHAPE OFFSETS "}}",
     "'n' in its __metadata__ is not a text"},
};

static void read__says_what_is_wrong_with_a_header(void **state)
{
    (void)state;
    const double data[] = {1, 2};
    struct tensors t;
    int status = read_made(&t, ONE(DTYPE SHAPE OFFSETS), data, 16);
    assert_int_equal(status, 0);
    tensors_free(&t);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char message[512];
        snprintf(message, sizeof message, "a.fit is not a fit: %s",
                 CASES[i].message);
        status = read_made(&t, CASES[i].header, data, 16);
        expect_error(status, &t, message);
    }
}

/* The words behind that are jansson's. */
static void expect_not_json(const char *header, const char *words)
{
    static const char BEGIN[] =
        "a.fit is not a fit: its header is not valid JSON at byte ";
    struct tensors t;
    assert_int_equal(read_made(&t, header, NULL, 0), GSV_BAD_INPUT);
    assert_int_equal(strncmp(gsv_last_error(), BEGIN, strlen(BEGIN)), 0);
    if (!strstr(gsv_last_error(), words)) fail_msg("%s", gsv_last_error());
    assert_null(t.tensor);
}

static void read__says_where_a_header_is_no_json(void **state)
{
    (void)state;
    expect_not_json("{ ", "expected near end of file");
    expect_not_json("{}x", "end of file expected");
    expect_not_json("{\"a\":{\"b\":1,\"b\":1}}", "duplicate object key");
    expect_not_json("{\"__metadata__\":{\"b\":\"\",\"b\":\"\"}}",
                    "duplicate object key");
    expect_not_json("{\"a\":{},\"a\":{}}", "duplicate object key");
    expect_not_json("{\"a\":99999999999999999999}", "too big integer");
    expect_not_json("{\"a\\u0000\":1}", "NUL byte in object key");
    expect_not_json("{\"a\":\"\\u0000\"}", "\\u0000 is not allowed");
    expect_not_json("{\"\xff\":1}", "unable to decode byte 0xff");
    expect_not_json("{\"a\":\"\x01\"}", "control character 0x1");
    char deep[10000] = "{\"a\":";
    memset(deep + 5, '[', sizeof deep - 6);
    expect_not_json(deep, "maximum parsing depth");
}

static int read_start(struct tensors *t, uint64_t length, char ninth)
{
    unsigned char bytes[10];
    size_t n = put_length(bytes, length);
    bytes[n] = (unsigned char)ninth;
    bytes[n + 1] = '}';
    put_bytes(bytes, sizeof bytes);
    return safetensors_read(t, FILE_NAME);
}

static void read__says_what_is_wrong_with_a_file(void **state)
{
    (void)state;
    static const char STRANGE[] =
        "a.fit is not a fit: it does not begin as a safetensors file with a "
        "header of at most 4 MiB does";
    struct tensors t;
    put_bytes("", 0);
    expect_error(safetensors_read(&t, FILE_NAME), &t,
                 "a.fit is not a fit: 0 bytes are too few for a header");
    put_bytes("dx = -x dt + dW", 15);
    expect_error(safetensors_read(&t, FILE_NAME), &t, STRANGE);
    expect_error(read_start(&t, 0, '{'), &t, STRANGE);
    expect_error(read_start(&t, 2, '['), &t, STRANGE);
    expect_error(read_start(&t, UINT64_MAX, '{'), &t, STRANGE);
    expect_error(read_start(&t, 100000001, '{'), &t, STRANGE);
    expect_error(read_start(&t, 1 << 22, '{'), &t,
                 "a.fit is not a fit: the file is truncated: it has 10 bytes, "
                 "but its header alone takes 4194312; copy it again");
    assert_int_equal(read_start(&t, 2, '{'), 0);
    unlink(FILE_NAME);
    expect_error(safetensors_read(&t, FILE_NAME), &t,
                 "cannot open a.fit: No such file or directory");
    assert_int_equal(mkdir(FILE_NAME, 0777), 0);
    int status = safetensors_read(&t, FILE_NAME);
    rmdir(FILE_NAME);
    expect_error(status, &t, "cannot read a.fit: it is not a regular file");
    put_bytes("", 0);
    assert_int_equal(chmod(FILE_NAME, 0), 0);
    if (access(FILE_NAME, R_OK) == 0) return; /* the superuser reads all */
    expect_error(safetensors_read(&t, FILE_NAME), &t,
                 "cannot open a.fit: Permission denied");
}

static void write__says_what_and_why(void **state)
{
    (void)state;
    struct tensors t = sample();
    assert_int_equal(safetensors_write(&t, "no/where.fit"), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(),
                        "cannot write no/where.fit: No such file or directory");
    tensors_free(&t);
    char *text = malloc((1 << 22) + 1);
    assert_non_null(text);
    memset(text, 'x', 1 << 22);
    text[1 << 22] = '\0';
    assert_int_equal(tensors_note(&t, "a", text), 0);
    free(text);
    assert_int_equal(safetensors_write(&t, FILE_NAME), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(),
                        "cannot write a.fit: its names and texts take 4194336 "
                        "bytes, more than the 4194304 that can be read back");
    tensors_free(&t);
}

/* --- What must not be lost, nor crash ----------------------------------- */

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

/* A limit on the size of files stands for a full disk, at every byte of the
 * new file. */
static void write__leaves_the_old_file_when_the_disk_is_full(void **state)
{
    (void)state;
    struct tensors t = sample();
    unsigned char bytes[2000];
    assert_int_equal(safetensors_write(&t, FILE_NAME), 0);
    size_t n = get_bytes(bytes, sizeof bytes);
    put_bytes("old", 3);
    struct rlimit before, tiny;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t limit = 0; limit < n; limit++) {
        tiny = before;
        tiny.rlim_cur = limit;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
        int status = safetensors_write(&t, FILE_NAME);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(status, GSV_BAD_INPUT);
        assert_string_equal(gsv_last_error(),
                            "cannot write a.fit: File too large");
        assert_int_equal(get_bytes(bytes, sizeof bytes), 3);
        assert_int_equal(count_files(), 1);
    }
    signal(SIGXFSZ, handler);
    tensors_free(&t);
}

static void read__notices_every_truncation(void **state)
{
    (void)state;
    struct tensors t = sample(), back;
    unsigned char bytes[2000];
    assert_int_equal(safetensors_write(&t, FILE_NAME), 0);
    tensors_free(&t);
    size_t n = get_bytes(bytes, sizeof bytes - 1);
    for (size_t i = 0; i < n; i++) {
        put_bytes(bytes, i);
        assert_int_equal(safetensors_read(&back, FILE_NAME), GSV_BAD_INPUT);
        assert_non_null(strstr(gsv_last_error(), i < 9 ? "too few for a header"
                                                       : "is truncated"));
    }
    bytes[n] = 0;
    put_bytes(bytes, n + 1);
    assert_int_equal(safetensors_read(&back, FILE_NAME), GSV_BAD_INPUT);
}

/* Reads what may be damaged: an error, or tensors that hold together. */
static void read_damaged(const unsigned char *bytes, size_t n)
{
    struct tensors t;
    put_bytes(bytes, n);
    int status = safetensors_read(&t, FILE_NAME);
    if (status) {
        assert_int_equal(status, GSV_BAD_INPUT);
        assert_null(t.tensor);
        return;
    }
    double sum = 0;
    for (size_t i = 0; i < t.count; i++) {
        size_t count = 1;
        for (size_t j = 0; j < t.tensor[i].rank; j++)
            count *= t.tensor[i].shape[j];
        assert_int_equal(count, t.tensor[i].count);
        for (size_t j = 0; j < count; j++)
            sum += t.tensor[i].value[j];
    }
    assert_true(sum == sum || isnan(sum));
    tensors_free(&t);
}

static void read__survives_damage(void **state)
{
    (void)state;
    struct tensors t = sample();
    unsigned char good[2000], bytes[2000];
    static const unsigned char VALUES[] = {0,   '"', '\\', ',', '{', ']',
                                           '-', '9', 'e',  'u', ' ', 0xff};
    assert_int_equal(safetensors_write(&t, FILE_NAME), 0);
    tensors_free(&t);
    size_t n = get_bytes(good, sizeof good);
    size_t header = 8 + (size_t)good[0] + 256 * (size_t)good[1];
    for (size_t i = 0; i < header; i++)
        for (size_t j = 0; j < sizeof VALUES + 8; j++) {
            memcpy(bytes, good, n);
            if (j < 8) bytes[i] ^= (unsigned char)(1 << j);
            else bytes[i] = VALUES[j - 8];
            read_damaged(bytes, n);
        }
    uint64_t seed = 3;
    for (int round = 0; round < 4000; round++) {
        memcpy(bytes, good, n);
        for (int hits = 2 + round % 3; hits > 0; hits--) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[(seed >> 40) % header] = VALUES[(seed >> 32) % sizeof VALUES];
        }
        read_damaged(bytes, round % 5 ? n : (seed >> 20) % n);
    }
}

static void safetensors__survives_every_failed_allocation(void **state)
{
    (void)state;
    struct tensors t = sample(), back;
    int status = GSV_NO_MEMORY;
    put_bytes("old", 3);
    for (size_t nth = 1; status; nth++) {
        unsigned char bytes[10];
        mem_fail_at(nth);
        status = safetensors_write(&t, FILE_NAME);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        if (status) assert_int_equal(get_bytes(bytes, sizeof bytes), 3);
        assert_true(nth < 1000);
    }
    status = GSV_NO_MEMORY;
    for (size_t nth = 1; status; nth++) {
        mem_fail_at(nth);
        status = safetensors_read(&back, FILE_NAME);
        mem_fail_at(0);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        if (status) assert_null(back.tensor);
        assert_true(nth < 1000);
    }
    expect_same(&t, &back);
    tensors_free(&back);
    tensors_free(&t);
}

static void tensors__survive_every_failed_allocation(void **state)
{
    (void)state;
    enum { MANY = 40 };
    struct tensors t = {0};
    size_t failures = 0;
    for (size_t i = 0; i < MANY; i++) {
        char name[20];
        const double value = (double)i;
        snprintf(name, sizeof name, "n%zu", i);
        int status = GSV_NO_MEMORY;
        for (size_t nth = 1; status; nth++, failures++) {
            mem_fail_at(nth);
            status = tensors_add(&t, name, 0, NULL, &value);
        }
        status = GSV_NO_MEMORY;
        for (size_t nth = 1; status; nth++, failures++) {
            mem_fail_at(nth);
            status = tensors_note(&t, name, name);
        }
    }
    mem_fail_at(0);
    assert_true(failures > 4 * MANY);
    assert_int_equal(t.count, MANY);
    assert_int_equal(t.notes, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_true(t.tensor[i].value[0] == (double)i);
    tensors_free(&t);
}

/* jansson has an allocator of its own. */
static size_t json_fail_in;

static void *json_malloc_or_not(size_t n)
{
    return json_fail_in && --json_fail_in == 0 ? NULL : malloc(n);
}

/* No file may lack what jansson had no memory for. Reading is another matter:
 * there jansson itself goes on without a character that did not fit, so that
 * all to ask for is that nothing crashes or leaks. */
static void safetensors__survives_every_failed_allocation_of_json(void **state)
{
    (void)state;
    struct tensors t = sample(), back;
    int status = GSV_NO_MEMORY;
    json_set_alloc_funcs(json_malloc_or_not, free);
    for (size_t nth = 1; status; nth++) {
        json_fail_in = nth;
        status = safetensors_write(&t, FILE_NAME);
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        assert_true(nth < 10000);
    }
    bool fired = true;
    for (size_t nth = 1; fired; nth++) {
        json_fail_in = nth;
        status = safetensors_read(&back, FILE_NAME);
        fired = json_fail_in == 0;
        if (fired) tensors_free(&back);
    }
    json_fail_in = 0;
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(status, 0);
    expect_same(&t, &back);
    tensors_free(&back);
    tensors_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors__are_copied_and_found),
        cmocka_unit_test(tensors__refuse_what_is_not_utf8),
        cmocka_unit_test(write__reads_back_to_the_bit),
        cmocka_unit_test(write__gives_the_format_to_the_byte),
        cmocka_unit_test(begins__tells_a_fit_from_a_text),
        cmocka_unit_test(read__changes_other_dtypes_to_double),
        cmocka_unit_test(read__takes_empty_tensors_anywhere),
        cmocka_unit_test(read__says_what_is_wrong_with_a_header),
        cmocka_unit_test(read__says_where_a_header_is_no_json),
        cmocka_unit_test(read__says_what_is_wrong_with_a_file),
        cmocka_unit_test(write__says_what_and_why),
        cmocka_unit_test(write__leaves_the_old_file_when_the_disk_is_full),
        cmocka_unit_test(read__notices_every_truncation),
        cmocka_unit_test(read__survives_damage),
        cmocka_unit_test(safetensors__survives_every_failed_allocation),
        cmocka_unit_test(tensors__survive_every_failed_allocation),
        cmocka_unit_test(safetensors__survives_every_failed_allocation_of_json),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
