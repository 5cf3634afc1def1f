/* SPDX-License-Identifier: MIT */
/* What numbers of the noise are found by, from pairs of gaps, against its
 * definition in plain loops. */
#include "slopes.h"

#include "base/linalg.h"

enum { PAIRED = GAPS / 2 * 2 };

static const double LENGTHS[] = {0.02, 0.2};

/* Gaps in pairs, the last pair first. */
static void list_pairs(size_t *group)
{
    for (size_t i = 0; i < PAIRED; i += 2) {
        group[i] = PAIRED - 2 - i;
        group[i + 1] = PAIRED - 1 - i;
    }
}

static struct score run_pairs(const gsv_model *m, const gsv_series *s,
                              size_t threads, double *bar, double *value)
{
    struct slopes a;
    struct score score = {0};
    size_t group[PAIRED];
    gsv_options o = slope_options(true, threads);
    const struct task task = {
        .model = m, .series = s, .options = &o, .most = PAIRED};
    list_pairs(group);
    if (slopes_init(&a, &task) || slopes_noise(&a, PAIRED, group, bar, &score))
        fail_msg("%s", gsv_last_error());
    memcpy(value, a.value, PAIRED * sizeof *value);
    slopes_free(&a);
    return score;
}

/* --- The definition ------------------------------------------------------- */

/* e, and the root of the covariance there; of no noise that turns with x. */
static void residual(const struct plain *p, size_t i, const struct held *a,
                     double *e, double *root)
{
    double f[DIM], g[DIM * DIM], input[2];
    double h = p->s->time[i + 1] - p->s->time[i];
    double time = time_of(p, i, 0.5, input);
    size_t d = p->d, noises = gsv_model_noises(p->m);
    drift(p, i, 0.5, a->z, f);
    gsv_model_diffusion(p->m, 1, &time, a->z, input, g);
    for (size_t k = 0; k < d; k++) {
        e[k] = moved_by(p->s, k, i) / h - a->D[k] - f[k];
        for (size_t j = 0; j < d; j++) {
            root[k * d + j] = 0.0;
            for (size_t n = 0; n < noises; n++)
                root[k * d + j] += g[k * noises + n] * g[j * noises + n];
        }
    }
    assert_true(linalg_cholesky(d, root));
}

static double squares(size_t d, const double *v)
{
    double sum = 0.0;
    for (size_t k = 0; k < d; k++)
        sum += v[k] * v[k];
    return sum;
}

/* Of gap i with the other one of its pair. */
static double plain_value(const struct plain *p, size_t i, size_t other)
{
    size_t d = p->d;
    double e[DIM], e2[DIM], root[DIM * DIM], root2[DIM * DIM], at[DIM];
    double f[DIM], w[DIM], value = 0.0;
    const double *time = p->s->time;
    double h = time[i + 1] - time[i], h2 = time[other + 1] - time[other];
    struct held a = hold(p, i, false), b = hold(p, other, false);
    residual(p, i, &a, e, root);
    residual(p, other, &b, e2, root2);
    for (size_t k = 0; k < d; k++)
        at[k] = a.z[k] + limited(h * e2[k] / sqrt(12.0), p->reach[k]);
    drift(p, i, 0.5, a.z, f);
    drift(p, i, 0.5, at, w);
    for (size_t k = 0; k < d; k++)
        w[k] = isfinite(w[k] - f[k]) ? w[k] - f[k] : 0.0;
    linalg_lower_solve(d, 1, root, false, e);
    linalg_lower_solve(d, 1, root, false, w);
    linalg_lower_solve(d, 1, root2, false, e2);
    for (size_t k = 0; k < d; k++) {
        e[k] = sqrt(h) * e[k] - sqrt(h2) * e2[k];
        value -= log(root[k * (d + 1)]);
    }
    return value - 0.25 * squares(d, e) + 0.5 * h * squares(d, w);
}

/* Where the noise does not turn with x, any root of it gives the same. */
static bool turns(size_t which)
{
    return strstr(MODELS[which].text, "(L*(1");
}

static void values__are_those_of_their_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS) * COUNT(LENGTHS); i++) {
        size_t which = i / COUNT(LENGTHS), group[PAIRED];
        if (turns(which)) continue;
        gsv_model *m = open_model(which);
        gsv_series *s = open_series(m, which, LENGTHS[i % COUNT(LENGTHS)]);
        struct plain p = plain_of(m, s);
        double value[PAIRED], *bar = NEW(double, gsv_model_values(m));
        run_pairs(m, s, 1, bar, value);
        list_pairs(group);
        for (size_t k = 0; k < PAIRED; k++) {
            double wanted = plain_value(&p, group[k], group[k ^ 1]);
            if (!(fabs(value[k] - wanted) <= 1e-8 * (1.0 + fabs(wanted))))
                fail_msg("model %zu, gap %zu: %.12g instead of %.12g", which,
                         group[k], value[k], wanted);
        }
        mem_free(bar);
        free_both(m, s);
    }
}

/* --- The gradient --------------------------------------------------------- */

/* Of value j by differences of the sum of all values. */
static double slope_of(gsv_model *m, const gsv_series *s, size_t j, double *bar)
{
    static const double AT[] = {1, -1, 2, -2}, BY[] = {8, -8, -1, 1};
    static const double STEP = 1e-4;
    double value[PAIRED], kept = m->value[j], sum = 0.0;
    for (size_t e = 0; e < 4; e++) {
        m->value[j] = kept + AT[e] * STEP;
        sum += BY[e] * run_pairs(m, s, 1, bar, value).mean * PAIRED;
    }
    m->value[j] = kept;
    return sum / (12.0 * STEP);
}

static void gradient__by_the_noise_is_that_of_the_value(void **state)
{
    (void)state;
    size_t numbers = 0;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = open_model(i);
        gsv_series *s = open_series(m, i, 0.1);
        size_t n = gsv_model_values(m);
        double value[PAIRED], *bar = NEW(double, n), *other = NEW(double, n);
        run_pairs(m, s, 1, bar, value);
        for (size_t j = 0; j < n; j++) {
            size_t at = spec_param_at(m->spec, j);
            if (!m->noise_param[at] || m->drift_param[at]) continue;
            double wanted = slope_of(m, s, j, other);
            numbers++;
            if (!(fabs(bar[j] - wanted) <= 1e-6 * (1.0 + fabs(wanted))))
                fail_msg("model %zu: value %zu has %.12g instead of %.12g", i,
                         j, bar[j], wanted);
        }
        MEM_FREE(bar, other);
        free_both(m, s);
    }
    assert_true(numbers > COUNT(MODELS));
}

static void pairs__have_the_same_bits_on_any_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        gsv_model *m = open_model(i);
        gsv_series *s = open_series(m, i, 0.1);
        size_t n = gsv_model_values(m);
        double one[PAIRED], value[PAIRED], *bar = NEW(double, 2 * n);
        struct score first = run_pairs(m, s, 1, bar, one);
        struct score score = run_pairs(m, s, 3, bar + n, value);
        assert_same(score.mean, first.mean);
        assert_true(same_bits(PAIRED, value, one));
        assert_true(same_bits(n, bar, bar + n));
        mem_free(bar);
        free_both(m, s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values__are_those_of_their_definition),
        cmocka_unit_test(gradient__by_the_noise_is_that_of_the_value),
        cmocka_unit_test(pairs__have_the_same_bits_on_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
