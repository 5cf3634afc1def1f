/* SPDX-License-Identifier: MIT */
/* Shared by the files of report. */
#ifndef REPORT_H
#define REPORT_H

#include "cli.h"

/* Why a part of the page is empty. */
enum { WHY_ROOM = 400 };

/* All results on the page, computed before it is written. */
struct report {
    const struct args *args;
    const gsv_model *model;
    const gsv_record *record;
    const gsv_series *data;
    gsv_functions *functions; /* or NULL                                 */
    bool dates;               /* times are days since 1970-01-01         */
    bool latent;              /* some state has no column in the data    */
    gsv_options estimator;
    gsv_result weights;
    const gsv_gap **worst; /* (weights.flagged)                          */
    gsv_residuals_result residuals;
    size_t track;     /* whose paths are drawn                           */
    gsv_series *near; /* its last rows; NULL if there are none           */
    double from;      /* start time of the figure                        */
    gsv_smoothed paths;
    gsv_prediction forecast;
    gsv_physics_result physics;
    char no_residuals[WHY_ROOM], no_paths[WHY_ROOM], no_forecast[WHY_ROOM];
    char no_physics[WHY_ROOM];
    char *outside; /* warnings of rows outside the grid of a gp */
    bool pictures; /* gnuplot is installed                      */
    size_t figures, missing, troubles;
    FILE *out;
};

/* --- report_page.c ---------------------------------------------------------
 */

/* A text, escaped. */
void page_text(FILE *out, const char *text);

/* The text that a function writes: yours; NULL after a message. */
char *captured(const struct report *r,
               void (*put)(const struct report *r, FILE *to));

void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

/* The first row of a table: names separated by '|'. A number that is NaN is a
 * dash. */
void page_table(FILE *out, const char *names);
void page_table_end(FILE *out);
void page_name(FILE *out, const char *text);
void page_number(FILE *out, double x, int figures);

/* Each line of a text as an entry of a list. */
void page_lines(FILE *out, const char *text);

/* A time of the data: a number, or a date. */
enum { TIME_ROOM = 40 };
const char *time_text(const struct report *r, double time,
                      char room[TIME_ROOM]);

/* --- report_verdict.c ------------------------------------------------------
 */

void put_verdict(struct report *r);

/* How many reasons there are not to trust the fit. */
size_t count_troubles(const struct report *r);

/* --- report_tables.c -------------------------------------------------------
 */

int put_facts(struct report *r);
int put_parameters(struct report *r);
void put_curve_table(const struct report *r);
int put_field_table(const struct report *r, const double *low,
                    const double *high);
void put_forecast_table(const struct report *r);
int put_weights_table(const struct report *r);
int put_residuals_table(const struct report *r);
int put_commands(struct report *r);

/* --- report_effects.c ------------------------------------------------------
 */

bool has_effects(const struct report *r);
int put_effects(struct report *r);

/* --- report_physics.c ------------------------------------------------------
 */

int put_physics(struct report *r);

/* --- report_figures.c, report_plots.c, report_series.c ---------------------
 */

/* Width in pixels, and most panels of a figure. */
enum { WIDTH = 900, MOST_PANELS = 6 };

/* A figure as inline SVG in the colours of the page. */
struct figure {
    struct plot plot;
    FILE *to; /* gnuplot's commands */
};

int figure_begin(struct figure *f, int width, int height);

/* Writes the figure into the page; the caption may have markup, the label none.
 * If code is not 0, or gnuplot fails, the page has the reason instead. */
int figure_end(struct report *r, struct figure *f, int code, const char *id,
               const char *label, const char *caption);

/* Marks on the time axis, if times are dates. */
void figure_dates(const struct report *r, double low, double high, FILE *to);

int draw_curve(struct report *r);
int draw_field(struct report *r);
int draw_data(struct report *r);
int draw_near(struct report *r);
int draw_weights(struct report *r);
int draw_residuals(struct report *r);

#endif
