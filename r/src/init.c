/* SPDX-License-Identifier: MIT */
#include <R_ext/Rdynload.h>

#include "calls.h"

#define CALL(name, arguments)                                                  \
    {                                                                          \
#name, (DL_FUNC)(name), arguments                                      \
    }

static const R_CallMethodDef CALLS[] = {
    CALL(c_version, 0),
    CALL(c_model_parse, 2),
    CALL(c_model_read, 1),
    CALL(c_model_write, 2),
    CALL(c_model_copy, 1),
    CALL(c_alive, 1),
    CALL(c_model_draw, 2),
    CALL(c_model_set, 3),
    CALL(c_model_facts, 1),
    CALL(c_model_describe, 1),
    CALL(c_model_record, 1),
    CALL(c_model_draws, 1),
    CALL(c_series, 6),
    CALL(c_series_read, 4),
    CALL(c_series_read_all, 3),
    CALL(c_series_join, 2),
    CALL(c_series_list, 1),
    CALL(c_category, 1),
    CALL(c_model_bind, 2),
    CALL(c_loglik, 3),
    CALL(c_fit, 6),
    CALL(c_select, 3),
    CALL(c_profile, 5),
    CALL(c_predict, 4),
    CALL(c_residuals, 3),
    CALL(c_paths, 3),
    CALL(c_simulate, 4),
    CALL(c_field, 3),
    CALL(c_physics, 5),
    CALL(c_look, 3),
    CALL(c_options, 1),
    CALL(c_suggestion, 2),
    CALL(c_external_names, 1),
    CALL(c_external_size, 2),
    CALL(c_model_external, 5),
    {NULL, NULL, 0},
};

void R_init_girsanov(DllInfo *dll);
void R_init_girsanov(DllInfo *dll)
{
    R_registerRoutines(dll, NULL, CALLS, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
}
