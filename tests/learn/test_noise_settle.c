/* SPDX-License-Identifier: MIT */
/* The noise from differences of neighbouring gaps: known in closed form where
 * the drift is a constant, whatever its size. */
#include "learn.h"

#include "learn/noise_settle.h"
#include "model/model.h"

enum { DIM = 3, MOST_ROWS = 401 };

/* A fit under way that never goes anywhere. */
struct still {
    struct learner l;
    gsv_fit_options o;
    gsv_model *m;
    gsv_series *s;
};

static void still_open(struct still *t, const char *text, size_t tracks,
                       size_t rows, double speed)
{
    *t = (struct still){.o = fit_options(), .m = model_of(text)};
    t->s = walk_of(t->m, tracks, rows, 0.1, 3);
    for (size_t k = 0; k < gsv_model_dim(t->m); k++)
        for (size_t i = 0; i < t->s->rows; i++) {
            double *x = t->s->value + k * t->s->rows + i;
            *x = 0.3 * (double)(k + 1) * *x + speed * t->s->time[i];
            if (k) *x += 0.4 * t->s->value[i];
        }
    t->o.optimizer = GSV_OPTIMIZER_SOAP;
    t->l = (struct learner){.m = t->m, .s = t->s, .o = &t->o, .given = &t->o};
    if (learner_init(&t->l, &t->o)) fail_msg("%s", gsv_last_error());
    gsv_theta_get(t->m, t->l.theta);
    /* Networks are 0. */
    for (size_t i = 0; i < t->l.n; i++)
        if (t->m->spec->param[spec_param_at(t->m->spec, t->l.value[i])].fan_in)
            t->l.theta[i] = 0.0;
}

static void still_close(struct still *t)
{
    learner_free(&t->l);
    free_both(t->m, t->s);
}

/* The mean of half of the squared difference of two moves, in units of the root
 * of their time, over the pairs of every track. */
static void differences(const struct still *t, size_t tracks, double *S)
{
    const gsv_series *s = t->s;
    size_t d = gsv_model_dim(t->m), each = s->rows / tracks, pairs = 0;
    double u[DIM];
    memset(S, 0, d * d * sizeof *S);
    for (size_t row = 0; row < s->rows; row++) {
        size_t i = row % each;
        if (i % 2 || i + 2 >= each) continue;
        pairs++;
        for (size_t k = 0; k < d; k++) {
            const double *x = s->value + k * s->rows + row;
            const double *time = s->time + row;
            u[k] = (x[2] - x[1]) / sqrt(time[2] - time[1]) -
                   (x[1] - x[0]) / sqrt(time[1] - time[0]);
        }
        for (size_t k = 0; k < d * d; k++)
            S[k] += 0.5 * u[k / d] * u[k % d];
    }
    for (size_t k = 0; k < d * d; k++)
        S[k] /= (double)pairs;
}

static const char DIAGONAL[] = "state x[3]\n net f(x) -> 3 : 4\n"
                               "param s[3] = 1 > 0\n dx = f*dt + s*dW";
static const char FULL[] = "state x[3]\n net f(x) -> 3 : 4\n"
                           "param L[3,3] = [1, 0, 0, 0, 1, 0, 0, 0, 1] lower\n"
                           "dx = f*dt + L @ dW";
static const char ONE[] = "state x\n net f(x) -> 1 : 4\n"
                          "param s = 1 > 0\n dx = f*dt + s*dW";
static const char LINK[] = "state x\n net f(x) -> 1 : 4\n"
                           "param r = 0.3\n dx = f*dt + exp(2*r)*dW";

/* What the model has for its covariance, everywhere. */
static void covariance(const struct still *t, double *S)
{
    size_t d = gsv_model_dim(t->m), noises = gsv_model_noises(t->m);
    double time = 0.0, x[DIM] = {0}, g[DIM * DIM];
    gsv_theta_set(t->m, t->l.theta);
    assert_int_equal(gsv_model_diffusion(t->m, 1, &time, x, NULL, g), 0);
    memset(S, 0, d * d * sizeof *S);
    for (size_t k = 0; k < d * d; k++)
        for (size_t n = 0; n < noises; n++)
            S[k] += g[k / d * noises + n] * g[k % d * noises + n];
}

static void noise__is_that_of_the_differences(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {ONE, LINK, DIAGONAL, FULL};
    static const double SPEED[] = {0.0, 0.5};
    static const struct {
        size_t tracks, rows;
    } SHAPE[] = {{1, 201}, {1, 202}, {3, 80}, {30, 7}};
    for (size_t i = 0; i < COUNT(TEXTS) * COUNT(SPEED) * COUNT(SHAPE); i++) {
        static struct still t;
        const char *text = TEXTS[i % COUNT(TEXTS)];
        size_t shape = i / COUNT(TEXTS) % COUNT(SHAPE);
        double wanted[DIM * DIM], found[DIM * DIM];
        still_open(&t, text, SHAPE[shape].tracks, SHAPE[shape].rows,
                   SPEED[i / COUNT(TEXTS) / COUNT(SHAPE)]);
        size_t d = gsv_model_dim(t.m);
        differences(&t, SHAPE[shape].tracks, wanted);
        if (noise_settle(&t.l, t.l.theta)) fail_msg("%s", gsv_last_error());
        covariance(&t, found);
        for (size_t k = 0; k < d * d; k++) {
            if (text == DIAGONAL && k % (d + 1)) continue;
            if (!(fabs(found[k] - wanted[k]) < 1e-3 * fabs(wanted[0])))
                fail_msg("case %zu: element %zu is %g instead of %g", i, k,
                         found[k], wanted[k]);
        }
        still_close(&t);
    }
}

/* Few pairs, a fixed number, and a noise with a network leave all as it is. */
static void noise__stays_where_there_is_nothing_to_go_by(void **state)
{
    (void)state;
    static const char NOISY[] =
        "state x\n net f(x) -> 1 : 4\n net g(x) -> 1 : 4\n"
        "param r = 1\n dx = f*dt + exp(g + r)*dW";
    static const char *const FIXED[] = {"s"};
    static const struct {
        const char *text;
        size_t rows;
        bool fixed;
    } CASE[] = {{ONE, 99, false}, {ONE, 401, true}, {NOISY, 401, false}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        static struct still t;
        still_open(&t, CASE[i].text, 1, CASE[i].rows, 0.0);
        if (CASE[i].fixed) {
            learner_free(&t.l);
            t.o.fix = FIXED;
            t.o.fixed = 1;
            t.l = (struct learner){.m = t.m,
                                   .s = t.s,
                                   .o = &t.o,
                                   .kept = t.m->value,
                                   .given = &t.o};
            if (learner_init(&t.l, &t.o)) fail_msg("%s", gsv_last_error());
            gsv_theta_get(t.m, t.l.theta);
        }
        double *before = NEW(double, t.l.n);
        memcpy(before, t.l.theta, t.l.n * sizeof *before);
        if (noise_settle(&t.l, t.l.theta)) fail_msg("%s", gsv_last_error());
        assert_true(same_bits(t.l.n, before, t.l.theta));
        mem_free(before);
        still_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise__is_that_of_the_differences),
        cmocka_unit_test(noise__stays_where_there_is_nothing_to_go_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
