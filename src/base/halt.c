/* SPDX-License-Identifier: MIT */
#include "base/halt.h"

#include <stddef.h>

#include "base/error.h"

/* This thread's work, and whether it was lent by another thread. */
static _Thread_local struct halt *current;
static _Thread_local bool lent;

void halt_begin(struct halt *s, halt_question *ask, void *context)
{
    s->ask = ask;
    s->context = context;
    s->outer = current;
    atomic_init(&s->why, HALT_NOT);
    current = s;
}

void halt_end(struct halt *s)
{
    if (current == s) current = s->outer;
}

void halt_forget(struct halt *s)
{
    atomic_store(&s->why, HALT_NOT);
}

/* From the inside out. */
static enum halt_reason ask(struct halt *s)
{
    for (; s && s->ask; s = s->outer) {
        enum halt_reason why = (enum halt_reason)atomic_load(&s->why);
        if (!why) why = s->ask(s->context);
        if (why) return why;
    }
    return HALT_NOT;
}

/* The same without asking: what the thread that may ask has found. */
static enum halt_reason told(const struct halt *s)
{
    enum halt_reason why = HALT_NOT;
    for (; s && s->ask && !why; s = s->outer)
        why = (enum halt_reason)atomic_load(&s->why);
    return why;
}

/* Work that a thread begins inside of what it was lent does not ask, either. */
bool halt_asked(void)
{
    if (!current || !current->ask) return false;
    if (!atomic_load(&current->why)) {
        enum halt_reason why = lent ? told(current) : ask(current);
        if (why) atomic_store(&current->why, why);
    }
    return atomic_load(&current->why) != HALT_NOT;
}

enum halt_reason halt_reason(void)
{
    if (!current || !current->ask) return HALT_NOT;
    return (enum halt_reason)atomic_load(&current->why);
}

int halt_status(void)
{
    enum halt_reason why = halt_reason();
    if (!why) return 0;
    return fail(GSV_STOPPED, why == HALT_BY_TIME ? "the time limit ended it"
                                                 : "the caller stopped it");
}

void halt_tell(enum halt_reason why)
{
    if (current && current->ask) atomic_store(&current->why, why);
}

struct halt *halt_current(void)
{
    return current;
}

void halt_lend(struct halt *s)
{
    if (current == s) return;
    current = s;
    lent = s != NULL;
}

/* --- The caller's ----------------------------------------------------------
 */

/* What a thread asks during all of its calls. */
struct asked {
    struct halt halt;
    bool (*question)(void *user);
    void *user;
};

static enum halt_reason ask_caller(void *context)
{
    const struct asked *a = context;
    return a->question(a->user) ? HALT_BY_CALLER : HALT_NOT;
}

/* Deeper questions are not asked; those around them are. */
enum { DEEPEST = 16 };

void gsv_stop_when(bool (*question)(void *user), void *user)
{
    static _Thread_local struct asked asked[DEEPEST];
    static _Thread_local size_t depth;
    if (!question) {
        if (depth && --depth < DEEPEST) halt_end(&asked[depth].halt);
        return;
    }
    if (depth < DEEPEST) {
        struct asked *a = &asked[depth];
        a->question = question;
        a->user = user;
        halt_begin(&a->halt, ask_caller, a);
    }
    depth++;
}
