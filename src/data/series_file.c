/* SPDX-License-Identifier: MIT */
/* A file is its head, then the arrays of the head, each in the size that the
 * head gives, then the texts, one after another. */
#include "data/series_file.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/paged.h"
#include "data/series.h"

struct head {
    size_t rows, columns, tracks, words;
};

/* What gsv_series.file is. */
struct series_file {
    struct paged paged;
    int file; /* open for others, or -1 */
};

/* --- Layout ------------------------------------------------------------- */

/* The next n numbers of 8 bytes. */
static void *take(char **at, size_t n)
{
    void *array = *at;
    *at += n * sizeof(double);
    return array;
}

static char *take_text(char **at)
{
    char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

/* Arrays and texts of a series are where they lie in its file. */
static void lay(gsv_series *s, char *at)
{
    s->start = take(&at, s->tracks + 1);
    s->time = take(&at, s->rows);
    s->line = take(&at, s->rows);
    s->value = take(&at, s->rows * s->columns);
    s->source = take_text(&at);
    s->note = take_text(&at);
    for (size_t i = 0; i < s->columns; i++)
        s->name[i] = take_text(&at);
    for (size_t i = 0; i < s->tracks; i++)
        s->label[i] = take_text(&at);
    for (size_t i = 0; i < s->words; i++)
        s->word[i] = take_text(&at);
}

static size_t numbers_size(const struct head *h)
{
    size_t numbers = h->tracks + 1 + h->rows * (2 + h->columns);
    return sizeof *h + numbers * sizeof(double);
}

/* The series of a file with its head and texts; f is taken. */
static gsv_series *open_file(struct series_file *f)
{
    const struct head *h = f->paged.data;
    gsv_series *s = NEW(gsv_series, 1);
    if (!s) return NULL;
    *s = (gsv_series){.rows = h->rows,
                      .columns = h->columns,
                      .tracks = h->tracks,
                      .words = h->words,
                      .file = f,
                      .name = NEW(char *, h->columns),
                      .label = NEW(char *, h->tracks),
                      .word = NEW(char *, h->words)};
    if (s->name && s->label && s->word) {
        lay(s, (char *)f->paged.data + sizeof *h);
        return s;
    }
    MEM_FREE(s->name, s->label, s->word, s);
    return NULL;
}

static void file_free(struct series_file *f)
{
    if (f->file >= 0) close(f->file);
    paged_free(&f->paged);
    mem_free(f);
}

void series_file_free(gsv_series *s)
{
    file_free(s->file);
    MEM_FREE(s->name, s->label, s->word, s);
}

/* --- Making ------------------------------------------------------------- */

/* Adds up, and copies where there is room. */
static size_t put_text(char *to, size_t at, const char *text)
{
    size_t n = strlen(text) + 1;
    if (to) memcpy(to + at, text, n);
    return at + n;
}

static size_t put_texts(char *to, const struct series_builder *b,
                        const char *note)
{
    const struct words *list[] = {&b->name, &b->label, &b->word};
    size_t at = put_text(to, put_text(to, 0, b->source), note);
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        for (size_t i = 0; i < list[k]->count; i++)
            at = put_text(to, at, list[k]->text[i]);
    return at;
}

gsv_series *series_file_new(const struct series_builder *b, const char *note)
{
    const struct head head = {b->rows, b->name.count, b->label.count,
                              b->word.count};
    size_t texts = put_texts(NULL, b, note);
    struct series_file *f = NEW(struct series_file, 1);
    if (!f) return NULL;
    f->file = -1;
    gsv_series *s = NULL;
    if (!paged_new(&f->paged, numbers_size(&head) + texts, &f->file)) {
        char *data = f->paged.data;
        memcpy(data, &head, sizeof head);
        put_texts(data + numbers_size(&head), b, note);
        s = open_file(f);
    }
    if (!s) file_free(f);
    return s;
}

/* --- Using -------------------------------------------------------------- */

enum { REST_ROWS = 1 << 16 };

void series_rest(const gsv_series *s)
{
    const struct series_file *f = s->file;
    if (f) paged_rest(&f->paged);
}

void series_passed(const gsv_series *s, size_t row)
{
    if (row % REST_ROWS == REST_ROWS - 1) series_rest(s);
}

/* --- Sharing ------------------------------------------------------------ */

/* What a rank must know to open another one's file. */
enum { PROCESS, FILE_NUMBER, TICKET };

static gsv_series *open_ticket(const double ticket[TICKET])
{
    struct series_file *f = NEW(struct series_file, 1);
    if (!f) return NULL;
    f->file = -1;
    gsv_series *s = NULL;
    if (!paged_open(&f->paged, (long)ticket[PROCESS], (int)ticket[FILE_NUMBER]))
        s = open_file(f);
    if (!s) file_free(f);
    return s;
}

/* To the other ranks on this one's machine, all of which open it. */
static void hand_out(gsv_ranks *r, const size_t *host, const gsv_series *s)
{
    assert(s);
    const struct series_file *f = s->file;
    const double ticket[TICKET] = {getpid(), f->file};
    for (size_t i = 0; i < r->count; i++)
        if (i != r->rank && host[i] == r->rank) comm_send(r, i, TICKET, ticket);
}

/* A rank that may not look into another one's process, as in containers, has
 * its own copy. */
static gsv_series *fetch(gsv_ranks *r, size_t from,
                         const struct series_request *wanted)
{
    double ticket[TICKET];
    comm_receive(r, from, TICKET, ticket);
    gsv_series *s = open_ticket(ticket);
    return s ? s : series_read(wanted);
}

static int share(gsv_ranks *r, const struct series_request *wanted,
                 size_t *host, gsv_series **s)
{
    int status = comm_same(r, host ? 0 : GSV_NO_MEMORY);
    if (status) return status;
    comm_hosts(r, host);
    bool reads = host[r->rank] == r->rank;
    if (reads) *s = series_read(wanted);
    status = comm_same(r, reads && !*s ? (int)gsv_last_status() : 0);
    if (status) return status;
    if (reads) hand_out(r, host, *s);
    else *s = fetch(r, host[r->rank], wanted);
    /* From here on everybody has it, and it needs no open file. */
    status = comm_same(r, *s ? 0 : (int)gsv_last_status());
    if (status) return status;
    assert(*s);
    struct series_file *f = (*s)->file;
    if (f->file >= 0) close(f->file);
    f->file = -1;
    return 0;
}

gsv_series *series_read_shared(gsv_ranks *r, struct series_request wanted)
{
    wanted.in_file = gsv_ranks_count(r) > 1;
    if (!wanted.in_file) return series_read(&wanted);
    gsv_series *s = NULL;
    size_t *host = NEW(size_t, r->count);
    if (share(r, &wanted, host, &s)) {
        gsv_series_free(s);
        s = NULL;
    }
    mem_free(host);
    return s;
}

gsv_series *gsv_series_read_shared(gsv_ranks *r, const char *path,
                                   const char *time, const char *series,
                                   size_t columns, const char *const *name)
{
    if (ANY_NULL(path)) return NULL;
    return series_read_shared(r, (struct series_request){.path = path,
                                                         .time = time,
                                                         .series = series,
                                                         .columns = columns,
                                                         .name = name});
}
