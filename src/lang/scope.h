/* SPDX-License-Identifier: MIT */
/* The names that a model has declared so far, and the builder that fills a
 * spec statement by statement. */
#ifndef LANG_SCOPE_H
#define LANG_SCOPE_H

#include "lang/message.h"
#include "lang/spec.h"

enum symbol_kind {
    SYMBOL_STATE,
    SYMBOL_COLUMN, /* of the data, that a state is a function of */
    SYMBOL_INPUT,
    SYMBOL_PARAM,
    SYMBOL_CONSTANT,
    SYMBOL_LET,
    SYMBOL_NET,
    SYMBOL_GP,
    SYMBOL_TERMS,
    SYMBOL_EXTERNAL
};

struct symbol {
    const char *name; /* borrowed from the ast */
    enum symbol_kind kind;
    struct place place;
    node value;    /* of a net or gp: at its own arguments  */
    size_t net;    /* of a net or gp: its number in the graph; of terms and
                    * externals, in the spec                              */
    size_t offset; /* of a state or column: its first row   */
    bool equation; /* of a state: seen                      */
    bool reacts;   /* of a state: a reaction changes it     */
    int rank;
    const char *column; /* of a state: what it is a function of, or NULL */
    size_t category;    /* of a param k[series]: its number from 1, else 0 */
};

/* A learned map of a vector. Its numbers stand one after another in the
 * vector of all parameters: see flow.c. */
struct flow {
    const struct expr *call;
    size_t number;              /* in the spec                             */
    size_t size, layers, width; /* components; layers; units of a network  */
    bool timed;                 /* whether it depends on t                 */
    size_t scales;              /* from here on: mean and scale of x and t */
    size_t plain;               /* numbers of layers without a network     */
    size_t net;                 /* the first network, one for each layer   */
    size_t scale;               /* of the result                           */
};

struct builder {
    const struct source *source;
    const struct ast *ast;
    struct spec *spec;
    struct symbol *symbol;
    size_t symbols, capacity;
    struct flow *flow;
    size_t flows, flow_capacity;
    const struct space *space;         /* what indices run over here, or NULL */
    size_t constants;                  /* numbers in all of them */
    const struct category_spec *level; /* (levels) that are known */
    size_t levels;
    bool observing; /* in the arguments of an obs */
};

/* --- scope.c ------------------------------------------------------------ */

const struct symbol *scope_find(const struct builder *b, const char *name);

/* Refuses a name that is taken or reserved. */
int scope_check(const struct builder *b, const char *name, struct place place);

/* Adds a name after this check: any, or that of a declaration. */
int scope_add(struct builder *b, struct symbol symbol);
int scope_declare(struct builder *b, const struct declared *d,
                  enum symbol_kind kind, node value);

/* What a misspelt name most likely is, as "; did you mean 'x'?" or "". The
 * text is written to room. */
const char *scope_hint(const struct builder *b, const char *name, char *room,
                       size_t size);

/* Complains that a name is not declared here: it is misspelt, or declared
 * below. what is "name" or "function"; hint says what to do if no reason is
 * found. */
int scope_unknown(const struct builder *b, const struct expr *e,
                  const char *what, const char *hint);

/* The noise that a name stands for: 0 for dW, k for dWk; false for others. */
bool noise_of(const char *name, size_t *k);

/* --- evaluate.c --------------------------------------------------------- */

/* The expression as a node. */
int evaluate(struct builder *b, const struct expr *e, node *result);

/* The same without looking at indices that run; and a call. */
int evaluate_plainly(struct builder *b, const struct expr *e, node *result);
int evaluate_call(struct builder *b, const struct expr *e, node *result);

/* The expression as one number known now. */
int evaluate_number(struct builder *b, const struct expr *e, double *result);

/* From the first to the last byte of an expression, as far as its line goes. */
struct place expr_span(const struct expr *e);

/* a op b with the shapes checked; e is where to point. */
int combine(struct builder *b, const struct expr *e, char op, node x, node y,
            node *result);

/* "one number", "a vector of 3", "a 3 x 2 matrix". */
const char *shape_text(const struct graph *g, node a, char room[48]);

bool is_function(const char *name);

/* Whether a function goes element by element. */
bool is_elementwise(const char *name);

/* --- element.c ---------------------------------------------------------- */

/* a[i], a[i, j], and ranges of them. */
int evaluate_index(struct builder *b, const struct expr *e, node *result);

/* The number of an element, counted row by row from 0, in a. */
int element_number(struct builder *b, const struct expr *e, node a, double *at);

/* --- index.c ------------------------------------------------------------ */

/* Runs something with an index that goes from 1 to n. */
int with_index(struct builder *b, const char *name, struct place place,
               size_t n, int (*run)(struct builder *b, void *with), void *with);

/* Whether expressions have a value for each of several points, and such an
 * expression: one number for all of them, or a vector. */
bool is_over_points(const struct builder *b);
int evaluate_over(struct builder *b, const struct expr *e, node *result);

/* sum(j in low:high, ...). */
int evaluate_each(struct builder *b, const struct expr *e, node *result);

/* The value of an index that runs here; false for other names. */
bool evaluate_running(const struct builder *b, const char *name, node *result);

/* " for i = 1, j = 3" in messages about one point, else "". */
const char *index_text(const struct builder *b, char room[80]);

/* Refuses what is made of an input's slope: at a row of the data, where noise
 * and observations are evaluated, it has two values. */
int refuse_slope(const struct builder *b, struct place place, node a,
                 const char *what);

/* --- declare.c ---------------------------------------------------------- */

/* The statements that declare a name. */
int declare(struct builder *b, const struct statement *s);

/* Makes room for one more parameter, of no bounds and all zeros. The pointer
 * lasts up to the next one. */
struct param_spec *new_param(struct builder *b, struct place place,
                             const char *name, size_t rows, size_t columns);

/* Refuses more numbers than a model can have; and of the whole text those of
 * params and consts, before any of them is there. */
int check_numbers(const struct builder *b, struct place place, double more);
int check_declared(const struct builder *b);

/* A network without scales: NAME.0.weight, NAME.0.bias and so on; width is
 * (layers + 1). note_net() must follow. */
int add_layers(struct builder *b, const struct declared *name, size_t layers,
               const size_t *width, enum activation act, size_t *net);
int note_net(struct spec *spec, struct net_spec net);

/* A network at the argument, with its inputs and outputs scaled. */
node scaled_net(struct graph *g, size_t net, node argument);

/* The arguments of a net or gp below each other: a vector counts as its
 * elements. */
int read_arguments(struct builder *b, const struct statement *s, node *stacked);

/* --- gp.c --------------------------------------------------------------- */

int declare_gp(struct builder *b, const struct statement *s);

/* The function at the argument. */
node gp_at(const struct spec *spec, size_t gp, node argument);

/* --- external.c --------------------------------------------------------- */

int declare_external(struct builder *b, const struct statement *s);

/* The function at the argument. */
node external_at(const struct spec *spec, size_t external, node argument);

/* --- terms.c ------------------------------------------------------------ */

int declare_terms(struct builder *b, const struct statement *s);

/* The function at other arguments, stacked; e is where to point. */
int terms_at(struct builder *b, const struct expr *e, size_t library,
             node argument, node *result);
void terms_free(struct terms_spec *t);

/* --- state.c ------------------------------------------------------------ */

int declare_state(struct builder *b, const struct statement *s);

/* Refuses columns of the data that something else is read from. */
int columns_are_free(struct builder *b, const struct declared *d);

/* Refuses the columns of time and series. */
int column_is_ordinary(struct builder *b, const struct declared *d);

/* Whether a column is one of those that d is read from: its name, or for a
 * vector its name with a number; and number i of them, yours. */
bool is_column_of(const struct declared *d, const char *column);
char *column_name(const struct declared *d, size_t i);

/* How many columns e stands for, which is c or c[3]. */
int column_size(struct builder *b, const struct expr *e, struct declared *c);

/* Whether a name in an expression is nothing that the text declares. */
bool is_free(const struct builder *b, const char *name);

/* The states as functions of the data, and back. */
int build_maps(struct builder *b);

/* The statement that declares a name, wherever it stands, or NULL. */
const struct statement *find_declaration(const struct builder *b,
                                         const char *name);

/* --- observe.c ---------------------------------------------------------- */

/* All obs and init lines: from the latent states to the first state's law. */
int build_observations(struct builder *b);

/* Marks a state, or refuses one that is a function of data. */
int make_latent(struct builder *b, size_t state, struct place place);

/* The number of arguments, and numbers out of their range (law.h). */
int check_law_arguments(struct builder *b, const struct expr *call, size_t law);
int check_law_numbers(struct builder *b, const struct expr *e, size_t law,
                      size_t argument, node value);

/* Refuses a column that is one of states or inputs, or of time or series. */
int check_others(struct builder *b, const struct declared *d, const char *what);

/* One more column of values, number i of d; and a value as a node. */
int add_value(struct spec *spec, const struct declared *d, size_t i);
node value_leaf(const struct spec *spec, size_t value);

/* --- event.c ------------------------------------------------------------ */

int build_events(struct builder *b);

/* --- random.c ----------------------------------------------------------- */

/* A random effect as a name, whose law is read once all names are there. */
int declare_effect(struct builder *b, const struct statement *s);
int build_effects(struct builder *b);

/* --- integral.c --------------------------------------------------------- */

/* integral(rate), of the call e; and the integrals of all elements, without
 * looking at where they stand. */
int evaluate_integral(struct builder *b, const struct expr *e, node rate,
                      node *result);
int integrate_elements(struct builder *b, struct place place, node rate,
                       node *result);

/* --- init.c ------------------------------------------------------------- */

int build_init(struct builder *b);

/* --- category.c --------------------------------------------------------- */

/* The category that a param is declared with, which is added if it is new; the
 * number of a row as a node, of all numbers. */
int category_of(struct builder *b, const struct declared *d, size_t *category);
node category_number(const struct spec *s, size_t category, node all);

/* Refuses a category as a number, and elements of y other than k[series]. */
int refuse_category(const struct builder *b, const struct expr *e);
int category_index(const struct builder *b, const struct expr *e,
                   const struct symbol *y);

/* --- priors.c ----------------------------------------------------------- */

/* All prior lines, after all that they may be of. */
int build_priors(struct builder *b);

/* --- invert.c ----------------------------------------------------------- */

/* A state as a function of a column of the same size. */
struct state_map {
    node forward;    /* over the state leaf as x                       */
    node inverse;    /* over the leaf as z                             */
    node log_slope;  /* log |det| of the forward map's derivative      */
    node *condition; /* (conditions) over x: positive where it is defined */
    size_t conditions, capacity;
};

/* Goes from the outside of e to the column in it: the inverse, at first z,
 * becomes x; slopes and conditions are added. */
int invert(struct builder *b, const struct expr *e, const char *column,
           struct state_map *m);

/* --- flow.c ------------------------------------------------------------- */

/* Adds the parameters of the flow in a state's map, where there is one. */
int declare_flow(struct builder *b, const struct statement *s);

/* Whether a call is that of a flow, and not of a network with this name. */
bool is_flow(const struct builder *b, const struct expr *e);

/* flow(x) as a node. */
int evaluate_flow(struct builder *b, const struct expr *e, node *result);

/* The same for invert(). */
int undo_flow(struct builder *b, const struct expr *e, struct state_map *m);

/* --- system.c ----------------------------------------------------------- */

/* All equations at once: drift, diffusion and sigma of the spec. */
int build_equations(struct builder *b, const struct ast *ast);

#endif
