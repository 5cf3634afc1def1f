/* SPDX-License-Identifier: MIT */
/* Learned maps of the data: undone to rounding, with exact log-determinants
 * and gradients, near the data's own scale at the start. */
#include "maps.h"

#include "learn/start.h"
#include "model/theta.h"

static const char *const FLOWS[] = {
    "state z = flow(x : 4 layers)\ndz = -z*dt + dW\n",
    "state z = flow(x)\nparam s = 0.3 > 0\ndz = -z*dt + s*dW\n",
    "state z = flow(x, t : 3 layers 8)\ndz = -z*dt + dW\n",
    "state z[2] = flow(x[2] : 4 layers 8)\ndz = -z*dt + dW\n",
    "state z[2] = flow(x[2], t : 4 layers 5)\ndz = -z*dt + dW\n",
    "state z[3] = flow(x[3] : 3 layers 6)\ndz = -z*dt + dW\n",
    "state z[5] = flow(x[5], t : 2 layers 4)\ndz = -z*dt + dW\n",
    "state z[1] = flow(x[1] : 1 layers)\ndz = -z*dt + dW\n",
    /* Within other maps, and beside other states. */
    ("state z[2] = 3*flow(asinh(x[2]/c) : 2 layers 6) - 1, y = softplus(v)\n"
     "param c = 2 > 0\ndz = -z*dt + dW\ndy = dW\n"),
};
static const size_t WITHOUT_EXP = COUNT(FLOWS) - 1;

/* A flow as learning may leave it: numbers moved away from the identity, and
 * networks whose outputs are of order 1. */
static gsv_model *bent(const char *text, double how_much)
{
    gsv_model *m = map_model(text);
    double *z = normals(m->spec->parameters, 5);
    for (size_t i = 0; i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        for (size_t k = p->offset; k < p->offset + p->rows * p->columns; k++) {
            double move = how_much * z[k];
            if (p->fan_in) m->value[k] *= 1.0 + 4.0 * how_much;
            else if (p->low == 0.0) m->value[k] *= exp(0.5 * move);
            else m->value[k] += 0.5 * move;
        }
    }
    mem_free(z);
    return m;
}

static void flow__is_undone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FLOWS); i++)
        for (int bend = 0; bend < 3; bend++) {
            gsv_model *m = bent(FLOWS[i], 0.5 * bend);
            for (int wide = 0; wide < 3; wide++) {
                struct places a =
                    map_places(m, 0.5, wide == 0 ? 1.0 : 3.0 * wide, i + 10);
                expect_inverse(m, &a, 1e-10);
            }
            gsv_model_free(m);
        }
}

/* Ten spreads from the middle, in every corner. */
static void flow__is_undone_far_away(void **state)
{
    (void)state;
    for (size_t i = 0; i < WITHOUT_EXP; i++) {
        gsv_model *m = bent(FLOWS[i], 0.5);
        struct places a = map_places(m, 0.0, 1.0, 3);
        for (size_t k = 0; k < m->spec->dim * a.P; k++)
            a.x[k] = a.x[k] > 0.0 ? 10.0 : -10.0;
        expect_inverse(m, &a, 1e-10);
        gsv_model_free(m);
    }
}

static void flow__has_its_log_determinant(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FLOWS); i++)
        for (int bend = 0; bend < 2; bend++) {
            gsv_model *m = bent(FLOWS[i], 0.7 * bend);
            struct places a = map_places(m, 0.2, 1.5, i);
            expect_jacobian(m, &a, 1e-7);
            gsv_model_free(m);
        }
}

/* log cosh is right where cosh itself has no number. */
static void flow__has_a_log_determinant_far_away(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z = flow(x : 1 layers)\ndz = dW\n");
    struct places a = {.P = 2, .x = {1e200, -1e200}};
    double out[2];
    assert_int_equal(gsv_model_set(m, "z.0.tail", 1, &(double){1.5}), 0);
    map_at(m, m->spec->map_log_jacobian, &a, a.x, out);
    /* (delta - 1) asinh x, as log cosh a is |a| - log 2. */
    for (int i = 0; i < 2; i++)
        assert_true(fabs(out[i] - 0.5 * asinh(1e200)) < 1e-9);
    gsv_model_free(m);
}

static void flow__has_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FLOWS); i++) {
        gsv_model *m = bent(FLOWS[i], 0.3);
        struct places a = map_places(m, 0.2, 1.0, i);
        expect_gradients(m, &a, 1e-6);
        gsv_model_free(m);
    }
}

/* The formula of the manual, in plain C. */
static void flow__is_the_formula(void **state)
{
    (void)state;
    gsv_model *m = bent("state z = flow(x : 2 layers)\ndz = dW\n", 0.8);
    struct places a = map_places(m, 0.0, 2.0, 4);
    const double *v = m->value;
    double z[MAPS_P];
    map_at(m, m->spec->state_of_data, &a, a.x, z);
    for (size_t p = 0; p < a.P; p++) {
        double u = (a.x[p] - v[0]) / v[1];
        for (int l = 0; l < 2; l++) {
            const double *n = v + 2 + 4 * l;
            double w = asinh((u - n[0]) / n[1]);
            u = n[0] + n[1] * sinh(n[2] * w + n[3]) / n[2];
        }
        assert_true(fabs(z[p] - v[10] * u) <= 1e-12 * fmax(1.0, fabs(z[p])));
    }
    gsv_model_free(m);
}

/* What a network of the other half gives, in plain C: only z2 moves. */
static void flow__couples_by_its_networks(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z[2] = flow(x[2], t : 1 layers 3)\n"
                             "dz = dW\n");
    struct places a = map_places(m, 0.0, 1.5, 4);
    size_t first = 6 + 8; /* means and scales, then the layer z.0 */
    const double *W = m->value + first, *c = W + 6, *V = c + 3, *e = V + 18;
    double z[2 * MAPS_P];
    assert_string_equal(m->spec->param[8].name, "z.1.0.weight");
    assert_int_equal(m->spec->param[8].offset, first);
    map_at(m, m->spec->state_of_data, &a, a.x, z);
    for (size_t p = 0; p < a.P; p++) {
        double h[3], n[6], x = a.x[p], y = a.x[a.P + p];
        for (int i = 0; i < 3; i++)
            h[i] = tanh(W[2 * i] * x + W[2 * i + 1] * a.t[p] + c[i]);
        for (int k = 0; k < 6; k++)
            n[k] = 0.1 * (V[3 * k] * h[0] + V[3 * k + 1] * h[1] +
                          V[3 * k + 2] * h[2] + e[k]);
        double s = exp(n[1]), delta = exp(n[2]);
        double w = asinh((y - n[0]) / s);
        double out =
            n[0] + n[4] + s * exp(n[5]) * sinh(delta * w + n[3]) / delta;
        assert_true(fabs(z[p] - x) < 1e-12);
        assert_true(fabs(z[a.P + p] - out) < 1e-12);
        assert_true(fabs(out - y) > 1e-6);
    }
    gsv_model_free(m);
}

static void flow__starts_near_the_identity(void **state)
{
    (void)state;
    for (size_t i = 0; i < WITHOUT_EXP; i++) {
        gsv_model *m = map_model(FLOWS[i]);
        struct places a = map_places(m, 0.0, 1.0, i);
        double z[MAPS_ROWS * MAPS_P], worst = 0.0;
        map_at(m, m->spec->state_of_data, &a, a.x, z);
        for (size_t k = 0; k < m->spec->dim * a.P; k++)
            worst = fmax(worst, fabs(z[k] - a.x[k]));
        assert_true(worst < 1.0);
        gsv_model_free(m);
    }
}

/* Time matters where it is named, and only there. */
static void flow__depends_on_time_when_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FLOWS); i++) {
        gsv_model *m = bent(FLOWS[i], 0.5);
        bool timed = strstr(FLOWS[i], ", t") != NULL;
        const struct spec *s = m->spec;
        struct places a = map_places(m, 0.2, 1.0, i), b = a;
        double now[MAPS_ROWS * MAPS_P], later[MAPS_ROWS * MAPS_P];
        for (size_t p = 0; p < b.P; p++)
            b.t[p] += 1.0;
        map_at(m, s->state_of_data, &a, a.x, now);
        map_at(m, s->state_of_data, &b, b.x, later);
        assert_int_equal(timed,
                         memcmp(now, later, s->dim * a.P * sizeof *now) != 0);
        gsv_model_free(m);
    }
}

/* --- Names ---------------------------------------------------------------- */

static void flow__has_named_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rank;
        size_t rows, columns;
        double start, low;
        bool weight, scale;
    } WANTED[] = {
        {"z.input_mean", 1, 3, 1, 0, -INFINITY, false, true},
        {"z.input_scale", 1, 3, 1, 1, 0, false, true},
        {"z.time_mean", 0, 1, 1, 0, -INFINITY, false, true},
        {"z.time_scale", 0, 1, 1, 1, 0, false, true},
        {"z.0.center", 1, 3, 1, 0, -INFINITY, false, false},
        {"z.0.width", 1, 3, 1, 1, 0, false, false},
        {"z.0.tail", 1, 3, 1, 1, 0, false, false},
        {"z.0.skew", 1, 3, 1, 0, -INFINITY, false, false},
        {"z.1.0.weight", 2, 7, 2, NAN, -INFINITY, true, false},
        {"z.1.0.bias", 1, 7, 1, NAN, -INFINITY, true, false},
        {"z.1.1.weight", 2, 12, 7, NAN, -INFINITY, true, false},
        {"z.1.1.bias", 1, 12, 1, NAN, -INFINITY, true, false},
        {"z.2.0.weight", 2, 7, 3, NAN, -INFINITY, true, false},
        {"z.2.0.bias", 1, 7, 1, NAN, -INFINITY, true, false},
        {"z.2.1.weight", 2, 6, 7, NAN, -INFINITY, true, false},
        {"z.2.1.bias", 1, 6, 1, NAN, -INFINITY, true, false},
        {"z.scale", 1, 3, 1, 1, 0, false, false},
    };
    gsv_model *m = map_model("state z[3] = flow(x[3], t : 2 layers 7)\n"
                             "net f(z) -> 3 : 4\ndz = f*dt + dW\n");
    for (size_t i = 0; i < COUNT(WANTED); i++) {
        gsv_param p = gsv_model_param(m, i);
        assert_string_equal(p.name, WANTED[i].name);
        assert_int_equal(p.rank, WANTED[i].rank);
        assert_true(p.rows == WANTED[i].rows && p.columns == WANTED[i].columns);
        assert_true(p.low == WANTED[i].low && p.scale == WANTED[i].scale);
        assert_true(p.weight == WANTED[i].weight);
        if (!p.weight) assert_true(m->value[p.offset] == WANTED[i].start);
        assert_true(p.scale || gsv_model_is_noise(m, i));
    }
    assert_string_equal(gsv_model_param(m, COUNT(WANTED)).name, "f.0.weight");
    assert_false(gsv_model_is_noise(m, COUNT(WANTED)));
    gsv_model_free(m);
}

/* Defaults, and centres that tell the layers of one number apart. */
static void flow__of_one_number_has_layers_that_differ(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z = flow(x)\ndz = dW\n");
    static const double CENTRE[] = {-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0};
    assert_int_equal(gsv_model_params(m), 2 + 4 * 4 + 1);
    for (size_t l = 0; l < 4; l++) {
        gsv_param p = gsv_model_param(m, 2 + 4 * l);
        assert_true(fabs(m->value[p.offset] - CENTRE[l]) < 1e-15);
    }
    gsv_model_free(m);
    m = map_model("state z[2] = flow(x[2])\ndz = dW\n");
    assert_int_equal(m->spec->graph->nets, 4);
    assert_int_equal(m->spec->graph->net[0].width[1], 32);
    gsv_model_free(m);
}

/* --- Where a fit starts --------------------------------------------------- */

/* A walk of independent columns around 7, of unequal spreads. */
static gsv_series *walk_around(const gsv_model *m, size_t rows)
{
    size_t d = m->spec->dim, start[2] = {0, rows};
    double *x = NEW(double, d *rows), *t = NEW(double, rows);
    double *z = normals(d * rows, 21);
    for (size_t i = 0; i < rows; i++) {
        t[i] = 100.0 + 0.1 * (double)i;
        for (size_t c = 0; c < d; c++) {
            double *at = x + c * rows + i;
            double size = pow(20.0, (double)c);
            *at = i ? at[-1] + 0.1 * (7.0 * size - at[-1]) +
                          0.3 * size * sqrt(0.1) * z[c * rows + i]
                    : 7.0 * size;
        }
    }
    gsv_series *s = gsv_series_new(1, start, d, gsv_model_column(m), t, x);
    if (!s) fail_msg("%s", gsv_last_error());
    mem_free(x);
    mem_free(t);
    mem_free(z);
    return s;
}

static void moments_of(size_t n, const double *x, double *mean, double *spread)
{
    *mean = *spread = 0.0;
    for (size_t i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        *spread += (x[i] - *mean) * (x[i] - *mean) / (double)n;
    *spread = sqrt(*spread);
}

static double number(const gsv_model *m, const char *name, size_t i)
{
    for (size_t p = 0; p < m->spec->params; p++)
        if (!strcmp(m->spec->param[p].name, name))
            return m->value[m->spec->param[p].offset + i];
    fail_msg("no %s", name);
    return NAN;
}

static void start__scales_a_flow_by_its_data(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z[2] = flow(x[2], t : 1 layers 4)\n"
                             "dz = dW\n");
    gsv_series *s = walk_around(m, 500);
    assert_int_equal(start_flows(m, s), 0);
    for (size_t c = 0; c < 2; c++) {
        double mean, spread;
        moments_of(500, s->value + c * 500, &mean, &spread);
        assert_true(fabs(number(m, "z.input_mean", c) - mean) < 0.05 * spread);
        assert_true(fabs(number(m, "z.input_scale", c) / spread - 1.0) < 0.05);
    }
    assert_true(fabs(number(m, "z.time_mean", 0) - 125.0) < 1.0);
    assert_true(fabs(number(m, "z.time_scale", 0) / 14.4 - 1.0) < 0.05);
    /* Once is enough. */
    double kept = number(m, "z.input_mean", 0);
    s->value[0] += 1e6;
    assert_int_equal(start_flows(m, s), 0);
    assert_true(number(m, "z.input_mean", 0) == kept);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* With unit noise in z, dz^2 / dt is 1 in the mean. */
static void start__finds_the_scale_of_unit_noise(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FLOWS); i++) {
        if (i == 1 || i == COUNT(FLOWS) - 1) continue;
        gsv_model *m = map_model(FLOWS[i]);
        size_t d = m->spec->dim, rows = 400;
        bool kept[2000] = {false};
        struct places a = {.P = 200};
        double z[MAPS_ROWS * MAPS_P];
        gsv_series *s = walk_around(m, rows);
        assert_true(gsv_theta_size(m) <= COUNT(kept));
        assert_int_equal(start_flows(m, s), 0);
        assert_int_equal(start_noise(m, s, kept), 0);
        memcpy(a.t, s->time, sizeof a.t);
        for (size_t c = 0; c < d; c++)
            memcpy(a.x + c * a.P, s->value + c * rows, sizeof a.t);
        map_at(m, m->spec->state_of_data, &a, a.x, z);
        for (size_t c = 0; c < d; c++) {
            double variation = 0.0;
            for (size_t p = 1; p < a.P; p++)
                variation += pow(z[c * a.P + p] - z[c * a.P + p - 1], 2.0);
            variation /= 0.1 * (double)(a.P - 1);
            if (!(fabs(variation - 1.0) < 0.3))
                fail_msg("%s: the variation of z%zu is %g", FLOWS[i], c + 1,
                         variation);
        }
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

/* What a network is given, and what it makes up for, are the states. */
static void start__scales_networks_by_the_states(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z = 5*log(x) + 3\nnet f(z) -> 1 : 8\n"
                             "dz = f*dt + dW\n");
    gsv_model *w = gsv_model_parse("state z\nnet f(z) -> 1 : 8\n"
                                   "dz = f*dt + dW\n",
                                   NULL);
    gsv_series *s = walk_around(m, 300), *r = walk_around(w, 300);
    static const char *const NAME[] = {"f.input_mean", "f.input_scale",
                                       "f.output_mean", "f.output_scale"};
    for (size_t i = 0; i < r->rows; i++)
        r->value[i] = 5.0 * log(s->value[i]) + 3.0;
    assert_int_equal(start_scales(m, s), 0);
    assert_int_equal(start_scales(w, r), 0);
    for (size_t i = 0; i < COUNT(NAME); i++) {
        double found = number(m, NAME[i], 0), wanted = number(w, NAME[i], 0);
        assert_true(fabs(found - wanted) < 1e-9 * fabs(wanted));
    }
    assert_true(number(m, "f.input_mean", 0) > 5.0);
    gsv_series_free(s);
    gsv_series_free(r);
    gsv_model_free(m);
    gsv_model_free(w);
}

/* A flow's own networks have no scales, and nothing beside them is touched. */
static void start__leaves_the_networks_of_a_flow(void **state)
{
    (void)state;
    gsv_model *m = map_model("state z[2] = flow(x[2] : 2 layers 4)\n"
                             "net f(z) -> 2 : 8\ndz = f*dt + dW\n");
    gsv_series *s = walk_around(m, 300);
    assert_int_equal(start_flows(m, s), 0);
    size_t n = m->spec->net[2].flow ? 0 : m->spec->graph->net_offset[2];
    double *before = NEW(double, n);
    assert_true(n > 50 && m->spec->net[0].flow && m->spec->net[1].flow);
    memcpy(before, m->value, n * sizeof *before);
    assert_int_equal(start_scales(m, s), 0);
    assert_memory_equal(before, m->value, n * sizeof *before);
    for (size_t i = 0; i < 2; i++) {
        double scale = number(m, "f.input_scale", i);
        assert_true(fabs(number(m, "f.input_mean", i)) < 0.5);
        assert_true(scale > 0.7 && scale < 1.4 && scale != 1.0);
    }
    mem_free(before);
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Files and failures --------------------------------------------------- */

static void flow__may_be_written_and_read(void **state)
{
    (void)state;
    gsv_model *m = bent(FLOWS[4], 0.5);
    struct places a = map_places(m, 0.2, 1.0, 3);
    double z[2][MAPS_ROWS * MAPS_P];
    map_at(m, m->spec->state_of_data, &a, a.x, z[0]);
    assert_int_equal(gsv_model_write(m, "test_flow.fit"), 0);
    gsv_model *r = gsv_model_read("test_flow.fit");
    remove("test_flow.fit");
    if (!r) fail_msg("%s", gsv_last_error());
    map_at(r, r->spec->state_of_data, &a, a.x, z[1]);
    assert_memory_equal(z[0], z[1], 2 * a.P * sizeof **z);
    gsv_model_free(m);
    gsv_model_free(r);
}

static void flow__fails_with_every_allocation(void **state)
{
    (void)state;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        mem_fail_at(n);
        gsv_model *m = gsv_model_parse(FLOWS[4], NULL);
        mem_fail_at(0);
        done = m != NULL;
        if (!m) assert_int_equal(gsv_last_status(), GSV_NO_MEMORY);
        gsv_model_free(m);
        assert_true(n < 10000);
    }
    done = false;
    gsv_model *m = map_model(FLOWS[4]);
    gsv_series *s = walk_around(m, 30);
    for (size_t n = 1; !done; n++) {
        mem_fail_at(n);
        int status = start_flows(m, s);
        mem_fail_at(0);
        done = !status;
        assert_true(!status || status == GSV_NO_MEMORY);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow__is_undone),
        cmocka_unit_test(flow__is_undone_far_away),
        cmocka_unit_test(flow__has_its_log_determinant),
        cmocka_unit_test(flow__has_a_log_determinant_far_away),
        cmocka_unit_test(flow__has_gradients),
        cmocka_unit_test(flow__is_the_formula),
        cmocka_unit_test(flow__couples_by_its_networks),
        cmocka_unit_test(flow__starts_near_the_identity),
        cmocka_unit_test(flow__depends_on_time_when_told),
        cmocka_unit_test(flow__has_named_parameters),
        cmocka_unit_test(flow__of_one_number_has_layers_that_differ),
        cmocka_unit_test(start__scales_a_flow_by_its_data),
        cmocka_unit_test(start__finds_the_scale_of_unit_noise),
        cmocka_unit_test(start__scales_networks_by_the_states),
        cmocka_unit_test(start__leaves_the_networks_of_a_flow),
        cmocka_unit_test(flow__may_be_written_and_read),
        cmocka_unit_test(flow__fails_with_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
