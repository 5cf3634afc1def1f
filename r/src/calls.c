/* SPDX-License-Identifier: MIT */
/* What a model does. Each call: options from a list, the work, a list of the
 * result. */
#include "calls.h"

#include <string.h>

/* After a call that may have been interrupted. */
static void finish(struct watch *w, enum gsv_status status)
{
    bool interrupted = w->interrupted;
    watch_end(w);
    if (interrupted) raise_as("interrupted", "interrupted");
    check(status);
}

#define EMPTY(name, type, free_)                                               \
    static void name(void *p)                                                  \
    {                                                                          \
        free_((type *)p);                                                      \
    }
EMPTY(empty_result, gsv_result, gsv_result_free)
EMPTY(empty_prediction, gsv_prediction, gsv_prediction_free)
EMPTY(empty_residuals, gsv_residuals_result, gsv_residuals_free)
EMPTY(empty_smoothed, gsv_smoothed, gsv_smoothed_free)
EMPTY(empty_selection, gsv_selection, gsv_selection_free)
EMPTY(empty_physics, gsv_physics_result, gsv_physics_free)
EMPTY(empty_look, gsv_look_result, gsv_look_free)

static SEXP listed(const char *name, const void *result, SEXP box)
{
    SEXP x = PROTECT(as_list(name, result));
    box_close(box);
    UNPROTECT(1);
    return x;
}

SEXP c_loglik(SEXP model, SEXP series, SEXP options)
{
    gsv_options o = gsv_options_default();
    set_options(options, GSV_OF_ESTIMATOR, GSV_USE_LOGLIK, "sde_loglik", &o);
    SEXP box;
    gsv_result *r = boxed(sizeof *r, empty_result, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w, gsv_loglik(model_of(model), series_of(series), &o, r));
    SEXP x = listed("gsv_result", r, box);
    UNPROTECT(1);
    return x;
}

/* --- Fit ------------------------------------------------------------------ */

static void free_name(SEXP pointer)
{
    gsv_text_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

/* "k ~ normal(0, 1)", ...; keep has the names. */
static void set_priors(SEXP priors, gsv_fit_options *o, SEXP keep)
{
    if (Rf_isNull(priors)) return;
    const char *const *text = texts_of(priors);
    size_t n = (size_t)XLENGTH(priors);
    gsv_prior *p = (gsv_prior *)R_alloc(n + 1, sizeof *p);
    for (size_t i = 0; i < n; i++) {
        SEXP owner = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
        R_RegisterCFinalizer(owner, free_name);
        char *name = gsv_prior_parse(text[i], &p[i]);
        R_SetExternalPtrAddr(owner, name);
        SETCDR(keep, Rf_cons(owner, CDR(keep)));
        UNPROTECT(1);
        if (!name) raise_failure();
    }
    o->prior = p;
    o->priors = n;
}

/* Learns the model in its place. Returns whether it was interrupted. */
SEXP c_fit(SEXP model, SEXP series, SEXP options, SEXP priors, SEXP files,
           SEXP progress)
{
    gsv_fit_options o = gsv_fit_options_default();
    set_options(options, GSV_OF_FIT, GSV_USE_FIT, "sde_fit", &o);
    SEXP keep = PROTECT(Rf_list1(R_NilValue));
    set_priors(priors, &o, keep);
    o.checkpoint = text_of(VECTOR_ELT(files, 0));
    o.resume = text_of(VECTOR_ELT(files, 1));
    struct watch w;
    watch_begin(&w, progress);
    o.user = &w;
    o.progress = watch_progress;
    o.stop = watch_stop;
    enum gsv_status status = gsv_fit(model_of(model), series_of(series), &o);
    bool interrupted = w.interrupted;
    watch_end(&w);
    if (status && interrupted) raise_as("interrupted", "interrupted");
    check(status);
    UNPROTECT(1);
    return Rf_ScalarLogical(interrupted);
}

/* A list of the selection and the chosen model. */
SEXP c_select(SEXP model, SEXP series, SEXP options)
{
    gsv_fit_options o = gsv_fit_options_default();
    set_options(options, GSV_OF_FIT, GSV_USE_SELECT, "sde_select", &o);
    SEXP box;
    gsv_selection *r = boxed(sizeof *r, empty_selection, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    o.user = &w;
    o.stop = watch_stop;
    finish(&w, gsv_select(model_of(model), series_of(series), &o, r));
    SEXP x = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(x, 0, as_list("gsv_selection", r));
    SET_VECTOR_ELT(x, 1, own_model(r->model));
    r->model = NULL;
    box_close(box);
    UNPROTECT(2);
    return x;
}

SEXP c_profile(SEXP model, SEXP series, SEXP options, SEXP name, SEXP values)
{
    gsv_fit_options o = gsv_fit_options_default();
    set_options(options, GSV_OF_FIT, GSV_USE_PROFILE, "profile", &o);
    SEXP x = PROTECT(Rf_allocVector(REALSXP, XLENGTH(values)));
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w,
           gsv_profile(model_of(model), series_of(series), &o, text_of(name),
                       (size_t)XLENGTH(values), REAL(values), REAL(x)));
    UNPROTECT(1);
    return x;
}

/* --- Forecasts, residuals, paths ------------------------------------------ */

SEXP c_predict(SEXP model, SEXP series, SEXP options, SEXP until)
{
    gsv_predict_options o = gsv_predict_options_default();
    set_options(options, GSV_OF_PREDICT, GSV_USE_PREDICT, "predict", &o);
    if (!Rf_isNull(until)) o.until = REAL(until);
    SEXP box;
    gsv_prediction *r = boxed(sizeof *r, empty_prediction, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w, gsv_predict(model_of(model), series_of(series), &o, r));
    SEXP x = listed("gsv_prediction", r, box);
    UNPROTECT(1);
    return x;
}

SEXP c_residuals(SEXP model, SEXP series, SEXP options)
{
    gsv_predict_options o = gsv_predict_options_default();
    set_options(options, GSV_OF_PREDICT, GSV_USE_RESIDUALS, "residuals", &o);
    SEXP box;
    gsv_residuals_result *r = boxed(sizeof *r, empty_residuals, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w, gsv_residuals(model_of(model), series_of(series), &o, r));
    SEXP x = listed("gsv_residuals_result", r, box);
    UNPROTECT(1);
    return x;
}

SEXP c_paths(SEXP model, SEXP series, SEXP options)
{
    gsv_paths_options o = gsv_paths_options_default();
    set_options(options, GSV_OF_PATHS, GSV_USE_PATHS, "sde_paths", &o);
    SEXP box;
    gsv_smoothed *r = boxed(sizeof *r, empty_smoothed, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w, gsv_paths(model_of(model), series_of(series), &o, r));
    SEXP x = listed("gsv_smoothed", r, box);
    UNPROTECT(1);
    return x;
}

/* start: a matrix (tracks, states), or NULL. */
SEXP c_simulate(SEXP model, SEXP options, SEXP start, SEXP input)
{
    gsv_simulate_options o = gsv_simulate_options_default();
    set_options(options, GSV_OF_SIMULATE, GSV_USE_SIMULATE, "simulate", &o);
    if (!Rf_isNull(start)) o.start = REAL(start);
    o.input = series_of(input);
    struct watch w;
    watch_begin(&w, R_NilValue);
    gsv_series *s = gsv_simulate(model_of(model), &o);
    bool interrupted = w.interrupted;
    watch_end(&w);
    if (!s && interrupted) raise_as("interrupted", "interrupted");
    return own_series(s, R_NilValue);
}

/* --- Drift and noise ------------------------------------------------------ */

/* points is a matrix (n, columns), states first. */
SEXP c_field(SEXP model, SEXP time, SEXP points)
{
    const gsv_model *m = model_of(model);
    size_t n = (size_t)XLENGTH(time), dim = gsv_model_dim(m);
    size_t noises = gsv_model_noises(m);
    const double *x = REAL(points), *input = x + n * dim;
    if (!gsv_model_inputs(m)) input = NULL;
    SEXP all = PROTECT(Rf_allocVector(VECSXP, 3));
    SEXP f = Rf_allocMatrix(REALSXP, (int)n, (int)dim);
    SET_VECTOR_ELT(all, 0, f);
    SEXP g = Rf_alloc3DArray(REALSXP, (int)n, (int)noises, (int)dim);
    SET_VECTOR_ELT(all, 1, g);
    struct watch w;
    watch_begin(&w, R_NilValue);
    enum gsv_status status =
        gsv_model_drift(m, n, REAL(time), x, input, REAL(f));
    if (!status)
        status = gsv_model_diffusion(m, n, REAL(time), x, input, REAL(g));
    finish(&w, status);
    if (gsv_model_has_posterior(m)) {
        SEXP sd = Rf_allocMatrix(REALSXP, (int)n, (int)dim);
        SET_VECTOR_ELT(all, 2, sd);
        gsv_functions *q = gsv_functions_new(m);
        status = q ? gsv_functions_drift(q, n, REAL(time), x, input, REAL(sd))
                   : gsv_last_status();
        gsv_functions_free(q);
        check(status);
    }
    UNPROTECT(1);
    return all;
}

SEXP c_physics(SEXP model, SEXP series, SEXP options, SEXP from, SEXP to)
{
    gsv_physics_options o = gsv_physics_options_default();
    set_options(options, GSV_OF_PHYSICS, GSV_USE_PHYSICS, "sde_physics", &o);
    o.from = text_of(from);
    o.to = text_of(to);
    SEXP box;
    gsv_physics_result *r = boxed(sizeof *r, empty_physics, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w, gsv_physics(model_of(model), series_of(series), &o, r));
    SEXP x = listed("gsv_physics_result", r, box);
    UNPROTECT(1);
    return x;
}

SEXP c_look(SEXP series, SEXP seed, SEXP threads)
{
    gsv_options o = gsv_options_default();
    o.seed = (uint64_t)Rf_asReal(seed);
    o.threads = (size_t)Rf_asReal(threads);
    SEXP box;
    gsv_look_result *r = boxed(sizeof *r, empty_look, &box);
    PROTECT(box);
    struct watch w;
    watch_begin(&w, R_NilValue);
    finish(&w, gsv_look(series_of(series), &o, r));
    SEXP x = listed("gsv_look_result", r, box);
    UNPROTECT(1);
    return x;
}

/* --- Words ---------------------------------------------------------------- */

/* The options of a use: names and help. */
SEXP c_options(SEXP use)
{
    size_t rows, n = 0;
    unsigned bits = (unsigned)Rf_asInteger(use);
    const gsv_option *row = gsv_option_table(&rows);
    const char **name = (const char **)R_alloc(rows, sizeof *name);
    const char **help = (const char **)R_alloc(rows, sizeof *help);
    enum { HELP = 400 };
    for (size_t i = 0; i < rows; i++)
        if ((row[i].uses & bits) && row[i].help) {
            name[n] = row[i].field;
            help[n++] = gsv_option_help(&row[i], HELP, R_alloc(HELP, 1));
        }
    SEXP x = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(x, 0, as_texts(n, name));
    SET_VECTOR_ELT(x, 1, as_texts(n, help));
    UNPROTECT(1);
    return x;
}

SEXP c_suggestion(SEXP word, SEXP known)
{
    const char *best =
        gsv_suggestion(text_of(word), (size_t)XLENGTH(known), texts_of(known));
    return best ? Rf_ScalarString(Rf_mkCharCE(best, CE_UTF8)) : R_NilValue;
}
