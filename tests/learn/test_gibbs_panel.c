/* SPDX-License-Identifier: MIT */
/* Chains of panels against posteriors on grids over closed forms. Every series
 * drifts by its own effect, dx = u dt + s dW with u ~ N(m, w^2), so that all of
 * its rows are normal given m and w. Tolerances are the draws' own errors. */
#include "learn.h"

enum { SERIES = 8, ROWS = 6, CELLS = SERIES * ROWS };

/* --- Data ------------------------------------------------------------------
 */

struct rows {
    double t[ROWS], x[SERIES][ROWS], y[SERIES][ROWS];
};

static struct rows simulate(uint64_t seed)
{
    struct rows d;
    double *z = normals(2 * CELLS + SERIES, seed), *next = z;
    for (size_t i = 0; i < ROWS; i++)
        d.t[i] = 0.5 * (double)i;
    for (size_t r = 0; r < SERIES; r++) {
        double u = 0.4 + 0.8 * *next++, x = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            if (i) x += 0.5 * u + 0.5 * sqrt(0.5) * *next++;
            d.x[r][i] = x;
            d.y[r][i] = x + 0.3 * *next++;
        }
    }
    mem_free(z);
    return d;
}

static gsv_series *series_of(const struct rows *d, bool noisy)
{
    size_t start[SERIES + 1];
    double time[CELLS], value[CELLS];
    const char *name = noisy ? "y" : "x";
    for (size_t i = 0; i < CELLS; i++) {
        time[i] = d->t[i % ROWS];
        value[i] = (noisy ? d->y : d->x)[i / ROWS][i % ROWS];
    }
    for (size_t r = 0; r <= SERIES; r++)
        start[r] = r * ROWS;
    return gsv_series_new(SERIES, start, 1, &name, time, value);
}

/* --- Closed forms ----------------------------------------------------------
 */

/* The series' own part: log p(series | u) = -a u^2 / 2 + b u + c. */
struct parabola {
    double a, b, c;
};

static struct parabola exact_part(const struct rows *d, size_t r, double s)
{
    struct parabola p = {0};
    for (size_t i = 1; i < ROWS; i++) {
        double h = d->t[i] - d->t[i - 1], v = s * s * h;
        double step = d->x[r][i] - d->x[r][i - 1];
        p.a += h * h / v;
        p.b += step * h / v;
        p.c += exact_normal(step, 0.0, v);
    }
    return p;
}

/* x0 ~ N(0, 0.01) and y ~ N(x, 0.09): from three values of the filter. */
static double filtered(const struct rows *d, size_t r, double u, double s)
{
    double m = 0.0, P = 0.01, sum = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        double h = i ? d->t[i] - d->t[i - 1] : 0.0;
        m += u * h;
        P += s * s * h;
        sum += exact_normal(d->y[r][i], m, P + 0.09);
        m += P / (P + 0.09) * (d->y[r][i] - m);
        P = P * 0.09 / (P + 0.09);
    }
    return sum;
}

static struct parabola noisy_part(const struct rows *d, size_t r, double s)
{
    double low = filtered(d, r, -1.0, s), c = filtered(d, r, 0.0, s);
    double high = filtered(d, r, 1.0, s);
    return (struct parabola){2.0 * c - low - high, 0.5 * (high - low), c};
}

/* log of the integral of exp(parabola) N(u; m, w^2), and the mean of u. */
static double integral(struct parabola p, double m, double w, double *mean)
{
    double q = p.a + 1.0 / (w * w), b = p.b + m / (w * w);
    *mean = b / q;
    return p.c + 0.5 * b * b / q - 0.5 * m * m / (w * w) - log(w) -
           0.5 * log(q);
}

/* --- Grids -----------------------------------------------------------------
 */

struct problem {
    const char *name, *text;
    bool noisy;
    double by;            /* s = 0.5 exp(by m)                    */
    double m_sd, w_scale; /* priors: normal(0, sd), halfnormal; 0: none */
    gsv_options o;
    size_t draws; /* 0: 300 */
};

struct truth {
    double m, m_sd, w, w_sd, u[SERIES];
};

static double prior_of(const struct problem *p, double m, double w)
{
    double sum = 0.0;
    if (p->m_sd > 0.0) sum -= 0.5 * pow(m / p->m_sd, 2.0);
    if (p->w_scale > 0.0) sum -= 0.5 * pow(w / p->w_scale, 2.0);
    return sum;
}

static struct truth truth_of(const struct problem *p, const struct rows *d)
{
    enum { SIDE = 120 };
    struct truth t = {0};
    double all = 0.0, mm = 0.0, ww = 0.0, top = -INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            size_t row = i / SIDE;
            double m = -3.0 + 7.0 * ((double)row + 0.5) / SIDE;
            double w = 6.0 * ((double)(i % SIDE) + 0.5) / SIDE, u[SERIES];
            double log_p = prior_of(p, m, w), s = 0.5 * exp(p->by * m);
            for (size_t r = 0; r < SERIES; r++)
                log_p += integral(p->noisy ? noisy_part(d, r, s)
                                           : exact_part(d, r, s),
                                  m, w, &u[r]);
            if (!pass) top = fmax(top, log_p);
            if (!pass) continue;
            double share = exp(log_p - top);
            all += share;
            t.m += share * m;
            t.w += share * w;
            mm += share * m * m;
            ww += share * w * w;
            for (size_t r = 0; r < SERIES; r++)
                t.u[r] += share * u[r];
        }
    for (size_t r = 0; r < SERIES; r++)
        t.u[r] /= all;
    t.m /= all;
    t.w /= all;
    t.m_sd = sqrt(mm / all - t.m * t.m);
    t.w_sd = sqrt(ww / all - t.w * t.w);
    return t;
}

#define PANEL "state x\nparam m = 0.3, w = 0.5 > 0\nrandom u ~ normal(m, w)\n"
#define SEEN "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 0.1)\n"

/* The first is drawn as a whole, the others less and less; the last ones have
 * estimates by chance. */
static const struct problem PROBLEMS[] = {
    {"flat", PANEL "dx = u*dt + 0.5*dW\n", false, 0, 0, 0, {0}, 0},
    {"priors", PANEL "dx = u*dt + 0.5*dW\n", false, 0, 0.3, 0.5, {0}, 0},
    {"shared",
     PANEL "dx = u*dt + 0.5*exp(0.2*m)*dW\n",
     false,
     0.2,
     0,
     0,
     {0},
     0},
    {"noisy", PANEL "dx = u*dt + 0.5*dW\n" SEEN, true, 0, 0, 0, {0}, 0},
    {"paths",
     PANEL "dx = u*dt + 0.5*dW\n",
     false,
     0,
     0,
     1.0,
     {.paths = 4, .steps = 2, .reference = GSV_REFERENCE_BROWNIAN},
     0},
    {"guided",
     PANEL "dx = u*dt + 0.5*dW\n" SEEN,
     true,
     0,
     0,
     1.0,
     {.points = 8, .steps = 1, .observe = GSV_OBSERVE_GUIDED},
     120},
};

static gsv_fit_options chain_options(void)
{
    gsv_fit_options o = fit_options();
    o.method = GSV_METHOD_GIBBS;
    o.chains = 2;
    o.warmup = 120;
    o.draws = 300;
    return o;
}

static double posterior(const gsv_record *r, enum gsv_posterior row, size_t at)
{
    return r->posterior[(size_t)row * r->values + at];
}

/* A mean within 4.5 of its errors: some hundred numbers are compared. */
static void expect_mean(const char *where, const char *name, double mean,
                        double exact, double error)
{
    if (!(fabs(mean - exact) < 4.5 * error))
        fail_msg("%s: %s is %g, should be %g within %g", where, name, mean,
                 exact, error);
}

static void expect_number(const struct problem *p, const gsv_model *m,
                          const gsv_record *r, const char *name, double mean,
                          double sd)
{
    size_t at = param_named(m, name).offset;
    double ess = posterior(r, GSV_POSTERIOR_ESS_BULK, at);
    if (!(ess > 60.0 && posterior(r, GSV_POSTERIOR_RHAT, at) < 1.05))
        fail_msg("%s: %s has mixed badly: ess %g, R-hat %g", p->name, name, ess,
                 posterior(r, GSV_POSTERIOR_RHAT, at));
    expect_mean(p->name, name, gsv_model_value(m)[at], mean, sd / sqrt(ess));
    expect_mean(p->name, "its deviation", r->error_of[at], sd,
                2.0 * sd / sqrt(ess));
}

static void panel__has_the_posterior_of_a_grid(void **state)
{
    (void)state;
    struct rows d = simulate(7);
    for (size_t i = 0; i < COUNT(PROBLEMS); i++) {
        const struct problem *p = &PROBLEMS[i];
        struct truth t = truth_of(p, &d);
        gsv_series *s = series_of(&d, p->noisy);
        gsv_model *m = model_of(p->text);
        gsv_fit_options o = chain_options();
        gsv_prior prior[2];
        o.estimator = p->o;
        o.estimator.threads = 1;
        o.prior = prior;
        if (p->draws) o.draws = p->draws;
        if (p->draws) o.warmup = p->draws / 2;
        if (p->m_sd > 0.0)
            prior[o.priors++] = (gsv_prior){"m", GSV_LAW_NORMAL, 0.0, p->m_sd};
        if (p->w_scale > 0.0)
            prior[o.priors++] =
                (gsv_prior){"w", GSV_LAW_HALFNORMAL, p->w_scale, 0.0};
        const gsv_record *r = fit_must(m, s, &o);
        expect_number(p, m, r, "m", t.m, t.m_sd);
        expect_number(p, m, r, "w", t.w, t.w_sd);
        assert_true(r->effect_rhat < 1.1 && r->effect_ess > 40.0);
        for (size_t k = 0; k < SERIES; k++)
            expect_mean(p->name, "an effect", r->effect[k], t.u[k],
                        r->effect[SERIES + k] / sqrt(r->effect_ess));
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- Correlated effects ----------------------------------------------------
 */

/* With next to no noise, u is known: the mean over series of a lower matrix L
 * under flat priors is C times that of A^-1 (conjugate.c), with N - 1 - k
 * degrees, as m is not known. */
static void root__has_its_closed_form(void **state)
{
    (void)state;
    enum { N = 12 };
    static const char *const column[] = {"x", "v"};
    double *z = normals(2 * N, 3), time[2 * N], value[4 * N];
    double mean[2] = {0}, S[3] = {0};
    size_t start[N + 1];
    for (size_t r = 0; r < N; r++) {
        double u[2] = {0.5 * z[r], 0.3 * z[r] + 0.4 * z[N + r]};
        for (size_t c = 0; c < 2; c++) {
            value[c * 2 * N + 2 * r] = 0.0;
            value[c * 2 * N + 2 * r + 1] = u[c];
            mean[c] += u[c] / N;
        }
        time[2 * r] = 0.0;
        time[2 * r + 1] = 1.0;
        start[r] = 2 * r;
    }
    start[N] = 2 * N;
    for (size_t r = 0; r < N; r++) {
        double a = value[2 * r + 1] - mean[0];
        double b = value[2 * N + 2 * r + 1] - mean[1];
        S[0] += a * a;
        S[1] += a * b;
        S[2] += b * b;
    }
    double C[] = {sqrt(S[0]), S[1] / sqrt(S[0]),
                  sqrt(S[2] - S[1] * S[1] / S[0])};
    double nu = N - 3, each = tgamma(0.5 * (nu - 1)) / tgamma(0.5 * nu);
    gsv_series *s = gsv_series_new(N, start, 2, column, time, value);
    gsv_model *m = model_of("state x, v\nparam a, b, L[2,2] lower\n"
                            "random u[2] ~ normal([a, b], L)\n"
                            "dx = u[1]*dt + 0.001*dW1\n"
                            "dv = u[2]*dt + 0.001*dW2\n");
    gsv_fit_options o = chain_options();
    o.draws = 300;
    const gsv_record *r = fit_must(m, s, &o);
    size_t at = param_named(m, "L").offset, a = param_named(m, "a").offset;
    const size_t place[] = {at, at + 2, at + 3};
    for (size_t i = 0; i < 3; i++) {
        double ess = posterior(r, GSV_POSTERIOR_ESS_BULK, place[i]);
        assert_true(ess > 300.0);
        expect_mean("root", "L", gsv_model_value(m)[place[i]],
                    C[i] * each / sqrt(2.0), r->error_of[place[i]] / sqrt(ess));
    }
    for (size_t c = 0; c < 2; c++)
        expect_mean("root", "m", gsv_model_value(m)[a + c], mean[c],
                    r->error_of[a + c] / 20.0);
    mem_free(z);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Threads and resumes ---------------------------------------------------
 */

static bool same_draws(const gsv_model *one, const gsv_model *two)
{
    const gsv_draws *a = gsv_model_draws(one), *b = gsv_model_draws(two);
    size_t n = a->chains * a->draws, cells = a->tracks * a->effects;
    return b->draws == a->draws && b->effects == a->effects &&
           same_bits(n * a->numbers, a->value, b->value) &&
           same_bits(n, a->lp, b->lp) &&
           (!cells || same_bits(n * cells, a->effect, b->effect));
}

static const size_t RESUMED[] = {4, 5};

static gsv_fit_options few_draws(const struct problem *p)
{
    gsv_fit_options o = chain_options();
    o.estimator = p->o;
    o.estimator.threads = 1;
    o.chains = 3;
    o.warmup = 16;
    o.draws = 20;
    o.iterations = 2;
    return o;
}

static void draws__do_not_depend_on_threads(void **state)
{
    (void)state;
    struct rows d = simulate(9);
    for (size_t i = 0; i < COUNT(RESUMED); i++) {
        const struct problem *p = &PROBLEMS[RESUMED[i]];
        gsv_series *s = series_of(&d, p->noisy);
        gsv_fit_options o = few_draws(p);
        gsv_model *one = model_of(p->text);
        fit_must(one, s, &o);
        for (o.estimator.threads = 2; o.estimator.threads < 8;
             o.estimator.threads += 4) {
            gsv_model *two = model_of(p->text);
            fit_must(two, s, &o);
            assert_true(same_draws(one, two));
            gsv_model_free(two);
        }
        gsv_series_free(s);
        gsv_model_free(one);
    }
}

static bool stop_at(void *user, const gsv_progress *p)
{
    return p->iterations == 36 && p->iteration == *(const size_t *)user;
}

/* The first iteration of chains. */
static bool see_first(void *user, const gsv_progress *p)
{
    size_t *first = user;
    if (p->iterations == 36 && !*first) *first = p->iteration;
    return false;
}

/* Stopped in warm-up, at its end, among the draws. */
static void chains__go_on_to_the_same_bits(void **state)
{
    (void)state;
    static const size_t LAST[] = {5, 16, 29};
    struct rows d = simulate(11);
    for (size_t i = 0; i < COUNT(RESUMED) * COUNT(LAST); i++) {
        const struct problem *p = &PROBLEMS[RESUMED[i / COUNT(LAST)]];
        size_t last = LAST[i % COUNT(LAST)];
        gsv_series *s = series_of(&d, p->noisy);
        gsv_model *whole = model_of(p->text), *part = model_of(p->text);
        gsv_fit_options o = few_draws(p);
        fit_must(whole, s, &o);
        o.progress = stop_at;
        o.user = &last;
        const gsv_record *r = fit_must(part, s, &o);
        assert_int_equal(r->ended, GSV_ENDED_STOPPED);
        assert_int_equal(gsv_model_write(part, "part.fit"), 0);
        gsv_model_free(part);
        part = gsv_model_read("part.fit");
        size_t first = 0;
        o.progress = see_first;
        o.user = &first;
        o.resume = "part.fit";
        fit_must(part, s, &o);
        assert_int_equal(first, last + 1);
        assert_true(same_draws(whole, part));
        assert_int_equal(remove("part.fit"), 0);
        gsv_series_free(s);
        gsv_model_free(whole);
        gsv_model_free(part);
    }
}

/* More draws are fine, fewer and other chains are not. */
static void resume__refuses_other_chains(void **state)
{
    (void)state;
    struct rows d = simulate(11);
    gsv_series *s = series_of(&d, false);
    gsv_model *m = model_of(PROBLEMS[0].text);
    gsv_fit_options o = few_draws(&PROBLEMS[0]);
    size_t last = 30;
    o.progress = stop_at;
    o.user = &last;
    fit_must(m, s, &o);
    assert_int_equal(gsv_model_write(m, "part.fit"), 0);
    o.resume = "part.fit";
    o.draws = 5;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "part.fit", "14 draws");
    o.draws = 20;
    o.chains = 2;
    expect_error(gsv_fit(m, s, &o), GSV_BAD_INPUT, "--chains");
    o.progress = NULL;
    o.chains = 3;
    o.draws = 25;
    fit_must(m, s, &o);
    assert_int_equal(gsv_model_draws(m)->draws, 25);
    assert_int_equal(remove("part.fit"), 0);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void memory__that_is_missing_is_said(void **state)
{
    (void)state;
    struct rows d = simulate(13);
    gsv_series *s = series_of(&d, false);
    gsv_model *m = model_of(PROBLEMS[0].text);
    gsv_fit_options o = few_draws(&PROBLEMS[0]);
    int status = GSV_NO_MEMORY;
    o.warmup = o.draws = 2;
    o.chains = 1;
    o.iterations = 1;
    for (size_t n = 1; status; n += n < 20 ? 1 : n / 2) {
        mem_fail_at(n);
        status = gsv_fit(m, s, &o);
        mem_fail_at(0);
        assert_true(!status || status == GSV_NO_MEMORY);
        assert_true(!status || !gsv_model_draws(m));
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panel__has_the_posterior_of_a_grid),
        cmocka_unit_test(root__has_its_closed_form),
        cmocka_unit_test(draws__do_not_depend_on_threads),
        cmocka_unit_test(chains__go_on_to_the_same_bits),
        cmocka_unit_test(resume__refuses_other_chains),
        cmocka_unit_test(memory__that_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
