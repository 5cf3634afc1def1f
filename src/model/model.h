/* SPDX-License-Identifier: MIT */
/* A model: its spec, the values of its parameters, and the expressions that
 * bring it to unit diffusion. With y = T(x, t),
 *
 *     dY = f~(Y, t) dt + dW
 *
 * and log p(x'|x) = log p(y'|y) + log |det dT/dx| at the later end. Where the
 * noise is such that no T exists (bridged), y is the state of the equations
 * and dY = f~ dt + sigma(Y, t) dW. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "data/safetensors.h"
#include "graph/program.h"
#include "lang/spec.h"

#include "girsanov.h"

/* Linear equations with normal observations (linear.c), over x: the state z of
 * the equations, then the integrals that observations are made of, D of both,
 *
 *     dx = (A x + b) dt + G dW,   y = H x + offset + deviation eps,
 *
 * and event e adds J_e z + j_e to z. All of them are free of x; they may depend
 * on t and on inputs. */
struct linear_form {
    bool is;
    node A, b, G;              /* (D, D), (D, 1), (D, noises)              */
    node H, offset, deviation; /* (observations, D), (observations, 1) two */
    node J, j; /* (events dim, dim), (events dim, 1); 0 without events     */
    char *why; /* where it is not: a clause that says so                   */
};

/* Why equations without noise form no chains of integrals. */
enum no_chain {
    NO_CHAIN_NONE,      /* they do, or none lacks noise                     */
    NO_CHAIN_SILENT,    /* no equation has noise                            */
    NO_CHAIN_DEPENDENT, /* a noise is a combination of those of others      */
    NO_CHAIN_STILL,     /* a state never changes                            */
    NO_CHAIN_CLOCK,     /* a state depends on time alone                    */
    NO_CHAIN_UNREACHED, /* no noise gets to a state, directly or not        */
    NO_CHAIN_LONG,      /* more than LONGEST_CHAIN                          */
    NO_CHAIN_SAME,      /* a state follows the noise as others do           */
    NO_CHAIN_CURVED,    /* a state is not affine in the next one            */
    NO_CHAIN_NOISE,     /* the noise depends on other states than the first */
    NO_CHAIN_JUMPS      /* noise, or what is differentiated, may jump       */
};

/* Coordinates y without noise of their own (chain.h): dy_i = y_next[i] dt. */
struct chain_form {
    size_t *next;   /* (dim), dim where y_i has noise; NULL without chains   */
    double *noise;  /* (dim) 1 where it has, else 0; NULL without chains     */
    size_t *bottom; /* (dim) the state that its chain begins with            */
    size_t longest;
    bool stretched, numerical; /* some bottoms are; by quadrature            */
    node rate;   /* (dim, 1) over z: the bottoms and their rates, unscaled    */
    node sigma;  /* a root of the covariance that their noises share, or 0    */
    node scales; /* (dim, 1) over z: what the noise of y is scaled by; 0     */
                 /* where they share noises                               */
    node still;  /* the drift of y where the noisy ones have none: (dim, 1)   */
    enum no_chain why; /* where noise is singular and there are none */
    size_t state;      /* in whose equation                          */
};

/* One latent state beside one that is observed exactly, whose noises share
 * sources and have no common map to unit diffusion (lone.c): stochastic
 * volatility. The latent one in coordinates w of unit noise, the exact one in
 * coordinates u in which its noise depends on w alone, with independent B, B':
 *
 *     dw = f(w) dt + dB,   du = (...) dt + S(w) dB + sqrt(V(w)) dB'.
 *
 * Given the path of w, u moves by the integral of D, Stratonovich's of S along
 * dw, and a normal number with the variance int V dt. */
enum { LONE_F, LONE_PHI, LONE_D, LONE_S, LONE_V, LONES };
struct lone_form {
    bool is;
    size_t latent, exact; /* the numbers of these states                     */
    bool pulled;          /* D depends on u                                  */
    node table[LONES];    /* over (w, u), each at the number of its state: f, */
                          /* phi = (f^2 + f')/2, D, S, V                     */
    node enter[2];        /* over the data: u and log |du/dx|                */
    node first;           /* over (w, u): log density of the first w         */
    node start[2];        /* of parameters: mean and deviation of that       */
    node range;           /* over (w, u): distances of w from the ends of    */
                          /* its range, or 0                                 */
    node state;           /* over (w, u): the states of the equations        */
};

struct gsv_model {
    struct spec *spec;
    const char **column; /* (dim + inputs + values), of the spec   */
    const char **data;   /* (data_columns), of the spec            */
    size_t data_columns;
    double *value;        /* (spec->parameters)                     */
    node unit_drift;      /* f~(y, t): (dim, 1)                     */
    node state_drift;     /* f~ over z = T^-1(y): (dim, 1)          */
    node stretched_drift; /* of u = U(z, t), over z: (dim, 1)       */
    node unit_state;      /* T(x, t): (dim, 1)                      */
    node data_state;      /* T^-1(y, t): (dim, 1)                   */
    node log_jacobian;    /* log |det dT/dx|                        */
    node domain;          /* (conditions, 1) over x: positive where T is */
                          /* defined, or 0 where it is everywhere   */
    node range;           /* the same of T^-1, over y               */
    node forth[3];        /* T, log |det dT/dx| and T'(x, t) v, over */
                          /* (x; v), a state of 2 dim rows          */
    node back[2];         /* T^-1 and (T^-1)'(y, t) w, over (y; w)  */
    node distance;        /* (conditions, 1) over y from the boundaries of */
                          /* the range, in one dimension; or 0      */
    node steepness;       /* a / distance, where f~ = a / distance + ... */
                          /* at the boundary                        */
    node data_drift;      /* of x itself, over x: (dim, 1)          */
    node data_diffusion;  /* (dim, noises), or (dim, 1) where it is */
                          /* diagonal and x is the state            */
    struct linear_form linear; /* of models with latent states      */
    struct lone_form lone;     /* the same                          */
    struct chain_form chain;   /* of exactly observed ones          */
    bool bridged;              /* whether no T brings it to unit diffusion; */
                               /* also where the noise is singular       */
    bool affine;               /* whether f~ is affine in y              */
    node exact_A, exact_b;     /* of exactly observed states: f~ = A y + b  */
                               /* where A stands still in a gap, or 0    */
    bool learned_noise;        /* whether T depends on parameters        */
    bool inert_functions; /* a network or gp is in an equation without noise */
    bool *noise_input;    /* (inputs) whether the noise depends on it */
    bool *noise_param;    /* (params) the same                      */
    bool *drift_param;    /* (params) whether the drift does        */
    char *text;           /* what it was made from, or ""           */
    gsv_record *record;   /* of a fit, or NULL                      */
    gsv_draws *draws;     /* of a gibbs fit, or NULL                */
    struct tensors state; /* of an optimiser that can be resumed    */
    /* Of gps that were fitted: see posterior.h. */
    struct tensors posterior;
};

/* --- unit.c ------------------------------------------------------------- */

/* Makes the expressions. */
int to_unit_diffusion(struct gsv_model *m);

/* --- chain.c ------------------------------------------------------------ */

/* The same by chains of integrals, where there are any. */
int to_chains(struct gsv_model *m);

/* --- ito.c -------------------------------------------------------------- */

/* Makes data_drift and data_diffusion. */
int to_data_coordinates(struct gsv_model *m);

/* --- linear.c ----------------------------------------------------------- */

/* Makes the linear form, or says why there is none. */
int to_linear_form(struct gsv_model *m);

/* --- lone.c ------------------------------------------------------------- */

/* Makes the form of one latent state beside an exact one, where there is one.
 */
int to_lone_form(struct gsv_model *m);

/* log N(z; mean, deviation^2), element by element. */
node log_normal(struct graph *g, node z, node mean, node deviation);

/* --- linear.c ----------------------------------------------------------- */

/* Whether a is made of any leaves that pass a test, and whether it is affine in
 * all of these together, as its operations show: the derivative of floor() is
 * 0, too. */
typedef bool leaf_test(const struct spec *s, const struct node_info *leaf);
int spec_is_affine(const struct spec *s, node a, leaf_test *test, bool *any,
                   bool *affine);

/* Whether a changes within a gap where no input turns, and whether it does so
 * by a straight line. */
int spec_moves(const struct spec *s, node a, bool *moves, bool *straight);

/* --- whiten.c ----------------------------------------------------------- */

/* The equations' noise at the states X (dim, 1): a square root sigma of its
 * covariance, without the shape of a stretched noise; and with it sigma^-1 v
 * and log |det sigma|. g is the model's graph or a copy of it. */
node noise_root(const struct spec *s, struct graph *g, node X);
node noise_inverse(const struct spec *s, struct graph *g, node X, node v,
                   node *log_det);

/* Whether the noise is made of networks, too. */
bool noise_has_networks(const gsv_model *m);

/* --- usable.c ----------------------------------------------------------- */

/* Fails where estimators with points of latent states cannot run; a Kalman
 * filter needs none. */
int check_points(const gsv_model *m);

/* Fails where a state that is a column of the data has no density: no noise
 * reaches it, or only after too many integrations (reach.h). */
int refuse_unreached(const gsv_model *m);

/* --- model.c ------------------------------------------------------------ */

/* Parses a text with the levels of its categories. */
gsv_model *model_parse(const char *text, const char *name, size_t levels,
                       const struct category_spec *level);

/* The values of parameters that both have, by their names. */
void model_copy_values(const gsv_model *from, gsv_model *to);

/* A copy, with '?' for what is not UTF-8: a fit takes nothing else, but in a
 * text's comments and in file names there may be anything. */
char *utf8_string(const char *text);

/* Of a bridged model: fails with the place of its noise, why it has no map, and
 * what to do. */
int refuse_noise(const gsv_model *m, const char *remedy);

/* Fails where the covariance of the noise has no inverse, with the place of an
 * equation that lacks a noise. For all that needs the inverse. */
int refuse_singular(const gsv_model *m);

/* Fails where it has none and the equations form no chains of integrals either,
 * with the place of an equation: for exact data of the states. */
int refuse_chainless(const gsv_model *m);

/* Whether exact data of equations that form no chains have a density that the
 * guided filter can estimate. */
bool chain_is_guided(const gsv_model *m);

/* Why equations form no chains, as a clause about "this state". */
const char *chain_reason(const gsv_model *m);

/* How noise reaches the states (reach.h): uses (dim, dim), order (dim). */
int model_reach(const gsv_model *m, bool *uses, size_t *order);

/* What scores of paths (guided/score.h) are not made for in a model, or NULL:
 * gradients are differences then, for so many numbers. */
enum { MOST_DIFFERENCES = 256 };
const char *model_lacks_scores(const gsv_model *m);

/* Fails where there are more of them. */
int refuse_unscored(const gsv_model *m);

/* Fails where anything but reactions moves a state: for a scheme in whole
 * numbers. */
int refuse_equations(const gsv_model *m, const char *scheme);

/* Refuses events, for estimators whose paths do not jump. */
int refuse_events(const gsv_model *m, const char *method);

/* Refuses first states that are not normal, for estimators that know no other
 * law. */
int refuse_first_laws(const gsv_model *m, const char *method);

/* Fails with a sentence where a model has random effects and gps. */
int refuse_effects_of_gps(const gsv_model *m);

/* Fails where an obs has integrals in another way than poisson(integral(r)),
 * with its place: for estimators that know only this one. */
int refuse_integrals(const gsv_model *m, const char *estimator);

/* Marks the inputs and parameters (params) that an expression is made of; the
 * values of observations are inputs, too. */
int spec_leaves(const struct spec *s, node root, bool *input, bool *param);

/* A node of the model's graph at points, to out (size, P). use_double: networks
 * in double. */
int model_evaluate(const gsv_model *m, node what, const struct points *in,
                   bool use_double, double *out);

/* The same of a graph with the model's parameters, such as a copy that grew. */
int model_evaluate_in(const gsv_model *m, const struct graph *g, node what,
                      const struct points *in, bool use_double, double *out);

/* Whether T jumps where a held input turns: the end of a step and the start of
 * the next then are different y of the same x. */
bool model_map_jumps(const gsv_model *m);

#endif
