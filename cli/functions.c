/* SPDX-License-Identifier: MIT */
/* Gaussian-process functions of a fit: whether a verb used draws or the mean of
 * their posterior, and rows outside their grids. */
#include "cli.h"

int say_functions(const struct args *a, const gsv_model *m, const gsv_series *s,
                  bool drawn)
{
    char *text = gsv_model_outside(m, s);
    if (!text) return complain_last();
    if (gsv_model_has_posterior(m) && !a->quiet)
        say(stderr, "note: the gp's functions are %s\n",
            drawn ? "drawn from their posterior, one for each path; --mean "
                    "uses their mean"
                  : "evaluated at their posterior mean");
    say_warnings(text);
    gsv_text_free(text);
    return 0;
}

int put_functions(json_t *j, const gsv_model *m, const gsv_series *s,
                  bool drawn)
{
    char *text = gsv_model_outside(m, s);
    if (!text) return complain_last();
    if (gsv_model_has_posterior(m))
        add_text(j, "functions", drawn ? "drawn" : "mean");
    if (*text) json_object_set_new(j, "warnings", json_lines(text));
    gsv_text_free(text);
    return 0;
}
