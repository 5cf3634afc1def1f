/* SPDX-License-Identifier: MIT */
/* usage: mpirun -n 2 ranks_bench
 *
 * What messages between two ranks cost: prints the seconds of the shortest one,
 * of a meeting of both, and the bytes a second of long ones. The best of many:
 * other work on the machine only makes it longer. */
#include <stdio.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/memory.h"

enum { LONG = 1 << 20, TRIALS = 3000, FEW_TRIALS = 30 };

/* There and back, half of it. */
static double one_way(gsv_ranks *r, size_t n, double *data, size_t trials)
{
    double best = 1e9;
    for (size_t i = 0; i < trials; i++) {
        double begin = clock_seconds();
        if (gsv_ranks_rank(r)) {
            comm_receive(r, 0, n, data);
            comm_send(r, 0, n, data);
        } else {
            comm_send(r, 1, n, data);
            comm_receive(r, 1, n, data);
        }
        double took = 0.5 * (clock_seconds() - begin);
        if (took < best) best = took;
    }
    return best;
}

static double meeting(gsv_ranks *r)
{
    double best = 1e9;
    for (size_t i = 0; i < TRIALS; i++) {
        double begin = clock_seconds();
        if (comm_meet(r)) return -1.0;
        double took = clock_seconds() - begin;
        if (took < best) best = took;
    }
    return best;
}

int main(void)
{
    gsv_ranks *r;
    double *data = NEW(double, LONG);
    if (!data || gsv_ranks_open(&r) || gsv_ranks_count(r) != 2) {
        fprintf(stderr, "ranks_bench: start it by mpirun -n 2\n");
        return 1;
    }
    double shortest = one_way(r, 1, data, TRIALS), meet = meeting(r);
    double longest = one_way(r, LONG, data, FEW_TRIALS);
    if (!gsv_ranks_rank(r))
        printf("%.3g %.3g %.4g\n", shortest, meet,
               8.0 * LONG / (longest - shortest));
    mem_free(data);
    return gsv_ranks_close(r, 0);
}
