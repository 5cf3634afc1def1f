/* SPDX-License-Identifier: MIT */
/* The command started several times by mpirun or srun. Verbs that estimate
 * share the work; of all others the first rank does all of it. The first one
 * alone writes and says anything, and its exit code is that of the job. */
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

bool ranks_writes(const struct args *a)
{
    return !gsv_ranks_rank(a->ranks);
}

void say_shared(const struct args *a, const gsv_model *m, const gsv_options *o)
{
    size_t count = gsv_ranks_count(a->ranks);
    if (a->quiet || count < 2 || gsv_ranks_share(m, o)) return;
    say(stderr,
        "note: %zu ranks were started, but each of them does all of the "
        "work: ranks do not share noisy observations, but where --observe "
        "is conjugate or variational; start it once, with more --threads\n",
        count);
}

bool ranks_needed(const struct verb *verb)
{
    size_t rank, count;
    gsv_ranks_launched(&rank, &count);
    return !rank || verb->spread;
}

/* What a rank but the first one says is lost; where it fails alone, the first
 * one hears it from gsv_loglik() and the like. */
void ranks_hush(void)
{
    size_t rank, count;
    gsv_ranks_launched(&rank, &count);
    if (!rank || count < 2) return;
    if (!freopen("/dev/null", "w", stdout)) return;
    if (!freopen("/dev/null", "w", stderr)) return;
}

int ranks_end(int code)
{
    size_t rank, count;
    gsv_ranks_launched(&rank, &count);
    return rank && count > 1 ? EXIT_DONE : code;
}

static int check_files(const struct args *a)
{
    for (size_t i = 0; i < a->files.count; i++)
        if (is_stream(a->files.word[i]))
            return complain(EXIT_INPUT,
                            "'%s' is standard input or a pipe, which only one "
                            "rank can read: give a file",
                            a->files.word[i]);
    return 0;
}

/* Of an exit code, what the other ranks must know. */
static int status_of(int code)
{
    return code == EXIT_INPUT     ? GSV_BAD_INPUT
           : code == EXIT_NUMBERS ? GSV_NUMERICAL
                                  : GSV_OK;
}

int ranks_run(const struct verb *verb, struct args *a)
{
    size_t rank, count;
    gsv_ranks_launched(&rank, &count);
    if (!verb->spread || count < 2) {
        int code = check_clashes(verb, a);
        return code ? code : verb->run(a);
    }
    if (check_files(a)) return EXIT_INPUT;
    /* Without the others there is no way to tell them: the launcher must. */
    if (gsv_ranks_open(&a->ranks)) exit(complain_last());
    int code = ranks_writes(a) ? check_clashes(verb, a) : 0;
    if (!code) code = verb->run(a);
    int status = gsv_ranks_close(a->ranks, status_of(code));
    a->ranks = NULL;
    return status && !status_of(code) ? complain_last() : code;
}
