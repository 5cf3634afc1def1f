/* SPDX-License-Identifier: MIT */
/* Models with noise of every family that Lamperti's maps know. */
#ifndef TESTS_LAMPERTI_CASES_H
#define TESTS_LAMPERTI_CASES_H

#include <math.h>
#include <stdbool.h>

enum { POINTS = 4 };

/* A model, whether its map is a quadrature, values for every element of the
 * state, and what is outside of the domain (all elements) and of the range of
 * y; NAN where nothing is, INFINITY where nothing is for these values of the
 * parameters, but for others. */
struct model_case {
    const char *text;
    bool numerical;
    double x[POINTS], bad_x, bad_y;
};

#define DRIFT "(0.3 - 0.2*x)*dt + "
#define ONE(noise) "state x\nparam s = 0.7 > 0\ndx = " DRIFT noise "*dW\n"
#define TWO(param, noise)                                                      \
    "state x\nparam s = 0.7 > 0, " param "\ndx = " DRIFT noise "*dW\n"
#define EVERY NAN, NAN

static const struct model_case CASE[] = {
    /* Powers. */
    {ONE("s*x"), false, {0.1, 0.7, 2, 30}, -0.5, NAN},
    {ONE("-s*x"), false, {0.1, 0.7, 2, 30}, -0.5, NAN},
    {ONE("s*sqrt(x)"), false, {0.1, 0.7, 2, 30}, -0.5, -0.1},
    {ONE("s*sqrt(x/s)"), false, {0.1, 0.7, 2, 30}, -0.5, -0.1},
    {ONE("s*x^1.5"), false, {0.1, 0.7, 2, 30}, -0.5, 0.1},
    {ONE("s*x^2"), false, {0.1, 0.7, 2, 30}, -0.5, 0.1},
    {ONE("s*x^(-0.3)"), false, {0.1, 0.7, 2, 30}, -0.5, -0.1},
    {ONE("s/x"), false, {0.1, 0.7, 2, 9}, -0.5, -0.1},
    {ONE("s*(2 - 0.5*x)"), false, {-3, 0, 1, 3.5}, 4.5, NAN},
    {ONE("s*sqrt(3 - x)"), false, {-3, 0, 1, 2.9}, 3.5, 0.1},
    {ONE("s*sqrt(abs(x))"), false, {0.1, 0.7, 2, 30}, -0.5, -0.1},
    {TWO("b = -0.4", "s*sqrt(1.5 + b*x)"), false, {-3, 0, 1, 3}, 4, 0.1},
    {TWO("a = 0.2, b = 0.4 > 0", "(a + b*x)"), false, {0, 1, 2, 5}, -1, NAN},
    {TWO("p = 0.8", "s*x^p"), false, {0.1, 0.7, 2, 30}, -0.5, -9},
    {TWO("p = 1", "s*x^p"), false, {0.1, 0.7, 2, 30}, -0.5, NAN},
    {TWO("p = 1.4", "s*x^p"), false, {0.1, 0.7, 2, 30}, -0.5, 9},
    {TWO("p = 1.2, b = -1", "s*(3 + b*x)^p"), false, {0, 1, 2, 2.9}, 4, -99},
    /* Two factors. */
    {ONE("s*x*(1 - x)"), false, {0.01, 0.3, 0.6, 0.95}, 1.1, NAN},
    {ONE("s*(x - x^2)"), false, {0.01, 0.3, 0.6, 0.95}, 1.1, NAN},
    {TWO("l = -1, h = 2", "s*(x - l)*(h - x)"),
     false,
     {-0.9, 0.3, 0.6, 1.95},
     2.1,
     NAN},
    {ONE("s*x*(1 + 2*x)"), false, {0.1, 0.7, 2, 9}, -0.2, 1.2},
    {ONE("s*sqrt(x*(1 - x))"), false, {0.01, 0.3, 0.6, 0.95}, 1.1, 2.5},
    {ONE("s*sqrt(x - x^2)"), false, {0.01, 0.3, 0.6, 0.95}, 1.1, -2.5},
    {TWO("l = -1, h = 2", "s*sqrt((x - l)*(h - x))"),
     false,
     {-0.9, 0.3, 0.6, 1.95},
     2.1,
     2.5},
    {ONE("s*sqrt(x)*sqrt(1 + x)"), false, {0.1, 0.7, 2, 9}, -0.2, -0.1},
    {ONE("s*sqrt((-x)*(2 - x))"), false, {-9, -2, -0.7, -0.1}, 0.2, 0.1},
    /* Quadratics. */
    {ONE("s*sqrt(1 + x^2)"), false, {-20, -0.7, 0.3, 9}, EVERY},
    {TWO("a = 0.5 > 0, c = 2 > 0", "s*sqrt(a + c*x*x)"),
     false,
     {-20, -0.7, 0.3, 9},
     EVERY},
    {ONE("s*sqrt(3 + 2*x + x^2)"), false, {-20, -0.7, 0.3, 9}, EVERY},
    {ONE("s*sqrt(4 - x^2)"), false, {-1.9, -0.7, 0.3, 1.5}, 2.1, 2.4},
    {ONE("s*sqrt(x^2 - 4)"), false, {2.1, 3, 5, 9}, 1.5, 0.5},
    {ONE("s*(1 + x^2)"), false, {-20, -0.7, 0.3, 9}, NAN, 2.4},
    {ONE("s*(4 - x^2)"), false, {-1.9, -0.7, 0.3, 1.5}, 2.1, NAN},
    {ONE("s*(x^2 - 4)"), false, {2.1, 3, 5, 9}, 1.5, 0.1},
    /* Linear, from a start without a slope. */
    {TWO("a = 0.2, b", "s*sqrt(a + b*x)"),
     false,
     {-3, 0, 1, 3},
     INFINITY,
     INFINITY},
    {TWO("a = 0.2, b", "(a + b*x)"), false, {-3, 0, 1, 3}, INFINITY, NAN},
    {TWO("a = 2, b", "s*(a + b*x)^1.5"),
     false,
     {-3, 0, 1, 3},
     INFINITY,
     INFINITY},
    {TWO("a = 2, b, p = 1", "(a + b*x)^p"),
     false,
     {-3, 0, 1, 3},
     INFINITY,
     INFINITY},
    {TWO("a = -2, b", "s*sqrt(3*x + a + b*x)"), false, {1, 2, 3, 9}, 0, -5},
    /* Quadratics of unknown signs: a root and the whole of each kind. */
    {TWO("a = 0.5, b, c", "s*sqrt(a + b*x + c*x^2)"),
     false,
     {-3, -0.7, 0.3, 2},
     INFINITY,
     INFINITY},
    {TWO("a = 1, b = 0.3, c", "sqrt(2*(a + b*x + c*x^2))"),
     false,
     {-3, -0.7, 0.3, 9},
     -3.5,
     -10},
    {TWO("a = 1, b = 0.3, c = 0.2", "s*sqrt(a + b*x + c*x^2)"),
     false,
     {-3, -0.7, 0.3, 2},
     INFINITY,
     INFINITY},
    {TWO("a = 1, b = 3, c = 0.2", "s*sqrt(a + b*x + c*x^2)"),
     false,
     {-0.3, -0.1, 0.3, 9},
     -16,
     -3},
    {TWO("a = 4, b = 0.1, c = -1", "s*sqrt(a + b*x + c*x^2)"),
     false,
     {-1.9, -0.7, 0.3, 1.5},
     2.1,
     2.4},
    {TWO("a = -4, b = 0.1, c = 2", "s*sqrt(a + b*x + c*x^2)"),
     false,
     {1.5, 2, 5, 9},
     -2,
     -9},
    {TWO("a = 0.5, b, c", "s*(a + b*x + c*x^2)"),
     false,
     {-3, -0.7, 0.3, 2},
     INFINITY,
     INFINITY},
    {TWO("a = 1, b = 0.3, c = 0.2", "s*(a + b*x + c*x^2)"),
     false,
     {-3, -0.7, 0.3, 2},
     INFINITY,
     9},
    {TWO("a = 1, b = 3, c = 0.2", "s*(a + b*x + c*x^2)"),
     false,
     {-0.3, -0.1, 0.3, 9},
     -16,
     9},
    {TWO("a = 4, b = 0.1, c = -1", "s*(a + b*x + c*x^2)"),
     false,
     {-1.9, -0.7, 0.3, 1.5},
     2.1,
     INFINITY},
    /* Exponential and hyperbolic. */
    {ONE("s*exp(0.5*x)"), false, {-3, -0.7, 0.3, 4}, NAN, 0.1},
    {TWO("b = -0.4", "s*exp(1 + b*x)"), false, {-3, -0.7, 0.3, 4}, NAN, -0.1},
    {ONE("s*cosh(0.5*x + 1)"), false, {-3, -0.7, 0.3, 4}, NAN, 5},
    {ONE("s/cosh(0.5*x)"), false, {-3, -0.7, 0.3, 4}, EVERY},
    /* With time in the constant, in the shape, and an input. */
    {ONE("s*(1 + 0.1*sin(t))*x"), false, {0.1, 0.7, 2, 30}, -0.5, NAN},
    {ONE("s*sqrt(x + 0.1*t)"), false, {0.1, 0.7, 2, 30}, -0.5, -0.1},
    {ONE("s*x^(0.5 + 0.2*t)"), false, {0.1, 0.7, 2, 30}, -0.5, -9},
    {ONE("s*cosh(x*exp(-t))"), false, {-3, -0.7, 0.3, 2}, NAN, 5},
    /* By quadrature. */
    {ONE("s*(tanh(x) + 2)"), true, {-20, -0.7, 0.3, 30}, EVERY},
    {TWO("a = 1.5, b = 0.3", "s*(tanh(a*x + b) + 1.2)"),
     true,
     {-5, -0.7, 0.3, 30},
     EVERY},
    {ONE("s/sqrt(1 + x^2)"), true, {-30, -0.7, 0.3, 30}, EVERY},
    {TWO("a = 1.3 > 0", "s*(a + x^2)^0.75"), true, {-30, -0.7, 0.3, 9}, NAN, 9},
    {TWO("b = 0.8 > 0", "s*softplus(b*x)"), true, {-9, -0.7, 0.3, 30}, EVERY},
    {TWO("a = 0.3 > 0, b = 0.5 > 0", "(a + b*exp(x))"),
     true,
     {-20, -0.7, 0.3, 4},
     NAN,
     9},
    {ONE("s*sqrt(x)*(1 + x)"), true, {0.01, 0.7, 2, 30}, -0.5, 9},
    {ONE("s*(1 + x^1.5)"), true, {0.01, 0.7, 2, 30}, -0.5, 9},
    {TWO("l = -1", "s*(x - l)^0.6*(2 + sin(x))"),
     true,
     {-0.9, 0.7, 2, 30},
     -1.5,
     -40},
    {ONE("s*x^0.3*(1 - x)^0.7"), true, {0.02, 0.3, 0.6, 0.95}, 1.1, 9},
    {TWO("h = 2", "s*(h - x)^0.6*(2 + sin(x))"),
     true,
     {-9, -2, 1, 1.9},
     2.5,
     40},
    {TWO("a = 1.3 in (1.1, 3)", "s*(a + tanh(x))"),
     true,
     {-5, -0.7, 0.3, 30},
     EVERY},
    {ONE("s*(0.9 + tanh(x))"), true, {-1, -0.7, 0.3, 30}, -2, NAN},
    {ONE("s*(tanh(x*(1 + t)) + 2)"), true, {-9, -0.7, 0.3, 9}, EVERY},
    /* Vectors, and noises that are shared. */
    {"state x[3]\nparam s[3] = 0.7 > 0, q = 0.3\n"
     "dx = (q - x)*dt + s*x*dW\n",
     false,
     {0.1, 0.7, 2, 5},
     -0.5,
     NAN},
    {"state x[3]\nparam s[3] = 0.7 > 0, p[3] = 0.6\n"
     "dx = (1 - x)*dt + s*x^p*dW\n",
     false,
     {0.1, 0.7, 2, 5},
     -0.5,
     -99},
    {"state x[3]\nparam s[3] = 0.7 > 0, a[3] = 1.5\n"
     "dx = (1 - x)*dt + s*(tanh(a*x) + 2)*dW\n",
     true,
     {0.1, -0.7, 2, 5},
     EVERY},
    {"state x, y\nparam a = 0.8 > 0, r = 0.4, s = 0.6 > 0\n"
     "dx = (1 - x)*dt + a*x*dW1\n"
     "dy = (x - y)*dt + y*(r*dW1 + s*dW2)\n",
     false,
     {0.1, 0.7, 2, 5},
     -0.5,
     NAN},
    {"state x[2]\nparam L[2,2] lower = 0.8\n"
     "dx = (1 - x)*dt + x*(L @ dW)\n",
     false,
     {0.1, 0.7, 2, 5},
     -0.5,
     NAN},
    {"state x, y\nparam a = 0.8 > 0, s = 0.6 > 0\n"
     "dx = (y - x)*dt + a*sqrt(x)*dW\ndy = -y*dt + s*dW\n",
     false,
     {0.1, 0.7, 2, 5},
     -0.5,
     -1},
    {"state x, y\nparam a = 0.8 > 0, s = 0.6 > 0\n"
     "dx = (y - x)*dt + a*sqrt(x)*dW\ndy = -y*dt + s*(2 + cos(y))*dW\n",
     true,
     {0.1, 0.7, 2, 5},
     -0.5,
     -1},
};

#endif
