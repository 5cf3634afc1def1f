/* SPDX-License-Identifier: MIT */
/* Ranks: processes that run the same program and share its work. Whoever starts
 * them (MPI: comm_mpi.c; threads in tests) gives the operations; one process
 * alone is NULL, and needs none.
 *
 * All ranks make the same calls in the same order: every decision depends on
 * values that are the same on all ranks or are agreed on here. A rank that
 * fails alone, for example without memory, reports it at the next meeting: then
 * all ranks fail. */
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
    /* Bytes [first[r], first[r + 1]) of data, which rank r has, to all. */
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
    void *module;  /* the library of the operations, or NULL */
    size_t *first; /* (count + 1) for gathering           */
};

/* Where the operations of MPI are: a module of this name and in it this
 * function, which fills in rank, count, ops and self. */
#define COMM_MODULE "libgirsanov_mpi.so"
#define COMM_ENTRY "gsv_comm_mpi"
typedef int comm_entry(struct gsv_ranks *ranks);

/* A meeting of all ranks: fails on all of them if one has failed or ended. */
int comm_meet(gsv_ranks *r);

/* A meeting after work that can fail on one rank without ending the job: the
 * status of the first rank that failed, with its message, to all. */
int comm_same(gsv_ranks *r, int status);

/* A meeting after work that may have been stopped on some ranks: then it is
 * stopped on all, with the strongest reason, and fails with GSV_STOPPED. */
int comm_stop(gsv_ranks *r);

/* The largest of all ranks' answers, to all. */
int comm_most(gsv_ranks *r, unsigned *answer);

/* Vectors of n numbers. A single process never calls these. */
void comm_send(gsv_ranks *r, size_t to, size_t n, const double *data);
void comm_receive(gsv_ranks *r, size_t from, size_t n, double *data);

/* Rank 0's numbers to all. */
void comm_broadcast(gsv_ranks *r, size_t n, double *data);

/* host (count): for every rank, the first rank on the same machine. */
void comm_hosts(gsv_ranks *r, size_t *host);

/* Elements of so many bytes: rank i has those from r->first[i] up to
 * r->first[i + 1], and all ranks get them. */
void comm_gather(gsv_ranks *r, size_t size, void *data);

/* The same, but only the first rank gets them. */
void comm_collect(gsv_ranks *r, size_t size, void *data);

#endif
