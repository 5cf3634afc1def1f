/* SPDX-License-Identifier: MIT */
/* Sobol' points: with the binary digits k_j of the point's number k,
 *
 *     bits = shift ^ XOR of L v_j over the j with k_j = 1
 *     u    = (bits + 1/2) 2^-32
 *
 * v_j are the coordinate's direction numbers, from its row of the table by
 *
 *     v_j = a_1 v_(j-1) ^ ... ^ a_s v_(j-s) ^ v_(j-s) >> s
 *
 * with the primitive polynomial x^s + a_1 x^(s-1) + ... + a_s. The scramble is
 * Matousek's: L is a random lower triangular matrix over GF(2) with ones on
 * the diagonal and shift a random word. Neither changes how many points lie
 * in a box that counts for the net; both are 32-bit words of random_uniforms,
 * one stream for each coordinate, from a purpose of their own.
 *
 * v_j has its last one at digit j, so 2^n points need n columns of L and as
 * many direction numbers. These are made anew for each row, on the stack; the
 * words of many short rows go together through the vector code. The file is
 * compiled without contraction to FMA, so that a seed gives the same bits on
 * every machine. */
#include "base/sobol.h"

#include <assert.h>
#include <string.h>

#include "base/fast.h"
#include "base/quantile.h"
#include "base/sobol_table.h"

enum {
    BITS = 32,
    BLOCK = 64, /* points made together; they share their high digits */
    LOW = 6,    /* BLOCK = 2^LOW                                      */
    CHUNK = 512,
    AHEAD = 32 /* coordinates whose scrambles are drawn together */
};

struct range {
    uint64_t row, path;
    size_t rows, paths;
};

/* Coordinates [row, row + rows), ready for points below 2^n: coordinate r has
 * the shift word[0][r] and the scrambled direction numbers word[1 + j][r]. */
struct stock {
    uint64_t row;
    size_t rows, n;
    uint32_t word[1 + BITS][AHEAD];
};

/* Words on their way to z. */
struct chunk {
    size_t n;
    uint32_t w[CHUNK];
    void (*finish)(const uint32_t *w, size_t n, double *z);
    double *z;
};

/* v[j][r] = direction number j of coordinate r of the stock. */
static void directions(const struct stock *c, uint32_t v[][AHEAD])
{
    for (size_t r = 0; r < c->rows; r++) {
        size_t s;
        const uint16_t *row = sobol_row(c->row + r, &s);
        const size_t given = s < c->n ? s : c->n;
        for (size_t j = 0; j < given; j++)
            v[j][r] = (uint32_t)row[1 + j] << (BITS - 1 - j);
        for (size_t j = given; j < c->n; j++) {
            /* degree 0 is the van der Corput sequence: one digit each */
            v[j][r] = s ? v[j - s][r] >> s : UINT32_C(1) << (BITS - 1 - j);
            for (size_t i = 1; i <= s; i++)
                if (row[0] >> (s - i) & 1) v[j][r] ^= v[j - i][r];
        }
    }
}

/* From the words u of the scramble, shape (1 + n, rows): the shift, and the
 * columns of L, of which column i has its one at digit i and random digits
 * below. The word of a uniform number is exact, 33 bits fit into a double. */
static FAST void scramble(const double *u, uint32_t v[][AHEAD], struct stock *c)
{
    uint32_t column[1 + BITS][AHEAD];
    const size_t rows = c->rows;
    for (size_t i = 0; i <= c->n; i++) {
        const uint32_t one = i ? UINT32_C(1) << (BITS - i) : 0;
#pragma omp simd
        for (size_t r = 0; r < rows; r++) {
            int32_t signed_word =
                (int32_t)(u[i * rows + r] * 0x1p32 - (0x1p31 + 0.5));
            uint32_t w = (uint32_t)signed_word ^ UINT32_C(0x80000000);
            column[i][r] = one | (w & (one - 1));
        }
    }
    memcpy(c->word[0], column[0], rows * sizeof **column);
    for (size_t j = 0; j < c->n; j++) {
        uint32_t *sum = c->word[1 + j];
        memset(sum, 0, rows * sizeof *sum);
        for (size_t i = 0; i <= j; i++)
#pragma omp simd
            for (size_t r = 0; r < rows; r++)
                sum[r] ^=
                    column[1 + i][r] & (0u - (v[j][r] >> (BITS - 1 - i) & 1));
    }
}

static void prepare(const struct random_key *key, struct stock *c)
{
    double u[(1 + BITS) * AHEAD];
    uint32_t v[BITS][AHEAD];
    struct random_key own = *key;
    own.purpose = RANDOM_SCRAMBLE + 16 * key->purpose;
    random_uniforms(&own, 0, 1 + c->n, c->row, c->rows, u);
    directions(c, v);
    scramble(u, v, c);
}

/* 2 u - 1 for u = (w + 1/2) 2^-32, exact; vectors convert signed words only. */
INLINE double centred(uint32_t w)
{
    return ((double)(int32_t)(w ^ UINT32_C(0x80000000)) + 0.5) * 0x1p-31;
}

static FAST void finish_normals(const uint32_t *w, size_t n, double *z)
{
    double depth[CHUNK];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        z[i] = centred(w[i]);
        depth[i] = quantile_depth(z[i]);
    }
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        z[i] = quantile_at(z[i], depth[i]);
}

static FAST void finish_uniforms(const uint32_t *w, size_t n, double *u)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        u[i] = 0.5 * centred(w[i]) + 0.5;
}

static void flush(struct chunk *c)
{
    c->finish(c->w, c->n, c->z);
    c->z += c->n;
    c->n = 0;
}

/* The first `end` points of the block from `start` on, a multiple of BLOCK,
 * for coordinate r: each digit doubles them. */
static FAST void block(const struct stock *c, size_t r, uint64_t start,
                       size_t end, uint32_t w[BLOCK])
{
    w[0] = c->word[0][r];
    for (size_t j = LOW; start >> j; j++)
        w[0] ^= c->word[1 + j][r] & (0u - (uint32_t)(start >> j & 1));
    for (size_t j = 0; (size_t)1 << j < end; j++) {
        const size_t half = (size_t)1 << j;
        const uint32_t v = c->word[1 + j][r];
        for (size_t i = 0; i < half; i++)
            w[half + i] = w[i] ^ v;
    }
}

static void append(const struct stock *c, size_t r, const struct range *a,
                   struct chunk *to)
{
    const uint64_t last = a->path + a->paths;
    for (uint64_t path = a->path; path < last;) {
        uint32_t w[BLOCK];
        const uint64_t start = path / BLOCK * BLOCK;
        const size_t low = (size_t)(path - start);
        const size_t end =
            last - start < BLOCK ? (size_t)(last - start) : BLOCK;
        if (to->n + (end - low) > CHUNK) flush(to);
        block(c, r, start, end, w);
        memcpy(to->w + to->n, w + low, (end - low) * sizeof *w);
        to->n += end - low;
        path = start + end;
    }
}

/* Goes through the rows of the table that the range has; the numbers of z
 * follow each other without a gap. */
static void generate(const struct random_key *key, const struct range *a,
                     void (*finish)(const uint32_t *w, size_t n, double *z),
                     double *z)
{
    assert(key->purpose < 16 && a->path + a->paths <= UINT64_C(1) << 32);
    if (!a->rows || !a->paths) return;
    struct chunk to;
    struct stock c;
    to.n = c.n = 0;
    to.finish = finish;
    to.z = z;
    while ((a->path + a->paths - 1) >> c.n)
        c.n++;
    for (size_t r = 0; r < a->rows; r += AHEAD) {
        c.row = a->row + r;
        c.rows = a->rows - r < AHEAD ? a->rows - r : AHEAD;
        prepare(key, &c);
        for (size_t i = 0; i < c.rows; i++)
            append(&c, i, a, &to);
    }
    flush(&to);
}

/* How many of the rows [row, row + rows) the table has. */
static size_t within(uint64_t row, size_t rows)
{
    if (row >= SOBOL_DIMENSIONS) return 0;
    const size_t left = (size_t)(SOBOL_DIMENSIONS - row);
    return rows < left ? rows : left;
}

void sobol_normals(const struct random_key *key, uint64_t row, size_t rows,
                   uint64_t path, size_t paths, double *z)
{
    const struct range a = {row, path, within(row, rows), paths};
    generate(key, &a, finish_normals, z);
    random_normals(key, row + a.rows, rows - a.rows, path, paths,
                   z + a.rows * paths);
}

void sobol_uniforms(const struct random_key *key, uint64_t row, size_t rows,
                    uint64_t path, size_t paths, double *u)
{
    const struct range a = {row, path, within(row, rows), paths};
    generate(key, &a, finish_uniforms, u);
    random_uniforms(key, row + a.rows, rows - a.rows, path, paths,
                    u + a.rows * paths);
}
