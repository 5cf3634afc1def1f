/* SPDX-License-Identifier: MIT */
/* Lanes on a pool of threads. The pool is the one thing that a process keeps
 * between calls: starting a thread takes longer than a small iteration of
 * learning. Its threads wait actively for a moment, in which the next iteration
 * usually begins, and then sleep. A call posts a run; its own thread works on
 * it, and free threads of the pool join it. With fewer threads than requested a
 * run takes longer and gives the same bits. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "base/lanes.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/fast.h"
#include "base/halt.h"

/* One call of lanes_run(), for as long as it takes. */
struct run {
    const struct lanes_job *job;
    struct halt *halt;          /* of the work that it is a part of */
    size_t count, most;         /* lanes; threads that may join */
    atomic_size_t next, merged; /* lanes: the next to run; merged so far */
    /* Under the pool's lock: */
    size_t joined;         /* threads so far     */
    atomic_size_t working; /* threads of the pool now */
    struct run *after;     /* in the pool's list   */
};

/* How long a thread waits actively before it sleeps. The next iteration of
 * learning usually begins sooner, and waking up takes longer than some
 * iterations. */
enum { MOMENT = 50000 }; /* nanoseconds */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted; /* a run, for the threads of the pool  */
    pthread_cond_t moved;  /* a lane was merged, a thread is done */
    struct run *first;
    size_t threads, idle;
    atomic_size_t runs;     /* posted so far                       */
    atomic_size_t sleepers; /* that wait for their turn to merge   */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .moved = PTHREAD_COND_INITIALIZER};

/* Set in a thread that works on a run: what it starts runs on it alone. */
static _Thread_local bool inside;

/* --- Working on a run ----------------------------------------------------- */

static long long nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool changes_soon(const atomic_size_t *number, size_t from)
{
    enum { BETWEEN_CLOCKS = 64 };
    long long end = nanoseconds() + MOMENT;
    do {
        for (size_t i = 0; i < BETWEEN_CLOCKS; i++) {
            if (atomic_load(number) != from) return true;
            cpu_pause();
        }
    } while (nanoseconds() < end);
    return false;
}

/* Waits until all lanes before this one were merged. */
static void wait_for_turn(struct run *r, size_t lane)
{
    for (size_t now; (now = atomic_load(&r->merged)) != lane;) {
        if (changes_soon(&r->merged, now)) continue;
        pthread_mutex_lock(&pool.lock);
        atomic_fetch_add(&pool.sleepers, 1);
        while (atomic_load(&r->merged) == now)
            pthread_cond_wait(&pool.moved, &pool.lock);
        atomic_fetch_sub(&pool.sleepers, 1);
        pthread_mutex_unlock(&pool.lock);
    }
}

static void merge(struct run *r, size_t lane, size_t thread)
{
    wait_for_turn(r, lane);
    r->job->merge(r->job->context, lane, thread);
    atomic_store(&r->merged, lane + 1);
    if (!atomic_load(&pool.sleepers)) return;
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.moved);
    pthread_mutex_unlock(&pool.lock);
}

static void work_on(struct run *r, size_t thread)
{
    struct halt *own = halt_current();
    halt_lend(r->halt);
    inside = true;
    for (size_t lane; (lane = atomic_fetch_add(&r->next, 1)) < r->count;) {
        if (!halt_asked()) r->job->work(r->job->context, lane, thread);
        if (r->job->merge) merge(r, lane, thread);
    }
    inside = false;
    halt_lend(own);
}

static void work_alone(size_t count, const struct lanes_job *job)
{
    for (size_t lane = 0; lane < count; lane++) {
        if (!halt_asked()) job->work(job->context, lane, 0);
        if (job->merge) job->merge(job->context, lane, 0);
    }
}

/* --- The pool ------------------------------------------------------------- */

/* A run that a thread may join. */
static struct run *open_run(void)
{
    struct run *r = pool.first;
    while (r && r->joined == r->most)
        r = r->after;
    return r;
}

static void join(struct run *r)
{
    size_t thread = r->joined++;
    atomic_fetch_add(&r->working, 1);
    pthread_mutex_unlock(&pool.lock);
    work_on(r, thread);
    pthread_mutex_lock(&pool.lock);
    if (atomic_fetch_sub(&r->working, 1) == 1)
        pthread_cond_broadcast(&pool.moved);
}

/* A thread of the pool; it ends with the process. */
static void *serve(void *unused)
{
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct run *r = open_run();
        if (r) {
            join(r);
            continue;
        }
        size_t seen = atomic_load(&pool.runs);
        pthread_mutex_unlock(&pool.lock);
        bool soon = changes_soon(&pool.runs, seen);
        pthread_mutex_lock(&pool.lock);
        pool.idle++;
        while (!soon && atomic_load(&pool.runs) == seen)
            pthread_cond_wait(&pool.posted, &pool.lock);
        pool.idle--;
    }
    return unused;
}

/* Signals are for the threads of the program that uses us. */
static bool start_thread(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

static void lock_pool(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void unlock_pool(void)
{
    pthread_mutex_unlock(&pool.lock);
}

/* The child of a fork() has one thread, and none of the pool's. */
static void forget_threads(void)
{
    pthread_cond_init(&pool.posted, NULL);
    pthread_cond_init(&pool.moved, NULL);
    pool.first = NULL;
    pool.threads = pool.idle = 0;
    atomic_store(&pool.sleepers, 0);
    inside = false;
    unlock_pool();
}

static void prepare_forks(void)
{
    pthread_atfork(lock_pool, unlock_pool, forget_threads);
}

static void post(struct run *r)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_forks);
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < r->most - 1 && start_thread())
        pool.threads++;
    r->after = pool.first;
    pool.first = r;
    atomic_fetch_add(&pool.runs, 1);
    if (pool.idle) pthread_cond_broadcast(&pool.posted);
    pthread_mutex_unlock(&pool.lock);
}

/* No thread can join any more; waits for those that have joined. */
static void withdraw(struct run *r)
{
    pthread_mutex_lock(&pool.lock);
    struct run **at = &pool.first;
    while (*at != r)
        at = &(*at)->after;
    *at = r->after;
    size_t working = atomic_load(&r->working);
    pthread_mutex_unlock(&pool.lock);
    if (working == 1) changes_soon(&r->working, working);
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(&r->working))
        pthread_cond_wait(&pool.moved, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

int lanes_run(size_t count, size_t threads, const struct lanes_job *job)
{
    size_t most = count < threads ? count : threads;
    if (most < 2 || inside) {
        work_alone(count, job);
        return halt_status();
    }
    struct run r = {.job = job,
                    .halt = halt_current(),
                    .count = count,
                    .most = most,
                    .joined = 1};
    halt_asked(); /* at least once: other threads may run all lanes */
    post(&r);
    work_on(&r, 0);
    withdraw(&r);
    return halt_status();
}

/* --- Sizes ---------------------------------------------------------------- */

/* Job schedulers set this variable of OpenMP, so it is respected here. */
static size_t threads_by_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long threads = text ? strtol(text, NULL, 10) : 0;
    return threads > 0 ? (size_t)threads : 0;
}

static size_t processors(void)
{
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return (size_t)CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
}

/* Every thread has its own memory. No loop has work for more threads than this,
 * and no result depends on the number. */
enum { MOST_THREADS = 1024 };

size_t lanes_threads(size_t wish)
{
    if (!wish) wish = threads_by_environment();
    if (!wish) wish = processors();
    return wish < MOST_THREADS ? wish : MOST_THREADS;
}

size_t lanes_first(size_t lane, size_t count, size_t n)
{
    size_t rest = n % count;
    return lane * (n / count) + (lane < rest ? lane : rest);
}

void move_sum(size_t n, double *from, double *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += from[i];
        from[i] = 0.0;
    }
}
