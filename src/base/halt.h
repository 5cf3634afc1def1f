/* SPDX-License-Identifier: MIT */
/* Work that can be told to end. Whoever begins some says what is to be asked;
 * whatever takes long below it, wherever it is, asks now and then and leaves:
 * lanes between their shares and items, others in their own loops. What they
 * have made by then is worth nothing, and all fail with GSV_STOPPED. */
#ifndef BASE_HALT_H
#define BASE_HALT_H

#include <stdatomic.h>
#include <stdbool.h>

/* Why work is left where it is. */
enum halt_reason { HALT_NOT, HALT_BY_TIME, HALT_BY_CALLER };

typedef enum halt_reason halt_question(void *context);

struct halt {
    halt_question *ask; /* NULL: nothing is asked, not even further out */
    void *context;
    atomic_uint why; /* what was said: once it is, nobody asks again */
    struct halt *outer;
};

/* From here on, and until its end, this thread's work is asked about; work that
 * was begun before is asked as well. s must stay where it is. */
void halt_begin(struct halt *s, halt_question *ask, void *context);
void halt_end(struct halt *s);

/* Forgets what was said. */
void halt_forget(struct halt *s);

/* Whether to leave. The thread that began asks; those that work for it find out
 * by what it was told. */
bool halt_asked(void);

/* The same without asking: why, and as a status, with its sentence. */
enum halt_reason halt_reason(void);
int halt_status(void);

/* What others were told, such as another rank. */
void halt_tell(enum halt_reason why);

/* For threads that work on behalf of another: the work that it is at, which
 * they take over, and give back. */
struct halt *halt_current(void);
void halt_lend(struct halt *s);

#endif
