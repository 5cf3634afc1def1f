/* SPDX-License-Identifier: MIT */
/* Gaussian-process functions of a fit: what a verb took of their posterior, and
 * which rows are where they are known of nothing. */
#include <string.h>

#include "cli.h"

/* The next line of a text, or NULL. */
static const char *next_line(const char *text, int *length)
{
    *length = (int)strcspn(text, "\n");
    return *length ? text : NULL;
}

static const char *after(const char *line, int length)
{
    return line + length + (line[length] == '\n');
}

int say_functions(const struct args *a, const gsv_model *m, const gsv_series *s,
                  bool drawn)
{
    int length;
    char *text = gsv_model_outside(m, s);
    if (!text) return complain_last();
    if (gsv_model_has_posterior(m) && !a->quiet)
        say(stderr, "note: the gp's functions are %s\n",
            drawn ? "drawn from their posterior, one for each path; --mean "
                    "takes their mean"
                  : "taken at their posterior mean");
    for (const char *l = text; (l = next_line(l, &length));
         l = after(l, length))
        say(stderr, "warning: %.*s\n", length, l);
    gsv_text_free(text);
    return 0;
}

/* --- JSON ------------------------------------------------------------------
 */

int put_functions(json_t *j, const gsv_model *m, const gsv_series *s,
                  bool drawn)
{
    char *text = gsv_model_outside(m, s);
    int length;
    if (!text) return complain_last();
    if (gsv_model_has_posterior(m))
        json_object_set_new(j, "functions",
                            json_string(drawn ? "drawn" : "mean"));
    json_t *list = json_array();
    for (const char *l = text; (l = next_line(l, &length));
         l = after(l, length))
        json_array_append_new(list, json_stringn(l, (size_t)length));
    if (*text) json_object_set(j, "warnings", list);
    json_decref(list);
    gsv_text_free(text);
    return 0;
}
