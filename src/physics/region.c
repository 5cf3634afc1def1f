/* SPDX-License-Identifier: MIT */
#include "physics/region.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"

/* --- Conditions ----------------------------------------------------------- */

/* A model whose first drift is the condition, so that names, functions and
 * messages are those of the language. The condition has a line of its own. */
static char *condition_text(const struct scene *c, const char *text)
{
    const char *const *name = gsv_model_column(c->model);
    size_t size = strlen(text) + 40;
    for (size_t i = 0; i < c->dim; i++)
        size += 2 * strlen(name[i]) + 40;
    char *all = NEW(char, size);
    if (!all) return NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->dim; i++)
        n += (size_t)snprintf(all + n, size - n, "%s%s", i ? ", " : "state ",
                              name[i]);
    n += (size_t)snprintf(all + n, size - n, "\nd%s = (\n%s\n)*dt + dW1",
                          name[0], text);
    for (size_t i = 1; i < c->dim; i++)
        n += (size_t)snprintf(all + n, size - n, "\nd%s = dW%zu", name[i],
                              i + 1);
    return all;
}

/* A message about line 3 of the model is one about line 1 of the condition. */
static int complain_about(const char *option)
{
    char text[1000];
    size_t n = strlen(option);
    enum gsv_status status = gsv_last_status();
    snprintf(text, sizeof text, "%s", gsv_last_error());
    if (!strncmp(text, option, n) && !strncmp(text + n, ":3:", 3))
        text[n + 1] = '1';
    return fail(status, "%s", text);
}

int region_parse(struct region *r, const struct scene *c, const char *option,
                 const char *text)
{
    *r = (struct region){.text = mem_string(text)};
    char *all = r->text ? condition_text(c, text) : NULL;
    if (!all) return GSV_NO_MEMORY;
    r->condition = gsv_model_parse(all, option);
    mem_free(all);
    return r->condition ? 0 : complain_about(option);
}

/* --- Surroundings of a fixed point ---------------------------------------- */

/* C of J C + C J' = -a, by one system of dim^2 equations. */
static int lyapunov(size_t d, const double *J, const double *a, double *C)
{
    size_t n = d * d;
    double *A = NEW(double, n *n);
    int *pivot = NEW(int, n);
    int status = A && pivot ? 0 : GSV_NO_MEMORY;
    for (size_t i = 0; !status && i < d; i++)
        for (size_t j = 0; j < d; j++) {
            size_t row = i * d + j;
            for (size_t k = 0; k < d; k++) {
                A[row * n + k * d + j] += J[i * d + k];
                A[row * n + i * d + k] += J[j * d + k];
            }
            C[row] = -a[row];
        }
    bool solved = !status && linalg_lu(n, A, pivot);
    if (solved) linalg_lu_solve(n, 1, A, pivot, false, C);
    if (!status && (!solved || !linalg_cholesky(d, C))) status = GSV_NUMERICAL;
    MEM_FREE(A, pivot);
    return status;
}

static int name_point(struct region *r, const struct scene *c, const double *x)
{
    size_t size = 32 * c->dim + 8, n = 0;
    r->text = NEW(char, size);
    if (!r->text) return GSV_NO_MEMORY;
    if (c->dim > 1) n = (size_t)snprintf(r->text, size, "near (");
    else
        n = (size_t)snprintf(r->text, size,
                             "%.60s = ", gsv_model_column(c->model)[0]);
    for (size_t i = 0; i < c->dim && n < size; i++)
        n += (size_t)snprintf(r->text + n, size - n, "%s%.4g", i ? ", " : "",
                              x[i]);
    if (c->dim > 1 && n < size) snprintf(r->text + n, size - n, ")");
    return 0;
}

int region_around(struct region *r, const struct scene *c, size_t point,
                  const double *x)
{
    size_t d = c->dim;
    *r = (struct region){.point = point, .root = NEW(double, d *d)};
    double *J = NEW(double, d *d), *a = NEW(double, d *d), *f = NEW(double, d);
    int status = r->root && J && a && f ? 0 : GSV_NO_MEMORY;
    if (!status) status = scene_jacobian(c, x, J);
    if (!status) status = scene_flow(c, 1, x, f, a);
    if (!status) status = lyapunov(d, J, a, r->root);
    if (status == GSV_NUMERICAL)
        for (size_t i = 0; i < d; i++)
            r->root[i * d + i] = 0.1 * c->axis[i].width;
    MEM_FREE(J, a, f);
    if (status && status != GSV_NUMERICAL) return status;
    return name_point(r, c, x);
}

void region_free(struct region *r)
{
    gsv_model_free(r->condition);
    MEM_FREE(r->text, r->root);
    *r = (struct region){0};
}

static int mark_near(const struct region *r, const struct scene *c, size_t n,
                     const double *x, const double *centre, bool *in)
{
    size_t d = c->dim;
    double *u = NEW(double, d);
    if (!u) return GSV_NO_MEMORY;
    for (size_t k = 0; k < n; k++) {
        double sum = 0.0;
        for (size_t i = 0; i < d; i++)
            u[i] = x[i * n + k] - centre[i];
        linalg_lower_solve(d, 1, r->root, false, u);
        for (size_t i = 0; i < d; i++)
            sum += u[i] * u[i];
        in[k] = sum < 1.0;
    }
    mem_free(u);
    return 0;
}

int region_marks(const struct region *r, const struct scene *c, size_t n,
                 const double *x, const double *centre, bool *in)
{
    if (!r->condition) return mark_near(r, c, n, x, centre, in);
    double *f = NEW(double, n *(c->dim + 1));
    if (!f) return GSV_NO_MEMORY;
    const double *time = f + n * c->dim; /* zeros */
    int status = (int)gsv_model_drift(r->condition, n, time, x, NULL, f);
    for (size_t k = 0; !status && k < n; k++)
        in[k] = f[k] != 0.0 && !isnan(f[k]);
    mem_free(f);
    return status;
}
