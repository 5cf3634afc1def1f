/* SPDX-License-Identifier: MIT */
/* Reactions in whole numbers: laws in closed form, moments by their ODEs, what
 * can never happen, and the same bits on any threads. */
#include "exact.h"

#include "model/model.h"

enum { TRACKS = 8000 / SLOWER, MOST_STATES = 4 };

static const enum gsv_scheme BOTH[] = {GSV_GILLESPIE, GSV_TAU_LEAP};

/* Tracks at two times, all from the same start (dim). */
static gsv_series *tracks_of(const gsv_model *m, enum gsv_scheme scheme,
                             const double *from, const double time[2],
                             double step, const gsv_series *input)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    size_t d = gsv_model_dim(m);
    double *start = NEW(double, d *TRACKS);
    for (size_t i = 0; i < d * TRACKS; i++)
        start[i] = from[i / TRACKS];
    o.tracks = TRACKS;
    o.times = 2;
    o.time = time;
    o.start = start;
    o.scheme = scheme;
    o.step = step;
    o.input = input;
    gsv_series *s = gsv_simulate(m, &o);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(start);
    return s;
}

/* State i of a track at the second time. */
static double last(const gsv_series *s, size_t i, size_t track)
{
    return s->value[i * s->rows + 2 * track + 1];
}

/* --- Laws in closed form -------------------------------------------------- */

static double log_poisson(double k, double mean)
{
    return k * log(mean) - mean - lgamma(k + 1.0);
}

static double log_binomial(double k, double n, double p)
{
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) +
           k * log(p) + (n - k) * log(1.0 - p);
}

/* Of one state from `from` at time 0 to time t: Poisson with this mean, or for
 * trials > 0 binomial with this probability; by which step. */
static const struct law_case {
    const char *text;
    double from, t, step, mean, trials;
} LAW[] = {
    {"state X\nreaction 0 -> X : 3", 0, 2, 0, 6, 0},
    {"state X\nreaction 0 -> X : 8\nreaction X -> 0 : X", 0, 30, 0, 8, 0},
    {"state X\nparam k = 8, d = 2\nreaction 0 -> X : k\nreaction X -> 0 : d*X",
     0, 0.4, 0, 2.2026841435311137, 0}, /* 4 (1 - e^-0.8) */
    {"state X\nreaction X -> 0 : X", 20, 0.7, 0, 0.4965853037914095, 20},
    /* Rates that depend on time: int of 2 (1 + sin t), and e^-(1 - cos t). */
    {"state X\nreaction 0 -> X : 2*(1 + sin(t))", 0, 3, 0.2, 9.979984993200891,
     0},
    {"state X\nreaction X -> 0 : sin(t)*X", 20, 2, 0.2, 0.2426471771679713, 20},
    {"state X\nreaction 0 -> X : exp(2*t)\nreaction X -> 0 : X", 0, 1, 0.1,
     2.3403922192530693, 0}, /* (e^2 - e^-1) / 3 */
};

/* The share of tracks with every number, in standard errors. */
static void expect_law(const struct law_case *c, const gsv_series *s)
{
    enum { MOST = 60 };
    double share[MOST] = {0};
    for (size_t r = 0; r < TRACKS; r++) {
        double x = last(s, 0, r);
        assert_true(x >= 0.0 && x < MOST && x == floor(x));
        share[(size_t)x] += 1.0 / TRACKS;
    }
    for (size_t k = 0; k < MOST && (c->trials == 0.0 || (double)k <= c->trials);
         k++) {
        double p =
            exp(c->trials > 0.0 ? log_binomial((double)k, c->trials, c->mean)
                                : log_poisson((double)k, c->mean));
        double error = sqrt(p * (1.0 - p) / TRACKS) + 1.0 / TRACKS;
        if (!(fabs(share[k] - p) <= TOLERANCE * error))
            fail_msg("%s\n%zu: %g instead of %g +- %g", c->text, k, share[k], p,
                     error);
    }
}

static void gillespie__has_laws_in_closed_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(LAW); i++) {
        gsv_model *m = model_of(LAW[i].text);
        const double time[2] = {0.0, LAW[i].t};
        gsv_series *s =
            tracks_of(m, GSV_GILLESPIE, &LAW[i].from, time, LAW[i].step, NULL);
        expect_law(&LAW[i], s);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* A held input that jumps inside of steps: immigration with 0, 9 and 0, each
 * for a unit of time, and deaths; at 2.5, Poisson with this mean. */
static void gillespie__follows_held_inputs(void **state)
{
    (void)state;
    gsv_model *m = model_of(
        "state X\ninput u hold\nreaction 0 -> X : u\nreaction X -> 0 : X");
    const size_t start[2] = {0, 3};
    const char *const name[] = {"u"};
    const double time[3] = {0.0, 1.0, 2.0}, value[3] = {0.0, 9.0, 0.0};
    const double ends[2] = {0.0, 2.5};
    gsv_series *u = gsv_series_new(1, start, 1, name, time, value);
    const double from = 0.0, mean = 9.0 * (1.0 - exp(-1.0)) * exp(-0.5);
    const struct law_case law = {"held input", 0, 2.5, 0.3, mean, 0};
    gsv_series *s = tracks_of(m, GSV_GILLESPIE, &from, ends, 0.15, u);
    expect_law(&law, s);
    gsv_series_free(s);
    gsv_series_free(u);
    gsv_model_free(m);
}

/* --- Moments -------------------------------------------------------------- */

/* Networks with linear rates a_j = c_j + b_j' x: mean and covariance follow
 *
 *     m' = sum_j v_j a_j(m),
 *     C' = J C + C J' + sum_j v_j v_j' a_j(m),    J = sum_j v_j b_j'. */
static const struct network {
    const char *text;
    size_t dim, reactions;
    double from[MOST_STATES];
    double v[5][MOST_STATES], c[5], b[5][MOST_STATES];
} NETWORK[] = {
    {"state A, B, C\nreaction A -> B : A\nreaction B -> A : 0.5*B\n"
     "reaction B -> C : 2*B\nreaction 0 -> A : 3",
     3,
     4,
     {30, 0, 5},
     {{-1, 1, 0}, {1, -1, 0}, {0, -1, 1}, {1, 0, 0}},
     {0, 0, 0, 3},
     {{1, 0, 0}, {0, 0.5, 0}, {0, 2, 0}}},
    {"state M, P\nparam k = 2\nreaction 0 -> M : k\nreaction M -> 0 : M\n"
     "reaction M -> M + 5 P : 3*M\nreaction P -> 0 : 0.3*P",
     2,
     4,
     {0, 10},
     {{1, 0}, {-1, 0}, {0, 5}, {0, -1}},
     {2, 0, 0, 0},
     {{0, 0}, {1, 0}, {3, 0}, {0, 0.3}}},
    {"state x[2]\nreaction x[1] -> 2 x[1] : 0.5*x[1]\n"
     "reaction x[1] -> x[2] : 0.7*x[1]\nreaction x[2] -> 0 : x[2]",
     2,
     3,
     {40, 3},
     {{1, 0}, {-1, 1}, {0, -1}},
     {0, 0, 0},
     {{0.5, 0}, {0.7, 0}, {0, 1}}},
};

static void slopes(const struct network *n, const double *y, double *dy)
{
    size_t d = n->dim;
    const double *C = y + d;
    memset(dy, 0, (d + d * d) * sizeof *dy);
    for (size_t r = 0; r < n->reactions; r++) {
        double a = n->c[r], bC[MOST_STATES] = {0};
        for (size_t i = 0; i < d; i++) {
            a += n->b[r][i] * y[i];
            for (size_t k = 0; k < d; k++)
                bC[k] += n->b[r][i] * C[i * d + k];
        }
        for (size_t i = 0; i < d; i++) {
            dy[i] += n->v[r][i] * a;
            for (size_t k = 0; k < d; k++)
                dy[d + i * d + k] += n->v[r][i] * n->v[r][k] * a +
                                     n->v[r][i] * bC[k] + n->v[r][k] * bC[i];
        }
    }
}

/* By Runge and Kutta, to y: mean (d), covariance (d, d). */
static void moments(const struct network *n, double t, double *y)
{
    enum { STEPS = 400, MOST = MOST_STATES + MOST_STATES * MOST_STATES };
    double k[4][MOST], z[MOST], h = t / STEPS;
    size_t size = n->dim + n->dim * n->dim;
    memset(y, 0, size * sizeof *y);
    memcpy(y, n->from, n->dim * sizeof *y);
    for (size_t step = 0; step < STEPS; step++) {
        for (size_t stage = 0; stage < 4; stage++) {
            double by = stage == 3 ? h : 0.5 * h;
            for (size_t i = 0; i < size; i++)
                z[i] = y[i] + (stage ? by * k[stage - 1][i] : 0.0);
            slopes(n, z, k[stage]);
        }
        for (size_t i = 0; i < size; i++)
            y[i] += h / 6.0 * (k[0][i] + 2.0 * (k[1][i] + k[2][i]) + k[3][i]);
    }
}

/* Means and covariances of tracks; the error of a covariance is found from the
 * spread of the products. slack: of a scheme that has an error of its own. */
static void expect_moments(const struct network *n, const gsv_series *s,
                           const double *y, double slack)
{
    size_t d = n->dim;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k <= d; k++) { /* k = d: the mean */
            double sum = 0.0, squares = 0.0;
            double wanted = k < d ? y[d + i * d + k] : y[i];
            for (size_t r = 0; r < TRACKS; r++) {
                double x = last(s, i, r);
                if (k < d) x = (x - y[i]) * (last(s, k, r) - y[k]);
                sum += x;
                squares += x * x;
            }
            double mean = sum / TRACKS;
            double error = sqrt((squares / TRACKS - mean * mean) / TRACKS);
            if (!(fabs(mean - wanted) <=
                  TOLERANCE * error + slack * (1.0 + fabs(wanted))))
                fail_msg("%s\nmoment %zu, %zu is %g +- %g instead of %g",
                         n->text, i, k, mean, error, wanted);
        }
}

/* The error of leaps is of first order in their length: 1 % with these. */
static void schemes__have_the_moments_of_linear_networks(void **state)
{
    (void)state;
    const double time[2] = {1.0, 2.5};
    for (size_t i = 0; i < COUNT(NETWORK); i++)
        for (size_t k = 0; k < COUNT(BOTH); k++) {
            const struct network *n = &NETWORK[i];
            double y[MOST_STATES + MOST_STATES * MOST_STATES];
            gsv_model *m = model_of(n->text);
            bool leap = BOTH[k] == GSV_TAU_LEAP;
            gsv_series *s =
                tracks_of(m, BOTH[k], n->from, time, leap ? 0.005 : 0.0, NULL);
            moments(n, 1.5, y);
            expect_moments(n, s, y, leap ? 0.01 : 0.0);
            gsv_series_free(s);
            gsv_model_free(m);
        }
}

/* --- Against each other --------------------------------------------------- */

static const struct {
    const char *text;
    double from[MOST_STATES], t, step;
} NONLINEAR[] = {
    {"state S, I, R\nreaction S + I -> 2 I : 0.02*S*I\nreaction I -> R : I",
     {90, 10, 0},
     2,
     0.01},
    {"state X, Y\nreaction 0 -> X : 20\nreaction 2 X -> Y : 0.1*X*(X - 1)\n"
     "reaction Y -> 2 X : Y\nreaction Y -> 0 : (1 + sin(t))*Y",
     {0, 0},
     3,
     0.01},
    {"state G, P\nreaction 0 -> 3 P : 10/(1 + (P/5)^2)\nreaction P -> 0 : P\n"
     "reaction G -> 0 : 0.1*G*P",
     {15, 2},
     2,
     0.01},
};

static void tau_leap__is_gillespie_for_small_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(NONLINEAR); i++) {
        gsv_model *m = model_of(NONLINEAR[i].text);
        const double time[2] = {0.0, NONLINEAR[i].t};
        double mean[2], square[2], fourth[2];
        gsv_series *s[2];
        for (size_t k = 0; k < 2; k++)
            s[k] = tracks_of(m, BOTH[k], NONLINEAR[i].from, time,
                             NONLINEAR[i].step, NULL);
        for (size_t j = 0; j < gsv_model_dim(m); j++) {
            for (size_t k = 0; k < 2; k++) {
                mean[k] = square[k] = fourth[k] = 0.0;
                for (size_t r = 0; r < TRACKS; r++)
                    mean[k] += last(s[k], j, r) / TRACKS;
                for (size_t r = 0; r < TRACKS; r++) {
                    double x = pow(last(s[k], j, r) - mean[k], 2);
                    square[k] += x / TRACKS;
                    fourth[k] += x * x / TRACKS;
                }
            }
            double of_mean = sqrt((square[0] + square[1]) / TRACKS);
            double of_square =
                sqrt((fourth[0] + fourth[1] - square[0] * square[0] -
                      square[1] * square[1]) /
                     TRACKS);
            double slack = 0.02; /* of first order in the step */
            if (!(fabs(mean[0] - mean[1]) <=
                      TOLERANCE * of_mean + slack * (1.0 + mean[0]) &&
                  fabs(square[0] - square[1]) <=
                      TOLERANCE * of_square + slack * (1.0 + square[0])))
                fail_msg("%s\nstate %zu: means %g, %g; variances %g, %g",
                         NONLINEAR[i].text, j, mean[0], mean[1], square[0],
                         square[1]);
        }
        gsv_series_free(s[0]);
        gsv_series_free(s[1]);
        gsv_model_free(m);
    }
}

/* --- What never happens --------------------------------------------------- */

static const struct {
    const char *text;
    double from[MOST_STATES];
    double kept[MOST_STATES]; /* a sum that does not change */
} POPULATION[] = {
    {"state S, I, R\nreaction S + I -> 2 I : S*I\nreaction I -> R : I",
     {20, 3, 1},
     {1, 1, 1}},
    /* Rates that do not know what is left. */
    {"state X\nreaction X -> 0 : 5", {3}, {0}},
    {"state X, Y\nreaction 3 X -> 2 Y : 4\nreaction Y -> 0 : 9*Y^2",
     {7, 0},
     {0, 0}},
    {"state X, Y\nreaction 2 X -> Y : 50*X\nreaction Y -> 2 X : 50*Y",
     {9, 4},
     {1, 2}},
    /* A state that nothing changes, and no whole number. */
    {"state X, c\ndc = 0*dt\nreaction 0 -> X : c\nreaction X -> 0 : (X - 2)*c",
     {1, 2.5},
     {0, 1}},
};

static void populations__are_whole_and_never_negative(void **state)
{
    (void)state;
    const double time[2] = {0.0, 1.3};
    for (size_t i = 0; i < COUNT(POPULATION); i++)
        for (size_t k = 0; k < COUNT(BOTH); k++) {
            gsv_model *m = model_of(POPULATION[i].text);
            size_t d = gsv_model_dim(m);
            gsv_series *s =
                tracks_of(m, BOTH[k], POPULATION[i].from, time, 0.1, NULL);
            for (size_t r = 0; r < TRACKS; r++) {
                double sum = 0.0;
                for (size_t j = 0; j < d; j++) {
                    double x = last(s, j, r), from = POPULATION[i].from[j];
                    assert_true(x >= 0.0);
                    assert_true(x - from == floor(x - from));
                    sum += POPULATION[i].kept[j] * (x - from);
                }
                assert_true(sum == 0.0);
            }
            gsv_series_free(s);
            gsv_model_free(m);
        }
}

/* --- Options -------------------------------------------------------------- */

static void tracks__are_the_same_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m =
        model_of("state S, I\nreaction S + I -> 2 I : 0.01*S*I*(2 + sin(t))\n"
                 "reaction I -> S : exp(-0.01*I)*I\ninit S ~ normal(70, 9)\n"
                 "init I ~ normal(5, 2)\nobs y ~ normal(I, 0.5)\n"
                 "obs c ~ poisson_process(0.3*I)");
    const double time[] = {0.0, 0.3, 1.0, 1.1};
    for (size_t k = 0; k < COUNT(BOTH); k++) {
        gsv_simulate_options o = gsv_simulate_options_default();
        gsv_series *s[3];
        o.times = COUNT(time);
        o.time = time;
        o.scheme = BOTH[k];
        for (size_t i = 0; i < 3; i++) {
            o.tracks = i < 2 ? 150 : 9;
            o.threads = i ? 1 : 4;
            s[i] = gsv_simulate(m, &o);
            if (!s[i]) fail_msg("%s", gsv_last_error());
        }
        for (size_t c = 0; c < 4; c++)
            for (size_t r = 0; r < s[0]->rows; r++) {
                const double *a = &s[0]->value[c * s[0]->rows + r];
                assert_memory_equal(a, &s[1]->value[c * s[0]->rows + r],
                                    sizeof *a);
                if (r < s[2]->rows)
                    assert_memory_equal(a, &s[2]->value[c * s[2]->rows + r],
                                        sizeof *a);
            }
        for (size_t i = 0; i < 3; i++)
            gsv_series_free(s[i]);
    }
    gsv_model_free(m);
}

static const struct {
    const char *text;
    double from;
    const char *said;
} REFUSED[] = {
    {"state X\ndX = -X*dt + dW", 1, "is for reactions, and this model has"},
    {"state X\nreaction 0 -> X : 1", 1.5, "'X' starts at 1.5 in track 1"},
    {"state X\nreaction 0 -> X : 1", -1, "'X' starts at -1 in track 1"},
    {"state X\ndX = -X*dt\nreaction 0 -> X : 1", 1, "test:2:1: the scheme"},
    {"state X\ndX = dW\nreaction 0 -> X : 1", 1, "test:2:1: the scheme"},
    {"state X\nreaction 0 -> X : 1/(X - 3)", 3,
     "outside of the model's domain"},
    {"state X\nreaction 0 -> X : 1/(4 - X)", 3, "is not finite"},
};

static void schemes__refuse_what_they_cannot_count(void **state)
{
    (void)state;
    const double time[] = {0.0, 50.0};
    for (size_t i = 0; i < COUNT(REFUSED); i++)
        for (size_t k = 0; k < COUNT(BOTH); k++) {
            gsv_model *m = model_of(REFUSED[i].text);
            gsv_simulate_options o = gsv_simulate_options_default();
            o.times = 2;
            o.time = time;
            o.start = &REFUSED[i].from;
            o.scheme = BOTH[k];
            gsv_series *s = gsv_simulate(m, &o);
            if (s || !strstr(gsv_last_error(), REFUSED[i].said))
                fail_msg("%s\n%s", REFUSED[i].text,
                         s ? "accepted" : gsv_last_error());
            gsv_model_free(m);
        }
}

/* A rate that is small at both ends of a step and large between them is found
 * where a candidate meets it, and never passed over in silence there. */
static void thinning__notices_a_rate_above_its_bound(void **state)
{
    (void)state;
    gsv_model *m = model_of("state X\nreaction 0 -> X : 5 + 200*sin(pi*t)^2");
    const double time[] = {0.0, 5.0};
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = 2;
    o.time = time;
    o.step = 1.0;
    o.scheme = GSV_GILLESPIE;
    assert_null(gsv_simulate(m, &o));
    assert_non_null(strstr(gsv_last_error(), "give a smaller --step"));
    o.step = 0.02;
    gsv_series *s = gsv_simulate(m, &o);
    assert_non_null(s);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void simulate__survives_every_failed_allocation(void **state)
{
    (void)state;
    gsv_model *m = model_of("state S, I\nreaction S + I -> 2 I : 0.01*S*I\n"
                            "reaction I -> S : (1 + t)*I");
    const double time[] = {0.0, 0.1}, from[] = {30.0, 4.0};
    for (size_t k = 0; k < COUNT(BOTH); k++) {
        gsv_simulate_options o = gsv_simulate_options_default();
        gsv_series *s = NULL;
        size_t n = 0;
        o.times = 2;
        o.time = time;
        o.start = from;
        o.scheme = BOTH[k];
        o.threads = 1;
        while (!s) {
            mem_fail_at(++n);
            s = gsv_simulate(m, &o);
            mem_fail_at(0);
            if (!s) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        }
        assert_true(n > 40);
        gsv_series_free(s);
    }
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gillespie__has_laws_in_closed_form),
        cmocka_unit_test(gillespie__follows_held_inputs),
        cmocka_unit_test(schemes__have_the_moments_of_linear_networks),
        cmocka_unit_test(tau_leap__is_gillespie_for_small_steps),
        cmocka_unit_test(populations__are_whole_and_never_negative),
        cmocka_unit_test(tracks__are_the_same_on_any_threads),
        cmocka_unit_test(schemes__refuse_what_they_cannot_count),
        cmocka_unit_test(simulate__survives_every_failed_allocation),
        cmocka_unit_test(thinning__notices_a_rate_above_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
