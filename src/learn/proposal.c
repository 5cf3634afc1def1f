/* SPDX-License-Identifier: MIT */
/* The laws that chains propose from, and what these learn during warm-up. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "learn/gibbs.h"

/* The factor of C (n, n), in place. */
static void factor(size_t n, const double *C, double *root)
{
    memcpy(root, C, n * n * sizeof *C);
    if (linalg_cholesky(n, root)) return;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            root[i * n + j] = i == j ? sqrt(C[i * (n + 1)]) : 0.0;
}

void proposal_factor(struct proposal *p)
{
    size_t n = p->n, k = p->helds;
    factor(n, p->C, p->root);
    if (!k) return;
    double *part = p->held_root + k * k;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            part[i * k + j] = p->C[p->held[i] * n + p->held[j]];
    factor(k, part, p->held_root);
}

void proposal_learn(struct proposal *p, size_t rows, const double *row,
                    double before, double *old)
{
    size_t n = p->n;
    double all = (double)rows + before;
    memcpy(old, p->mean, n * sizeof *old);
    for (size_t i = 0; i < n; i++) {
        double sum = before * old[i];
        for (size_t r = 0; r < rows; r++)
            sum += row[r * n + i];
        p->mean[i] = sum / all;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = before * p->C[i * n + j];
            for (size_t r = 0; r < rows; r++)
                sum += (row[r * n + i] - p->mean[i]) *
                       (row[r * n + j] - p->mean[j]);
            p->C[i * n + j] = p->C[j * n + i] = sum / all;
        }
    proposal_factor(p);
}

/* Shares of successes that random walks work best with, for one number and for
 * many (Roberts and Rosenthal). */
static const double ONE = 0.44, MANY = 0.234;

void proposal_tune(struct proposal *p, enum move move, size_t n,
                   const struct counts *c, size_t iteration)
{
    double tried = c->tried[move], wanted = MANY + (ONE - MANY) / (double)n;
    if (!(tried > 0.0)) return;
    p->scale[move] *=
        exp((c->kept[move] / tried - wanted) / pow((double)iteration, 0.6));
}
