/* SPDX-License-Identifier: MIT */
/* The passes through the layers: how weights and scratch are laid out, and
 * forward, vjp and jvp in terms of net_product.h and net_outer.h.
 *
 *   a_0 = x,  z_l = W_l a_l + b_l,  a_{l+1} = act(z_l),  y = z_{L-1}
 *   z_bar_l = act'(z_l) W_{l+1}' z_bar_{l+1}
 *   W_bar_l += z_bar_l a_l',  b_bar_l += z_bar_l,  x_bar += W_0' z_bar_0
 *
 * Points are cut into panels of TILE vectors; forward takes a panel through
 * all layers while it is in cache, vjp a block of panels. */
#include "graph/net_outer.h"
#include "graph/net_product.h"

static const enum finish activate[ACTIVATIONS] = {[ACT_RELU] = RELU,
                                                  [ACT_TANH] = TANH,
                                                  [ACT_SOFTPLUS] = SOFTPLUS,
                                                  [ACT_SILU] = SILU};

static const enum finish slope[ACTIVATIONS] = {[ACT_RELU] = RELU_SLOPE,
                                               [ACT_TANH] = TANH_SLOPE,
                                               [ACT_SOFTPLUS] = KEPT_SLOPE,
                                               [ACT_SILU] = KEPT_SLOPE};

/* ---- Weights -------------------------------------------------------- */

/* Where a layer's numbers stand in the packed ones. */
struct place {
    size_t weight;     /* (out / ROWS rounded up, in, ROWS)         */
    size_t bias;       /* (out rounded up)                          */
    size_t transposed; /* (in / ROWS rounded up, out, ROWS), for W' */
};

static struct place place_of(const struct net *net, size_t l)
{
    size_t at = 0;
    for (size_t i = 0;; i++) {
        size_t in = net->width[i], out = net->width[i + 1];
        size_t rows = round_up(out, ROWS);
        if (i == l)
            return (struct place){at, at + rows * in, at + rows * (in + 1)};
        at += rows * (in + 1) + round_up(in, ROWS) * out;
    }
}

static size_t packed_size(const struct net *net)
{
    size_t count = 0;
    for (size_t l = 0; l < net->layers; l++) {
        size_t in = net->width[l], out = net->width[l + 1];
        count += round_up(out, ROWS) * (in + 1) + round_up(in, ROWS) * out;
    }
    return count * sizeof(REAL);
}

static void pack(const struct net *net, const double *theta, void *packed)
{
    memset(packed, 0, packed_size(net));
    for (size_t l = 0; l < net->layers; l++) {
        size_t in = net->width[l], out = net->width[l + 1];
        struct place at = place_of(net, l);
        REAL *W = (REAL *)packed + at.weight, *b = (REAL *)packed + at.bias;
        REAL *transposed = (REAL *)packed + at.transposed;
        for (size_t o = 0; o < out; o++, theta += in)
            for (size_t i = 0; i < in; i++) {
                REAL w = (REAL)theta[i];
                W[(o / ROWS * in + i) * ROWS + o % ROWS] = w;
                transposed[(i / ROWS * out + o) * ROWS + i % ROWS] = w;
            }
        for (size_t o = 0; o < out; o++)
            b[o] = (REAL)*theta++;
    }
}

/* ---- Scratch -------------------------------------------------------- */

/* A layer's gradient has its lanes along the side that wastes fewer; between
 * equals along the shorter one, which is the one that has to be transposed. */
static bool lanes_are_outputs(size_t in, size_t out)
{
    return in * round_up(out, LANES) + 4 * out <
           out * round_up(in, LANES) + 4 * in;
}

static size_t gradient_size(size_t in, size_t out)
{
    bool transposed = lanes_are_outputs(in, out);
    size_t rows = transposed ? in : out, lanes = transposed ? out : in;
    return round_up(rows, GROUP) * round_up(lanes, LANES) + out * LANES;
}

/* Rows that forward keeps of a layer: a_l, and act' where it is not a
 * function of a_l. */
static size_t kept_rows(const struct net *net, size_t l)
{
    size_t rows = round_up(net->width[l], ROWS);
    return l > 0 && slope[net->act] == KEPT_SLOPE ? 2 * rows : rows;
}

/* Offsets into the scratch, in REALs. What is kept stands first. */
struct room {
    size_t record; /* of a panel's kept rows  */
    size_t panel;  /* of a panel of one layer */
    size_t here, there, transposed, gradient, end;
};

enum { PANEL_POINTS = TILE * LANES };

static size_t panels_of(size_t P)
{
    return (P + PANEL_POINTS - 1) / PANEL_POINTS;
}

/* LANES more rows than are used: outer() reads whole vectors and groups. */
static struct room room_of(const struct net *net, size_t P)
{
    struct room m = {0};
    size_t rows = LANES, widest = 0, gradient = 0;
    for (size_t l = 0; l <= net->layers; l++) {
        if (net->width[l] > widest) widest = net->width[l];
        if (l == net->layers) break;
        rows += kept_rows(net, l);
        gradient += gradient_size(net->width[l], net->width[l + 1]);
    }
    m.record = rows * PANEL_POINTS;
    m.panel = (round_up(widest, ROWS) + LANES) * PANEL_POINTS;
    m.here = panels_of(P) * m.record;
    m.there = m.here + BLOCK * m.panel;
    m.transposed = m.there + BLOCK * m.panel;
    m.gradient = m.transposed + BLOCK * PANEL_POINTS * BAND * LANES;
    m.end = m.gradient + gradient;
    return m;
}

static size_t scratch_size(const struct net *net, size_t P)
{
    return room_of(net, P).end * sizeof(REAL);
}

/* Vectors of panel q: TILE, but the last ones share what is left, as 4 is
 * faster as 2 + 2 than as 3 + 1. */
static size_t panel_vectors(size_t P, size_t q)
{
    size_t vectors = (P + LANES - 1) / LANES, panels = panels_of(P);
    if (vectors == 1) return 1;
    return q + TILE * panels - vectors >= panels ? 2 : 3;
}

/* a_l in a panel's record: the same place however many points it has. */
static REAL *kept_at(const struct net *net, REAL *record, size_t l)
{
    for (size_t i = 0; i < l; i++)
        record += kept_rows(net, i) * PANEL_POINTS;
    return record;
}

/* What the slope at layer l is made of: a_l, or act' standing after it. */
static REAL *slope_at(const struct net *net, REAL *record, size_t l)
{
    size_t rows = round_up(net->width[l], ROWS);
    return kept_at(net, record, l) +
           (slope[net->act] == KEPT_SLOPE ? rows * PANEL_POINTS : 0);
}

/* ---- To and from the caller's doubles ------------------------------- */

/* count of the P points, then zeros up to n: (features, n) from (features, P).
 */
FAST static void load_panel(size_t features, size_t P, const double *x,
                            size_t count, size_t n, REAL *panel)
{
    for (size_t f = 0; f < features; f++, x += P, panel += n) {
        for (size_t p = 0; p < count; p++)
            panel[p] = (REAL)x[p];
        for (size_t p = count; p < n; p++)
            panel[p] = 0;
    }
}

FAST static void store_panel(size_t features, size_t P, const REAL *panel,
                             size_t count, size_t n, bool add, double *y)
{
    for (size_t f = 0; f < features; f++, y += P, panel += n)
        for (size_t p = 0; p < count; p++)
            y[p] = (double)panel[p] + (add ? y[p] : 0);
}

/* ---- The passes ----------------------------------------------------- */

static void forward(const struct net *net, const void *packed, size_t P,
                    const double *x, double *y, void *scratch)
{
    struct room m = room_of(net, P);
    REAL *record = scratch, *out = (REAL *)scratch + m.here;
    for (size_t q = 0, at = 0, n; at < P; q++, at += n, record += m.record) {
        n = panel_vectors(P, q) * LANES;
        size_t count = least(n, P - at);
        load_panel(net->width[0], P, x + at, count, n, record);
        for (size_t l = 0; l < net->layers; l++) {
            bool last = l + 1 == net->layers;
            struct place place = place_of(net, l);
            struct product p = {
                .rows = net->width[l + 1],
                .depth = net->width[l],
                .weight = (const REAL *)packed + place.weight,
                .bias = (const REAL *)packed + place.bias,
                .x = kept_at(net, record, l),
                .y = last ? out : kept_at(net, record, l + 1),
                .kept = last ? NULL : slope_at(net, record, l + 1),
                .finish = last ? LINEAR : activate[net->act],
            };
            product(&p, n / LANES);
        }
        store_panel(net->width[net->layers], P, out, count, n, false, y + at);
    }
}

/* W_bar_l and b_bar_l over a block, into the scratch's gradient. */
static void layer_gradient(const struct net *net, const struct block *block,
                           const struct side *a, const struct side *z_bar,
                           size_t l, bool add, REAL *transposed, REAL *gradient)
{
    for (size_t i = 0; i < l; i++)
        gradient += gradient_size(net->width[i], net->width[i + 1]);
    if (lanes_are_outputs(a->features, z_bar->features))
        outer(block, a, z_bar, add, transposed, gradient);
    else outer(block, z_bar, a, add, transposed, gradient);
    REAL *bias = gradient + gradient_size(a->features, z_bar->features) -
                 z_bar->features * LANES;
    row_sums(block, z_bar, add, bias);
}

/* z_bar of layer l - 1, or x_bar when l is 0, from z_bar of layer l. */
static void layer_back(const struct net *net, const void *packed,
                       const struct block *block, const struct room *m,
                       REAL *record, size_t l, const REAL *z_bar, REAL *to)
{
    for (size_t q = 0; q < block->panels; q++) {
        struct product p = {
            .rows = net->width[l],
            .depth = net->width[l + 1],
            .weight = (const REAL *)packed + place_of(net, l).transposed,
            .x = z_bar + q * m->panel,
            .y = to + q * m->panel,
            .kept = l ? slope_at(net, record + q * m->record, l) : NULL,
            .finish = l ? slope[net->act] : LINEAR,
        };
        product(&p, block->points[q] / LANES);
    }
}

static void add_gradient(const struct net *net, const REAL *G, REAL *spare,
                         double *theta_bar)
{
    for (size_t l = 0; l < net->layers; l++) {
        size_t in = net->width[l], out = net->width[l + 1];
        if (lanes_are_outputs(in, out))
            add_columns(out, in, G, spare, theta_bar);
        else add_rows(out, in, G, theta_bar);
        theta_bar += in * out;
        G += gradient_size(in, out);
        const REAL *bias = G - out * LANES;
        for (size_t o = 0; o < out; o++, theta_bar++)
            for (size_t i = 0; i < LANES; i++)
                *theta_bar += (double)bias[o * LANES + i];
    }
}

/* One block of panels from y_bar, already in z_bar, down to x_bar, whose place
 * is returned. */
static REAL *block_vjp(const struct net *net, const void *packed,
                       const struct block *block, const struct room *m,
                       REAL *record, bool add, bool want_x, bool want_theta,
                       REAL *scratch)
{
    REAL *z_bar = scratch + m->here, *next = scratch + m->there;
    for (size_t l = net->layers; l-- > 0;) {
        struct side a = {kept_at(net, record, l), m->record, net->width[l]};
        struct side bar = {z_bar, m->panel, net->width[l + 1]};
        if (want_theta)
            layer_gradient(net, block, &a, &bar, l, add,
                           scratch + m->transposed, scratch + m->gradient);
        if (l == 0 && !want_x) break;
        layer_back(net, packed, block, m, record, l, z_bar, next);
        REAL *swap = z_bar;
        z_bar = next;
        next = swap;
    }
    return z_bar;
}

static void vjp(const struct net *net, const void *packed, size_t P,
                const double *y_bar, double *x_bar, double *theta_bar,
                void *scratch)
{
    struct room m = room_of(net, P);
    size_t in = net->width[0], out = net->width[net->layers];
    REAL *base = scratch;
    for (size_t q = 0, at = 0, end; at < P; q += BLOCK, at = end) {
        struct block block = {.panels = least(BLOCK, panels_of(P) - q)};
        end = at;
        for (size_t i = 0; i < block.panels; end += block.points[i++]) {
            size_t n = block.points[i] = panel_vectors(P, q + i) * LANES;
            load_panel(out, P, y_bar + end, least(n, P - end), n,
                       base + m.here + i * m.panel);
        }
        const REAL *bar =
            block_vjp(net, packed, &block, &m, base + q * m.record, q > 0,
                      x_bar != NULL, theta_bar != NULL, base);
        if (x_bar)
            for (size_t i = 0, p = at; i < block.panels; p += block.points[i++])
                store_panel(in, P, bar + i * m.panel,
                            least(block.points[i], P - p), block.points[i],
                            true, x_bar + p);
    }
    if (theta_bar)
        add_gradient(net, base + m.gradient, base + m.here, theta_bar);
}

static void jvp(const struct net *net, const void *packed, size_t P,
                const double *x_dot, double *y_dot, void *scratch)
{
    struct room m = room_of(net, P);
    REAL *record = scratch;
    for (size_t q = 0, at = 0, n; at < P; q++, at += n, record += m.record) {
        REAL *from = (REAL *)scratch + m.here, *to = (REAL *)scratch + m.there;
        n = panel_vectors(P, q) * LANES;
        size_t count = least(n, P - at);
        load_panel(net->width[0], P, x_dot + at, count, n, from);
        for (size_t l = 0; l < net->layers; l++) {
            bool last = l + 1 == net->layers;
            struct product p = {
                .rows = net->width[l + 1],
                .depth = net->width[l],
                .weight = (const REAL *)packed + place_of(net, l).weight,
                .x = from,
                .y = to,
                .kept = last ? NULL : slope_at(net, record, l + 1),
                .finish = last ? LINEAR : slope[net->act],
            };
            product(&p, n / LANES);
            to = from;
            from = p.y;
        }
        store_panel(net->width[net->layers], P, from, count, n, false,
                    y_dot + at);
    }
}

#define NET_KERNEL                                                             \
    {                                                                          \
        packed_size, pack, scratch_size, forward, vjp, jvp                     \
    }
