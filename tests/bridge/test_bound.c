/* SPDX-License-Identifier: MIT */
/* The form bound: the likelihood itself where the drift is linear, with its
 * gradient; elsewhere below it, and an integral that one dimension allows to
 * take by other means. */
#include "exact.h"

static gsv_options bound_options(size_t times)
{
    gsv_options o = default_options();
    o.form = GSV_FORM_BOUND;
    o.steps = times;
    o.gradient = o.wide = true;
    return o;
}

/* --- Linear drift --------------------------------------------------------- */

/* dX = k (mu - X) dt + s dW with p = (k, mu, s). */
static double ou_loglik(const gsv_series *s, const double *p)
{
    double sum = 0.0;
    for (size_t i = 1; i < s->rows; i++)
        sum += exact_ou(s->value[i - 1] - p[1], s->value[i] - p[1], p[0], p[2],
                        s->time[i] - s->time[i - 1]);
    return sum;
}

static void bound__is_the_likelihood_of_a_linear_drift(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n param k = 1.3, mu = 0.4, s = 0.7\n"
                            "dx = k*(mu - x)*dt + s*dW");
    gsv_series *s = walk_of(m, 1, 40, 0.8, 5);
    gsv_options o = bound_options(8);
    gsv_result r = loglik_of(m, s, &o);
    double p[3] = {1.3, 0.4, 0.7};
    assert_near(r.loglik, ou_loglik(s, p), 1e-9);
    assert_true(r.error == 0.0 && isnan(r.discretisation));
    assert_int_equal(r.gap[0].form, GSV_FORM_BOUND);
    /* It touches the likelihood from below: the slopes agree, sigma's too. */
    for (size_t i = 0; i < 3; i++) {
        double h = 1e-4, kept = p[i], slope = 0.0;
        static const double at[] = {1.0, -1.0, 2.0, -2.0}, c[] = {8, -8, -1, 1};
        for (size_t j = 0; j < 4; j++) {
            p[i] = kept + at[j] * h;
            slope += c[j] * ou_loglik(s, p) / (12.0 * h);
        }
        p[i] = kept;
        assert_near(r.gradient[i], slope, 1e-7 * (1.0 + fabs(slope)));
    }
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Several states and a matrix of noise, against one exact step of the
 * reference, which has the transition in closed form. */
static void bound__is_the_likelihood_in_several_dimensions(void **state)
{
    (void)state;
    static const char *const MODEL[] = {
        "state x[2]\n param A[2,2] = [-1,.5, -.7,-.4], L[2,2] = [1,0, .3,.6]\n"
        "dx = (A @ x + [.2, .1])*dt + L @ dW",
        "state x[3]\n param A[3,3] = [-1,.5,0, -.5,-1,.2, .1,0,-2], b[3] = "
        "0.3\n"
        "param L[3,3] = [1,0,0, .2,.7,0, -.3,.4,.5] lower\n"
        "dx = (A @ x + b)*dt + L @ dW",
        "state x[5]\n param k = 1, m[5] = 0.2, s[5] = [1,2,3,.4,.5]\n"
        "dx = k*(m - x)*dt + s*dW"};
    for (size_t k = 0; k < COUNT(MODEL); k++) {
        gsv_model *m = model_of(MODEL[k]);
        gsv_series *s = walk_of(m, 2, 6, 0.4, 5);
        gsv_options o = bound_options(8), one = default_options();
        gsv_result r = loglik_of(m, s, &o);
        one.steps = 1;
        one.gradient = one.wide = true;
        gsv_result exact = loglik_of(m, s, &one);
        assert_near(r.loglik, exact.loglik, 1e-9 * (1.0 + fabs(r.loglik)));
        gsv_result_free(&r);
        gsv_result_free(&exact);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- One cubic gap by other means ----------------------------------------- */

/* The bridge of dY = (A Y + b) dt + dW from y0 to y1 over h: closed forms by
 * hyperbolic functions, with Y + b/A in the place of Y. */
struct bridge {
    double A, b, y0, y1, h;
};

static double bridge_mean(const struct bridge *p, double t)
{
    double shift = p->b / p->A, rest = p->h - t;
    return ((p->y0 + shift) * sinh(p->A * rest) +
            (p->y1 + shift) * sinh(p->A * t)) /
               sinh(p->A * p->h) -
           shift;
}

static double bridge_variance(const struct bridge *p, double t)
{
    return sinh(p->A * t) * sinh(p->A * (p->h - t)) /
           (p->A * sinh(p->A * p->h));
}

static double bridge_drift(const struct bridge *p, double t, double y)
{
    double shift = p->b / p->A, rest = p->h - t;
    return p->A * (p->y1 + shift) / sinh(p->A * rest) -
           p->A * (y + shift) / tanh(p->A * rest);
}

/* E[(f - l)(g - l) - (f - l)^2 / 2] at a time, f = y - y^3, by trapezoids. */
static double integrand(const struct bridge *p, double t)
{
    enum { N = 400 };
    double mean = bridge_mean(p, t), sd = sqrt(bridge_variance(p, t));
    double sum = 0.0, dz = 16.0 / N;
    for (int i = 0; i <= N; i++) {
        double z = -8.0 + dz * i, y = mean + sd * z;
        double l = p->A * y + p->b, r = y - y * y * y - l;
        double u = bridge_drift(p, t, y) - l;
        sum += dz * exp(exact_normal(z, 0.0, 1.0)) * (r * u - 0.5 * r * r);
    }
    return sum;
}

static void bound__is_the_free_energy_of_a_linear_bridge(void **state)
{
    (void)state;
    enum { N = 2000 };
    static const double time[] = {0.0, 0.7}, value[] = {-0.3, 1.1};
    gsv_model *m = model_of("state x\n dx = (x - x^3)*dt + dW");
    gsv_series *s = track_of(m, 2, time, value);
    double y = 0.5 * (value[0] + value[1]);
    struct bridge p = {.A = 1.0 - 3.0 * y * y,
                       .b = 2.0 * y * y * y,
                       .y0 = value[0],
                       .y1 = value[1],
                       .h = time[1]};
    double shift = p.b / p.A;
    double wanted = exact_ou(p.y0 + shift, p.y1 + shift, -p.A, 1.0, p.h);
    for (int i = 0; i < N; i++)
        wanted += p.h / N * integrand(&p, p.h * (i + 0.5) / N);
    gsv_options o = bound_options(8);
    gsv_result r = loglik_of(m, s, &o);
    assert_near(r.loglik, wanted, 1e-6); /* of the midpoints */
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void bound__is_below_the_likelihood(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = (3*x - 3*x^3)*dt + dW");
    gsv_series *s = walk_of(m, 1, 30, 0.5, 9);
    gsv_options o = bound_options(12), fine = default_options();
    gsv_result low = loglik_of(m, s, &o);
    fine.paths = 1024;
    fine.steps = 32;
    gsv_result r = loglik_of(m, s, &fine);
    for (size_t g = 0; g < r.groups; g++) {
        double slack =
            4.0 * r.gap[g].error + fabs(r.gap[g].discretisation) + 1e-6;
        if (low.gap[g].loglik > r.gap[g].loglik + slack)
            fail_msg("gap %zu: %g above %g", g, low.gap[g].loglik,
                     r.gap[g].loglik);
    }
    assert_true(low.loglik < r.loglik - 0.1);
    gsv_result_free(&low);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Derivatives ---------------------------------------------------------- */

/* Against differences with the references of the values: those of an M-step. */
static void bound__has_the_gradient_of_its_differences(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double size; /* of data that must be positive; 0: any */
    } MODEL[] = {
        {"state x\n param a = 1, b = 0.8, s = 0.9 > 0\n"
         "dx = (a*x - b*x^3)*dt + s*dW",
         0.0},
        {"state x, y\n param m = 1.2, q = 0.7 > 0, r = 0.9\n"
         "dx = y*dt + q*dW1\n dy = (m*(1 - x^2)*y - x)*dt + r*dW2 + 0.3*dW1",
         0.0},
        {"state x, y, z\n param s = 8, r = 25, b = 2, q = 1 > 0\n"
         "dx = s*(y - x)*dt + q*dW\n dy = (x*(r - z) - y)*dt + q*dW\n"
         "dz = (x*y - b*z)*dt + q*dW",
         0.0},
        {"state x[5]\n param k = 1, s[5] = [1,2,3,.4,.5]\n"
         "dx = sin(k*x)*dt + s*dW",
         0.0},
        {"state x\n param k = 1, s = 0.5 > 0, a = 0.6, w = 3\n"
         "dx = (-k*x^3 + cos(2*t))*dt + s*(1 + a*sin(w*t))*dW",
         0.0},
        {"state x\n input u\n param a = 1, b = 0.5, s = 1 > 0\n"
         "dx = (-a*x^3 + b*u)*dt + (s + b*exp(u))*dW",
         0.0},
        {"state x, y\n net f(x, y) -> 2 : 6 6 silu\n param s = 0.5 > 0\n"
         "dx = f[1]*dt + s*dW\n dy = f[2]*dt + s*dW",
         0.0},
        {"state r\n param k = 1 > 0, m = 1 > 0, s = 0.5 > 0\n"
         "dr = k*(m - r)*dt + s*sqrt(r)*dW",
         0.5},
        /* Near 0, where points are beyond it. */
        {"state r\n param k = 1 > 0, m = 0.1 > 0, s = 0.5 > 0\n"
         "dr = k*(m - r)*dt + s*sqrt(r)*dW",
         0.02},
        {"state x\n param a = 1, s = 0.6 > 0\n dx = a*x*(1 - x)*dt + s*x*dW",
         0.5},
        {"state x\n param a = 1, s = 0.5\n"
         "dx = sin(a*x)*dt + (1 + s*tanh(x)^2)*dW",
         0.0},
        {"state z[2] = flow(x[2] : 2 layers 3)\n param s = 0.5 > 0\n"
         "dz = -z*abs(z)*dt + s*dW",
         0.0},
    };
    for (size_t k = 0; k < COUNT(MODEL); k++) {
        gsv_model *m = model_of(MODEL[k].text);
        gsv_series *s = walk_of(m, 2, 5, 0.3, 3);
        for (size_t i = 0; MODEL[k].size > 0.0 && i < s->rows; i++)
            s->value[i] = MODEL[k].size * (0.4 + fabs(s->value[i]));
        gsv_options o = bound_options(4);
        gsv_gradient_check check;
        if (gsv_check_gradient(m, s, &o, &check))
            fail_msg("%s: %s", MODEL[k].text, gsv_last_error());
        if (!(check.worst < 2e-8))
            fail_msg("%s: off by %g at number %zu", MODEL[k].text, check.worst,
                     check.where);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* --- Bits, memory, refusals ----------------------------------------------- */

static void bound__has_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x, y\n net f(x, y) -> 2 : 6 6 silu\n"
                            "param s = 0.5 > 0\n"
                            "dx = f[1]*dt + s*dW\n dy = f[2]*dt + s*dW");
    gsv_series *s = walk_of(m, 3, 100, 0.3, 3);
    gsv_options o = bound_options(4);
    gsv_result one = loglik_of(m, s, &o);
    o.threads = 3;
    gsv_result three = loglik_of(m, s, &o);
    assert_true(one.loglik == three.loglik);
    assert_memory_equal(one.gradient, three.gradient,
                        one.values * sizeof *one.gradient);
    gsv_result_free(&one);
    gsv_result_free(&three);
    gsv_series_free(s);
    gsv_model_free(m);
}

static void bound__survives_when_memory_runs_out(void **state)
{
    (void)state;
    int status = GSV_NO_MEMORY;
    size_t n = 0;
    gsv_model *m = model_of("state x\n param k = 1, s = 1 > 0\n"
                            "dx = -k*x^3*dt + s*dW");
    gsv_series *s = walk_of(m, 1, 4, 0.3, 3);
    gsv_options o = bound_options(2);
    while (status) {
        gsv_result r;
        mem_fail_at(++n);
        status = gsv_loglik(m, s, &o, &r);
        mem_fail_at(0);
        assert_true(!status || status == GSV_NO_MEMORY);
        if (!status) gsv_result_free(&r);
    }
    assert_true(n > 20);
    gsv_series_free(s);
    gsv_model_free(m);
}

#define refused(m, s, o, word) refused_at(__LINE__, (m), (s), (o), (word))
static void refused_at(int line, const gsv_model *m, const gsv_series *s,
                       const gsv_options *o, const char *word)
{
    gsv_result r;
    int status = gsv_loglik(m, s, o, &r);
    if (status != GSV_BAD_INPUT || !strstr(gsv_last_error(), word))
        fail_msg("line %d: %d, %s", line, status, gsv_last_error());
}

static void bound__refuses_what_it_has_no_use_for(void **state)
{
    (void)state;
    gsv_model *m = model_of("state x\n dx = -x*dt + dW");
    gsv_series *s = walk_of(m, 1, 4, 0.3, 3);
    gsv_options o = bound_options(2);
    o.joint = true;
    refused(m, s, &o, "joint");
    o = bound_options(65);
    refused(m, s, &o, "1 to 64 times");
    o = bound_options(2);
    o.step = 0.1;
    refused(m, s, &o, "as steps");
    o = bound_options(2);
    o.reference = GSV_REFERENCE_LNA;
    refused(m, s, &o, "the reference linear");
    gsv_series_free(s);
    gsv_model_free(m);
    m = model_of("state x\n dx = -x*dt + dW\n obs y ~ normal(x, 1)\n"
                 "init x ~ normal(0, 1)");
    s = walk_of(m, 1, 4, 0.3, 3);
    o = bound_options(2);
    refused(m, s, &o, "observed themselves");
    gsv_series_free(s);
    gsv_model_free(m);
    m = model_of("state x, y\n dx = dW1 + y*dW2\n dy = x*dW1 + dW2");
    s = walk_of(m, 1, 4, 0.3, 3);
    refused(m, s, &o, "leave the form to auto");
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound__is_the_likelihood_of_a_linear_drift),
        cmocka_unit_test(bound__is_the_likelihood_in_several_dimensions),
        cmocka_unit_test(bound__is_the_free_energy_of_a_linear_bridge),
        cmocka_unit_test(bound__is_below_the_likelihood),
        cmocka_unit_test(bound__has_the_gradient_of_its_differences),
        cmocka_unit_test(bound__has_the_same_bits_on_any_threads),
        cmocka_unit_test(bound__survives_when_memory_runs_out),
        cmocka_unit_test(bound__refuses_what_it_has_no_use_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
