/* SPDX-License-Identifier: MIT */
#include "base/lanes.h"

#include <omp.h>

/* Every thread has memory of its own. No loop has more lanes than this that
 * would have something to do, and no result depends on the number. */
enum { MOST_THREADS = 1024 };

size_t lanes_threads(size_t wish)
{
    size_t n = wish ? wish : (size_t)omp_get_max_threads();
    return n < MOST_THREADS ? n : MOST_THREADS;
}

/* Threads are numbered by a loop that gives the i-th of them i, and not by
 * omp_get_thread_num(): in a program with two OpenMP libraries (clang's, and
 * the GNU one that OpenBLAS brings along) the linker may take it from the one
 * that did not start these threads, and it says 0 to all of them. */
void lanes_run(size_t count, size_t threads, const struct lanes_job *job)
{
    size_t most = count < threads ? count : threads;
    if (!most) return;
#pragma omp parallel num_threads((int)most)
    {
        size_t thread = 0;
#pragma omp for schedule(static, 1) nowait
        for (size_t i = 0; i < most; i++)
            thread = i;
#pragma omp for ordered schedule(dynamic, 1)
        for (size_t lane = 0; lane < count; lane++) {
            job->work(job->context, lane, thread);
            if (job->merge) {
#pragma omp ordered
                job->merge(job->context, lane, thread);
            }
        }
    }
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
