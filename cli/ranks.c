/* SPDX-License-Identifier: MIT */
/* Several ranks of the command, started by mpirun or srun. Verbs that estimate
 * divide their work; the first rank runs all other verbs alone. Only the first
 * rank writes files and messages, and its exit code is that of the job. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

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
        "work: noisy observations are divided among ranks only with "
        "--observe conjugate or variational; start one rank with more "
        "--threads\n",
        count);
}

bool ranks_needed(const struct verb *verb)
{
    size_t rank, count;
    gsv_ranks_launched(&rank, &count);
    return !rank || verb->spread;
}

/* Messages of all ranks except the first are dropped. If one of them fails, the
 * first rank gets its message from gsv_loglik() and similar functions. */
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
                            "rank can read; give a file",
                            a->files.word[i]);
    return 0;
}

/* The status for the other ranks. */
static int status_of(int code)
{
    return code == EXIT_INPUT     ? GSV_BAD_INPUT
           : code == EXIT_NUMBERS ? GSV_NUMERICAL
                                  : GSV_OK;
}

static int run_verb(const struct verb *verb, const struct args *a)
{
    int code = ranks_writes(a) ? check_clashes(verb, a) : 0;
    if (!code && ranks_writes(a)) code = check_targets(verb, a);
    if (code || verb->many) return code ? code : verb->run(a, NULL);
    gsv_model *m = open_model(a, a->model);
    if (!m) return EXIT_INPUT;
    code = verb->run(a, m);
    gsv_model_free(m);
    return code;
}

int ranks_run(const struct verb *verb, struct args *a)
{
    size_t rank, count;
    gsv_ranks_launched(&rank, &count);
    if (!verb->spread || count < 2) return run_verb(verb, a);
    if (check_files(a)) return EXIT_INPUT;
    /* The other ranks cannot be told; the launcher must end them. */
    if (gsv_ranks_open(&a->ranks)) exit(complain_last());
    int code = run_verb(verb, a);
    int status = gsv_ranks_close(a->ranks, status_of(code));
    a->ranks = NULL;
    return status && !status_of(code) ? complain_last() : code;
}
