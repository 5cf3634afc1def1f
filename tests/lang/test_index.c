/* SPDX-License-Identifier: MIT */
/* Indices that run, slices, comparisons and where: a text with them means the
 * same as one that is written out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "girsanov.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char *name, *head, *text, *written;
} PAIR[] = {
    {"a ring", "state x[3]\nparam k = 0.7\n",
     "dx[i] = k*(x[mod(i, 3) + 1] - 2*x[i] + x[mod(i + 1, 3) + 1])*dt + dW",
     "dx = k*[x[2] - 2*x[1] + x[3], x[3] - 2*x[2] + x[1], "
     "x[1] - 2*x[3] + x[2]]*dt + dW"},
    {"an open chain", "state x[3]\nparam k = 0.7, s[3] = [1, 2, 3]\n",
     "dx[i] = where(i < 3, k*x[i + 1], -x[i])*dt + s[i]*dW + k*i*dW1",
     "dx = [k*x[2], k*x[3], -x[3]]*dt + s*dW + k*[1, 2, 3]*dW1"},
    {"pair forces", "state x[3], y[3]\nparam k = 0.7\n",
     "dx[i] = sum(j in 1:3, where(abs(i - j) > 0, k*(x[j] - x[i])"
     "/sqrt((x[j] - x[i])^2 + (y[j] - y[i])^2), 0))*dt + dW\n"
     "dy[i] = y[i]*dt + dW",
     "let a = sqrt((x[1] - x[2])^2 + (y[1] - y[2])^2)\n"
     "let b = sqrt((x[1] - x[3])^2 + (y[1] - y[3])^2)\n"
     "let c = sqrt((x[3] - x[2])^2 + (y[3] - y[2])^2)\n"
     "dx = k*[(x[2] - x[1])/a + (x[3] - x[1])/b, "
     "(x[1] - x[2])/a + (x[3] - x[2])/c, (x[1] - x[3])/b + (x[2] - x[3])/c]"
     "*dt + dW\ndy = y*dt + dW"},
    {"a graph", "state x[3]\nconst A[3,3] = [0, 1, 2, 3, 0, 4, 5, 6, 0]\n",
     "dx[i] = (sum(j in 1:3, A[i,j]*(x[j] - x[i])))*dt + x[i]*dW",
     "dx = (A @ x - (A @ [1, 1, 1])*x)*dt + x*dW"},
    {"a sum inside of a sum, with bounds of the outer",
     "state x[3]\nparam A[3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n",
     "dx[i] = sum(j in 1:2, sum(k in j:3, x[j]*x[k]*A[i,k]))*dt + dW",
     "let q = [x[1]*x[1], x[1]*x[2] + x[2]*x[2], x[1]*x[3] + x[2]*x[3]]\n"
     "dx = (A @ q)*dt + dW"},
    {"a triangle", "state x[3]\n",
     "dx[i] = (sum(j in 1:i, x[j]) + sum(x[i:3]) + sum(x[1:i])*i)*dt + dW",
     "dx = [2*x[1] + sum(x), x[1]*3 + 4*x[2] + x[3], "
     "4*sum(x) + x[3]]*dt + dW"},
    {"functions that are no elements",
     "state x[3]\nparam a = 0.4\nnet f(x[1], x[2]) -> 2 : 4 tanh\n",
     "dx[i] = sum(j in 2:3, f(a*x[i], x[j])[1] + dot(x, x)*j "
     "+ softmax([x[j], x[i]])[2])*dt + dW",
     "let u = [f(a*x[1], x[2])[1], f(a*x[2], x[2])[1], f(a*x[3], x[2])[1]]\n"
     "let v = [f(a*x[1], x[3])[1], f(a*x[2], x[3])[1], f(a*x[3], x[3])[1]]\n"
     "let w = [sigmoid(x[1] - x[2]) + sigmoid(x[1] - x[3]), "
     "0.5 + sigmoid(x[2] - x[3]), sigmoid(x[3] - x[2]) + 0.5]\n"
     "dx = (u + v + 5*dot(x, x) + w)*dt + dW"},
    {"sums of constants", "state x[2]\n",
     "const h = sum(j in 1:4, 1/j), n = sum(k in 0:0, 2)\n"
     "let r = sum(j in 1:n, x[j]^2)\ndx = h*r*dt + dW",
     "dx = 25/12*dot(x, x)*dt + dW"},
    {"a selection of elements in a sum", "state x[3]\n",
     "dx[i] = sum(j in 1:3, where(x[j] > x[i], log(x[j] - x[i]), "
     "(x[j] >= 0)*j))*dt + dW",
     "let a = where(x > x[1], log(x - x[1]), (x >= 0)*[1, 2, 3])\n"
     "let b = where(x > x[2], log(x - x[2]), (x >= 0)*[1, 2, 3])\n"
     "let c = where(x > x[3], log(x - x[3]), (x >= 0)*[1, 2, 3])\n"
     "dx = [sum(a), sum(b), sum(c)]*dt + dW"},
    {"slices",
     "state x[4]\nparam A[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
     "11, 12]\n",
     "let a = A[2, :], b = A[:, 3], c = A[2:3, 1:2] @ x[3:4], d = A[1:1, 2:]\n"
     "dx = [sum(a*x), dot(b, x[:3]), c[2], sum(d) + x[2:2] + A[3, 4]]*dt + dW",
     "dx = [5*x[1] + 6*x[2] + 7*x[3] + 8*x[4], 3*x[1] + 7*x[2] + 11*x[3], "
     "9*x[3] + 10*x[4], 9 + x[2] + 12]*dt + dW"},
    {"gradients of sums", "state x[3]\n",
     "let U = sum(i in 1:3, sum(j in 1:3, exp(x[i]*x[j])))\n"
     "dx = -grad(U, x)*dt + dW",
     "dx = -2*[exp(x[1]*x[1])*x[1] + exp(x[1]*x[2])*x[2] + exp(x[1]*x[3])*x[3],"
     "exp(x[2]*x[1])*x[1] + exp(x[2]*x[2])*x[2] + exp(x[2]*x[3])*x[3],"
     "exp(x[3]*x[1])*x[1] + exp(x[3]*x[2])*x[2] + exp(x[3]*x[3])*x[3]]*dt + "
     "dW"},
    {"comparisons", "state x, y\n",
     "dx = ((x > 0) + 2*(x < y) + 4*(x >= 0.1) + 8*(y <= 0))*dt + dW\n"
     "dy = max((x > y)*(y > 0), where((x > 0)*(y > 0), 3, 4))*dt + dW",
     "dx = ((1 + sign(x))/2 + 1 + sign(y - x) + 2 + 2*sign(x - 0.1) + 4 - "
     "4*sign(y))*dt + dW\n"
     "dy = (4 - (1 + sign(x))*(1 + sign(y))/4)*dt + dW"},
};

enum { N = 9, MOST = 64 };

static double random_number(void)
{
    static uint64_t z = 7;
    z = z * 6364136223846793005u + 1442695040888963407u;
    return (double)(z >> 11) / 4503599627370496.0 - 1.0; /* in (-1, 1) */
}

static void fields_of(const char *name, const char *head, const char *text,
                      const double *x, const double *t, double *f, double *g)
{
    char whole[4000];
    snprintf(whole, sizeof whole, "%s%s\n", head, text);
    gsv_model *m = gsv_model_parse(whole, name);
    if (!m) fail_msg("%s", gsv_last_error());
    assert_int_equal(gsv_model_drift(m, N, t, x, NULL, f), 0);
    assert_int_equal(gsv_model_diffusion(m, N, t, x, NULL, g), 0);
    gsv_model_free(m);
}

static void indices__mean_what_is_written_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(PAIR); i++) {
        static double x[MOST * N], t[N], f[2][MOST * N], g[2][MOST * N];
        /* Networks are computed in float32. */
        double near = strstr(PAIR[i].head, "net ") ? 1e-5 : 1e-12;
        memset(f, 0, sizeof f);
        memset(g, 0, sizeof g);
        for (size_t k = 0; k < COUNT(x); k++)
            x[k] = random_number();
        for (int k = 0; k < 2; k++)
            fields_of(PAIR[i].name, PAIR[i].head,
                      k ? PAIR[i].written : PAIR[i].text, x, t, f[k], g[k]);
        for (size_t k = 0; k < MOST * N; k++) {
            if (fabs(f[0][k] - f[1][k]) > near * (1 + fabs(f[1][k])))
                fail_msg("%s: drift %zu is %.15g, not %.15g", PAIR[i].name, k,
                         f[0][k], f[1][k]);
            if (fabs(g[0][k] - g[1][k]) > 1e-12)
                fail_msg("%s: diffusion %zu is %.15g, not %.15g", PAIR[i].name,
                         k, g[0][k], g[1][k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices__mean_what_is_written_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
