/* SPDX-License-Identifier: MIT */
/* Simulation with noise that depends on the state: orders against exact
 * solutions on one Brownian path, moments that are known, boundaries, bits. */
#include "schemes.h"

/* --- Strong order -------------------------------------------------------- */

struct band {
    double low, high;
};

/* By scheme; milstein is left out where its band is empty. */
typedef struct band bands[SCHEMES];

static const bands OWN = {[GSV_EULER] = {0.4, 0.7},
                          [GSV_MILSTEIN] = {0.9, 1.2},
                          [GSV_HEUN] = {0.9, 1.2},
                          [GSV_SRK] = {1.35, 1.9}};
static const bands COMMUTING = {[GSV_EULER] = {0.4, 0.7},
                                [GSV_MILSTEIN] = {0.85, 1.2},
                                [GSV_HEUN] = {0.85, 1.2},
                                [GSV_SRK] = {0.85, 1.3}};
static const bands OTHER = {[GSV_EULER] = {0.4, 0.7},
                            [GSV_HEUN] = {0.35, 0.8},
                            [GSV_SRK] = {0.35, 0.8}};

/* Truth at time 1 from 0.5, where all of the path is known. */
typedef void solution(const struct rig *r, const struct brownian *b,
                      double *truth);

static void check_strong(const char *text, const char *what, solution *exact,
                         const bands *order)
{
    struct rig *r = rig_open(text, PATHS);
    struct brownian b = brownian_new(r->field.spec->noises);
    size_t n = r->field.spec->dim * PATHS, level = LEVELS;
    double e[SCHEMES][LEVELS], *truth = NEW(double, n);
    assert_non_null(truth);
    assert_true(r->field.state_noise);
    exact(r, &b, truth);
    while (b.n > COARSEST) {
        brownian_halve(&b);
        if (b.n >= COARSEST << LEVELS) continue;
        level--;
        for (size_t i = 0; i < SCHEMES; i++) {
            walk(r, i, &b);
            e[i][level] = root_mean_square(n, r->stepper.x, truth);
        }
    }
    for (size_t i = 0; i < SCHEMES; i++)
        if ((*order)[i].high > 0.0)
            check_order(what, i, order_of(LEVELS, e[i]), (*order)[i].low,
                        (*order)[i].high);
    mem_free(truth);
    brownian_free(&b);
    rig_close(r);
}

/* 0.5 exp((mu - s^2/2) + s W(1)), mu = 0.4, s = 0.5. */
static void exact_gbm(const struct rig *r, const struct brownian *b,
                      double *truth)
{
    (void)r;
    for (size_t p = 0; p < PATHS; p++) {
        double W = 0.0;
        for (size_t i = 0; i < b->n; i++)
            W += b->dW[i * b->row + p];
        truth[p] = 0.5 * exp(0.4 - 0.125 + 0.5 * W);
    }
}

/* srk with 16 times as many steps as the finest that is measured. */
static void by_srk(const struct rig *r, const struct brownian *b, double *truth)
{
    walk((struct rig *)(size_t)r, GSV_SRK, b);
    memcpy(truth, r->stepper.x, r->field.spec->dim * PATHS * sizeof *truth);
}

static void scheme__has_its_strong_order_for_geometric_motion(void **state)
{
    (void)state;
    check_strong("state x\ndx = 0.4*x*dt + 0.5*x*dW", "gbm", exact_gbm, &OWN);
}

static void scheme__has_its_strong_order_with_noises_of_their_own(void **state)
{
    (void)state;
    check_strong("state x, y\n"
                 "dx = (sin(y) - x)*dt + (0.5 + 0.4*sin(2*x + t))*dW\n"
                 "dy = (x - y)*dt + 0.3*exp(-t)*(1.5 + cos(y))*dW",
                 "own", by_srk, &OWN);
}

/* Correlated geometric motion: x_i = 0.5 exp(-v_i/2 + (L W)_i). */
static void exact_pair(const struct rig *r, const struct brownian *b,
                       double *truth)
{
    (void)r;
    for (size_t p = 0; p < PATHS; p++) {
        double W[2] = {0.0, 0.0};
        for (size_t i = 0; i < b->n; i++)
            for (size_t j = 0; j < 2; j++)
                W[j] += b->dW[i * b->row + j * PATHS + p];
        truth[p] = 0.5 * exp(-0.5 * 0.25 + 0.3 * W[0] + 0.4 * W[1]);
        truth[PATHS + p] =
            0.5 * exp(-0.5 * (0.04 + 0.36) - 0.2 * W[0] + 0.6 * W[1]);
    }
}

static void scheme__has_its_strong_order_with_noises_that_commute(void **state)
{
    (void)state;
    check_strong("state x, y\n"
                 "dx = x*(0.3*dW1 + 0.4*dW2)\n"
                 "dy = y*(0.6*dW2 - 0.2*dW1)",
                 "commuting", exact_pair, &COMMUTING);
}

static void scheme__has_order_one_half_where_noises_do_not_commute(void **state)
{
    (void)state;
    check_strong("state x, y\n"
                 "dx = -x*dt + y*dW1 + 0.5*dW2\n"
                 "dy = -y*dt + 0.5*x*dW2 + 0.4*dW1",
                 "other", by_srk, &OTHER);
}

/* --- Weak order ---------------------------------------------------------- */

/* dX = A X dt + B1 X dW1 + B2 X dW2, which do not commute. */
static const double A[4] = {-1.0, 0.5, 0.3, -0.7};
static const double B[2][4] = {{0.0, 0.4, 0.5, 0.0}, {0.3, 0.0, 0.1, -0.2}};
static const char LINEAR[] =
    "state x, y\n"
    "dx = (-x + 0.5*y)*dt + 0.4*y*dW1 + 0.3*x*dW2\n"
    "dy = (0.3*x - 0.7*y)*dt + 0.5*x*dW1 + (0.1*x - 0.2*y)*dW2";

static void product(const double *a, const double *b, bool transposed,
                    double scale, double *c)
{
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            for (size_t k = 0; k < 2; k++)
                c[2 * i + j] += scale * a[2 * i + k] *
                                b[transposed ? 2 * j + k : 2 * k + j];
}

/* L M = A M + M A' + sum of B M B': how E X X' moves. */
static void generator(const double *M, double *LM)
{
    memset(LM, 0, 4 * sizeof *LM);
    product(A, M, false, 1.0, LM);
    product(M, A, true, 1.0, LM);
    for (size_t j = 0; j < 2; j++) {
        double BM[4] = {0.0};
        product(B[j], M, false, 1.0, BM);
        product(BM, B[j], true, 1.0, LM);
    }
}

/* E X X' after one step from (1, 0.5) against M + h L M + h^2/2 L^2 M. Three
 * points of Gauss and Hermite for each dW and both signs of V are exact for
 * what a step is a polynomial of. */
static double local_error(struct rig *r, size_t scheme, double h)
{
    enum { N = 18 };
    const double at[3] = {-sqrt(3.0), 0.0, sqrt(3.0)};
    const double weight[3] = {1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0};
    double dW[2 * N], zeta[2 * N], *x = r->stepper.x;
    for (size_t p = 0; p < N; p++) {
        dW[p] = sqrt(h) * at[p % 3];
        dW[N + p] = sqrt(h) * at[p / 3 % 3];
        zeta[p] = 1.0;
        zeta[N + p] = p < 9 ? 1.0 : -1.0;
        x[p] = 1.0;
        x[N + p] = 0.5;
    }
    struct step step = {.h = h, .end = h, .dW = dW, .zeta = zeta};
    assert_true(stepper_enter(&r->stepper, 0.0));
    take(r, scheme, &step);
    double M[4] = {1.0, 0.5, 0.5, 0.25}, L[4], LL[4], worst = 0.0;
    generator(M, L);
    generator(L, LL);
    for (size_t i = 0; i < 4; i++) {
        double e = -(M[i] + h * L[i] + 0.5 * h * h * LL[i]);
        for (size_t p = 0; p < N; p++)
            e += 0.5 * weight[p % 3] * weight[p / 3 % 3] * x[i / 2 * N + p] *
                 x[i % 2 * N + p];
        worst = fmax(worst, fabs(e));
    }
    return worst;
}

static void scheme__has_its_weak_order_for_any_noise(void **state)
{
    (void)state;
    struct rig *r = rig_open(LINEAR, 18);
    const bands order = {[GSV_EULER] = {1.9, 2.1},
                         [GSV_HEUN] = {1.9, 2.1},
                         [GSV_SRK] = {2.9, 3.1}};
    for (size_t i = 0; i < SCHEMES; i++) {
        double e[LEVELS];
        for (size_t level = 0; level < LEVELS; level++)
            e[level] = local_error(r, i, ldexp(0.05, -(int)level));
        if (order[i].high > 0.0)
            check_order("local XX'", i, order_of(LEVELS, e), order[i].low,
                        order[i].high);
    }
    rig_close(r);
}

/* --- Laws ----------------------------------------------------------------- */

/* Mean and variance of a column within the standard errors that the tracks
 * themselves show. */
static void check_moments(const gsv_series *s, size_t i, size_t k, double mean,
                          double variance)
{
    double n = (double)s->tracks, m = mean_of(s, i, k), fourth = 0.0;
    double v = covariance_of(s, i, i, k);
    for (size_t r = 0; r < s->tracks; r++)
        fourth += pow(value(s, i, r, k) - m, 4.0) / n;
    print_message("  mean %.5f (%.5f), variance %.5f (%.5f)\n", m, mean, v,
                  variance);
    assert_near(m, mean, TOLERANCE * sqrt(v / n));
    assert_near(v, variance, TOLERANCE * sqrt((fourth - v * v) / n));
}

static void simulate__follows_geometric_motion_path_by_path(void **state)
{
    (void)state;
    enum { TRACKS = 70, STEPS = 256 };
    gsv_model *m = model_of("state x\ndx = 0.4*x*dt + 0.8*x*dW");
    const struct random_key key = {.seed = 3, .purpose = RANDOM_SIMULATE};
    static double z[2 * STEPS * TRACKS];
    random_normals(&key, 0, (size_t)2 * STEPS, 0, TRACKS, z);
    gsv_simulate_options o = OPTIONS(0, 1);
    o.tracks = TRACKS;
    o.step = 1.0 / STEPS;
    o.seed = 3;
    o.start_mean = 2.0;
    gsv_series *s = simulate(m, &o);
    for (size_t r = 0; r < TRACKS; r++) {
        double W = 0.0;
        for (size_t i = 0; i < STEPS; i++)
            W += z[2 * i * TRACKS + r] / 16.0;
        double x = 2.0 * exp(0.4 - 0.32 + 0.8 * W);
        assert_near(value(s, 0, r, 1), x, 1e-3 * x);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* dr = k (m - r) dt + s sqrt(r) dW. */
static const char CIR[] = "state r\nparam k = 2, m = 1, s = 0.5\n"
                          "dr = k*(m - r)*dt + s*sqrt(r)*dW";

static double cir_variance(double k, double m, double s, double r, double t)
{
    double e = exp(-k * t);
    return r * s * s / k * (e - e * e) +
           m * s * s / (2.0 * k) * (1.0 - e) * (1.0 - e);
}

static void simulate__has_the_moments_of_cox_ingersoll_ross(void **state)
{
    (void)state;
    gsv_model *m = model_of(CIR);
    gsv_simulate_options o = OPTIONS(0, 0.5, 2);
    o.tracks = 20000 / SLOWER;
    o.start_mean = 0.3;
    gsv_series *s = simulate(m, &o);
    for (size_t k = 1; k < 3; k++)
        check_moments(s, 0, k, 1.0 - 0.7 * exp(-2.0 * o.time[k]),
                      cir_variance(2.0, 1.0, 0.5, 0.3, o.time[k]));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* 2 k m / s^2 = 0.4 and 0.1: 0 is reached again and again. The shortest steps
 * are 1/64 of a step. */
static void simulate__keeps_the_mean_at_a_boundary(void **state)
{
    (void)state;
    gsv_model *m = model_of(CIR);
    const double rate[2] = {1.0, 2.0}, level = 0.1;
    assert_int_equal(gsv_model_set(m, "m", 1, &level), 0);
    for (size_t i = 0; i < 2; i++)
        for (size_t scheme = 0; scheme < SCHEMES; scheme++) {
            gsv_simulate_options o = OPTIONS(0, 1);
            o.tracks = 400 / SLOWER;
            o.start_mean = 0.05;
            o.scheme = (enum gsv_scheme)scheme;
            assert_int_equal(gsv_model_set(m, "s", 1, &rate[i]), 0);
            gsv_series *s = simulate(m, &o);
            for (size_t r = 0; r < s->rows; r++)
                assert_true(s->value[r] >= 0.0);
            check_moments(s, 0, 1, 0.1 - 0.05 * exp(-2.0),
                          cir_variance(2.0, 0.1, rate[i], 0.05, 1.0));
            gsv_series_free(s);
        }
    gsv_model_free(m);
}

/* dx = a (1/2 - x) dt + s sqrt(x (1 - x)) dW: E x^2 by its own linear equation.
 */
static void simulate__keeps_jacobi_inside_both_boundaries(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n"
                            "dx = 0.5*(0.5 - x)*dt + sqrt(x*(1 - x))*dW");
    gsv_simulate_options o = OPTIONS(0, 0.5, 1, 1.5, 2);
    o.tracks = 800 / SLOWER;
    o.start_mean = 0.5;
    gsv_series *s = simulate(m, &o);
    for (size_t r = 0; r < s->rows; r++)
        assert_true(s->value[r] >= 0.0 && s->value[r] <= 1.0);
    double limit = 0.75 / 2.0, rho = exp(-2.0 * 2.0);
    check_moments(s, 0, 4, 0.5, limit + (0.25 - limit) * rho - 0.25);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* States that are absorbed at 0 do not hold the others: x is a stationary
 * Ornstein-Uhlenbeck process beside one or two of them, in any order and with
 * its noise shared or not. */
static void simulate__absorbs_a_state_by_itself(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t x;
    } CASES[] = {{"state x, y\ndx = (1 - x)*dt + 0.3*dW1\n"
                  "dy = -y*dt + 0.5*sqrt(y)*dW2",
                  0},
                 {"state y, x\ndy = -y*dt + 0.5*sqrt(y)*dW1\n"
                  "dx = (1 - x)*dt + 0.3*dW2",
                  1},
                 {"state y, x, z\ndy = -2*y*dt + 0.9*sqrt(y)*dW1\n"
                  "dx = (1 - x)*dt + 0.3*dW2\ndz = -z*dt + 0.5*sqrt(z)*dW3",
                  1},
                 {"state x, y\ndx = (1 - x)*dt + 0.3*dW1\n"
                  "dy = -y*dt + 0.4*sqrt(y)*dW1 + 0.3*sqrt(y)*dW2",
                  0}};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        gsv_model *m = model_of(CASES[i].text);
        gsv_simulate_options o = OPTIONS(0, 8);
        o.tracks = 1000 / SLOWER;
        o.step = 0.125;
        o.start_mean = 1.0;
        gsv_series *s = simulate(m, &o);
        check_moments(s, CASES[i].x, 1, 1.0, 0.045);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* dv = -v dt + 0.6 dW1, dx = e^v (rho dW1 + sqrt(1 - rho^2) dW2): E x^2 is the
 * integral of E e^2v, and c = E x v has c' = -c + 0.6 rho E e^v. */
static void simulate__has_the_moments_of_stochastic_volatility(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, v\nparam rho = -0.7\n"
                            "dx = exp(v)*(rho*dW1 + sqrt(1 - rho^2)*dW2)\n"
                            "dv = -v*dt + 0.6*dW1");
    gsv_simulate_options o = OPTIONS(0, 1);
    o.tracks = 40000 / SLOWER;
    gsv_series *s = simulate(m, &o);
    double square = 0.0, c = 0.0, n = (double)s->tracks, spread = 0.0;
    const double dt = 1e-4;
    for (double t = 0.5 * dt; t < 1.0; t += dt) {
        double variance = 0.18 * (1.0 - exp(-2.0 * t));
        square += dt * exp(2.0 * variance);
        c += dt * exp(-(1.0 - t)) * 0.6 * -0.7 * exp(0.5 * variance);
    }
    check_moments(s, 0, 1, 0.0, square);
    check_moments(s, 1, 1, 0.0, 0.18 * (1.0 - exp(-2.0)));
    for (size_t r = 0; r < s->tracks; r++) {
        double xv = value(s, 0, r, 1) * value(s, 1, r, 1);
        spread += (xv - c) * (xv - c) / n;
    }
    assert_near(covariance_of(s, 0, 1, 1), c, TOLERANCE * sqrt(spread / n));
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- The same bits -------------------------------------------------------- */

/* Heston's: a full matrix, and a boundary that is reached. */
static const char HESTON[] = "state x, v\n"
                             "dx = -v/2*dt + sqrt(v)*(0.8*dW2 - 0.6*dW1)\n"
                             "dv = (0.1 - v)*dt + 0.7*sqrt(v)*dW1";

static void simulate__has_the_same_bits_however_it_is_run(void **state)
{
    (void)state;
    const char *const text[] = {HESTON, CIR};
    for (size_t i = 0; i < COUNT(text); i++) {
        gsv_model *m = model_of(text[i]);
        size_t dim = gsv_model_dim(m);
        gsv_simulate_options o = OPTIONS(0, 0.125, 0.375);
        o.tracks = 150;
        o.threads = 1;
        o.start_mean = 0.05;
        gsv_series *all = simulate(m, &o);
        const size_t fewer[] = {150, 1, 7, 8, 65, 129};
        for (size_t k = 0; k < COUNT(fewer); k++) {
            o.threads = 1 + k % 3;
            o.tracks = fewer[k];
            gsv_series *s = simulate(m, &o);
            for (size_t c = 0; c < dim; c++)
                assert_memory_equal(s->value + c * s->rows,
                                    all->value + c * all->rows,
                                    s->rows * sizeof *s->value);
            gsv_series_free(s);
        }
        gsv_series_free(all);
        gsv_model_free(m);
    }
}

/* --- Domains and failure ---------------------------------------------------
 */

static void refuse(const char *text, gsv_simulate_options *o,
                   enum gsv_status status, const char *says)
{
    gsv_model *m = model_of(text);
    assert_null(gsv_simulate(m, o));
    if (!strstr(gsv_last_error(), says))
        fail_msg("'%s' does not say '%s'", gsv_last_error(), says);
    assert_int_equal(gsv_last_status(), status);
    gsv_model_free(m);
}

static void simulate__refuses_milstein_where_noises_do_not_commute(void **state)
{
    (void)state;
    gsv_simulate_options o = OPTIONS(0, 1);
    o.scheme = GSV_MILSTEIN;
    o.start_mean = 0.3;
    refuse(LINEAR, &o, GSV_BAD_INPUT, "milstein needs noises that commute");
    refuse(HESTON, &o, GSV_BAD_INPUT, "milstein needs noises that commute");
    refuse("state x, v\ndx = exp(v)*dW\ndv = dW", &o, GSV_BAD_INPUT,
           "milstein needs noises that commute");
    gsv_model *m = model_of("state x, y\ndx = x*(0.3*dW1 + 0.4*dW2)\n"
                            "dy = y*(0.6*dW2 - 0.2*dW1)");
    gsv_series_free(simulate(m, &o));
    gsv_model_free(m);
}

static void simulate__says_where_a_start_is_outside(void **state)
{
    (void)state;
    double start[70];
    for (size_t i = 0; i < 70; i++)
        start[i] = i == 66 ? -0.1 : 0.5;
    gsv_simulate_options o = OPTIONS(0, 1);
    o.tracks = 70;
    o.start = start;
    refuse(CIR, &o, GSV_BAD_INPUT,
           "track 67 starts outside of the model's domain");
}

/* Where a law is given, starts outside are drawn again. */
static void simulate__draws_starts_inside(void **state)
{
    (void)state;
    gsv_model *m = model_of(CIR);
    gsv_simulate_options o = OPTIONS(0);
    o.tracks = 5000;
    o.start_sd = 1.0;
    gsv_series *s = simulate(m, &o);
    for (size_t r = 0; r < s->rows; r++)
        assert_true(s->value[r] >= 0.0);
    double mean = sqrt(2.0 / EXACT_PI);
    check_moments(s, 0, 0, mean, 1.0 - mean * mean);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The known domain counts where formulas are defined beyond it, too. */
static void simulate__keeps_to_the_domain_of_the_map(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\ndx = x*dW");
    m->spec->stretch_domain = m->spec->state_of_data;
    gsv_simulate_options o = OPTIONS(0, 8);
    o.tracks = 400;
    o.step = 1.0;
    o.start_mean = 1.0;
    o.scheme = GSV_EULER;
    gsv_series *s = simulate(m, &o);
    for (size_t r = 0; r < s->rows; r++)
        assert_true(s->value[r] > 0.0);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void simulate__says_what_runs_away(void **state)
{
    (void)state;
    gsv_simulate_options o = OPTIONS(0, 1, 2);
    o.tracks = 3;
    o.start_mean = 3.0;
    refuse("state x\ndx = x^3*dt + 0.01*x*dW", &o, GSV_NUMERICAL,
           "track 1 is not finite at time ");
}

static void simulate__survives_every_failed_allocation(void **state)
{
    (void)state;
    gsv_model *m = model_of(HESTON);
    gsv_simulate_options o = OPTIONS(0, 1);
    o.threads = 1;
    o.start_mean = 0.1;
    gsv_series *s = NULL;
    size_t n = 0;
    while (!s) {
        mem_fail_at(++n);
        s = gsv_simulate(m, &o);
        mem_fail_at(0);
        if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        assert_true(n < 1000);
    }
    assert_true(n > 40);
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheme__has_its_strong_order_for_geometric_motion),
        cmocka_unit_test(scheme__has_its_strong_order_with_noises_of_their_own),
        cmocka_unit_test(scheme__has_its_strong_order_with_noises_that_commute),
        cmocka_unit_test(
            scheme__has_order_one_half_where_noises_do_not_commute),
        cmocka_unit_test(scheme__has_its_weak_order_for_any_noise),
        cmocka_unit_test(simulate__follows_geometric_motion_path_by_path),
        cmocka_unit_test(simulate__has_the_moments_of_cox_ingersoll_ross),
        cmocka_unit_test(simulate__keeps_the_mean_at_a_boundary),
        cmocka_unit_test(simulate__keeps_jacobi_inside_both_boundaries),
        cmocka_unit_test(simulate__absorbs_a_state_by_itself),
        cmocka_unit_test(simulate__has_the_moments_of_stochastic_volatility),
        cmocka_unit_test(simulate__has_the_same_bits_however_it_is_run),
        cmocka_unit_test(
            simulate__refuses_milstein_where_noises_do_not_commute),
        cmocka_unit_test(simulate__says_where_a_start_is_outside),
        cmocka_unit_test(simulate__draws_starts_inside),
        cmocka_unit_test(simulate__keeps_to_the_domain_of_the_map),
        cmocka_unit_test(simulate__says_what_runs_away),
        cmocka_unit_test(simulate__survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
