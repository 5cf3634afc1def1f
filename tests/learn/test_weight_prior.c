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
                               "net g(c, b*c, a*c) -> 1 :\n"
                               "dx = (f + g)*dt + 0.5*dW";
static const char TWO_STATES[] = "state x[2]\n" INPUTS "net f(a, b, c) -> 2 :\n"
                                 "param L[2,2] = [0.5, 0, 0.3, 0.4] lower\n"
                                 "dx = f*dt + L @ dW";

/* Columns of the dense problem are weights, then biases, whose precision is
 * known. */
enum { GAPS = 60, ROWS = 2 * GAPS, MOST = 8, NETS = 2 };
static const double FREE = 0.01;

/* A fit under way that never goes anywhere. */
struct idle {
    struct learner l;
    gsv_fit_options o;
    gsv_model *m;
    gsv_series *s;
    size_t weights, columns, rows;
    size_t place[MOST], net[MOST];  /* in theta; its network, or NETS */
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

/* Weights, or biases, of linear networks. */
static void list_columns(struct idle *t, bool weights)
{
    const struct spec *s = t->m->spec;
    for (size_t i = 0; i < t->l.n; i++) {
        const struct param_spec *p = &s->param[spec_param_at(s, t->l.value[i])];
        if (!p->fan_in || weights != (p->rank == 2)) continue;
        t->net[t->columns] = weights ? p->name[0] == 'g' : NETS;
        t->place[t->columns++] = i;
        t->weights += weights;
    }
    assert_true(t->columns && t->columns <= MOST);
}

/* Increments whose whitened rates are y. */
static void move_data(struct idle *t, const double *root)
{
    size_t d = gsv_model_dim(t->m), rows = t->s->rows;
    for (size_t i = 0; i < GAPS; i++)
        for (size_t k = 0; k < d; k++) {
            double *x = t->s->value + k * rows + i, sum = 0.0;
            for (size_t j = 0; j <= k; j++)
                sum += root[k * d + j] * t->y[i * d + j];
            x[1] = x[0] + sqrt(t->s->time[i + 1] - t->s->time[i]) * sum;
        }
}

/* J by differences, which are exact, and data made from weights of this size.
 */
static void make_dense(struct idle *t, const double *root, const double *size)
{
    size_t d = gsv_model_dim(t->m), n = gsv_model_values(t->m);
    double zero[2], one[2];
    list_columns(t, true);
    list_columns(t, false);
    t->rows = GAPS * d;
    double *z = normals(t->rows + n, 12);
    for (size_t r = 0; r < t->rows; r++)
        t->y[r] = z[r];
    for (size_t w = 0; w < t->columns; w++)
        for (size_t i = 0; i < GAPS; i++) {
            double *value = t->m->value + t->l.value[t->place[w]];
            bool weight = t->net[w] < NETS;
            drift(t, i, root, zero);
            *value = 1.0;
            drift(t, i, root, one);
            *value = 0.0;
            for (size_t k = 0; k < d; k++) {
                double J = one[k] - zero[k];
                t->J[(i * d + k) * t->columns + w] = J;
                t->y[i * d + k] +=
                    weight ? J * size[t->net[w]] * z[t->rows + w] : 0.0;
            }
        }
    move_data(t, root);
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
            for (size_t w = 0; w < t->columns; w++)
                v += t->J[i * t->columns + w] * t->J[j * t->columns + w] /
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

/* As a fit finds them, whatever the weights are: the problem is linear. */
static void find_precisions(struct idle *t, double size, double *precision)
{
    double *z = normals(t->columns, 21);
    gsv_theta_get(t->m, t->l.theta);
    for (size_t i = 0; i < t->columns; i++) {
        t->l.theta[t->place[i]] = size * z[i];
        t->l.penalty[t->place[i]] = t->net[i] < NETS ? 1.0 : 0.0;
    }
    assert_int_equal(weight_prior_update(&t->l), 0);
    for (size_t i = 0; i < t->weights; i++)
        precision[t->net[i]] = t->l.penalty[t->place[i]];
    for (size_t i = t->weights; i < t->columns; i++)
        assert_true(t->l.penalty[t->place[i]] == 0.0);
    mem_free(z);
}

/* No value of the grid around them is better, in one network or the other. */
static void expect_largest(const struct idle *t, const double *precision)
{
    double best = evidence(t, precision);
    for (int i = -40; i <= 40; i++)
        for (size_t net = 0; net < 2; net++) {
            double other[] = {precision[0], precision[1], FREE};
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
        double precision[NETS + 1] = {1.0, 1.0, FREE};
        double again[NETS] = {1.0, 1.0};
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
        find_precisions(t, 0.0, precision);
        expect_largest(t, precision);
        find_precisions(t, 0.5, again);
        for (size_t net = 0; net < NETS; net++)
            assert_near(again[net], precision[net], 2e-3 * precision[net]);
        idle_close(t);
        mem_free(t);
    }
}

/* Data that stand still have the strongest penalty, and a drift far above its
 * noise a weak one, within limits; biases have none. */
static void penalty__has_limits(void **state)
{
    (void)state;
    static const double SCALAR[] = {0.5}, STILL[] = {0.0};
    static const double SIZE[] = {0.0, 100.0}, LIMIT[] = {1e4, 0.1};
    for (size_t k = 0; k < 2; k++) {
        double precision[NETS];
        struct idle *t = NEW(struct idle, 1);
        idle_open(t, ONE_NET, GAPS + 1);
        idle_begin(t);
        make_dense(t, SCALAR, SIZE + k);
        if (!k) move_data(t, STILL);
        find_precisions(t, 0.0, precision);
        assert_true(precision[0] == LIMIT[k]);
        idle_close(t);
        mem_free(t);
    }
}

/* That of a noise has a higher limit, from the beginning of a fit on. A network
 * of both is one of the drift. */
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
        for (int turn = 0; turn < 2; turn++) {
            for (size_t i = 0; i < t->l.n; i++) {
                const struct spec *s = t->m->spec;
                size_t p = spec_param_at(s, t->l.value[i]);
                bool last = !strcmp(s->param[p].name + 1, ".1.bias");
                double least =
                    s->param[p].name[0] == 'f' ? CASE[k].f : CASE[k].g;
                if (last || !turn)
                    assert_true(t->l.penalty[i] == (last ? 0.0 : least));
                else assert_true(t->l.penalty[i] >= least);
            }
            assert_int_equal(weight_prior_update(&t->l), 0);
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
            bool last = !strncmp(name, "f.2", 3) || !strncmp(name, "g.1", 3) ||
                        !strncmp(name, "h.0", 3);
            bool weight = is_weight(t->m, t->l.value[i]);
            double centre = few && !last ? drawn[i] : 0.0;
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
    size_t n = t->columns, d = gsv_model_dim(t->m);
    const gsv_series *s = t->s;
    double JJ[MOST * MOST], A[MOST * MOST], inverse[MOST * MOST], gain = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        JJ[i] = 0.0;
        for (size_t r = 0; r < t->rows; r++)
            JJ[i] += t->J[r * n + i / n] * t->J[r * n + i % n];
        A[i] = JJ[i] + (i / n != i % n       ? 0.0
                        : i / n < t->weights ? t->l.penalty[t->place[i / n]]
                                             : FREE);
    }
    learn_invert(n, A, inverse);
    *gamma = 0.0;
    for (size_t i = 0; i < t->weights * n; i++)
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
                f += w < t->weights
                         ? t->J[(i * d + k) * n + w] * theta[t->place[w]]
                         : 0.0;
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

/* What was given, or found within its limits, is in the record; nothing where
 * no network of the kind is. */
static void penalty__is_recorded(void **state)
{
    (void)state;
    static const char NOISE[] = "state x\n net f(x) -> 1 : 4\n"
                                "net g(x) -> 1 : 4\n dx = f*dt + exp(g)*dW";
    static const char ONE[] = "state x\n net f(x) -> 1 : 4\n dx = f*dt + dW";
    static const char NONE[] = "state x\n param k = 1\n dx = -k*x*dt + dW";
    static const struct {
        const char *text;
        double decay, low, high, noise;
    } CASE[] = {{ONE, 3.0, 3.0, 3.0, NAN},
                {ONE, -1.0, 0.1, 1e4, NAN},
                {NOISE, 2.5, 2.5, 2.5, 2.5},
                {NONE, 3.0, NAN, NAN, NAN}};
    for (size_t i = 0; i < COUNT(CASE); i++) {
        gsv_model *m = model_of(CASE[i].text);
        gsv_series *s = learn_well(m, 1, 101, 3);
        gsv_fit_options o = fit_options();
        o.iterations = 30;
        o.decay = CASE[i].decay;
        const gsv_record *r = fit_must(m, s, &o);
        assert_int_equal(isnan(r->penalty), isnan(CASE[i].low));
        assert_int_equal(isnan(r->noise_penalty), isnan(CASE[i].noise));
        assert_false(r->penalty < CASE[i].low || r->penalty > CASE[i].high);
        assert_false(fabs(r->noise_penalty - CASE[i].noise) > 1e-12);
        free_both(m, s);
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
        cmocka_unit_test(penalty__is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
