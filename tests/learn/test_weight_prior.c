/* SPDX-License-Identifier: MIT */
/* The estimated penalty of weights, for networks that are linear in them:
 * against the largest evidence on a grid, in dense algebra. */
#include "learn.h"

#include "learn/learner.h"
#include "learn/weight_prior.h"
#include "model/model.h"

/* Inputs are held, so that drifts are constant in every gap. */
#define INPUTS "input a hold\n input b hold\n input c hold\n"
static const char ONE_NET[] = "state x\n" INPUTS "net f(a, b, c, a*b) -> 1 :\n"
                              "dx = f*dt + 0.5*dW";
static const char TWO_NETS[] = "state x\n" INPUTS "net f(a, b, a*b) -> 1 :\n"
                               "net g(c, b*c, a*c, c*c*c) -> 1 :\n"
                               "dx = (f + g)*dt + 0.5*dW";
static const char TWO_STATES[] = "state x[2]\n" INPUTS "net f(a, b, c) -> 2 :\n"
                                 "param L[2,2] = [0.5, 0, 0.3, 0.4] lower\n"
                                 "dx = f*dt + L @ dW";

enum { GAPS = 60, ROWS = 2 * GAPS, MOST = 8 };

/* A fit under way that never goes anywhere. */
struct idle {
    struct learner l;
    gsv_fit_options o;
    gsv_model *m;
    gsv_series *s;
    size_t weights, rows;
    size_t place[MOST], net[MOST];  /* in theta; its network       */
    double J[ROWS * MOST], y[ROWS]; /* whitened, as the data stand */
};

static void idle_open(struct idle *t, const char *text, size_t rows)
{
    *t = (struct idle){.o = fit_options(), .m = model_of(text)};
    t->s = walk_of(t->m, 1, rows, 0.1, 3);
    /* Inputs without a trend. */
    size_t d = gsv_model_dim(t->m), n = gsv_model_columns(t->m) - d;
    double *z = normals(n * rows, 8);
    memcpy(t->s->value + d * rows, z, n * rows * sizeof *z);
    mem_free(z);
    t->l = (struct learner){.m = t->m, .s = t->s, .o = &t->o, .given = &t->o};
}

static void idle_begin(struct idle *t)
{
    int status = learner_init(&t->l, &t->o);
    if (status) fail_msg("%s", gsv_last_error());
    for (size_t i = 0; i < t->l.n; i++)
        if (t->m->spec->param[spec_param_at(t->m->spec, t->l.value[i])].fan_in)
            t->m->value[t->l.value[i]] = 0.0;
}

static void idle_close(struct idle *t)
{
    learner_free(&t->l);
    free_both(t->m, t->s);
}

/* --- The same problem as a dense one ---------------------------------------
 */

/* v = root^-1 v for a lower root. */
static void whiten(size_t d, const double *root, double *v)
{
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++)
            v[i] -= root[i * d + j] * v[j];
        v[i] /= root[i * d + i];
    }
}

/* The whitened drift of gap i. */
static void drift(const struct idle *t, size_t i, const double *root, double *f)
{
    const gsv_series *s = t->s;
    size_t d = gsv_model_dim(t->m);
    double time = s->time[i], h = s->time[i + 1] - time, x[2], input[3];
    for (size_t k = 0; k < 3; k++)
        input[k] = s->value[(d + k) * s->rows + i];
    for (size_t k = 0; k < d; k++)
        x[k] = s->value[k * s->rows + i];
    assert_int_equal(gsv_model_drift(t->m, 1, &time, x, input, f), 0);
    whiten(d, root, f);
    for (size_t k = 0; k < d; k++)
        f[k] *= sqrt(h);
}

static bool is_weight(const gsv_model *m, size_t i)
{
    const struct param_spec *p = &m->spec->param[spec_param_at(m->spec, i)];
    return p->fan_in && p->rank == 2;
}

/* J by differences, which are exact, and what the rows are compared with, made
 * from weights of this size. */
static void make_dense(struct idle *t, const double *root, const double *size)
{
    size_t d = gsv_model_dim(t->m), n = gsv_model_values(t->m);
    double zero[2], one[2];
    for (size_t i = 0; i < t->l.n; i++) {
        if (!is_weight(t->m, t->l.value[i])) continue;
        const struct spec *s = t->m->spec;
        const char *name = s->param[spec_param_at(s, t->l.value[i])].name;
        t->net[t->weights] = name[0] == 'g';
        t->place[t->weights++] = i;
    }
    assert_true(t->weights && t->weights <= MOST);
    t->rows = GAPS * d;
    double *z = normals(t->rows + n, 12);
    for (size_t r = 0; r < t->rows; r++)
        t->y[r] = z[r];
    for (size_t w = 0; w < t->weights; w++)
        for (size_t i = 0; i < GAPS; i++) {
            double *value = t->m->value + t->l.value[t->place[w]];
            drift(t, i, root, zero);
            *value = 1.0;
            drift(t, i, root, one);
            *value = 0.0;
            for (size_t k = 0; k < d; k++) {
                double J = one[k] - zero[k];
                t->J[(i * d + k) * t->weights + w] = J;
                t->y[i * d + k] += J * size[t->net[w]] * z[t->rows + w];
            }
        }
    mem_free(z);
}

/* log N(y; 0, 1 + sum J_g J_g' / precision_g), a constant left out. */
static double evidence(const struct idle *t, const double *precision)
{
    static double L[ROWS * ROWS], z[ROWS];
    size_t n = t->rows;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        z[i] = t->y[i];
        for (size_t j = 0; j <= i; j++) {
            double v = i == j;
            for (size_t w = 0; w < t->weights; w++)
                v += t->J[i * t->weights + w] * t->J[j * t->weights + w] /
                     precision[t->net[w]];
            for (size_t k = 0; k < j; k++)
                v -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(v) : v / L[j * n + j];
            if (j < i) z[i] -= L[i * n + j] * z[j];
        }
        z[i] /= L[i * (n + 1)];
        sum += 2.0 * log(L[i * (n + 1)]) + z[i] * z[i];
    }
    return -0.5 * sum;
}

/* The most probable weights under these precisions, to theta. */
static void most_probable(const struct idle *t, const double *precision,
                          double *theta)
{
    size_t n = t->weights;
    double A[MOST * MOST], inverse[MOST * MOST], b[MOST];
    for (size_t i = 0; i < n; i++) {
        b[i] = 0.0;
        for (size_t r = 0; r < t->rows; r++)
            b[i] += t->J[r * n + i] * t->y[r];
        for (size_t j = 0; j < n; j++) {
            A[i * n + j] = i == j ? precision[t->net[i]] : 0.0;
            for (size_t r = 0; r < t->rows; r++)
                A[i * n + j] += t->J[r * n + i] * t->J[r * n + j];
        }
    }
    learn_invert(n, A, inverse);
    memset(theta, 0, t->l.n * sizeof *theta);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            theta[t->place[i]] += inverse[i * n + j] * b[j];
}

/* Precisions and weights in turn, as a fit finds them. */
static void find_fixed_point(struct idle *t, double *precision)
{
    double *theta = NEW(double, t->l.n);
    precision[0] = precision[1] = 1.0;
    for (size_t i = 0; i < t->weights; i++)
        t->l.penalty[t->place[i]] = 1.0;
    for (int turn = 0; turn < 200; turn++) {
        most_probable(t, precision, theta);
        /* Sizes of the noise are not among theta, or as they were. */
        gsv_theta_get(t->m, t->l.theta);
        for (size_t i = 0; i < t->weights; i++)
            t->l.theta[t->place[i]] = theta[t->place[i]];
        assert_int_equal(weight_prior_update(&t->l, t->l.theta), 0);
        for (size_t i = 0; i < t->weights; i++)
            precision[t->net[i]] = t->l.penalty[t->place[i]];
    }
    mem_free(theta);
}

/* No value of the grid around them is better, in one network or the other. */
static void expect_largest(const struct idle *t, const double *precision)
{
    double best = evidence(t, precision);
    for (int i = -40; i <= 40; i++)
        for (size_t net = 0; net < 2; net++) {
            double other[2] = {precision[0], precision[1]};
            other[net] *= exp(0.1 * (double)i);
            if (evidence(t, other) > best + 1e-6)
                fail_msg("network %zu: %g has more evidence than %g", net,
                         other[net], precision[net]);
        }
    for (size_t i = 0; i < t->weights; i++)
        assert_true(t->l.penalty[t->place[i]] > 0.1001 &&
                    t->l.penalty[t->place[i]] < 9990.0);
}

static void penalty__has_the_largest_evidence(void **state)
{
    (void)state;
    static const double LOWER[] = {0.5, 0, 0.3, 0.4}, SCALAR[] = {0.5};
    static const struct {
        const char *text;
        const double *root;
        double size[2];
    } CASE[] = {{ONE_NET, SCALAR, {0.5, 0.0}},
                {TWO_NETS, SCALAR, {0.7, 0.25}},
                {TWO_STATES, LOWER, {0.4, 0.0}}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        struct idle *t = NEW(struct idle, 1);
        double precision[2];
        idle_open(t, CASE[i].text, GAPS + 1);
        double root[4];
        memcpy(root, CASE[i].root,
               gsv_model_dim(t->m) * gsv_model_dim(t->m) * sizeof *root);
        idle_begin(t);
        if (gsv_model_dim(t->m) == 2)
            memcpy(t->m->value + param_named(t->m, "L").offset, root,
                   sizeof root);
        assert_true(weight_prior_is_used(&t->l));
        make_dense(t, root, CASE[i].size);
        find_fixed_point(t, precision);
        expect_largest(t, precision);
        idle_close(t);
        mem_free(t);
    }
}

/* Weights of 0 have the strongest penalty, and large ones a weak one, within
 * limits; biases have none. */
static void penalty__has_limits(void **state)
{
    (void)state;
    struct idle *t = NEW(struct idle, 1);
    idle_open(t, ONE_NET, GAPS + 1);
    idle_begin(t);
    static const double SIZE[] = {0.0, 1e3}, LIMIT[] = {1e4, 0.1};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < t->l.n; i++) {
            bool weight = is_weight(t->m, t->l.value[i]);
            t->l.theta[i] = SIZE[k];
            t->l.penalty[i] = weight ? 1.0 : 0.0;
        }
        assert_int_equal(weight_prior_update(&t->l, t->l.theta), 0);
        for (size_t i = 0; i < t->l.n; i++) {
            bool weight = is_weight(t->m, t->l.value[i]);
            assert_true(t->l.penalty[i] == (weight ? LIMIT[k] : 0.0));
        }
    }
    idle_close(t);
    mem_free(t);
}

/* Large weights look like a weak prior; that of a noise stays stronger, from
 * the beginning of a fit on. A network of both is one of the drift. */
static void penalty__of_noise_is_stronger(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double f, g;
    } CASE[] = {
        {"state x\n net f(x) -> 1 : 4\n net g(x) -> 1 : 4\n"
         "dx = f*dt + exp(g)*dW",
         0.1, 4.0},
        {"state x\n net f(x) -> 1 : 4\n net g(x) -> 1 : 4\n"
         "dx = (f + g)*dt + exp(g)*dW",
         0.1, 0.1},
    };
    for (size_t k = 0; k < COUNT(CASE); k++) {
        struct idle *t = NEW(struct idle, 1);
        *t = (struct idle){.o = fit_options(), .m = model_of(CASE[k].text)};
        t->s = learn_well(t->m, 1, GAPS + 1, 3);
        t->l =
            (struct learner){.m = t->m, .s = t->s, .o = &t->o, .given = &t->o};
        t->o.optimizer = GSV_OPTIMIZER_SOAP;
        idle_begin(t);
        weight_prior_begin(&t->l);
        gsv_theta_get(t->m, t->l.theta);
        for (size_t i = 0; i < t->l.n; i++)
            if (is_weight(t->m, t->l.value[i]))
                t->l.theta[i] = i % 2 ? 2.0 : -2.0;
        for (int turn = 0; turn < 2; turn++) {
            for (size_t i = 0; i < t->l.n; i++) {
                const struct spec *s = t->m->spec;
                size_t p = spec_param_at(s, t->l.value[i]);
                bool weight = is_weight(t->m, t->l.value[i]);
                double least =
                    s->param[p].name[0] == 'f' ? CASE[k].f : CASE[k].g;
                assert_true(t->l.penalty[i] == (weight ? least : 0.0));
            }
            assert_int_equal(weight_prior_update(&t->l, t->l.theta), 0);
        }
        idle_close(t);
        mem_free(t);
    }
}

/* A search with few data begins at the centre of the prior: drawn weights, and
 * none in the last layer of a network. A fitted model stays where it is, with
 * the same centre. With many data the centre is 0. */
static void penalty__counts_from_drawn_weights(void **state)
{
    (void)state;
    static const char TEXT[] = "state x\n net f(x) -> 1 : 4 3\n"
                               "net g(x) -> 1 : 2\n net h(x) -> 1 :\n"
                               "dx = (f + h)*dt + exp(g)*dW";
    for (size_t k = 0; k < 3; k++) {
        bool few = k < 2, again = k == 1;
        struct idle *t = NEW(struct idle, 1);
        *t = (struct idle){.o = fit_options(), .m = model_of(TEXT)};
        t->s = learn_well(t->m, 1, few ? 101 : 1001, 3);
        t->l = (struct learner){
            .m = t->m, .s = t->s, .o = &t->o, .given = &t->o, .refit = again};
        assert_int_equal(learner_init(&t->l, &t->o), 0);
        gsv_model_draw(t->m, t->o.estimator.seed);
        double *drawn = NEW(double, t->l.n);
        gsv_theta_get(t->m, drawn);
        for (size_t i = 0; i < t->l.n; i++)
            t->l.theta[i] = again ? 7.0 : drawn[i];
        weight_prior_begin(&t->l);
        for (size_t i = 0; i < t->l.n; i++) {
            const struct spec *s = t->m->spec;
            const char *name = s->param[spec_param_at(s, t->l.value[i])].name;
            bool weight = is_weight(t->m, t->l.value[i]);
            bool inner = !strcmp(name, "f.0.weight") ||
                         !strcmp(name, "f.1.weight") ||
                         !strcmp(name, "g.0.weight");
            double centre = few && inner ? drawn[i] : 0.0;
            double begin = few && weight ? centre : drawn[i];
            if (t->l.centre[i] != centre ||
                t->l.theta[i] != (again ? 7.0 : begin))
                fail_msg("case %zu, %s: begins at %g, centre %g", k, name,
                         t->l.theta[i], t->l.centre[i]);
        }
        mem_free(drawn);
        idle_close(t);
        mem_free(t);
    }
}

/* gamma, by dense algebra, and what the weights gain from the real increments.
 */
static double dense_doubt(const struct idle *t, const double *root,
                          const double *theta, double *gamma)
{
    size_t n = t->weights, d = gsv_model_dim(t->m);
    const gsv_series *s = t->s;
    double JJ[MOST * MOST], A[MOST * MOST], inverse[MOST * MOST], gain = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        JJ[i] = 0.0;
        for (size_t r = 0; r < t->rows; r++)
            JJ[i] += t->J[r * n + i / n] * t->J[r * n + i % n];
        A[i] = JJ[i] + (i / n == i % n ? t->l.penalty[t->place[i / n]] : 0.0);
    }
    learn_invert(n, A, inverse);
    *gamma = 0.0;
    for (size_t i = 0; i < n * n; i++)
        *gamma += inverse[i] * JJ[i % n * n + i / n];
    for (size_t i = 0; i < GAPS; i++) {
        double y[2], h = s->time[i + 1] - s->time[i];
        for (size_t k = 0; k < d; k++) {
            const double *x = s->value + k * s->rows + i;
            y[k] = (x[1] - x[0]) / sqrt(h);
        }
        whiten(d, root, y);
        for (size_t k = 0; k < d; k++) {
            double f = 0.0;
            for (size_t w = 0; w < n; w++)
                f += t->J[(i * d + k) * n + w] * theta[t->place[w]];
            gain += f * y[k] - 0.5 * f * f;
        }
    }
    double left = 2.0 * gain - *gamma;
    return left > 0.0 ? *gamma / left : INFINITY;
}

/* From weights that help to weights that harm. */
static void doubt__is_that_of_the_dense_problem(void **state)
{
    (void)state;
    static const double LOWER[] = {0.5, 0, 0.3, 0.4}, SCALAR[] = {0.5};
    static const double SIZE[] = {0.5, 0.5}, SHARE[] = {1.0, 0.3, -0.3, -1.0};
    static const struct {
        const char *text;
        const double *root;
    } CASE[] = {{ONE_NET, SCALAR}, {TWO_NETS, SCALAR}, {TWO_STATES, LOWER}};
    for (size_t i = 0; i < COUNT(CASE) * COUNT(SHARE); i++) {
        struct idle *t = NEW(struct idle, 1);
        const double *root = CASE[i % COUNT(CASE)].root;
        struct weight_doubt doubt;
        double gamma;
        idle_open(t, CASE[i % COUNT(CASE)].text, GAPS + 1);
        idle_begin(t);
        if (gsv_model_dim(t->m) == 2)
            memcpy(t->m->value + param_named(t->m, "L").offset, root,
                   4 * sizeof *root);
        make_dense(t, root, SIZE);
        gsv_theta_get(t->m, t->l.theta);
        for (size_t w = 0; w < t->weights; w++) {
            t->l.penalty[t->place[w]] = 1.0 + (double)t->net[w];
            t->l.theta[t->place[w]] =
                SHARE[i / COUNT(CASE)] * (w % 2 ? 0.7 : -0.4);
        }
        double off = dense_doubt(t, root, t->l.theta, &gamma);
        assert_int_equal(weight_prior_doubt(&t->l, t->l.theta, &doubt), 0);
        print_message("%.4g, %.4g; %.4g\n", off, doubt.error, gamma);
        assert_int_equal(doubt.weights, t->weights);
        assert_near(doubt.determined, gamma, 1e-4 * gamma);
        if (isinf(off)) assert_true(isinf(doubt.error));
        else assert_near(doubt.error, off, 1e-3 * off);
        idle_close(t);
        mem_free(t);
    }
}

/* A network has nothing to learn from a Brownian motion, and enough from a fast
 * return to the mean. */
static void doubt__is_said(void **state)
{
    (void)state;
    for (int returns = 0; returns < 2; returns++) {
        gsv_model *m = model_of("state x\n net f(x) -> 1 : 8 tanh\n"
                                "param s = 1 > 0\n dx = f*dt + s*dW");
        const double p[] = {returns ? 4.0 : 1e-9, 0.0, 0.7};
        gsv_series *s = learn_series(m, 1, 150, 0.1, 5, learn_ou_step, p);
        gsv_fit_options o = fit_options();
        const gsv_record *r = fit_must(m, s, &o);
        print_message("%s", r->warning);
        assert_true((strstr(r->warning, "hardly carry") == NULL) == returns);
        free_both(m, s);
    }
}

/* Up to 1600 rows of all states, and where it is left open. */
static void penalty__is_estimated_from_few_data(void **state)
{
    (void)state;
    static const char TWO[] = "state x[2]\n net f(x) -> 2 : 4\n"
                              "param s = 1 > 0\n dx = f*dt + s*dW";
    static const char NOISE[] = "state x\n net f(x) -> 1 : 4\n"
                                "net g(x) -> 1 : 4\n dx = f*dt + exp(g)*dW";
    static const char NONE[] = "state x\n param k = 1\n dx = -k*x*dt + dW";
    static const char ONE[] = "state x\n net f(x) -> 1 : 4\n dx = f*dt + dW";
    static const struct {
        const char *text;
        size_t gaps;
        double decay;
        bool used;
    } CASE[] = {
        {ONE, 1600, -1.0, true},  {ONE, 1601, -1.0, false},
        {TWO, 800, -1.0, true},   {TWO, 801, -1.0, false},
        {NOISE, 800, -1.0, true}, {NOISE, 801, -1.0, false},
        {ONE, 100, 0.0, false},   {ONE, 100, 2.0, false},
        {NONE, 100, -1.0, false},
    };
    for (size_t i = 0; i < COUNT(CASE); i++) {
        struct idle *t = NEW(struct idle, 1);
        *t = (struct idle){.o = fit_options(), .m = model_of(CASE[i].text)};
        t->s = learn_well(t->m, 1, CASE[i].gaps + 1, 3);
        t->l =
            (struct learner){.m = t->m, .s = t->s, .o = &t->o, .given = &t->o};
        t->o.optimizer = GSV_OPTIMIZER_SOAP;
        t->o.decay = CASE[i].decay;
        idle_begin(t);
        if (weight_prior_is_used(&t->l) != CASE[i].used)
            fail_msg("case %zu: used or not", i);
        /* What is estimated needs no gaps that are held out. */
        bool nets = t->m->spec->nets > 0;
        assert_true((t->l.split.helds > 0) == (nets && !CASE[i].used));
        idle_close(t);
        mem_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(penalty__has_the_largest_evidence),
        cmocka_unit_test(penalty__has_limits),
        cmocka_unit_test(penalty__of_noise_is_stronger),
        cmocka_unit_test(penalty__counts_from_drawn_weights),
        cmocka_unit_test(doubt__is_that_of_the_dense_problem),
        cmocka_unit_test(doubt__is_said),
        cmocka_unit_test(penalty__is_estimated_from_few_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
