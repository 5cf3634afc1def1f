/* SPDX-License-Identifier: MIT */
/* The guided filter of linear equations with normal observations has no
 * variance: its value is that of the joint normal law. Shapes without events
 * and integrals are those of dense.h; the others have a Kalman filter here. */
#include "dense.h"
#include "observe_exact.h"

#include "guided/guided.h"

static gsv_options guided(size_t points, size_t steps)
{
    gsv_options o = gsv_options_default();
    o.observe = GSV_OBSERVE_GUIDED;
    o.points = points;
    o.steps = steps;
    o.threads = 1;
    return o;
}

static gsv_result result_of(const gsv_model *m, const gsv_series *s,
                            const gsv_options *o)
{
    gsv_result r;
    if (gsv_loglik(m, s, o, &r)) fail_msg("%s", gsv_last_error());
    return r;
}

static void expect(const char *what, size_t d, const gsv_options *o, double got,
                   double wanted, double tolerance)
{
    if (fabs(got - wanted) <= tolerance * fmax(1.0, fabs(wanted))) return;
    fail_msg("%s, %zu states, K %zu, %zu steps: %.15g, should be %.15g", what,
             d, o->points, o->steps, got, wanted);
}

static const struct {
    size_t points, steps;
} EFFORTS[] = {{2, 1}, {64, 4}, {65, 1}};

/* --- The joint normal law ------------------------------------------------- */

static const struct shape {
    const char *name;
    enum dense_kind kind;
    enum dense_motion motion;
    double gap;
    bool exact, missing;
} SHAPES[] = {
    {"usual", DENSE_STABLE, 0, 0.3, false, false},
    {"missing cells", DENSE_STABLE, 0, 0.3, false, true},
    {"long gaps", DENSE_STABLE, 0, 30, false, true},
    {"unstable", DENSE_UNSTABLE, 0, 0.5, false, true},
    {"stiff", DENSE_STIFF, 0, 0.3, false, true},
    {"random walk", DENSE_ZERO, 0, 1.0, false, true},
    {"exact states", DENSE_STABLE, 0, 0.3, true, false},
    {"exact, missing", DENSE_STABLE, 0, 0.3, true, true},
    {"held input", DENSE_STABLE, DENSE_HELD, 0.3, true, false},
    {"input", DENSE_STABLE, DENSE_LINE, 0.3, false, true},
    {"time", DENSE_UNSTABLE, DENSE_TIME, 0.3, false, true},
};

enum { TRACKS = 2 };

struct bench {
    struct dense dense;
    struct dense_track track[TRACKS];
    gsv_model *m;
    gsv_series *s;
};

static void bench_init(struct bench *b, const struct shape *shape, size_t d,
                       size_t p)
{
    size_t exact = shape->exact && d > 1 ? 1 + (d > 3) : 0;
    b->dense = dense_make(d, p, exact, shape->kind, shape->motion, 1.0);
    for (size_t r = 0; r < TRACKS; r++)
        b->track[r] = dense_data(&b->dense, 7 + 2 * r, shape->gap,
                                 shape->missing, 10 * r + d);
    b->m = dense_model(&b->dense);
    b->s = dense_series(&b->dense, TRACKS, b->track);
}

static void bench_free(struct bench *b)
{
    gsv_series_free(b->s);
    gsv_model_free(b->m);
}

static void linear__has_the_value_of_the_joint_normal_law(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        for (size_t d = 1; d <= (SHAPES[i].motion > DENSE_HELD ? 2 : DENSE_D);
             d += d == 4 ? 2 : 1) {
            struct bench b;
            double wanted = 0.0;
            bench_init(&b, &SHAPES[i], d, d < 3 ? 1 : 2);
            for (size_t r = 0; r < TRACKS; r++)
                wanted += dense_loglik(&b.dense, &b.track[r], NULL);
            for (size_t e = 0; e < COUNT(EFFORTS); e++) {
                gsv_options o = guided(EFFORTS[e].points, EFFORTS[e].steps);
                gsv_result r = result_of(b.m, b.s, &o);
                expect(SHAPES[i].name, d, &o, r.loglik, wanted, 1e-8);
                assert_true(r.error < 1e-6);
                gsv_result_free(&r);
            }
            bench_free(&b);
        }
}

/* Differences of a value without variance, against the Kalman filter's own. */
static void linear__has_the_gradient_of_the_kalman_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        for (size_t d = 1; d <= 2; d++) {
            struct bench b;
            bench_init(&b, &SHAPES[i], d, 1);
            gsv_options o = guided(2, 1), k = o;
            k.observe = GSV_OBSERVE_KALMAN;
            o.gradient = k.gradient = true;
            gsv_result got = result_of(b.m, b.s, &o);
            gsv_result wanted = result_of(b.m, b.s, &k);
            for (size_t n = 0; n < gsv_model_values(b.m); n++)
                expect(SHAPES[i].name, d, &o, got.gradient[n],
                       wanted.gradient[n], 1e-5);
            gsv_result_free(&got);
            gsv_result_free(&wanted);
            bench_free(&b);
        }
}

/* Differences stay inside of bounds, however close these are. */
static void linear__has_that_gradient_near_bounds(void **state)
{
    static const char TEXT[] =
        "state x\nparam k = 0.5 in (0, 1), s = 0.5 > 0, e = 0.3 > 0, m = 0 < "
        "1\n"
        "dx = (m - k*x)*dt + s*dW\nobs y ~ normal(x, e)\n"
        "init x ~ normal(m, 1)\n";
    static const double NEAR[][4] = {
        {1e-7, 0.5, 0.3, 0}, {1 - 1e-7, 0.5, 0.3, 1 - 1e-7},
        {0.5, 1e-2, 0.3, 0}, {0.5, 0.5, 1e-2, 0},
        {0.5, 30, 0.1, -30},
    };
    static const double time[] = {0, 1, 1.5, 3}, y[] = {0.2, 0.5, -0.3, 0.4};
    static const size_t start[] = {0, 4};
    static const char *const name[] = {"y"};
    (void)state;
    gsv_model *m = gsv_model_parse(TEXT, "bounds");
    if (!m) fail_msg("%s", gsv_last_error());
    gsv_series *s = gsv_series_new(1, start, 1, name, time, y);
    for (size_t c = 0; c < COUNT(NEAR); c++) {
        memcpy(m->value, NEAR[c], sizeof NEAR[c]);
        gsv_options o = guided(2, 1), k = o;
        k.observe = GSV_OBSERVE_KALMAN;
        o.gradient = k.gradient = true;
        gsv_result got = result_of(m, s, &o), wanted = result_of(m, s, &k);
        /* By what a fit moves: the logarithm of the distance. */
        const double *p = NEAR[c];
        const double far[] = {p[0] * (1 - p[0]), p[1], p[2], 1 - p[3]};
        for (size_t n = 0; n < 4; n++)
            expect("near bounds", n, &o, far[n] * got.gradient[n],
                   far[n] * wanted.gradient[n], 1e-5);
        gsv_result_free(&got);
        gsv_result_free(&wanted);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Coefficients that change in any way within a step: of order 2. */
static void linear__is_of_order_2_where_coefficients_move(void **state)
{
    static const struct shape ANY = {"any", DENSE_STABLE, DENSE_ANY, 0.3, 0, 0};
    (void)state;
    for (size_t d = 1; d <= 3; d++) {
        struct bench b;
        double wanted = 0.0, off[2];
        bench_init(&b, &ANY, d, 1);
        for (size_t r = 0; r < TRACKS; r++)
            wanted += dense_loglik(&b.dense, &b.track[r], NULL);
        for (size_t e = 0; e < 2; e++) {
            gsv_options o = guided(2, 8u << e);
            gsv_result r = result_of(b.m, b.s, &o);
            off[e] = fabs(r.loglik - wanted);
            gsv_result_free(&r);
        }
        assert_in_range((long)(100.0 * off[0] / off[1]), 320, 480);
        bench_free(&b);
    }
}

/* --- Events, integrals, first states -------------------------------------- */

/* What there is besides one normal obs of the states. */
enum {
    INTEGRAL = 1,    /* obs c ~ normal(integral(z1) + z_d / 2, 0.2)  */
    TWO = 2,         /* obs f ~ normal(integral(z_d + 1), 0.3), too  */
    DOSES = 4,       /* event z1 += 0.7*dose                         */
    SHARES = 8,      /* event z_d += -0.3*share*z1                   */
    BEFORE = 16,     /* init at a time before the first row          */
    LAST_EXACT = 32, /* the last state is a column                   */
    SILENT = 64,     /* the first state has no noise                 */
    HELD = 128,      /* an input, held, in all drifts                */
};

static const int CHAINS[] = {
    INTEGRAL,
    INTEGRAL | TWO,
    INTEGRAL | BEFORE,
    DOSES,
    SHARES,
    DOSES | SHARES | BEFORE,
    DOSES | INTEGRAL | HELD,
    DOSES | SHARES | INTEGRAL | TWO | BEFORE | HELD,
    HELD | BEFORE,
    LAST_EXACT | INTEGRAL,
    LAST_EXACT | DOSES | HELD,
    LAST_EXACT | DOSES | INTEGRAL | TWO | HELD,
    SILENT,
    SILENT | INTEGRAL | DOSES,
    SILENT | LAST_EXACT | DOSES | INTEGRAL,
};

enum { ROWS = 9, COLUMNS = 7 };
enum { Y, C, F, DOSE, SHARE, U, X };
static const char *const COLUMN[] = {"y", "c", "f", "dose", "share", "u", "x"};

/* One track of data. */
struct data {
    double t[ROWS], v[COLUMNS][ROWS];
};

static struct data data_make(size_t d, uint64_t seed)
{
    struct data a;
    for (size_t k = 0; k < ROWS; k++) {
        size_t n = seed + 31 * k;
        a.t[k] = 0.4 * (double)k + 0.1 * dense_number(n);
        for (size_t c = 0; c < COLUMNS; c++)
            a.v[c][k] = dense_number(n + 100 * c + d);
        if (k % 4 == 2) a.v[Y][k] = NAN; /* row 6 has at most events */
        if (k % 3 == 0) a.v[C][k] = a.v[X][k] = NAN;
        if (k % 2 == 0) a.v[F][k] = NAN;
        if (k % 3 != 2 && k != 6) a.v[DOSE][k] = NAN;
        if (k % 4 != 3 && k != 6) a.v[SHARE][k] = NAN;
        if (!k) a.v[X][k] = dense_number(n + 5);
    }
    return a;
}

/* The last hidden state: an exact one is in no obs. */
static size_t last_of(size_t d, int kind)
{
    return kind & LAST_EXACT ? d - 2 : d - 1;
}

/* The linear part: d states and two integrals. */
static struct exact_linear linear_make(const struct dense *m, int kind)
{
    struct exact_linear l = {.d = m->d + 2, .noises = m->d};
    size_t d = m->d, D = l.d;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            l.A[i * D + j] = m->A[i * d + j];
            l.G[i * d + j] = kind & SILENT && !i ? 0.0 : m->G[i * d + j];
        }
        l.b[i] = m->b[i];
        l.m0[i] = m->m0[i];
        l.P0[i * (D + 1)] = m->s0[i] * m->s0[i];
    }
    l.A[d * D] = 1.0;
    l.A[(d + 1) * D + last_of(d, kind)] = l.b[d + 1] = 1.0;
    return l;
}

static double see(struct exact_law *x, size_t i, double one, size_t j,
                  double two, double rest, double deviation, double y)
{
    double h[EXACT_D] = {0};
    if (isnan(y)) return 0.0;
    h[i] += one;
    h[j] += two;
    return exact_condition(x, h, deviation, y - rest);
}

static void clear(struct exact_law *x, size_t i)
{
    for (size_t j = 0; j < x->d; j++)
        x->cov[i * x->d + j] = x->cov[j * x->d + i] = 0.0;
    x->mean[i] = 0.0;
}

/* z_i += by * z_j + more. */
static void jump(struct exact_law *x, size_t i, double by, size_t j,
                 double more)
{
    double J[EXACT_DD] = {0}, cov[EXACT_DD], none[EXACT_DD] = {0};
    for (size_t e = 0; e < x->d; e++)
        J[e * (x->d + 1)] = 1.0;
    J[i * x->d + j] += by;
    x->mean[i] += by * x->mean[j] + more;
    exact_spread(x->d, J, x->cov, none, cov);
    memcpy(x->cov, cov, sizeof cov);
}

static const double BEGIN = -0.7;

static void observe(const struct dense *m, int kind, const struct data *a,
                    size_t k, struct exact_law *x, double *sum)
{
    size_t d = m->d, last = last_of(d, kind);
    bool since = k || kind & BEFORE;
    if (kind & LAST_EXACT && k)
        *sum += see(x, d - 1, 1, 0, 0, 0.0, 0.0, a->v[X][k]);
    *sum += see(x, 0, 1, last ? 1 : 0, 0.5, 0.1, 0.3, a->v[Y][k]);
    if (kind & INTEGRAL && since)
        *sum += see(x, d, 1, last, 0.5, 0.0, 0.2, a->v[C][k]);
    if (kind & TWO && since)
        *sum += see(x, d + 1, 1, 0, 0, 0.0, 0.3, a->v[F][k]);
    /* As written in the model: both events see the state before them. */
    double share = a->v[SHARE][k], dose = a->v[DOSE][k];
    if (kind & SHARES && !isnan(share)) jump(x, last, -0.3 * share, 0, 0.0);
    if (kind & DOSES && !isnan(dose)) jump(x, 0, 0.0, 0, 0.7 * dose);
    clear(x, d);
    clear(x, d + 1);
}

static double chain_value(const struct dense *m, int kind, const struct data *a)
{
    struct exact_linear l = linear_make(m, kind);
    struct exact_law x = exact_first(&l);
    double sum = 0.0;
    size_t d = m->d;
    if (kind & LAST_EXACT) {
        clear(&x, d - 1);
        x.mean[d - 1] = a->v[X][0];
    }
    for (size_t k = 0; k < ROWS; k++) {
        double from = k ? a->t[k - 1] : kind & BEFORE ? BEGIN : a->t[0];
        struct exact_linear held = l;
        for (size_t i = 0; kind & HELD && i < d; i++)
            held.b[i] += a->v[U][k ? k - 1 : 0];
        if (a->t[k] > from) {
            struct exact_gap g = exact_transition(&held, a->t[k] - from);
            x = exact_predict(&x, &g);
        }
        observe(m, kind, a, k, &x, &sum);
    }
    return sum;
}

static void write_equations(const struct dense *m, int kind, char **at)
{
    size_t d = m->d;
    for (size_t i = 0; i < d; i++) {
        bool last = i + 1 == d && kind & LAST_EXACT;
        if (last) dense_write(at, "dx = (");
        else dense_write(at, "dz%zu = (", i + 1);
        dense_write(at, "%.17g%s", m->b[i], kind & HELD ? " + u" : "");
        for (size_t j = 0; j < d; j++) {
            if (j + 1 == d && kind & LAST_EXACT)
                dense_write(at, " + %.17g*x", m->A[i * d + j]);
            else dense_write(at, " + %.17g*z%zu", m->A[i * d + j], j + 1);
        }
        dense_write(at, ")*dt");
        for (size_t j = 0; j < d && !(kind & SILENT && !i); j++)
            dense_write(at, " + %.17g*dW%zu", m->G[i * d + j], j + 1);
        dense_write(at, "\n");
        if (last) continue;
        dense_write(at, "init z%zu ~ normal(%.17g, %.17g)", i + 1, m->m0[i],
                    m->s0[i]);
        if (kind & BEFORE) dense_write(at, " at %.17g", BEGIN);
        dense_write(at, "\n");
    }
}

static gsv_model *chain_model(const struct dense *m, int kind)
{
    static char text[20000];
    char *at = text;
    size_t d = m->d, last = last_of(d, kind) + 1;
    for (size_t i = 0; i + !!(kind & LAST_EXACT) < d; i++)
        dense_write(&at, "state z%zu\n", i + 1);
    if (kind & LAST_EXACT) dense_write(&at, "state x\n");
    if (kind & HELD) dense_write(&at, "input u hold\n");
    write_equations(m, kind, &at);
    dense_write(&at, "obs y ~ normal(z1 + 0.5*z%d + 0.1, 0.3)\n",
                last > 1 ? 2 : 1);
    if (kind & INTEGRAL)
        dense_write(&at, "obs c ~ normal(integral(z1) + 0.5*z%zu, 0.2)\n",
                    last);
    if (kind & TWO)
        dense_write(&at, "obs f ~ normal(integral(z%zu + 1), 0.3)\n", last);
    if (kind & SHARES) dense_write(&at, "event z%zu += -0.3*share*z1\n", last);
    if (kind & DOSES) dense_write(&at, "event z1 += 0.7*dose\n");
    gsv_model *model = gsv_model_parse(text, "chain");
    if (!model) fail_msg("%s\n%s", gsv_last_error(), text);
    return model;
}

static gsv_series *chain_series(const struct data *a, size_t tracks)
{
    static double time[3 * ROWS], value[COLUMNS * 3 * ROWS];
    size_t start[4], n = tracks * ROWS;
    for (size_t r = 0; r <= tracks; r++)
        start[r] = r * ROWS;
    for (size_t r = 0; r < tracks; r++)
        for (size_t k = 0; k < ROWS; k++) {
            time[r * ROWS + k] = a[r].t[k];
            for (size_t c = 0; c < COLUMNS; c++)
                value[c * n + r * ROWS + k] = a[r].v[c][k];
        }
    gsv_series *s = gsv_series_new(tracks, start, COLUMNS, COLUMN, time, value);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void chains__have_the_value_of_a_kalman_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(CHAINS); i++)
        for (size_t d = CHAINS[i] & (LAST_EXACT | SILENT) ? 2 : 1; d <= DENSE_D;
             d++) {
            enum { SERIES = 3 };
            char name[32];
            struct data a[SERIES];
            double wanted = 0.0;
            struct dense m = dense_make(d, 1, 0, DENSE_STABLE, 0, 1.0);
            for (size_t r = 0; r < SERIES; r++) {
                a[r] = data_make(d, 7 * r);
                wanted += chain_value(&m, CHAINS[i], &a[r]);
            }
            snprintf(name, sizeof name, "kind %d", CHAINS[i]);
            gsv_model *model = chain_model(&m, CHAINS[i]);
            gsv_series *s = chain_series(a, SERIES);
            for (size_t e = 0; e <= COUNT(EFFORTS); e++) {
                bool closed = e == COUNT(EFFORTS); /* by src/kalman */
                gsv_options o = guided(EFFORTS[closed ? 0 : e].points,
                                       EFFORTS[closed ? 0 : e].steps);
                if (closed) o.observe = GSV_OBSERVE_AUTO;
                gsv_result r = result_of(model, s, &o);
                if (closed) assert_int_equal(r.observe, GSV_OBSERVE_KALMAN);
                expect(name, d, &o, r.loglik, wanted, closed ? 1e-10 : 1e-8);
                gsv_result_free(&r);
            }
            gsv_series_free(s);
            gsv_model_free(model);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear__has_the_value_of_the_joint_normal_law),
        cmocka_unit_test(linear__has_the_gradient_of_the_kalman_filter),
        cmocka_unit_test(linear__has_that_gradient_near_bounds),
        cmocka_unit_test(linear__is_of_order_2_where_coefficients_move),
        cmocka_unit_test(chains__have_the_value_of_a_kalman_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
