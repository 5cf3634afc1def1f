/* SPDX-License-Identifier: MIT */
/* The law of a series' random effects at values of the parameters: u = mean +
 * root z, with z standard normal. */
#ifndef MODEL_EFFECTS_H
#define MODEL_EFFECTS_H

#include "model/model.h"

struct effect_law {
    const struct spec *spec;
    size_t n; /* numbers of all effects */
    struct program *program;
    struct uniforms uniforms;
    struct workspace space;
    double *mean;    /* (n)                 */
    double *root;    /* (n, n) lower        */
    double log_root; /* log of its determinant */
    double *bar;     /* of the program's uniforms */
    double **part;   /* (2 effects) the bars of outputs */
    double *part_bar;
};

/* With a gradient where it is asked for. Free also after a failure. */
int effect_law_init(struct effect_law *e, const gsv_model *m);
void effect_law_free(struct effect_law *e);

/* The law at values; fails where a deviation is not positive and finite. */
int effect_law_set(struct effect_law *e, const double *values);

/* z (n) of u (n), and log p(u). */
double effect_density(const struct effect_law *e, const double *u, double *z);

/* u (n) = mean + root z. */
void effect_draw(const struct effect_law *e, const double *z, double *u);

/* weight times the derivatives of log p(u) to mean_bar (n) and root_bar (n, n),
 * from z of u; room (n). */
void effect_density_vjp(const struct effect_law *e, const double *z,
                        double weight, double *mean_bar, double *root_bar,
                        double *room);

/* From these to the gradient (values), which is added to. */
void effect_law_vjp(struct effect_law *e, const double *mean_bar,
                    const double *root_bar, double *gradient);

/* Effects (n) into the values of a model, and back. */
void effects_put(const struct spec *s, const double *u, double *values);
void effects_get(const struct spec *s, const double *values, double *u);

/* A model's own values of its effects become their means. */
int effects_to_mean(gsv_model *m);

/* The name of number i of u, to room. */
const char *effect_name(const struct spec *s, size_t i, char room[120]);

#endif
