/* SPDX-License-Identifier: MIT */
/* Ranks by MPI: a module of its own, which comm.c loads where it is needed. A
 * failure of MPI itself ends the job, as MPI does by default. */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/comm.h"

comm_entry gsv_comm_mpi;

/* MPI counts in int: longer messages go in parts. */
enum { PART = 1 << 30, TAG = 7 };

static size_t part_of(size_t bytes)
{
    return bytes < PART ? bytes : PART;
}

static size_t least(void *self, size_t value)
{
    (void)self;
    uint64_t mine = value, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return (size_t)all;
}

static void broadcast(void *self, size_t from, size_t bytes, void *data)
{
    (void)self;
    for (char *at = data; bytes; at += part_of(bytes), bytes -= part_of(bytes))
        MPI_Bcast(at, (int)part_of(bytes), MPI_BYTE, (int)from, MPI_COMM_WORLD);
}

static void send(void *self, size_t to, size_t bytes, const void *data)
{
    (void)self;
    const char *at = data;
    for (; bytes; at += part_of(bytes), bytes -= part_of(bytes))
        MPI_Send(at, (int)part_of(bytes), MPI_BYTE, (int)to, TAG,
                 MPI_COMM_WORLD);
}

static void receive(void *self, size_t from, size_t bytes, void *data)
{
    (void)self;
    for (char *at = data; bytes; at += part_of(bytes), bytes -= part_of(bytes))
        MPI_Recv(at, (int)part_of(bytes), MPI_BYTE, (int)from, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

struct mpi {
    int count;
    bool ours;   /* to end                    */
    int first[]; /* (2, count): first, bytes  */
};

static void gather(void *self, const size_t *first, void *data)
{
    struct mpi *m = self;
    if (first[m->count] > INT_MAX) {
        for (int i = 0; i < m->count; i++)
            broadcast(self, (size_t)i, first[i + 1] - first[i],
                      (char *)data + first[i]);
        return;
    }
    for (int i = 0; i < m->count; i++) {
        m->first[i] = (int)first[i];
        m->first[m->count + i] = (int)(first[i + 1] - first[i]);
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data,
                   m->first + m->count, m->first, MPI_BYTE, MPI_COMM_WORLD);
}

static size_t host(void *self)
{
    MPI_Comm machine;
    int rank;
    (void)self;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                        MPI_INFO_NULL, &machine);
    uint64_t first = (uint64_t)rank;
    MPI_Bcast(&first, 1, MPI_UINT64_T, 0, machine);
    MPI_Comm_free(&machine);
    return (size_t)first;
}

static void close_mpi(void *self)
{
    struct mpi *m = self;
    if (m->ours) MPI_Finalize();
    free(m);
}

static const struct comm_ops OPS = {.least = least,
                                    .broadcast = broadcast,
                                    .send = send,
                                    .receive = receive,
                                    .gather = gather,
                                    .host = host,
                                    .close = close_mpi};

/* Threads compute, but the one that asked for the ranks talks to them. A
 * program that has begun MPI by itself also ends it. */
int gsv_comm_mpi(struct gsv_ranks *r)
{
    int begun = 0, level, rank, count;
    MPI_Initialized(&begun);
    /* Open MPI waits by looking again and again: on cores that others want,
     * too, it should let them pass. What the user set stays. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (!begun) MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    struct mpi *m = calloc(1, sizeof *m + 2 * (size_t)count * sizeof(int));
    if (!m) return MPI_Abort(MPI_COMM_WORLD, GSV_NO_MEMORY);
    m->count = count;
    m->ours = !begun;
    r->rank = (size_t)rank;
    r->count = (size_t)count;
    r->ops = &OPS;
    r->self = m;
    return 0;
}
