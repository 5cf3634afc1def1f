/* SPDX-License-Identifier: MIT */
/* Ranks: processes that run the same program and share its work. Whoever starts
 * them (MPI: comm_mpi.c; threads in tests) gives the operations; one process
 * alone is NULL, and needs none.
 *
 * All ranks do the same in the same order, as everything they decide by is
 * either the same for all or agreed on here. One that fails alone, without
 * memory for example, says so where the others meet next: then all fail. */
#ifndef BASE_COMM_H
#define BASE_COMM_H

#include <stdbool.h>
#include <stddef.h>

#include "girsanov.h"

/* What ranks can do. All but send and receive are done by all of them at the
 * same place of the program. They cannot fail: a rank that cannot be reached
 * ends the job. */
struct comm_ops {
    /* The least of all ranks' values, to all. */
    size_t (*least)(void *self, size_t value);
    void (*broadcast)(void *self, size_t from, size_t bytes, void *data);
    void (*send)(void *self, size_t to, size_t bytes, const void *data);
    void (*receive)(void *self, size_t from, size_t bytes, void *data);
    /* Bytes [first[r], first[r + 1]) of data are rank r's: now everybody's. */
    void (*gather)(void *self, const size_t *first, void *data);
    /* The first rank on this one's machine. */
    size_t (*host)(void *self);
    void (*close)(void *self);
};

struct gsv_ranks {
    size_t rank, count;
    const struct comm_ops *ops;
    void *self;
    bool failed;   /* all know it */
    void *module;  /* that the operations are in, or NULL */
    size_t *first; /* (count + 1) for gathering           */
};

/* Where the operations of MPI are: a module of this name and in it this
 * function, which fills in rank, count, ops and self. */
#define COMM_MODULE "libgirsanov_mpi.so"
#define COMM_ENTRY "gsv_comm_mpi"
typedef int comm_entry(struct gsv_ranks *ranks);

/* Where ranks meet: fails on all of them where one has failed or ended. */
int comm_meet(gsv_ranks *r);

/* Where a rank's own share of some work can fail, and that need not end all:
 * the status of the first one that failed, with its sentence, to all. */
int comm_same(gsv_ranks *r, int status);

/* Where work may have been stopped on some of them: then it is on all, with the
 * strongest reason, and fails with GSV_STOPPED. */
int comm_stop(gsv_ranks *r);

/* The largest of all ranks' answers, to all. */
int comm_most(gsv_ranks *r, unsigned *answer);

/* Sends vectors of so many numbers. Alone: never called. */
void comm_send(gsv_ranks *r, size_t to, size_t n, const double *data);
void comm_receive(gsv_ranks *r, size_t from, size_t n, double *data);

/* Rank 0's numbers to all. */
void comm_broadcast(gsv_ranks *r, size_t n, double *data);

/* Of every rank the first one on the same machine: host is (count). */
void comm_hosts(gsv_ranks *r, size_t *host);

/* Elements of so many bytes: r->first[i] up to r->first[i + 1] are rank i's,
 * and are now everybody's. */
void comm_gather(gsv_ranks *r, size_t size, void *data);

/* The same, but they become the first rank's alone. */
void comm_collect(gsv_ranks *r, size_t size, void *data);

#endif
