/* SPDX-License-Identifier: MIT */
/* Operations that move elements between shapes, and the two that mix all of
 * them: sum and softmax. */
#include <math.h>
#include <string.h>

#include "base/fast.h"
#include "graph/op_rows.h"

/* y[i] += x[i] over n numbers. */
FAST static void add(size_t n, const double *restrict x, double *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

/* *y += the sum of x over n numbers. */
FAST static void sum_to(size_t n, const double *x, double *y)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *y += sum;
}

/* Forward and jvp of an operation that is linear in its first input: both are
 * NAME_rows(a, x, y), which writes the rows y from the rows x. */
#define LINEAR(NAME)                                                           \
    void NAME##_forward(const struct apply *a)                                 \
    {                                                                          \
        NAME##_rows(a, a->in[0].value, a->out.value);                          \
    }                                                                          \
    void NAME##_jvp(const struct apply *a)                                     \
    {                                                                          \
        NAME##_rows(a, a->in[0].dot, a->out.dot);                              \
    }

/* --- fill: a scalar in every element ------------------------------------ */

static void fill_rows(const struct apply *a, const double *x, double *y)
{
    for (size_t r = 0; r < a->out.size; r++)
        memcpy(y + r * a->P, x, a->P * sizeof *y);
}

LINEAR(fill)

void fill_vjp(const struct apply *a)
{
    if (!a->in[0].bar) return;
    for (size_t r = 0; r < a->out.size; r++)
        add(a->P, a->out.bar + r * a->P, a->in[0].bar);
}

/* --- sum of all elements ------------------------------------------------ */

static void sum_rows(const struct apply *a, const double *x, double *y)
{
    memset(y, 0, a->P * sizeof *y);
    for (size_t r = 0; r < a->in[0].size; r++)
        add(a->P, x + r * a->P, y);
}

LINEAR(sum)

void sum_vjp(const struct apply *a)
{
    if (!a->in[0].bar) return;
    for (size_t r = 0; r < a->in[0].size; r++)
        add(a->P, a->out.bar, a->in[0].bar + r * a->P);
}

/* --- softmax: y_r = exp(x_r) / sum_s exp(x_s) --------------------------- */

void softmax_forward(const struct apply *a)
{
    size_t n = a->out.size, P = a->P;
    const double *x = a->in[0].value;
    double *y = a->out.value;
    for (size_t i = 0; i < P; i++) {
        double most = x[i], sum = 0.0;
        for (size_t r = 1; r < n; r++)
            most = fmax(most, x[r * P + i]);
        for (size_t r = 0; r < n; r++)
            sum += y[r * P + i] = exp(x[r * P + i] - most);
        for (size_t r = 0; r < n; r++)
            y[r * P + i] /= sum;
    }
}

/* The Jacobian diag(y) - y y' is symmetric, so vjp and jvp are one product. */
static void softmax_product(const struct apply *a, const double *v, double *w,
                            bool keep)
{
    size_t n = a->out.size, P = a->P;
    const double *y = a->out.value;
    for (size_t i = 0; i < P; i++) {
        double mean = 0.0;
        for (size_t r = 0; r < n; r++)
            mean += y[r * P + i] * v[r * P + i];
        for (size_t r = 0; r < n; r++) {
            size_t j = r * P + i;
            w[j] = (keep ? w[j] : 0.0) + y[j] * (v[j] - mean);
        }
    }
}

void softmax_vjp(const struct apply *a)
{
    if (a->in[0].bar) softmax_product(a, a->out.bar, a->in[0].bar, true);
}

void softmax_jvp(const struct apply *a)
{
    softmax_product(a, a->in[0].dot, a->out.dot, false);
}

/* --- pad: zeros around -------------------------------------------------- */

static void pad_rows(const struct apply *a, const double *x, double *y)
{
    size_t P = a->P;
    memset(y, 0, a->out.size * P * sizeof *y);
    memcpy(y + a->info->offset * P, x, a->in[0].size * P * sizeof *y);
}

LINEAR(pad)

void pad_vjp(const struct apply *a)
{
    if (a->in[0].bar)
        add(a->in[0].size * a->P, a->out.bar + a->info->offset * a->P,
            a->in[0].bar);
}

/* --- stack: inputs below each other; a uniform one goes to all points ---- */

static double *copy_rows(const struct operand *o, size_t P, const double *x,
                         double *y)
{
    for (size_t r = 0; r < o->size; r++, y += P) {
        if (!x) memset(y, 0, P * sizeof *y);
        else if (o->step) memcpy(y, x + r * P, P * sizeof *y);
        else
            for (size_t i = 0; i < P; i++)
                y[i] = x[r];
    }
    return y;
}

void stack_forward(const struct apply *a)
{
    double *y = a->out.value;
    for (size_t j = 0; j < a->info->inputs; j++)
        y = copy_rows(&a->in[j], a->P, a->in[j].value, y);
}

void stack_vjp(const struct apply *a)
{
    const double *bar = a->out.bar;
    for (size_t j = 0; j < a->info->inputs; j++) {
        const struct operand *o = &a->in[j];
        for (size_t r = 0; r < o->size; r++, bar += a->P) {
            if (!o->bar) continue;
            if (o->step) add(a->P, bar, o->bar + r * a->P);
            else sum_to(a->P, bar, &o->bar[r]);
        }
    }
}

void stack_jvp(const struct apply *a)
{
    double *y = a->out.dot;
    for (size_t j = 0; j < a->info->inputs; j++)
        y = copy_rows(&a->in[j], a->P, a->in[j].dot, y);
}

/* --- transpose ---------------------------------------------------------- */

static void transpose_rows(const struct apply *a, const double *x, double *y)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t c = 0; c < a->columns; c++)
            memcpy(y + (c * a->rows + r) * a->P,
                   x + (r * a->columns + c) * a->P, a->P * sizeof *y);
}

LINEAR(transpose)

void transpose_vjp(const struct apply *a)
{
    if (!a->in[0].bar) return;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t c = 0; c < a->columns; c++)
            add(a->P, a->out.bar + (c * a->rows + r) * a->P,
                a->in[0].bar + (r * a->columns + c) * a->P);
}

/* --- gather and scatter: y_k = x[index k], and y[index k] += x_k --------- */

static size_t place(const struct apply *a, size_t k)
{
    return (size_t)a->in[1].value[k] * a->P;
}

static void gather_rows(const struct apply *a, const double *x, double *y)
{
    for (size_t k = 0; k < a->out.size; k++)
        memcpy(y + k * a->P, x + place(a, k), a->P * sizeof *y);
}

LINEAR(gather)

void gather_vjp(const struct apply *a)
{
    for (size_t k = 0; a->in[0].bar && k < a->out.size; k++)
        add(a->P, a->out.bar + k * a->P, a->in[0].bar + place(a, k));
}

static void scatter_rows(const struct apply *a, const double *x, double *y)
{
    memset(y, 0, a->out.size * a->P * sizeof *y);
    for (size_t k = 0; k < a->in[0].size; k++)
        add(a->P, x + k * a->P, y + place(a, k));
}

LINEAR(scatter)

void scatter_vjp(const struct apply *a)
{
    for (size_t k = 0; a->in[0].bar && k < a->in[0].size; k++)
        add(a->P, a->out.bar + place(a, k), a->in[0].bar + k * a->P);
}

/* --- choose: y = x[k - 1], with another k at each point ---------------------
 */

/* Where the element of point i stands among the values; false: there is none.
 */
static bool picked(const struct apply *a, size_t i, size_t *at)
{
    const struct operand *x = &a->in[0], *index = &a->in[1];
    double k = floor(index->value[index->step ? i : 0]);
    if (!(k >= 1.0 && k <= (double)x->size)) return false;
    *at = ((size_t)k - 1) * (x->step ? a->P : 1) + (x->step ? i : 0);
    return true;
}

static void choose_rows(const struct apply *a, const double *x, double none,
                        double *y)
{
    size_t at;
    for (size_t i = 0; i < a->P; i++)
        y[i] = picked(a, i, &at) ? x ? x[at] : 0.0 : none;
}

void choose_forward(const struct apply *a)
{
    choose_rows(a, a->in[0].value, NAN, a->out.value);
}

void choose_vjp(const struct apply *a)
{
    size_t at;
    for (size_t i = 0; a->in[0].bar && i < a->P; i++)
        if (picked(a, i, &at)) a->in[0].bar[at] += a->out.bar[i];
}

void choose_jvp(const struct apply *a)
{
    choose_rows(a, a->in[0].dot, 0.0, a->out.dot);
}
