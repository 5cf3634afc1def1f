/* SPDX-License-Identifier: MIT */
/* Work that can be stopped. Who begins some work registers a question, `ask`.
 * Long loops in that work call halt_asked() from time to time and return early
 * if the answer is a reason to stop. Their partial results are not used, and
 * all callers fail with GSV_STOPPED. */
#ifndef BASE_HALT_H
#define BASE_HALT_H

#include <stdatomic.h>
#include <stdbool.h>

/* Why work is stopped. */
enum halt_reason { HALT_NOT, HALT_BY_TIME, HALT_BY_CALLER };

typedef enum halt_reason halt_question(void *context);

struct halt {
    halt_question *ask; /* NULL: nothing is asked, not even of outer work */
    void *context;
    atomic_uint why; /* the answer; after a reason nobody asks again    */
    struct halt *outer;
};

/* Between these two calls, this thread asks s, and the work that was begun
 * before; or, where ask is NULL, nobody. s must not move in memory. */
void halt_begin(struct halt *s, halt_question *ask, void *context);
void halt_end(struct halt *s);

/* Forgets the answer. */
void halt_forget(struct halt *s);

/* Whether to stop. The thread that began the work asks; threads that work for
 * it read its answer. */
bool halt_asked(void);

/* The same without asking: the reason, and a status with its message. */
enum halt_reason halt_reason(void);
int halt_status(void);

/* Sets the answer, as that of another rank. */
void halt_tell(enum halt_reason why);

/* For threads that work on behalf of another: its current work, which they use
 * as theirs, and NULL or their own work afterwards. */
struct halt *halt_current(void);
void halt_lend(struct halt *s);

#endif
