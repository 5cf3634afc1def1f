/* SPDX-License-Identifier: MIT */
/* Gaussian processes on grids, one thread. First, products of their prior
 * covariance with vectors: dense, by Kronecker factors, by Toeplitz factors
 * (FFT). Then what one iteration of learning takes beside the data's share,
 * with the dense way of forming its matrix next to it. Best of some repeats.
 * usage: gp_bench [products | axes | posterior] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/linalg.h"
#include "gp/gp_gram.h"
#include "gp/gp_posterior.h"
#include "toeplitz.h"

static double *numbers(size_t n)
{
    double *a = NEW(double, n);
    if (!a) exit(1);
    const struct random_key key = {.seed = 1};
    random_normals(&key, 0, n, 0, 1, a);
    return a;
}

/* Of this thread: others on the machine do not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least seconds that a call takes: some calls, or one that takes long. */
static double seconds(void (*call)(void *context), void *context)
{
    double best = 1e300, begin = now();
    while (now() - begin < 0.1) {
        double start = now();
        call(context);
        double took = now() - start;
        if (took < best) best = took;
    }
    return best;
}

static double mib(double count)
{
    return count * 8.0 / 1048576.0;
}

/* --- Products ----------------------------------------------------------- */

struct products {
    size_t axes, n, G, m;
    struct kron K;
    struct toeplitz T;
    double *dense, *X, *Y, *room;
};

static void by_dense(void *context)
{
    struct products *p = context;
    linalg_product(p->G, p->G, p->m, p->dense, false, p->X, false, p->Y);
}

static void by_kron(void *context)
{
    struct products *p = context;
    kron_product(&p->K, false, p->m, p->X, p->Y, p->room);
}

/* B (columns, rows) from A (rows, columns). */
static void turn(size_t rows, size_t columns, const double *A, double *B)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            B[j * rows + i] = A[i * columns + j];
}

/* Slice by slice as kron_product() does it; the last axis of one vector is
 * turned to the front, as transforms go over rows. */
static void by_toeplitz(void *context)
{
    struct products *p = context;
    size_t n = p->n, before = p->G / n, after = p->m;
    double *other = p->room + 2 * p->G * p->m;
    const double *from = p->X;
    for (size_t axis = 0; axis < p->axes; axis++) {
        if (after == 1) {
            turn(before, n, from, other);
            toeplitz_product(&p->T, before, other, p->Y, p->room);
            turn(n, before, p->Y, other);
            memcpy(p->Y, other, p->G * sizeof *other);
        } else {
            for (size_t i = 0; i < before; i++)
                toeplitz_product(&p->T, after, from + i * n * after,
                                 p->Y + i * n * after, p->room);
        }
        from = p->Y;
        before /= n;
        after *= n;
    }
}

/* Both ways give the same product. */
static void compare(struct products *p)
{
    double *kept = numbers(p->G * p->m), worst = 0.0;
    by_kron(p);
    memcpy(kept, p->Y, p->G * p->m * sizeof *kept);
    by_toeplitz(p);
    for (size_t i = 0; i < p->G * p->m; i++)
        worst = fmax(worst, fabs(kept[i] - p->Y[i]));
    if (worst > 1e-8) printf("the FFT is wrong by %g\n", worst);
    mem_free(kept);
}

static void fill_dense(struct products *p, const double *K)
{
    for (size_t a = 0; a < p->G; a++)
        for (size_t b = 0; b < p->G; b++) {
            double all = 1.0;
            size_t i = a, j = b;
            for (size_t s = 0; s < p->axes; s++, i /= p->n, j /= p->n)
                all *= K[i % p->n * p->n + j % p->n];
            p->dense[a * p->G + b] = all;
        }
}

static void products_of(size_t axes, size_t n, size_t m)
{
    enum { DENSE_MOST = 4096 };
    struct products p = {.axes = axes, .n = n, .G = 1, .m = m};
    double *K = numbers(n * n);
    kernel_matrix(KERNEL_MATERN52, n, 1.0, (double)n / 4.0, K, NULL);
    p.K.axes = axes;
    for (size_t i = 0; i < axes; i++) {
        p.G *= n;
        p.K.rows[i] = p.K.columns[i] = n;
        p.K.factor[i] = K;
    }
    toeplitz_init(&p.T, n, K);
    size_t dense = p.G <= DENSE_MOST ? p.G * p.G : 0;
    p.X = numbers(p.G * m);
    p.Y = numbers(p.G * m);
    p.room = numbers(3 * p.G * m);
    p.dense = numbers(dense);
    double slow = 0.0;
    if (dense) fill_dense(&p, K);
    if (dense) slow = seconds(by_dense, &p);
    compare(&p);
    double kron = seconds(by_kron, &p), fft = seconds(by_toeplitz, &p);
    printf("  %zu^%zu %4zu  ", n, axes, m);
    if (dense) printf("%10.1f us %6.1f MiB", 1e6 * slow, mib((double)dense));
    if (!dense)
        printf("%10s    %6.1f MiB", "-", mib((double)p.G * (double)p.G));
    printf("  %10.1f us %6.3f MiB  %10.1f us %6.3f MiB\n", 1e6 * kron,
           mib((double)(n * n * axes)), 1e6 * fft, mib(2.0 * (double)n));
    mem_free(K);
    mem_free(p.X);
    mem_free(p.Y);
    mem_free(p.room);
    mem_free(p.dense);
}

static void products(void)
{
    static const size_t grid[][2] = {{2, 32}, {3, 16}, {2, 64}, {3, 32}};
    puts("A prior covariance times m vectors, its own memory beside it");
    puts("  grid    m           dense             Kronecker, dense factors"
         "   Kronecker, Toeplitz (FFT)");
    for (size_t i = 0; i < sizeof grid / sizeof *grid; i++) {
        products_of(grid[i][0], grid[i][1], 1);
        products_of(grid[i][0], grid[i][1], 64);
    }
}

/* Where the FFT begins to pay: one axis, 64 vectors. */
static void axes(void)
{
    puts("One axis of n nodes times 64 vectors: microseconds");
    puts("     n    dense      FFT");
    for (size_t n = 16; n <= TOEPLITZ_MOST / 2; n *= 2) {
        struct products p = {.axes = 1, .n = n, .G = n, .m = 64};
        p.dense = numbers(n * n);
        kernel_matrix(KERNEL_MATERN52, n, 1.0, (double)n / 4.0, p.dense, NULL);
        toeplitz_init(&p.T, n, p.dense);
        p.X = numbers(n * 64);
        p.Y = numbers(n * 64);
        p.room = numbers(2 * n * 64);
        double dense = seconds(by_dense, &p), start, fft = 1e300;
        for (size_t i = 0; i < 200; i++) {
            start = now();
            toeplitz_product(&p.T, 64, p.X, p.Y, p.room);
            if (now() - start < fft) fft = now() - start;
        }
        printf("  %4zu %8.1f %8.1f\n", n, 1e6 * dense, 1e6 * fft);
        mem_free(p.dense);
        mem_free(p.X);
        mem_free(p.Y);
        mem_free(p.room);
    }
}

/* --- The posterior ------------------------------------------------------ */

enum { POINTS = 20000 };

/* Points in blocks of four nodes per axis, cubic weights at random places. */
static void fill_points(const struct gp_prior *p, struct gp_points *points)
{
    size_t touched = (size_t)1 << 2 * p->axes, F = p->features;
    size_t *index = NEW(size_t, POINTS * touched);
    double *weight = numbers(POINTS * touched);
    double *feature = numbers(POINTS * F), at[GP_AXES];
    if (!index) exit(1);
    const struct random_key key = {.seed = 2};
    for (size_t k = 0; k < POINTS; k++) {
        random_uniforms(&key, k, 1, 0, GP_AXES, at);
        for (size_t c = 0; c < touched; c++) {
            size_t node = 0, stride = 1, left = c;
            double all = 1.0;
            for (size_t s = 0; s < p->axes; s++, left /= 4) {
                size_t axis = p->axes - 1 - s, n = p->nodes[axis];
                double place = at[axis] * (double)(n - 3), u;
                size_t first = (size_t)place;
                u = place - (double)first;
                const double w[] = {
                    -0.5 * u * (1 - u) * (1 - u), 1 + u * u * (1.5 * u - 2.5),
                    u * (0.5 + u * (2 - 1.5 * u)), -0.5 * u * u * (1 - u)};
                all *= w[left % 4];
                node += stride * (first + left % 4);
                stride *= n;
            }
            index[k * touched + c] = node;
            weight[k * touched + c] = all;
        }
    }
    *points = (struct gp_points){POINTS, touched, index, weight, feature};
}

struct posterior {
    struct gp_root root;
    struct gp_information h;
    struct gp_posterior q;
    struct gp_points points;
    double *factor, *w;
    double *R, *H, *HR, *B;
};

static void do_add(void *context)
{
    struct posterior *p = context;
    gp_information_clear(&p->h);
    gp_information_add(&p->h, &p->points, p->factor);
    memcpy(p->h.pull, p->w, p->root.numbers * sizeof *p->w);
}

static void do_root(void *context)
{
    struct posterior *p = context;
    struct gp_root r;
    if (gp_root_init(&r, &p->root.prior)) exit(1);
    gp_root_free(&r);
}

static void ignore(void *context, size_t row, const double *values)
{
    *(double *)context += values[row];
}

static void do_gram(void *context)
{
    struct posterior *p = context;
    double sum = 0.0;
    gp_gram_rows(&p->root, &p->h, GP_NO_AXIS, p->q.room, ignore, &sum);
}

static void do_update(void *context)
{
    struct posterior *p = context;
    if (gp_posterior_update(&p->q, &p->h)) exit(1);
}

static void do_kl(void *context)
{
    struct posterior *p = context;
    p->q.inverted = false;
    gp_posterior_kl(&p->q);
}

static void do_gradient(void *context)
{
    struct posterior *p = context;
    double gradient[GP_AXES + 2];
    gp_posterior_gradient(&p->q, &p->h, gradient);
}

static void do_draw(void *context)
{
    struct posterior *p = context;
    const struct random_key key = {.seed = 4};
    gp_posterior_draw(&p->q, &key, 0, 64, p->w);
}

static void do_at(void *context)
{
    struct posterior *p = context;
    struct gp_points points = p->points;
    points.count = 1000;
    gp_posterior_at(&p->q, &points, NULL, p->w, p->w + points.count);
}

/* The same matrix by dense products, of as many directions as nodes. */
static void do_dense(void *context)
{
    struct posterior *p = context;
    size_t G = p->root.nodes;
    linalg_product(G, G, G, p->H, false, p->R, false, p->HR);
    linalg_product(G, G, G, p->R, true, p->HR, false, p->B);
}

static double dense_way(struct posterior *p)
{
    size_t G = p->root.nodes;
    p->R = numbers(G * G);
    p->H = numbers(G * G);
    p->HR = numbers(G * G);
    p->B = numbers(G * G);
    double took = seconds(do_dense, p);
    mem_free(p->R);
    mem_free(p->H);
    mem_free(p->HR);
    mem_free(p->B);
    return took;
}

static void posterior_of(const struct gp_prior *prior)
{
    static struct posterior p;
    if (gp_root_init(&p.root, prior) || gp_information_init(&p.h, prior) ||
        gp_posterior_init(&p.q, &p.root, true))
        exit(1);
    fill_points(prior, &p.points);
    p.factor = numbers(POINTS);
    for (size_t i = 0; i < POINTS; i++)
        p.factor[i] = 0.1;
    p.w = numbers(64 * p.root.numbers + 2000);
    printf("  %2zu^%zu %-8s %5.2f %6zu %8.1e %7.2f", prior->nodes[0],
           prior->axes, kernel_name(prior->kernel), prior->length[0],
           p.root.rank, p.root.lost, 1e6 * seconds(do_add, &p) / POINTS);
    static void (*const calls[])(void *context) = {
        do_root, do_gram, do_update, do_kl, do_gradient, do_draw, do_at};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        printf(" %8.2f", 1e3 * seconds(calls[i], &p));
    printf(" %7.1f %7.1f", mib((double)p.q.arena.size / 8.0),
           mib((double)p.h.arena.size / 8.0));
    if (p.root.nodes <= 1024 || p.root.lost == 0.0)
        printf(" %9.2f %7.1f\n", 1e3 * dense_way(&p),
               mib(4.0 * (double)p.root.nodes * (double)p.root.nodes));
    else puts("         -       -");
    mem_free((void *)p.points.index);
    mem_free((void *)p.points.weight);
    mem_free((void *)p.points.feature);
    mem_free(p.factor);
    mem_free(p.w);
    gp_posterior_free(&p.q);
    gp_information_free(&p.h);
    gp_root_free(&p.root);
}

static void posterior(void)
{
    static const enum kernel kernels[] = {KERNEL_RBF, KERNEL_MATERN52,
                                          KERNEL_MATERN32};
    static const double lengths[] = {0.4, 0.15}; /* of an axis of 1 */
    puts("One iteration on [0, 1]^D with 4 features: ms and MiB, but us for a "
         "point's information (add)\n"
         "  grid kernel  length   rank     lost     add     root     R'HR   "
         "update   S, KL gradient 64draws 1000 at   q MiB   H MiB  R'HR "
         "dense, MiB");
    for (size_t axes_of = 2; axes_of <= 3; axes_of++)
        for (size_t k = 0; k < 3; k++)
            for (size_t l = 0; l < 2; l++) {
                struct gp_prior p = {.kernel = kernels[k],
                                     .axes = axes_of,
                                     .amplitude = 1.0,
                                     .features = 4,
                                     .feature_sd = 1.0};
                for (size_t i = 0; i < axes_of; i++) {
                    p.nodes[i] = axes_of == 2 ? 32 : 16;
                    p.step[i] = 1.0 / (double)(p.nodes[i] - 1);
                    p.length[i] = lengths[l];
                }
                posterior_of(&p);
            }
}

int main(int count, char **word)
{
    const char *only = count > 1 ? word[1] : "";
    if (!*only || !strcmp(only, "products")) products();
    if (!*only || !strcmp(only, "axes")) axes();
    if (!*only || !strcmp(only, "posterior")) posterior();
    return 0;
}
