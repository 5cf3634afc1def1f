/* SPDX-License-Identifier: MIT */
#include "bridge/weigh.h"

#include <string.h>

#include "bridge/rows.h"
#include "bridge/weigh_forms.h"

size_t weigh_scratch(size_t d, size_t K)
{
    return SCRATCH_ROWS * d * K + K;
}

static const struct form_row {
    void (*weigh)(const struct slice *s, double *S, double *S2);
    void (*vjp)(const struct slice *s, const struct slice_bar *bar);
} FORMS[] = {
    [GSV_FORM_ITO] = {weigh_ito, weigh_ito_vjp},
    [GSV_FORM_MIDPOINT] = {weigh_midpoint, weigh_midpoint_vjp},
    [GSV_FORM_STRATONOVICH] = {weigh_stratonovich, weigh_stratonovich_vjp},
};

/* Without a linear part there is nothing to multiply by matrices. */
static const struct form_row BROWNIAN = {weigh_brownian, weigh_brownian_vjp};

static const struct form_row *row_of(const struct slice *s)
{
    bool plain = s->reference->kind == GSV_REFERENCE_BROWNIAN &&
                 s->form != GSV_FORM_STRATONOVICH;
    return plain ? &BROWNIAN : &FORMS[s->form];
}

void weigh(const struct slice *s, double *S, double *S2)
{
    row_of(s)->weigh(s, S, S2);
}

void weigh_vjp(const struct slice *s, const struct slice_bar *bar)
{
    row_of(s)->vjp(s, bar);
}

/* What the forms share ---------------------------------------------------- */

void slice_reference(const struct slice *s, size_t step, const double *Y,
                     size_t ld, double *l)
{
    const struct reference *r = s->reference;
    size_t d = r->d, m = s->first + step;
    if (r->kind == GSV_REFERENCE_BROWNIAN) {
        memset(l, 0, d * s->K * sizeof *l);
        return;
    }
    rows_times(d, s->K, r->A + m * d * d, false, Y, ld, r->b + m * d, false, l,
               s->K);
}

void slice_reference_vjp(const struct slice *s, size_t step,
                         const double *l_bar, double *Y_bar, size_t ld,
                         struct reference_bar *bar)
{
    const struct reference *r = s->reference;
    size_t d = r->d, m = s->first + step;
    if (r->kind == GSV_REFERENCE_BROWNIAN) return;
    rows_times(d, s->K, r->A + m * d * d, true, l_bar, s->K, NULL, true, Y_bar,
               ld);
    rows_sum(d, s->K, 1.0, l_bar, s->K, bar->b + m * d);
}

void clear_rows(size_t d, size_t n, double *x, size_t ld)
{
    for (size_t i = 0; i < d; i++)
        memset(x + i * ld, 0, n * sizeof *x);
}
