/* SPDX-License-Identifier: MIT */
/* What the files of the R package share. */
#ifndef GIRSANOV_PACKAGE_H
#define GIRSANOV_PACKAGE_H

#include <girsanov.h>
#include <stdbool.h>
#include <stddef.h>

#define R_NO_REMAP
#include <Rinternals.h>

/* --- Structs as tables (header.c) ----------------------------------------- */

enum kind { NUMBER, COUNT, TRUTH, WIDE, WORD, BITS, ENUM, TEXT, STRUCT };

struct word {
    const char *text;
    int value;
};

/* The size of an axis: a constant, or the count at this place of the struct, or
 * of the struct around it, plus more. */
struct axis {
    size_t constant, at, more;
    bool outside;
};

enum { AXES = 4 };

struct field {
    const char *name;
    size_t at;
    enum kind kind;
    bool pointer; /* to the array; else it is inside the struct */
    int rank;     /* 0: a scalar                                */
    struct axis axis[AXES];
    const struct word *words; /* of an enum           */
    const char *of;           /* of a struct: its name */
};

struct table {
    const char *name;
    size_t size;
    const struct field *field;
};
extern const struct table TABLES[];

/* --- Lists (lists.c) ------------------------------------------------------ */

/* A struct as a list by the names of its fields. Enums are words; an array has
 * its axes reversed: C's (columns, rows) is R's (rows, columns). */
SEXP as_list(const char *name, const void *structure);
SEXP as_texts(size_t n, const char *const *text);
SEXP list_get(SEXP list, const char *name); /* or NULL */

/* --- Memory and failure (memory.c) ---------------------------------------- */

/* Zeroed memory that R frees, after `empty` of it, even if an error jumps. */
void *boxed(size_t size, void (*empty)(void *), SEXP *box);
void box_close(SEXP box); /* at once */

/* An external pointer to a model or a series, which frees it. */
SEXP own_model(gsv_model *m);
SEXP own_series(gsv_series *s, SEXP keep);
gsv_model *model_of(SEXP pointer);
gsv_series *series_of(SEXP pointer); /* NULL of NULL */

/* The library's last failure as an R condition. */
_Noreturn void raise_failure(void);
void check(enum gsv_status status);
_Noreturn void raise_as(const char *kind, const char *sentence);

/* Texts in UTF-8, as long as the call lasts. */
const char *text_of(SEXP x);
const char *const *texts_of(SEXP x);

/* --- Options (options.c) -------------------------------------------------- */

/* Sets fields of a struct of options from a named list. `verb` is the name of
 * the function for messages. */
void set_options(SEXP given, enum gsv_option_struct of, enum gsv_use use,
                 const char *verb, void *options);

/* --- Interrupts (watch.c) ------------------------------------------------- */

struct watch {
    SEXP progress;    /* a function, or R_NilValue    */
    bool interrupted; /* by the user                  */
    bool ended;       /* by the function              */
    SEXP unwind;      /* token of a jump out of it    */
    bool jumped;
    struct watch *outer; /* a call from a function of R */
};

/* Asks for interrupts during the library's calls, until the end. */
void watch_begin(struct watch *w, SEXP progress);
void watch_end(struct watch *w);
bool watch_stop(void *watch);
bool watch_progress(void *watch, const gsv_progress *p);

/* Calls R during a call of the library; false after a jump out of it, which
 * goes on when the library's call has ended. */
bool watch_call(SEXP (*body)(void *), void *data, SEXP *answer);

#endif
