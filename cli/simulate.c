/* SPDX-License-Identifier: MIT */
/* girsanov simulate: sample paths as CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* normal, normal(m,s), or numbers: one for all states, or one for each. */
static int parse_start(const struct args *a, const gsv_model *m,
                       gsv_simulate_options *o, double **start)
{
    size_t count, d = gsv_model_dim(m);
    int used = 0;
    if (!a->x0) return 0;
    if (!strncmp(a->x0, "normal", 6)) {
        o->start_sd = 1.0;
        if (a->x0[6] && (sscanf(a->x0 + 6, "(%lf,%lf)%n", &o->start_mean,
                                &o->start_sd, &used) != 2 ||
                         a->x0[6 + used] || !(o->start_sd > 0.0)))
            return complain(EXIT_INPUT,
                            "--x0 %s: expected normal or normal(mean,sd)",
                            a->x0);
        return 0;
    }
    double *x = parse_numbers("--x0", a->x0, &count);
    if (!x) return EXIT_INPUT;
    if (count != 1 && count != d) {
        free(x);
        return complain(EXIT_INPUT,
                        "--x0 has %zu numbers, but the model has %zu %s", count,
                        d, d == 1 ? "state" : "states");
    }
    *start = malloc(d * o->tracks * sizeof **start);
    for (size_t i = 0; *start && i < d * o->tracks; i++)
        (*start)[i] = x[count == 1 ? 0 : i / o->tracks];
    free(x);
    o->start = *start;
    return *start ? 0 : complain_memory();
}

gsv_series *read_inputs(const struct args *a, const gsv_model *m)
{
    gsv_series *s = gsv_series_read_inputs(m, a->inputs);
    if (!s && gsv_last_status() == GSV_BAD_INPUT && !gsv_model_inputs(m) &&
        !gsv_model_given(m, 0, NULL))
        complain(EXIT_INPUT, "--inputs %s: the model has no inputs", a->inputs);
    else if (!s) complain_last();
    else say_note(a, s);
    return s;
}

static int write_result(const struct args *a, const gsv_model *m,
                        const gsv_series *s)
{
    const char *path = a->output ? a->output : "-";
    draft_guard(path);
    if (gsv_series_write(s, path)) return complain_last();
    if (say_functions(a, m, s, !a->simulate.mean)) return EXIT_NUMBERS;
    if (!a->quiet && s->rows == s->tracks)
        fputs("note: there is only one time, the start of each series; --times "
              "A:B:N gives more\n",
              stderr);
    if (a->json) {
        json_t *j = json_object();
        add_text(j, "output", path);
        add_count(j, "tracks", s->tracks);
        add_count(j, "rows", s->rows);
        add_count(j, "seed", a->simulate.seed);
        if (put_functions(j, m, s, !a->simulate.mean)) return EXIT_NUMBERS;
        return print_json(j);
    }
    if (!a->quiet && strcmp(path, "-"))
        say(stderr, "wrote %s: %zu series, %zu rows\n", path, s->tracks,
            s->rows);
    return EXIT_DONE;
}

/* A model with numbers of series that has no data yet has as many series as
 * there are tracks, or as the inputs have; a fit simulates all of its own. */
static int choose_series(const struct args *a, gsv_model *m,
                         const gsv_series *input, gsv_simulate_options *o)
{
    size_t n = o->tracks, levels = gsv_model_levels(m, "series", NULL);
    if (levels && !is_given(a, "--tracks")) o->tracks = levels;
    if (input) return gsv_model_bind(m, input) ? complain_last() : 0;
    size_t *start = malloc((n + 1) * sizeof *start);
    double *times = calloc(n, sizeof *times);
    gsv_series *s = NULL;
    if (!start || !times) n = 0;
    for (size_t r = 0; n && r <= n; r++)
        start[r] = r;
    if (n) s = gsv_series_new(n, start, 0, NULL, times, NULL);
    int code = s && !gsv_model_bind(m, s) ? 0 : complain_last();
    gsv_series_free(s);
    free(start);
    free(times);
    return code;
}

/* --subject: its random effects for all tracks. */
static int find_subject(const struct args *a, const gsv_model *m,
                        gsv_simulate_options *o, double **effect)
{
    const gsv_record *r = gsv_model_record(m);
    size_t n = gsv_model_effects(m), track = 0;
    if (!a->subject) return 0;
    if (!r || !r->effect)
        return complain(EXIT_INPUT,
                        "--subject %s: %s is not a fit with random effects",
                        a->subject, a->model);
    while (track < r->tracks && strcmp(r->subject[track], a->subject))
        track++;
    if (track == r->tracks)
        return complain(EXIT_INPUT,
                        "--subject %s: the fit has no such series; "
                        "'girsanov summary --effects' lists them",
                        a->subject);
    *effect = malloc(o->tracks * n * sizeof **effect);
    if (!*effect) return complain_memory();
    for (size_t i = 0; i < o->tracks * n; i++)
        (*effect)[i] = effect_of(r, track, i % n).estimate;
    o->effect = *effect;
    return 0;
}

int simulate_run(const struct args *a, gsv_model *m)
{
    gsv_simulate_options o = a->simulate;
    double *start = NULL, *effect = NULL;
    gsv_series *input = NULL, *s = NULL;
    double *time = parse_times(a->times ? a->times : "0:10:201", &o.times);
    int code = time ? 0 : EXIT_INPUT;
    if (!code && a->inputs) {
        o.input = input = read_inputs(a, m);
        if (!input) code = EXIT_INPUT;
    }
    o.time = time;
    if (!code) code = choose_series(a, m, input, &o);
    if (!code) code = parse_start(a, m, &o, &start);
    if (!code) code = find_subject(a, m, &o, &effect);
    if (!code) {
        s = gsv_simulate(m, &o);
        code = s ? write_result(a, m, s) : complain_last();
    }
    free(time);
    free(start);
    free(effect);
    gsv_series_free(input);
    gsv_series_free(s);
    return code;
}
