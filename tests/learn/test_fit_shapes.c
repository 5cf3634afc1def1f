/* SPDX-License-Identifier: MIT */
/* Networks of any shape bend: also those of one hidden layer, and narrow ones,
 * learn a double well by default options. */
#include "learn.h"

static double true_drift(double x)
{
    return 2.0 * (x - x * x * x);
}

static void well_step(const double *p, double gap, const double *x,
                      const double *z, double *y)
{
    (void)p;
    y[0] = x[0];
    for (int i = 0; i < 16; i++)
        y[0] += gap / 16.0 * true_drift(y[0]);
    y[0] += 0.7 * sqrt(gap) * z[0];
}

/* sum (f0 - f)^2 at all rows, for the best straight line f. */
static double line_error(const gsv_series *s)
{
    double n = (double)s->rows, x1 = 0, x2 = 0, f1 = 0, f2 = 0, xf = 0;
    for (size_t i = 0; i < s->rows; i++) {
        double x = s->value[i], f = true_drift(x);
        x1 += x / n;
        x2 += x * x / n;
        f1 += f / n;
        f2 += f * f / n;
        xf += x * f / n;
    }
    double slope = (xf - x1 * f1) / (x2 - x1 * x1);
    return n * (f2 - f1 * f1 - slope * (xf - x1 * f1));
}

static double net_error(const gsv_model *m, const gsv_series *s)
{
    double *f = NEW(double, s->rows), sum = 0.0;
    assert_int_equal(gsv_model_drift(m, s->rows, s->time, s->value, NULL, f),
                     0);
    for (size_t i = 0; i < s->rows; i++)
        sum += pow(f[i] - true_drift(s->value[i]), 2.0);
    mem_free(f);
    return sum;
}

static double share_of_line(const char *widths, size_t rows)
{
    char text[200];
    snprintf(text, sizeof text,
             "state x\n net f(x) -> 1 : %s\n param s = 1 > 0\n"
             "dx = f*dt + s*dW",
             widths);
    gsv_model *m = model_of(text);
    gsv_series *s = learn_series(m, 1, rows, 0.1, 5, well_step, NULL);
    gsv_fit_options o = fit_options();
    o.estimate = GSV_ESTIMATE_NONE;
    fit_must(m, s, &o);
    double share = net_error(m, s) / line_error(s);
    free_both(m, s);
    return share;
}

/* A network that stays flat, or straight, has at least the error of the best
 * straight line. A hundred rows say little more than that there is a bend. */
static void nets__bend_in_any_shape(void **state)
{
    (void)state;
    static const struct {
        const char *widths;
        size_t rows;
    } CASE[] = {
        {"8 tanh", 401},     {"8 silu", 401},     {"16 tanh", 401},
        {"16 silu", 401},    {"16 relu", 401},    {"16 softplus", 401},
        {"64 silu", 401},    {"16 16 tanh", 401}, {"16 16 softplus", 401},
        {"32 32 silu", 401}, {"8 8 8 silu", 401}, {"16 tanh", 2001},
        {"64 silu", 2001},   {"16 silu", 101},    {"16 16 silu", 101},
        {"32 32 silu", 101},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        double share = share_of_line(CASE[i].widths, CASE[i].rows);
        print_message("%s, %zu rows: %.2f\n", CASE[i].widths, CASE[i].rows,
                      share);
        if (!(share < (CASE[i].rows > 101 ? 0.5 : 0.8)))
            fail_msg("%s, %zu rows: %.2f of the error of a line",
                     CASE[i].widths, CASE[i].rows, share);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets__bend_in_any_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
