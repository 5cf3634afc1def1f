/* SPDX-License-Identifier: MIT */
/* The smoother of linear models with normal observations is exact: against the
 * joint law of all states at all times, as one large Gaussian vector that is
 * conditioned on all observations at once. */
#include <stdio.h>

#include "smooth.h"

enum { MOST_D = 5, MOST_N = 14, MOST = MOST_D * MOST_N };

/* dZ = (A Z + b) dt + S dW. */
struct system {
    size_t d;
    double A[MOST_D * MOST_D], b[MOST_D], S[MOST_D * MOST_D];
    double mean[MOST_D], deviation[MOST_D]; /* of the first state */
};

static struct system system_of(size_t d, uint64_t seed)
{
    struct system s = {.d = d};
    double *z = normals(2 * d * d + 3 * d, seed), *b = z + 2 * d * d;
    for (size_t e = 0; e < d * d; e++) {
        bool diagonal = e % (d + 1) == 0;
        s.A[e] = 0.4 * z[e] - 1.0 * diagonal;
        s.S[e] = 0.3 * z[d * d + e] + 1.1 * diagonal;
    }
    for (size_t i = 0; i < d; i++) {
        s.b[i] = b[i];
        s.mean[i] = b[d + i];
        s.deviation[i] = exp(0.5 * b[2 * d + i]);
    }
    mem_free(z);
    return s;
}

static size_t put_numbers(char *to, size_t room, size_t n, const double *a)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%.17g",
                                 i ? ", " : "[", a[i]);
    return used + (size_t)snprintf(to + used, room - used, "]");
}

static gsv_model *model_from(const struct system *s)
{
    char A[1024], b[256], S[1024], text[3072];
    put_numbers(A, sizeof A, s->d * s->d, s->A);
    put_numbers(b, sizeof b, s->d, s->b);
    put_numbers(S, sizeof S, s->d * s->d, s->S);
    snprintf(text, sizeof text,
             "state x[%zu]\nparam A[%zu,%zu] = %s, b[%zu] = %s, "
             "S[%zu,%zu] = %s\ndx = (A @ x + b)*dt + S @ dW\n",
             s->d, s->d, s->d, A, s->d, b, s->d, s->d, S);
    gsv_model *m = model_of(text);
    watch_begin(m, s->mean, s->deviation);
    return m;
}

/* --- The joint law, by means of its own ----------------------------------- */

enum { LOAN = 2 * MOST_D + 1 };

static void multiply(size_t n, const double *a, const double *b, double *c)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* e^X by Taylor's series and squarings. */
static void exponential(size_t n, const double *X, double *E)
{
    enum { SQUARINGS = 10, TERMS = 14 };
    double term[LOAN * LOAN], next[LOAN * LOAN];
    for (size_t e = 0; e < n * n; e++)
        E[e] = term[e] = e % (n + 1) == 0;
    for (int k = 1; k < TERMS; k++) {
        multiply(n, X, term, next);
        for (size_t e = 0; e < n * n; e++) {
            term[e] = next[e] / (k * ldexp(1.0, SQUARINGS));
            E[e] += term[e];
        }
    }
    for (int k = 0; k < SQUARINGS; k++) {
        multiply(n, E, E, next);
        memcpy(E, next, n * n * sizeof *E);
    }
}

/* Phi, c, Q over h by van Loan's block matrix: e^([-A, S S'; 0, A'] h) has
 * Phi^-1 Q above Phi'; and e^([A, b; 0, 0] h) has c beside Phi. */
static void step_of(const struct system *s, double h, double *Phi, double *c,
                    double *Q)
{
    size_t d = s->d, n = 2 * d, o = d + 1;
    double X[LOAN * LOAN] = {0}, E[LOAN * LOAN], upper[MOST_D * MOST_D];
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            X[i * n + j] = -s->A[i * d + j] * h;
            X[(d + i) * n + d + j] = s->A[j * d + i] * h;
            for (size_t k = 0; k < d; k++)
                X[i * n + d + j] += s->S[i * d + k] * s->S[j * d + k] * h;
        }
    exponential(n, X, E);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            Phi[i * d + j] = E[(d + j) * n + d + i];
            upper[i * d + j] = E[i * n + d + j];
        }
    multiply(d, Phi, upper, Q);
    memset(X, 0, sizeof X);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            X[i * o + j] = s->A[i * d + j] * h;
        X[i * o + d] = s->b[i] * h;
    }
    exponential(o, X, E);
    for (size_t i = 0; i < d; i++)
        c[i] = E[i * o + d];
}

struct joint {
    size_t size; /* d times the number of stops */
    double mean[MOST], cov[MOST * MOST];
};

/* The block (n, m) of the covariance is Phi times (n - 1, m). */
static void joint_of(const struct system *s, size_t N, const double *time,
                     struct joint *w)
{
    size_t d = s->d, size = w->size = d * N;
    memset(w->cov, 0, sizeof w->cov);
    for (size_t i = 0; i < d; i++) {
        w->mean[i] = s->mean[i];
        w->cov[i * size + i] = s->deviation[i] * s->deviation[i];
    }
    for (size_t n = 1; n < N; n++) {
        double Phi[MOST_D * MOST_D], c[MOST_D], Q[MOST_D * MOST_D];
        step_of(s, time[n] - time[n - 1], Phi, c, Q);
        for (size_t i = 0; i < d; i++) {
            size_t row = n * d + i;
            w->mean[row] = c[i];
            for (size_t k = 0; k < d; k++)
                w->mean[row] += Phi[i * d + k] * w->mean[(n - 1) * d + k];
            for (size_t col = 0; col < n * d; col++) {
                double sum = 0.0;
                for (size_t k = 0; k < d; k++)
                    sum +=
                        Phi[i * d + k] * w->cov[((n - 1) * d + k) * size + col];
                w->cov[row * size + col] = w->cov[col * size + row] = sum;
            }
        }
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                double sum = Q[i * d + j];
                for (size_t k = 0; k < d; k++)
                    sum += Phi[j * d + k] *
                           w->cov[(n * d + i) * size + (n - 1) * d + k];
                w->cov[(n * d + i) * size + n * d + j] = sum;
            }
    }
}

/* Given weight'(element at .. at + d) + deviation noise = value, one number at
 * a time: exact for Gaussian laws. */
static void joint_given(struct joint *w, size_t at, size_t d,
                        const double *weight, double deviation, double value)
{
    double column[MOST], variance = deviation * deviation;
    for (size_t e = 0; e < w->size; e++) {
        column[e] = 0.0;
        for (size_t i = 0; i < d; i++)
            column[e] += w->cov[e * w->size + at + i] * weight[i];
    }
    for (size_t i = 0; i < d; i++) {
        variance += weight[i] * column[at + i];
        value -= weight[i] * w->mean[at + i];
    }
    for (size_t e = 0; e < w->size; e++) {
        w->mean[e] += column[e] * value / variance;
        for (size_t f = 0; f < w->size; f++)
            w->cov[e * w->size + f] -= column[e] * column[f] / variance;
    }
}

/* --- Against it ----------------------------------------------------------- */

/* out = S Y S' for covariances of y, which are those of z then. */
static void to_states(const struct system *s, const double *Y, double *out)
{
    size_t d = s->d;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0.0;
            for (size_t k = 0; k < d; k++)
                for (size_t l = 0; l < d; l++)
                    out[i * d + j] +=
                        s->S[i * d + k] * Y[k * d + l] * s->S[j * d + l];
        }
}

static void assert_block(const struct system *s, const struct joint *w,
                         size_t n, size_t m, const double *Y)
{
    size_t d = s->d;
    double Z[MOST_D * MOST_D];
    to_states(s, Y, Z);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            assert_near(Z[i * d + j], w->cov[(n * d + i) * w->size + m * d + j],
                        1e-9);
}

/* Means, covariances, those of neighbours; and that gain and rest say the
 * same. */
static void assert_joint(const struct system *s, const struct joint *w,
                         size_t N, const struct smooth_law *law)
{
    size_t d = s->d, dd = d * d;
    for (size_t n = 0; n < N; n++) {
        const double *P = law->cov + n * dd, *G = law->gain + n * dd;
        for (size_t i = 0; i < d; i++) {
            double z = 0.0;
            for (size_t j = 0; j < d; j++)
                z += s->S[i * d + j] * law->mean[n * d + j];
            assert_near(z, w->mean[n * d + i], 1e-9);
        }
        assert_block(s, w, n, n, P);
        if (n + 1 == N) continue;
        double cross[MOST_D * MOST_D], rest[MOST_D * MOST_D];
        multiply(d, G, P + dd, cross);
        assert_block(s, w, n, n + 1, cross);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                rest[i * d + j] = P[i * d + j];
                for (size_t k = 0; k < d; k++)
                    rest[i * d + j] -= cross[i * d + k] * G[j * d + k];
                assert_near(law->rest[n * dd + i * d + j], rest[i * d + j],
                            1e-9);
            }
    }
}

/* A model with observations, its data and the law of all states given them. */
struct watched {
    const struct system *system;
    gsv_model *model;
    size_t N;
    double time[MOST_N], value[MOST_D * MOST_N], exact[MOST_D * MOST_N];
    struct joint joint;
};

/* One more obs, at some stops. */
static void observe(struct watched *w, size_t o, const double *z)
{
    size_t d = w->system->d;
    double weight[MOST_D], deviation = 0.2 + 0.3 * (double)o;
    for (size_t i = 0; i < d; i++)
        weight[i] = i == o ? 1.3 : 0.4 * sin((double)(i + 3 * o + 1));
    watch_normal(w->model, weight, deviation);
    for (size_t n = 0; n < w->N; n++) {
        double *value = &w->value[o * w->N + n];
        *value = fabs(z[n]) < 0.4 ? NAN : 2.0 * z[n];
        if (!isnan(*value))
            joint_given(&w->joint, n * d, d, weight, deviation, *value);
    }
}

/* State i is not latent, and was observed at some stops. */
static void pin(struct watched *w, size_t i, const double *z)
{
    size_t d = w->system->d;
    double one[MOST_D] = {0};
    one[i] = 1.0;
    w->model->spec->latent[i] = false;
    for (size_t n = 0; n < w->N; n++) {
        if (fabs(z[n]) < 0.3) continue;
        w->exact[i * w->N + n] = z[n];
        joint_given(&w->joint, n * d, d, one, 0.0, z[n]);
    }
}

/* The last so many states are not latent. */
static void compare(const struct system *s, size_t N, size_t observed,
                    size_t exact_states, uint64_t seed)
{
    static struct watched w;
    double *z = normals(2 * MOST_D * N, seed);
    w = (struct watched){.system = s, .model = model_from(s), .N = N};
    watch_times(N, 0.5, w.time);
    joint_of(s, N, w.time, &w.joint);
    for (size_t e = 0; e < s->d * N; e++)
        w.exact[e] = NAN;
    for (size_t o = 0; o < observed; o++)
        observe(&w, o, z + o * N);
    for (size_t i = s->d - exact_states; i < s->d; i++)
        pin(&w, i, z + (MOST_D + i) * N);
    struct smooth_track track = {
        .stops = N, .time = w.time, .value = w.value, .exact = w.exact};
    struct smoothed r = smooth_it(w.model, &track);
    assert_true(r.converged);
    assert_joint(s, &w.joint, N, &r.law);
    smoothed_free(&r);
    watch_free(w.model);
    mem_free(z);
}

static void smoother__of_a_linear_model_is_exact(void **state)
{
    (void)state;
    static const size_t dim[] = {1, 2, 3, 5};
    for (size_t i = 0; i < COUNT(dim); i++)
        for (uint64_t seed = 1; seed < 6; seed++) {
            struct system s = system_of(dim[i], 100 * seed + dim[i]);
            compare(&s, MOST_N, dim[i], 0, seed);
            compare(&s, MOST_N, (dim[i] + 1) / 2, 0, seed + 50);
            compare(&s, 1, 1, 0, seed);
        }
}

static void smoother__takes_states_without_noise(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct system two = system_of(2, seed), five = system_of(5, seed);
        compare(&two, MOST_N, 1, 1, seed);
        compare(&five, MOST_N, 2, 2, seed);
        compare(&five, MOST_N, 1, 4, seed);
        compare(&five, MOST_N, 0, 3, seed);
    }
}

static void smoother__takes_a_wide_first_law(void **state)
{
    (void)state;
    struct system s = system_of(2, 7);
    s.deviation[0] = 10.0;
    s.deviation[1] = 30.0;
    compare(&s, MOST_N, 1, 0, 3);
}

/* An unstable model stays exact while its growth over a gap is moderate. */
static void smoother__takes_an_unstable_model(void **state)
{
    (void)state;
    struct system s = system_of(2, 11);
    s.A[0] = 2.0;
    s.A[3] = 1.0;
    compare(&s, 5, 2, 0, 3);
}

/* dx = -x dt + s(t) dW with s = exp(t / 2): the variance of a step is that of
 * the transition by quadrature, whatever the map does in between. */
static void smoother__takes_a_noise_that_moves(void **state)
{
    (void)state;
    const double one = 1.0, zero = 0.0, time[2] = {0.0, 0.8};
    const double value[2] = {0.5, 2.0};
    gsv_model *m = model_of("state x\ndx = -x*dt + exp(0.5*t)*dW\n");
    watch_begin(m, &zero, &one);
    watch_normal(m, &one, 0.5);
    struct smooth_track track = {.stops = 2, .time = time, .value = value};
    struct smoothed r = smooth_it(m, &track);
    /* int_0^h e^(-2 (h - t)) e^t dt = (e^h - e^(-2 h)) / 3. */
    double h = 0.8, Phi = exp(-h), Q = (exp(h) - exp(-2.0 * h)) / 3.0;
    double P = 1.0 / (1.0 + 4.0), mean = P * 4.0 * 0.5;
    double ahead = Phi * Phi * P + Q, after = 1.0 / (1.0 / ahead + 4.0);
    double last = Phi * mean + 4.0 * after * (2.0 - Phi * mean), s = exp(0.4);
    /* f~ = -(1 + 1/2) y is linear, with the same transition in z. */
    assert_near(s * r.law.mean[1], last, 1e-9);
    assert_near(s * s * r.law.cov[1], after, 1e-9);
    assert_near(r.law.predicted_mean[1], Phi * mean / s, 1e-9);
    assert_near(s * s * r.law.predicted_cov[1], ahead, 1e-9);
    smoothed_free(&r);
    watch_free(m);
}

/* A price whose growth is latent, and the same in logarithms: y is the same.
 */
static void smoother__takes_states_through_their_map(void **state)
{
    (void)state;
    enum { N = 30 };
    static const char *const text[2] = {
        "state x, v\ninit v ~ normal(0, 1)\ndx = v*x*dt + 0.3*x*dW1\n"
        "dv = -v*dt + 0.5*dW2\n",
        "state u, v\ninit v ~ normal(0, 1)\ndu = (v - 0.045)*dt + 0.3*dW1\n"
        "dv = -v*dt + 0.5*dW2\n"};
    double time[N], exact[2][2 * N], *z = normals(N, 4), sum = 2.0;
    struct smoothed r[2];
    watch_times(N, 0.3, time);
    for (size_t n = 0; n < N; n++) {
        sum += 0.2 * z[n];
        exact[1][n] = n % 6 == 5 ? NAN : sum;
        exact[0][n] = exp(exact[1][n]);
        exact[0][N + n] = exact[1][N + n] = NAN;
    }
    for (int i = 0; i < 2; i++) {
        gsv_model *m = model_of(text[i]);
        struct smooth_track track = {
            .stops = N, .time = time, .exact = exact[i]};
        r[i] = smooth_it(m, &track);
        assert_true(r[i].converged);
        gsv_model_free(m);
    }
    for (size_t e = 0; e < 2 * N; e++)
        assert_near(r[0].law.mean[e], r[1].law.mean[e], 1e-9);
    for (size_t e = 0; e < 4 * N; e++)
        assert_near(r[0].law.cov[e], r[1].law.cov[e], 1e-9);
    for (size_t n = 0; n < N; n++)
        if (n % 6 != 5)
            assert_near(0.3 * r[0].law.mean[2 * n], exact[1][n], 1e-12);
    for (int i = 0; i < 2; i++)
        smoothed_free(&r[i]);
    mem_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoother__of_a_linear_model_is_exact),
        cmocka_unit_test(smoother__takes_states_without_noise),
        cmocka_unit_test(smoother__takes_a_wide_first_law),
        cmocka_unit_test(smoother__takes_an_unstable_model),
        cmocka_unit_test(smoother__takes_a_noise_that_moves),
        cmocka_unit_test(smoother__takes_states_through_their_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
