/* SPDX-License-Identifier: MIT */
/* girsanov fit: learns a model, shows the progress, and writes the fit. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fit.h"
#include "progress.h"
#include "trace.h"

/* --- Checks before the work ---------------------------------------------- */

/* A fit may be overwritten, a model's text may not. */
int check_written(const struct args *a, const gsv_model *m, const char *option,
                  const char *path)
{
    if (!path) return 0;
    if (!strcmp(path, "-"))
        return complain(EXIT_INPUT, "%s needs a file, not standard output",
                        option);
    if (!gsv_model_record(m) && same_file(path, a->model))
        return complain(EXIT_INPUT,
                        "%s %s would overwrite the model's text, which is read "
                        "from the same file; give another name",
                        option, path);
    return check_place(path);
}

/* Options that only one of the methods has. */
static int check_method(const struct args *a, bool gibbs)
{
    if (gibbs && a->trace)
        return complain(EXIT_INPUT, "--trace cannot be used with --method "
                                    "gibbs; --samples FILE has the draws");
    if (!gibbs && a->samples)
        return complain(EXIT_INPUT, "--samples needs --method gibbs");
    return 0;
}

/* The name of the file of draws, tested. */
static int check_samples(const struct args *a, const gsv_model *m, char **path)
{
    *path = samples_path(a->samples, a->output);
    if (!*path) return EXIT_NUMBERS;
    return check_written(a, m, "--samples", *path);
}

static int check_outputs(const struct args *a, const gsv_model *m)
{
    if (!ranks_writes(a)) return 0;
    if (check_written(a, m, "-o", a->output) ||
        check_written(a, m, "--checkpoint", a->checkpoint) ||
        check_written(a, m, "--trace", a->trace))
        return EXIT_INPUT;
    return 0;
}

/* --- Options ------------------------------------------------------------ */

void names_free(struct names *n)
{
    for (size_t i = 0; n->fix && i < n->fixed; i++)
        free(n->fix[i]);
    for (size_t i = 0; n->keep && i < n->kept; i++)
        free(n->keep[i]);
    free(n->fix);
    free(n->keep);
}

/* Adds the name before the last '=', or the whole text. */
static int add_name(char **list, size_t *count, const char *text)
{
    const char *equals = strrchr(text, '=');
    list[*count] =
        strndup(text, equals ? (size_t)(equals - text) : strlen(text));
    if (!list[*count]) return complain_memory();
    (*count)++;
    return 0;
}

int names_read(const struct args *a, gsv_model *m, struct names *n)
{
    *n = (struct names){0};
    n->fix = calloc(a->fix.count + 1, sizeof *n->fix);
    n->keep = calloc(a->fix.count + a->set.count + 1, sizeof *n->keep);
    if (!n->fix || !n->keep) return complain_memory();
    for (size_t i = 0; i < a->fix.count; i++) {
        const char *text = a->fix.word[i];
        bool given = strchr(text, '=') != NULL;
        if (given && set_value(m, "--fix", text)) return EXIT_INPUT;
        if (add_name(n->fix, &n->fixed, text) ||
            (given && add_name(n->keep, &n->kept, text)))
            return EXIT_NUMBERS;
    }
    for (size_t i = 0; i < a->set.count; i++)
        if (add_name(n->keep, &n->kept, a->set.word[i])) return EXIT_NUMBERS;
    return 0;
}

void names_apply(const struct names *n, gsv_fit_options *o)
{
    o->fixed = n->fixed;
    o->fix = (const char *const *)n->fix;
    o->kept = n->kept;
    o->keep = (const char *const *)n->keep;
}

/* The file to resume from, or NULL. */
static const char *resume_from(const struct args *a)
{
    if (!a->resume) return NULL;
    const char *path = a->resume[0]    ? a->resume
                       : a->checkpoint ? a->checkpoint
                                       : a->output;
    if (!access(path, F_OK)) return path;
    if (!a->quiet)
        say(stderr,
            "note: there is no %s yet: the fit starts from the beginning\n",
            path);
    return NULL;
}

static int read_options(const struct args *a, const gsv_model *m,
                        const struct names *n, gsv_fit_options *o)
{
    *o = a->fit;
    const char *objective = option_word("--objective", (int)o->objective);
    if (is_given(a, "--scheme") && strncmp(objective, "mse-", 4) != 0)
        return complain(EXIT_INPUT,
                        "--scheme needs an --objective mse-...: the objective "
                        "%s does not simulate paths",
                        objective);
    o->estimator = estimator_options(a);
    /* A posterior and other objectives do not use the options of the fit. */
    if (!o->objective && !o->method) estimator_recall(a, m, &o->estimator);
    names_apply(n, o);
    o->checkpoint = a->checkpoint;
    o->resume = resume_from(a);
    return 0;
}

/* --- During the fit ------------------------------------------------------- */

struct watch {
    struct progress progress;
    struct trace trace;
    bool said;
};

/* A second signal is not caught. */
static bool is_stopped(struct watch *w)
{
    bool stopped = signals_caught();
    if (stopped && !w->said && w->progress.terminal)
        fputs("\ninterrupted: the state will be saved; Ctrl-C again ends "
              "without saving\n",
              stderr);
    w->said = stopped;
    return stopped;
}

static bool watch_iteration(void *user, const gsv_progress *now)
{
    struct watch *w = user;
    progress_show(&w->progress, now);
    trace_row(&w->trace, now);
    return is_stopped(w);
}

static bool watch_all(void *user)
{
    struct watch *w = user;
    progress_wait(&w->progress);
    return is_stopped(w);
}

static void watch_phase(void *user, enum gsv_phase phase)
{
    struct watch *w = user;
    progress_phase(&w->progress, phase);
}

static void watch_refits(void *user, size_t done, size_t all)
{
    struct watch *w = user;
    progress_refit(&w->progress, done, all);
}

static int write_all(const struct args *a, const gsv_model *m,
                     const char *samples)
{
    if (!ranks_writes(a)) return 0;
    if (gsv_model_write(m, a->output)) return complain_last();
    int code = gsv_model_draws(m) ? samples_write(m, samples) : 0;
    if (code || !a->effects) return code;
    code = effects_check(m);
    return code ? code : effects_write(m, a->effects);
}

static int learn(const struct args *a, gsv_model *m, const gsv_series *s,
                 const gsv_fit_options *options, const char *samples)
{
    struct watch w = {0};
    gsv_fit_options o = *options;
    if (progress_begin(&w.progress, m, a->quiet)) return EXIT_NUMBERS;
    const char *trace = ranks_writes(a) ? a->trace : NULL;
    int code = trace_open(&w.trace, trace, m, o.resume != NULL);
    if (!code) {
        o.progress = watch_iteration;
        o.stop = watch_all;
        o.phase = watch_phase;
        o.refit = watch_refits;
        o.user = &w;
        draft_guard(a->output);
        draft_guard(a->checkpoint);
        signals_watch();
        int status = gsv_fit(m, s, &o);
        progress_end(&w.progress);
        code = status ? complain_last() : write_all(a, m, samples);
    }
    int traced = trace_close(&w.trace);
    return code ? code : traced;
}

/* --- After the fit -------------------------------------------------------- */

static int say_interrupted(const struct args *a, const gsv_record *r,
                           const char *samples)
{
    const char *but = r->bootstraps && !r->bootstrap ? ", without a bootstrap"
                      : r->errors == GSV_ERRORS_NONE
                          ? ", without standard errors"
                          : "";
    if (r->ended != GSV_ENDED_STOPPED)
        return complain(
            EXIT_INTERRUPTED,
            "interrupted after the last iteration: %s is complete%s", a->output,
            but);
    if (!samples)
        return complain(EXIT_INTERRUPTED,
                        "interrupted after %zu iterations; %s has the state; "
                        "continue with --resume",
                        r->iterations, a->output);
    if (!r->draws)
        return complain(EXIT_INTERRUPTED,
                        "interrupted before the first draw; %s has the state; "
                        "continue with --resume",
                        a->output);
    return complain(EXIT_INTERRUPTED,
                    "interrupted after %zu draws of each chain; %s has the "
                    "draws, and %s their summary and the state; continue with "
                    "--resume",
                    r->draws, samples, a->output);
}

static void say_time(const gsv_record *r)
{
    if (r->chains)
        say(stderr,
            "note: the time limit ended the fit after %zu draws of each "
            "chain; continue with --resume\n",
            r->draws);
    else
        say(stderr,
            "note: the time limit ended the fit after %zu iterations; "
            "continue with --resume\n",
            r->iterations);
}

static json_t *result_json(const struct args *a, const gsv_model *m,
                           const char *samples)
{
    json_t *j = record_json(m, gsv_model_record(m), a->output);
    if (gsv_model_draws(m)) add_text(j, "samples", samples);
    return j;
}

static int report(const struct args *a, const gsv_model *m, const char *samples)
{
    const gsv_record *r = gsv_model_record(m);
    bool stopped = r->ended == GSV_ENDED_STOPPED;
    int code = EXIT_DONE;
    if (a->json) code = print_json(result_json(a, m, samples));
    else if (!stopped || r->draws) {
        put_likelihood(r, stdout);
        say(stdout, "written         %s\n", a->output);
        if (gsv_model_draws(m)) say(stdout, "draws           %s\n", samples);
        code = print_estimates(m, r);
    }
    if (code) return code;
    say_warnings(r->warning);
    if (!a->quiet && r->ended == GSV_ENDED_TIME) say_time(r);
    return stopped || signals_caught() ? say_interrupted(a, r, samples)
                                       : EXIT_DONE;
}

/* `samples` is the file of draws, for gibbs. */
static int run_options(const struct args *a, gsv_model *m, gsv_fit_options *o)
{
    bool gibbs = o->method == GSV_METHOD_GIBBS;
    char *samples = NULL;
    gsv_series *s = NULL;
    int code = check_method(a, gibbs);
    if (!code && gibbs && ranks_writes(a)) code = check_samples(a, m, &samples);
    if (!code) {
        s = open_data(a, m);
        if (!s) code = EXIT_INPUT;
    }
    if (!code) say_shared(a, m, &o->estimator);
    if (!code) say_idle(a, m, s, &o->estimator);
    if (!code) code = learn(a, m, s, o, samples);
    if (!code && ranks_writes(a)) code = report(a, m, samples);
    gsv_series_free(s);
    free(samples);
    return code;
}

int fit_run(const struct args *a, gsv_model *m)
{
    gsv_fit_options o;
    struct names names = {0};
    struct priors priors = {0};
    if (!a->output)
        return complain(EXIT_INPUT, "-o FILE is missing: the file for the fit");
    int code = a->effects ? effects_check(m) : 0;
    if (!code) code = check_outputs(a, m);
    if (!code) code = names_read(a, m, &names);
    if (!code) code = priors_read(&a->prior, &priors);
    if (!code) code = read_options(a, m, &names, &o);
    if (!code) {
        o.priors = priors.count;
        o.prior = priors.prior;
        code = run_options(a, m, &o);
    }
    priors_free(&priors);
    names_free(&names);
    return code;
}
