/* SPDX-License-Identifier: MIT */
/* What a model's text says, with names looked up and shapes checked: tables of
 * its states, inputs and parameters, and its drift and diffusion as nodes of
 * one graph. */
#ifndef LANG_SPEC_H
#define LANG_SPEC_H

#include "base/kernel.h"
#include "graph/graph.h"
#include "lang/ast.h"
#include "lang/law_list.h"

#include "girsanov.h"

struct param_spec {
    char *name;
    struct place place; /* of its declaration; line 0 without a text  */
    int rank;
    size_t rows, columns;
    size_t offset; /* in the vector of all parameters, row by row      */
    double *start; /* (rows, columns)                                  */
    enum bound_kind bound;
    double low, high;
    bool lower;      /* triangular with a positive diagonal              */
    size_t fan_in;   /* of a network's weight: its start is drawn; else 0 */
    bool given;      /* of an external: where it starts is not drawn      */
    bool scale;      /* of a network's inputs and outputs, or a grid's   */
                     /* place: not learned                               */
    bool gp;         /* of a function on a grid                          */
    bool term;       /* the coefficient of a term: see struct terms_spec */
    size_t category; /* k[series]: its number from 1, else 0             */
    bool effect;     /* random: each series has its own; also a scale    */
};

/* A function that is a sum of terms with coefficients. These are parameters of
 * one number each, those of the first output first. */
struct terms_spec {
    char *name;
    node argument; /* (arguments, 1)                           */
    size_t param;  /* number of the first coefficient          */
    size_t offset; /* of its number among all parameters       */
    size_t params; /* of all outputs                           */
    size_t outputs;
    size_t *count; /* (outputs) of the coefficients of each    */
    char **text;   /* (params) the terms, as the language has them */
    size_t capacity;
    size_t from, to; /* bytes of the model's text: first to last term */
    const struct statement *statement; /* while the text is read   */
};

struct input_spec {
    char *name;
    struct place place;
    bool hold;
    bool category; /* its value is the number of a level, from 1 */
};

/* What param k[series] or k[group] has one number for each of. */
struct category_spec {
    char *name;    /* of the column, or "series": of the labels           */
    size_t input;  /* its number among the inputs                         */
    size_t levels; /* 0: not known yet, and parameters have one number    */
    char **label;  /* (levels)                                            */
};

extern const char SERIES_NAME[]; /* "series" */

/* A network where it was declared: the graph's, by the same number. */
struct net_spec {
    node argument, value;
    bool flow; /* one within a flow: without scales, and not looked at */
};

/* The names of polynomials by their degree, 1 to GP_DEGREE. */
extern const char *const polynomial_name[GP_DEGREE + 1];

/* A Gaussian-process function: the graph's, by the same number. The numbers
 * that it is made of stand in the vector of all parameters from here on. */
struct gp_spec {
    node argument;
    enum kernel kernel;
    bool map;         /* to be learned at the posterior's mode              */
    bool placed;      /* the text says where the grid is, not the data      */
    size_t value;     /* (outputs, nodes) start at 0                        */
    size_t weight;    /* (outputs, features), where it has a polynomial     */
    size_t length;    /* (axes) scales of the kernel                        */
    size_t amplitude; /* (outputs)                            */
    size_t polynomial_amplitude; /* (outputs), where it has a polynomial */
    size_t box;                  /* low (axes), then high (axes)         */
};

/* A learned map of the data: what it is given, and where the numbers stand
 * that scale it: mean (size), scale (size), and where it depends on t the mean
 * and scale of time. */
struct flow_spec {
    node argument; /* (size, 1) over x */
    size_t size, offset;
    bool timed;
};

/* A function that the caller gives. Its numbers stand in the vector of all
 * parameters from `offset` on, one array after the other. */
struct external_spec {
    char *name;
    size_t inputs, outputs;
    size_t offset, count; /* of its numbers                                  */
    bool sized;           /* the text says how many                          */
    bool weights;         /* they are learned as those of networks           */
    size_t to;            /* byte of the text where it can be said           */
    struct shared_callback *given; /* or NULL; models may share it */
    struct place place;
};

enum law {
#define LAW_MEMBER(ID, ...) LAW_##ID,
    LAW_ROWS(LAW_MEMBER)
#undef LAW_MEMBER
        LAW_COUNT
};

enum { LAW_ARGUMENTS = 3 };

/* obs VALUE ~ law(...): the values stand in the graph as inputs after the
 * model's own, so that the log density is an expression like others. A missing
 * cell removes its whole obs from that row. */
struct obs_spec {
    enum law law;
    size_t value, values; /* its columns: spec->value_column[value ...]      */
    node argument[LAW_ARGUMENTS];
    node zero;          /* of zeroinflated(p, ...): p, else 0                 */
    node log_density;   /* over states, t, inputs, values, integrals; scalar  */
    bool integrated;    /* whether it is made of integrals                    */
    struct place place; /* of the law                                         */
};

/* integral(e) of an obs: since the row before. It stands in the graph as input
 * number spec->inputs + spec->values + its own number. */
struct integral_spec {
    node rate; /* e: one number over states, t and inputs */
    struct place place;
};

/* event STATE += jump: at every row in which its column has a value, after what
 * was observed there, jump is added to z. Events of one row act together: every
 * jump is that of the state before them. */
struct event_spec {
    size_t value; /* its column: spec->value_column[value], after those of */
                  /* obs; events may share one. As an input of the graph   */
                  /* it has the number spec->inputs + value                */
    node jump;    /* (dim, 1) over z, t, inputs and that column's value    */
    struct place place;
};

/* random NAME ~ normal(mean, root): a vector that each series draws once. The
 * numbers of all effects form one vector u, mean + root z with z standard
 * normal; those of one line follow each other. */
struct effect_spec {
    size_t param;       /* spec->param[param]: where its values stand */
    size_t offset;      /* in u                                       */
    node mean;          /* (size, 1)                                  */
    node root;          /* (size, size), lower                        */
    struct place place; /* of its law                            */
};

/* The law of one state at the first time of a series. */
struct first_spec {
    enum law law;
    node argument[LAW_ARGUMENTS]; /* scalars of parameters and numbers */
    struct place place;           /* of the law in its init            */
};

/* In drift and diffusion already: kept for simulations in whole numbers. The
 * diffusion's last columns are those of the reactions. */
struct reaction_spec {
    node rate;      /* scalar, over z            */
    double *change; /* (dim) when it happens     */
    char *text;     /* its two sides, as written */
    struct place place;
};

/* prior NAME ~ law(numbers). */
struct prior_spec {
    gsv_prior law; /* its name is that below                        */
    char *name;    /* a parameter, an element of one, or a network  */
    size_t line;
};

/* Why no map brings a noise to unit diffusion. */
enum no_map {
    NO_MAP_MATRIX,   /* a matrix before it depends on the state          */
    NO_MAP_OTHERS,   /* it depends on other states than its own          */
    NO_MAP_NOISES,   /* noises of one state depend on it in two ways     */
    NO_MAP_FUNCTION, /* it is made of a network or gp of the state       */
    NO_MAP_SHAPE,    /* not positive and finite where the search looked  */
    NO_MAP_JUMPS,    /* made of comparisons, or of functions that jump   */
    NO_MAP_REACTION, /* the root of a reaction's rate                    */
    NO_MAP_MISSING,  /* a row has no noise                               */
    NO_MAP_DEPENDENT /* a row's is a combination of those of other rows  */
};

/* How the equations' noise becomes that of unit diffusion. */
enum noise_kind {
    NOISE_ADDITIVE,  /* sigma(t): without the state                           */
    NOISE_STRETCHED, /* shape(z) sigma(t): each state is stretched by itself  */
    NOISE_BRIDGED,   /* sigma(z, t), and no map that brings it there          */
    NOISE_SINGULAR   /* a row has no noise, or what other rows have: no       */
                     /* inverse of its covariance, and no sigma               */
};

struct spec {
    struct graph *graph;
    char *source_name; /* of the text, for messages; NULL without one */
    char **column;     /* (dim): the data's columns of the states */
    size_t dim, column_capacity;
    struct param_spec *param;
    size_t params, param_capacity;
    size_t parameters; /* numbers in all of them */
    struct input_spec *input;
    size_t inputs, input_capacity;
    struct net_spec *net; /* (graph->nets) */
    size_t nets, net_capacity;
    struct terms_spec *terms;
    size_t libraries, library_capacity;
    struct flow_spec *flow;
    size_t flows, flow_capacity;
    struct gp_spec *gp; /* (graph->gps) */
    size_t gps, gp_capacity;

    struct external_spec *external; /* (graph->calls) */
    size_t externals, external_capacity;

    struct category_spec *category;
    size_t categories, category_capacity;
    struct prior_spec *prior;
    size_t priors, prior_capacity;

    /* The states as functions of the data, z = Z(x, t), over the state leaf
     * that stands for x; and back, over the leaf that stands for z. The domain
     * is positive where Z is defined, in as many rows as there are conditions,
     * or 0 where it is defined everywhere. */
    bool mapped;           /* whether Z is anything but z = x */
    node state_of_data;    /* (dim, 1)                        */
    node data_of_state;    /* (dim, 1)                        */
    node map_log_jacobian; /* log |det dZ/dx|                 */
    node map_domain;       /* (conditions, 1) over x, or 0    */

    /* Noisy observations. A state is latent where an obs or an init names it:
     * then the data have no column of it. */
    bool *latent; /* (dim)                                           */
    struct place latent_place; /* what made the first of them latent */
    struct obs_spec *obs;
    size_t observations, obs_capacity;
    char **value_column; /* (values) the data's columns of all obs; the */
                         /* trials of binomials may be there again; then */
                         /* those of events, each once                   */
    size_t values, value_capacity;
    size_t obs_values; /* those of obs: the values before this number   */
    struct event_spec *event;
    size_t events, event_capacity;
    struct effect_spec *effect;
    size_t effects, effect_capacity;
    size_t effect_size; /* numbers of all of them */
    struct integral_spec *integral;
    size_t integrals, integral_capacity;
    /* The law of the first state, independent from state to state; of a latent
     * one without an init it is wide: normal with mean 0, deviation 10. Made of
     * parameters and numbers. */
    struct first_spec *first;       /* (dim)                         */
    node init_mean, init_deviation; /* (dim, 1) of these laws        */
    node init_log_density; /* of all latent states over z, scalar: -inf where */
                           /* a law does not reach; 0 where all are normal    */
    bool init_timed;  /* the law holds at init_time, one for all states, and  */
    double init_time; /* not at the first row of a series                     */

    /* The equations, over the leaf that stands for z. */
    struct place *equation_place; /* (dim), or NULL without a text */
    node drift;                   /* (dim, 1) */
    struct reaction_spec *reaction;
    size_t reactions, reaction_capacity;
    node rates;                /* (reactions, 1), or 0                       */
    bool reacts_only;          /* whether reactions alone move the states;   */
    struct place moving_place; /* else an equation that moves one, too       */
    bool diagonal;
    size_t noises;
    node diffusion; /* (dim, 1) where diagonal, else (dim, noises); of a  */
                    /* model without any noise, one column of zeros       */

    /* dz = f dt + shape(z, t) sigma(t) dW: each state by itself is stretched,
     * u = U(z, t) with dU/dz = 1 / shape, and y = sigma(t)^-1 u. */
    enum noise_kind noise;
    enum no_map no_map; /* where NOISE_BRIDGED or NOISE_SINGULAR: why, and of */
    struct place no_map_place; /* which noise or equation                     */
    node sigma; /* a square root of the covariance: (dim, 1) where diagonal,  */
                /* else (dim, dim); of NOISE_BRIDGED it depends on the state, */
                /* of NOISE_SINGULAR it is 0                                  */
    node shape; /* (dim, 1), or 0 where it is 1              */
    node stretch;        /* U over z, (dim, 1), or 0 where it is z    */
    node unstretch;      /* its inverse over u                        */
    node stretch_domain; /* (conditions, 1) over z: positive where U is */
                         /* defined, or 0 where it is everywhere      */
    node stretch_range;  /* the same of its inverse, over u           */
    bool numerical;      /* whether U is a quadrature somewhere       */
    bool curved;         /* whether conditions of a range may have no zero */
};

/* Where the numbers stand that scale a network's inputs and outputs,
 *
 *     f(x) = output_mean + output_scale net((x - input_mean) / input_scale):
 *
 * in this order, right after its weights. */
size_t net_scales(const struct graph *g, size_t net);

/* The parameter that a number of the vector of all parameters belongs to. */
size_t spec_param_at(const struct spec *s, size_t number);

/* What the noise is made of: sigma, or where that is none the diffusion. */
node spec_noise(const struct spec *s);

/* Whether any state is latent. */
bool spec_is_latent(const struct spec *s);

/* The number of states that are not in the data. */
size_t spec_latent(const struct spec *s);

/* The number of the integral that a node is, or spec->integrals; and those that
 * it is made of: used (integrals) is added to, unless it is NULL. */
size_t spec_integral(const struct spec *s, node a);
int spec_integrals_used(const struct spec *s, node a, bool *used, bool *any);

/* Whether an obs counts events, poisson(integral(r)), and nothing else; then
 * the number of its integral. */
bool obs_is_process(const struct spec *s, const struct obs_spec *o,
                    size_t *integral);

/* The category of this name, or spec->categories; whether the levels of all are
 * known; and the label of an element of a parameter, or NULL. */
size_t spec_category(const struct spec *s, const char *name);
bool spec_is_bound(const struct spec *s);
const char *spec_label(const struct spec *s, const struct param_spec *p,
                       size_t element);

/* Parses and builds, or fails with a message. The second one knows the levels
 * of categories. */
struct spec *spec_new(const struct source *source);
struct spec *spec_new_levels(const struct source *source, size_t levels,
                             const struct category_spec *level);
void spec_free(struct spec *spec);

/* Whether it has weights to learn: of networks, or of external functions that
 * are like them; and whether it has any functions but formulas. */
bool spec_has_weights(const struct spec *s);
bool spec_has_functions(const struct spec *s);

/* --- external.c --------------------------------------------------------- */

/* A copy of a callback that several models may use; the last one releases it.
 */
struct shared_callback *callback_share(const gsv_callback *c);
struct shared_callback *callback_use(struct shared_callback *c);
void callback_drop(struct shared_callback *c);

/* Gives an external function, which is used as well by whoever gives it. */
void external_give(struct spec *s, size_t external, struct shared_callback *c);

/* The same functions that another spec has, by their names. */
void externals_copy(const struct spec *from, struct spec *to);

/* Fails where an external function was not given. */
int externals_refuse(const struct spec *s);

#endif
