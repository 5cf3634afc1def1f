/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* --- Unfinished files ----------------------------------------------------- */

enum { DRAFTS = 8 };

static const int DEADLY[] = {SIGINT, SIGTERM, SIGHUP};

/* A name is set before a signal can end the command, and cleared after the file
 * is removed. */
static char draft[DRAFTS][4096];

/* Removes the files, then ends the command by the same signal. */
static void remove_drafts(int number)
{
    for (size_t i = 0; i < DRAFTS; i++)
        if (draft[i][0]) unlink(draft[i]);
    signal(number, SIG_DFL);
    raise(number);
}

static void clean_up_at_the_end(void)
{
    struct sigaction clean = {.sa_handler = remove_drafts}, now;
    sigemptyset(&clean.sa_mask);
    for (size_t i = 0; i < sizeof DEADLY / sizeof *DEADLY; i++)
        if (!sigaction(DEADLY[i], NULL, &now) && now.sa_handler == SIG_DFL)
            sigaction(DEADLY[i], &clean, NULL);
}

/* --- A fit ---------------------------------------------------------------- */

static const int WATCHED[] = {SIGINT, SIGTERM};

static volatile sig_atomic_t caught;

static void remember(int number)
{
    (void)number;
    caught = 1;
    for (size_t i = 0; i < sizeof WATCHED / sizeof *WATCHED; i++) {
        struct sigaction now;
        if (!sigaction(WATCHED[i], NULL, &now) && now.sa_handler == remember)
            signal(WATCHED[i], remove_drafts);
    }
}

/* An ignored signal stays ignored: a background job keeps running. */
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

/* --- Names ---------------------------------------------------------------- */

void signals_hold(bool hold)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof DEADLY / sizeof *DEADLY; i++)
        sigaddset(&set, DEADLY[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void signals_add(const char *name)
{
    size_t at = 0;
    while (at < DRAFTS && draft[at][0])
        at++;
    if (at == DRAFTS || strlen(name) >= sizeof *draft) return;
    memcpy(draft[at], name, strlen(name) + 1);
    clean_up_at_the_end();
}

void signals_drop(const char *name)
{
    for (size_t i = 0; i < DRAFTS; i++)
        if (!strcmp(draft[i], name)) draft[i][0] = 0;
}
