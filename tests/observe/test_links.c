/* SPDX-License-Identifier: MIT */
/* Stops, and joint laws of neighbouring ones. */
#include "observe/links.h"
#include "observe_exact.h"

/* Two tracks; x is exact in some rows and has noise in others. */
static const char MIXED[] = "state x, l\n dx = (l - x)*dt + 0.4*dW1\n"
                            "dl = -0.5*l*dt + 0.2*dW1 + 0.6*dW2\n"
                            "obs n ~ normal(l + 0.1, 0.3)\n"
                            "init l ~ normal(0, 0.5)";

struct linked {
    gsv_model *model;
    gsv_series *series;
    struct stops stops;
    struct laws laws;
    struct links links;
};

static void open_linked(struct linked *l)
{
    static const char *const NAME[] = {"x", "n"};
    const size_t start[3] = {0, 5, 9};
    const double time[9] = {0, 0.2, 0.5, 0.6, 1.0, 0, 0.3, 0.4, 0.9};
    const double value[18] = {0.1, 0.3, NAN, 0.2, NAN, 0.5, NAN, NAN, 0.6,
                              1,   0,   2,   NAN, 3,   1,   0.3, 0.1, NAN};
    l->model = model_of(MIXED);
    l->series = gsv_series_new(2, start, 2, NAME, time, value);
    if (!l->series) fail_msg("%s", gsv_last_error());
    const double *values = gsv_model_value(l->model);
    if (stops_init(&l->stops, l->model, l->series) ||
        laws_init(&l->laws, l->model, &l->stops, true, true) ||
        links_init(&l->links, &l->laws) || laws_run(&l->laws, values) ||
        links_make(&l->links))
        fail_msg("%s", gsv_last_error());
}

static void close_linked(struct linked *l)
{
    links_free(&l->links);
    laws_free(&l->laws);
    stops_free(&l->stops);
    gsv_series_free(l->series);
    gsv_model_free(l->model);
}

/* gain cov gain' + root root', of latent states. */
static void spread(const struct linked *l, const struct link *link, size_t stop,
                   size_t other, double *to)
{
    size_t d = l->links.d, n = d - laws_exact(&l->laws, stop);
    size_t m = d - laws_exact(&l->laws, other);
    double cov[4];
    laws_pick(&l->laws, other, other, l->laws.cov + other * d * d, cov);
    const double *G = link->gain + stop * d * d;
    const double *L = link->root + stop * d * d;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t a = 0; a < m; a++)
                for (size_t b = 0; b < m; b++)
                    sum += G[i * m + a] * cov[a * m + b] * G[j * m + b];
            for (size_t a = 0; a < n; a++)
                sum += L[i * n + a] * L[j * n + a];
            to[i * n + j] = sum;
        }
}

static void check_spread(const struct linked *l, const struct link *link,
                         size_t stop, size_t other)
{
    size_t d = l->links.d, n = d - laws_exact(&l->laws, stop);
    double found[4], cov[4];
    spread(l, link, stop, other, found);
    laws_pick(&l->laws, stop, stop, l->laws.cov + stop * d * d, cov);
    for (size_t e = 0; e < n * n; e++)
        assert_near(found[e], cov[e], 1e-12);
}

/* From one stop to the next, and back, laws are the stops' own. */
static void links__lead_from_law_to_law(void **state)
{
    (void)state;
    struct linked l;
    open_linked(&l);
    for (size_t n = 0; n < l.stops.count; n++) {
        if (stop_is_first(&l.stops, n)) continue;
        check_spread(&l, &l.links.before, n, n - 1);
        check_spread(&l, &l.links.after, n - 1, n);
    }
    close_linked(&l);
}

/* A point from both ends has one density: r(u'|u) p(u) = b(u|u') p(u'). */
static void links__have_one_joint_density(void **state)
{
    (void)state;
    struct linked l;
    open_linked(&l);
    for (size_t n = 1; n < l.stops.count; n++) {
        if (stop_is_first(&l.stops, n)) continue;
        double there[4], here[4];
        size_t a = 2 - laws_exact(&l.laws, n - 1);
        size_t b = 2 - laws_exact(&l.laws, n);
        laws_pick(&l.laws, n - 1, n - 1, l.laws.cov + (n - 1) * 4, there);
        laws_pick(&l.laws, n, n, l.laws.cov + n * 4, here);
        double log_there, log_here;
        assert_int_equal(laws_factor(&l.laws, n - 1, a, there, &log_there), 0);
        assert_int_equal(laws_factor(&l.laws, n, b, here, &log_here), 0);
        assert_near(l.links.before.log_root[n] + log_there,
                    l.links.after.log_root[n - 1] + log_here, 1e-12);
    }
    close_linked(&l);
}

/* Between the rows: gaps of 0.2, 0.3, 0.1, 0.4; 0.3, 0.1, 0.5. Stops that are
 * no rows are no ends of gaps: four of these have two parts before the second
 * time, the others after it. */
static void stops__cut_gaps_into_parts(void **state)
{
    (void)state;
    struct linked l;
    open_linked(&l);
    size_t rows = l.stops.count;
    assert_int_equal(stops_divide(&l.stops, 1, 0.25), 0);
    assert_int_equal(l.stops.count, rows + 1 + 1 + 1 + 1);
    assert_int_equal(stops_divide(&l.stops, 2, 0.0), 0);
    assert_int_equal(l.stops.count, 2 * rows - 2);
    assert_int_equal(stops_divide(&l.stops, 4, 0.0), 0);
    assert_int_equal(l.stops.count, 4 * rows - 3 * 2);
    close_linked(&l);
}

/* Their number is that of no size_t. */
static void stops__too_many_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t steps;
        double longest;
    } MANY[] = {{1, 1e-9}, {1, 1e-30}, {1, 1e-320}, {SIZE_MAX, 0.0}};
    struct linked l;
    open_linked(&l);
    size_t rows = l.stops.count;
    for (size_t i = 0; i < sizeof MANY / sizeof *MANY; i++) {
        assert_int_equal(stops_divide(&l.stops, MANY[i].steps, MANY[i].longest),
                         GSV_BAD_INPUT);
        assert_int_equal(l.stops.count, rows);
    }
    close_linked(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops__cut_gaps_into_parts),
        cmocka_unit_test(stops__too_many_are_refused),
        cmocka_unit_test(links__lead_from_law_to_law),
        cmocka_unit_test(links__have_one_joint_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
