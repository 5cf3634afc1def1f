/* SPDX-License-Identifier: MIT */
/* Ranks that are threads of one process: the library has no state of its own,
 * so that they can do all that processes do, and what MPI would add is left to
 * tests/mpi. A message is given from hand to hand, so that an order in which
 * two ranks wait for each other would stand still. */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include <pthread.h>
#include <semaphore.h>

#include "base/comm.h"
#include "base/memory.h"

enum { RANKS_MOST = 8 };

struct party {
    size_t count;
    pthread_barrier_t barrier;
    size_t value[RANKS_MOST];
    size_t met; /* how often all of them did */
    void *data[RANKS_MOST];
    struct mail {
        sem_t full, taken;
        const void *data;
    } mail[RANKS_MOST][RANKS_MOST]; /* from, to */
};

struct guest {
    struct party *party;
    size_t rank;
    void (*act)(gsv_ranks *r, void *user);
    void *user;
};

static size_t party_least(void *self, size_t value)
{
    const struct guest *g = self;
    struct party *p = g->party;
    p->value[g->rank] = value;
    if (!g->rank) p->met++;
    pthread_barrier_wait(&p->barrier);
    for (size_t i = 0; i < p->count; i++)
        if (p->value[i] < value) value = p->value[i];
    pthread_barrier_wait(&p->barrier);
    return value;
}

static void party_broadcast(void *self, size_t from, size_t bytes, void *data)
{
    const struct guest *g = self;
    struct party *p = g->party;
    p->data[g->rank] = data;
    pthread_barrier_wait(&p->barrier);
    if (g->rank != from) memcpy(data, p->data[from], bytes);
    pthread_barrier_wait(&p->barrier);
}

static void party_send(void *self, size_t to, size_t bytes, const void *data)
{
    const struct guest *g = self;
    struct mail *m = &g->party->mail[g->rank][to];
    (void)bytes;
    m->data = data;
    sem_post(&m->full);
    sem_wait(&m->taken);
}

static void party_receive(void *self, size_t from, size_t bytes, void *data)
{
    const struct guest *g = self;
    struct mail *m = &g->party->mail[from][g->rank];
    sem_wait(&m->full);
    memcpy(data, m->data, bytes);
    sem_post(&m->taken);
}

static void party_gather(void *self, const size_t *first, void *data)
{
    const struct guest *g = self;
    struct party *p = g->party;
    p->data[g->rank] = data;
    pthread_barrier_wait(&p->barrier);
    for (size_t i = 0; i < p->count; i++)
        if (i != g->rank)
            memcpy((char *)data + first[i], (char *)p->data[i] + first[i],
                   first[i + 1] - first[i]);
    pthread_barrier_wait(&p->barrier);
}

/* Two ranks are on one machine. */
static size_t party_host(void *self)
{
    const struct guest *g = self;
    return g->rank - g->rank % 2;
}

static void party_close(void *self)
{
    (void)self;
}

static void *guest_run(void *context)
{
    static const struct comm_ops GUESTS = {.least = party_least,
                                           .broadcast = party_broadcast,
                                           .send = party_send,
                                           .receive = party_receive,
                                           .gather = party_gather,
                                           .host = party_host,
                                           .close = party_close};
    struct guest *g = context;
    gsv_ranks *r = NEW(gsv_ranks, 1);
    *r = (gsv_ranks){.rank = g->rank,
                     .count = g->party->count,
                     .ops = &GUESTS,
                     .self = g,
                     .first = NEW(size_t, g->party->count + 1)};
    g->act(r, g->user);
    return NULL;
}

/* Every one of so many ranks acts, and closes its ranks. */
static inline void ranks_act(size_t count,
                             void (*act)(gsv_ranks *r, void *user), void *user)
{
    struct party party = {.count = count};
    struct guest guest[RANKS_MOST];
    pthread_t thread[RANKS_MOST];
    pthread_barrier_init(&party.barrier, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            sem_init(&party.mail[i][j].full, 0, 0);
            sem_init(&party.mail[i][j].taken, 0, 0);
        }
    for (size_t i = 0; i < count; i++) {
        guest[i] = (struct guest){&party, i, act, user};
        assert_int_equal(pthread_create(&thread[i], NULL, guest_run, &guest[i]),
                         0);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&party.barrier);
}

#endif
