/* SPDX-License-Identifier: MIT */
/* Between the files of report. */
#ifndef REPORT_H
#define REPORT_H

#include "cli.h"

/* Why a part of the page is empty. */
enum { WHY_ROOM = 400 };

/* All that the page shows, worked out before its first line is written. */
struct report {
    const struct args *args;
    const gsv_model *model;
    const gsv_record *record;
    const gsv_series *data;
    gsv_functions *functions; /* or NULL                                 */
    bool dates;               /* times are days since 1970-01-01         */
    bool latent;              /* the data have no column of some state   */
    gsv_options estimator;
    gsv_result weights;
    const gsv_gap **worst; /* (weights.flagged)                          */
    gsv_residuals_result residuals;
    size_t track;     /* the one whose paths are shown, and ...          */
    gsv_series *near; /* ... its last rows; NULL where there are none    */
    double from;      /* from here on they are                           */
    gsv_smoothed paths;
    gsv_prediction forecast;
    char no_residuals[WHY_ROOM], no_paths[WHY_ROOM], no_forecast[WHY_ROOM];
    char *outside; /* rows that a gp knows nothing of, a line each */
    bool pictures; /* whether there is a gnuplot                   */
    size_t figures, missing, troubles;
    FILE *out;
};

/* --- report_page.c: HTML ---------------------------------------------------
 */

/* A text as it is, whatever is in it: nothing of it becomes markup. */
void page_text(FILE *out, const char *text);
void page_format(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void page_begin(FILE *out, const char *title);
void page_end(FILE *out);
void page_section(FILE *out, const char *id, const char *title);
void page_section_end(FILE *out);

/* A table's first row: names separated by '|'. Cells of numbers: a dash where
 * one is not known. */
void page_table(FILE *out, const char *names);
void page_table_end(FILE *out);
void page_name(FILE *out, const char *text);
void page_number(FILE *out, double x, int figures);

/* Every line of a text as a list's entry; returns how many. */
size_t page_lines(FILE *out, const char *text);

/* A time of the data: a number, or a date. */
enum { TIME_ROOM = 40 };
const char *time_text(const struct report *r, double time,
                      char room[TIME_ROOM]);

/* --- report_verdict.c: whether to trust it ----------------------------------
 */

void put_verdict(struct report *r);

/* How many reasons there are not to trust the fit. */
size_t count_troubles(const struct report *r);

/* --- report_tables.c: what is said in words and numbers ---------------------
 */

int put_facts(const struct report *r);
int put_parameters(struct report *r);
void put_curve_table(const struct report *r);
int put_field_table(const struct report *r, const double *low,
                    const double *high);
void put_forecast_table(const struct report *r);
int put_weights_table(const struct report *r);
int put_residuals_table(const struct report *r);
void put_commands(const struct report *r);

/* --- report_figures.c, report_plots.c, report_series.c: pictures -----------
 */

/* Pixels, and pictures above each other. */
enum { WIDTH = 900, MOST_PANELS = 6 };

/* A picture in the making, as inline SVG in the page's own colours. */
struct figure {
    struct plot plot;
    FILE *to; /* gnuplot's commands */
};

int figure_begin(struct figure *f, int width, int height);

/* Into the page, below id; the caption may have markup, the label none. Where
 * code is not 0, or gnuplot fails, the page says so instead. */
int figure_end(struct report *r, struct figure *f, int code, const char *id,
               const char *label, const char *caption);

/* Marks on the axis of time, where times are dates. */
void figure_dates(const struct report *r, double low, double high, FILE *to);

int draw_curve(struct report *r);
int draw_field(struct report *r);
int draw_data(struct report *r);
int draw_near(struct report *r);
int draw_weights(struct report *r);
int draw_residuals(struct report *r);

#endif
