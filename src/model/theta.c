/* SPDX-License-Identifier: MIT */
/* Values inside their bounds as a vector without bounds, and back:
 *
 *     > low       p = low + exp(theta)
 *     < high      p = high - exp(theta)
 *     in (l, h)   p = l + (h - l) sigmoid(theta)
 *     lower       the diagonal by exp, below it as it is, above it nothing
 *
 * The scales of networks are not in it: they are set from data. */
#include "model/theta.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/effects.h"

/* How element i of a parameter is kept inside its bounds. */
enum map { MAP_NONE, MAP_ABOVE, MAP_BELOW, MAP_BETWEEN, MAP_ABSENT };

static enum map map_of(const struct param_spec *p, size_t i)
{
    static const enum map map[] = {[BOUND_NONE] = MAP_NONE,
                                   [BOUND_ABOVE] = MAP_ABOVE,
                                   [BOUND_BELOW] = MAP_BELOW,
                                   [BOUND_BETWEEN] = MAP_BETWEEN};
    if (p->scale) return MAP_ABSENT;
    if (!p->lower) return map[p->bound];
    size_t row = i / p->columns, column = i % p->columns;
    return column > row ? MAP_ABSENT : column == row ? MAP_ABOVE : MAP_NONE;
}

static double low_of(const struct param_spec *p)
{
    return p->lower ? 0.0 : p->low;
}

static double to_theta(const struct param_spec *p, enum map map, double v)
{
    switch (map) {
    case MAP_ABOVE: return log(v - low_of(p));
    case MAP_BELOW: return log(p->high - v);
    case MAP_BETWEEN: return log((v - p->low) / (p->high - v));
    case MAP_NONE:
    case MAP_ABSENT: break;
    }
    return v;
}

/* Rounding must not put a value on its bound, nor overflow take it away. */
static double inside(double v, double low, double high)
{
    return fmin(fmax(v, nextafter(low, INFINITY)), nextafter(high, -INFINITY));
}

static double from_theta(const struct param_spec *p, enum map map, double x)
{
    double low = low_of(p), high = p->high;
    switch (map) {
    case MAP_ABOVE: return inside(low + exp(x), low, INFINITY);
    case MAP_BELOW: return inside(high - exp(x), -INFINITY, high);
    case MAP_BETWEEN:
        return inside(low + (high - low) / (1.0 + exp(-x)), low, high);
    case MAP_NONE:
    case MAP_ABSENT: break;
    }
    return x;
}

/* dp/dtheta from the value. */
static double slope(const struct param_spec *p, enum map map, double v)
{
    switch (map) {
    case MAP_ABOVE: return v - low_of(p);
    case MAP_BELOW: return v - p->high;
    case MAP_BETWEEN: return (v - p->low) * (p->high - v) / (p->high - p->low);
    case MAP_NONE:
    case MAP_ABSENT: break;
    }
    return 1.0;
}

/* Runs over every free number: j in theta, v in the values. */
#define EACH_FREE(m, BODY)                                                     \
    for (size_t q = 0, j = 0; q < (m)->spec->params; q++) {                    \
        const struct param_spec *p = &(m)->spec->param[q];                     \
        for (size_t i = 0; i < p->rows * p->columns; i++) {                    \
            enum map map = map_of(p, i);                                       \
            size_t v = p->offset + i;                                          \
            if (map == MAP_ABSENT) continue;                                   \
            BODY;                                                              \
            j++;                                                               \
        }                                                                      \
    }

/* Most numbers are weights, which are themselves in theta. */
static bool is_plain(const struct param_spec *p)
{
    return !p->scale && !p->lower && p->bound == BOUND_NONE;
}

/* Runs over parameters: plain ones as a whole, the others' free numbers. n is
 * the length of a plain one. */
#define EACH_PARAM(m, PLAIN, BODY)                                             \
    for (size_t q = 0, j = 0; q < (m)->spec->params; q++) {                    \
        const struct param_spec *p = &(m)->spec->param[q];                     \
        size_t n = p->rows * p->columns, v = p->offset;                        \
        if (is_plain(p)) {                                                     \
            PLAIN;                                                             \
            j += n;                                                            \
            continue;                                                          \
        }                                                                      \
        for (size_t i = 0; i < n; i++, v++) {                                  \
            enum map map = map_of(p, i);                                       \
            if (map == MAP_ABSENT) continue;                                   \
            BODY;                                                              \
            j++;                                                               \
        }                                                                      \
    }

size_t gsv_theta_size(const gsv_model *m)
{
    if (ANY_NULL(m)) return 0;
    size_t n = 0;
    EACH_FREE(m, (void)v; n = j + 1)
    return n;
}

void gsv_theta_get(const gsv_model *m, double *theta)
{
    if (ANY_NULL(m, theta)) return;
    EACH_PARAM(m, memcpy(theta + j, m->value + v, n * sizeof *theta),
               theta[j] = to_theta(p, map, m->value[v]))
}

void gsv_theta_set(gsv_model *m, const double *theta)
{
    if (ANY_NULL(m, theta)) return;
    EACH_PARAM(m, memcpy(m->value + v, theta + j, n * sizeof *theta),
               m->value[v] = from_theta(p, map, theta[j]))
}

static void add(size_t n, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

void gsv_theta_vjp(const gsv_model *m, const double *p_bar, double *theta_bar)
{
    if (ANY_NULL(m, p_bar, theta_bar)) return;
    EACH_PARAM(m, add(n, p_bar + v, theta_bar + j),
               theta_bar[j] += p_bar[v] * slope(p, map, m->value[v]))
}

void theta_places(const gsv_model *m, size_t *place)
{
    EACH_FREE(m, place[j] = v)
}

void theta_slopes(const gsv_model *m, double *slopes)
{
    EACH_FREE(m, slopes[j] = slope(p, map, m->value[v]))
}

double theta_value(const gsv_model *m, size_t number, double theta)
{
    double value = NAN;
    EACH_FREE(m, (void)v; if (j == number) value = from_theta(p, map, theta))
    return value;
}

bool theta_is_within(const gsv_model *m, size_t number, double value)
{
    bool within = false;
    EACH_FREE(m, (void)v;
              if (j == number) within = isfinite(to_theta(p, map, value)))
    return within;
}

/* --- Setting by name ---------------------------------------------------- */

static const struct param_spec *find(const gsv_model *m, const char *name,
                                     size_t length)
{
    for (size_t i = 0; i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        if (strlen(p->name) == length && !strncmp(p->name, name, length))
            return p;
    }
    return NULL;
}

static int unknown(const gsv_model *m, const char *name)
{
    char known[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < m->spec->params; i++) {
        const char *other = m->spec->param[i].name;
        if (m->spec->param[i].scale) continue;
        if (used + strlen(other) + 8 > sizeof known) {
            strcat(known, ", ...");
            break;
        }
        used += (size_t)sprintf(known + used, "%s%s", used ? ", " : "", other);
    }
    return fail(GSV_BAD_INPUT, "there is no parameter '%s'; the model has: %s",
                name, *known ? known : "none");
}

/* The parameter of a name, and where its element begins: NULL without one.
 * The names of coefficients of terms have brackets of their own. */
static const struct param_spec *find_named(const gsv_model *m, const char *name,
                                           const char **bracket)
{
    const struct param_spec *p = find(m, name, strlen(name));
    *bracket = p ? NULL : strchr(name, '[');
    return *bracket ? find(m, name, (size_t)(*bracket - name)) : p;
}

/* "[a]" after a name as the element of the series or level a. */
static int labelled(const struct spec *s, const struct param_spec *p,
                    const char *name, const char *text, size_t *i)
{
    size_t n = strlen(text);
    for (*i = 0; *i < p->rows; ++*i) {
        const char *label = spec_label(s, p, *i);
        if (label && n == strlen(label) + 2 && text[n - 1] == ']' &&
            !strncmp(text + 1, label, n - 2))
            return 0;
    }
    return fail(GSV_BAD_INPUT,
                "'%s' is not a number of '%s', which has one for each %s", name,
                p->name, s->category[p->category - 1].name);
}

/* "[2]" or "[1,2]" after a name as an element's number. */
static int element(const gsv_model *m, const struct param_spec *p,
                   const char *name, const char *text, size_t *i)
{
    if (p->category) return labelled(m->spec, p, name, text, i);
    char *end;
    unsigned long row = strtoul(text + 1, &end, 10), column = 1;
    bool whole = p->rank < 2 || *end == ',';
    if (p->rank == 2 && whole) column = strtoul(end + 1, &end, 10);
    if (!whole || strcmp(end, "]") || !row || row > p->rows || !column ||
        column > p->columns)
        return fail(GSV_BAD_INPUT,
                    "'%s' is not an element of '%s', which is %zu x %zu", name,
                    p->name, p->rows, p->columns);
    *i = (row - 1) * p->columns + column - 1;
    return 0;
}

static int check_value(const struct param_spec *p, size_t i, double v)
{
    enum map map = map_of(p, i);
    double low = map == MAP_ABOVE ? low_of(p) : p->low;
    if (!isfinite(v))
        return fail(GSV_BAD_INPUT, "'%s' cannot be %g", p->name, v);
    bool zero = map == MAP_ABSENT && !p->scale;
    if (zero ? v == 0.0 : v > low && v < p->high) return 0;
    if (zero)
        return fail(GSV_BAD_INPUT,
                    "'%s' is lower triangular: above its diagonal it is 0 and "
                    "cannot be %g",
                    p->name, v);
    return fail(GSV_BAD_INPUT, "%g is outside of the bounds of '%s' (%g, %g)",
                v, p->name, low, p->high);
}

/* Element i of count when n values are given: one stands for all of them, or,
 * as in a model's text, for the diagonal of a lower matrix. */
static double value_for(const struct param_spec *p, size_t count, size_t n,
                        const double *value, size_t i)
{
    if (n > 1) return value[i];
    return count > 1 && p->lower && i % (p->columns + 1) ? 0.0 : value[0];
}

enum gsv_status gsv_model_set(gsv_model *m, const char *name, size_t n,
                              const double *value)
{
    if (ANY_NULL(m, name, value)) return GSV_BAD_INPUT;
    const char *bracket;
    const struct param_spec *p = find_named(m, name, &bracket);
    size_t first = 0;
    if (!p) return unknown(m, name);
    size_t count = bracket ? 1 : p->rows * p->columns;
    if (bracket && element(m, p, name, bracket, &first)) return GSV_BAD_INPUT;
    if (n != 1 && n != count)
        return fail(GSV_BAD_INPUT, "'%s' has %zu %s, but %zu values are given",
                    name, count, count == 1 ? "element" : "elements", n);
    for (size_t i = 0; i < count; i++)
        if (check_value(p, first + i, value_for(p, count, n, value, i)))
            return GSV_BAD_INPUT;
    for (size_t i = 0; i < count; i++)
        m->value[p->offset + first + i] = value_for(p, count, n, value, i);
    if (p->gp) tensors_free(&m->posterior); /* no longer the posterior of it */
    return p->effect ? 0 : effects_to_mean(m);
}

/* Whether a parameter is one of the network or gp `name`: name.0.weight, ...;
 * or a coefficient of the terms `name`, or of their output `name[2]`. */
static bool is_of_net(const struct param_spec *p, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(p->name, name, n)) return false;
    bool dot = p->name[n] == '.', output = p->name[n] == '[';
    return p->term ? dot || output : (p->fan_in || p->gp || p->given) && dot;
}

int theta_select(const gsv_model *m, const char *name, bool *chosen)
{
    const char *bracket;
    const struct param_spec *named = find_named(m, name, &bracket);
    size_t only = 0;
    bool any = false;
    if (named && bracket && element(m, named, name, bracket, &only))
        return GSV_BAD_INPUT;
    EACH_FREE(m, {
        bool is = named ? p == named && (!bracket || v == p->offset + only)
                        : is_of_net(p, name);
        if (is) chosen[j] = any = true;
    })
    return any ? 0 : unknown(m, name);
}

int theta_select_all(const gsv_model *m, size_t names, const char *const *name,
                     bool *chosen)
{
    int status = 0;
    for (size_t i = 0; !status && i < names; i++)
        status = theta_select(m, name[i], chosen);
    return status;
}
