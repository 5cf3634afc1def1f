/* SPDX-License-Identifier: MIT */
/* Scores of paths, the gradient for models with many numbers, against
 * differences of the log-likelihood. */
#include "guided.h"
#include "ranks.h"

/* Networks are small and in double, so that differences see them. */
#define PAIR                                                                   \
    "init x ~ normal(0.2, 1)\ninit y ~ normal(0, 0.7)\n"                       \
    "obs u ~ normal(x, 0.3)\nobs v ~ normal(y + x^2/4, 0.4)\n"

static const struct scored {
    const char *name, *text;
    size_t steps, seeds;
    double slack; /* of what networks leave out, in the gradient's norm */
} SCORED[] = {
    {"a well",
     "state x\nparam a = 1.2, b = 0.8 > 0, s = 0.7 > 0, e = 0.4 > 0, m = 0.3\n"
     "dx = (a*x - b*x^3)*dt + s*dW\ninit x ~ normal(m, 0.8)\n"
     "obs u ~ normal(x, e)\n",
     2, 16, 0.0},
    {"counts",
     "state x\nparam a = 1.2, s = 0.7 > 0, c = 0.5\n"
     "dx = sin(a*x)*dt + s*dW\ninit x ~ normal(0, 1)\n"
     "obs u ~ poisson(exp(c + x))\n",
     3, 16, 0.0},
    {"a map to unit diffusion",
     "state x\nparam k = 1.5 > 0, m = 1 > 0, s = 0.5 > 0, e = 0.3 > 0\n"
     "dx = k*(m - x)*dt + s*sqrt(x)*dW\ninit x ~ normal(1, 0.3)\n"
     "obs u ~ normal(x, e)\n",
     4, 16, 0.0},
    {"noise that no map removes",
     "state x, y\nparam a = 1, b = 0.7, s = 0.5 > 0, r = 0.3\n"
     "dx = (y - a*x^3)*dt + s*(1.5 + tanh(y))*dW1\n"
     "dy = (b*sin(x) - y)*dt + r*dW1 + (0.4 + 0.1*x^2)*dW2 + 0.2*dW3\n" PAIR,
     2, 16, 0.0},
    {"an input, and time",
     "state x, y\ninput w\nparam a = 1, b = 0.7, s = 0.5 > 0, r = 0.4 > 0\n"
     "dx = (y - a*x^3 + 0.3*cos(t))*dt + s*dW\n"
     "dy = (b*w*sin(x) - y)*dt + r*dW\n" PAIR,
     1, 16, 0.0},
    {"a network in the drift",
     "state x, y\nparam s = 0.5 > 0\nnet f(x, y) -> 2 : 3 tanh\n"
     "dx = f[1]*dt + s*dW\ndy = (f[2] - y)*dt + 0.5*dW\n" PAIR,
     4, 16, 0.02},
    {"a network in an obs",
     "state x\nparam s = 0.7 > 0, e = 0.4 > 0\nnet g(x) -> 2 : 3 silu\n"
     "dx = -x*dt + s*dW\ninit x ~ normal(0, 1)\n"
     "obs u ~ normal(g[1] + x, e)\nobs v ~ normal(g[2], e)\n",
     4, 16, 0.0},
    {"an exact state beside a latent one",
     "state v, y\nparam a = 1, b = 0.7, s = 0.5 > 0, r = 0.4 > 0, c = 0.2\n"
     "dv = (sin(y) - a*v^3)*dt + s*dW1\n"
     "dy = (b*v - y)*dt + c*dW1 + r*dW2\ninit y ~ normal(0, 0.7)\n",
     2, 16, 0.0},
    {"noisy positions",
     "state x, y\nparam k = 1.3, g = 0.6, s = 0.8 > 0, e = 0.4 > 0\n"
     "dx = k*y*dt\ndy = (x - x^3 - g*y)*dt + s*dW\n" PAIR,
     2, 4, 0.0},
    {"exact positions",
     "state v, y\nparam k = 1.3, g = 0.6, s = 0.8 > 0, m = 0.2\n"
     "dv = k*y*dt\ndy = (v - v^3 - g*y)*dt + s*dW\ninit y ~ normal(m, 1)\n",
     2, 4, 0.0},
    {"a rate that is no line",
     "state v, y\nparam eps = 0.7 > 0, a = 0.7, b = 0.8, s = 0.5 > 0\n"
     "dv = (v - v^3/3 - y)/eps*dt\ndy = (v + a - b*y)*dt + s*dW\n"
     "init y ~ normal(0, 1)\n",
     2, 4, 0.0},
    {"a chain of three",
     "state v, y, z\nparam k = 1.3, l = 0.8, g = 0.6, s = 0.8 > 0\n"
     "dv = k*y*dt\ndy = (l*z - 0.2*v)*dt\n"
     "dz = (-g*z - sin(v))*dt + s*dW\n"
     "init y ~ normal(0, 1)\ninit z ~ normal(0, 1)\n",
     1, 4, 0.0},
    {"means of positions",
     "state x, y\nparam k = 1.3, g = 0.6, s = 0.8 > 0, e = 0.4 > 0\n"
     "dx = k*y*dt\ndy = (x - x^3 - g*y)*dt + s*dW\n"
     "init x ~ normal(0.2, 1)\ninit y ~ normal(0, 0.7)\n"
     "obs u ~ normal(integral(x)/0.35, e)\n",
     2, 4, 0.0},
    {"a network for the force",
     "state x, y\nparam k = 1.3, s = 0.8 > 0\nnet f(x, y) -> 1 : 3 tanh\n"
     "dx = k*y*dt\ndy = (f - y)*dt + s*dW\n" PAIR,
     4, 4, 0.02},
    {"a network for the force at exact positions",
     "state v, y\nparam k = 1.3, s = 0.8 > 0\nnet f(v) -> 1 : 3 silu\n"
     "dv = k*y*dt\ndy = (f - y)*dt + s*dW\ninit y ~ normal(0, 1)\n",
     4, 4, 0.02},
    {"an energy of noisy positions",
     "state x, y\nparam g = 0.5, s = 0.8 > 0\nnet H(x, y) -> 1 : 3 tanh\n"
     "dx = (y + 0.3*grad(H, y))*dt\n"
     "dy = (-x - 0.3*grad(H, x) - g*y)*dt + s*dW\n" PAIR,
     2, 4, 0.0},
    {"an energy of exact positions",
     "state v, y\nparam g = 0.5, s = 0.8 > 0\nnet H(v, y) -> 1 : 3 silu\n"
     "dv = (y + 0.3*grad(H, y))*dt\n"
     "dy = (-v - 0.3*grad(H, v) - g*y)*dt + s*dW\ninit y ~ normal(0, 1)\n",
     2, 4, 0.0},
};

enum { TRACKS = 3, MOST = 64 };

/* Tracks of different lengths with some empty cells. */
static gsv_series *data_of(void)
{
    static const char *const column[] = {"u", "v", "w"};
    static const size_t start[] = {0, 7, 12, 14};
    double time[14], value[3 * 14];
    for (size_t i = 0; i < 14; i++) {
        double x = (double)i;
        time[i] = 0.35 * x + 0.1 * sin(3.0 * x);
        value[i] = i % 5 == 3 ? NAN : floor(1.2 + 1.1 * sin(1.3 * x));
        value[14 + i] = i % 4 == 1 ? NAN : 0.4 * cos(0.7 * x);
        value[28 + i] = cos(2.0 * x);
    }
    gsv_series *s = gsv_series_new(TRACKS, start, 3, column, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static gsv_options options_of(const struct scored *c, size_t points)
{
    gsv_options o = guided_options(points, c->steps);
    o.wide = true;
    o.threads = 1;
    return o;
}

/* d log p / d theta by differences, each of the mean over seeds. */
static void differences(gsv_model *m, const gsv_series *s,
                        const struct scored *c, double *gradient, double *error)
{
    size_t n = m->spec->parameters;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0, squares = 0.0, value = m->value[i];
        double seeds = (double)c->seeds;
        double away = 1e-3 * fmax(0.1, fabs(value));
        for (size_t seed = 0; seed < c->seeds; seed++) {
            double side[2];
            for (size_t t = 0; t < 2; t++) {
                gsv_options o = options_of(c, 128);
                gsv_result r;
                o.seed = 1000 + seed;
                m->value[i] = value + (t ? away : -away);
                if (gsv_loglik(m, s, &o, &r)) fail_msg("%s", gsv_last_error());
                side[t] = r.loglik;
                gsv_result_free(&r);
            }
            double one = (side[1] - side[0]) / (2.0 * away);
            sum += one / seeds;
            squares += one * one / seeds;
        }
        m->value[i] = value;
        gradient[i] = sum;
        error[i] = sqrt(fmax(0.0, squares - sum * sum) / (seeds - 1.0));
    }
}

/* Scores over seeds; the second run of each has psi along the path that the
 * first one found. */
static void scores(gsv_model *m, const gsv_series *s, const struct scored *c,
                   double *mean, double *error)
{
    size_t n = m->spec->parameters;
    double runs = 2.0 * (double)c->seeds;
    double sum[MOST] = {0}, squares[MOST] = {0};
    for (size_t seed = 0; seed < c->seeds; seed++) {
        struct guided a;
        struct score score;
        double one[MOST];
        gsv_options o = options_of(c, 256);
        o.gradient = true;
        o.seed = 1 + seed;
        if (guided_make(&a, m, s, &o, NULL)) fail_msg("%s", gsv_last_error());
        for (uint32_t run = 0; run < 2; run++) {
            const struct request q = {.iteration = run, .gradient = one};
            if (guided_scores(&a, &q, &score)) fail_msg("%s", gsv_last_error());
            for (size_t i = 0; i < n; i++) {
                sum[i] += one[i] / runs;
                squares[i] += one[i] * one[i] / runs;
            }
        }
        guided_free(&a);
    }
    for (size_t i = 0; i < n; i++) {
        mean[i] = sum[i];
        error[i] = sqrt((squares[i] - sum[i] * sum[i]) / (runs - 1.0));
    }
}

static void score__is_the_gradient(void **state)
{
    (void)state;
    gsv_series *s = data_of();
    for (size_t k = 0; k < COUNT(SCORED); k++) {
        const struct scored *c = &SCORED[k];
        gsv_model *m = gsv_model_parse(c->text, c->name);
        double wanted[MOST], error[2][MOST], got[MOST], norm = 0.0;
        if (!m) fail_msg("%s: %s", c->name, gsv_last_error());
        assert_true(m->spec->parameters <= MOST);
        differences(m, s, c, wanted, error[0]);
        scores(m, s, c, got, error[1]);
        for (size_t i = 0; i < m->spec->parameters; i++)
            norm = fmax(norm, fabs(wanted[i]));
        for (size_t i = 0; i < m->spec->parameters; i++) {
            double all = hypot(error[0][i], error[1][i]);
            if (!(fabs(got[i] - wanted[i]) <= 4.0 * all + c->slack * norm))
                fail_msg("%s, number %zu: %g, wanted %g +- %g", c->name, i,
                         got[i], wanted[i], all);
        }
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

/* --- Threads, ranks, tracks ----------------------------------------------- */

/* Two runs over a batch, the second from the paths of the first. */
struct outcome {
    double gradient[MOST], value;
};

static int run_twice(gsv_model *m, const gsv_series *s, size_t threads,
                     gsv_ranks *ranks, size_t n, const size_t *group,
                     struct outcome *out)
{
    struct guided a;
    struct score score = {0};
    gsv_options o = options_of(&SCORED[5], 40);
    o.gradient = true;
    o.threads = threads;
    o.ranks = ranks;
    int status = guided_make(&a, m, s, &o, NULL);
    for (uint32_t run = 0; !status && run < 2; run++) {
        const struct request q = {.iteration = run,
                                  .n = n,
                                  .group = group,
                                  .gradient = out->gradient};
        status = guided_scores(&a, &q, &score);
    }
    out->value = score.mean;
    guided_free(&a);
    return status;
}

static const size_t BATCH[] = {2, 0, 1, 0, 2};

struct scene {
    gsv_model *m;
    gsv_series *s;
    struct outcome one;
};

static void claim_same(gsv_ranks *r, void *user)
{
    const struct scene *scene = user;
    struct outcome out = {.value = NAN};
    if (run_twice(scene->m, scene->s, 1, r, COUNT(BATCH), BATCH, &out))
        fail_msg("%s", gsv_last_error());
    assert_memory_equal(&out, &scene->one, sizeof out);
    gsv_ranks_close(r, 0);
}

static void score__has_the_same_bits_on_threads_and_ranks(void **state)
{
    (void)state;
    struct scene scene = {.m = gsv_model_parse(SCORED[5].text, "net"),
                          .s = data_of()};
    assert_non_null(scene.m);
    assert_int_equal(
        run_twice(scene.m, scene.s, 1, NULL, COUNT(BATCH), BATCH, &scene.one),
        0);
    for (size_t threads = 2; threads < 5; threads++) {
        struct outcome out = {.value = NAN};
        assert_int_equal(run_twice(scene.m, scene.s, threads, NULL,
                                   COUNT(BATCH), BATCH, &out),
                         0);
        assert_memory_equal(&out, &scene.one, sizeof out);
    }
    for (size_t ranks = 2; ranks < 5; ranks++)
        ranks_act(ranks, claim_same, &scene);
    gsv_series_free(scene.s);
    gsv_model_free(scene.m);
}

/* The gradient of a batch is the sum of those of its tracks. */
static void score__adds_up_over_tracks(void **state)
{
    (void)state;
    gsv_model *m = gsv_model_parse(SCORED[5].text, "net");
    gsv_series *s = data_of();
    struct outcome all, one[TRACKS];
    assert_int_equal(run_twice(m, s, 2, NULL, 0, NULL, &all), 0);
    for (size_t i = 0; i < TRACKS; i++)
        assert_int_equal(run_twice(m, s, 1, NULL, 1, &i, &one[i]), 0);
    for (size_t k = 0; k < m->spec->parameters; k++) {
        double sum = 0.0, size = 1.0;
        for (size_t i = 0; i < TRACKS; i++) {
            sum += one[i].gradient[k];
            size += fabs(one[i].gradient[k]);
        }
        if (!(fabs(sum - all.gradient[k]) <= 1e-12 * size))
            fail_msg("number %zu: %g, not %g", k, all.gradient[k], sum);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

static void score__may_run_out_of_memory(void **state)
{
    (void)state;
    gsv_model *m = gsv_model_parse(SCORED[5].text, "net");
    gsv_series *s = data_of();
    struct outcome out;
    size_t n = 0;
    for (int status = 1; status;) {
        mem_fail_at(++n);
        status = run_twice(m, s, 1, NULL, 1, BATCH, &out);
        mem_fail_at(0);
        assert_true(!status || status == GSV_NO_MEMORY);
    }
    assert_true(n > 40);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void score__is_refused_where_it_does_not_exist(void **state)
{
    static const struct {
        const char *word, *text;
    } WRONG[] = {
        {"without noise", "state x, v\nnet f(v) -> 1 : 150 tanh\n"
                          "dx = f*dt\ndv = -v*dt + dW\ninit x ~ normal(0, 1)\n"
                          "init v ~ normal(0, 1)\nobs u ~ normal(x, 1)\n"},
        {"integrals",
         "state x\nnet f(x) -> 1 : 150 tanh\ndx = f*dt + dW\n"
         "init x ~ normal(0, 1)\nobs u ~ normal(integral(x), 1)\n"},
        {"events", "state x\nnet f(x) -> 1 : 150 tanh\ndx = f*dt + dW\n"
                   "event x += w\ninit x ~ normal(0, 1)\n"
                   "obs u ~ normal(x, 1)\n"},
        {"states in the data",
         "state w, y\nparam s = 1 > 0\nnet f(w, y) -> 2 : 150 tanh\n"
         "dw = f[1]*dt + s*w*dW\ndy = f[2]*dt + dW\ninit y ~ normal(0, 1)\n"
         "obs u ~ normal(y, 1)\n"},
    };
    (void)state;
    gsv_series *s = data_of();
    for (size_t i = 0; i < COUNT(WRONG); i++) {
        gsv_model *m = gsv_model_parse(WRONG[i].text, WRONG[i].word);
        gsv_fit_options o = gsv_fit_options_default();
        o.estimator.observe = GSV_OBSERVE_GUIDED;
        o.optimizer = GSV_OPTIMIZER_SOAP;
        if (!m) fail_msg("%s: %s", WRONG[i].word, gsv_last_error());
        assert_int_equal(gsv_fit(m, s, &o), GSV_BAD_INPUT);
        if (!strstr(gsv_last_error(), WRONG[i].word))
            fail_msg("%s: %s", WRONG[i].word, gsv_last_error());
        gsv_model_free(m);
    }
    gsv_series_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(score__is_the_gradient),
        cmocka_unit_test(score__has_the_same_bits_on_threads_and_ranks),
        cmocka_unit_test(score__adds_up_over_tracks),
        cmocka_unit_test(score__may_run_out_of_memory),
        cmocka_unit_test(score__is_refused_where_it_does_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
