/* SPDX-License-Identifier: MIT */
/* The format is https://github.com/huggingface/safetensors: each tensor has in
 * the header {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]},
 * bytes counted from the header's end, and every byte belongs to one tensor;
 * "__metadata__" maps keys to texts. No value is allocated before the file is
 * known to be as long as its header says. */
#include "data/safetensors.h"

#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/byte_order.h"
#include "data/file.h"
#include "data/phrase.h"

/* JSON can take 75 times the memory of its text, as {},{},... does: this also
 * bounds what a hostile file costs. */
enum { LONGEST_HEADER = 1 << 22, PREFIX = 8 };

static const char *const METADATA = "__metadata__";

/* --- Tensors and texts -------------------------------------------------- */

void tensors_free(struct tensors *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->count; i++) {
        mem_free(t->tensor[i].name);
        mem_free(t->tensor[i].value);
    }
    for (size_t i = 0; i < t->notes; i++) {
        mem_free(t->note[i].key);
        mem_free(t->note[i].text);
    }
    mem_free(t->tensor);
    mem_free(t->note);
    *t = (struct tensors){0};
}

/* Adds a tensor of zeros. */
static struct tensor *push_tensor(struct tensors *t, const char *name,
                                  size_t rank, const size_t *shape)
{
    if (MEM_ROOM(t->tensor, t->count, t->capacity)) return NULL;
    struct tensor x = {.rank = rank, .count = 1};
    for (size_t i = 0; i < rank; i++) {
        x.shape[i] = shape[i];
        x.count *= shape[i];
    }
    x.name = mem_string(name);
    x.value = x.name ? NEW(double, x.count) : NULL;
    if (!x.value) {
        mem_free(x.name);
        return NULL;
    }
    t->tensor[t->count] = x;
    return &t->tensor[t->count++];
}

static int push_note(struct tensors *t, const char *key, const char *text)
{
    int status = MEM_ROOM(t->note, t->notes, t->note_capacity);
    if (status) return status;
    struct note n = {.key = mem_string(key)};
    n.text = n.key ? mem_string(text) : NULL;
    if (!n.text) {
        mem_free(n.key);
        return GSV_NO_MEMORY;
    }
    t->note[t->notes++] = n;
    return 0;
}

/* What is not UTF-8 could be written but not be read back. */
static int check_text(const char *text)
{
    json_t *string = json_string(text);
    if (!string)
        return fail(GSV_BAD_INPUT,
                    "'%s' is not UTF-8 text, so it cannot be kept in a fit",
                    phrase_name(text).text);
    json_decref(string);
    return 0;
}

int tensors_add(struct tensors *t, const char *name, size_t rank,
                const size_t *shape, const double *value)
{
    assert(rank <= TENSOR_RANKS && strcmp(name, METADATA) != 0);
    assert(!tensors_find(t, name));
    int status = check_text(name);
    if (status) return status;
    struct tensor *x = push_tensor(t, name, rank, shape);
    if (!x) return GSV_NO_MEMORY;
    if (x->count) memcpy(x->value, value, x->count * sizeof *value);
    return 0;
}

int tensors_note(struct tensors *t, const char *key, const char *text)
{
    assert(!tensors_text(t, key));
    int status = check_text(key);
    if (!status) status = check_text(text);
    return status ? status : push_note(t, key, text);
}

const struct tensor *tensors_find(const struct tensors *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->tensor[i].name, name) == 0) return &t->tensor[i];
    return NULL;
}

const char *tensors_text(const struct tensors *t, const char *key)
{
    for (size_t i = 0; i < t->notes; i++)
        if (strcmp(t->note[i].key, key) == 0) return t->note[i].text;
    return NULL;
}

/* --- Writing ------------------------------------------------------------ */

/* The builders below return NULL when memory ran out: texts were checked. A
 * set or append of NULL fails, so that one look at the end is enough. */

static json_t *made(json_t *json, int failed)
{
    if (!failed) return json;
    json_decref(json);
    return NULL;
}

static json_t *tensor_json(const struct tensor *x, size_t begin)
{
    int failed = 0;
    json_t *shape = json_array();
    for (size_t i = 0; i < x->rank; i++)
        failed |=
            json_array_append_new(shape, json_integer((json_int_t)x->shape[i]));
    size_t end = begin + x->count * sizeof *x->value;
    json_t *json =
        json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F64", "shape", shape,
                  "data_offsets", (json_int_t)begin, (json_int_t)end);
    return made(json, failed);
}

static json_t *notes_json(const struct tensors *t)
{
    int failed = 0;
    json_t *json = json_object();
    for (size_t i = 0; i < t->notes; i++)
        failed |= json_object_set_new(json, t->note[i].key,
                                      json_string(t->note[i].text));
    return made(json, failed);
}

static json_t *header_json(const struct tensors *t)
{
    int failed = 0;
    size_t begin = 0;
    json_t *json = json_object();
    if (t->notes) failed |= json_object_set_new(json, METADATA, notes_json(t));
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *x = &t->tensor[i];
        failed |= json_object_set_new(json, x->name, tensor_json(x, begin));
        begin += x->count * sizeof *x->value;
    }
    return made(json, failed);
}

struct content {
    const struct tensors *tensors;
    char *header;
    size_t length, capacity;
    bool failed;
};

/* Remembers a failure: jansson goes on without a key that got lost. */
static int append(const char *text, size_t n, void *content)
{
    struct content *c = content;
    for (size_t i = 0; i < n && !c->failed; i++) {
        c->failed = MEM_ROOM(c->header, c->length, c->capacity) != 0;
        if (!c->failed) c->header[c->length++] = text[i];
    }
    return c->failed ? -1 : 0;
}

/* Spaces after the header let the numbers begin at a multiple of 8 bytes, so
 * that a program may map the file and use them in place. */
static int make_header(struct content *c)
{
    json_t *json = header_json(c->tensors);
    int failed = json ? json_dump_callback(json, append, c, JSON_COMPACT) : -1;
    json_decref(json);
    while (!failed && c->length % 8)
        failed = append(" ", 1, c);
    return failed || c->failed
               ? fail(GSV_NO_MEMORY, "out of memory for the header of a fit")
               : 0;
}

static void put_content(const void *context, FILE *out)
{
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                   "numbers are written as they are in memory");
    const struct content *c = context;
    uint64_t length = c->length;
    fwrite(&length, PREFIX, 1, out);
    fwrite(c->header, 1, c->length, out);
    for (size_t i = 0; i < c->tensors->count && !ferror(out); i++) {
        const struct tensor *x = &c->tensors->tensor[i];
        fwrite(x->value, sizeof *x->value, x->count, out);
    }
}

int safetensors_write(const struct tensors *t, const char *path)
{
    struct content c = {.tensors = t};
    int status = make_header(&c);
    if (!status && c.length > LONGEST_HEADER)
        status = fail(GSV_BAD_INPUT,
                      "cannot write %s: its names and texts take %zu bytes, "
                      "more than the %d that can be read back",
                      path, c.length, LONGEST_HEADER);
    if (!status) status = file_write(path, put_content, &c);
    mem_free(c.header);
    return status;
}

/* --- Reading ------------------------------------------------------------ */

/* What the header says of a tensor. */
struct entry {
    const char *name; /* borrowed from the JSON          */
    const struct number_type *dtype;
    size_t rank, shape[TENSOR_RANKS];
    size_t begin, end; /* bytes, from the header's end    */
    size_t place;      /* in the header                   */
};

struct reader {
    const char *path;
    FILE *file;
    size_t size; /* of the file              */
    size_t data; /* where the header ends    */
    json_t *json;
    struct entry *entry; /* (entries)                */
    size_t entries;
};

bool safetensors_begins(const unsigned char *bytes, size_t n)
{
    if (n <= PREFIX || bytes[PREFIX] != '{') return false;
    uint64_t length = le_uint(bytes, PREFIX);
    return length >= strlen("{}") && length <= LONGEST_HEADER;
}

static int parse(struct reader *r, const char *header, size_t length)
{
    json_error_t error = {0};
    r->json = json_loadb(header, length, JSON_REJECT_DUPLICATES, &error);
    if (r->json) return 0;
    if (!*error.text) /* whatever is wrong with a text has a name */
        return fail(GSV_NO_MEMORY, "out of memory for the header of %s",
                    r->path);
    return fail(GSV_BAD_INPUT,
                "%s is not a fit: its header is not valid JSON at byte %d: %s",
                r->path, error.position, phrase_name(error.text).text);
}

static int read_header(struct reader *r)
{
    unsigned char start[PREFIX + 1];
    if (r->size < sizeof start)
        return fail(GSV_BAD_INPUT,
                    "%s is not a fit: %zu bytes are too few for a header",
                    r->path, r->size);
    int status = file_take(r->file, r->path, start, sizeof start);
    if (status) return status;
    if (!safetensors_begins(start, sizeof start))
        return fail(GSV_BAD_INPUT,
                    "%s is not a fit: it does not begin as a safetensors file "
                    "with a header of at most %d MiB does",
                    r->path, LONGEST_HEADER >> 20);
    size_t length = (size_t)le_uint(start, PREFIX);
    r->data = PREFIX + length;
    if (r->size < r->data)
        return fail(GSV_BAD_INPUT,
                    "%s is not a fit: the file is truncated: it has %zu bytes, "
                    "but its header alone takes %zu; copy it again",
                    r->path, r->size, r->data);
    char *header = mem_new(length, 1);
    if (!header) return GSV_NO_MEMORY;
    header[0] = (char)start[PREFIX];
    status = file_take(r->file, r->path, header + 1, length - 1);
    if (!status) status = parse(r, header, length);
    mem_free(header);
    return status;
}

static int bad_tensor(const struct reader *r, const char *name,
                      const char *what)
{
    return fail(GSV_BAD_INPUT, "%s is not a fit: tensor '%s' %s", r->path,
                phrase_name(name).text, what);
}

static bool take_count(const json_t *json, size_t *count)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0) return false;
    *count = (size_t)json_integer_value(json);
    return true;
}

static int take_dtype(const struct reader *r, const json_t *info,
                      struct entry *e)
{
    const char *name = json_string_value(json_object_get(info, "dtype"));
    if (!name) return bad_tensor(r, e->name, "has no dtype");
    for (size_t i = 0; i < NUMBER_TYPES; i++)
        if (strcmp(name, NUMBER_TYPE[i].safetensors) == 0)
            e->dtype = &NUMBER_TYPE[i];
    if (e->dtype) return 0;
    return fail(GSV_BAD_INPUT,
                "%s is not a fit: tensor '%s' has dtype %s, which cannot be "
                "read; save it as F64",
                r->path, phrase_name(e->name).text, phrase_name(name).text);
}

/* Also gives the bytes that the elements take. */
static int take_shape(const struct reader *r, const json_t *info,
                      struct entry *e, size_t *bytes)
{
    const json_t *shape = json_object_get(info, "shape");
    if (!json_is_array(shape)) return bad_tensor(r, e->name, "has no shape");
    e->rank = json_array_size(shape);
    if (e->rank > TENSOR_RANKS)
        return fail(GSV_BAD_INPUT,
                    "%s is not a fit: tensor '%s' has %zu axes; at most %d can "
                    "be read",
                    r->path, phrase_name(e->name).text, e->rank, TENSOR_RANKS);
    *bytes = e->dtype->size;
    for (size_t i = 0; i < e->rank; i++)
        if (!take_count(json_array_get(shape, i), &e->shape[i]) ||
            __builtin_mul_overflow(*bytes, e->shape[i], bytes))
            return bad_tensor(
                r, e->name,
                "has an axis whose length is too large or not a count");
    return 0;
}

static int take_offsets(const struct reader *r, const json_t *info,
                        struct entry *e)
{
    const json_t *offsets = json_object_get(info, "data_offsets");
    if (json_array_size(offsets) != 2 ||
        !take_count(json_array_get(offsets, 0), &e->begin) ||
        !take_count(json_array_get(offsets, 1), &e->end))
        return bad_tensor(r, e->name, "has no data_offsets [begin, end]");
    if (e->begin > e->end)
        return bad_tensor(r, e->name, "has data_offsets that run backwards");
    return 0;
}

static int take_entry(const struct reader *r, const json_t *info,
                      struct entry *e)
{
    size_t bytes = 0;
    int status = take_dtype(r, info, e);
    if (!status) status = take_shape(r, info, e, &bytes);
    if (!status) status = take_offsets(r, info, e);
    if (status || e->end - e->begin == bytes) return status;
    return fail(GSV_BAD_INPUT,
                "%s is not a fit: tensor '%s' takes %zu bytes by its shape and "
                "dtype, but %zu by its data_offsets",
                r->path, phrase_name(e->name).text, bytes, e->end - e->begin);
}

static int take_entries(struct reader *r)
{
    const char *name;
    json_t *info;
    r->entry = NEW(struct entry, json_object_size(r->json));
    if (!r->entry) return GSV_NO_MEMORY;
    json_object_foreach(r->json, name, info)
    {
        if (strcmp(name, METADATA) == 0) continue;
        struct entry *e = &r->entry[r->entries];
        *e = (struct entry){.name = name, .place = r->entries++};
        int status = take_entry(r, info, e);
        if (status) return status;
    }
    return 0;
}

static int in_order(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

/* Empty tensors stand before the one that begins where they are. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = in_order(a->begin, b->begin);
    if (!order) order = in_order(a->end, b->end);
    return order ? order : in_order(a->place, b->place);
}

/* Puts the entries in the order of their data, which must have neither holes
 * nor overlaps nor a rest. */
static int check_cover(struct reader *r)
{
    size_t end = 0;
    qsort(r->entry, r->entries, sizeof *r->entry, compare_entries);
    for (size_t i = 0; i < r->entries; i++) {
        const struct entry *e = &r->entry[i];
        if (e->begin != end)
            return fail(GSV_BAD_INPUT,
                        "%s is not a fit: tensor '%s' begins at byte %zu of "
                        "the data, where byte %zu is next; every byte must "
                        "belong to one tensor",
                        r->path, phrase_name(e->name).text, e->begin, end);
        end = e->end;
    }
    size_t size = r->data + end;
    if (r->size < size)
        return fail(GSV_BAD_INPUT,
                    "%s is not a fit: the file is truncated: it has %zu bytes, "
                    "but its header describes %zu; copy it again",
                    r->path, r->size, size);
    if (r->size > size)
        return fail(GSV_BAD_INPUT,
                    "%s is not a fit: it has %zu bytes, but its header "
                    "describes only %zu; copy it again",
                    r->path, r->size, size);
    return 0;
}

static int take_notes(const struct reader *r, struct tensors *t)
{
    const char *key;
    json_t *text;
    json_t *notes = json_object_get(r->json, METADATA);
    if (notes && !json_is_object(notes))
        return fail(GSV_BAD_INPUT, "%s is not a fit: its %s are not texts",
                    r->path, METADATA);
    json_object_foreach(notes, key, text)
    {
        if (!json_is_string(text))
            return fail(GSV_BAD_INPUT,
                        "%s is not a fit: '%s' in its %s is not a text",
                        r->path, phrase_name(key).text, METADATA);
        int status = push_note(t, key, json_string_value(text));
        if (status) return status;
    }
    return 0;
}

/* The numbers are read into the end of their room: changed into doubles from
 * the first to the last, none is overwritten before its turn. */
static int read_values(const struct reader *r, const struct number_type *dtype,
                       struct tensor *x)
{
    size_t shift = x->count * (sizeof *x->value - dtype->size);
    unsigned char *raw = (unsigned char *)x->value + shift;
    int status = file_take(r->file, r->path, raw, x->count * dtype->size);
    for (size_t i = 0; i < x->count && !status; i++)
        x->value[i] = dtype->load(raw + i * dtype->size);
    return status;
}

static int read_tensors(const struct reader *r, struct tensors *t)
{
    int status = 0;
    for (size_t i = 0; i < r->entries && !status; i++) {
        const struct entry *e = &r->entry[i];
        struct tensor *x = push_tensor(t, e->name, e->rank, e->shape);
        status = x ? read_values(r, e->dtype, x) : GSV_NO_MEMORY;
    }
    return status;
}

int safetensors_take(struct tensors *t, const char *path, FILE *file,
                     size_t size)
{
    struct reader r = {.path = path, .file = file, .size = size};
    *t = (struct tensors){0};
    int status = read_header(&r);
    if (!status) status = take_entries(&r);
    if (!status) status = check_cover(&r);
    if (!status) status = take_notes(&r, t);
    if (!status) status = read_tensors(&r, t);
    if (status) tensors_free(t);
    mem_free(r.entry);
    json_decref(r.json);
    return status;
}

int safetensors_read(struct tensors *t, const char *path)
{
    size_t size;
    *t = (struct tensors){0};
    FILE *file = file_open(path, &size);
    if (!file) return GSV_BAD_INPUT;
    int status = safetensors_take(t, path, file, size);
    fclose(file);
    return status;
}
