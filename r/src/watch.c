/* SPDX-License-Identifier: MIT */
/* Interrupts and progress. R leaves a function by a long jump, which must not
 * pass through the library: jumps are caught here, the library ends its call,
 * and the jump goes on after it. */
#include <R_ext/Utils.h>
#include <setjmp.h>

#include "package.h"

static void ask(void *unused)
{
    (void)unused;
    R_CheckUserInterrupt();
}

bool watch_stop(void *watch)
{
    struct watch *w = watch;
    if (!w->interrupted && !w->jumped && !R_ToplevelExec(ask, NULL))
        w->interrupted = true;
    return w->interrupted || w->jumped;
}

void watch_begin(struct watch *w, SEXP progress)
{
    *w = (struct watch){.progress = progress};
    w->unwind = PROTECT(R_MakeUnwindCont());
    gsv_stop_when(watch_stop, w);
}

void watch_end(struct watch *w)
{
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

bool watch_progress(void *watch, const gsv_progress *p)
{
    struct watch *w = watch;
    if (Rf_isNull(w->progress)) return false;
    struct call c = {w->progress, p};
    jmp_buf jump;
    if (setjmp(jump)) {
        w->jumped = true;
        return true;
    }
    SEXP answer = R_UnwindProtect(tell, &c, leave, &jump, w->unwind);
    w->ended = TYPEOF(answer) == LGLSXP && XLENGTH(answer) == 1 &&
               LOGICAL(answer)[0] == 0;
    return w->ended;
}
