/* SPDX-License-Identifier: MIT */
#include "base/lanes.h"

#include <omp.h>

#include "base/halt.h"

size_t lanes_threads(size_t wish)
{
    return wish ? wish : (size_t)omp_get_max_threads();
}

/* Threads are numbered by a loop that gives the i-th of them i, and not by
 * omp_get_thread_num(): in a program with two OpenMP libraries (clang's, and
 * the GNU one that OpenBLAS brings along) the linker may take it from the one
 * that did not start these threads, and it says 0 to all of them. */
int lanes_run(size_t count, size_t threads, const struct lanes_job *job)
{
    size_t most = count < threads ? count : threads;
    if (!most) return halt_status();
    struct halt *halt = halt_current();
    halt_asked(); /* at least once: others may take all lanes */
#pragma omp parallel num_threads((int)most)
    {
        size_t thread = 0;
        struct halt *own = halt_current();
        halt_lend(halt);
#pragma omp for schedule(static, 1) nowait
        for (size_t i = 0; i < most; i++)
            thread = i;
#pragma omp for ordered schedule(dynamic, 1)
        for (size_t lane = 0; lane < count; lane++) {
            if (!halt_asked()) job->work(job->context, lane, thread);
            if (job->merge) {
#pragma omp ordered
                job->merge(job->context, lane, thread);
            }
        }
        halt_lend(own);
    }
    return halt_status();
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
