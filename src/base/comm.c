/* SPDX-License-Identifier: MIT */
/* One process alone, or several ranks. MPI is loaded only if a launcher has
 * started several ranks: loading it takes longer than most commands run
 * (docs/SCALING.md). */
#include "base/comm.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/halt.h"
#include "base/memory.h"

size_t gsv_ranks_rank(const gsv_ranks *r)
{
    return r ? r->rank : 0;
}

size_t gsv_ranks_count(const gsv_ranks *r)
{
    return r ? r->count : 1;
}

/* --- Starting ----------------------------------------------------------- */

/* The variables by which launchers give a process its rank and their number.
 * The variables of Slurm itself are not used: a script that runs once has them,
 * too. */
static const struct {
    const char *rank, *count;
} LAUNCHERS[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMI_RANK", "PMI_SIZE"},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};

static size_t number_of(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

void gsv_ranks_launched(size_t *rank, size_t *count)
{
    if (ANY_NULL(rank, count)) return;
    *rank = 0;
    *count = 1;
    for (size_t i = 0; i < sizeof LAUNCHERS / sizeof *LAUNCHERS; i++) {
        if (!getenv(LAUNCHERS[i].rank)) continue;
        *rank = number_of(LAUNCHERS[i].rank, 0);
        *count = number_of(LAUNCHERS[i].count, 2);
        return;
    }
}

static int load(gsv_ranks *r, size_t count)
{
    r->module = dlopen(COMM_MODULE, RTLD_NOW | RTLD_GLOBAL);
    comm_entry *entry = NULL;
    if (r->module) *(void **)&entry = dlsym(r->module, COMM_ENTRY);
    if (!entry)
        return fail(GSV_BAD_INPUT,
                    "started %zu times by MPI, but " COMM_MODULE " cannot be "
                    "loaded (%s): build Girsanov where MPI is installed, or "
                    "start it once",
                    count, dlerror());
    return entry(r);
}

enum gsv_status gsv_ranks_open(gsv_ranks **ranks)
{
    if (ANY_NULL(ranks)) return GSV_BAD_INPUT;
    size_t rank, count;
    *ranks = NULL;
    gsv_ranks_launched(&rank, &count);
    if (count < 2) return 0;
    gsv_ranks *r = NEW(gsv_ranks, 1);
    int status = r ? load(r, count) : GSV_NO_MEMORY;
    if (!status) {
        r->first = NEW(size_t, r->count + 1);
        if (!r->first) status = GSV_NO_MEMORY;
    }
    *ranks = r;
    return status;
}

/* --- Agreeing ----------------------------------------------------------- */

/* What a rank brings to a meeting; its own number if it has failed. */
enum { CLOSING, RUNNING };

struct report {
    int status;
    char text[1024];
};

/* The sentence of the first rank that failed, to all. Numbers are the same on
 * all ranks, so that this is not a failure of them, and nobody tries others. */
static int hear(gsv_ranks *r, size_t from, int status)
{
    struct report report = {status == GSV_NUMERICAL ? GSV_NO_MEMORY : status,
                            ""};
    r->failed = true;
    if (from == r->rank)
        strncat(report.text, gsv_last_error(), sizeof report.text - 1);
    r->ops->broadcast(r->self, from, sizeof report, &report);
    return status ? status
                  : fail((enum gsv_status)report.status, "rank %zu of %zu: %s",
                         from, r->count,
                         report.text[0] ? report.text : "it has failed");
}

static int agree(gsv_ranks *r, size_t stage, int status)
{
    if (gsv_ranks_count(r) < 2 || r->failed) return status;
    size_t mine = status ? r->rank : r->count + stage;
    size_t least = r->ops->least(r->self, mine);
    if (least < r->count) return hear(r, least, status);
    if (least - r->count == stage) return 0;
    r->failed = true;
    return fail(GSV_BAD_INPUT, "a rank has ended while others are still "
                               "working: all ranks must make the same calls");
}

int comm_meet(gsv_ranks *r)
{
    if (r && r->failed)
        return fail(GSV_BAD_INPUT,
                    "the ranks cannot be used: one of them failed before");
    return agree(r, RUNNING, 0);
}

int comm_same(gsv_ranks *r, int status)
{
    if (gsv_ranks_count(r) < 2) return status;
    struct report report = {status, ""};
    if (status) strncat(report.text, gsv_last_error(), sizeof report.text - 1);
    int met = comm_meet(r);
    if (met) return met;
    size_t from = r->ops->least(r->self, status ? r->rank : r->count);
    if (from == r->count) return 0;
    r->ops->broadcast(r->self, from, sizeof report, &report);
    return fail((enum gsv_status)report.status, "%s", report.text);
}

int comm_stop(gsv_ranks *r)
{
    unsigned why = (unsigned)halt_reason();
    int status = comm_most(r, &why);
    if (status) return status;
    if (!why) return 0;
    halt_tell((enum halt_reason)why);
    status = halt_status();
    return status ? status : fail(GSV_STOPPED, "another rank was stopped");
}

int comm_most(gsv_ranks *r, unsigned *answer)
{
    int status = comm_meet(r);
    if (gsv_ranks_count(r) < 2 || status) return status;
    *answer = UINT_MAX - (unsigned)r->ops->least(r->self, UINT_MAX - *answer);
    return 0;
}

enum gsv_status gsv_ranks_close(gsv_ranks *r, int status)
{
    if (!r) return status;
    if (r->ops) {
        status = agree(r, CLOSING, status);
        r->ops->close(r->self);
    }
    mem_free(r->first);
    mem_free(r);
    return status;
}

/* --- Numbers ------------------------------------------------------------ */

void comm_send(gsv_ranks *r, size_t to, size_t n, const double *data)
{
    r->ops->send(r->self, to, n * sizeof *data, data);
}

void comm_receive(gsv_ranks *r, size_t from, size_t n, double *data)
{
    r->ops->receive(r->self, from, n * sizeof *data, data);
}

void comm_broadcast(gsv_ranks *r, size_t n, double *data)
{
    r->ops->broadcast(r->self, 0, n * sizeof *data, data);
}

void comm_hosts(gsv_ranks *r, size_t *host)
{
    host[r->rank] = r->ops->host(r->self);
    for (size_t i = 0; i <= r->count; i++)
        r->first[i] = i;
    comm_gather(r, sizeof *host, host);
}

void comm_collect(gsv_ranks *r, size_t size, void *data)
{
    for (size_t i = 1; i < r->count; i++) {
        char *at = (char *)data + r->first[i] * size;
        size_t bytes = (r->first[i + 1] - r->first[i]) * size;
        if (r->rank == i) r->ops->send(r->self, 0, bytes, at);
        if (!r->rank) r->ops->receive(r->self, i, bytes, at);
    }
}

void comm_gather(gsv_ranks *r, size_t size, void *data)
{
    for (size_t i = 0; i <= r->count; i++)
        r->first[i] *= size;
    r->ops->gather(r->self, r->first, data);
}
