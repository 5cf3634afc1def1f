/* SPDX-License-Identifier: MIT */
/* The gradient of one layer's weights over a block of panels:
 * G[r][t] += sum over points p of a[r][p] b[t][p], and of its biases.
 *
 * Here the lanes are features, not points, so b is transposed to (points, t) a
 * few vectors at a time; a is broadcast. G stays in float32 or double as the
 * rest, and is added to the caller's doubles once per call. */

enum { BLOCK = 4 };           /* panels, so that the transposed b stays in L1 */
enum { GROUP = 3, BAND = 4 }; /* rows and vectors of sums in registers  */

struct block {
    size_t panels, points[BLOCK]; /* of each panel, padding included */
};

/* The same rows of every panel of a block. */
struct side {
    const REAL *panel; /* (features, points) */
    size_t stride;     /* from panel to panel */
    size_t features;
};

/* to[j][i] = from[i][j] for a square of LANES; ld and to_ld are the lengths
 * of rows. */
INLINE void transpose_square(const REAL *from, size_t ld, REAL *to,
                             size_t to_ld)
{
    vec m[LANES];
    for (size_t i = 0; i < LANES; i++)
        m[i] = *(const vec *)(from + i * ld);
    transpose(m);
    for (size_t i = 0; i < LANES; i++)
        *(vec *)(to + i * to_ld) = m[i];
}

/* transposed[p][i] = b[first + i][p] for i < width. Rows beyond the last
 * feature are whatever follows; their lanes of G are never read. */
INLINE void transpose_side(const struct block *block, const struct side *b,
                           size_t first, size_t width, REAL *transposed)
{
    for (size_t q = 0; q < block->panels; q++) {
        size_t n = block->points[q];
        const REAL *from = b->panel + q * b->stride + first * n;
        for (size_t p = 0; p < n; p += LANES, transposed += LANES * width)
            for (size_t i = 0; i < width; i += LANES)
                transpose_square(from + i * n + p, n, transposed + i, width);
    }
}

/* GROUP rows by n vectors of G; n is a constant where this is called. */
INLINE void outer_tile(int n, const struct block *block, const struct side *a,
                       size_t row, const REAL *transposed, bool add, REAL *G,
                       size_t ld)
{
    vec s[GROUP][BAND];
    const vec *b = (const vec *)transposed;
#pragma GCC unroll 3
    for (size_t r = 0; r < GROUP; r++)
#pragma GCC unroll 4
        for (int v = 0; v < n; v++)
            s[r][v] = add ? ((vec *)(G + r * ld))[v] : (vec){0};
    for (size_t q = 0; q < block->panels; q++) {
        size_t points = block->points[q];
        const REAL *w = a->panel + q * a->stride + row * points;
        for (size_t p = 0; p < points; p++, b += n)
#pragma GCC unroll 3
            for (size_t r = 0; r < GROUP; r++)
#pragma GCC unroll 4
                for (int v = 0; v < n; v++)
                    s[r][v] += w[r * points + p] * b[v];
    }
#pragma GCC unroll 3
    for (size_t r = 0; r < GROUP; r++)
#pragma GCC unroll 4
        for (int v = 0; v < n; v++)
            ((vec *)(G + r * ld))[v] = s[r][v];
}

/* G is (a features rounded up to GROUP, ld). add is false in the first block:
 * what G holds is then from another call. */
FAST static void outer(const struct block *block, const struct side *a,
                       const struct side *b, bool add, REAL *transposed,
                       REAL *G)
{
    size_t vectors = (b->features + LANES - 1) / LANES, ld = vectors * LANES;
    for (size_t v = 0, n; v < vectors; v += n) {
        n = vectors - v;
        n = n == BAND + 1 ? 3 : n > BAND ? BAND : n; /* 5 is 3 + 2, not 4 + 1 */
        transpose_side(block, b, v * LANES, n * LANES, transposed);
        for (size_t r = 0; r < a->features; r += GROUP) {
            REAL *g = G + r * ld + v * LANES;
            if (n == 4) outer_tile(4, block, a, r, transposed, add, g, ld);
            else if (n == 3) outer_tile(3, block, a, r, transposed, add, g, ld);
            else if (n == 2) outer_tile(2, block, a, r, transposed, add, g, ld);
            else outer_tile(1, block, a, r, transposed, add, g, ld);
        }
    }
}

/* sum[r] += a[r] over n vectors of points, lane by lane. */
INLINE void panel_sums(int n, size_t rows, const vec *a, bool add, vec *sum)
{
    for (size_t r = 0; r < rows; r++, a += n) {
        vec s = a[0];
        for (int v = 1; v < n; v++)
            s += a[v];
        sum[r] = add ? sum[r] + s : s;
    }
}

/* The same over a block; sum is (features, LANES). */
FAST static void row_sums(const struct block *block, const struct side *a,
                          bool add, REAL *sum)
{
    for (size_t q = 0; q < block->panels; q++, add = true) {
        const vec *panel = (const vec *)(a->panel + q * a->stride);
        if (block->points[q] == 3 * LANES)
            panel_sums(3, a->features, panel, add, (vec *)sum);
        else if (block->points[q] == 2 * LANES)
            panel_sums(2, a->features, panel, add, (vec *)sum);
        else panel_sums(1, a->features, panel, add, (vec *)sum);
    }
}

/* to += from, in double. */
INLINE void add_row(size_t n, const REAL *from, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] += (double)from[i];
}

FAST static void add_rows(size_t rows, size_t lanes, const REAL *G, double *to)
{
    for (size_t r = 0; r < rows; r++)
        add_row(lanes, G + r * round_up(lanes, LANES), to + r * lanes);
}

/* The same when G is (columns, rows): LANES rows at a time are transposed into
 * spare, (LANES, columns rounded up). Rows of G past the last are not there
 * to be read, so the last one is read again. */
FAST static void add_columns(size_t rows, size_t columns, const REAL *G,
                             REAL *spare, double *to)
{
    size_t ld = round_up(rows, LANES), row = round_up(columns, LANES);
    for (size_t r = 0; r < rows; r += LANES) {
        for (size_t c = 0; c < row; c += LANES) {
            vec m[LANES];
            for (size_t i = 0; i < LANES; i++)
                m[i] = *(const vec *)(G + least(c + i, columns - 1) * ld + r);
            transpose(m);
            for (size_t i = 0; i < LANES; i++)
                *(vec *)(spare + i * row + c) = m[i];
        }
        for (size_t i = r; i < least(r + LANES, rows); i++)
            add_row(columns, spare + (i - r) * row, to + i * columns);
    }
}
