/* SPDX-License-Identifier: MIT */
/* A function of the caller, f(x; p), and its derivative along a direction u.
 * What the caller does not give, jvp or vjp, is made of central differences; so
 * are second derivatives, of what the caller gives. */
#include <math.h>

#include "girsanov.h"
#include "graph/op_rows.h"

/* Relative to x; balances rounding against curvature. The second one is for
 * differences of differences. */
static const double STEP = 6e-6, OUTER_STEP = 2e-4;

/* One block, with its arrays in scratch. */
struct call {
    const gsv_callback *c;
    const double *p; /* (parameters), or NULL */
    size_t P, inputs, outputs;
    double *x;     /* (inputs, P) the argument                          */
    double *u;     /* (inputs, P) of OP_CALL_SLOPE: the direction       */
    double *near;  /* (inputs, P) a place near x                        */
    double *moved; /* (inputs, P) one near that                         */
    double *f;     /* (outputs, P)                                      */
    double *f_bar; /* (outputs, P)                                      */
    double *outer; /* (P) steps to near                                 */
    double *step;  /* (P) steps to moved                                */
    double *own;   /* (parameters) moved ones                           */
};

size_t call_scratch(const struct apply *a)
{
    size_t inputs = a->rows * a->columns;
    size_t parameters = a->call ? a->call->parameters : 0;
    return ((4 * inputs + 2 * a->out.size + 2) * a->P + parameters) *
           sizeof(double);
}

/* A uniform operand again at every point. */
static void spread(const struct operand *from, const double *value, size_t P,
                   double *to)
{
    for (size_t i = 0; i < from->size; i++)
        for (size_t k = 0; k < P; k++)
            to[i * P + k] = value[from->step ? i * P + k : i];
}

/* And its gradient from that of all points. */
static void gather_bar(const struct operand *to, const double *bar, size_t P)
{
    for (size_t i = 0; i < to->size; i++)
        for (size_t k = 0; k < P; k++)
            to->bar[to->step ? i * P + k : i] += bar[i * P + k];
}

/* Input 0 is x, then u where it is a slope, then the parameters. */
static struct call begin(const struct apply *a, bool slope)
{
    size_t P = a->P, d = a->in[0].size, n = a->out.size;
    struct call c = {.c = a->call, .P = P, .inputs = d, .outputs = n};
    c.x = a->scratch;
    c.u = c.x + d * P;
    c.near = c.u + d * P;
    c.moved = c.near + d * P;
    c.f = c.moved + d * P;
    c.f_bar = c.f + n * P;
    c.outer = c.f_bar + n * P;
    c.step = c.outer + P;
    c.own = c.step + P;
    if (a->info->inputs > 1u + slope) c.p = a->in[1 + slope].value;
    spread(&a->in[0], a->in[0].value, P, c.x);
    if (slope) spread(&a->in[1], a->in[1].value, P, c.u);
    return c;
}

/* --- Values and first derivatives, given or not --------------------------- */

static void value_at(const struct call *c, const double *x, const double *p)
{
    c->c->value(c->c->user, c->P, x, p, c->f);
}

/* How far each point goes along dot. */
static void find_steps(const struct call *c, const double *x, const double *dot,
                       double most, double *step)
{
    for (size_t k = 0; k < c->P; k++) {
        double size = 1.0, length = 0.0;
        for (size_t i = 0; i < c->inputs; i++) {
            size = fmax(size, fabs(x[i * c->P + k]));
            length = fmax(length, fabs(dot[i * c->P + k]));
        }
        step[k] = length > 0.0 ? most * size / length : 1.0;
    }
}

static void move(const struct call *c, const double *x, const double *dot,
                 double sign, const double *step, double *to)
{
    for (size_t i = 0; i < c->inputs * c->P; i++)
        to[i] = x[i] + sign * step[i % c->P] * dot[i];
}

/* f_dot += sign J(x) dot / (2 outer), or without these. Uses moved, step, f. */
static void jvp_to(const struct call *c, const double *x, const double *dot,
                   double sign, const double *outer, double *f_dot)
{
    size_t all = c->outputs * c->P;
    int way = c->c->jvp ? 0 : 1;
    if (!c->c->jvp) find_steps(c, x, dot, STEP, c->step);
    do {
        if (c->c->jvp) c->c->jvp(c->c->user, c->P, x, c->p, dot, c->f);
        else {
            move(c, x, dot, way, c->step, c->moved);
            value_at(c, c->moved, c->p);
        }
        for (size_t j = 0; j < all; j++) {
            double part = sign * c->f[j];
            if (outer) part /= 2.0 * outer[j % c->P];
            f_dot[j] += way ? way * part / (2.0 * c->step[j % c->P]) : part;
        }
        way = -way;
    } while (way < 0);
}

static double inner(const struct call *c, const double *f_bar, size_t k)
{
    double sum = 0.0;
    for (size_t j = 0; j < c->outputs; j++)
        sum += f_bar[j * c->P + k] * c->f[j * c->P + k];
    return sum;
}

static void differences_by_x(const struct call *c, const double *x,
                             const double *f_bar, double *x_bar)
{
    for (size_t i = 0; i < c->inputs; i++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (size_t j = 0; j < c->inputs * c->P; j++)
                c->moved[j] = x[j];
            for (size_t k = i * c->P; k < (i + 1) * c->P; k++)
                c->moved[k] += sign * STEP * fmax(1.0, fabs(x[k]));
            value_at(c, c->moved, c->p);
            for (size_t k = 0; k < c->P; k++) {
                double h = c->moved[i * c->P + k] - x[i * c->P + k];
                x_bar[i * c->P + k] += inner(c, f_bar, k) / (2.0 * h);
            }
        }
}

static void differences_by_p(const struct call *c, const double *x,
                             const double *f_bar, double *p_bar)
{
    for (size_t i = 0; i < c->c->parameters; i++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (size_t j = 0; j < c->c->parameters; j++)
                c->own[j] = c->p[j];
            c->own[i] += sign * STEP * fmax(1.0, fabs(c->p[i]));
            value_at(c, x, c->own);
            for (size_t k = 0; k < c->P; k++)
                p_bar[i] += inner(c, f_bar, k) / (2.0 * (c->own[i] - c->p[i]));
        }
}

/* Adds J' f_bar to both, which may be NULL. Uses moved and f. */
static void vjp_to(const struct call *c, const double *x, const double *f_bar,
                   double *x_bar, double *p_bar)
{
    if (!x_bar && !p_bar) return;
    if (c->c->vjp) {
        c->c->vjp(c->c->user, c->P, x, c->p, f_bar, x_bar, p_bar);
        return;
    }
    if (x_bar) differences_by_x(c, x, f_bar, x_bar);
    if (p_bar) differences_by_p(c, x, f_bar, p_bar);
}

/* --- f(x; p) -------------------------------------------------------------- */

void call_forward(const struct apply *a)
{
    struct call c = begin(a, false);
    a->call->value(a->call->user, a->P, c.x, c.p, a->out.value);
}

void call_vjp(const struct apply *a)
{
    struct call c = begin(a, false);
    vjp_to(&c, c.x, a->out.bar, a->in[0].bar, c.p ? a->in[1].bar : NULL);
}

void call_jvp(const struct apply *a)
{
    struct call c = begin(a, false);
    for (size_t j = 0; j < c.outputs * c.P; j++)
        a->out.dot[j] = 0.0;
    if (a->in[0].dot) jvp_to(&c, c.x, a->in[0].dot, 1.0, NULL, a->out.dot);
}

/* --- J(x; p) u ------------------------------------------------------------ */

void call_slope_forward(const struct apply *a)
{
    struct call c = begin(a, true);
    for (size_t j = 0; j < c.outputs * c.P; j++)
        a->out.value[j] = 0.0;
    jvp_to(&c, c.x, c.u, 1.0, NULL, a->out.value);
}

/* By u: J' bar. By x and p: the derivative of J' bar along u. */
void call_slope_vjp(const struct apply *a)
{
    struct call c = begin(a, true);
    const struct operand *x = &a->in[0], *u = &a->in[1];
    double *p_bar = c.p ? a->in[2].bar : NULL;
    size_t all = c.inputs * c.P;
    if (u->bar) {
        for (size_t i = 0; i < all; i++)
            c.near[i] = 0.0;
        vjp_to(&c, c.x, a->out.bar, c.near, NULL);
        gather_bar(u, c.near, c.P);
    }
    if (!x->bar && !p_bar) return;
    find_steps(&c, c.x, c.u, c.c->vjp ? STEP : OUTER_STEP, c.outer);
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (size_t j = 0; j < c.outputs * c.P; j++)
            c.f_bar[j] = sign * a->out.bar[j] / (2.0 * c.outer[j % c.P]);
        move(&c, c.x, c.u, sign, c.outer, c.near);
        vjp_to(&c, c.near, c.f_bar, x->bar, p_bar);
    }
}

/* J u_dot, and the derivative of J u along x_dot. */
void call_slope_jvp(const struct apply *a)
{
    struct call c = begin(a, true);
    const double *x_dot = a->in[0].dot;
    for (size_t j = 0; j < c.outputs * c.P; j++)
        a->out.dot[j] = 0.0;
    if (x_dot) {
        find_steps(&c, c.x, x_dot, c.c->jvp ? STEP : OUTER_STEP, c.outer);
        for (int sign = 1; sign >= -1; sign -= 2) {
            move(&c, c.x, x_dot, sign, c.outer, c.near);
            jvp_to(&c, c.near, c.u, sign, c.outer, a->out.dot);
        }
    }
    if (!a->in[1].dot) return;
    spread(&a->in[1], a->in[1].dot, c.P, c.u);
    jvp_to(&c, c.x, c.u, 1.0, NULL, a->out.dot);
}
