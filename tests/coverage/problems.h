/* SPDX-License-Identifier: MIT */
/* The models of coverage.c, with their true values and both sizes of their
 * data. */
#ifndef COVERAGE_PROBLEMS_H
#define COVERAGE_PROBLEMS_H

#include "girsanov.h"

enum { MOST_VALUES = 8 };

struct problem {
    const char *name;
    const char *text;          /* with the values that fits start from    */
    const char *known;         /* a number that is not learned, or NULL   */
    double truth[MOST_VALUES]; /* in the order of gsv_model_value()       */
    size_t tracks, gaps;       /* gaps of each track                      */
    size_t few_tracks, few;    /* the same of the short data sets         */
    double length;             /* of a gap                                */
    double step;               /* of the simulation                       */
    double start, spread;      /* first states: mean and deviation        */
    double lead;               /* time before the first observation       */
};

static const struct problem PROBLEMS[] = {
    {.name = "OU",
     .text = "state x\n"
             "param theta = 0.3 > 0, mu = 0, s = 1.5 > 0\n"
             "dx = theta*(mu - x)*dt + s*dW\n",
     .truth = {1.0, 2.0, 0.5},
     .tracks = 1,
     .gaps = 800,
     .few_tracks = 1,
     .few = 60,
     .length = 0.5,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.35,
     .lead = 1.0},
    {.name = "matrix OU",
     .text = "state x[2]\n"
             "param A[2,2] = [-0.3, 0, 0, -0.3]\n"
             "param L[2,2] = 1 lower\n"
             "dx = A @ x*dt + L @ dW\n",
     .truth = {-1.0, 0.8, -0.5, -0.7, 0.6, 0.0, 0.2, 0.4},
     .tracks = 1,
     .gaps = 800,
     .few_tracks = 1,
     .few = 60,
     .length = 0.5,
     .step = 0.005,
     .spread = 0.5,
     .lead = 1.0},
    {.name = "double well",
     .text = "state x\n"
             "param a = 0.3, b = 0.2, s = 1 > 0\n"
             "dx = (a*x - b*x^3)*dt + s*dW\n",
     .truth = {1.0, 1.0, 0.7},
     .tracks = 4,
     .gaps = 200,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.0025,
     .spread = 1.0,
     .lead = 2.0},
    {.name = "Lorenz",
     .text = "state x, y, z\n"
             "param s = 7, r = 20, b = 2, q = 1 > 0\n"
             "dx = s*(y - x)*dt + q*dW\n"
             "dy = (x*(r - z) - y)*dt + q*dW\n"
             "dz = (x*y - b*z)*dt + q*dW\n",
     .truth = {10.0, 28.0, 8.0 / 3.0, 0.15},
     .tracks = 2,
     .gaps = 100,
     .few_tracks = 1,
     .few = 40,
     .length = 0.05,
     .step = 0.0005,
     .start = 10.0,
     .spread = 5.0,
     .lead = 5.0},
    {.name = "GBM",
     .text = "state x\n"
             "param mu = 0, s = 1 > 0\n"
             "dx = mu*x*dt + s*x*dW\n",
     .truth = {0.3, 0.4},
     .tracks = 20,
     .gaps = 20,
     .few_tracks = 2,
     .few = 20,
     .length = 0.1,
     .step = 0.001,
     .start = 1.0,
     .lead = 0.5},
    {.name = "CIR",
     .text = "state r\n"
             "param k = 0.5 > 0, m = 1 > 0, s = 1 > 0\n"
             "dr = k*(m - r)*dt + s*sqrt(r)*dW\n",
     .truth = {1.5, 0.5, 0.6},
     .tracks = 2,
     .gaps = 400,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.001,
     .start = 0.5,
     .lead = 2.0},
    {.name = "Jacobi",
     .text = "state x\n"
             "param k = 0.5 > 0, m = 0.5 in (0, 1), s = 1 > 0\n"
             "dx = k*(m - x)*dt + s*sqrt(x*(1 - x))*dW\n",
     .truth = {1.0, 0.4, 0.5},
     .tracks = 2,
     .gaps = 400,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.001,
     .start = 0.4,
     .lead = 2.0},
    {.name = "Heston",
     .text = "state x, v\n"
             "param k = 1 > 0, m = 0.5 > 0, s = 0.3 > 0, r = 0 in (-1, 1)\n"
             "dx = -v/2*dt + sqrt(v)*dW1\n"
             "dv = k*(m - v)*dt + s*sqrt(v)*(r*dW1 + sqrt(1 - r^2)*dW2)\n",
     .truth = {2.0, 0.2, 0.4, -0.6},
     .tracks = 2,
     .gaps = 400,
     .few_tracks = 1,
     .few = 60,
     .length = 0.1,
     .step = 0.001,
     .start = 0.2,
     .lead = 2.0},
    {.name = "OU, known noise",
     .text = "state x\n"
             "param theta = 0.6 > 0, mu = 1, s = 1 > 0, r = 0.3 > 0\n"
             "init x ~ normal(mu, s/sqrt(2*theta))\n"
             "dx = theta*(mu - x)*dt + s*dW\n"
             "obs y ~ normal(x, r)\n",
     .known = "r",
     .truth = {1.0, 2.0, 0.5, 0.3},
     .tracks = 1,
     .gaps = 200,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.35,
     .lead = 2.0},
    {.name = "OU, noise",
     .text = "state x\n"
             "param theta = 0.6 > 0, mu = 1, s = 1 > 0, r = 0.5 > 0\n"
             "init x ~ normal(mu, s/sqrt(2*theta))\n"
             "dx = theta*(mu - x)*dt + s*dW\n"
             "obs y ~ normal(x, r)\n",
     .truth = {1.0, 2.0, 0.5, 0.2},
     .tracks = 1,
     .gaps = 200,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.35,
     .lead = 2.0},
    {.name = "double well, noise",
     .text = "state x\n"
             "param a = 0.6, b = 0.6, s = 1 > 0, r = 0.4 > 0\n"
             "init x ~ normal(0, 1.5)\n"
             "dx = (a*x - b*x^3)*dt + s*dW\n"
             "obs y ~ normal(x, r)\n",
     .truth = {1.0, 1.0, 0.7, 0.2},
     .tracks = 2,
     .gaps = 100,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.0025,
     .spread = 1.0,
     .lead = 2.0},
    {.name = "OU, counts",
     .text = "state x\n"
             "param theta = 0.6 > 0, mu = 1, s = 1 > 0\n"
             "init x ~ normal(mu, s/sqrt(2*theta))\n"
             "dx = theta*(mu - x)*dt + s*dW\n"
             "obs n ~ poisson(0.5*exp(x))\n",
     .truth = {1.0, 2.0, 0.8},
     .tracks = 1,
     .gaps = 200,
     .few_tracks = 1,
     .few = 60,
     .length = 0.25,
     .step = 0.005,
     .start = 2.0,
     .spread = 0.57,
     .lead = 2.0},
    {.name = "double well, gap 1",
     .text = "state x\n"
             "param a = 0.3, b = 0.2, s = 1 > 0\n"
             "dx = (a*x - b*x^3)*dt + s*dW\n",
     .truth = {1.0, 1.0, 0.7},
     .tracks = 2,
     .gaps = 100,
     .few_tracks = 1,
     .few = 30,
     .length = 1.0,
     .step = 0.01,
     .spread = 1.0,
     .lead = 2.0},
    {.name = "logistic",
     .text = "state x\n"
             "param r = 0.5 > 0, K = 2 > 0, s = 0.5 > 0\n"
             "dx = r*x*(1 - x/K)*dt + s*x*dW\n",
     .truth = {1.0, 3.0, 0.3},
     .tracks = 2,
     .gaps = 100,
     .few_tracks = 1,
     .few = 40,
     .length = 0.5,
     .step = 0.005,
     .start = 1.0,
     .lead = 0.5},
    {.name = "predator and prey",
     .text = "state x, y\n"
             "param a = 0.7 > 0, b = 0.7 > 0, c = 0.7 > 0, s = 0.3 > 0\n"
             "dx = x*(a - b*y)*dt + s*x*dW1\n"
             "dy = y*(b*x - c)*dt + s*y*dW2\n",
     .truth = {1.0, 1.0, 1.0, 0.15},
     .tracks = 2,
     .gaps = 100,
     .few_tracks = 1,
     .few = 40,
     .length = 0.25,
     .step = 0.0025,
     .start = 1.5,
     .lead = 1.0},
    {.name = "SIR",
     .text = "state S, I\n"
             "param b = 0.7 > 0, g = 0.3 > 0, q = 0.7 > 0\n"
             "dS = (0.2 - b*S*I - 0.2*S)*dt + q*sqrt(S)*0.1*dW1\n"
             "dI = (0.01 + b*S*I - (g + 0.2)*I)*dt + q*sqrt(I)*0.1*dW2\n",
     .truth = {1.5, 0.4, 1.0},
     .tracks = 2,
     .gaps = 100,
     .few_tracks = 1,
     .few = 40,
     .length = 0.5,
     .step = 0.005,
     .start = 0.5,
     .lead = 1.0},
};

#endif
