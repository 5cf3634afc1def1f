/* SPDX-License-Identifier: MIT */
/* Linear models with normal observations, by the joint normal law of all that
 * was observed: one dense matrix in quadruple precision, which knows nothing of
 * filters. Gaps with constant coefficients are power series that are doubled;
 * others are solved by Runge and Kutta's method with many steps. */
#ifndef TESTS_DENSE_H
#define TESTS_DENSE_H

#include <stdio.h>

#include "exact.h"

__extension__ typedef __float128 quad;

enum { DENSE_D = 6, DENSE_DD = DENSE_D * DENSE_D, DENSE_ROWS = 12 };

/* How coefficients depend on the input u and on time. */
enum dense_motion {
    DENSE_STILL,
    DENSE_HELD, /* b + u, G (1 + 0.2 u), u held        */
    DENSE_LINE, /* b + u / 2, u interpolated           */
    DENSE_TIME, /* b + 0.3 t                           */
    DENSE_ANY,  /* A (1 + 0.3 sin t), b + u^2, G (1 + 0.1 u) */
    DENSE_MOTIONS
};

/* dz = (A z + b) dt + G dW; y = H z + o + 0.1 u + r eps; z0 ~ N(m0, s0^2).
 * The last `exact` states are columns. */
struct dense {
    size_t d, p, exact;
    double A[DENSE_DD], b[DENSE_D], G[DENSE_DD];
    double H[DENSE_DD], o[DENSE_D], r[DENSE_D];
    double m0[DENSE_D], s0[DENSE_D];
    enum dense_motion motion;
};

/* One track; a cell that is NaN is missing. */
struct dense_track {
    size_t n;
    double t[DENSE_ROWS], u[DENSE_ROWS];
    double y[DENSE_D][DENSE_ROWS], x[DENSE_D][DENSE_ROWS];
};

struct dense_gap {
    quad F[DENSE_DD], c[DENSE_D], Q[DENSE_DD];
};

/* --- Gaps ----------------------------------------------------------------- */

static inline void dense_product(size_t d, const quad *A, const quad *B,
                                 bool transposed, quad *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            C[i * d + j] = 0;
            for (size_t k = 0; k < d; k++)
                C[i * d + j] +=
                    A[i * d + k] * B[transposed ? j * d + k : k * d + j];
        }
}

/* Coefficients at a time of the gap that begins with row k. */
static inline void dense_at(const struct dense *m, const struct dense_track *t,
                            size_t k, long double time, quad *A, quad *b,
                            quad *q)
{
    size_t d = m->d;
    long double share = (time - t->t[k]) / ((long double)t->t[k + 1] - t->t[k]);
    long double line = t->u[k] + share * ((long double)t->u[k + 1] - t->u[k]);
    long double a = 1, more = 0, g = 1;
    if (m->motion == DENSE_HELD) {
        more = t->u[k];
        g = 1 + 0.2L * t->u[k];
    }
    if (m->motion == DENSE_LINE) more = 0.5L * line;
    if (m->motion == DENSE_TIME) more = 0.3L * time;
    if (m->motion == DENSE_ANY) {
        a = 1 + 0.3L * sinl(time);
        more = line * line;
        g = 1 + 0.1L * line;
    }
    for (size_t i = 0; i < d; i++) {
        b[i] = (quad)m->b[i] + (quad)more;
        for (size_t j = 0; j < d; j++) {
            A[i * d + j] = (quad)a * m->A[i * d + j];
            q[i * d + j] = 0;
            for (size_t l = 0; l < d; l++)
                q[i * d + j] += (quad)g * (quad)g * (quad)m->G[i * d + l] *
                                (quad)m->G[j * d + l];
        }
    }
}

/* F' = A F, c' = A c + b, Q' = A Q + Q A' + q. */
static inline void dense_rate(size_t d, const quad *A, const quad *b,
                              const quad *q, const struct dense_gap *g,
                              struct dense_gap *rate)
{
    quad T[DENSE_DD];
    dense_product(d, A, g->F, false, rate->F);
    dense_product(d, A, g->Q, false, T);
    for (size_t i = 0; i < d; i++) {
        rate->c[i] = b[i];
        for (size_t j = 0; j < d; j++) {
            rate->c[i] += A[i * d + j] * g->c[j];
            rate->Q[i * d + j] = T[i * d + j] + T[j * d + i] + q[i * d + j];
        }
    }
}

static inline void dense_move(size_t d, struct dense_gap *g, quad h,
                              const struct dense_gap *rate)
{
    for (size_t i = 0; i < d * d; i++) {
        g->F[i] += h * rate->F[i];
        g->Q[i] += h * rate->Q[i];
        if (i < d) g->c[i] += h * rate->c[i];
    }
}

static inline void dense_unit(size_t d, struct dense_gap *g)
{
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < d; i++)
        g->F[i * (d + 1)] = 1;
}

static inline void dense_runge(const struct dense *m,
                               const struct dense_track *t, size_t k,
                               struct dense_gap *g)
{
    enum { STEPS = 100 };
    size_t d = m->d;
    long double h = ((long double)t->t[k + 1] - t->t[k]) / STEPS;
    quad A[DENSE_DD], b[DENSE_D], q[DENSE_DD];
    dense_unit(d, g);
    for (size_t n = 0; n < STEPS; n++) {
        static const double AT[4] = {0.0, 0.5, 0.5, 1.0};
        struct dense_gap rate[4];
        for (size_t s = 0; s < 4; s++) {
            struct dense_gap at = *g;
            if (s) dense_move(d, &at, (quad)h * AT[s], &rate[s - 1]);
            dense_at(m, t, k, t->t[k] + h * (n + (long double)AT[s]), A, b, q);
            dense_rate(d, A, b, q, &at, &rate[s]);
        }
        for (size_t s = 0; s < 4; s++)
            dense_move(d, g, (quad)h / (s % 3 ? 3 : 6), &rate[s]);
    }
}

/* Constant coefficients over a time h. */
static inline void dense_constant(size_t d, const quad *A, const quad *b,
                                  const quad *q, quad h, struct dense_gap *g)
{
    quad size = 0;
    int doublings = 0;
    for (size_t i = 0; i < d * d; i++)
        size += A[i] < 0 ? -A[i] : A[i];
    for (quad left = size * h; left > 0.125; left /= 2)
        doublings++;
    for (int n = 0; n < doublings; n++)
        h /= 2;
    /* Picard's iteration on the power series of all three at once. */
    struct dense_gap term = {0};
    dense_unit(d, g);
    dense_unit(d, &term);
    for (int n = 1; n < 30; n++) {
        const quad none[DENSE_DD] = {0};
        struct dense_gap rate;
        dense_rate(d, A, n == 1 ? b : none, n == 1 ? q : none, &term, &rate);
        memset(&term, 0, sizeof term);
        dense_move(d, &term, h / n, &rate);
        dense_move(d, g, 1, &term);
    }
    while (doublings--) {
        struct dense_gap twice;
        quad T[DENSE_DD];
        dense_product(d, g->F, g->F, false, twice.F);
        dense_product(d, g->F, g->Q, false, T);
        dense_product(d, T, g->F, true, twice.Q);
        for (size_t i = 0; i < d; i++) {
            twice.c[i] = g->c[i];
            for (size_t j = 0; j < d; j++)
                twice.c[i] += g->F[i * d + j] * g->c[j];
        }
        for (size_t i = 0; i < d * d; i++)
            twice.Q[i] += g->Q[i];
        *g = twice;
    }
}

static inline void dense_transition(const struct dense *m,
                                    const struct dense_track *t, size_t k,
                                    struct dense_gap *g)
{
    quad A[DENSE_DD], b[DENSE_D], q[DENSE_DD];
    if (m->motion != DENSE_STILL && m->motion != DENSE_HELD) {
        dense_runge(m, t, k, g);
        return;
    }
    dense_at(m, t, k, t->t[k], A, b, q);
    dense_constant(m->d, A, b, q, (quad)t->t[k + 1] - (quad)t->t[k], g);
}

/* --- The joint law -------------------------------------------------------- */

enum { DENSE_Z = DENSE_ROWS * DENSE_D, DENSE_Y = 2 * DENSE_Z };

struct dense_joint {
    quad mean[DENSE_Z], cov[DENSE_Z][DENSE_Z]; /* of all states */
};

/* Where a state that was never seen may be. */
static const double DENSE_FLAT = 1e9;

static inline double dense_first(const struct dense *m,
                                 const struct dense_track *t,
                                 struct dense_joint *j)
{
    size_t d = m->d;
    double flat = 0.0;
    memset(j, 0, sizeof *j);
    for (size_t i = 0; i < d; i++) {
        bool latent = i + m->exact < d, known = !latent && !isnan(t->x[i][0]);
        double s = latent ? m->s0[i] : known ? 0.0 : DENSE_FLAT;
        j->mean[i] = latent ? m->m0[i] : known ? t->x[i][0] : 0.0;
        j->cov[i][i] = (quad)s * (quad)s;
        if (!latent && !known)
            flat += 0.5 * log(2.0 * EXACT_PI) + log(DENSE_FLAT);
    }
    return flat;
}

/* The law of all states; returns what flat first laws add to log p. */
static inline double dense_states(const struct dense *m,
                                  const struct dense_track *t,
                                  struct dense_joint *j)
{
    size_t d = m->d;
    double flat = dense_first(m, t, j);
    for (size_t k = 0; k + 1 < t->n; k++) {
        struct dense_gap g;
        size_t from = k * d, to = from + d;
        dense_transition(m, t, k, &g);
        for (size_t i = 0; i < d; i++) {
            j->mean[to + i] = g.c[i];
            for (size_t l = 0; l < d; l++)
                j->mean[to + i] += g.F[i * d + l] * j->mean[from + l];
            for (size_t e = 0; e < to; e++) {
                j->cov[to + i][e] = 0;
                for (size_t l = 0; l < d; l++)
                    j->cov[to + i][e] += g.F[i * d + l] * j->cov[from + l][e];
                j->cov[e][to + i] = j->cov[to + i][e];
            }
        }
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++) {
                quad sum = g.Q[a * d + b];
                for (size_t l = 0; l < d; l++)
                    sum += j->cov[to + a][from + l] * g.F[b * d + l];
                j->cov[to + a][to + b] = sum;
            }
    }
    return flat;
}

/* What was observed: a row (states) of each number, its rest and noise. */
struct dense_seen {
    size_t n;
    quad row[DENSE_Y][DENSE_D], y[DENSE_Y], noise[DENSE_Y];
    size_t at[DENSE_Y]; /* the row of the data */
};

static inline void dense_see(const struct dense *m, const struct dense_track *t,
                             struct dense_seen *s)
{
    size_t d = m->d;
    memset(s, 0, sizeof *s);
    for (size_t k = 0; k < t->n; k++) {
        for (size_t i = 0; i < m->p; i++) {
            if (isnan(t->y[i][k])) continue;
            for (size_t l = 0; l < d; l++)
                s->row[s->n][l] = m->H[i * d + l];
            s->y[s->n] = (quad)t->y[i][k] - m->o[i];
            if (m->motion != DENSE_STILL) s->y[s->n] -= (quad)(0.1L * t->u[k]);
            s->noise[s->n] = (quad)m->r[i] * (quad)m->r[i];
            s->at[s->n++] = k;
        }
        for (size_t i = d - m->exact; k && i < d; i++) {
            if (isnan(t->x[i][k])) continue;
            s->row[s->n][i] = 1;
            s->y[s->n] = t->x[i][k];
            s->at[s->n++] = k;
        }
    }
}

/* log p of a track; and, unless NULL, mean and covariance of all states given
 * the data, which replace those of the joint law. */
static inline double dense_loglik(const struct dense *m,
                                  const struct dense_track *t,
                                  struct dense_joint *given)
{
    static struct dense_joint j;
    static struct dense_seen s;
    size_t d = m->d;
    long double sum = (long double)dense_states(m, t, &j);
    dense_see(m, t, &s);
    for (size_t a = 0; a < s.n; a++) { /* one number after the other */
        static quad w[DENSE_Z];
        size_t first = s.at[a] * d;
        quad v = s.y[a], var = s.noise[a];
        for (size_t e = 0; e < t->n * d; e++) {
            w[e] = 0;
            for (size_t l = 0; l < d; l++)
                w[e] += j.cov[e][first + l] * s.row[a][l];
        }
        for (size_t l = 0; l < d; l++) {
            v -= s.row[a][l] * j.mean[first + l];
            var += s.row[a][l] * w[first + l];
        }
        sum -= 0.5L * (logl(2.0L * 3.141592653589793238462643383L) +
                       logl((long double)var) + (long double)(v / var * v));
        for (size_t e = 0; e < t->n * d; e++) {
            j.mean[e] += w[e] / var * v;
            for (size_t f = 0; f < t->n * d; f++)
                j.cov[e][f] -= w[e] / var * w[f];
        }
    }
    if (given) *given = j;
    return (double)sum;
}

/* --- Models and data ------------------------------------------------------ */

/* How A is made. */
enum dense_kind {
    DENSE_STABLE,
    DENSE_UNSTABLE,
    DENSE_STIFF,
    DENSE_ZERO,
    DENSE_KINDS
};

/* Any numbers: v in (-1, 1), a function of n. */
static inline double dense_number(size_t n)
{
    double x = sin(12.9898 * (double)(n + 1)) * 43758.5453;
    return 2.0 * (x - floor(x)) - 1.0;
}

static inline struct dense dense_make(size_t d, size_t p, size_t exact,
                                      enum dense_kind kind,
                                      enum dense_motion motion, double first)
{
    struct dense m = {.d = d, .p = p, .exact = exact, .motion = motion};
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            size_t e = i * d + j;
            m.A[e] = kind == DENSE_ZERO ? 0.0 : 0.7 * dense_number(e + 3 * d);
            m.G[e] = 0.2 * dense_number(e + 40 + d);
            m.H[e] = dense_number(e + 80);
        }
        if (kind == DENSE_STABLE) m.A[i * (d + 1)] -= 1.2;
        if (kind == DENSE_UNSTABLE) m.A[i * (d + 1)] += 0.4;
        if (kind == DENSE_STIFF)
            m.A[i * (d + 1)] -= 2.0 + pow(10.0, 4.0 - 2.0 * (double)i);
        m.G[i * (d + 1)] += 0.7;
        m.b[i] = dense_number(i + 120);
        m.o[i] = 0.3 * dense_number(i + 130);
        m.r[i] = 0.3 + 0.1 * dense_number(i + 140);
        m.m0[i] = 0.5 * dense_number(i + 150);
        m.s0[i] = first * (1.0 + 0.3 * dense_number(i + 160));
        /* Exact states are not observed by others. */
        for (size_t j = 0; j < p; j++)
            if (i + exact >= d) m.H[j * d + i] = 0.0;
    }
    return m;
}

/* Rows that are about h apart, some of their cells missing. */
static inline struct dense_track dense_data(const struct dense *m, size_t n,
                                            double h, bool missing, size_t seed)
{
    struct dense_track t = {.n = n};
    for (size_t k = 0; k < n; k++) {
        double wiggle = k % 3 ? 0.3 * dense_number(k + seed) : 0.0;
        t.t[k] = 1.0 + h * ((double)k + wiggle);
        t.u[k] = dense_number(k + 200 + seed);
        for (size_t i = 0; i < m->p; i++)
            t.y[i][k] = missing && (k + 2 * i + seed) % 4 == 1
                            ? NAN
                            : dense_number(7 * k + i + 300 + seed);
        for (size_t i = m->d - m->exact; i < m->d; i++)
            t.x[i][k] = missing && (k + i + seed) % 3 == 2
                            ? NAN
                            : dense_number(5 * k + i + 400 + seed);
    }
    return t;
}

/* Appends to a text. */
__attribute__((format(printf, 2, 3))) static inline void
dense_write(char **at, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    *at += vsprintf(*at, format, list);
    va_end(list);
}

static const char *const DENSE_DRIFT[] = {"", "+u", "+0.5*u", "+0.3*t", "+u^2"};
static const char *const DENSE_NOISE[] = {"", "*(1+0.2*u)", "", "",
                                          "*(1+0.1*u)"};

/* The model as a text with every number as a parameter. */
static inline gsv_model *dense_model(const struct dense *m)
{
    static char text[40000];
    char *at = text;
    size_t d = m->d;
    bool input = m->motion != DENSE_STILL;
    for (size_t i = 0; i < d; i++)
        dense_write(&at, "state z%zu\n", i + 1);
    if (input)
        dense_write(&at, "input u%s\n", m->motion == DENSE_HELD ? " hold" : "");
    for (size_t e = 0; e < d * d; e++)
        dense_write(&at, "param a%zu = %.17g, g%zu = %.17g\n", e, m->A[e], e,
                    m->G[e]);
    for (size_t i = 0; i < d; i++)
        dense_write(&at, "param b%zu = %.17g, m%zu = %.17g, s%zu = %.17g\n", i,
                    m->b[i], i, m->m0[i], i, m->s0[i]);
    for (size_t i = 0; i < m->p; i++) {
        dense_write(&at, "param o%zu = %.17g, r%zu = %.17g\n", i, m->o[i], i,
                    m->r[i]);
        for (size_t j = 0; j + m->exact < d; j++)
            dense_write(&at, "param h%zu_%zu = %.17g\n", i, j, m->H[i * d + j]);
    }
    for (size_t i = 0; i < d; i++) {
        dense_write(&at, "dz%zu = ((0", i + 1);
        for (size_t j = 0; j < d; j++)
            dense_write(&at, " + a%zu*z%zu", i * d + j, j + 1);
        dense_write(&at, ")%s + b%zu%s)*dt",
                    m->motion == DENSE_ANY ? "*(1+0.3*sin(t))" : "", i,
                    DENSE_DRIFT[m->motion]);
        for (size_t j = 0; j < d; j++)
            dense_write(&at, " + g%zu%s*dW%zu", i * d + j,
                        DENSE_NOISE[m->motion], j + 1);
        dense_write(&at, "\n");
    }
    for (size_t i = 0; i < m->p; i++) {
        dense_write(&at, "obs y%zu ~ normal(o%zu%s", i + 1, i,
                    input ? " + 0.1*u" : "");
        for (size_t j = 0; j + m->exact < d; j++)
            dense_write(&at, " + h%zu_%zu*z%zu", i, j, j + 1);
        dense_write(&at, ", r%zu)\n", i);
    }
    for (size_t i = 0; i + m->exact < d; i++)
        dense_write(&at, "init z%zu ~ normal(m%zu, s%zu)\n", i + 1, i, i);
    gsv_model *model = gsv_model_parse(text, "dense");
    if (!model) print_error("%s\n%s\n", gsv_last_error(), text);
    assert_non_null(model);
    return model;
}

/* Tracks as a series: y, then exact states, then the input. */
static inline gsv_series *dense_series(const struct dense *m, size_t tracks,
                                       const struct dense_track *t)
{
    static const char *const Y[] = {"y1", "y2", "y3", "y4", "y5", "y6"};
    static const char *const Z[] = {"z1", "z2", "z3", "z4", "z5", "z6"};
    enum { MOST = 4 * DENSE_ROWS };
    static double time[MOST], value[(2 * DENSE_D + 1) * MOST];
    const char *name[2 * DENSE_D + 1];
    size_t start[8] = {0}, n = 0, columns = 0;
    for (size_t r = 0; r < tracks; r++)
        start[r + 1] = n += t[r].n;
    for (size_t i = 0; i < m->p; i++)
        name[columns++] = Y[i];
    for (size_t i = m->d - m->exact; i < m->d; i++)
        name[columns++] = Z[i];
    name[columns] = "u";
    for (size_t r = 0; r < tracks; r++)
        for (size_t k = 0; k < t[r].n; k++) {
            size_t row = start[r] + k, c = 0;
            time[row] = t[r].t[k];
            for (size_t i = 0; i < m->p; i++)
                value[c++ * n + row] = t[r].y[i][k];
            for (size_t i = m->d - m->exact; i < m->d; i++)
                value[c++ * n + row] = t[r].x[i][k];
            value[c * n + row] = t[r].u[k];
        }
    gsv_series *s = gsv_series_new(
        tracks, start, columns + (m->motion != DENSE_STILL), name, time, value);
    if (!s) print_error("%s\n", gsv_last_error());
    assert_non_null(s);
    return s;
}

#endif
