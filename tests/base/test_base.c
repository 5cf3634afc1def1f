/* SPDX-License-Identifier: MIT */
/* Errors, memory and lanes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* cmocka's macro would hide the function under test. */
#undef fail

#include "base/error.h"
#include "base/lanes.h"
#include "base/memory.h"

/* --- Errors -------------------------------------------------------------- */

static void fail__leaves_a_sentence_and_returns_the_status(void **state)
{
    (void)state;
    assert_int_equal(fail(GSV_BAD_INPUT, "row %d of %s", 7, "a.csv"),
                     GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), "row 7 of a.csv");
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
    const char *none = fail_null(GSV_NUMERICAL, "not finite");
    assert_null(none);
    assert_int_equal(gsv_last_status(), GSV_NUMERICAL);
}

static void fail__cuts_a_sentence_that_is_too_long(void **state)
{
    (void)state;
    static char text[20000];
    memset(text, 'a', sizeof text - 1);
    fail(GSV_BAD_INPUT, "%s", text);
    size_t length = strlen(gsv_last_error());
    assert_true(length > 1000 && length < sizeof text - 1);
}

static void *fail_there(void *unused)
{
    fail(GSV_NUMERICAL, "second");
    return unused;
}

static void fail__belongs_to_its_thread(void **state)
{
    (void)state;
    pthread_t other;
    fail(GSV_BAD_INPUT, "first");
    assert_int_equal(pthread_create(&other, NULL, fail_there, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_string_equal(gsv_last_error(), "first");
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
}

/* --- Memory -------------------------------------------------------------- */

static void mem_new__is_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t n = 0; n < 200; n += 7) {
        unsigned char *block = mem_new(n, 3);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        for (size_t i = 0; i < 3 * n; i++)
            assert_int_equal(block[i], 0);
        mem_free(block);
    }
    mem_free(NULL);
}

static void mem_new__refuses_what_overflows(void **state)
{
    (void)state;
    assert_null(mem_new(SIZE_MAX, 1));
    assert_null(mem_new(SIZE_MAX / 4, 8));
    assert_null(mem_new((size_t)1 << 32, (size_t)1 << 32));
    assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
    assert_non_null(strstr(gsv_last_error(), "out of memory"));
}

static void mem_fail_at__lets_the_nth_allocation_fail(void **state)
{
    (void)state;
    for (size_t n = 1; n < 5; n++) {
        mem_fail_at(n);
        for (size_t i = 1; i < 8; i++) {
            void *block = mem_new(1, 1);
            assert_true((block == NULL) == (i == n));
            mem_free(block);
        }
    }
    mem_fail_at(1);
    mem_fail_at(0);
    void *block = mem_new(1, 1);
    assert_non_null(block);
    mem_free(block);
}

static void mem_grow__keeps_what_fits(void **state)
{
    (void)state;
    int *a = NEW(int, 3);
    assert_non_null(a);
    for (int i = 0; i < 3; i++)
        a[i] = i + 1;
    a = mem_grow(a, 3, 100, sizeof *a);
    assert_non_null(a);
    assert_true(a[0] == 1 && a[2] == 3 && a[3] == 0 && a[99] == 0);
    a = mem_grow(a, 100, 2, sizeof *a);
    assert_non_null(a);
    assert_true(a[0] == 1 && a[1] == 2);
    mem_fail_at(1);
    assert_null(mem_grow(a, 2, 4, sizeof *a));
    assert_true(a[0] == 1 && a[1] == 2);
    mem_free(a);
}

static void mem_room__lets_an_array_grow(void **state)
{
    (void)state;
    size_t *a = NULL, capacity = 0;
    for (size_t n = 0; n < 1000; n++) {
        assert_int_equal(MEM_ROOM(a, n, capacity), 0);
        a[n] = n;
    }
    for (size_t n = 0; n < 1000; n++)
        assert_int_equal(a[n], n);
    size_t before = capacity;
    mem_fail_at(1);
    assert_int_equal(MEM_ROOM(a, capacity, capacity), GSV_NO_MEMORY);
    assert_int_equal(capacity, before);
    assert_int_equal(a[999], 999);
    mem_free(a);
}

static void mem_string__copies(void **state)
{
    (void)state;
    char *a = mem_string("girsanov"), *b = mem_substring("girsanov", 4);
    char *empty = mem_substring("x", 0);
    assert_string_equal(a, "girsanov");
    assert_string_equal(b, "girs");
    assert_string_equal(empty, "");
    mem_free(a);
    mem_free(b);
    mem_free(empty);
    mem_fail_at(1);
    assert_null(mem_string("girsanov"));
}

static void arena__hands_out_what_was_asked_for(void **state)
{
    (void)state;
    struct arena a;
    assert_int_equal(
        arena_init(&a, arena_size(3) + arena_size(9) + arena_size(0)), 0);
    double *x = arena_take(&a, 3), *y = arena_take(&a, 9);
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal((uintptr_t)y % 64, 0);
    assert_true(y >= x + 3);
    y[8] = x[2] = 1;
    assert_true(arena_take(&a, 0) >= y + 9);
    arena_free(&a);
    arena_free(&a);
    mem_fail_at(1);
    assert_int_equal(arena_init(&a, 64), GSV_NO_MEMORY);
    arena_free(&a);
}

/* --- Lanes --------------------------------------------------------------- */

static void lanes_first__shares_everything_once_and_evenly(void **state)
{
    (void)state;
    for (size_t count = 1; count < 20; count++) {
        for (size_t n = 0; n < 70; n++) {
            assert_int_equal(lanes_first(0, count, n), 0);
            assert_int_equal(lanes_first(count, count, n), n);
            for (size_t lane = 0; lane < count; lane++) {
                size_t share = lanes_first(lane + 1, count, n) -
                               lanes_first(lane, count, n);
                assert_true(share == n / count || share == n / count + 1);
            }
        }
    }
}

enum { LANES = 37, THREADS = 4 };

struct sums {
    double part[THREADS];
    double whole;
    size_t merged, done[LANES];
};

/* Terms of very different size: any other order has other bits. */
static void add_lane(void *context, size_t lane, size_t thread)
{
    struct sums *s = context;
    s->part[thread] = 1.0 / (double)(lane * lane * lane + 3);
    s->done[lane]++;
}

static void merge_lane(void *context, size_t lane, size_t thread)
{
    struct sums *s = context;
    if (lane == s->merged) s->merged++;
    s->whole += s->part[thread];
}

static void lanes_run__has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    double first = 0;
    for (size_t threads = 1; threads <= THREADS; threads++) {
        struct sums s = {.whole = 0};
        const struct lanes_job job = {&s, add_lane, merge_lane};
        lanes_run(LANES, threads, &job);
        assert_int_equal(s.merged, LANES);
        for (size_t lane = 0; lane < LANES; lane++)
            assert_int_equal(s.done[lane], 1);
        if (threads == 1) first = s.whole;
        assert_memory_equal(&s.whole, &first, sizeof first);
    }
}

struct owners {
    pthread_t of[THREADS];
    bool known[THREADS];
    atomic_size_t strangers;
};

/* Long enough for the other threads to come. */
static void meet_owner(void *context, size_t lane, size_t thread)
{
    (void)lane;
    struct owners *o = context;
    if (!o->known[thread]) o->of[thread] = pthread_self();
    o->known[thread] = true;
    usleep(500);
    if (!pthread_equal(o->of[thread], pthread_self())) o->strangers++;
}

/* Or two threads would have one scratch memory. */
static void lanes_run__gives_every_thread_its_own_number(void **state)
{
    (void)state;
    struct owners o = {.strangers = 0};
    lanes_run(LANES, THREADS, &(struct lanes_job){&o, meet_owner, NULL});
    assert_int_equal(o.strangers, 0);
}

static void lanes_run__needs_neither_lanes_nor_a_merge(void **state)
{
    (void)state;
    struct sums s = {.whole = 0};
    lanes_run(0, 2, &(struct lanes_job){&s, add_lane, merge_lane});
    assert_int_equal(s.merged, 0);
    lanes_run(LANES, 2, &(struct lanes_job){&s, add_lane, NULL});
    assert_int_equal(s.done[LANES - 1], 1);
}

static double sum_of_lanes(size_t threads)
{
    struct sums s = {.whole = 0};
    lanes_run(LANES, threads, &(struct lanes_job){&s, add_lane, merge_lane});
    return s.whole;
}

static void sum_inside(void *context, size_t lane, size_t thread)
{
    (void)thread;
    ((double *)context)[lane] = sum_of_lanes(THREADS);
}

static void *sum_often(void *expected)
{
    for (size_t i = 0; i < 200; i++)
        if (sum_of_lanes(1 + i % THREADS) != *(double *)expected)
            return expected;
    return NULL;
}

static void lanes_run__may_stand_in_a_lane(void **state)
{
    (void)state;
    double sum[LANES], one = sum_of_lanes(1);
    lanes_run(LANES, THREADS, &(struct lanes_job){sum, sum_inside, NULL});
    for (size_t i = 0; i < LANES; i++)
        assert_true(sum[i] == one);
}

static void lanes_run__serves_several_callers_at_once(void **state)
{
    (void)state;
    enum { CALLERS = 4 };
    pthread_t caller[CALLERS];
    double one = sum_of_lanes(1);
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&caller[i], NULL, sum_often, &one), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(caller[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* As Python's multiprocessing does it. The thread sanitizer itself does not
 * allow threads in a child of a process that has had some. */
static void lanes_run__works_in_a_forked_child(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    double one = sum_of_lanes(THREADS);
    for (size_t i = 0; i < 20; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) _exit(sum_often(&one) != NULL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(sum_of_lanes(THREADS) == one);
    }
}

static void lanes_threads__takes_the_wish_or_all(void **state)
{
    (void)state;
    unsetenv("OMP_NUM_THREADS");
    size_t all = lanes_threads(0);
    assert_true(all >= 1 && all <= (size_t)sysconf(_SC_NPROCESSORS_CONF));
    assert_int_equal(lanes_threads(3), 3);
    setenv("OMP_NUM_THREADS", "5", 1);
    assert_int_equal(lanes_threads(0), 5);
    assert_int_equal(lanes_threads(3), 3);
    setenv("OMP_NUM_THREADS", "none", 1);
    assert_int_equal(lanes_threads(0), all);
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(lanes_threads(1000000), 1024); /* each has memory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail__leaves_a_sentence_and_returns_the_status),
        cmocka_unit_test(fail__cuts_a_sentence_that_is_too_long),
        cmocka_unit_test(fail__belongs_to_its_thread),
        cmocka_unit_test(mem_new__is_zeroed_and_aligned),
        cmocka_unit_test(mem_new__refuses_what_overflows),
        cmocka_unit_test(mem_fail_at__lets_the_nth_allocation_fail),
        cmocka_unit_test(mem_grow__keeps_what_fits),
        cmocka_unit_test(mem_room__lets_an_array_grow),
        cmocka_unit_test(mem_string__copies),
        cmocka_unit_test(arena__hands_out_what_was_asked_for),
        cmocka_unit_test(lanes_first__shares_everything_once_and_evenly),
        cmocka_unit_test(lanes_run__has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(lanes_run__gives_every_thread_its_own_number),
        cmocka_unit_test(lanes_run__needs_neither_lanes_nor_a_merge),
        cmocka_unit_test(lanes_run__may_stand_in_a_lane),
        cmocka_unit_test(lanes_run__serves_several_callers_at_once),
        cmocka_unit_test(lanes_run__works_in_a_forked_child),
        cmocka_unit_test(lanes_threads__takes_the_wish_or_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
