/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static const int WATCHED[] = {SIGINT, SIGTERM};

static volatile sig_atomic_t caught;

static void remember(int number)
{
    (void)number;
    caught = 1;
    for (size_t i = 0; i < sizeof WATCHED / sizeof *WATCHED; i++) {
        struct sigaction now;
        if (!sigaction(WATCHED[i], NULL, &now) && now.sa_handler == remember)
            signal(WATCHED[i], SIG_DFL);
    }
}

/* What is ignored stays so: a job in the background keeps running. */
void signals_watch(void)
{
    struct sigaction watch = {.sa_handler = remember, .sa_flags = SA_RESTART};
    sigemptyset(&watch.sa_mask);
    for (size_t i = 0; i < sizeof WATCHED / sizeof *WATCHED; i++) {
        struct sigaction now;
        if (!sigaction(WATCHED[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaction(WATCHED[i], &watch, NULL);
    }
}

bool signals_caught(void)
{
    return caught;
}
