/* SPDX-License-Identifier: MIT */
/* From data to estimates with the library: parse a model, simulate data instead
 * of reading a file, fit the model, print its parameters and its warnings.
 *
 *     cc learn.c -lgirsanov -lm && ./a.out                                   */
#include <stdio.h>

#include "girsanov.h"

static const char text[] = "state x\n"
                           "param k = 1 > 0, m = 0, s = 1 > 0\n"
                           "dx = k*(m - x)*dt + s*dW\n";

/* To read the column of a file: gsv_series_read("data.csv", 1, name). */
static gsv_series *some_data(const gsv_model *m)
{
    enum { ROWS = 401 };
    double time[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        time[i] = 0.1 * (double)i;
    gsv_simulate_options o = gsv_simulate_options_default();
    o.times = ROWS;
    o.time = time;
    return gsv_simulate(m, &o);
}

static void print_fit(const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    printf("log-likelihood %.3f\n", r->loglik);
    for (size_t i = 0; i < gsv_model_params(m); i++) {
        gsv_param p = gsv_model_param(m, i);
        printf("%s %.3f +- %.3f\n", p.name, gsv_model_value(m)[p.offset],
               r->error_of[p.offset]);
    }
    printf("%s", r->warning);
}

int main(void)
{
    gsv_model *m = gsv_model_parse(text, "ou");
    gsv_series *s = m ? some_data(m) : NULL;
    gsv_fit_options o = gsv_fit_options_default();
    int status = s ? gsv_fit(m, s, &o) : (int)gsv_last_status();
    if (!status) print_fit(m);
    else fprintf(stderr, "%s\n", gsv_last_error());
    gsv_series_free(s);
    gsv_model_free(m);
    return status;
}
