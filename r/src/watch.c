/* SPDX-License-Identifier: MIT */
/* Interrupts and progress. R leaves a function by a long jump, which must not
 * pass through the library: jumps are caught here, the library ends its call,
 * and the jump goes on after it. */
#include <R_ext/Utils.h>
#include <setjmp.h>

#include "package.h"

/* The call that is watched, and the one that has called R. R has one thread. */
static struct watch *now, *calling;

static void ask(void *unused)
{
    (void)unused;
    R_CheckUserInterrupt();
}

/* An interrupt is heard by the innermost call, and ends that alone. */
bool watch_stop(void *watch)
{
    struct watch *w = watch;
    if (w == now && !w->interrupted && !w->jumped && !R_ToplevelExec(ask, NULL))
        w->interrupted = true;
    return w->interrupted || w->jumped;
}

void watch_begin(struct watch *w, SEXP progress)
{
    *w = (struct watch){.progress = progress, .outer = calling};
    w->unwind = PROTECT(R_MakeUnwindCont());
    now = w;
    calling = NULL;
    gsv_stop_when(watch_stop, w);
}

void watch_end(struct watch *w)
{
    now = calling = w->outer;
    gsv_stop_when(NULL, NULL);
    UNPROTECT(1);
    if (w->jumped) R_ContinueUnwind(w->unwind);
}

struct call {
    SEXP function;
    const gsv_progress *now;
};

static SEXP tell(void *data)
{
    const struct call *c = data;
    SEXP now = PROTECT(as_list("gsv_progress", c->now));
    SEXP call = PROTECT(Rf_lang2(c->function, now));
    SEXP answer = Rf_eval(call, R_GlobalEnv);
    UNPROTECT(2);
    return answer;
}

static void leave(void *jump, Rboolean jumped)
{
    if (jumped) longjmp(*(jmp_buf *)jump, 1);
}

bool watch_call(SEXP (*body)(void *), void *data, SEXP *answer)
{
    struct watch *w = now;
    jmp_buf jump;
    if (!w || w->jumped) return false;
    if (setjmp(jump)) {
        now = w;
        calling = NULL;
        w->jumped = true;
        return false;
    }
    calling = w;
    *answer = R_UnwindProtect(body, data, leave, &jump, w->unwind);
    calling = NULL;
    return true;
}

bool watch_progress(void *watch, const gsv_progress *p)
{
    struct watch *w = watch;
    if (Rf_isNull(w->progress)) return false;
    struct call c = {w->progress, p};
    SEXP answer;
    if (!watch_call(tell, &c, &answer)) return true;
    w->ended = TYPEOF(answer) == LGLSXP && XLENGTH(answer) == 1 &&
               LOGICAL(answer)[0] == 0;
    return w->ended;
}
