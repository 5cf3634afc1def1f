/* SPDX-License-Identifier: MIT */
#include "learn/linearise.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "learn/information.h"
#include "learn/learner.h"

/* Blocks of a long series; series that are enough to be blocks. */
enum { BLOCKS = 64, FEWEST_SERIES = 20, MOST_SERIES = 512 };

/* Of the score's deviation: enough to find sets, which are refitted. */
static const double SHARE = 0.3;

void linearised_free(struct linearised *q)
{
    MEM_FREE(q->J, q->a, q->score);
    *q = (struct linearised){0};
}

/* Where candidates and the others are among the numbers of the information. */
struct sides {
    size_t n, u;
    size_t *candidate; /* (n) */
    size_t *other;     /* (u) */
    double *root;      /* (u, u) Cholesky factor of I_uu             */
    double *cross;     /* (u, n) L^-1 I_uc                           */
    double *room;      /* (u)                                        */
};

static void sides_free(struct sides *z)
{
    MEM_FREE(z->candidate, z->other, z->root, z->cross, z->room);
}

static int find_sides(struct sides *z, const struct information *a, size_t n,
                      const size_t *number)
{
    *z = (struct sides){.candidate = NEW(size_t, n),
                        .other = NEW(size_t, a->n),
                        .root = NEW(double, a->n * a->n),
                        .cross = NEW(double, a->n *n),
                        .room = NEW(double, a->n)};
    if (!z->candidate || !z->other || !z->root || !z->cross || !z->room)
        return GSV_NO_MEMORY;
    for (size_t i = 0; i < a->n; i++) {
        size_t k = 0;
        while (k < n && number[k] != a->place[i])
            k++;
        if (k < n) z->candidate[k] = i;
        if (k < n) z->n++;
        else z->other[z->u++] = i;
    }
    if (z->n == n) return 0;
    return fail(GSV_NUMERICAL,
                "the information of %zu coefficients is not "
                "known; use fewer terms",
                n - z->n);
}

/* The factors with which the others are taken out of I and of scores. Without a
 * maximum over them, they are as if known. */
static void eliminate(struct sides *z, const struct information *a)
{
    for (size_t i = 0; i < z->u; i++) {
        for (size_t j = 0; j < z->u; j++)
            z->root[i * z->u + j] = a->I[z->other[i] * a->n + z->other[j]];
        for (size_t k = 0; k < z->n; k++)
            z->cross[i * z->n + k] = a->I[z->other[i] * a->n + z->candidate[k]];
    }
    bool found =
        all_finite(z->u * z->u, z->root) && linalg_cholesky(z->u, z->root);
    if (!found) z->u = 0;
    if (z->u) linalg_lower_solve(z->u, z->n, z->root, false, z->cross);
}

/* g_c - I_cu I_uu^-1 g_u of a gradient by theta. */
static void own_score(const struct sides *z, const struct information *a,
                      const double *gradient, double *score)
{
    for (size_t i = 0; i < z->u; i++)
        z->room[i] = gradient[a->place[z->other[i]]];
    if (z->u) linalg_lower_solve(z->u, 1, z->root, false, z->room);
    for (size_t k = 0; k < z->n; k++) {
        score[k] = gradient[a->place[z->candidate[k]]];
        for (size_t i = 0; i < z->u; i++)
            score[k] -= z->cross[i * z->n + k] * z->room[i];
    }
}

static void own_information(const struct sides *z, const struct information *a,
                            double *J)
{
    for (size_t k = 0; k < z->n; k++)
        for (size_t l = 0; l < z->n; l++) {
            double sum = a->I[z->candidate[k] * a->n + z->candidate[l]];
            for (size_t i = 0; i < z->u; i++)
                sum -= z->cross[i * z->n + k] * z->cross[i * z->n + l];
            J[k * z->n + l] = sum;
        }
}

/* --- Blocks --------------------------------------------------------------- */

/* The first group of every block, and the end: (count + 1), yours. */
static size_t *divide(const struct learner *l, size_t *count)
{
    struct gaps g;
    size_t groups = l->split.trains, n = 0;
    bool joint = l->o->estimator.joint || l->split.helds;
    bool series =
        !joint && l->s->tracks >= FEWEST_SERIES && l->s->tracks <= MOST_SERIES;
    size_t most = series ? l->s->tracks : groups < BLOCKS ? groups : BLOCKS;
    size_t *first = NEW(size_t, most + 1);
    if (!first) return NULL;
    if (series && gaps_find(&g, l->m, l->s)) {
        mem_free(first);
        return NULL;
    }
    for (size_t i = 0; i < most; i++) {
        size_t at = series ? g.first[i] : i * groups / most;
        if (series && g.first[i + 1] == at) continue;
        first[n++] = at;
    }
    first[n] = groups;
    if (series) gaps_free(&g);
    *count = n;
    return first;
}

static size_t longest(size_t blocks, const size_t *first)
{
    size_t most = 0;
    for (size_t b = 0; b < blocks; b++)
        if (first[b + 1] - first[b] > most) most = first[b + 1] - first[b];
    return most;
}

/* The scores of all blocks; a gradient of the whole is their sum. */
static int score_blocks(struct linearised *q, struct learner *l,
                        const struct sides *z, const struct information *a,
                        const double *theta)
{
    struct objective at = {0};
    gsv_options o = l->stage[l->stages - 1];
    size_t *first = divide(l, &q->blocks);
    double *gradient = NEW(double, l->n);
    o.gradient = true;
    int status = first && gradient ? 0 : GSV_NO_MEMORY;
    if (!status) q->score = NEW(double, q->blocks * q->n);
    if (!status && !q->score) status = GSV_NO_MEMORY;
    if (!status)
        status = objective_init_loglik(&at, l->m, l->s, &o,
                                       longest(q->blocks, first));
    for (size_t b = 0; !status && b < q->blocks; b++) {
        struct score score = {0};
        status = learner_go_on(l);
        if (!status)
            status = objective_at(&at, theta, 0, first[b + 1] - first[b],
                                  l->split.train + first[b], &score, gradient);
        for (size_t i = 0; !status && i < l->n; i++)
            gradient[i] *= (double)score.gaps;
        if (!status) own_score(z, a, gradient, q->score + b * q->n);
    }
    objective_free(&at);
    MEM_FREE(first, gradient);
    return status;
}

/* --- All of it ------------------------------------------------------------ */

static int fill(struct linearised *q, struct learner *l, struct information *a,
                const size_t *number, bool blocks)
{
    struct sides z;
    double *gradient = NEW(double, l->n), *theta = NEW(double, l->n);
    int status = find_sides(&z, a, q->n, number);
    if (!gradient || !theta) status = GSV_NO_MEMORY;
    if (!status) {
        gsv_theta_get(l->m, theta);
        eliminate(&z, a);
        for (size_t i = 0; i < a->n; i++)
            gradient[a->place[i]] = a->slope[i];
        own_information(&z, a, q->J);
        own_score(&z, a, gradient, q->a);
        for (size_t k = 0; k < q->n; k++)
            for (size_t j = 0; j < q->n; j++)
                q->a[k] += q->J[k * q->n + j] * theta[number[j]];
    }
    if (!status && blocks && learner_has_groups(l))
        status = score_blocks(q, l, &z, a, theta);
    sides_free(&z);
    MEM_FREE(gradient, theta);
    return status;
}

static int linearise_with(struct linearised *q, struct learner *l,
                          const size_t *number, bool blocks)
{
    struct information a = {0};
    double *theta = NEW(double, l->n);
    int status = theta ? 0 : GSV_NO_MEMORY;
    if (!status) gsv_theta_get(l->m, theta);
    if (!status && l->stages > 1 && !l->chosen)
        status = effort_by_score(l, theta, SHARE);
    if (!status) status = information_init(&a, l, theta);
    if (!status && a.n) status = information_fill(&a);
    if (theta) gsv_theta_set(l->m, theta);
    if (!status) status = fill(q, l, &a, number, blocks);
    q->gaps = l->gaps;
    information_free(&a);
    mem_free(theta);
    return status;
}

int linearise(struct linearised *q, gsv_model *m, const gsv_series *s,
              const gsv_fit_options *o, size_t n, const size_t *number,
              bool blocks)
{
    gsv_fit_options full = *o;
    struct learner l = {.m = m, .s = s, .o = &full, .given = o, .refit = true};
    *q = (struct linearised){
        .n = n, .J = NEW(double, n *n), .a = NEW(double, n)};
    if (!q->J || !q->a) return GSV_NO_MEMORY;
    l.evidence = NAN;
    l.kept = m->value;
    int status = learner_init(&l, &full);
    if (!status) status = linearise_with(q, &l, number, blocks);
    if (!status && learner_over(&l))
        status = fail(GSV_STOPPED, "the selection was stopped");
    learner_free(&l);
    return status;
}
