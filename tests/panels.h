/* SPDX-License-Identifier: MIT */
/* Panels of Ornstein-Uhlenbeck processes, each with a rate of its own, and
 * their models. */
#ifndef TESTS_PANELS_H
#define TESTS_PANELS_H

#include "exact.h"

enum { SERIES = 20, MOST_ROWS = 20 };

/* Rows of Ornstein-Uhlenbeck processes with rates exp(m + w z), noise 1; y with
 * a deviation of 0.3 around them. */
struct panel_data {
    size_t series, rows;
    double gap, x[SERIES][MOST_ROWS], y[SERIES][MOST_ROWS];
};

static inline struct panel_data panel_simulate(size_t series, size_t rows,
                                               double w, uint64_t seed)
{
    struct panel_data d = {.series = series, .rows = rows, .gap = 0.5};
    double *z = normals(SERIES * (2 * MOST_ROWS + 1), seed), *next = z;
    for (size_t r = 0; r < series; r++) {
        double k = exp(w * *next++), a = exp(-k * d.gap);
        double x = sqrt(0.5 / k) * *next++;
        for (size_t i = 0; i < rows; i++) {
            if (i) x = a * x + sqrt((1 - a * a) / (2 * k)) * *next++;
            d.x[r][i] = x;
            d.y[r][i] = x + 0.3 * *next++;
        }
    }
    mem_free(z);
    return d;
}

/* The columns of some of the names x and y. */
static inline gsv_series *panel_series(const struct panel_data *d,
                                       const char *names)
{
    size_t start[SERIES + 1] = {0}, n = 0, columns = strlen(names);
    size_t rows = d->series * d->rows;
    double time[SERIES * MOST_ROWS], value[2 * SERIES * MOST_ROWS];
    const char *name[2];
    for (size_t r = 0; r < d->series; r++) {
        for (size_t i = 0; i < d->rows; i++, n++) {
            time[n] = d->gap * (double)i;
            for (size_t c = 0; c < columns; c++)
                value[c * rows + n] = names[c] == 'y' ? d->y[r][i] : d->x[r][i];
        }
        start[r + 1] = n;
    }
    for (size_t c = 0; c < columns; c++)
        name[c] = names[c] == 'y' ? "y" : "x";
    return gsv_series_new(d->series, start, columns, name, time, value);
}

static const char EXACT[] = "state x\nparam m = 0, w = 0.5 > 0\n"
                            "random b ~ normal(m, w)\n"
                            "dx = -exp(b)*x*dt + dW\n";
static const char NOISY[] =
    "state x\nparam m = 0, w = 0.5 > 0\nrandom b ~ normal(m, w)\n"
    "let k = exp(b)\ndx = -k*x*dt + dW\nobs y ~ normal(x, 0.3)\n"
    "init x ~ normal(0, 1/sqrt(2*k))\n";

#endif
