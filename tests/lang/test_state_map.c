/* SPDX-License-Identifier: MIT */
/* States that are functions of the data: values against the same formulas in
 * C, inverses, log-determinants, gradients, domains, columns. */
#include "maps.h"

/* A map of one column on points from low to high, with its formula. p are the
 * parameters in order. */
struct map {
    const char *text;
    double low, high;
    double (*z)(double x, double t, const double *p);
};

#define MAP(NAME, FORMULA)                                                     \
    static double NAME(double x, double t, const double *p)                    \
    {                                                                          \
        (void)t, (void)p;                                                      \
        return FORMULA;                                                        \
    }

MAP(log_z, log(x))
MAP(sqrt_z, sqrt(x))
MAP(logit_z, log(x / (1.0 - x)))
MAP(asinh_z, asinh(x))
MAP(exp_z, exp(x))
MAP(log1p_z, log1p(x))
MAP(expm1_z, expm1(x))
MAP(sinh_z, sinh(x))
MAP(sigmoid_z, 1.0 / (1.0 + exp(-x)))
MAP(softplus_z, log1p(exp(x)))
MAP(tan_z, tan(x))
MAP(atan_z, atan(x))
MAP(tanh_z, tanh(x))
MAP(asin_z, asin(x))
MAP(acos_z, acos(x))
MAP(plain_z, x)
MAP(power_z, pow(x, 0.3))
MAP(square_z, x *x)
MAP(inverse_z, 2.0 / x)
MAP(whole_z, pow(x, -3.0))
MAP(const_power_z, pow(x, 1.7))
MAP(box_cox_z, (pow(x, p[0]) - 1.0) / p[0])
MAP(base_z, pow(2.5, x))
MAP(base_param_z, pow(p[0], x))
MAP(affine_z, (x - p[0]) / p[1])
MAP(minus_z, p[0] - x)
MAP(sign_z, -x)
MAP(log_ratio_z, log(x / 100.0))
MAP(wide_z, 2.0 * asinh(x / 3.0) + 1.0)
MAP(time_z, log(x + p[0]) * exp(p[1] * t) + sin(t))
MAP(let_z, log(x / (2.0 * p[0] * exp(t))))
MAP(deep_z, sqrt(log1p(exp(0.5 * x - 1.0))))

static const struct map MAPS[] = {
    {"log(x)", 1e-9, 1e9, log_z},
    {"sqrt(x)", 1e-9, 1e9, sqrt_z},
    {"logit(x)", 1e-6, 1.0 - 1e-6, logit_z},
    {"asinh(x)", -1e6, 1e6, asinh_z},
    {"exp(x)", -20.0, 20.0, exp_z},
    {"log1p(x)", -0.999, 1e6, log1p_z},
    {"expm1(x)", -15.0, 15.0, expm1_z},
    {"sinh(x)", -30.0, 30.0, sinh_z},
    {"sigmoid(x)", -12.0, 12.0, sigmoid_z},
    {"softplus(x)", -20.0, 40.0, softplus_z},
    {"tan(x)", -1.57, 1.57, tan_z},
    {"atan(x)", -500.0, 500.0, atan_z},
    {"tanh(x)", -6.0, 6.0, tanh_z},
    {"asin(x)", -0.999, 0.999, asin_z},
    {"acos(x)", -0.999, 0.999, acos_z},
    {"x", -1e6, 1e6, plain_z},
    {"x^0.3", 1e-6, 1e6, power_z},
    {"x^2", 1e-6, 1e6, square_z},
    {"2/x", 1e-4, 1e4, inverse_z},
    {"x^-3", 1e-2, 1e2, whole_z},
    {"x^q\nconst q = 1.7", 1e-3, 1e3, const_power_z},
    {"pow(x, q)\nconst q = 1.7", 1e-3, 1e3, const_power_z},
    {"(x^q - 1)/q\nparam q = 0.4", 1e-3, 1e3, box_cox_z},
    {"2.5^x", -10.0, 10.0, base_z},
    {"q^x\nparam q = 0.7 > 0", -20.0, 20.0, base_param_z},
    {"(x - m)/s\nparam m = 3, s = 0.2 > 0", -1e3, 1e3, affine_z},
    {"m - x\nparam m = 3", -1e3, 1e3, minus_z},
    {"-(+x)", -1e3, 1e3, sign_z},
    {"log(x/100)", 1e-6, 1e6, log_ratio_z},
    {"2*asinh(x/3) + 1", -1e5, 1e5, wide_z},
    {"log(x + c)*exp(r*t) + sin(t)\nparam c = 0.5, r = 0.3", -0.4, 1e3, time_z},
    /* A let that stands below, and one that it needs. */
    {"log(x/b)\nlet a = 2*k, b = a*exp(t)\nparam k = 3", 1e-3, 1e3, let_z},
    {"sqrt(softplus(x*0.5 - 1))", -20.0, 40.0, deep_z},
};

static gsv_model *model_of_map(const char *map)
{
    char text[300];
    snprintf(text, sizeof text,
             "state z = %s\nparam sigma = 0.7 > 0\n"
             "dz = -z*dt + sigma*dW\n",
             map);
    return map_model(text);
}

/* Evenly between the ends; by its logarithm where the range is wide. */
static struct places range_of(const struct map *map)
{
    struct places a = {.P = MAPS_P};
    bool wide = map->low > 0.0 && map->high > 100.0 * map->low;
    for (size_t p = 0; p < a.P; p++) {
        double at = ((double)p + 0.5) / (double)a.P;
        a.x[p] = map->low + at * (map->high - map->low);
        if (wide) a.x[p] = map->low * pow(map->high / map->low, at);
        a.t[p] = 0.01 * (double)p;
    }
    return a;
}

static void maps__are_what_is_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MAPS); i++) {
        gsv_model *m = model_of_map(MAPS[i].text);
        struct places a = range_of(&MAPS[i]);
        double z[MAPS_P];
        map_at(m, m->spec->state_of_data, &a, a.x, z);
        for (size_t p = 0; p < a.P; p++) {
            double exact = MAPS[i].z(a.x[p], a.t[p], m->value);
            if (!(fabs(z[p] - exact) <= 1e-13 * fmax(1.0, fabs(exact))))
                fail_msg("%s at %g is %.17g, not %.17g", MAPS[i].text, a.x[p],
                         z[p], exact);
        }
        assert_int_equal(gsv_model_columns(m), 1);
        assert_string_equal(gsv_model_column(m)[0], "x");
        gsv_model_free(m);
    }
}

static void maps__are_undone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MAPS); i++) {
        gsv_model *m = model_of_map(MAPS[i].text);
        struct places a = range_of(&MAPS[i]);
        expect_inverse(m, &a, 1e-10);
        gsv_model_free(m);
    }
}

static void maps__have_their_log_slopes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MAPS); i++) {
        gsv_model *m = model_of_map(MAPS[i].text);
        struct map inner = MAPS[i];
        /* Differences would step over the ends of some. */
        if (inner.low > 0.0) inner.low = fmax(inner.low, 0.01);
        if (inner.high < 2.0) inner.high *= 0.9;
        if (inner.low < 0.0 && inner.low > -2.0) inner.low *= 0.9;
        struct places a = range_of(&inner);
        expect_jacobian(m, &a, 1e-6);
        gsv_model_free(m);
    }
}

static void maps__have_gradients_by_their_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MAPS); i++) {
        gsv_model *m = model_of_map(MAPS[i].text);
        struct map near = MAPS[i];
        near.low = fmax(near.low, near.low < 0.0 ? -0.3 : 0.2);
        near.high = fmin(near.high, 0.9);
        struct places a = range_of(&near);
        expect_gradients(m, &a, 1e-6);
        gsv_model_free(m);
    }
}

/* --- Where they are defined ----------------------------------------------- */

/* conditions at x: how many are there, and how many of them are positive. */
static const struct {
    const char *text;
    size_t conditions;
    double x[4];
    size_t positive[4];
} DOMAINS[] = {
    {"log(x)", 1, {1e-300, 0.0, -1.0, 5.0}, {1, 0, 0, 1}},
    {"sqrt(x)", 1, {1e-300, 0.0, -1.0, 5.0}, {1, 0, 0, 1}},
    {"log1p(x)", 1, {-0.5, -1.0, -2.0, 5.0}, {1, 0, 0, 1}},
    {"logit(x)", 2, {0.5, 0.0, 1.0, -3.0}, {2, 1, 1, 1}},
    {"x^0.3", 1, {1.0, 0.0, -1.0, 1e9}, {1, 0, 0, 1}},
    {"x^2", 1, {1.0, 0.0, -1.0, 1e9}, {1, 0, 0, 1}},
    {"1/x", 1, {1.0, 0.0, -1.0, 1e9}, {1, 0, 0, 1}},
    {"tan(x)", 2, {0.0, 1.6, -1.6, 1.5}, {2, 1, 1, 2}},
    {"asin(x)", 2, {0.0, 1.6, -1.6, 0.9}, {2, 1, 1, 2}},
    {"log((x - 3)/2)", 1, {4.0, 3.0, 2.9, 30.0}, {1, 0, 0, 1}},
    /* Of the inner one where the outer one is not even a number. */
    {"log(log(x))", 2, {3.0, 1.0, 0.5, -1.0}, {2, 1, 1, 0}},
    {"exp(2*x) - 3", 0, {0}, {0}},
};

static void domains__are_positive_where_a_map_is_defined(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(DOMAINS); i++) {
        gsv_model *m = model_of_map(DOMAINS[i].text);
        size_t n = DOMAINS[i].conditions;
        struct places a = {.P = 4};
        double margin[MAPS_ROWS * MAPS_P];
        assert_int_equal(m->domain == 0, n == 0);
        if (n) {
            assert_int_equal(graph_size(m->spec->graph, m->domain), n);
            memcpy(a.x, DOMAINS[i].x, sizeof DOMAINS[i].x);
            map_at(m, m->domain, &a, a.x, margin);
        }
        for (size_t p = 0; n && p < a.P; p++) {
            size_t positive = 0;
            for (size_t k = 0; k < n; k++)
                positive += margin[k * a.P + p] > 0.0;
            if (positive != DOMAINS[i].positive[p])
                fail_msg("%s at %g has %zu conditions that hold",
                         DOMAINS[i].text, a.x[p], positive);
        }
        gsv_model_free(m);
    }
}

static void domains__hold_where_maps_are_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MAPS); i++) {
        gsv_model *m = model_of_map(MAPS[i].text);
        struct places a = range_of(&MAPS[i]);
        double margin[MAPS_ROWS * MAPS_P];
        size_t n = m->domain ? graph_size(m->spec->graph, m->domain) : 0;
        if (n) map_at(m, m->domain, &a, a.x, margin);
        for (size_t k = 0; k < n * a.P; k++)
            if (!(margin[k] > 0.0))
                fail_msg("%s has the margin %g at %g", MAPS[i].text, margin[k],
                         a.x[k % a.P]);
        gsv_model_free(m);
    }
}

/* --- Vectors -------------------------------------------------------------- */

static const char *const VECTORS[] = {
    "state z[3] = log(x[3])\ndz = -z*dt + dW\n",
    "state z[3] = (x[3]^q - 1)/q + b\nparam q[3] = [0.5, 1.2, -0.7]\n"
    "param b[3] = [1, 2, 3]\ndz = -z*dt + dW\n",
    "state z[2] = A @ x[2] + b\nparam A[2,2] = [1, 2, -3, 4], b[2] = [1, -1]\n"
    "dz = -z*dt + dW\n",
    "state z[2] = A @ x[2]\nparam A[2,2] = [1, 0, 0.4, 2] lower\n"
    "dz = -z*dt + dW\n",
    /* Elements, then all together, then elements again. */
    "state z[3] = asinh(A @ log(x[3]*exp(r*t)) - b)*2\n"
    "const A[3,3] = [1, 0.2, 0, -0.4, 2, 0.1, 0, 0.3, -1]\n"
    "param b[3] = 0.2, r = 0.1\ndz = -z*dt + dW\n",
    /* Several states, one of them as it is; noise with a matrix. */
    "state a, z[2] = log(x[2]), w = logit(p/4)\n"
    "param L[2,2] = [1, 0, 0.5, 2] lower, s = 0.5 > 0\n"
    "da = -a*dt + dW\ndz = -z*dt + L @ dW\ndw = s*dW\n",
};

static void vectors__go_there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(VECTORS); i++) {
        gsv_model *m = map_model(VECTORS[i]);
        struct places a = map_places(m, 0.0, 0.3, i);
        for (size_t k = 0; k < m->spec->dim * a.P; k++)
            a.x[k] = exp(a.x[k]);
        expect_inverse(m, &a, 1e-10);
        expect_jacobian(m, &a, 1e-7);
        expect_gradients(m, &a, 1e-6);
        gsv_model_free(m);
    }
}

static void vectors__keep_the_order_of_columns(void **state)
{
    (void)state;
    static const char *const NAME[] = {"a", "x1", "x2", "p"};
    gsv_model *m = map_model(VECTORS[COUNT(VECTORS) - 1]);
    struct places a = {.P = 1, .x = {-3.0, 2.0, 5.0, 1.0}};
    double z[4];
    assert_int_equal(gsv_model_columns(m), COUNT(NAME));
    for (size_t i = 0; i < COUNT(NAME); i++)
        assert_string_equal(gsv_model_column(m)[i], NAME[i]);
    map_at(m, m->spec->state_of_data, &a, a.x, z);
    assert_true(z[0] == -3.0);
    assert_true(fabs(z[1] - log(2.0)) < 1e-14);
    assert_true(fabs(z[2] - log(5.0)) < 1e-14);
    assert_true(fabs(z[3] - log(1.0 / 3.0)) < 1e-14);
    assert_int_equal(graph_size(m->spec->graph, m->spec->map_domain), 4);
    gsv_model_free(m);
}

/* --- What they belong to -------------------------------------------------- */

static void maps__without_one_are_the_data(void **state)
{
    (void)state;
    gsv_model *m = gsv_model_parse("state x, v[2]\ndx = dW\ndv = dW\n", NULL);
    assert_non_null(m);
    const struct spec *s = m->spec;
    assert_false(s->mapped);
    assert_int_equal(graph_info(s->graph, s->state_of_data)->op, OP_STATE);
    assert_true(s->data_of_state == s->state_of_data && !s->map_domain);
    gsv_model_free(m);
}

/* Parameters of a map are parameters of the noise; the drift is that of x. */
static void maps__belong_to_the_noise(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z = log(x + c)\nparam c = 1 > 0, k = 2\n"
                             "dz = -k*z*dt + dW\n");
    double x = 1.5, t = 0.0, drift;
    assert_int_equal(gsv_model_drift(m, 1, &t, &x, NULL, &drift), 0);
    assert_true(fabs(drift - 2.5 * (0.5 - 2.0 * log(2.5))) < 1e-12);
    assert_true(gsv_model_is_noise(m, 0) && !gsv_model_is_noise(m, 1));
    assert_true(m->learned_noise);
    gsv_model_free(m);
}

static void maps__fail_with_every_allocation(void **state)
{
    (void)state;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        mem_fail_at(n);
        gsv_model *m = gsv_model_parse(VECTORS[4], NULL);
        mem_fail_at(0);
        done = m != NULL;
        if (!m) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        gsv_model_free(m);
        assert_true(n < 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps__are_what_is_written),
        cmocka_unit_test(maps__are_undone),
        cmocka_unit_test(maps__have_their_log_slopes),
        cmocka_unit_test(maps__have_gradients_by_their_parameters),
        cmocka_unit_test(domains__are_positive_where_a_map_is_defined),
        cmocka_unit_test(domains__hold_where_maps_are_used),
        cmocka_unit_test(vectors__go_there_and_back),
        cmocka_unit_test(vectors__keep_the_order_of_columns),
        cmocka_unit_test(maps__without_one_are_the_data),
        cmocka_unit_test(maps__belong_to_the_noise),
        cmocka_unit_test(maps__fail_with_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
