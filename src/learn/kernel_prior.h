/* SPDX-License-Identifier: MIT */
/* The prior of a kernel's numbers, where bands are means over kernels: log
 * densities by log value; their slopes are added to. */
#ifndef LEARN_KERNEL_PRIOR_H
#define LEARN_KERNEL_PRIOR_H

/* Amplitudes that the data can hardly tell from 0, from their information about
 * a function of amplitude 1: three of the errors of a constant. */
double kernel_prior_unseen(double information);

/* Amplitudes are as likely in one e-fold as in any other, but for those that
 * are unseen: the evidence is flat there, and they would have all the weight.
 */
double kernel_prior_amplitude(double a, double unseen, double *slope);

/* Lengths are between 1.5 cells and a quarter of the grid, with standard
 * deviations of 0.3 and 0.5 beyond: longer ones are polynomials on the grid. */
double kernel_prior_length(double length, double cell, double nodes,
                           double *slope);

#endif
