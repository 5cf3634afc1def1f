/* SPDX-License-Identifier: MIT */
/* A program of somebody else: from a model's text to a likelihood and its
 * gradient by the installed header and library. It is C99 and C++11; run
 * compiles it as both. */
#include <girsanov.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char MODEL[] = "state x\n"
                            "param a = 1 > 0\n"
                            "dx = -a*x*dt + dW\n";

/* Names of the library's inside, which must not meet ours. */
int fail(void);
int complain(void);
int fail(void)
{
    return 1;
}
int complain(void)
{
    return 2;
}

static int stop(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, gsv_last_error());
    return fail();
}

static gsv_series *simulated(const gsv_model *m)
{
    double time[5];
    gsv_simulate_options o = gsv_simulate_options_default();
    for (size_t i = 0; i < 5; i++)
        time[i] = 0.1 * (double)i;
    o.times = 5;
    o.time = time;
    o.tracks = 2;
    return gsv_simulate(m, &o);
}

int main(void)
{
    gsv_result r;
    gsv_options o = gsv_options_default();
    o.gradient = true;
    if (strcmp(gsv_version(), GSV_VERSION)) return complain();
    gsv_model *m = gsv_model_parse(MODEL, "foreign");
    if (!m) return stop("model");
    gsv_series *s = simulated(m);
    if (!s) return stop("simulate");
    if (gsv_loglik(m, s, &o, &r)) return stop("loglik");
    bool good = isfinite(r.loglik) && r.gaps == 8 && r.values == 1 &&
                isfinite(r.gradient[0]);
    if (good) printf("%s %.6f\n", gsv_version(), r.loglik);
    gsv_result_free(&r);
    gsv_series_free(s);
    gsv_model_free(m);
    if (gsv_model_parse("state", "broken")) return complain();
    return good && gsv_last_status() == GSV_BAD_INPUT ? 0 : complain();
}
