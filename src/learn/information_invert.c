/* SPDX-License-Identifier: MIT */
/* Which numbers the observed information says something about, and its inverse
 * for these. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/plain.h"
#include "learn/information.h"

bool information_is_silent(const struct information *a, size_t i)
{
    double own = a->I[i * a->n + i];
    return !(own > 0.0 && isfinite(own));
}

/* Relative to a diagonal of ones, smaller eigenvalues are directions that the
 * data say nothing about. */
static const double FLAT = 1e-4, RISING = -1e-2;

/* What a flat direction may leave out of a number's variance, as a share. */
static const double LEFT_OUT = 0.01;

/* Up to six names of those that are chosen, and how many more there are. */
static void say_names(const struct information *a, const bool *chosen)
{
    enum { MOST_NAMES = 6 };
    char room[120];
    size_t named = 0;
    for (size_t i = 0; i < a->n; i++)
        if (chosen[i] && ++named <= MOST_NAMES)
            plain_print(a->words, "%s%s", named > 1 ? ", " : "",
                        information_name(a, a->place[i], room));
    if (named > MOST_NAMES)
        plain_print(a->words, " and %zu more", named - MOST_NAMES);
}

static void say_rising(const struct information *a, const bool *rising)
{
    plain_print(a->words, "this is not a maximum: the %s still rises along ",
                a->by_evidence ? "evidence" : "log-likelihood");
    say_names(a, rising);
    fputs("; they have no standard errors (more --iterations, or other starts "
          "with --restarts)\n",
          a->words);
}

static void say_flat(const struct information *a, const bool *flat)
{
    fputs("the data do not tell apart ", a->words);
    say_names(a, flat);
    fputs(": their information is singular, and they have no standard errors; "
          "fix one of them (--fix)\n",
          a->words);
}

/* Own information of numbers that the log-likelihood bends upwards along, by a
 * tenth of a nat over their own size or over a unit. */
static bool bends_upwards(const struct information *a, size_t i)
{
    double own = a->I[i * (a->n + 1)], at = a->theta[a->place[i]];
    return isfinite(own) && own * fmax(at * at, 1.0) < -0.1;
}

static void find_silent(struct information *a)
{
    char room[120];
    bool any = false;
    for (size_t i = 0; i < a->n; i++) {
        a->lost[i] = information_is_silent(a, i);
        a->flat[i] = a->lost[i] && !a->bound[i] && bends_upwards(a, i);
        any = any || a->flat[i];
        if (!a->lost[i] || a->bound[i] || a->flat[i]) continue;
        plain_print(
            a->words,
            "the data say nothing about %s (its information is %.3g): it "
            "has no standard error, and those of the others are as if it "
            "were known; fix it (--fix)\n",
            information_name(a, a->place[i], room), a->I[i * (a->n + 1)]);
    }
    if (any) say_rising(a, a->flat);
}

/* I with ones on its diagonal, to V; of silent numbers nothing but that. */
static void scale_information(struct information *a)
{
    size_t n = a->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double own = a->I[i * (n + 1)] * a->I[j * (n + 1)];
            bool both = !a->lost[i] && !a->lost[j];
            a->V[i * n + j] =
                both ? a->I[i * n + j] / sqrt(own) : (double)(i == j);
        }
}

/* The inverse without flat directions, to V, from eigenvectors in V: what can
 * be told apart has the same variance in all generalised inverses. */
static void invert_steep(struct information *a, const double *value)
{
    size_t n = a->n;
    double *L = a->room; /* (n, n) */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                if (value[k] >= FLAT)
                    sum += a->V[k * n + i] * a->V[k * n + j] / value[k];
            bool both = !a->lost[i] && !a->lost[j];
            double own = a->I[i * (n + 1)] * a->I[j * (n + 1)];
            L[i * n + j] = both ? sum / sqrt(own) : 0.0;
        }
}

/* Numbers that flat directions are made of: their variance has no bound. */
static void find_flat(struct information *a, const double *value)
{
    size_t n = a->n, any = 0;
    for (size_t i = 0; i < n; i++) {
        double own = a->room[i * (n + 1)] * a->I[i * (n + 1)];
        a->flat[i] = false;
        for (size_t k = 0; k < n && value[k] < FLAT && !a->lost[i]; k++) {
            double part = a->V[k * n + i] * a->V[k * n + i] / FLAT;
            a->flat[i] = a->flat[i] || !(part <= LEFT_OUT * own);
        }
        any += a->flat[i];
    }
    if (any && a->rising) say_rising(a, a->flat);
    else if (any) say_flat(a, a->flat);
    for (size_t i = 0; i < n; i++)
        a->lost[i] = a->lost[i] || a->flat[i];
}

/* Where one number alone is lost, the others can be made best for any value of
 * it: it has a likelihood-ratio interval. */
static void find_apart(struct information *a)
{
    size_t lost = 0;
    a->apart = a->l->n;
    for (size_t i = 0; i < a->n; i++) {
        if (!a->lost[i]) continue;
        double own = a->I[i * (a->n + 1)], at = a->theta[a->place[i]];
        lost++;
        a->apart = a->place[i];
        a->apart_unit = own > 0.0 ? 1.0 / sqrt(own) : fmax(fabs(at), 1.0);
    }
    if (lost != 1 || a->at_bound[a->apart]) a->apart = a->l->n;
}

bool information_invert(struct information *a)
{
    size_t n = a->n, kept = 0;
    if (!n) return false;
    double *value = a->room + (n > 64 ? n : 64) * n;
    find_silent(a);
    scale_information(a);
    if (!linalg_eigen(n, a->V, value, a->room)) return false;
    a->rising = value[0] < RISING;
    invert_steep(a, value);
    find_flat(a, value);
    memcpy(a->V, a->room, n * n * sizeof *a->V);
    find_apart(a);
    for (size_t i = 0; i < n; i++)
        kept += !a->lost[i];
    return kept > 0;
}

/* Of directions, relative to a diagonal of ones: flatter ones count as this. */
static const double STEEP = 0.05;

bool information_uphill(struct information *a)
{
    size_t n = a->n;
    double *value = a->room + (n > 64 ? n : 64) * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double own = fabs(a->I[i * (n + 1)] * a->I[j * (n + 1)]);
            a->V[i * n + j] = own > 0.0 ? a->I[i * n + j] / sqrt(own) : 0.0;
        }
    if (!linalg_eigen(n, a->V, value, a->room)) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double own = fabs(a->I[i * (n + 1)] * a->I[j * (n + 1)]), sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += a->V[k * n + i] * a->V[k * n + j] /
                       fmax(fabs(value[k]), STEEP);
            a->room[i * n + j] = own > 0.0 ? sum / sqrt(own) : 0.0;
        }
    memcpy(a->V, a->room, n * n * sizeof *a->V);
    return true;
}
