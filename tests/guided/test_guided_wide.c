/* SPDX-License-Identifier: MIT */
/* The guided filter of several states with shared noise that depends on them,
 * against bootstrap filters with the same steps. */
#include "guided.h"

#include "base/constant.h"
#include "estimator/estimator.h"

/* --- A bootstrap filter --------------------------------------------------- */

enum { PARTICLES = 4096, STEPS = 2 };

struct boot {
    struct guide *g;
    const struct course *f;
    size_t D, m;
    double *x, *next; /* (PARTICLES / block, D, block) */
    double *log_w;
};

/* So many standard normals of a stage. */
static void boot_normals(uint64_t seed, size_t stage, size_t n, double *z)
{
    const struct random_key key = {
        .seed = seed, .purpose = RANDOM_BRIDGE, .item = stage};
    random_normals(&key, 0, 1, 0, n, z);
}

static void boot_first(struct boot *b, size_t block, double *z)
{
    const struct ahead *w = b->g->ahead;
    struct mover *mover = &b->g->mover[0];
    struct workspace *room = &mover->room.part[COURSE_FIRST];
    enum { P = COURSE_BLOCK };
    double *x = b->x + block * P * b->D, *log_w = b->log_w + block * P;
    for (size_t e = 0; e < b->D * P; e++) {
        size_t i = e / P;
        x[e] = w->first_a[i] + w->first_B[i * (b->D + 1)] * z[e];
        if (!i) log_w[e] = 0.0;
    }
    if (b->f->normal_first) return;
    struct points in = mover_points(mover, &b->g->pace, 0, P, x);
    program_forward(b->f->part[COURSE_FIRST], &b->g->values.part[COURSE_FIRST],
                    room, &in);
    const double *density =
        program_output(b->f->part[COURSE_FIRST], room, P, 0);
    for (size_t j = 0; j < P; j++) {
        log_w[j] += density[j];
        for (size_t i = 0; i < b->f->d; i++)
            if (b->f->model->spec->latent[i])
                log_w[j] += 0.5 * z[i * P + j] * z[i * P + j] +
                            log(w->first_B[i * (b->D + 1)]) + 0.5 * LOG_TWO_PI;
    }
}

/* From node k to the next, with the density of what is exact there. */
static void boot_step(struct boot *b, size_t k, size_t block, const double *z)
{
    enum { P = COURSE_BLOCK };
    struct mover *mover = &b->g->mover[0];
    const struct pace *p = &b->g->pace;
    double *x = b->x + block * P * b->D, *log_w = b->log_w + block * P;
    mover_go(mover, p, k, P, x);
    struct twist t = {
        .D = b->D, .m = b->m, .P = P, .a = mover->a, .B = mover->B};
    if (p->exacts[k + 1]) {
        twist_given(&t, b->f->d, p->exact + (k + 1) * b->f->d, log_w);
        for (size_t j = 0; j < P; j++)
            log_w[j] += p->log_slope[k + 1];
    }
    memcpy(x, t.a, b->D * P * sizeof *x);
    for (size_t e = 0; e < b->D * b->m * P; e++) {
        size_t i = e / P / b->m, c = e / P % b->m, j = e % P;
        x[i * P + j] += t.B[e] * z[c * P + j];
    }
}

/* log of the mean weight, and resampling. */
static double boot_settle(struct boot *b, uint64_t seed, size_t k)
{
    double most = -INFINITY, sum = 0.0, u, part = 0.0;
    const struct random_key key = {
        .seed = seed, .purpose = RANDOM_RESAMPLE, .item = k};
    for (size_t n = 0; n < PARTICLES; n++)
        most = fmax(most, b->log_w[n]);
    for (size_t n = 0; n < PARTICLES; n++)
        sum += b->log_w[n] = exp(b->log_w[n] - most);
    random_uniforms(&key, 0, 1, 0, 1, &u);
    for (size_t n = 0, from = 0; n < PARTICLES; n++) {
        enum { P = COURSE_BLOCK };
        while (from + 1 < PARTICLES &&
               part + b->log_w[from] < sum * ((double)n + u) / PARTICLES)
            part += b->log_w[from++];
        for (size_t i = 0; i < b->D; i++)
            b->next[(n / P * b->D + i) * P + n % P] =
                b->x[(from / P * b->D + i) * P + from % P];
    }
    memcpy(b->x, b->next, PARTICLES * b->D * sizeof *b->x);
    memset(b->log_w, 0, PARTICLES * sizeof *b->log_w);
    return most + log(sum / PARTICLES);
}

static double boot_run(struct boot *b, uint64_t seed)
{
    enum { P = COURSE_BLOCK, BLOCKS = PARTICLES / P };
    double z[16 * P], value = 0.0;
    const struct pace *p = &b->g->pace;
    for (size_t k = 0; k < p->nodes; k++) {
        for (size_t block = 0; block < BLOCKS; block++) {
            double *x = b->x + block * P * b->D;
            boot_normals(seed, k * BLOCKS + block, COUNT(z), z);
            if (k) boot_step(b, k - 1, block, z);
            else boot_first(b, block, z);
            if (mover_density(&b->g->mover[0], p, k, P, x))
                for (size_t j = 0; j < P; j++)
                    b->log_w[block * P + j] += b->g->mover[0].log_g[j];
        }
        if (pace_is_row(p, k)) value += boot_settle(b, seed, k);
    }
    return value;
}

/* --- Means of likelihoods ------------------------------------------------- */

/* log of the mean of exp(l), and its standard error. */
static double log_mean(size_t n, const double *l, double *error)
{
    double most = -INFINITY, sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, l[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp(l[i] - most) / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow(exp(l[i] - most) - sum, 2.0);
    *error = sqrt(squares / (double)(n - 1) / (double)n) / sum;
    return most + log(sum);
}

enum { BOOTS = 12, RUNS = 12 };

static double lab_boot(struct lab *l, double *error)
{
    struct guide *g = lab_set(l);
    struct boot b = {.g = g,
                     .f = &l->a.course,
                     .D = l->a.course.D,
                     .m = l->a.course.m,
                     .x = NEW(double, PARTICLES * l->a.course.D),
                     .next = NEW(double, PARTICLES * l->a.course.D),
                     .log_w = NEW(double, PARTICLES)};
    double value[BOOTS];
    if (ahead_first(g->ahead, &g->mover[0], &g->pace))
        fail_msg("%s", gsv_last_error());
    for (size_t i = 0; i < BOOTS; i++)
        value[i] = boot_run(&b, 1 + i);
    MEM_FREE(b.x, b.next, b.log_w);
    return log_mean(BOOTS, value, error);
}

static void value__is_that_of_bootstrap_filters(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(WIDE_CASES); c++) {
        struct lab l;
        double value[RUNS], error, boot_error;
        gsv_options o = guided_options(128, STEPS);
        lab_init(&l, &WIDE_CASES[c], STEPS);
        double wanted = lab_boot(&l, &boot_error);
        for (size_t i = 0; i < RUNS; i++) {
            o.seed = 1 + i;
            gsv_result r = lab_result(&l, &o);
            value[i] = r.loglik;
            gsv_result_free(&r);
        }
        double got = log_mean(RUNS, value, &error);
        if (!(fabs(got - wanted) <= TOLERANCE * hypot(error, boot_error)))
            fail_msg("%s: %g +- %g, should be %g +- %g", l.c->name, got, error,
                     wanted, boot_error);
        lab_free(&l);
    }
}

/* --- Gradients ------------------------------------------------------------ */

/* The value that gradients are those of, which draws again less often. */
static double value_at(struct lab *l, struct estimator *e, size_t n,
                       double away)
{
    double kept = l->m->value[n];
    struct score score;
    l->m->value[n] = kept + away;
    if (estimator_run(e, &(struct request){0}, &score))
        fail_msg("%s: %s", l->c->name, gsv_last_error());
    l->m->value[n] = kept;
    return score.mean * (double)score.gaps;
}

enum { SEEDS = 6, FEWEST = 4 };

/* Gradients and differences with the same seed, where particles are not drawn
 * again: they differ by how psi is made, which is less than what seeds do. */
struct slopes {
    size_t n;
    double gradient[CASE_PARAMS][SEEDS], off[CASE_PARAMS][SEEDS];
};

static void read_slopes(struct lab *l, struct slopes *all)
{
    gsv_options o = guided_options(128, STEPS);
    o.gradient = true;
    all->n = 0;
    for (o.seed = 1; o.seed <= SEEDS; o.seed++) {
        struct estimator e;
        const struct task task = {.model = l->m, .series = l->s, .options = &o};
        gsv_result r = lab_result(l, &o);
        assert_int_equal(estimator_init(&e, &task), 0);
        bool weak = r.ess_min < 0.1 * (double)o.points;
        for (size_t n = 0; !weak && n < l->c->params; n++) {
            double h = 1e-4 * fabs(l->m->value[n]);
            all->gradient[n][all->n] = r.gradient[n];
            all->off[n][all->n] =
                r.gradient[n] -
                (value_at(l, &e, n, h) - value_at(l, &e, n, -h)) / (2.0 * h);
        }
        all->n += !weak;
        estimator_free(&e);
        gsv_result_free(&r);
    }
}

static double deviation(size_t n, const double *x, double mean)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean) / (double)n;
    return sqrt(sum);
}

static void gradient__is_that_of_differences(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(WIDE_CASES); c++) {
        static struct slopes all;
        if (!WIDE_CASES[c].params) continue;
        struct lab l;
        lab_init(&l, &WIDE_CASES[c], STEPS);
        read_slopes(&l, &all);
        assert_true(all.n >= FEWEST);
        for (size_t n = 0; n < l.c->params; n++) {
            double mean = 0.0;
            for (size_t i = 0; i < all.n; i++)
                mean += all.gradient[n][i] / (double)all.n;
            double noise = deviation(all.n, all.gradient[n], mean);
            double off = deviation(all.n, all.off[n], 0.0);
            if (!(off <= noise))
                fail_msg("%s, number %zu: gradients are off by %g, seeds by %g",
                         l.c->name, n, off, noise);
        }
        lab_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value__is_that_of_bootstrap_filters),
        cmocka_unit_test(gradient__is_that_of_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
