/* SPDX-License-Identifier: MIT */
/* Model texts: what can be parsed is described, evaluated at a point, and given
 * three rows of data for one likelihood with its gradient, and simulated. */
#include "fuzz.h"
#include "girsanov.h"

#include <stdlib.h>

/* Larger models are left alone here: their work is theirs. */
enum { STATES = 4, VALUES = 2000 };

static void evaluate(const gsv_model *m)
{
    double x[STATES], f[STATES], g[STATES * 16], u[STATES] = {0};
    size_t d = gsv_model_dim(m);
    for (size_t i = 0; i < d; i++)
        x[i] = 0.5 + (double)i;
    double time = 0.25;
    (void)gsv_model_drift(m, 1, &time, x, u, f);
    if (gsv_model_noises(m) <= 16)
        (void)gsv_model_diffusion(m, 1, &time, x, u, g);
}

static void likelihood(const gsv_model *m)
{
    double time[3] = {0, 0.5, 1}, value[24];
    size_t start[2] = {0, 3}, columns = gsv_model_data_columns(m);
    if (columns > 8) return;
    for (size_t i = 0; i < 24; i++)
        value[i] = 1 + (double)(i % 3);
    gsv_series *s = gsv_series_new(1, start, columns, gsv_model_data_column(m),
                                   time, value);
    if (!s) return;
    gsv_options o = gsv_options_default();
    o.paths = 4;
    o.steps = 2;
    o.points = 4;
    o.gradient = true;
    o.threads = 1;
    gsv_result r;
    if (!gsv_loglik(m, s, &o, &r)) gsv_result_free(&r);
    gsv_series_free(s);
}

static void simulation(const gsv_model *m)
{
    const double time[2] = {0, 0.5}, start[STATES] = {3, 2, 1, 0};
    gsv_simulate_options o = gsv_simulate_options_default();
    if (gsv_model_inputs(m) || gsv_model_given(m, 0, NULL)) return;
    o.times = 2;
    o.time = time;
    o.start = start;
    o.step = 0.1;
    o.threads = 1;
    gsv_series_free(gsv_simulate(m, &o));
    o.scheme = GSV_TAU_LEAP;
    gsv_series_free(gsv_simulate(m, &o));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsv_model *m = gsv_model_parse(bytes_text(data, size), "fuzz.sde");
    if (!m) return 0;
    char *text = gsv_model_describe(m);
    gsv_text_free(text);
    if (gsv_model_dim(m) <= STATES && gsv_model_inputs(m) <= STATES &&
        gsv_model_values(m) <= VALUES) {
        evaluate(m);
        likelihood(m);
        simulation(m);
    }
    gsv_model_free(m);
    return 0;
}
