/* SPDX-License-Identifier: MIT */
/* Threefry-4x32-20 of Random123, addressed so that every (key, row, path) has
 * its own word:
 *
 *     key     = seed low, seed high, purpose + 2^8 (quad high), iteration
 *     counter = quad low, path, item low, item high
 *
 * with quad = row / 4; word row % 4 of the result belongs to the row. So no
 * two numbers meet while purpose < 2^8, quad < 2^56 and path < 2^32.
 *
 * Words (a, b) of rows (4q, 4q + 1), and the same of (4q + 2, 4q + 3), become
 * normals by Box-Muller, u = (a + 1) 2^-32 in (0, 1]:
 *
 *     z, z' = sqrt(-2 log u) (cos, sin)(2 pi b 2^-32)
 *
 * in float32, where all 32 bits of both words count: |z| reaches 6.66, and
 * the error stays below 1e-6. Logarithm, sine and cosine are polynomials that
 * were fitted for the largest relative error (absolute for the cosine).
 *
 * Work goes in chunks of slots, one slot for one (quad, path): the slots of
 * many paths, or of many quads when paths are few, go through the same vector
 * code. The file is compiled without contraction to FMA, so that a seed
 * gives the same bits on every machine. */
#include "base/random.h"

#include <Random123/threefry.h>
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/fast.h"

enum { SLOTS = 128, VECTOR = 16 };

struct range {
    uint64_t row, path;
    size_t rows, paths;
};

/* The slots from slot on belong to `run` paths of a quad, from first on. */
struct part {
    uint64_t quad;
    size_t first, slot, run;
};

struct chunk {
    const struct random_key *key;
    struct range range;
    size_t n; /* slots in use, a multiple of VECTOR */
    uint32_t quad[SLOTS], high[SLOTS], path[SLOTS];
    size_t parts;
    struct part part[SLOTS];
};

INLINE void words(const struct chunk *c, uint32_t w[4][SLOTS])
{
    const uint32_t seed = (uint32_t)c->key->seed;
    const uint32_t seed_high = (uint32_t)(c->key->seed >> 32);
    const uint32_t iteration = c->key->iteration;
    const uint32_t item = (uint32_t)c->key->item;
    const uint32_t item_high = (uint32_t)(c->key->item >> 32);
#pragma omp simd
    for (size_t i = 0; i < c->n; i++) {
        threefry4x32_ctr_t counter = {
            {c->quad[i], c->path[i], item, item_high}};
        threefry4x32_key_t key = {{seed, seed_high, c->high[i], iteration}};
        threefry4x32_ctr_t r = threefry4x32_R(20, counter, key);
        w[0][i] = r.v[0];
        w[1][i] = r.v[1];
        w[2][i] = r.v[2];
        w[3][i] = r.v[3];
    }
}

INLINE uint32_t bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

INLINE float float_of(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* sqrt(-2 log((a + 1) 2^-32)). With p the power of two nearest to a + 1 in
 * ratio, f = (a + 1) / p - 1 is rounded once: the two halves of a are exact. */
INLINE float radius(uint32_t a)
{
    const uint32_t one = 0x3f800000, half_root = 0x3f3504f3;
    float high = (float)(int32_t)(a >> 16) * 65536.0f;
    float low = (float)(int32_t)(a & 0xffff) + 1.0f;
    uint32_t near = bits_of(high + low) + (one - half_root);
    uint32_t p = near & 0xff800000;
    float k = (float)((int32_t)(near >> 23) - 127 - 32);
    float f = ((high - float_of(p)) + low) * float_of(2 * one - p);
    float ff = f * f;
    float first =
        (0.3333391f - 0.25001338f * f) + (0.19963063f - 0.16577584f * f) * ff;
    float last = (0.1491477f - 0.14267494f * f) + 0.08700435f * ff;
    float log1p_f = f + ff * (f * (first + last * (ff * ff)) - 0.5f);
    return sqrtf(-2.0f * (k * 0.69314718f + log1p_f));
}

/* r (cos, sin)(2 pi b 2^-32): the nearest quarter turn is taken off in whole
 * numbers, the rest lies within pi / 4. */
INLINE void rotate(float r, uint32_t b, float *z, float *z1)
{
    const uint32_t sign = 0x80000000, eighth = 0x20000000;
    uint32_t y = b + eighth;
    int32_t rest = (int32_t)(y & 0x3fffffff) - (int32_t)eighth;
    float x = (float)rest * 1.4629181e-9f;
    float xx = x * x;
    float s = -1.9515282e-4f;
    s = s * xx + 8.33216e-3f;
    s = s * xx - 0.16666655f;
    s = r * (x + x * xx * s);
    float c = 2.443845e-5f;
    c = c * xx - 1.3887368e-3f;
    c = c * xx + 4.1666646e-2f;
    c = r * (1.0f + xx * (c * xx - 0.5f));
    uint32_t odd = 0u - (y >> 30 & 1);
    uint32_t swap = (bits_of(c) ^ bits_of(s)) & odd;
    *z = float_of((bits_of(c) ^ swap) ^ ((y + 2 * eighth) & sign));
    *z1 = float_of((bits_of(s) ^ swap) ^ (y & sign));
}

/* The place of number j of a part's first slot, NULL for a row that was not
 * asked for. */
INLINE double *place(const struct chunk *c, const struct part *p, size_t j,
                     double *z)
{
    uint64_t row = 4 * p->quad + j - c->range.row;
    if (row >= c->range.rows) return NULL;
    return z + row * c->range.paths + p->first;
}

static FAST void draw_normals(const struct chunk *c, double *z)
{
    uint32_t w[4][SLOTS];
    float r[SLOTS], v[4][SLOTS];
    words(c, w);
    for (size_t j = 0; j < 4; j += 2) {
#pragma omp simd
        for (size_t i = 0; i < c->n; i++)
            r[i] = radius(w[j][i]);
#pragma omp simd
        for (size_t i = 0; i < c->n; i++)
            rotate(r[i], w[j + 1][i], &v[j][i], &v[j + 1][i]);
    }
    for (const struct part *p = c->part; p < c->part + c->parts; p++) {
        const size_t run = p->run;
        for (size_t j = 0; j < 4; j++) {
            double *to = place(c, p, j, z);
            if (!to) continue;
#pragma omp simd
            for (size_t i = 0; i < run; i++)
                to[i] = (double)v[j][p->slot + i];
        }
    }
}

static FAST void draw_uniforms(const struct chunk *c, double *u)
{
    uint32_t w[4][SLOTS];
    words(c, w);
    for (const struct part *p = c->part; p < c->part + c->parts; p++) {
        const size_t run = p->run;
        for (size_t j = 0; j < 4; j++) {
            double *to = place(c, p, j, u);
            if (!to) continue;
#pragma omp simd
            for (size_t i = 0; i < run; i++)
                to[i] = ((double)w[j][p->slot + i] + 0.5) * 0x1p-32;
        }
    }
}

static void fill(struct chunk *c, const struct part *p)
{
    uint32_t high = c->key->purpose + ((uint32_t)(p->quad >> 32) << 8);
    for (size_t i = 0; i < p->run; i++) {
        c->quad[p->slot + i] = (uint32_t)p->quad;
        c->high[p->slot + i] = high;
        c->path[p->slot + i] = (uint32_t)(c->range.path + p->first + i);
    }
}

/* Goes through (quad, path), paths fastest, and draws whenever the chunk is
 * full. */
static void generate(const struct random_key *key, const struct range *a,
                     void (*draw)(const struct chunk *c, double *z), double *z)
{
    assert(key->purpose < 256 && a->path + a->paths <= UINT64_C(1) << 32);
    if (!a->rows || !a->paths) return;
    struct chunk c = {.key = key, .range = *a};
    const uint64_t end = (a->row + a->rows - 1) / 4 + 1;
    struct part p = {.quad = a->row / 4};
    while (p.quad < end) {
        size_t left = a->paths - p.first, room = SLOTS - p.slot;
        p.run = left < room ? left : room;
        fill(&c, &p);
        c.part[c.parts++] = p;
        p.slot += p.run;
        p.first += p.run;
        if (p.first == a->paths) {
            p.first = 0;
            p.quad++;
        }
        if (p.slot < SLOTS && p.quad < end) continue;
        c.n = (p.slot + VECTOR - 1) / VECTOR * VECTOR;
        draw(&c, z);
        p.slot = c.parts = 0;
    }
}

void random_normals(const struct random_key *key, uint64_t row, size_t rows,
                    uint64_t path, size_t paths, double *z)
{
    const struct range a = {row, path, rows, paths};
    generate(key, &a, draw_normals, z);
}

void random_uniforms(const struct random_key *key, uint64_t row, size_t rows,
                     uint64_t path, size_t paths, double *u)
{
    const struct range a = {row, path, rows, paths};
    generate(key, &a, draw_uniforms, u);
}
