/* SPDX-License-Identifier: MIT */
/* The smoother where drift, noise or densities are not linear: against modes
 * found by Newton's method on the joint density, and against a grid. And what
 * must hold anywhere: finite, inside, without leaks, in linear time. */
#include <stdio.h>

#include "smooth.h"

enum { MOST_N = 200 };

static const double ONE = 1.0, ZERO = 0.0, WIDE = 10.0;

static void assert_finite(size_t n, const double *a)
{
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(a[i]));
}

/* --- Counts of a latent log rate ------------------------------------------ */

/* dx = -k (x - a) dt + s dW, with counts of mean scale_n e^x. */
struct rates {
    double k, a, s;
    size_t N;
    double time[MOST_N], count[MOST_N], scale[MOST_N];
};

/* A tridiagonal system, precision (diagonal, off), solved in place; variance
 * gets the diagonal of the inverse. */
static void solve(size_t N, double *diagonal, const double *off, double *x,
                  double *variance)
{
    for (size_t n = 1; n < N; n++) {
        double share = off[n] / diagonal[n - 1];
        diagonal[n] -= share * off[n];
        x[n] -= share * x[n - 1];
    }
    for (size_t n = N; n-- > 0;) {
        double next = n + 1 < N ? off[n + 1] : 0.0;
        variance[n] = 1.0 / diagonal[n];
        if (n + 1 < N) {
            x[n] -= next * x[n + 1];
            variance[n] += pow(next / diagonal[n], 2.0) * variance[n + 1];
        }
        x[n] /= diagonal[n];
    }
}

/* The mode of all x and their variances there, from a start near it. */
static void mode_of(const struct rates *r, double *x, double *variance)
{
    double diagonal[MOST_N], off[MOST_N], step[MOST_N];
    for (size_t n = 0; n < r->N; n++)
        x[n] = log((r->count[n] + 0.5) / fmax(r->scale[n], 0.1));
    for (int pass = 0; pass < 200; pass++) {
        for (size_t n = 0; n < r->N; n++) {
            double rate = r->scale[n] * exp(x[n]);
            bool seen = r->scale[n] > 0.0;
            diagonal[n] = seen ? rate : 0.0;
            step[n] = seen ? r->count[n] - rate : 0.0;
            off[n] = 0.0;
        }
        diagonal[0] += 1.0 / (WIDE * WIDE);
        step[0] -= x[0] / (WIDE * WIDE);
        for (size_t n = 1; n < r->N; n++) {
            double h = r->time[n] - r->time[n - 1], rho = exp(-r->k * h);
            double Q = r->s * r->s * (1.0 - rho * rho) / (2.0 * r->k);
            double miss = x[n] - r->a - rho * (x[n - 1] - r->a);
            diagonal[n] += 1.0 / Q;
            diagonal[n - 1] += rho * rho / Q;
            off[n] = -rho / Q;
            step[n] -= miss / Q;
            step[n - 1] += rho * miss / Q;
        }
        solve(r->N, diagonal, off, step, variance);
        for (size_t n = 0; n < r->N; n++)
            x[n] += fmax(fmin(step[n], 1.0), -1.0);
    }
}

static struct rates rates_of(size_t N, double k, double a, double s,
                             uint64_t seed)
{
    struct rates r = {.k = k, .a = a, .s = s, .N = N};
    double *z = normals(2 * N, seed), x = a;
    watch_times(N, 0.3, r.time);
    for (size_t n = 0; n < N; n++) {
        x += n ? -0.3 * k * (x - a) + sqrt(0.3) * s * z[n] : 0.0;
        double rate = exp(x);
        r.count[n] = fmax(0.0, floor(rate + sqrt(rate) * z[N + n] + 0.5));
        r.scale[n] = 1.0;
    }
    mem_free(z);
    return r;
}

static gsv_model *rates_model(const struct rates *r)
{
    char text[256];
    snprintf(text, sizeof text,
             "state x\nparam k = %.17g, a = %.17g, s = %.17g > 0\n"
             "dx = -k*(x - a)*dt + s*dW\n",
             r->k, r->a, r->s);
    gsv_model *m = model_of(text);
    watch_begin(m, &ZERO, &WIDE);
    return m;
}

static void assert_mode(const struct rates *r, const gsv_model *m)
{
    double x[MOST_N], variance[MOST_N];
    struct smooth_track track = {
        .stops = r->N, .time = r->time, .value = r->count};
    struct smoothed found = smooth_it(m, &track);
    mode_of(r, x, variance);
    assert_true(found.converged);
    for (size_t n = 0; n < r->N; n++) {
        double sd = sqrt(variance[n]);
        assert_near(r->s * found.law.mean[n], x[n], 1e-6 * sd);
        assert_near(r->s * sqrt(found.law.cov[n]), sd, 1e-6 * sd);
    }
    smoothed_free(&found);
}

static void smoother__of_counts_is_at_the_mode(void **state)
{
    (void)state;
    static const double level[] = {-2.0, 0.0, 3.0, 8.0};
    for (size_t i = 0; i < COUNT(level) * 5; i++) {
        double s = i % 5 ? 0.5 : 3.0;
        struct rates r = rates_of(MOST_N, 0.7, level[i / 5], s, i + 1);
        gsv_model *m = rates_model(&r);
        watch_poisson(m, &ONE);
        assert_mode(&r, m);
        watch_free(m);
    }
}

/* Of a poisson process the rate at the stop times the gap's length. */
static void smoother__of_a_process_takes_the_gaps_length(void **state)
{
    (void)state;
    struct rates r = rates_of(MOST_N, 0.7, 3.0, 0.8, 5);
    gsv_model *m = rates_model(&r);
    struct graph *g = m->spec->graph;
    r.scale[0] = 0.0;
    for (size_t n = 1; n < r.N; n++)
        r.scale[n] = r.time[n] - r.time[n - 1];
    watch_add(m, graph_number(g, 0.0));
    m->spec->integral = NEW(struct integral_spec, 1);
    m->spec->integrals = 1;
    m->spec->integral[0].rate = graph_unary(g, OP_EXP, watch_sum(m, &ONE));
    m->spec->obs[0].law = LAW_POISSON_PROCESS;
    m->spec->obs[0].integrated = true;
    m->spec->obs[0].argument[0] =
        graph_leaf(g, OP_INPUT, m->spec->inputs + m->spec->values, 1, 1);
    assert_mode(&r, m);
    watch_free(m);
}

/* --- A double well -------------------------------------------------------- */

enum { GRID = 241, STEPS = 8, WELL_N = 60 };
static const double GRID_END = 3.0, WELL_GAP = 0.25, WELL_NOISE = 0.4;

static double grid_at(size_t i)
{
    return GRID_END * (2.0 * (double)i / (GRID - 1) - 1.0);
}

/* p (GRID) by one Euler step forward, or a function of it backward. */
static void grid_step(double dt, bool backward, double *p)
{
    static double K[GRID][GRID];
    static bool made;
    double next[GRID] = {0};
    for (size_t i = 0; !made && i < GRID; i++)
        for (size_t j = 0; j < GRID; j++) {
            double x = grid_at(i), mean = x + 2.0 * (x - x * x * x) * dt;
            K[i][j] = exp(exact_normal(grid_at(j), mean, dt)) *
                      (2.0 * GRID_END / (GRID - 1));
        }
    made = true;
    for (size_t i = 0; i < GRID; i++)
        for (size_t j = 0; j < GRID; j++) {
            if (backward) next[i] += K[i][j] * p[j];
            else next[j] += K[i][j] * p[i];
        }
    memcpy(p, next, sizeof next);
}

static void grid_observe(double value, double *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < GRID; i++) {
        p[i] *= exp(exact_normal(value, grid_at(i), WELL_NOISE * WELL_NOISE));
        sum += p[i];
    }
    for (size_t i = 0; i < GRID; i++)
        p[i] /= sum;
}

/* Means and deviations at the stops by forward and backward sums. */
static void grid_smooth(const double *value, double *mean, double *deviation)
{
    static double ahead[WELL_N][GRID];
    double p[GRID], total = 0.0;
    for (size_t n = 0; n < WELL_N; n++) {
        for (size_t i = 0; i < GRID; i++)
            p[i] = n ? p[i] : exp(exact_normal(grid_at(i), 0.0, 1.0));
        for (int k = 0; n && k < STEPS; k++)
            grid_step(WELL_GAP / STEPS, false, p);
        grid_observe(value[n], p);
        memcpy(ahead[n], p, sizeof p);
    }
    for (size_t i = 0; i < GRID; i++)
        p[i] = 1.0;
    for (size_t n = WELL_N; n-- > 0;) {
        double s0 = 0.0, s1 = 0.0, s2 = 0.0;
        for (size_t i = 0; i < GRID; i++) {
            double w = ahead[n][i] * p[i], x = grid_at(i);
            s0 += w;
            s1 += w * x;
            s2 += w * x * x;
        }
        mean[n] = s1 / s0;
        deviation[n] = sqrt(s2 / s0 - mean[n] * mean[n]);
        total += s0;
        grid_observe(value[n], p);
        for (int k = 0; k < STEPS; k++)
            grid_step(WELL_GAP / STEPS, true, p);
    }
    assert_true(isfinite(total));
}

static void smoother__of_a_double_well_is_near_to_a_grids(void **state)
{
    (void)state;
    double time[WELL_N], value[WELL_N], mean[WELL_N], deviation[WELL_N];
    double far = 0.0, wide = 0.0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        double *z = normals(WELL_N * 17, seed), x = 1.0;
        for (size_t n = 0, i = 0; n < WELL_N; n++) {
            for (int k = 0; k < 16; k++, i++)
                x += 2.0 * (x - x * x * x) * WELL_GAP / 16.0 +
                     sqrt(WELL_GAP / 16.0) * z[i];
            time[n] = WELL_GAP * (double)n;
            value[n] = x + WELL_NOISE * z[WELL_N * 16 + n];
        }
        mem_free(z);
        gsv_model *m = model_of("state x\ndx = 2*(x - x^3)*dt + dW\n");
        watch_begin(m, &ZERO, &ONE);
        watch_normal(m, &ONE, WELL_NOISE);
        struct smooth_track track = {
            .stops = WELL_N, .time = time, .value = value};
        struct smoothed r = smooth_it(m, &track);
        grid_smooth(value, mean, deviation);
        assert_true(r.converged);
        for (size_t n = 0; n < WELL_N; n++) {
            double ratio = sqrt(r.law.cov[n]) / deviation[n];
            far = fmax(far, fabs(r.law.mean[n] - mean[n]) / deviation[n]);
            wide = fmax(wide, fabs(log(ratio)));
        }
        smoothed_free(&r);
        watch_free(m);
    }
    assert_true(far < 0.6);
    assert_true(wide < log(1.4));
}

/* Gaps so long that the linearisation at the top of the hill blows up. */
static void smoother__survives_long_gaps(void **state)
{
    (void)state;
    static const double h[] = {1.0, 5.0, 50.0, 1e4};
    for (size_t i = 0; i < COUNT(h); i++) {
        double time[40], value[40], *z = normals(40, 3);
        for (size_t n = 0; n < 40; n++) {
            time[n] = h[i] * (double)n;
            value[n] = n % 7 == 3 ? NAN : (n / 5 % 2 ? 1.0 : -1.0) + 0.1 * z[n];
        }
        mem_free(z);
        gsv_model *m = model_of("state x\ndx = 20*(x - x^3)*dt + 0.5*dW\n");
        watch_begin(m, &ZERO, &WIDE);
        watch_normal(m, &ONE, 0.3);
        struct smooth_track track = {.stops = 40, .time = time, .value = value};
        struct smoothed r = smooth_it(m, &track);
        for (size_t n = 0; n < 40; n++) {
            assert_true(fabs(0.5 * r.law.mean[n]) < 3.0);
            assert_true(r.law.cov[n] > 0.0 && isfinite(r.law.cov[n]));
        }
        smoothed_free(&r);
        watch_free(m);
    }
}

/* --- Inside of the range -------------------------------------------------- */

/* A square-root process near to 0, with a first law whose mean is outside. */
static void smoother__stays_inside_of_the_range(void **state)
{
    (void)state;
    static const double level[] = {0.02, 0.3, 5.0};
    for (size_t i = 0; i < COUNT(level) * 2; i++) {
        double time[MOST_N], value[MOST_N], *z = normals(MOST_N, i + 1);
        watch_times(MOST_N, 0.2, time);
        for (size_t n = 0; n < MOST_N; n++)
            value[n] = level[i / 2] + 0.3 * z[n];
        mem_free(z);
        gsv_model *m = model_of("state x\nparam k = 1, a = 0.3, s = 0.8 > 0\n"
                                "dx = k*(a - x)*dt + s*sqrt(x)*dW\n");
        watch_begin(m, i % 2 ? &ZERO : &ONE, &WIDE);
        watch_normal(m, &ONE, 0.3);
        struct smooth_track track = {
            .stops = MOST_N, .time = time, .value = value};
        struct smoothed r = smooth_it(m, &track);
        for (size_t n = 0; n < MOST_N; n++) {
            assert_true(r.law.mean[n] > 0.0);
            assert_true(r.law.cov[n] > 0.0 && isfinite(r.law.cov[n]));
        }
        smoothed_free(&r);
        watch_free(m);
    }
}

/* --- Heavy tails, inputs -------------------------------------------------- */

/* Student's t with 3 degrees of freedom: an outlier is not followed. */
static void smoother__leaves_outliers_alone(void **state)
{
    (void)state;
    enum { N = 50 };
    double time[N], value[N], *z = normals(N, 9);
    gsv_model *m = model_of("state x\ndx = -x*dt + 0.5*dW\n");
    struct graph *g = m->spec->graph;
    watch_begin(m, &ZERO, &WIDE);
    node r = watch_op(m, OP_SUB, watch_value(m), watch_sum(m, &ONE));
    r = watch_op(m, OP_DIV, r, graph_number(g, 0.2));
    r = graph_unary(
        g, OP_LOG1P,
        watch_op(m, OP_DIV, watch_op(m, OP_MUL, r, r), graph_number(g, 3.0)));
    watch_add(m, watch_op(m, OP_MUL, graph_number(g, -2.0), r));
    for (size_t n = 0; n < N; n++) {
        time[n] = 0.1 * (double)n;
        value[n] = 0.2 * z[n] + (n % 10 == 6 ? 40.0 : 0.0);
    }
    mem_free(z);
    struct smooth_track track = {.stops = N, .time = time, .value = value};
    struct smoothed found = smooth_it(m, &track);
    assert_true(found.converged);
    for (size_t n = 0; n < N; n++)
        assert_true(fabs(0.5 * found.law.mean[n]) < 0.5);
    smoothed_free(&found);
    watch_free(m);
}

/* log p(x, values) of one stop, from the text's own density. */
static double log_joint(const gsv_model *m, double x, const double *value)
{
    double density, time = 0.0;
    struct points in = {.P = 1, .state = &x, .time = &time, .input = value};
    assert_int_equal(
        model_evaluate(m, m->spec->obs[0].log_density, &in, true, &density), 0);
    return density - 0.5 * pow((x - 0.5) / 2.0, 2.0);
}

/* Every law at one stop: no x near to the mean has a larger density, and minus
 * its second derivative is one over the variance. */
static void smoother__takes_every_law(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value[3];
    } law[] = {
        {"obs v ~ normal(sinh(x), 0.3)", {3.0}},
        {"obs v ~ student(x, 0.3, 4)", {5.0}},
        {"obs v ~ poisson(exp(x))", {40.0}},
        {"obs v ~ poisson(exp(x))", {0.0}},
        {"obs v ~ negbin(exp(x), 2)", {17.0}},
        {"obs v ~ binomial(20, sigmoid(x))", {17.0}},
        {"obs v ~ binomial(n, sigmoid(x))", {30.0, 30.0}},
        {"obs v[3] ~ multinomial(softmax([x, 0, -x]))", {9.0, 4.0, 1.0}},
    };
    for (size_t i = 0; i < COUNT(law); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "state x\ninit x ~ normal(0.5, 2)\n%s\n"
                 "dx = -x*dt + 0.7*dW\n",
                 law[i].text);
        gsv_model *m = model_of(text);
        double time = 0.0, h = 1e-4;
        struct smooth_track track = {
            .stops = 1, .time = &time, .value = law[i].value};
        struct smoothed r = smooth_it(m, &track);
        double x = 0.7 * r.law.mean[0], variance = 0.49 * r.law.cov[0];
        double at = log_joint(m, x, law[i].value);
        double up = log_joint(m, x + h, law[i].value) - at;
        double down = log_joint(m, x - h, law[i].value) - at;
        assert_true(r.converged);
        assert_near((up - down) / (2.0 * h), 0.0, 1e-5 / sqrt(variance));
        assert_near((up + down) / (h * h) * variance, -1.0, 1e-4);
        smoothed_free(&r);
        gsv_model_free(m);
    }
}

/* dx = (u - x) dt + dW: the input of the gap's middle is the one that counts.
 */
static void smoother__takes_inputs(void **state)
{
    (void)state;
    const double time[2] = {0.0, 1.0}, value[2] = {NAN, NAN};
    const double input[2] = {100.0, 100.0}, middle[2] = {100.0, 2.0};
    gsv_model *m = model_of("state x\ninput u\ndx = (u - x)*dt + dW\n");
    watch_begin(m, &ONE, &ONE);
    watch_normal(m, &ONE, 1.0);
    struct smooth_track track = {.stops = 2,
                                 .time = time,
                                 .input = input,
                                 .middle_input = middle,
                                 .value = value};
    struct smoothed r = smooth_it(m, &track);
    assert_near(r.law.mean[1], 2.0 - exp(-1.0), 1e-12);
    smoothed_free(&r);
    watch_free(m);
}

/* --- Anything ------------------------------------------------------------- */

/* A drift and a density that are not defined everywhere. */
static void smoother__is_finite_or_says_so(void **state)
{
    (void)state;
    static const char *const text[] = {
        "state x\ndx = sqrt(x)*dt + dW\n", "state x\ndx = 1/x*dt + dW\n",
        "state x\ndx = exp(x^2)*dt + dW\n", "state x\ndx = -1e9*x^3*dt + dW\n",
        "state x\ndx = log(x)*dt + 1e-6*dW\n"};
    for (size_t i = 0; i < COUNT(text) * 2; i++) {
        double time[MOST_N], value[MOST_N], *z = normals(MOST_N, i + 1);
        watch_times(MOST_N, 0.5, time);
        for (size_t n = 0; n < MOST_N; n++)
            value[n] = i % 2 ? floor(10.0 * fabs(z[n])) : 5.0 * z[n];
        mem_free(z);
        gsv_model *m = model_of(text[i / 2]);
        watch_begin(m, &ZERO, &WIDE);
        if (i % 2) watch_poisson(m, &ONE);
        else watch_normal(m, &ONE, 1e-3);
        struct smooth_track track = {
            .stops = MOST_N, .time = time, .value = value};
        struct smoothed r = smooth_it(m, &track);
        assert_finite(MOST_N, r.law.mean);
        assert_finite(MOST_N, r.law.cov);
        for (size_t n = 0; n < MOST_N; n++)
            assert_true(r.law.cov[n] > 0.0);
        smoothed_free(&r);
        watch_free(m);
    }
}

static void smoother__fails_with_every_allocation(void **state)
{
    (void)state;
    const double time[2] = {0.0, 1.0}, value[2] = {1.0, 2.0};
    struct smooth_track track = {.stops = 2, .time = time, .value = value};
    gsv_model *m = model_of("state x\nparam s = 1 > 0\n"
                            "dx = (1 - x)*dt + s*sqrt(x)*dW\n");
    watch_begin(m, &ONE, &ONE);
    watch_poisson(m, &ONE);
    struct smoothed r = smoothed_new(1, 2);
    bool done = false;
    for (size_t n = 1; !done; n++) {
        struct smoother s;
        mem_fail_at(n);
        int status = smoother_init(&s, m);
        if (!status) status = smoother_run(&s, m->value, &track, &r.law);
        mem_fail_at(0);
        done = !status;
        if (status) assert_int_equal(status, GSV_NO_MEMORY);
        smoother_free(&s);
        assert_true(n < 1000);
    }
    smoothed_free(&r);
    watch_free(m);
}

static void smoother__says_what_noise_it_cannot_take(void **state)
{
    (void)state;
    struct smoother s;
    gsv_model *m = model_of("state x, y\ndx = -x*dt + sqrt(1 + y^2)*dW1\n"
                            "dy = -y*dt + dW2\nobs v ~ normal(x, 1)\n"
                            "init x ~ normal(0, 1)\n");
    assert_true(m->bridged);
    assert_int_equal(smoother_init(&s, m), GSV_BAD_INPUT);
    smoother_free(&s);
    gsv_model_free(m);
}

/* Twice the stops take twice the memory, and no more passes over them. */
static size_t passes_for(size_t d, size_t N, size_t *bytes)
{
    static const double mean[2], deviation[2] = {1.0, 1.0};
    double *time = NEW(double, N), *value = NEW(double, N);
    double *z = normals(N, 2);
    gsv_model *m = d == 1 ? model_of("state x\ndx = (x - x^3)*dt + dW\n")
                          : model_of("state x, v\ndx = v*dt + 0.3*dW1\n"
                                     "dv = (x - x^3 - v)*dt + 0.5*dW2\n");
    watch_begin(m, mean, deviation);
    watch_normal(m, (const double[2]){1.0, 0.0}, 0.5);
    for (size_t n = 0; n < N; n++) {
        time[n] = 0.1 * (double)n;
        value[n] = sin(0.02 * (double)n) + 0.5 * z[n];
    }
    struct smooth_track track = {.stops = N, .time = time, .value = value};
    struct smoother s;
    struct smoothed r = smoothed_new(d, N);
    assert_int_equal(smoother_init(&s, m), 0);
    assert_int_equal(smoother_run(&s, m->value, &track, &r.law), 0);
    assert_true(s.converged);
    assert_finite(N * d, r.law.mean);
    *bytes = s.stop.arena.size;
    size_t passes = s.passes;
    smoother_free(&s);
    smoothed_free(&r);
    watch_free(m);
    mem_free(time);
    mem_free(value);
    mem_free(z);
    return passes;
}

static void smoother__is_linear_in_the_stops(void **state)
{
    (void)state;
    enum { N = 20000 / SLOWER };
    for (size_t d = 1; d <= 2; d++) {
        size_t few, many;
        size_t half = passes_for(d, N / 2, &few);
        size_t whole = passes_for(d, N, &many);
        print_message("%d stops in %zu dimensions: %zu passes\n", N, d, whole);
        assert_true(many < 2 * few + 1024);
        assert_true(many < N * (5 * d + 3 * d * d) * sizeof(double) + 4096);
        assert_true(whole <= half + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother__of_counts_is_at_the_mode),
        cmocka_unit_test(smoother__of_a_process_takes_the_gaps_length),
        cmocka_unit_test(smoother__of_a_double_well_is_near_to_a_grids),
        cmocka_unit_test(smoother__survives_long_gaps),
        cmocka_unit_test(smoother__stays_inside_of_the_range),
        cmocka_unit_test(smoother__leaves_outliers_alone),
        cmocka_unit_test(smoother__takes_every_law),
        cmocka_unit_test(smoother__takes_inputs),
        cmocka_unit_test(smoother__is_finite_or_says_so),
        cmocka_unit_test(smoother__fails_with_every_allocation),
        cmocka_unit_test(smoother__says_what_noise_it_cannot_take),
        cmocka_unit_test(smoother__is_linear_in_the_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
