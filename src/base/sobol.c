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
    DIMENSIONS = sizeof SOBOL_TABLE / sizeof *SOBOL_TABLE,
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

/* A coordinate, ready for points below 2^n. */
struct coordinate {
    uint32_t shift, v[BITS];
};

/* Words on their way to z. */
struct chunk {
    size_t n;
    uint32_t w[CHUNK];
    void (*finish)(const uint32_t *w, size_t n, double *z);
    double *z;
};

size_t sobol_dimensions(void)
{
    return DIMENSIONS;
}

static void directions(const struct sobol_dimension *d, size_t n, uint32_t *v)
{
    size_t s = 0;
    while (d->polynomial >> (s + 1))
        s++;
    /* van der Corput: the identity matrix */
    for (size_t j = 0; s == 0 && j < n; j++)
        v[j] = UINT32_C(1) << (BITS - 1 - j);
    for (size_t j = 0; j < s && j < n; j++)
        v[j] = (uint32_t)d->m[j] << (BITS - 1 - j);
    for (size_t j = s; s > 0 && j < n; j++) {
        v[j] = v[j - s] >> s;
        for (size_t i = 1; i <= s; i++)
            if (d->polynomial >> (s - i) & 1) v[j] ^= v[j - i];
    }
}

/* The word under a uniform number: exact, for 33 bits fit into a double. */
static uint32_t word(double u)
{
    return (uint32_t)(u * 0x1p32 - 0.5);
}

/* Shift and L from words that stand `stride` apart; column i of L has its
 * one at digit i and random digits below. */
static void scramble(const double *u, size_t stride, size_t n,
                     struct coordinate *c)
{
    uint32_t column[BITS];
    c->shift = word(u[0]);
    for (size_t i = 0; i < n; i++) {
        uint32_t one = UINT32_C(1) << (BITS - 1 - i);
        column[i] = one | (word(u[(i + 1) * stride]) & (one - 1));
    }
    for (size_t j = 0; j < n; j++) {
        uint32_t sum = 0;
        for (size_t i = 0; i <= j; i++)
            sum ^= column[i] & (0u - (c->v[j] >> (BITS - 1 - i) & 1));
        c->v[j] = sum;
    }
}

/* The coordinates [row, row + rows), rows <= AHEAD. */
static void prepare(const struct random_key *key, uint64_t row, size_t rows,
                    size_t n, struct coordinate *c)
{
    double u[(BITS + 1) * AHEAD];
    struct random_key own = *key;
    own.purpose = RANDOM_SCRAMBLE + 16 * key->purpose;
    random_uniforms(&own, 0, n + 1, row, rows, u);
    for (size_t r = 0; r < rows; r++) {
        directions(&SOBOL_TABLE[row + r], n, c[r].v);
        scramble(u + r, rows, n, &c[r]);
    }
}

static FAST void finish_normals(const uint32_t *w, size_t n, double *z)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        z[i] = normal_quantile(w[i]);
}

static FAST void finish_uniforms(const uint32_t *w, size_t n, double *u)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        u[i] = ((double)w[i] + 0.5) * 0x1p-32;
}

static void flush(struct chunk *c)
{
    c->finish(c->w, c->n, c->z);
    c->z += c->n;
    c->n = 0;
}

/* The first `end` points of the block from `start` on, a multiple of BLOCK:
 * each digit doubles them. */
static FAST void block(const struct coordinate *c, uint64_t start, size_t end,
                       uint32_t w[BLOCK])
{
    uint32_t first = c->shift;
    for (size_t j = LOW; start >> j; j++)
        first ^= c->v[j] & (0u - (uint32_t)(start >> j & 1));
    w[0] = first;
    for (size_t j = 0; (size_t)1 << j < end; j++) {
        const size_t half = (size_t)1 << j;
        for (size_t i = 0; i < half; i++)
            w[half + i] = w[i] ^ c->v[j];
    }
}

static void append(const struct coordinate *c, uint64_t path, size_t paths,
                   struct chunk *to)
{
    const uint64_t last = path + paths;
    while (path < last) {
        uint32_t w[BLOCK];
        const uint64_t start = path / BLOCK * BLOCK;
        const size_t low = (size_t)(path - start);
        const size_t end =
            last - start < BLOCK ? (size_t)(last - start) : BLOCK;
        if (to->n + (end - low) > CHUNK) flush(to);
        block(c, start, end, w);
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
    struct coordinate c[AHEAD];
    struct chunk to = {.finish = finish, .z = z};
    size_t n = 0;
    while ((a->path + a->paths - 1) >> n)
        n++;
    for (size_t r = 0; r < a->rows; r += AHEAD) {
        const size_t rows = a->rows - r < AHEAD ? a->rows - r : AHEAD;
        prepare(key, a->row + r, rows, n, c);
        for (size_t i = 0; i < rows; i++)
            append(&c[i], a->path, a->paths, &to);
    }
    flush(&to);
}

/* How many of the rows [row, row + rows) the table has. */
static size_t within(uint64_t row, size_t rows)
{
    if (row >= DIMENSIONS) return 0;
    return rows < DIMENSIONS - row ? rows : (size_t)(DIMENSIONS - row);
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
