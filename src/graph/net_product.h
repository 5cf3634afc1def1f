/* SPDX-License-Identifier: MIT */
/* One layer on one panel of points: y = finish(W x + b), where finish is the
 * activation, or the slope of one in the backward and the tangent pass.
 *
 * A panel is (features, n vectors): the points are the lanes, n <= TILE, and
 * a row follows the one before without a gap, so that a tile's operands are
 * read straight through. A tile of ROWS x TILE sums fills the registers: 12
 * sums, 3 vectors of x, one broadcast weight. */

enum { ROWS = 4, TILE = 3 };

enum finish {
    LINEAR,
    RELU,
    TANH,
    SOFTPLUS,
    SILU,
    RELU_SLOPE, /* times the slope, from the activation in kept */
    TANH_SLOPE,
    KEPT_SLOPE, /* times kept */
};

struct product {
    size_t rows, depth;
    const REAL *weight; /* (rows / ROWS rounded up, depth, ROWS)          */
    const REAL *bias;   /* (rows rounded up), or NULL                     */
    const REAL *x;      /* (depth, vectors)                               */
    REAL *y;            /* (rows rounded up, vectors)                     */
    REAL *kept;         /* like y: SOFTPLUS and SILU leave the slope here */
    enum finish finish;
};

/* What is cheap is done on the sums while they are in registers. */
INLINE vec finish_light(enum finish finish, vec z, const vec *kept)
{
    if (finish == RELU) return relu(z);
    if (finish == RELU_SLOPE) return relu_slope(*kept, z);
    if (finish == TANH_SLOPE) return z * (1 - *kept * *kept);
    if (finish == KEPT_SLOPE) return z * *kept;
    return z;
}

INLINE void store_light(int n, enum finish finish, vec s[ROWS][TILE],
                        const vec *kept, vec *y)
{
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 3
        for (int v = 0; v < n; v++)
            y[r * n + v] =
                finish_light(finish, s[r][v], kept ? kept + r * n + v : NULL);
}

INLINE void store(int n, enum finish finish, vec s[ROWS][TILE], vec *kept,
                  vec *y)
{
    switch (finish) {
    case RELU: store_light(n, RELU, s, NULL, y); return;
    case RELU_SLOPE: store_light(n, RELU_SLOPE, s, kept, y); return;
    case TANH_SLOPE: store_light(n, TANH_SLOPE, s, kept, y); return;
    case KEPT_SLOPE: store_light(n, KEPT_SLOPE, s, kept, y); return;
    case LINEAR:
    case TANH:
    case SOFTPLUS:
    case SILU: store_light(n, LINEAR, s, NULL, y);
    }
}

/* The rows from ROWS * group on; n is a constant where this is called. */
INLINE void tile(int n, const struct product *p, size_t group)
{
    const REAL *w = p->weight + group * p->depth * ROWS;
    const vec *x = (const vec *)p->x;
    vec s[ROWS][TILE];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 3
        for (int v = 0; v < n; v++)
            s[r][v] = splat(p->bias ? p->bias[group * ROWS + (size_t)r] : 0);
    for (size_t k = 0; k < p->depth; k++, w += ROWS, x += n)
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 3
            for (int v = 0; v < n; v++)
                s[r][v] += w[r] * x[v];
    size_t at = group * ROWS * (size_t)n;
    store(n, p->finish, s, p->kept ? (vec *)p->kept + at : NULL,
          (vec *)p->y + at);
}

/* What is not cheap runs over the stored rows: a tile at a time its latency
 * would show at every tile. */
INLINE void finish_tanh(size_t count, vec *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = tanh_of(y[i]);
}

INLINE void finish_by_decay(size_t count, enum finish finish, vec *y, vec *kept)
{
    enum { CHUNK = 32 };
    vec e[CHUNK];
    for (size_t at = 0, n; at < count; at += n, y += n, kept += n) {
        n = least(CHUNK, count - at);
        for (size_t i = 0; i < n; i++)
            e[i] = decay(y[i]);
        for (size_t i = 0; i < n; i++)
            y[i] = finish == SILU ? silu(y[i], e[i], &kept[i])
                                  : softplus(y[i], e[i], &kept[i]);
    }
}

FAST static void product(const struct product *p, size_t vectors)
{
    size_t groups = (p->rows + ROWS - 1) / ROWS;
    for (size_t g = 0; g < groups; g++) {
        if (vectors == 3) tile(3, p, g);
        else if (vectors == 2) tile(2, p, g);
        else tile(1, p, g);
    }
    size_t count = groups * ROWS * vectors;
    vec *y = (vec *)p->y, *kept = (vec *)p->kept;
    if (p->finish == TANH) finish_tanh(count, y);
    if (p->finish == SOFTPLUS) finish_by_decay(count, SOFTPLUS, y, kept);
    if (p->finish == SILU) finish_by_decay(count, SILU, y, kept);
}
