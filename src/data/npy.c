/* SPDX-License-Identifier: MIT */
/* The .npy format, versions 1 to 3: a magic word, a Python dictionary as text,
 * the numbers. Nothing is allocated before the file is known to be as long as
 * its header says. */
#include "data/npy.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/builder.h"
#include "data/byte_order.h"
#include "data/file.h"
#include "data/phrase.h"

enum { LONGEST_HEADER = 1 << 16, MOST_AXES = 3 };

struct npy {
    const char *path;
    FILE *file;
    size_t left; /* bytes of the file that were not read yet    */
    char *header;
    const struct number_type *dtype;
    bool swapped; /* most significant byte first                 */
    bool fortran; /* first axis fastest                          */
    size_t axes, shape[MOST_AXES];
    unsigned char *raw;
    struct paged room; /* that raw is in, if the builder is in a file */
    struct series_builder builder;
};

/* --- Numbers ------------------------------------------------------------ */

/* Reverses the bytes of every element. */
static void swap_bytes(unsigned char *raw, size_t bytes, size_t size)
{
    for (unsigned char *p = raw; p < raw + bytes; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char c = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = c;
        }
}

/* --- Header ------------------------------------------------------------- */

static int damaged(const struct npy *a, const char *at)
{
    return fail(GSV_BAD_INPUT, "%s: the .npy header is damaged near '%s'",
                a->path, phrase_name(at).text);
}

/* Reads n bytes that the file is known to have. */
static int take_bytes(struct npy *a, void *to, size_t n)
{
    int status = file_take(a->file, a->path, to, n);
    if (status) return status;
    a->left -= n;
    return 0;
}

/* The magic word, the version and the length of the header. */
static int read_start(struct npy *a, size_t *length)
{
    unsigned char start[12];
    static const unsigned char MAGIC[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (a->left < sizeof start)
        return fail(GSV_BAD_INPUT, "%s: %zu bytes are too few for a .npy file",
                    a->path, a->left);
    int status = take_bytes(a, start, 10);
    if (status) return status;
    if (memcmp(start, MAGIC, sizeof MAGIC) != 0)
        return fail(GSV_BAD_INPUT,
                    "%s: this is not a .npy file; save it with numpy.save",
                    a->path);
    if (start[6] < 1 || start[6] > 3)
        return fail(GSV_BAD_INPUT,
                    "%s: version %d.%d of the .npy format is unknown", a->path,
                    start[6], start[7]);
    size_t more = start[6] == 1 ? 0 : 2; /* bytes of the length */
    status = take_bytes(a, start + 10, more);
    *length = (size_t)le_uint(start + 8, 2 + more);
    return status;
}

static int read_header(struct npy *a)
{
    size_t length = 0;
    int status = read_start(a, &length);
    if (status) return status;
    if (length > LONGEST_HEADER || length > a->left)
        return fail(GSV_BAD_INPUT,
                    "%s: the .npy header of %zu bytes is too long, or the file "
                    "is truncated",
                    a->path, length);
    a->header = mem_new(length + 1, 1);
    return a->header ? take_bytes(a, a->header, length) : GSV_NO_MEMORY;
}

/* The parsers below move p on and say whether they found what they look for. */

static bool take(const char **p, const char *token)
{
    *p += strspn(*p, " \t\r\n");
    size_t n = strlen(token);
    if (strncmp(*p, token, n) != 0) return false;
    *p += n;
    return true;
}

/* An overflow gives the greatest count: too much for any file. */
static bool take_count(const char **p, size_t *count)
{
    *p += strspn(*p, " ");
    size_t digits = strspn(*p, "0123456789");
    *count = 0;
    for (const char *end = *p + digits; *p < end; ++*p)
        if (__builtin_mul_overflow(*count, 10, count) ||
            __builtin_add_overflow(*count, (size_t)(**p - '0'), count))
            *count = SIZE_MAX;
    return digits > 0;
}

static bool take_shape(const char **p, struct npy *a)
{
    if (!take(p, "(")) return false;
    a->axes = 0;
    while (!take(p, ")")) {
        size_t count;
        if (!take_count(p, &count)) return false;
        if (a->axes < MOST_AXES) a->shape[a->axes] = count;
        a->axes++;
        if (!take(p, ",")) return take(p, ")");
    }
    return true;
}

static bool take_order(const char **p, struct npy *a)
{
    a->fortran = take(p, "True");
    return a->fortran || take(p, "False");
}

static int bad_dtype(const struct npy *a, const char *descr, size_t n)
{
    return fail(GSV_BAD_INPUT,
                "%s: numbers of type %s cannot be read; save the array with "
                ".astype('<f8')",
                a->path, phrase_excerpt(descr, n).text);
}

/* '<f8' and the like, where '<' or '>' gives the byte order; a list of fields
 * or Python objects are no numbers. */
static int take_dtype(const char **p, struct npy *a)
{
    if (take(p, "[")) return bad_dtype(a, *p - 1, strcspn(*p, "]") + 2);
    const char *descr = *p;
    if (!take(p, "'")) return damaged(a, descr);
    size_t n = strcspn(*p, "'");
    *p += n;
    if (!take(p, "'")) return damaged(a, descr);
    a->swapped = descr[1] == '>';
    if (n != 3 || (descr[1] != '<' && descr[1] != '>'))
        return bad_dtype(a, descr, n + 2);
    for (size_t i = 0; i < NUMBER_TYPES; i++)
        if (strncmp(descr + 2, NUMBER_TYPE[i].npy, 2) == 0)
            a->dtype = &NUMBER_TYPE[i];
    return a->dtype ? 0 : bad_dtype(a, descr, n + 2);
}

static int parse_header(struct npy *a)
{
    assert(a->header);
    const char *p = a->header;
    bool shape = false, order = false;
    if (!take(&p, "{")) return damaged(a, p);
    while (!take(&p, "}")) {
        if (take(&p, "'descr':")) {
            int status = take_dtype(&p, a);
            if (status) return status;
        } else if (take(&p, "'fortran_order':")) {
            order = take_order(&p, a);
        } else if (take(&p, "'shape':")) {
            shape = take_shape(&p, a);
        } else {
            return damaged(a, p);
        }
        if (!take(&p, ",") && *p != '}') return damaged(a, p);
    }
    return a->dtype && shape && order ? 0 : damaged(a, a->header);
}

/* --- Array -------------------------------------------------------------- */

static size_t rows_of(const struct npy *a)
{
    return a->shape[a->axes - 2];
}

static size_t tracks_of(const struct npy *a)
{
    return a->axes == 3 ? a->shape[0] : 1;
}

static size_t width_of(const struct npy *a)
{
    return a->shape[a->axes - 1];
}

static int check_shape(const struct npy *a, size_t columns,
                       const char *const *name)
{
    if (a->axes != 2 && a->axes != 3)
        return fail(GSV_BAD_INPUT,
                    "%s: the array has %zu %s; it must be (rows, 1 + n) "
                    "or (tracks, rows, 1 + n), time first",
                    a->path, a->axes, a->axes == 1 ? "axis" : "axes");
    if (!tracks_of(a) || !rows_of(a))
        return fail(GSV_BAD_INPUT, "%s: the array has no rows", a->path);
    size_t width = width_of(a);
    if (!name && width < 2)
        return fail(GSV_BAD_INPUT,
                    "%s: the last axis is %zu long; it must hold the time and "
                    "at least one value",
                    a->path, width);
    if (name && width != columns + 1)
        return fail(GSV_BAD_INPUT,
                    "%s: the last axis is %zu long, but the time and %zu "
                    "column%s were requested: %s",
                    a->path, width, columns, columns == 1 ? "" : "s",
                    phrase_list(columns, name).text);
    return 0;
}

static int make_room(struct npy *a, size_t bytes)
{
    if (a->builder.in_file) {
        int status = paged_new(&a->room, bytes, NULL);
        a->raw = a->room.data;
        return status;
    }
    a->raw = mem_new(bytes, 1);
    return a->raw ? 0 : GSV_NO_MEMORY;
}

static int read_array(struct npy *a)
{
    assert(a->dtype);
    size_t bytes = a->dtype->size;
    bool absurd = false;
    for (size_t i = 0; i < a->axes; i++)
        absurd = __builtin_mul_overflow(bytes, a->shape[i], &bytes) || absurd;
    if (absurd)
        return fail(GSV_BAD_INPUT, "%s: the shape in the header is too large",
                    a->path);
    if (bytes != a->left)
        return fail(GSV_BAD_INPUT,
                    "%s: the header announces %zu bytes of numbers, but the "
                    "file has %zu; was it truncated?",
                    a->path, bytes, a->left);
    int status = make_room(a, bytes);
    if (!status) status = take_bytes(a, a->raw, bytes);
    if (!status && a->swapped) swap_bytes(a->raw, bytes, a->dtype->size);
    return status;
}

static double element(const struct npy *a, size_t track, size_t row, size_t i)
{
    size_t at = a->fortran ? track + tracks_of(a) * (row + rows_of(a) * i)
                           : i + width_of(a) * (row + rows_of(a) * track);
    return a->dtype->load(a->raw + at * a->dtype->size);
}

static int add_track(struct npy *a, size_t t, double *value)
{
    size_t track;
    int status = builder_next(&a->builder, &track);
    for (size_t row = 0; row < rows_of(a) && !status; row++) {
        for (size_t i = 1; i < width_of(a); i++)
            value[i - 1] = element(a, t, row, i);
        status =
            builder_add(&a->builder, track, element(a, t, row, 0), value, 0);
    }
    return status;
}

static int add_tracks(struct npy *a)
{
    int status = 0;
    double *value = NEW(double, width_of(a));
    if (!value) return GSV_NO_MEMORY;
    for (size_t t = 0; t < tracks_of(a) && !status; t++)
        status = add_track(a, t, value);
    mem_free(value);
    return status;
}

static int read_all(struct npy *a, size_t columns, const char *const *name)
{
    a->file = file_open(a->path, &a->left);
    if (!a->file) return GSV_BAD_INPUT;
    int status = read_header(a);
    if (!status) status = parse_header(a);
    if (!status) status = check_shape(a, columns, name);
    if (!status) status = read_array(a);
    if (!status) status = builder_names(&a->builder, width_of(a) - 1, name);
    return status ? status : add_tracks(a);
}

gsv_series *npy_read(const struct series_request *wanted)
{
    struct npy a = {.path = wanted->path,
                    .builder = {.source = wanted->path,
                                .remedy = "times must increase within a track",
                                .in_file = wanted->in_file}};
    gsv_series *s = NULL;
    if (wanted->time || wanted->series)
        return fail_null(
            GSV_BAD_INPUT,
            "%s: a .npy file has no column names, so the columns of time and "
            "series cannot be chosen; the first column is the time",
            wanted->path);
    if (!read_all(&a, wanted->columns, wanted->name))
        s = builder_finish(&a.builder, "");
    builder_free(&a.builder);
    if (!a.room.data) mem_free(a.raw);
    paged_free(&a.room);
    mem_free(a.header);
    if (a.file) fclose(a.file);
    return s;
}
