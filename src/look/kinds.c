/* SPDX-License-Identifier: MIT */
/* Kinds of models of one column: their text with starts from the data, fitted
 * to the first rows. They are ordered by
 *
 *     log-likelihood - numbers (log(gaps) / 2 + 3),
 *
 * half of BIC with 3 nats more for each number: a kind must be clearly better
 * than a simpler one. The period of a force is a number, too; noise that
 * depends on the state is half a number more than noise that does not, since
 * 400 rows of the latter are more likely under the former in one set of 30 or
 * so, and by 3 nats in one of hundreds. Means of series cost half the
 * log of their own gaps.
 * Likelihoods of hidden states are divided by that of the first row of each
 * series, which the others do not have. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/constant.h"
#include "base/error.h"
#include "base/memory.h"
#include "look/look.h"

static const double PRICE = 3.0;

/* The names of a column in its lines, and the starts of its numbers. */
struct ink {
    FILE *out;
    const char *x, *end;
    double k, s; /* rate of return; noise */
    const struct sight *v;
    const gsv_look_column *c;
};

#define INK(NAME) static void NAME(const struct ink *i)

INK(walk)
{
    fprintf(i->out,
            "state %s\nparam m%s = 0, s%s = %.3g > 0\n"
            "d%s = m%s*dt + s%s*dW\n",
            i->x, i->end, i->end, i->s, i->x, i->end, i->end);
}

static void return_params(const struct ink *i, const char *bound)
{
    fprintf(i->out, "param k%s = %.3g > 0, m%s = %.3g%s, s%s = %.3g > 0\n",
            i->end, i->k, i->end, i->c->mean, bound, i->end, i->s);
}

INK(returning)
{
    fprintf(i->out, "state %s\n", i->x);
    return_params(i, "");
    fprintf(i->out, "d%s = k%s*(m%s - %s)*dt + s%s*dW\n", i->x, i->end, i->end,
            i->x, i->end);
}

INK(growth)
{
    fprintf(i->out,
            "state %s\nparam r%s = 0, s%s = %.3g > 0\n"
            "d%s = r%s*%s*dt + s%s*%s*dW\n",
            i->x, i->end, i->end, i->s / i->c->mean, i->x, i->end, i->x, i->end,
            i->x);
}

INK(root)
{
    fprintf(i->out, "state %s\n", i->x);
    fprintf(i->out, "param k%s = %.3g > 0, m%s = %.3g > 0, s%s = %.3g > 0\n",
            i->end, i->k, i->end, i->c->mean, i->end, i->s / sqrt(i->c->mean));
    fprintf(i->out, "d%s = k%s*(m%s - %s)*dt + s%s*sqrt(%s)*dW\n", i->x, i->end,
            i->end, i->x, i->end, i->x);
}

INK(cubic)
{
    double w = i->c->sd;
    fprintf(i->out,
            "state %s\nlet u%s = (%s - %.6g)/%.6g\n"
            "param a%s = 0, b%s = 0, q%s = 0, c%s = %.3g > 0, s%s = %.3g > 0\n"
            "d%s = (a%s + b%s*u%s + q%s*u%s^2 - c%s*u%s^3)*dt + s%s*dW\n",
            i->x, i->end, i->x, i->c->mean, w, i->end, i->end, i->end, i->end,
            i->k * w, i->end, i->s, i->x, i->end, i->end, i->end, i->end,
            i->end, i->end, i->end, i->end);
}

/* The first state: where the data are. */
static void first_state(const struct ink *i)
{
    fprintf(i->out, "init true_%s ~ normal(%.6g, %.6g)\n", i->x, i->c->mean,
            i->c->sd);
    fprintf(i->out, "obs %s ~ normal(true_%s, e%s)\n", i->x, i->x, i->end);
}

INK(noisy)
{
    fprintf(i->out, "state true_%s\n", i->x);
    return_params(i, "");
    fprintf(i->out,
            "param e%s = %.3g > 0\n"
            "dtrue_%s = k%s*(m%s - true_%s)*dt + s%s*dW\n",
            i->end, 0.3 * i->c->sd, i->x, i->end, i->end, i->x, i->end);
    first_state(i);
}

/* The speed changes over some gaps. */
INK(inert)
{
    double h = i->v->gap, v = i->s / sqrt(h), c = 0.3 / h;
    fprintf(i->out, "state true_%s, speed_%s\n", i->x, i->x);
    fprintf(i->out,
            "param k%s = %.3g > 0, c%s = %.3g > 0, m%s = %.3g, s%s = %.3g > "
            "0, e%s = %.3g > 0\n",
            i->end, v * v / (i->c->sd * i->c->sd), i->end, c, i->end,
            i->c->mean, i->end, v * sqrt(2.0 * c), i->end, 0.03 * i->c->sd);
    fprintf(i->out,
            "dtrue_%s = speed_%s*dt\n"
            "dspeed_%s = (k%s*(m%s - true_%s) - c%s*speed_%s)*dt + s%s*dW\n"
            "init speed_%s ~ normal(0, %.6g)\n",
            i->x, i->x, i->x, i->end, i->end, i->x, i->end, i->x, i->end, i->x,
            v);
    first_state(i);
}

INK(forced)
{
    fprintf(i->out, "state %s\nconst w%s = 2*pi/%.6g\n", i->x, i->end,
            i->c->period);
    return_params(i, "");
    fprintf(i->out,
            "param a%s = 0, b%s = 0\n"
            "d%s = (k%s*(m%s - %s) + a%s*cos(w%s*t) + b%s*sin(w%s*t))*dt + "
            "s%s*dW\n",
            i->end, i->end, i->x, i->end, i->end, i->x, i->end, i->end, i->end,
            i->end, i->end);
}

INK(apart)
{
    fprintf(i->out, "state %s\n", i->x);
    fprintf(i->out,
            "param k%s = %.3g > 0, m%s[series] = %.3g, s%s = %.3g > 0\n"
            "d%s = k%s*(m%s - %s)*dt + s%s*dW\n",
            i->end, i->k, i->end, i->c->mean, i->end, i->s, i->x, i->end,
            i->end, i->x, i->end);
}

/* --- Which ones ----------------------------------------------------------- */

static bool always(const struct sight *v, const gsv_look_column *c)
{
    (void)v, (void)c;
    return true;
}

/* Rows that are too far apart show no more than a mean and a deviation. */
static const double COARSE = 0.3;

static bool is_fine(const struct sight *v, const gsv_look_column *c)
{
    (void)v;
    return c->correlation > COARSE;
}

static bool grows(const struct sight *v, const gsv_look_column *c)
{
    return is_fine(v, c) && c->low > 0.0 && c->noise_slope > 0.1;
}

static bool reverses(const struct sight *v, const gsv_look_column *c)
{
    return is_fine(v, c) && c->reversal < -0.05;
}

static bool goes_on(const struct sight *v, const gsv_look_column *c)
{
    return is_fine(v, c) && c->reversal > 0.05;
}

/* Of 300 frequencies of white noise the largest power is about 6. */
static bool repeats(const struct sight *v, const gsv_look_column *c)
{
    return is_fine(v, c) && c->power > 10.0;
}

static bool is_panel(const struct sight *v, const gsv_look_column *c)
{
    (void)c;
    return v->many;
}

/* more: numbers besides those that are fitted. */
static const struct {
    void (*write)(const struct ink *i);
    bool (*may)(const struct sight *v, const gsv_look_column *c);
    bool hidden;
    double more;
    const char *words;
} KIND[LOOK_KINDS] = {
    {walk, always, false, 0, "random walk with a drift"},
    {returning, always, false, 0, "returns to a mean (Ornstein-Uhlenbeck)"},
    {growth, grows, false, 0.5, "noise grows with the level (geometric)"},
    {root, grows, false, 0.5,
     "returns to a mean, noise as the root of the level"},
    {cubic, is_fine, false, 0, "cubic drift (double well)"},
    {noisy, reverses, true, 0, "returns to a mean, with measurement noise"},
    {inert, goes_on, true, 0, "inertia: a speed and a force"},
    {forced, repeats, false, 1, "returns to a mean, with a periodic force"},
    {apart, is_panel, false, 0, "returns to a mean of each series"},
};

const char *kind_words(size_t kind)
{
    return KIND[kind].words;
}

void kind_write(size_t kind, const struct sight *s, const gsv_look_column *c,
                const char *end, FILE *out)
{
    double rate = s->rate / (2.0 * c->sd * c->sd);
    const struct ink i = {.out = out,
                          .x = s->name,
                          .end = end,
                          .k = fmin(rate, 1.0 / s->gap),
                          .s = sqrt(s->rate),
                          .v = s,
                          .c = c};
    KIND[kind].write(&i);
}

/* --- Fits ----------------------------------------------------------------- */

/* The density of the first rows, which only hidden states have. */
static double first_rows(const struct sight *s, const gsv_look_column *c,
                         double e)
{
    double sum = 0.0, variance = c->sd * c->sd + e * e;
    for (size_t t = 0; t < s->tracks; t++) {
        double z = s->value[s->start[t]] - c->mean;
        sum -= 0.5 * (z * z / variance + log(2.0 * PI * variance));
    }
    return sum;
}

static double error_of(const gsv_model *m)
{
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        if (!strcmp(p.name, "e")) return gsv_model_value(m)[p.offset];
    }
    return 0.0;
}

/* -INFINITY where it cannot be fitted. */
static double fit_kind(size_t kind, const struct sight *s,
                       const gsv_look_column *c, const gsv_options *given,
                       const gsv_series *data)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return -INFINITY;
    kind_write(kind, s, c, "", out);
    gsv_model *m = fclose(out) ? NULL : gsv_model_parse(text, "look");
    gsv_fit_options o = gsv_fit_options_default();
    double score = -INFINITY, gaps = (double)(s->rows - s->tracks);
    o.errors = GSV_ERRORS_NONE;
    o.estimator.seed = given->seed;
    o.estimator.threads = given->threads;
    o.iterations = 100;
    o.time_limit = 10.0;
    if (m && !gsv_fit(m, data, &o)) {
        const gsv_record *r = gsv_model_record(m);
        double numbers = (double)r->free + KIND[kind].more;
        double series = KIND[kind].write == apart ? (double)data->tracks : 0.0;
        score = r->loglik - (numbers - series) * (0.5 * log(gaps) + PRICE);
        if (series > 0.0) score -= 0.5 * series * log(gaps / series);
        if (KIND[kind].hidden) score -= first_rows(s, c, error_of(m));
    }
    gsv_model_free(m);
    free(text);
    return isfinite(score) ? score : -INFINITY;
}

static int better(const void *a, const void *b)
{
    double x = ((const struct guess *)a)->score;
    double y = ((const struct guess *)b)->score;
    return (x < y) - (x > y);
}

int look_guess(const struct sight *s, const gsv_look_column *c,
               const gsv_options *o, struct guess guess[LOOK_KINDS], size_t *n)
{
    gsv_series *data =
        gsv_series_new(s->tracks, s->start, 1, &s->name, s->time, s->value);
    if (!data) return (int)gsv_last_status();
    *n = 0;
    for (size_t kind = 0; kind < LOOK_KINDS; kind++) {
        /* Pieces between jumps are not series of the data. */
        if (!KIND[kind].may(s, c) || (KIND[kind].write == apart && c->jumps))
            continue;
        double score = fit_kind(kind, s, c, o, data);
        if (score > -INFINITY) guess[(*n)++] = (struct guess){kind, score};
    }
    qsort(guess, *n, sizeof *guess, better);
    gsv_series_free(data);
    return 0;
}
