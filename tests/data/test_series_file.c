/* SPDX-License-Identifier: MIT */
/* Series that ranks share: the same as one that is read alone, without memory
 * that grows with the rows; and one end for all ranks where it cannot be. */
#include "base/paged.h"
#include "exact.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- Pages ---------------------------------------------------------------- */

static void paged__has_what_was_written_for_everybody(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct paged mine, yours;
    int file;
    assert_int_equal(paged_new(&mine, N, &file), 0);
    char *c = mine.data;
    for (size_t i = 0; i < N; i++)
        assert_int_equal(c[i], 0);
    for (size_t i = 0; i < N; i++)
        c[i] = (char)(i % 101);
    paged_rest(&mine);
    assert_int_equal(paged_open(&yours, getpid(), file), 0);
    close(file);
    assert_int_equal(yours.bytes, N);
    assert_memory_equal(yours.data, mine.data, N);
    paged_free(&mine);
    paged_rest(&yours);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(((char *)yours.data)[i], i % 101);
    paged_free(&yours);
    assert_int_not_equal(paged_open(&yours, getpid(), file), 0);
    assert_null(yours.data);
}

/* --- Series --------------------------------------------------------------- */

static const char *const CSV = "test_series_file.csv";
static const char *const NPY = "test_series_file.npy";

/* Tracks in turns, with cells that are missing, over several pages. */
static void write_csv(size_t rows)
{
    FILE *out = fopen(CSV, "w");
    assert_non_null(out);
    fprintf(out, "id,t,x,word,y\n");
    for (size_t i = 0; i < rows; i++) {
        fprintf(out, "track %zu,%zu,%.17g,w,", i % 3, i, 0.1 * (double)i);
        if (i % 7) fprintf(out, "%zu", i);
        fprintf(out, "\n");
    }
    assert_int_equal(fclose(out), 0);
}

static void write_npy(size_t rows)
{
    char header[118] = {0};
    FILE *out = fopen(NPY, "wb");
    assert_non_null(out);
    int n = snprintf(
        header, sizeof header,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, %zu, 3), }",
        rows);
    memset(header + n, ' ', sizeof header - (size_t)n);
    header[sizeof header - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
    fwrite(header, 1, sizeof header, out);
    for (size_t i = 0; i < 2 * rows; i++) {
        const double cell[3] = {(double)i, 0.3 * (double)i, i % 5 ? 1.0 : NAN};
        fwrite(cell, sizeof *cell, 3, out);
    }
    assert_int_equal(fclose(out), 0);
}

struct reading {
    const char *path, *time, *series;
    size_t broken, n; /* rank whose n-th allocation fails */
    gsv_series *found[RANKS_MOST];
    size_t asked[RANKS_MOST];
    int closed[RANKS_MOST];
    char sentence[RANKS_MOST][400];
};

static void read_it(gsv_ranks *r, void *user)
{
    struct reading *a = user;
    size_t rank = gsv_ranks_rank(r), asked = mem_asked();
    const char *const name[] = {"x", "y"};
    if (a->n && rank == a->broken) mem_fail_at(a->n);
    a->found[rank] =
        gsv_series_read_shared(r, a->path, a->time, a->series, 2, name);
    a->asked[rank] = mem_asked() - asked;
    mem_fail_at(0);
    strncat(a->sentence[rank], a->found[rank] ? "" : gsv_last_error(), 399);
    a->closed[rank] =
        gsv_ranks_close(r, a->found[rank] ? 0 : (int)gsv_last_status());
}

static void assert_same_series(const gsv_series *a, const gsv_series *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->tracks, b->tracks);
    assert_memory_equal(a->time, b->time, a->rows * sizeof *a->time);
    assert_memory_equal(a->line, b->line, a->rows * sizeof *a->line);
    assert_memory_equal(a->value, b->value,
                        a->rows * a->columns * sizeof *a->value);
    assert_memory_equal(a->start, b->start, (a->tracks + 1) * sizeof *a->start);
    for (size_t i = 0; i < a->columns; i++)
        assert_string_equal(a->name[i], b->name[i]);
    for (size_t i = 0; i < a->tracks; i++)
        assert_string_equal(a->label[i], b->label[i]);
    assert_string_equal(a->source, b->source);
    assert_string_equal(a->note, b->note);
}

/* Two ranks are on one machine (ranks.h): the second one has the memory of the
 * first, and the third reads for itself and the fourth. */
static void assert_shared(const char *path)
{
    struct reading alone = {.path = path};
    read_it(NULL, &alone);
    if (!alone.found[0]) fail_msg("%s", alone.sentence[0]);
    assert_null(alone.found[0]->file);
    for (size_t ranks = 2; ranks <= 5; ranks++) {
        struct reading a = {.path = path};
        ranks_act(ranks, read_it, &a);
        for (size_t r = 0; r < ranks; r++) {
            if (!a.found[r]) fail_msg("%s", a.sentence[r]);
            assert_int_equal(a.closed[r], 0);
            assert_same_series(a.found[r], alone.found[0]);
        }
        for (size_t r = 0; r < ranks; r++)
            gsv_series_free(a.found[r]);
    }
    gsv_series_free(alone.found[0]);
}

static void series__is_the_same_where_ranks_share_it(void **state)
{
    (void)state;
    write_csv(70000);
    assert_shared(CSV);
    write_npy(40000);
    assert_shared(NPY);
    write_csv(1);
    assert_shared(CSV);
}

/* Pages of the builder are counted: one pointer for 65,536 rows. */
static void series__asks_for_no_memory_that_grows_with_rows(void **state)
{
    (void)state;
    size_t asked[2][2];
    for (size_t i = 0; i < 2; i++) {
        struct reading a = {.path = CSV};
        write_csv(i ? 60000 : 2000);
        ranks_act(2, read_it, &a);
        for (size_t r = 0; r < 2; r++) {
            assert_non_null(a.found[r]);
            asked[i][r] = a.asked[r];
            gsv_series_free(a.found[r]);
        }
    }
    for (size_t r = 0; r < 2; r++)
        assert_int_equal(asked[0][r], asked[1][r]);
}

/* --- Failures ------------------------------------------------------------- */

static void assert_all_say(const struct reading *wanted, const char *sentence)
{
    struct reading a = *wanted;
    ranks_act(3, read_it, &a);
    for (size_t r = 0; r < 3; r++) {
        assert_null(a.found[r]);
        assert_int_equal(a.closed[r], GSV_BAD_INPUT);
        if (!strstr(a.sentence[r], sentence)) fail_msg("%s", a.sentence[r]);
    }
}

static void series__fails_with_one_sentence_on_all_ranks(void **state)
{
    (void)state;
    write_csv(10);
    assert_all_say(&(struct reading){.path = "none.csv"}, "none.csv");
    assert_all_say(&(struct reading){.path = CSV, .time = "q"},
                   "has no column 'q' for the time");
    assert_all_say(&(struct reading){.path = CSV, .time = "word"}, CSV);
}

/* Never a page that cannot be written: that would end the process. */
static void series__needs_a_folder_with_room(void **state)
{
    (void)state;
    const char *kept = getenv("TMPDIR");
    char *folder = kept ? mem_string(kept) : NULL;
    write_csv(10);
    setenv("TMPDIR", "/dev/null/rows", 1);
    assert_all_say(&(struct reading){.path = CSV},
                   "set TMPDIR to a folder with enough space");
    if (folder) setenv("TMPDIR", folder, 1);
    else unsetenv("TMPDIR");
    mem_free(folder);
}

static void series__fails_on_all_where_memory_runs_out_on_one(void **state)
{
    (void)state;
    bool failed = true;
    write_csv(10);
    for (size_t n = 1; failed; n++)
        for (size_t rank = 0; rank < 4; rank++) {
            struct reading a = {.path = CSV, .broken = rank, .n = n};
            ranks_act(4, read_it, &a);
            if (!rank) failed = !a.found[0];
            for (size_t r = 0; r < 4; r++) {
                if (!a.found[r]) assert_int_equal(a.closed[r], GSV_NO_MEMORY);
                assert_true(!a.found[r] == !a.found[0]);
                gsv_series_free(a.found[r]);
            }
        }
}

static int clean(void **state)
{
    (void)state;
    remove(CSV);
    remove(NPY);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paged__has_what_was_written_for_everybody),
        cmocka_unit_test(series__is_the_same_where_ranks_share_it),
        cmocka_unit_test(series__asks_for_no_memory_that_grows_with_rows),
        cmocka_unit_test(series__fails_with_one_sentence_on_all_ranks),
        cmocka_unit_test(series__needs_a_folder_with_room),
        cmocka_unit_test(series__fails_on_all_where_memory_runs_out_on_one)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
